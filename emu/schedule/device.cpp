// SPDX-License-Identifier: Apache-2.0
// Device profiles by name, of decoder/isa/architectures.isa.
#include "emu/gpu.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu {

Result<DeviceProfile> device_profile(std::string_view name) {
    std::string known;
    for (const sassdec::Device& d : sassdec::devices) {
        if (name == d.name) {
            const sassdec::Architecture& chip = sassdec::architecture(d.sm);
            return DeviceProfile{d.name,
                                 d.sms,
                                 chip.shared_per_sm,
                                 chip.shared_per_cta,
                                 65536,
                                 chip.ctas_per_sm,
                                 chip.threads_per_sm};
        }
        known += (known.empty() ? "" : ", ") + std::string(d.name);
    }
    return Error{ErrorCode::usage, "device '" + std::string(name) + "'", "no such profile",
                 "known: " + known};
}

}  // namespace sassemu
