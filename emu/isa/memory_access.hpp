// SPDX-License-Identifier: Apache-2.0
// What all memory families share: the values of every access size as lanes, the one-entry TLB, and
// the way to the memory port. How an operation holds its address and its access is
// memory/payload.hpp. No instruction here.
#pragma once

#include "emu/isa/isa.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/memory/payload.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

enum class Width : uint8_t { u8, s8, u16, s16, b32, b64, b128 };
constexpr uint32_t width_bytes(Width w) {
    return w <= Width::s8    ? 1
           : w <= Width::s16 ? 2
           : w == Width::b32 ? 4
           : w == Width::b64 ? 8
                             : 16;
}
constexpr uint32_t width_words(Width w) { return (width_bytes(w) + 3) / 4; }

// The access through the port: checks every lane, faults, watches, asks the model. Also the slow
// way of the inlined flat model.
const Op* access_port(const Op* op, Warp& w, uint32_t mask);

// The same of 256 bits.
const Op* wide_access_port(const Op* op, Warp& w, uint32_t mask);

// Lanes of one access size. Contiguous: lane i at p + i * bytes; only lanes of the mask are
// touched.
template <Width W>
struct Lanes {
    static constexpr uint32_t bytes = width_bytes(W);
    using Value = V32;
    static SASSEMU_INLINE V32 gather(const void* base, V32 offset, uint32_t m) {
        if constexpr (W == Width::u8) return L::gather_u8(base, offset, m);
        if constexpr (W == Width::s8) return L::gather_s8(base, offset, m);
        if constexpr (W == Width::u16) return L::gather_u16(base, offset, m);
        if constexpr (W == Width::s16) return L::gather_s16(base, offset, m);
        return L::gather_32(base, offset, m);
    }
    static SASSEMU_INLINE void scatter(void* base, V32 offset, V32 v, uint32_t m) {
        if constexpr (bytes == 1)
            L::scatter_8(base, offset, v, m);
        else if constexpr (bytes == 2)
            L::scatter_16(base, offset, v, m);
        else
            L::scatter_32(base, offset, v, m);
    }
    template <bool All>
    static SASSEMU_INLINE V32 contiguous(const std::byte* p, uint32_t m) {
        if constexpr (!All) {
            if constexpr (W == Width::b32) return L::load_lanes_32(p, m);
            // Lane 0 may lie before the allocation: count from the first lane that is read.
            const uint32_t f = static_cast<uint32_t>(std::countr_zero(m));
            const std::byte* from = p + f * bytes;
            const uintptr_t skew = reinterpret_cast<uintptr_t>(from) & 3;  // a word-aligned base
            return gather(from - skew,
                          L::add(L::mul_lo(L::lane_ids(), L::splat(bytes)),
                                 L::splat(static_cast<uint32_t>(skew) - f * bytes)),
                          m);
        }
        if constexpr (W == Width::u8) return L::load_lanes_u8(p);
        if constexpr (W == Width::s8) return L::load_lanes_s8(p);
        if constexpr (W == Width::u16) return L::load_lanes_u16(p);
        if constexpr (W == Width::s16) return L::load_lanes_s16(p);
        return L::load_lanes_32(p);
    }
    template <bool All>
    static SASSEMU_INLINE void store_contiguous(std::byte* p, V32 v, uint32_t m) {
        if constexpr (!All) {
            if constexpr (W == Width::b32) {
                L::store_lanes_32(p, v, m);
            } else {
                const uint32_t f = static_cast<uint32_t>(std::countr_zero(m));
                scatter(p + f * bytes,
                        L::mul_lo(L::sub(L::lane_ids(), L::splat(f)), L::splat(bytes)), v, m);
            }
            return;
        }
        if constexpr (bytes == 1)
            L::store_lanes_8(p, v);
        else if constexpr (bytes == 2)
            L::store_lanes_16(p, v);
        else
            L::store_lanes_32(p, v);
    }
    static SASSEMU_INLINE V32 broadcast(const std::byte* p) {
        if constexpr (W == Width::u8) return L::splat(host::load<uint8_t>(p));
        if constexpr (W == Width::s8)
            return L::splat(static_cast<uint32_t>(static_cast<int8_t>(host::load<uint8_t>(p))));
        if constexpr (W == Width::u16) return L::splat(host::load<uint16_t>(p));
        if constexpr (W == Width::s16)
            return L::splat(static_cast<uint32_t>(static_cast<int16_t>(host::load<uint16_t>(p))));
        return L::splat(host::load<uint32_t>(p));
    }
    static SASSEMU_INLINE V32 from_rows(const Warp& w, uint32_t at) { return L::load(w.row(at)); }
    template <bool All>
    static SASSEMU_INLINE void to_rows(Warp& w, uint32_t at, V32 v, uint32_t m) {
        write<All>(w, at, v, m);
    }
};

