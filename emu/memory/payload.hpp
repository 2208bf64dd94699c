// SPDX-License-Identifier: Apache-2.0
// What an Op holds for the families that others look into as well: the names of its slots, and the
// only arithmetic of addresses. `as<MemoryPayload>(op)` is the same operation, read that way.
#pragma once

#include <bit>
#include <type_traits>

#include "emu/machine/warp.hpp"
#include "emu/memory/event.hpp"

namespace sassemu {

template <class T>
const T& as(const Op& op) {
    static_assert(std::is_base_of_v<Op, T> && sizeof(T) == sizeof(Op));
    return static_cast<const T&>(op);
}
template <class T>
T& as(Op& op) {
    return const_cast<T&>(as<T>(static_cast<const Op&>(op)));
}

// [R.64 + UR + offset]: a pair of rows, and what is added to every lane.
struct FarBase {
    const uint32_t *low, *high;
    uint64_t add;
    uint64_t at(uint32_t lane) const { return (uint64_t{high[lane]} << 32 | low[lane]) + add; }
};
// [R.X4 + UR + offset], 32 bits.
struct NearBase {
    const uint32_t* row;
    uint32_t shift, add;
    uint32_t at(uint32_t lane) const { return (row[lane] << shift) + add; }
};

// Loads, stores, atomics, matrices:
//   d      row(s) loaded to or stored from      a, b   rows of the low and high half of the address
//   c      scalar operand added to the address  m[0]   signed offset
//   m[1]   shift of the address row (shared)
//   k[1]   AccessOp | AccessSpace << 4          k[2]   Ordering | MemScope << 3 | texture << 7
struct MemoryPayload : Op {
    void describe(const Event& e) {
        k[1] = static_cast<uint8_t>(int(e.access_op()) | int(e.access_space()) << 4);
        k[2] =
            static_cast<uint8_t>(e.order | e.scope << 3 | (e.proxy == SASSDEC_PROXY_TEXTURE) << 7);
    }
    AccessOp operation() const { return static_cast<AccessOp>(k[1] & 15); }
    AccessSpace space() const { return static_cast<AccessSpace>(k[1] >> 4); }
    Ordering ordering() const { return static_cast<Ordering>(k[2] & 7); }
    MemScope scope() const { return static_cast<MemScope>(k[2] >> 3 & 7); }
    Proxy proxy() const { return k[2] >> 7 ? Proxy::texture : Proxy::generic; }

    uint32_t data_row() const { return d; }
    FarBase far(const Warp& w) const {
        return {w.row(a), w.row(b),
                w.scalar64(c) +
                    static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(m[0])))};
    }
    NearBase near(const Warp& w) const { return {w.row(a), m[1], w.scalar32(c) + m[0]}; }
    void addresses(const Warp& w, uint64_t (&at)[32]) const {
        if (space() == AccessSpace::shared || space() == AccessSpace::local)
            fill(near(w), at);
        else
            fill(far(w), at);
    }
    // All but the width and what is special of an atomic.
    Access access(Warp& w, uint32_t lanes) const {
        Access r;
        r.op = operation();
        r.space = space();
        r.ordering = ordering();
        r.scope = scope();
        r.proxy = proxy();
        r.lanes = lanes;
        r.warp = &w;
        r.destination = r.op == AccessOp::store ? sink_row : d;
        r.source[0] = r.source[1] = d;
        addresses(w, r.address);
        return r;
    }

  protected:
    static void fill(const auto& base, uint64_t (&at)[32]) {
        for (uint32_t lane = 0; lane < 32; ++lane) at[lane] = base.at(lane);
    }
};

// LDG and STG of 256 bits, which may leave words out: accesses of up to 16 bytes, one behind the
// other. d, e the rows of words 0 to 3 and 4 to 7; m[2] a byte for each part: its first word |
// words << 4, 0 behind the last; m[3] of loads: predicate index | negated << 8.
struct WidePayload : MemoryPayload {
    static constexpr uint32_t bytes = 32, most_parts = 4;
    uint32_t parts() const { return (std::bit_width(m[2]) + 7u) / 8; }
    uint32_t word(uint32_t part) const { return m[2] >> 8 * part & 15; }
    uint32_t words(uint32_t part) const { return m[2] >> (8 * part + 4) & 15; }
    uint32_t row(uint32_t part) const {
        return (word(part) < 4 ? d : e) + word(part) % 4 * row_bytes;
    }
    // Lanes whose predicate is false get zeros.
    uint32_t accessing(const Warp& w, uint32_t mask) const {
        return mask & (m[3] >> 8 ? ~w.p[m[3] & 15] : w.p[m[3] & 15]);
    }
    // Of an access to all: access().
    Access part(const Access& all, uint32_t k) const {
        Access r = all;
        r.bytes = static_cast<uint8_t>(4 * words(k));
        (r.op == AccessOp::store ? r.source[0] : r.destination) = row(k);
        for (uint64_t& address : r.address) address += 4 * word(k);
        return r;
    }
};

