// SPDX-License-Identifier: Apache-2.0
#include "emu/schedule/constant_banks.hpp"

#include <algorithm>

#include "emu/schedule/bank0.hpp"

namespace sassemu {

BankBytes level_banks(const Module& module, LinkedImage& linked) {
    constexpr uint64_t slack = 64;  // operands of 64 bytes may begin at the last parameter
    BankBytes most{};
    uint64_t& bank0 = most[static_cast<size_t>(Base::bank0)];
    bank0 = bank0_bytes_without_parameters;
    for (const Kernel& k : module.kernels())
        bank0 = std::max(bank0, uint64_t{k.param_base} + k.param_size + slack);
    const auto level = [&](uint32_t bank, Base base) {
        uint64_t& bytes = most[static_cast<size_t>(base)];
        for (const LinkedBank& b : linked.banks)
            if (b.bank == bank) bytes = std::max<uint64_t>(bytes, b.bytes.size());
        for (LinkedBank& b : linked.banks)
            if (b.bank == bank) b.bytes.resize(bytes);
    };
    level(2, Base::bank2);
    level(4, Base::bank4);
    return most;
}

}  // namespace sassemu
