// SPDX-License-Identifier: Apache-2.0
// Names of kernels and functions as people write them. A symbol such as _Z5saxpyIfEviT_PS0_ is
// meant by any of: itself; "void saxpy<float>(int, float*)"; the same without return type and
// parameters; "saxpy<float>"; "saxpy"; and a pattern (fnmatch: * ? [...]) of any of these. Header
// only; C++17, glibc's or libc++'s demangler.
#pragma once

#include <cxxabi.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace sassemu::names {

// The symbol itself where it is no mangled name. "$kernel$function", the copy of a function that
// the tool chain makes for a kernel, reads as the function.
inline std::string demangled(std::string_view symbol) {
    if (const size_t copy = symbol.substr(0, 1) == "$" ? symbol.find('$', 1) : symbol.npos;
        copy != symbol.npos && copy + 1 < symbol.size())
        return demangled(symbol.substr(copy + 1));
    if (symbol.substr(0, 2) != "_Z") return std::string(symbol);  // "i" is a type to the demangler
    int status = 0;
    char* const text = abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status);
    std::string out = status == 0 && text ? text : std::string(symbol);
    std::free(text);
    return out;
}

// Where the bracket that closes at `close` opens; npos: nowhere. Within round ones < and > compare.
inline size_t opening(std::string_view text, size_t close) {
    constexpr std::string_view closing = ")]}>", opens = "([{<";
    const size_t kind = closing.find(text[close]);
    for (size_t i = close; i-- > 0;) {
        if (text[i] == opens[kind]) return i;
        const size_t inner = closing.find(text[i]);
        const bool compares = inner == 3 && (kind == 0 || (i > 0 && text[i - 1] == '-'));
        if (inner == closing.npos || compares) continue;
        i = opening(text, i);
        if (i == text.npos) break;
    }
    return std::string_view::npos;
}

// The forms of one symbol, from the longest to the shortest.
struct Forms {
    std::string symbol;
    std::string full;       // "void app::saxpy<float>(int, float*)"
    std::string qualified;  // "app::saxpy<float>"
    std::string templated;  // "saxpy<float>"
    std::string plain;      // "saxpy"

    explicit Forms(std::string_view name) : symbol(name), full(demangled(name)) {
        qualified = templated = plain = full;
        if (full == symbol) return;
        // Brackets are skipped from the back: the parameters, then the template's arguments, so
        // that those of neither are taken for the name.
        size_t end = full.size();
        if (const size_t close = full.rfind(')'); close != full.npos && close + 1 == end)
            if (const size_t open = opening(full, close); open != full.npos && open > 0) end = open;
        size_t arguments = end, begin = 0, scope = 0;
        if (full[end - 1] == '>')
            if (const size_t open = opening(full, end - 1); open != full.npos && open > 0)
                arguments = open;
        for (size_t i = arguments; i-- > 0;) {
            const char c = full[i];
            if (c == ' ') {
                begin = i + 1;
                break;
            }
            if (c == ':' && !scope) scope = i + 1;
            if (c != ')' && c != '>' && c != '}' && c != ']') continue;
            const size_t open = opening(full, i);
            if (open == full.npos) break;
            i = open;
        }
        scope = std::max(scope, begin);
        qualified = full.substr(begin, end - begin);
        templated = full.substr(scope, end - scope);
        plain = full.substr(scope, arguments - scope);
    }

    std::array<const std::string*, 5> all() const {
        return {&symbol, &full, &qualified, &templated, &plain};
    }
};

inline bool is_pattern(std::string_view wanted) {
    return wanted.find_first_of("*?[") != std::string_view::npos;
}

inline bool means(const Forms& of, std::string_view wanted) {
    const std::string pattern(wanted);
    for (const std::string* form : of.all())
        if (*form == wanted ||
            (is_pattern(wanted) && fnmatch(pattern.c_str(), form->c_str(), 0) == 0))
            return true;
    return false;
}
inline bool means(std::string_view symbol, std::string_view wanted) {
    return symbol == wanted || means(Forms(symbol), wanted);
}

// Whether an option that names kernels takes this one: none named takes all.
inline bool selects(const std::vector<std::string>& wanted, std::string_view symbol) {
    return wanted.empty() || std::any_of(wanted.begin(), wanted.end(),
                                         [&](const auto& one) { return means(symbol, one); });
}

// Indices of the symbols that are meant: those of the longest form that some symbol has, so that
// "saxpy" is the C function of that name although a template is called so too; else of the pattern.
template <class Symbols>
std::vector<size_t> meant(const Symbols& symbols, std::string_view wanted) {
    std::vector<size_t> out;
    for (size_t i = 0; i < symbols.size(); ++i)
        if (symbols[i] == wanted) out.push_back(i);
    if (!out.empty()) return out;
    std::vector<Forms> forms;
    forms.reserve(symbols.size());
    for (const auto& symbol : symbols) forms.emplace_back(symbol);
    for (size_t k = 1; k < 5; ++k) {
        for (size_t i = 0; i < forms.size(); ++i)
            if (*forms[i].all()[k] == wanted) out.push_back(i);
        if (!out.empty()) return out;
    }
    if (is_pattern(wanted))
        for (size_t i = 0; i < forms.size(); ++i)
            if (means(forms[i], wanted)) out.push_back(i);
    return out;
}

}  // namespace sassemu::names
