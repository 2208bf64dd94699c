// SPDX-License-Identifier: Apache-2.0
// What handlers ask of the agents that move memory beside the warps: copies lane by lane
// (cp.async), stores and reductions lane by lane (st.async, red.async), bulk copies (cp.async.bulk)
// and tensor copies (cp.async.bulk.tensor), and how their completion is waited for. Shared
// addresses are those of the cluster: a rank in bits 31..24.
#pragma once

#include <cstdint>

#include "emu/machine/op.hpp"
#include "emu/machine/port.hpp"

namespace sassemu {

// Global to shared memory, `bytes` a lane. Lanes outside of `from_lanes` only write zeros; of the
// others the first `keep` bytes are copied, and zeros written behind them.
struct LaneCopy {
    uint32_t bytes = 4;  // 4, 8, 16
    uint32_t from_lanes = 0;
    uint64_t from[32];
    uint32_t to[32];  // in the CTA's own shared memory
    uint8_t keep[32];
};

// Registers to the shared memory of a CTA of the cluster, `bytes` a lane, which are reported to the
// mbarrier object beside them.
struct LaneStore {
    uint32_t bytes = 4;                // 4, 8, 16
    AtomicOp atomic = AtomicOp::none;  // none: a store
    AtomicType type = AtomicType::u32;
    uint32_t to[32];
    uint32_t mbarrier[32];
    uint32_t data[32][4];
};

// Where a copy to shared memory reports to: the mbarrier object at `mbarrier`, as transactions of
// the bytes written. A copy to global memory has none, its group is waited for. With `multicast`
// every CTA of `ranks` (bit per rank) gets the data and the report at the same offsets of its own
// shared memory.
struct Completion {
    uint32_t mbarrier = 0;
    bool multicast = false;
    uint32_t ranks = 0;
};

struct BulkCopy : Completion {
    bool to_global = false, from_global = false;  // else shared memory
    uint64_t to = 0, from = 0;
    uint32_t bytes = 0;  // a multiple of 16
};

// One box of a tensor whose 128-byte map lies at the generic address `map`.
struct TensorCopy : Completion {
    uint64_t map = 0;
    uint32_t shared = 0;
    uint32_t dimensions = 1;  // 1..5, as the instruction says
    int32_t at[5] = {};       // coordinates, innermost first, in elements
    bool store = false;       // shared to global
};

// clusterlaunchcontrol.try_cancel: a cluster that has not begun is handed over, and never begins.
// 16 bytes at `to` say which, or that there is none, in the CTA or in each of its cluster.
struct WorkRequest : Completion {
    static constexpr uint32_t bytes = 16;
    uint32_t to = 0;
};

// The copies of a warp since the last such point: LDGDEPBAR ends a group of lane copies,
// UTMACMDFLUSH one of bulk and tensor copies to global memory. A scoreboard counts the groups that
// are on their way.
struct CopyGroup {
    bool bulk = false;
    uint8_t scoreboard = 0;
};

}  // namespace sassemu