template <>
struct Lanes<Width::b64> {
    static constexpr uint32_t bytes = 8;
    using Value = V64;
    static SASSEMU_INLINE V64 gather(const void* base, V32 offset, uint32_t m) {
        return L::gather_64(base, offset, m);
    }
    static SASSEMU_INLINE void scatter(void* base, V32 offset, V64 v, uint32_t m) {
        L::scatter_64(base, offset, v, m);
    }
    template <bool All>
    static SASSEMU_INLINE V64 contiguous(const std::byte* p, uint32_t m) {
        if constexpr (All) return L::load_lanes_64(p);
        return L::load_lanes_64(p, m);
    }
    template <bool All>
    static SASSEMU_INLINE void store_contiguous(std::byte* p, V64 v, uint32_t m) {
        if constexpr (All)
            L::store_lanes_64(p, v);
        else
            L::store_lanes_64(p, v, m);
    }
    static SASSEMU_INLINE V64 broadcast(const std::byte* p) {
        return L::splat64(host::load<uint64_t>(p));
    }
    static SASSEMU_INLINE V64 from_rows(const Warp& w, uint32_t at) {
        return L::load_pair(w.row(at), w.row(at + row_bytes));
    }
    template <bool All>
    static SASSEMU_INLINE void to_rows(Warp& w, uint32_t at, V64 v, uint32_t m) {
        write64<All>(w, at, v, m);
    }
};

template <>
struct Lanes<Width::b128> {
    static constexpr uint32_t bytes = 16;
    using Value = L::Rows4;
    static SASSEMU_INLINE Value gather(const void* base, V32 offset, uint32_t m) {
        return L::gather_128(base, offset, m);
    }
    static SASSEMU_INLINE void scatter(void* base, V32 offset, const Value& v, uint32_t m) {
        L::scatter_128(base, offset, v, m);
    }
    template <bool All>
    static SASSEMU_INLINE Value contiguous(const std::byte* p, uint32_t m) {
        if constexpr (All) return L::load_lanes_128(p);
        const uint32_t f = static_cast<uint32_t>(std::countr_zero(m));
        return gather(p + f * 16, L::mul_lo(L::sub(L::lane_ids(), L::splat(f)), L::splat(16)), m);
    }
    template <bool All>
    static SASSEMU_INLINE void store_contiguous(std::byte* p, const Value& v, uint32_t m) {
        if constexpr (All) {
            L::store_lanes_128(p, v);
        } else {
            const uint32_t f = static_cast<uint32_t>(std::countr_zero(m));
            scatter(p + f * 16, L::mul_lo(L::sub(L::lane_ids(), L::splat(f)), L::splat(16)), v, m);
        }
    }
    static SASSEMU_INLINE Value broadcast(const std::byte* p) {
        const uint64_t a = host::load<uint64_t>(p), b = host::load<uint64_t>(p + 8);
        return Value{{L::splat(static_cast<uint32_t>(a)), L::splat(static_cast<uint32_t>(a >> 32)),
                      L::splat(static_cast<uint32_t>(b)),
                      L::splat(static_cast<uint32_t>(b >> 32))}};
    }
    static SASSEMU_INLINE Value from_rows(const Warp& w, uint32_t at) {
        return Value{{L::load(w.row(at)), L::load(w.row(at + row_bytes)),
                      L::load(w.row(at + 2 * row_bytes)), L::load(w.row(at + 3 * row_bytes))}};
    }
    template <bool All>
    static SASSEMU_INLINE void to_rows(Warp& w, uint32_t at, const Value& v, uint32_t m) {
        write<All>(w, at, v.r[0], m);
        write<All>(w, at + row_bytes, v.r[1], m);
        write<All>(w, at + 2 * row_bytes, v.r[2], m);
        write<All>(w, at + 3 * row_bytes, v.r[3], m);
    }
};

