// SPDX-License-Identifier: Apache-2.0
// wgmma in machine code: which registers and which bytes of shared memory one reads and writes, and
// what it makes of them. Both searches ask here (graph/sass_products.cpp,
// machines/fetch_products.cpp). What does not belong here: when it is done.
#pragma once

#include <array>
#include <bitset>
#include <functional>
#include <vector>

#include "emu/async/warpgroup_core.hpp"
#include "emu/explore/sass/code.hpp"
#include "emu/schedule/prepared.hpp"

namespace sassemu::explore {

constexpr uint32_t threads_of_warpgroup = 128;

// One that threads of a warpgroup have issued.
struct Product {
    uint32_t pc = 0;
    uint32_t number = 0;  // as an asynchronous operation
    async::WarpgroupMultiply what;
    std::bitset<threads_of_warpgroup> issued;
    std::array<uint32_t, threads_of_warpgroup> metadata{};  // where it is sparse

    bool complete() const { return issued.all(); }
    // Why the thread's is not the one that others have issued in this place; null: it is.
    const char* differs(uint32_t other_pc, const async::WarpgroupMultiply& other) const;
};

// Consecutive registers, by numbers of sass_register.
struct RegisterRange {
    uint32_t first = 0, count = 0;
    bool has(uint32_t r) const { return r - first < count; }
    bool meets(const RegisterRange& o) const {
        return first < o.first + o.count && o.first < first + count;
    }
    bool same(const RegisterRange& o) const { return first == o.first && count == o.count; }
};
RegisterRange results_of(const async::WarpgroupMultiply& m);
std::array<RegisterRange, 2> operands_of(const async::WarpgroupMultiply& m);
// A thread that does this touches registers of the product before it is done.
bool touches(const SassCode& code, const SassInstruction& i, const async::WarpgroupMultiply& m);

struct SharedRange {
    uint32_t address = 0, bytes = 0;
};
std::vector<SharedRange> shared_operands(const async::WarpgroupMultiply& m);

// `shared`: of the CTA, with the operands in place. Registers of a thread of the warpgroup, by
// their number of sass_register.
void multiply(const PreparedLaunch& launch, const Product& p, const std::byte* shared,
              const std::function<uint32_t(uint32_t thread, uint32_t index)>& read,
              const std::function<void(uint32_t thread, uint32_t index, uint32_t value)>& write);

}  // namespace sassemu::explore
