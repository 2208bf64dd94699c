// SPDX-License-Identifier: Apache-2.0
// The syntax of --fill.
#include "emu/machine/state_fill.hpp"

#include <charconv>
#include <string>

namespace sassemu {

Result<StateFill> StateFill::parse(std::string_view text) {
    const auto number = [](std::string_view digits, int base, auto& value) {
        const auto [end, failed] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
        return failed == std::errc() && end == digits.data() + digits.size();
    };
    StateFill fill;
    if (text == "zeros") return fill;
    if (text.starts_with("random:") && number(text.substr(7), 10, fill.seed_)) {
        fill.random_ = true;
        return fill;
    }
    const std::string_view digits = text.starts_with("0x") ? text.substr(2) : std::string_view();
    const bool whole = digits.size() == 2 || digits.size() == 4 || digits.size() == 8;
    if (!whole || !number(digits, 16, fill.pattern_))
        return make_error(ErrorCode::usage, "--fill " + std::string(text), "is no such value",
                          "0x and 2, 4 or 8 hexadecimal digits, random:SEED, or zeros");
    for (size_t bits = digits.size() * 4; bits < 32; bits *= 2)
        fill.pattern_ |= fill.pattern_ << bits;
    return fill;
}

}  // namespace sassemu
