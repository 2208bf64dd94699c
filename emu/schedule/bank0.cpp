// SPDX-License-Identifier: Apache-2.0
// The layouts behind bank0.hpp.
#include "emu/schedule/bank0.hpp"

#include <bit>
#include <cstring>

#include "emu/memory/address_space.hpp"

namespace sassemu {

namespace {

// Byte offsets; 0xffff = the architecture has no such field.
constexpr uint32_t absent = 0xffff;
struct Layout {
    uint32_t ntid, nctaid, stack, shared_window, local_window, envreg, dynamic_shared, grid_id,
        nsmid, total_shared, nclusterid, cluster_nctaid, cluster_rank, param_window, const_window,
        explicit_cluster, per_cluster;
};
constexpr Layout turing{0x0,    0xc,    0x28,   0x18,   0x20, 0x88, 0x2c,   0x30,  0x10c,
                        absent, absent, absent, absent, 0x40, 0x50, absent, absent};
constexpr Layout ampere{0x0,   0xc,    0x28,   0x18,   0x20, 0x88, 0x2c,   0x30,  0x10c,
                        0x114, absent, absent, absent, 0x40, 0x50, absent, absent};
constexpr Layout hopper{0x0,   0xc,   0x28,  absent, 0x20,  0x40, 0x2c,  0x30, 0x10c,
                        0x114, 0x15c, 0x144, 0x188,  0x198, 0xd0, 0x140, 0x150};
constexpr Layout blackwell{0x360, 0x370, 0x37c, absent, 0x2f8, 0x250, 0x2ac, 0x140, 0x2d0,
                           0x16c, 0x2c0, 0x2a0, 0x2cc,  0x348, 0x120, 0x36c, 0x2b0};

const Layout& layout_of(uint32_t sm) {
    return sm >= 100 ? blackwell : sm >= 90 ? hopper : sm >= 80 ? ampere : turing;
}

}  // namespace

void fill_bank0(std::vector<std::byte>& bank, uint32_t sm, const Bank0Values& v) {
    const Layout& at = layout_of(sm);
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
    // From sm_90 on the pointer to the parameters, before that to the bank (ptxas adds 0x160).
    put64(at.param_window, window_base(constant_window_high) + (sm >= 90 ? v.param_base : 0));
    put64(at.const_window, window_base(constant_window_high));
}

}  // namespace sassemu
