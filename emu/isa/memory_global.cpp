// SPDX-License-Identifier: Apache-2.0
// Handlers of global and generic loads and stores under the flat model. Anything unusual (lanes in
// several allocations, faults, a watched iteration, generic windows) goes through the port, which
// checks lane by lane.
#include "emu/isa/memory_handlers.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

// Behind a glance that found nothing: searches where the first lane's page has several allocations,
// then does the operation again, or leaves it to the port. A function of its own, so that the
// handlers call nothing and keep their registers.
template <const Op* (*Handler)(const Op*, Warp&, uint32_t),
          const Op* (*Port)(const Op*, Warp&, uint32_t) = access_port>
[[gnu::noinline]] const Op* missed(const Op* op, Warp& w, uint32_t mask) {
    const uint64_t first =
        as<MemoryPayload>(*op).far(w).at(static_cast<uint32_t>(std::countr_zero(mask)));
    const bool searched = !w.cta->last.holds(first, 1) && reach<false>(w, first, 1);
    return searched ? Handler(op, w, mask) : Port(op, w, mask);
}

template <Width W, bool All>
const Op* load(const Op* op, Warp& w, uint32_t mask) {
    using T = Lanes<W>;
    const FarAddress a = far_address<All>(op, w, mask, T::bytes);
    if (w.watch) [[unlikely]]
        return access_port(op, w, mask);
    const bool aligned = (a.first & (T::bytes - 1)) == 0;
    switch (a.pattern) {
        case Pattern::line:
            if (!aligned || !reach<false, true>(
                                w, a.first, line_bytes<All>(a.lane, mask, T::bytes))) [[unlikely]]
                break;
            T::template to_rows<All>(
                w, op->d,
                T::template contiguous<All>(
                    w.cta->last.host + (a.first - w.cta->last.lo) - a.lane * T::bytes, mask),
                mask);
            return next(op, w);
        case Pattern::same:
            if (!aligned || !reach<false, true>(w, a.first, T::bytes)) [[unlikely]]
                break;
            T::template to_rows<All>(
                w, op->d, T::broadcast(w.cta->last.host + (a.first - w.cta->last.lo)), mask);
            return next(op, w);
        case Pattern::scattered: {
            V32 offset;
            if (!reach<false, true>(w, a.first, T::bytes) ||
                !far_offsets(op, w, mask, a, T::bytes, offset)) [[unlikely]]
                break;
            T::template to_rows<All>(w, op->d, T::gather(w.cta->last.host, offset, mask), mask);
            return next(op, w);
        }
    }
    return missed<load<W, All>>(op, w, mask);
}

template <Width W, bool All>
const Op* store(const Op* op, Warp& w, uint32_t mask) {
    using T = Lanes<W>;
    const FarAddress a = far_address<All>(op, w, mask, T::bytes);
    if (w.watch) [[unlikely]]
        return access_port(op, w, mask);
    const bool aligned = (a.first & (T::bytes - 1)) == 0;
    if (a.pattern == Pattern::line) {
        if (aligned && reach<true, true>(w, a.first, line_bytes<All>(a.lane, mask, T::bytes)))
            [[likely]] {
            ++w.effects;
            T::template store_contiguous<All>(
                w.cta->last.host + (a.first - w.cta->last.lo) - a.lane * T::bytes,
                T::from_rows(w, op->d), mask);
            return next(op, w);
        }
    } else {
        V32 offset;
        if (reach<true, true>(w, a.first, T::bytes) &&
            far_offsets(op, w, mask, a, T::bytes, offset)) [[likely]] {
            ++w.effects;
            T::scatter(w.cta->last.host, offset, T::from_rows(w, op->d), mask);
            return next(op, w);
        }
    }
    return missed<store<W, All>>(op, w, mask);
}

