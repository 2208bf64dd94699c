// SPDX-License-Identifier: Apache-2.0
// Text of one litmus operation -> Statement: the operands, and which family reads the mnemonic.
// The families themselves are in the *_forms.cpp.
#include <algorithm>
#include <charconv>

#include "emu/explore/ptx/forms.hpp"
#include "emu/explore/ptx/read_test.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu::explore {
namespace {

std::string_view trimmed(std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == ';'))
        s.remove_suffix(1);
    return s;
}

bool number(std::string_view s, uint64_t& out) {
    bool negative = false;
    if (s.starts_with('-')) negative = true, s.remove_prefix(1);
    int base = 10;
    if (s.starts_with("0x")) base = 16, s.remove_prefix(2);
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out, base);
    if (error != std::errc{} || end != s.data() + s.size()) return false;
    if (negative) out = ~out + 1;
    return true;
}

bool identifier(std::string_view s) {
    if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
    return std::all_of(s.begin(), s.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '_' || c == '$';
    });
}

// Splits at commas that are in no bracket or brace.
std::vector<std::string_view> split_operands(std::string_view s) {
    std::vector<std::string_view> out;
    int depth = 0;
    size_t start = 0;
    for (size_t i = 0; i <= s.size(); ++i) {
        const char c = i < s.size() ? s[i] : ',';
        if (c == '[' || c == '{') ++depth;
        if (c == ']' || c == '}') --depth;
        if (c == ',' && (depth <= 0 || i == s.size())) {
            const std::string_view one = trimmed(s.substr(start, i - start));
            if (!one.empty() || i < s.size() || !out.empty()) out.push_back(one);
            start = i + 1;
        }
    }
    return out;
}

Error wrong_operand(size_t i, std::string_view what) {
    return input_error("operand " + std::to_string(i + 1) + " " + std::string(what));
}

}  // namespace

Words::Words(std::string_view mnemonic) {
    while (true) {
        const size_t dot = mnemonic.find('.');
        words_.push_back(mnemonic.substr(0, dot));
        if (dot == mnemonic.npos) break;
        mnemonic.remove_prefix(dot + 1);
    }
}
std::string_view Words::next() const {
    return at_ < words_.size() ? words_[at_] : std::string_view{};
}
bool Words::take(std::string_view word) {
    if (next() != word || done()) return false;
    ++at_;
    return true;
}
std::string_view Words::pop() {
    const std::string_view w = next();
    if (!done()) ++at_;
    return w;
}

Result<void> Form::operand(size_t i, Argument& out) {
    if (i >= operands.size()) return wrong_operand(i, "is missing");
    std::string_view s = operands[i];
    if (s.starts_with('[')) return wrong_operand(i, "must be a register or a number");
    if (s.starts_with('&')) {
        const uint32_t name = find_name(test, s.substr(1));
        out = AddressOf{name};
        if (name < test.names.size()) return {};
        return input_error("no location '" + std::string(s.substr(1)) + "'");
    }
    if (s.starts_with('!')) s.remove_prefix(1);
    if (uint64_t value = 0; number(s, value)) {
        out = value;
        return {};
    }
    if (s.starts_with('%')) s.remove_prefix(1);
    if (!identifier(s)) return input_error("'" + std::string(s) + "' is no operand");
    out = Register{register_of(thread, s)};
    return {};
}
Result<void> Form::operand(size_t i, Register& out) {
    Argument any;
    if (i < operands.size() && operands[i].starts_with('['))
        return wrong_operand(i, "must be a register");
    SASSEMU_TRY(operand(i, any));
    if (!std::holds_alternative<Register>(any)) return wrong_operand(i, "must be a register");
    out = std::get<Register>(any);
    return {};
}
Result<void> Form::operand(size_t i, uint64_t& out) {
    Argument any;
    SASSEMU_TRY(operand(i, any));
    if (!std::holds_alternative<uint64_t>(any)) return wrong_operand(i, "must be a number");
    out = std::get<uint64_t>(any);
    return {};
}
Result<void> Form::operand(size_t i, Place& out) {
    if (i >= operands.size()) return wrong_operand(i, "is missing");
    const std::string whole(operands[i]);
    std::string_view s = whole;
    if (!s.starts_with('[')) return wrong_operand(i, "must be an address, as [x]");
    if (!s.ends_with(']')) return input_error("'" + whole + "' lacks its ]");
    s = s.substr(1, s.size() - 2);
    s = trimmed(s.substr(0, s.find(',')));  // [t, {0}]: the coordinates of a tile say nothing here
    if (const size_t plus = s.find('+'); plus != s.npos) {
        if (!number(trimmed(s.substr(plus + 1)), out.offset))
            return input_error("the offset in '" + whole + "' is no number");
        s = trimmed(s.substr(0, plus));
    }
    if (const size_t at = s.find('@'); at != s.npos) {
        uint64_t pe = 0;
        if (!number(trimmed(s.substr(at + 1)), pe) || pe > 1024)
            return input_error("the PE in '" + whole + "' is no number");
        out.pe = static_cast<int32_t>(pe);
        s = trimmed(s.substr(0, at));
    }
    out.name = find_name(test, s);
    if (out.name == test.names.size()) return input_error("no location '" + std::string(s) + "'");
    if (out.offset >= test.names[out.name].bytes)
        return input_error("'" + whole + "' lies outside of the location");
    return {};
}
Result<void> Form::count(size_t least, size_t most) const {
    if (operands.size() >= least && operands.size() <= most) return {};
    return input_error(std::to_string(operands.size()) + " operands where " +
                       std::to_string(least) +
                       (least == most ? "" : " to " + std::to_string(most)) + " are expected");
}
Error Form::unknown_word() const {
    return input_error("'." + std::string(words.next()) + "' is unknown in '" +
                       std::string(mnemonic) + "'");
}

