// SPDX-License-Identifier: Apache-2.0
// Text of one litmus operation -> Instruction: the operands, and which family reads the mnemonic.
// The families themselves are in the *_forms.cpp.
#include "emu/explore/ptx/forms.hpp"

#include <algorithm>
#include <charconv>

#include "emu/explore/ptx/read_test.hpp"

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

Result<Operand> read_memory(std::string_view s, const Test& test) {
    Operand out;
    out.kind = Operand::Kind::memory;
    s = trimmed(s.substr(0, s.find(',')));  // [t, {0}]: the coordinates of a tile say nothing here
    if (const size_t plus = s.find('+'); plus != s.npos) {
        if (!number(trimmed(s.substr(plus + 1)), out.offset))
            return make_error(ErrorCode::input, {},
                              "the offset in '[" + std::string(s) + "]' is no number");
        s = trimmed(s.substr(0, plus));
    }
    if (const size_t at = s.find('@'); at != s.npos) {
        uint64_t pe = 0;
        if (!number(trimmed(s.substr(at + 1)), pe) || pe > 1024)
            return make_error(ErrorCode::input, {},
                              "the PE in '[" + std::string(s) + "]' is no number");
        out.pe = static_cast<int32_t>(pe);
        s = trimmed(s.substr(0, at));
    }
    out.name = find_name(test, s);
    if (out.name == test.names.size())
        return make_error(ErrorCode::input, {}, "no location '" + std::string(s) + "'");
    return out;
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

Result<Operand> Form::operand(size_t i) {
    if (i >= operands.size())
        return make_error(ErrorCode::input, {}, "operand " + std::to_string(i + 1) + " is missing");
    std::string_view s = operands[i];
    Operand out;
    if (s.starts_with('[')) {
        if (!s.ends_with(']'))
            return make_error(ErrorCode::input, {}, "'" + std::string(s) + "' lacks its ]");
        return read_memory(s.substr(1, s.size() - 2), test);
    }
    if (s.starts_with('&')) {
        out.kind = Operand::Kind::address;
        out.name = find_name(test, s.substr(1));
        if (out.name == test.names.size())
            return make_error(ErrorCode::input, {},
                              "no location '" + std::string(s.substr(1)) + "'");
        return out;
    }
    if (s.starts_with('!')) s.remove_prefix(1);
    if (number(s, out.value)) {
        out.kind = Operand::Kind::value;
        return out;
    }
    if (s.starts_with('%')) s.remove_prefix(1);
    if (!identifier(s))
        return make_error(ErrorCode::input, {}, "'" + std::string(s) + "' is no operand");
    out.kind = Operand::Kind::reg;
    out.reg = register_of(thread, s);
    return out;
}

Result<Operand> Form::reg(size_t i) {
    SASSEMU_ASSIGN(Operand out, operand(i));
    if (out.kind != Operand::Kind::reg)
        return make_error(ErrorCode::input, {},
                          "operand " + std::to_string(i + 1) + " must be a register");
    return out;
}
Result<Operand> Form::memory(size_t i) {
    SASSEMU_ASSIGN(Operand out, operand(i));
    if (out.kind != Operand::Kind::memory)
        return make_error(ErrorCode::input, {},
                          "operand " + std::to_string(i + 1) + " must be an address, as [x]");
    const Name& name = test.names[out.name];
    if (out.offset >= name.bytes)
        return make_error(ErrorCode::input, {},
                          "'" + std::string(operands[i]) + "' lies outside of the location");
    return out;
}
Result<Operand> Form::value(size_t i) {
    SASSEMU_ASSIGN(Operand out, operand(i));
    if (out.kind == Operand::Kind::memory)
        return make_error(ErrorCode::input, {},
                          "operand " + std::to_string(i + 1) + " must be a register or a number");
    return out;
}
Result<uint64_t> Form::constant(size_t i) {
    SASSEMU_ASSIGN(Operand out, operand(i));
    if (out.kind != Operand::Kind::value)
        return make_error(ErrorCode::input, {},
                          "operand " + std::to_string(i + 1) + " must be a number");
    return out.value;
}
Result<void> Form::count(size_t least, size_t most) const {
    if (operands.size() >= least && operands.size() <= most) return {};
    return make_error(ErrorCode::input, {},
                      std::to_string(operands.size()) + " operands where " + std::to_string(least) +
                          (least == most ? "" : " to " + std::to_string(most)) + " are expected");
}
Error Form::unknown_word() const {
    return make_error(
        ErrorCode::input, {},
        "'." + std::string(words.next()) + "' is unknown in '" + std::string(mnemonic) + "'");
}

Result<Instruction> read_instruction(std::string_view text, Test& test, Thread& thread) {
    const std::string_view whole = trimmed(text);
    std::string_view rest = whole;
    Instruction outset;
    std::string stripped;
    if (test.model == "caches") {
        SASSEMU_ASSIGN(stripped, strip_sass(whole, thread, outset));
        rest = stripped;
    }
    int32_t instance = -1;
    if (const size_t at = rest.find("@inst="); at != rest.npos) {
        uint64_t value = 0;
        if (!number(trimmed(rest.substr(at + 6)), value) || value > 1'000'000)
            return make_error(ErrorCode::input, {}, "'@inst=' wants a number");
        instance = static_cast<int32_t>(value);
        rest = trimmed(rest.substr(0, at));
    }
    const size_t space = rest.find_first_of(" \t");
    const std::string_view mnemonic = rest.substr(0, space);
    Form form{
        test,
        thread,
        mnemonic,
        Words(mnemonic),
        space == rest.npos ? std::vector<std::string_view>{} : split_operands(rest.substr(space)),
        std::move(outset)};
    form.out.instance = instance;
    form.out.text = std::string(whole);
    form.out.form = std::string(mnemonic);
    SASSEMU_TRY(read_form(form));
    if (instance >= 0 && form.out.op != Op::barrier)
        return make_error(ErrorCode::input, {}, "'@inst=' belongs to a bar instruction");
    return std::move(form.out);
}

Result<void> read_form(Form& form) {
    const std::string_view head = form.words.pop();
    using Reader = Result<void> (*)(Form&, std::string_view);
    for (const Reader reader : {read_ordinary_form, read_fence_form, read_barrier_form,
                                read_async_form, read_tensor_form, read_machine_form}) {
        form.known = true;
        SASSEMU_TRY(reader(form, head));
        if (!form.known) continue;
        if (!form.words.done()) return form.unknown_word();
        return {};
    }
    return make_error(ErrorCode::input, {},
                      "'" + std::string(form.mnemonic) + "' is no operation of a litmus test");
}

}  // namespace sassemu::explore
