// SPDX-License-Identifier: Apache-2.0
// Device profiles by name. Figures are NVIDIA's published ones (CUDA Programming Guide, "Technical
// Specifications per Compute Capability"; product pages for the number of SMs).
#include <array>

#include "emu/gpu.hpp"

namespace sassemu {

namespace {

constexpr uint32_t kib = 1024;
struct Profile {
    const char* name;
    uint32_t sms, shared_per_sm, shared_per_cta, ctas, threads;
};
constexpr std::array profiles{
    Profile{"t4", 40, 64 * kib, 64 * kib, 16, 1024},
    Profile{"a100", 108, 164 * kib, 163 * kib, 32, 2048},
    Profile{"a10", 72, 100 * kib, 99 * kib, 16, 1536},
    Profile{"rtx3090", 82, 100 * kib, 99 * kib, 16, 1536},
    Profile{"orin", 16, 164 * kib, 163 * kib, 16, 1536},
    Profile{"l4", 58, 100 * kib, 99 * kib, 24, 1536},
    Profile{"rtx4090", 128, 100 * kib, 99 * kib, 24, 1536},
    Profile{"h100", 132, 228 * kib, 227 * kib, 32, 2048},
    Profile{"h200", 132, 228 * kib, 227 * kib, 32, 2048},
    Profile{"b200", 148, 228 * kib, 227 * kib, 32, 2048},
    Profile{"rtx5090", 170, 100 * kib, 99 * kib, 32, 1536},
};

}  // namespace

Result<DeviceProfile> device_profile(std::string_view name) {
    std::string known;
    for (const Profile& p : profiles) {
        if (name == p.name)
            return DeviceProfile{p.name, p.sms,  p.shared_per_sm, p.shared_per_cta,
                                 65536,  p.ctas, p.threads};
        known += (known.empty() ? "" : ", ") + std::string(p.name);
    }
    return Error{ErrorCode::usage, "device '" + std::string(name) + "'", "no such profile",
                 "known: " + known};
}

}  // namespace sassemu
