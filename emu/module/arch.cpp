// SPDX-License-Identifier: Apache-2.0
// Architecture names and binary compatibility.
// Belongs here: what the loader asks of decoder/isa/architectures.isa, where the list is.
#include "emu/module/module.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu {

bool is_known_sm(unsigned sm) { return sassdec::find_architecture(sm) != nullptr; }

std::string Arch::name() const {
    std::string text = "sm_" + std::to_string(sm);
    if (suffix != 0) text += suffix;
    return text;
}

Result<Arch> parse_arch(std::string_view name) {
    Arch arch;
    const sassdec::Architecture* found = sassdec::find_architecture(name, &arch.suffix);
    if (!found) {
        return make_error(ErrorCode::unsupported, "architecture \"" + std::string(name) + "\"",
                          "is not known", sassdec::known_architectures);
    }
    arch.sm = found->sm;
    return arch;
}

bool runs_on(Arch code, Arch device) {
    if (code.suffix == 'a') return code.sm == device.sm;
    return code.sm <= device.sm &&
           sassdec::architecture(code.sm).group == sassdec::architecture(device.sm).group;
}

}  // namespace sassemu
