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
// shared memory; with `pair` (.cta_group::2) the report goes to the one of the receiver and its
// peer whose rank is as even or odd as that of the object named.
struct Completion {
    uint32_t mbarrier = 0;
    bool multicast = false;
    bool pair = false;
    uint32_t ranks = 0;
};

struct BulkCopy : Completion {
    bool to_global = false, from_global = false;  // else shared memory
    uint64_t to = 0, from = 0;
    uint32_t bytes = 0;                // a multiple of 16
    AtomicOp reduce = AtomicOp::none;  // none: what is there is replaced
    AtomicType type = AtomicType::u32;
    uint16_t byte_mask = 0xffff;  // the bytes of each 16 that are written (to global memory)
};

// What an agent reduces. Measured on an H100 with tensor maps of all types, which it takes for
// illegal with any other operation.
constexpr bool reduction_exists(AtomicOp op, AtomicType type) {
    const bool extreme = op == AtomicOp::min || op == AtomicOp::max;
    const bool stepped = op == AtomicOp::inc || op == AtomicOp::dec;
    if (op < AtomicOp::add || op > AtomicOp::xor_) return false;
    switch (type) {
        case AtomicType::u32:
            return true;
        case AtomicType::s32:
        case AtomicType::u64:
            return !stepped;
        case AtomicType::s64:
            return extreme;
        case AtomicType::f16x2:
        case AtomicType::bf16x2:
            return extreme || op == AtomicOp::add;
        case AtomicType::f32:
        case AtomicType::f32_rn:
        case AtomicType::f64:
            return op == AtomicOp::add;
        default:
            return false;
    }
}

// What of a tensor a copy takes (PTX ISA, "Tensor Access Modes").
enum class TensorMode : uint8_t {
    tile,    // a box
    rows4,   // four rows of a matrix, each named (tile::gather4, tile::scatter4)
    column,  // a column of pixels of images (im2col)
    wide,    // pixels along W alone, and more of them at its end (im2col::w)
    wide128  // 128 pixels along W, and more of them after each 32 (im2col::w::128)
};

// A part of a tensor whose 128-byte map lies at the generic address `map`.
struct TensorCopy : Completion {
    uint64_t map = 0;
    uint32_t shared = 0;
    TensorMode mode = TensorMode::tile;
    uint32_t dimensions = 1;  // 1..5, as the instruction says
    // Coordinates, innermost first, in elements; rows4: the first column, and four rows.
    int32_t at[5] = {};
    uint32_t offset[3] = {};  // column: of W, H, D; wide: how many more (wHalo), offset of W
    bool store = false;       // shared to global
    bool prefetch = false;    // nothing is copied, but the map is looked at
    AtomicOp reduce = AtomicOp::none;  // of a store: none: what is there is replaced
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