// Makes Cta::last the extent that holds [address, address + bytes); false if there is none. A
// glance calls nothing, and is false too where allocations share a page.
template <bool Store, bool Glance = false>
SASSEMU_INLINE bool reach(Warp& w, uint64_t address, uint64_t bytes) {
    Extent& e = w.cta->last;
    if (!e.holds(address, bytes)) [[unlikely]] {
        const AddressSpace& space = *w.cta->launch->space;
        const Extent& found = Glance ? space.glance(address) : space.find(address);
        if (!found.holds(address, bytes)) return false;
        e = found;
    }
    return !Store || !(e.flags & Extent::read_only);
}

// How the lanes of an access lie.
enum class Pattern : uint8_t { line, same, scattered };

// Device addresses of one access: {high:low} row pair + scalar + offset.
struct FarAddress {
    uint64_t add;     // what is added to the rows
    uint64_t first;   // the address of the first active lane
    uint32_t lane;    // that lane
    Pattern pattern;  // line: lane i at first + (i - lane) * bytes
    bool one_high;    // all lanes have the same high word
};
template <bool All>
SASSEMU_INLINE FarAddress far_address(const Op* op, const Warp& w, uint32_t mask, uint32_t bytes) {
    FarAddress r;
    const auto [low, high, add] = as<MemoryPayload>(*op).far(w);
    r.lane = All ? 0 : static_cast<uint32_t>(std::countr_zero(mask));
    const uint32_t l0 = low[r.lane], h0 = high[r.lane];
    r.add = add;
    r.first = (uint64_t{h0} << 32 | l0) + r.add;
    r.one_high = (L::cmp_eq(L::load(high), L::splat(h0)) & mask) == mask;
    r.pattern = Pattern::scattered;
    if (!r.one_high) return r;
    // The last lane tells which pattern is worth a comparison of all. With equal high words, a low
    // word that wraps around is no line.
    const uint32_t last = All ? 31 : 31 - static_cast<uint32_t>(std::countl_zero(mask));
    const uint32_t step = low[last] - l0;
    if (step == (last - r.lane) * bytes && l0 <= ~(31 * bytes)) {
        const V32 line =
            L::add(L::mul_lo(L::lane_ids(), L::splat(bytes)), L::splat(l0 - r.lane * bytes));
        if ((L::cmp_eq(L::load(low), line) & mask) == mask) r.pattern = Pattern::line;
    } else if (step == 0) {
        if ((L::cmp_eq(L::load(low), L::splat(l0)) & mask) == mask) r.pattern = Pattern::same;
    }
    return r;
}
// Bytes from the first to the last active lane of a line.
template <bool All>
SASSEMU_INLINE uint32_t line_bytes(uint32_t lane, uint32_t mask, uint32_t bytes) {
    return All ? 32 * bytes : (32 - static_cast<uint32_t>(std::countl_zero(mask)) - lane) * bytes;
}
// Offsets from the start of Cta::last; false if a lane lies elsewhere, is misaligned, or if the
// extent is too large for 32-bit offsets or its start misaligned.
SASSEMU_INLINE bool far_offsets(const Op* op, const Warp& w, uint32_t mask, const FarAddress& a,
                                uint32_t bytes, V32& offset) {
    const Extent& e = w.cta->last;
    const uint64_t size = e.hi - e.lo < uint64_t{1} << 32 ? e.hi - e.lo : uint64_t{1} << 32;
    const uint64_t first = a.first - e.lo;
    if (first + bytes > size || e.lo & (bytes - 1)) return false;
    const auto top = static_cast<uint32_t>(size - bytes);
    const V32 low = L::load(w.row(op->a));
    V32 bad;  // not 0: a bad lane
    if (a.one_high) {
        // The low words of the good lanes are a range around that of the first.
        const uint64_t zero =
            first - w.row(op->a)[a.lane];  // the offset of low word 0, perhaps below 0
        const uint32_t from = zero >> 63 ? static_cast<uint32_t>(0 - zero) : 0;
        const uint64_t to = top - zero;
        const V32 span = L::splat(static_cast<uint32_t>(to < UINT32_MAX ? to : UINT32_MAX) - from);
        offset = L::add(low, L::splat(static_cast<uint32_t>(zero)));
        bad = L::xor_(L::max_u(L::sub(low, L::splat(from)), span), span);
    } else {
        const V64 at = L::add64(L::make64(low, L::load(w.row(op->b))), L::splat64(a.add - e.lo));
        offset = L::lo32(at);
        bad = L::or_(L::hi32(at), L::xor_(L::max_u(offset, L::splat(top)), L::splat(top)));
    }
    if (bytes > 1) bad = L::or_(bad, L::and_(offset, L::splat(bytes - 1)));
    return (L::nonzero(bad) & mask) == 0;
}

