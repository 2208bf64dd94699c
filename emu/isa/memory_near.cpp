// SPDX-License-Identifier: Apache-2.0
// Handlers of shared, local and constant memory under the flat model.
#include "emu/isa/memory_handlers.hpp"
#include "emu/machine/local_memory.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

// ---- shared -----------------------------------------------------------------------------------

template <Width W, bool All>
const Op* load_shared(const Op* op, Warp& w, uint32_t mask) {
    using T = Lanes<W>;
    const NearAddress a =
        near_address<All>(as<MemoryPayload>(*op).near(w), mask, T::bytes, shared_rank_bits(w));
    const Cta& cta = *w.cta;
    if (w.watch) [[unlikely]]
        return access_port(op, w, mask);
    const bool aligned = (a.first & (T::bytes - 1)) == 0;
    switch (a.pattern) {
        case Pattern::line:
            if (!aligned || uint64_t{a.first} + line_bytes<All>(a.lane, mask, T::bytes) >
                                cta.shared_bytes) [[unlikely]]
                break;
            T::template to_rows<All>(
                w, op->d,
                T::template contiguous<All>(cta.shared + a.first - a.lane * T::bytes, mask), mask);
            return next(op, w);
        case Pattern::same:
            if (!aligned || uint64_t{a.first} + T::bytes > cta.shared_bytes) [[unlikely]]
                break;
            T::template to_rows<All>(w, op->d, T::broadcast(cta.shared + a.first), mask);
            return next(op, w);
        case Pattern::scattered:
            if (!near_inside(a.at, mask, T::bytes, cta.shared_bytes)) [[unlikely]]
                break;
            T::template to_rows<All>(w, op->d, T::gather(cta.shared, a.at, mask), mask);
            return next(op, w);
    }
    return access_port(op, w, mask);
}

template <Width W, bool All>
const Op* store_shared(const Op* op, Warp& w, uint32_t mask) {
    using T = Lanes<W>;
    const NearAddress a =
        near_address<All>(as<MemoryPayload>(*op).near(w), mask, T::bytes, shared_rank_bits(w));
    const Cta& cta = *w.cta;
    if (w.watch) [[unlikely]]
        return access_port(op, w, mask);
    if (a.pattern == Pattern::line) {
        if ((a.first & (T::bytes - 1)) == 0 &&
            uint64_t{a.first} + line_bytes<All>(a.lane, mask, T::bytes) <= cta.shared_bytes)
            [[likely]] {
            ++w.effects;
            T::template store_contiguous<All>(cta.shared + a.first - a.lane * T::bytes,
                                              T::from_rows(w, op->d), mask);
            return next(op, w);
        }
    } else if (near_inside(a.at, mask, T::bytes, cta.shared_bytes)) [[likely]] {
        ++w.effects;
        T::scatter(cta.shared, a.at, T::from_rows(w, op->d), mask);
        return next(op, w);
    }
    return access_port(op, w, mask);
}

// ---- local: word k of lane l at w.local + k * 128 + l * 4 -------------------------------------

uint32_t* local_row(const Warp& w, uint32_t address) {
    return reinterpret_cast<uint32_t*>(w.local + uint64_t{address >> 2} * row_bytes);
}
V32 local_offsets(V32 at) {
    return L::add(
        L::add(L::shl(L::shr(at, L::splat(2)), L::splat(7)), L::shl(L::lane_ids(), L::splat(2))),
        L::and_(at, L::splat(3)));
}

template <Width W>
const Op* load_local(const Op* op, Warp& w, uint32_t mask) {
    constexpr uint32_t bytes = width_bytes(W), words = width_words(W);
    const NearAddress a = near_address<false>(as<MemoryPayload>(*op).near(w), mask, bytes, 0);
    const uint32_t limit = w.cta->launch->local_bytes;
    if (w.watch || !near_inside(a.at, mask, bytes, limit)) [[unlikely]]
        return access_port(op, w, mask);
    const bool same = (L::cmp_eq(a.at, L::splat(a.first)) & mask) == mask;
    if (same) {
        const uint32_t* from = local_row(w, a.first);
        if constexpr (bytes >= 4) {
            V32 v[words];
            for (uint32_t k = 0; k < words; ++k) v[k] = L::load_lanes_32(from + k * 32);
            for (uint32_t k = 0; k < words; ++k) write<false>(w, op->d + k * row_bytes, v[k], mask);
        } else {
            const V32 v = L::shr(L::load_lanes_32(from), L::splat((a.first & 3) * 8));
            constexpr bool sign = W == Width::s8 || W == Width::s16;
            const V32 bits = L::splat(bytes * 8);
            write<false>(w, op->d, sign ? L::sgxt_s(v, bits) : L::sgxt_u(v, bits), mask);
        }
        return next(op, w);
    }
    const V32 at = local_offsets(a.at);
    if constexpr (bytes >= 4) {
        V32 v[words];
        for (uint32_t k = 0; k < words; ++k) v[k] = L::gather_32(w.local + k * row_bytes, at, mask);
        for (uint32_t k = 0; k < words; ++k) write<false>(w, op->d + k * row_bytes, v[k], mask);
    } else {
        write<false>(w, op->d, Lanes<W>::gather(w.local, at, mask), mask);
    }
    return next(op, w);
}

