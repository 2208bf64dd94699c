// SPDX-License-Identifier: Apache-2.0
// Architecture names and binary compatibility.
// Belongs here: the list of SM numbers the loader accepts. Does not belong here: which
// instructions an architecture has (decoder/isa).
#include <algorithm>
#include <array>
#include <charconv>

#include "emu/module/module.hpp"

namespace sassemu {
namespace {

constexpr std::array<std::uint16_t, 12> known_sms = {75, 80,  86,  87,  88,  89,
                                                     90, 100, 103, 110, 120, 121};

}  // namespace

bool is_known_sm(unsigned sm) { return std::ranges::find(known_sms, sm) != known_sms.end(); }

std::string Arch::name() const {
    std::string text = "sm_" + std::to_string(sm);
    if (suffix != 0) text += suffix;
    return text;
}

Result<Arch> parse_arch(std::string_view name) {
    std::string_view rest = name;
    for (const std::string_view prefix : {"sm_", "SM_", "compute_", "SM", "sm"}) {
        if (rest.starts_with(prefix)) {
            rest.remove_prefix(prefix.size());
            break;
        }
    }
    Arch arch;
    const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), arch.sm);
    const std::string_view tail = rest.substr(static_cast<std::size_t>(end - rest.data()));
    const bool suffix_ok =
        tail.empty() || (tail.size() == 1 && (tail[0] == 'a' || tail[0] == 'f') && arch.sm >= 90 &&
                         !(tail[0] == 'f' && arch.sm < 100));
    if (status != std::errc{} || !is_known_sm(arch.sm) || !suffix_ok) {
        std::string hint = "known:";
        for (const auto sm : known_sms) hint += " sm_" + std::to_string(sm);
        return make_error(ErrorCode::unsupported, "architecture \"" + std::string(name) + "\"",
                          "is not known",
                          hint + "; suffix a from sm_90 on, suffix f from sm_100 on");
    }
    if (!tail.empty()) arch.suffix = tail[0];
    return arch;
}

bool runs_on(Arch code, Arch device) {
    if (code.suffix == 'a') return code.sm == device.sm;
    return code.sm / 10 == device.sm / 10 && code.sm <= device.sm;
}

}  // namespace sassemu
