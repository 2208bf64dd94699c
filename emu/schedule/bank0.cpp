// SPDX-License-Identifier: Apache-2.0
// The values behind bank0.hpp; where they stand is decoder/isa/architectures.isa's.
#include "emu/schedule/bank0.hpp"

#include <bit>
#include <cstring>

#include "emu/memory/address_space.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu {

namespace {
constexpr uint32_t absent = 0xffff;
}

uint32_t reserved_behind(uint32_t sm) {
    constexpr uint32_t bytes = 1024;  // cudaDevAttrReservedSharedMemoryPerBlock
    return sassdec::architecture(sm).family->bank0.reserved_1 == absent ? 0 : bytes;
}

void fill_bank0(std::vector<std::byte>& bank, uint32_t sm, const Bank0Values& v) {
    const sassdec::Bank0Layout& at = sassdec::architecture(sm).family->bank0;
    const auto put = [&](uint32_t offset, uint32_t value) {
        if (offset < absent) std::memcpy(bank.data() + offset, &value, 4);
    };
    const auto put64 = [&](uint32_t offset, uint64_t value) {
        if (offset < absent) std::memcpy(bank.data() + offset, &value, 8);
    };
    const auto put3 = [&](uint32_t offset, const Dim3& d) {
        put(offset, d.x);
        put(offset + 4, d.y);
        put(offset + 8, d.z);
    };
    put3(at.ntid, v.block);
    put3(at.nctaid, v.grid);
    put(at.stack, v.stack_top);
    put64(at.shared_window, window_base(shared_window_high));
    put64(at.local_window, window_base(local_window_high));
    put(at.dynamic_shared, v.dynamic_shared);
    put64(at.grid_id, v.grid_id);
    put(at.nsmid, v.sms);
    put(at.total_shared, v.reserved_shared);
    put(at.reserved_end, v.shared);
    put(at.reserved_1, v.shared - v.reserved_shared);
    // envreg1:envreg2 = high:low word of the grid workspace {u32 size; u32 barrier}
    put(at.envreg + 4, static_cast<uint32_t>(v.grid_workspace >> 32));
    put(at.envreg + 8, static_cast<uint32_t>(v.grid_workspace));
    // sm_90 as an H200 has it for eleven cluster shapes. Code finds its cluster by multiplying
    // %ctaid with the reciprocal of the cluster's size, rounded to the nearest float.
    if (at.cluster_nctaid != absent) {
        put3(at.nclusterid,
             {v.grid.x / v.cluster.x, v.grid.y / v.cluster.y, v.grid.z / v.cluster.z});
        put3(at.cluster_nctaid, v.cluster);
        const auto reciprocal = [&](uint32_t n) {
            return std::bit_cast<uint32_t>(1.0f / static_cast<float>(n));
        };
        put3(at.per_cluster,
             {reciprocal(v.cluster.x), reciprocal(v.cluster.y), reciprocal(v.cluster.z)});
        put(at.explicit_cluster, v.explicit_cluster);
        put(at.cluster_rank, static_cast<uint32_t>(v.cluster.count()));
    }
    // Where generic pointers to parameters begin: at the parameters, or at the bank, and ptxas adds
    // where they lie in it. Pointers to constants begin where the module's bank 3 lies.
    put64(at.param_window, window_base(constant_window_high) + (at.window ? v.param_base : 0));
    put64(at.const_window, v.constants);
    put64(at.bank_address, window_base(constant_window_high));
}

}  // namespace sassemu