Result<void> Form::check_target() const {
    const std::string_view target = test.target;
    if (target.empty()) return {};
    char variant = 0;
    const sassdec::Architecture* chip =
        target.starts_with("sm_") ? sassdec::find_architecture(target, &variant) : nullptr;
    uint32_t sm = chip ? chip->sm : 0;
    if (!chip && target.starts_with("sm_")) {  // PTX has targets older than the list
        const char* end = target.data() + target.size();
        const auto [at, status] = std::from_chars(target.data() + 3, end, sm);
        if (status != std::errc{} || at != end || sm >= sassdec::architectures[0].sm) sm = 0;
    }
    if (!sm)
        return input_error("'" + std::string(target) + "' is no target; " +
                           sassdec::known_architectures);
    std::string least = "sm_" + std::to_string(minimum);
    bool fits = sm >= minimum;
    if (exact_family && mnemonic.starts_with("wgmma")) {
        fits = variant && chip->family->wgmma;
        least = "sm_90a";
    } else if (exact_family && mnemonic.starts_with("tcgen05")) {
        fits = variant && chip->family->tcgen05;
        least = "sm_100a";
    } else if (exact_family) {
        fits = fits && variant;
        least += "a";
    }
    if (fits) return {};
    return input_error(std::string(mnemonic) + " needs " + least + ", the target is " +
                       std::string(target));
}

namespace {

Result<void> read_form(Form& form) {
    const std::string_view head = form.words.pop();
    for (const auto reader : {read_ordinary_form, read_fence_form, read_barrier_form,
                              read_async_form, read_tensor_form, read_machine_form}) {
        form.known = true;
        SASSEMU_TRY(reader(form, head));
        if (!form.known) continue;
        if (!form.words.done()) return form.unknown_word();
        return {};
    }
    return input_error("'" + std::string(form.mnemonic) + "' is no operation of a litmus test");
}

}  // namespace

Result<Statement> read_statement(std::string_view text, Test& test, Thread& thread) {
    const std::string_view whole = trimmed(text);
    std::string_view rest = whole;
    Statement out;
    std::string stripped;
    if (test.model == "caches") {
        SASSEMU_ASSIGN(stripped, strip_sass(whole, thread, out));
        rest = stripped;
    }
    uint64_t instance = 0;
    const size_t at = rest.find("@inst=");
    if (at != rest.npos) {
        if (!number(trimmed(rest.substr(at + 6)), instance) || instance > 1'000'000)
            return input_error("'@inst=' wants a number");
        rest = trimmed(rest.substr(0, at));
    }
    const size_t space = rest.find_first_of(" \t");
    const std::string_view mnemonic = rest.substr(0, space);
    Form form{
        test, thread, mnemonic, Words(mnemonic),
        space == rest.npos ? std::vector<std::string_view>{} : split_operands(rest.substr(space))};
    SASSEMU_TRY(read_form(form));
    out.text = std::string(whole);
    out.what = std::move(form.out);
    if (at != std::string_view::npos) {
        auto* barrier = std::get_if<op::Barrier>(&out.what);
        if (!barrier) return input_error("'@inst=' belongs to a bar instruction");
        barrier->instance = static_cast<int32_t>(instance);
    }
    SASSEMU_TRY(form.check_target());
    return out;
}

}  // namespace sassemu::explore