// Bits 31..24 of a shared address name a CTA of the cluster, and LDS and its kin reach only their
// own: any other rank is an illegal instruction on an H200. With these bits flipped the own
// addresses are offsets, and all others are out of bounds.
inline uint32_t shared_rank_bits(const Warp& w) { return w.cta->rank << 24; }

// The addresses of all lanes.
// Whether bits 63 to 57 of a generic address extend bit 56: others are none to the chip.
constexpr bool is_extended(uint64_t address) {
    const int64_t upper = static_cast<int64_t>(address) >> 56;
    return upper == 0 || upper == -1;
}
SASSEMU_INLINE V32 near_lanes(const NearBase& base) {
    return L::add(L::shl(L::load(base.row), L::splat(base.shift)), L::splat(base.add));
}
SASSEMU_INLINE V64 far_lanes(const FarBase& base) {
    return L::add64(L::load_pair(base.low, base.high), L::splat64(base.add));
}

// Offsets in the shared memory of the CTA (rank_bits as above) or in local memory (0).
struct NearAddress {
    V32 at;
    uint32_t first;
    uint32_t lane;
    Pattern pattern;
};
template <bool All>
SASSEMU_INLINE NearAddress near_address(const NearBase& base, uint32_t mask, uint32_t bytes,
                                        uint32_t rank_bits) {
    NearAddress r;
    r.lane = All ? 0 : static_cast<uint32_t>(std::countr_zero(mask));
    r.first = base.at(r.lane) ^ rank_bits;
    r.at = L::xor_(near_lanes(base), L::splat(rank_bits));
    if ((L::cmp_eq(r.at, L::add(L::mul_lo(L::lane_ids(), L::splat(bytes)),
                                L::splat(r.first - r.lane * bytes))) &
         mask) == mask)
        r.pattern = Pattern::line;
    else if ((L::cmp_eq(r.at, L::splat(r.first)) & mask) == mask)
        r.pattern = Pattern::same;
    else
        r.pattern = Pattern::scattered;
    return r;
}
// All lanes of a scattered access lie in [0, limit) and are aligned.
SASSEMU_INLINE bool near_inside(V32 at, uint32_t mask, uint32_t bytes, uint32_t limit) {
    if (limit < bytes) return false;
    uint32_t bad = ~L::cmp_le_u(at, L::splat(limit - bytes));
    if (bytes > 1) bad |= L::nonzero(L::and_(at, L::splat(bytes - 1)));
    return (bad & mask) == 0;
}

// Lowering: fills a, b, c, m[0] from a [R.64+UR+offset] operand. False: rejected.
bool far_operand(Lower& x, const typed::Mem& mem, bool extended, bool wide_base);
// The same for [R.X4+UR+offset] with 32-bit addresses.
void near_operand(Lower& x, const typed::Mem& mem, uint32_t shift);
// What the instruction is, for the port; its width, which false rejects.
inline Event describe(Lower& x) {
    const Event e = event_of(x.instruction());
    as<MemoryPayload>(x.op).describe(e);
    return e;
}
bool width_of(Lower& x, const Event& e, Width& out);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