template <Width W>
const Op* store_local(const Op* op, Warp& w, uint32_t mask) {
    constexpr uint32_t bytes = width_bytes(W), words = width_words(W);
    const NearAddress a = near_address<false>(as<MemoryPayload>(*op).near(w), mask, bytes, 0);
    const uint32_t limit = w.cta->launch->local_bytes;
    if (w.watch || !near_inside(a.at, mask, bytes, limit)) [[unlikely]]
        return access_port(op, w, mask);
    ++w.effects;
    const bool same = (L::cmp_eq(a.at, L::splat(a.first)) & mask) == mask;
    if (same)
        note_local_store(w, a.first);
    else
        local_written(w).chunks = ~uint64_t{0};  // lanes that differ: all of it is cleared
    if (bytes >= 4 && same) {
        uint32_t* to = local_row(w, a.first);
        for (uint32_t k = 0; k < words; ++k)
            L::store_lanes_32(to + k * 32, L::load(w.row(op->d + k * row_bytes)), mask);
        return next(op, w);
    }
    const V32 at = local_offsets(a.at);
    if constexpr (bytes >= 4) {
        for (uint32_t k = 0; k < words; ++k)
            L::scatter_32(w.local + k * row_bytes, at, L::load(w.row(op->d + k * row_bytes)), mask);
    } else {
        Lanes<W>::scatter(w.local, at, L::load(w.row(op->d)), mask);
    }
    return next(op, w);
}

// ---- constant ---------------------------------------------------------------------------------

template <Width W>
const Op* load_constant(const Op* op, Warp& w, uint32_t mask) {
    using T = Lanes<W>;
    const std::byte* base = w.base[op->m[1]];
    const uint64_t size = w.cta->launch->bank_bytes[op->m[1]];
    const V32 at = L::add(L::load(w.row(op->a)), L::splat(op->m[0]));
    if (!near_inside(at, mask, T::bytes, static_cast<uint32_t>(size))) [[unlikely]] {
        const uint32_t skewed = mask & L::nonzero(L::and_(at, L::splat(T::bytes - 1)));
        if (skewed)
            return services(w).fault(w, op, skewed, FaultKind::misaligned_address,
                                     "the address is not a multiple of the access size", true,
                                     L::lane(at, static_cast<uint32_t>(std::countr_zero(skewed))));
        // Outside of the bank there are zeros (measured on an H200); compilers load ahead of
        // checks.
        const uint32_t outside =
            size < T::bytes
                ? mask
                : mask & ~L::cmp_le_u(at, L::splat(static_cast<uint32_t>(size) - T::bytes));
        alignas(64) static constexpr std::byte zeros[16] = {};
        T::template to_rows<false>(w, op->d, T::broadcast(zeros), outside);
        mask &= ~outside;
        if (!mask) return next(op, w);
    }
    const uint32_t first = L::lane(at, static_cast<unsigned>(std::countr_zero(mask)));
    if ((L::cmp_eq(at, L::splat(first)) & mask) == mask)
        T::template to_rows<false>(w, op->d, T::broadcast(base + first), mask);
    else
        T::template to_rows<false>(w, op->d, T::gather(base, at, mask), mask);
    return next(op, w);
}

template <Width W>
void near_load(Lower& x, AccessSpace space) {
    if (space == AccessSpace::local)
        x.handler(load_local<W>);
    else
        x.handlers(load_shared<W, false>, load_shared<W, true>);
}
template <Width W>
void near_store(Lower& x, AccessSpace space) {
    if (space == AccessSpace::local)
        x.handler(store_local<W>);
    else
        x.handlers(store_shared<W, false>, store_shared<W, true>);
}

}  // namespace

void choose_near_load(Lower& x, Width width, AccessSpace space) {
    switch (width) {
        case Width::u8:
            return near_load<Width::u8>(x, space);
        case Width::s8:
            return near_load<Width::s8>(x, space);
        case Width::u16:
            return near_load<Width::u16>(x, space);
        case Width::s16:
            return near_load<Width::s16>(x, space);
        case Width::b32:
            return near_load<Width::b32>(x, space);
        case Width::b64:
            return near_load<Width::b64>(x, space);
        case Width::b128:
            return near_load<Width::b128>(x, space);
    }
}
void choose_near_store(Lower& x, Width width, AccessSpace space) {
    switch (width) {
        case Width::u8:
        case Width::s8:
            return near_store<Width::u8>(x, space);
        case Width::u16:
        case Width::s16:
            return near_store<Width::u16>(x, space);
        case Width::b32:
            return near_store<Width::b32>(x, space);
        case Width::b64:
            return near_store<Width::b64>(x, space);
        case Width::b128:
            return near_store<Width::b128>(x, space);
    }
}
void choose_constant_load(Lower& x, Width width) {
    switch (width) {
        case Width::u8:
            return x.handler(load_constant<Width::u8>);
        case Width::s8:
            return x.handler(load_constant<Width::s8>);
        case Width::u16:
            return x.handler(load_constant<Width::u16>);
        case Width::s16:
            return x.handler(load_constant<Width::s16>);
        case Width::b32:
            return x.handler(load_constant<Width::b32>);
        case Width::b64:
            return x.handler(load_constant<Width::b64>);
        case Width::b128:
            return x.handler(load_constant<Width::b128>);
    }
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