// LDSM, STSM: lanes 0 to 8 * k[0] - 1 name rows of 16 bytes; m[2] transposed | MatrixElement << 1.
struct MatrixPayload : MemoryPayload {
    static constexpr uint32_t bytes = 16;  // of a row
    uint32_t row_lanes() const { return low_lanes(8 * k[0]); }
    Access access(Warp& w) const {
        Access r = MemoryPayload::access(w, row_lanes());
        r.bytes = bytes;
        r.matrices = k[0];
        r.transposed = m[2] & 1;
        r.element = static_cast<MatrixElement>(m[2] >> 1);
        return r;
    }
};

// d the old value, the sink for reductions; e what is compared, f the operand.
struct AtomicPayload : MemoryPayload {
    uint32_t compare_row() const { return e; }
    uint32_t operand_row() const { return f; }
};

// LDC: a 32-bit address in a bank.
struct ConstantPayload : Op {
    void addresses(const Warp& w, uint64_t (&at)[32]) const {
        for (uint32_t lane = 0; lane < 32; ++lane) at[lane] = w.row(a)[lane] + m[0];
    }
};

// LDGSTS: the global address as in MemoryPayload; e, f, m[1] row, uniform scalar and offset of the
// shared one; m[2] ZFILL; m[3] predicate index | negated << 8.
struct CopyPayload : MemoryPayload {
    bool zero_fills() const { return m[2] != 0; }
    uint32_t from_lanes(const Warp& w, uint32_t mask) const {
        const uint32_t p = w.p[m[3] & 255];
        return mask & (m[3] >> 8 ? ~p : p);
    }
    NearBase to(const Warp& w) const { return {w.row(e), 0, w.scalar32(f) + m[1]}; }
    // ZFILL: the bytes to leave out are the address's own misalignment.
    uint32_t missing(uint64_t address, uint32_t bytes) const {
        return zero_fills() ? static_cast<uint32_t>(address & (bytes - 1)) : 0;
    }
    void from_addresses(const Warp& w, uint32_t bytes, uint64_t (&at)[32]) const {
        fill(far(w), at);
        for (uint64_t& address : at) address -= missing(address, bytes);
    }
    void to_addresses(const Warp& w, uint64_t (&at)[32]) const { fill(to(w), at); }
};

// k[0] Ordering, k[1] MemScope, k[2] what it empties.
struct FencePayload : Op {
    enum Empties : uint8_t { data = 1, texture = 2 };
    Ordering ordering() const { return static_cast<Ordering>(k[0]); }
    MemScope scope() const { return static_cast<MemScope>(k[1]); }
    bool empties(Empties what) const { return k[2] & what; }
    void describe(const Event& event) {
        const bool all = event.is(SASSDEC_KIND_CACHE, SASSDEC_ACTION_INVALIDATE_ALL) ||
                         event.is(SASSDEC_KIND_CACHE, SASSDEC_ACTION_INVALIDATE_ALL_PRIVATE);
        k[0] = event.order;
        k[1] = event.scope;
        k[2] = !all ? 0 : event.cache == SASSDEC_CACHE_TEXTURE ? texture : data;
    }
    uint8_t& emptied() { return k[2]; }
};

// SYNCS.PHASECHK: the object as near(); e the register whose bit 31 is the parity, k[0] the
// predicate, k[1] TRYWAIT. On uniform registers (the predicate tells) e is a scalar.
struct MbarrierTestPayload : MemoryPayload {
    bool uniform() const { return k[0] >= 8; }
    uint32_t parities(const Warp& w) const {
        if (uniform()) return 0u - (w.scalar32(e) >> 31);
        uint32_t all = 0;
        for (uint32_t lane = 0; lane < 32; ++lane) all |= w.row(e)[lane] >> 31 << lane;
        return all;
    }
    uint8_t predicate() const { return k[0]; }
};
// SYNCS on uniform registers: a, m[0] the address; b the new object.
struct MbarrierPayload : Op {
    uint32_t address(const Warp& w) const { return w.scalar32(a) + m[0]; }
    uint64_t object(const Warp& w) const { return w.scalar64(b); }
};

// WARPSYNC.COLLECTIVE: m[0] the way to the ENDCOLLECTIVE.
struct CollectivePayload : Op {
    const Op* end() const { return this + static_cast<int32_t>(m[0]); }
};

}  // namespace sassemu