// 256 bits. Addresses become offsets before a part overwrites their registers.
template <bool Store, bool All>
const Op* wide(const Op* op, Warp& w, uint32_t mask) {
    const FarAddress a = far_address<All>(op, w, mask, WidePayload::bytes);
    V32 offset;
    if (w.watch || !reach<Store, true>(w, a.first, WidePayload::bytes) ||
        !far_offsets(op, w, mask, a, WidePayload::bytes, offset)) [[unlikely]]
        return missed<wide<Store, All>, wide_access_port>(op, w, mask);
    if (Store) ++w.effects;
    for (uint32_t parts = op->m[2]; parts; parts >>= 8) {
        std::byte* const at = w.cta->last.host + 4 * (parts & 15);
        const uint32_t row = (parts & 4 ? op->e : op->d) + (parts & 3) * row_bytes;
        const auto move = [&]<class T>(T) {
            if constexpr (Store)
                T::scatter(at, offset, T::from_rows(w, row), mask);
            else
                T::template to_rows<All>(w, row, T::gather(at, offset, mask), mask);
        };
        switch (parts >> 4 & 15) {
            case 1:
                move(Lanes<Width::b32>());
                break;
            case 2:
                move(Lanes<Width::b64>());
                break;
            default:
                move(Lanes<Width::b128>());
        }
    }
    return next(op, w);
}

// Generic: the windows are never part of an allocation, so only an access that fails above, or
// whose first lane is in a window, needs a look at them.
template <Width W, bool All, bool Store>
const Op* generic(const Op* op, Warp& w, uint32_t mask) {
    const uint32_t lane = All ? 0 : static_cast<uint32_t>(std::countr_zero(mask));
    const FarBase base = as<MemoryPayload>(*op).far(w);
    const uint64_t first = base.at(lane);
    const auto high = static_cast<uint32_t>(first >> 32);
    if (high == shared_window_high && !w.watch) {
        const V64 at = far_lanes(base);
        using T = Lanes<W>;
        // Bits 31..24 of the lower word name a CTA of the cluster; here all lanes name the same.
        const uint32_t rank = static_cast<uint32_t>(first) >> 24;
        const V32 offset = L::xor_(L::lo32(at), L::splat(rank << 24));
        const Cluster& cluster = *w.cta->cluster;
        const Cta& cta = rank < cluster.size ? *cluster.cta[rank] : *w.cta;
        if ((L::cmp_eq(L::hi32(at), L::splat(shared_window_high)) & mask) == mask &&
            rank < cluster.size && cta.live_threads &&
            near_inside(offset, mask, T::bytes, cta.shared_bytes)) {
            if constexpr (Store) {
                ++w.effects;
                T::scatter(cta.shared, offset, T::from_rows(w, op->d), mask);
            } else {
                T::template to_rows<All>(w, op->d, T::gather(cta.shared, offset, mask), mask);
            }
            return next(op, w);
        }
        return access_port(op, w, mask);
    }
    if constexpr (Store)
        return store<W, All>(op, w, mask);
    else
        return load<W, All>(op, w, mask);
}

template <Width W>
void choose(Lower& x, bool is_generic, bool is_store) {
    if (is_generic && is_store)
        x.handlers(generic<W, false, true>, generic<W, true, true>);
    else if (is_generic)
        x.handlers(generic<W, false, false>, generic<W, true, false>);
    else if (is_store)
        x.handlers(store<W, false>, store<W, true>);
    else
        x.handlers(load<W, false>, load<W, true>);
}

void choose(Lower& x, Width width, bool is_generic, bool is_store) {
    switch (width) {
        case Width::u8:
            return choose<Width::u8>(x, is_generic, is_store);
        case Width::s8:
            return is_store ? choose<Width::u8>(x, is_generic, true)
                            : choose<Width::s8>(x, is_generic, false);
        case Width::u16:
            return choose<Width::u16>(x, is_generic, is_store);
        case Width::s16:
            return is_store ? choose<Width::u16>(x, is_generic, true)
                            : choose<Width::s16>(x, is_generic, false);
        case Width::b32:
            return choose<Width::b32>(x, is_generic, is_store);
        case Width::b64:
            return choose<Width::b64>(x, is_generic, is_store);
        case Width::b128:
            return choose<Width::b128>(x, is_generic, is_store);
    }
}

}  // namespace

void choose_far_load(Lower& x, Width width, bool is_generic) {
    choose(x, width, is_generic, false);
}
void choose_far_store(Lower& x, Width width, bool is_generic) {
    choose(x, width, is_generic, true);
}
void choose_wide(Lower& x, bool is_store) {
    if (is_store)
        x.handlers(wide<true, false>, wide<true, true>);
    else
        x.handlers(wide<false, false>, wide<false, true>);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
