// SPDX-License-Identifier: Apache-2.0
// LDGSTS: global to shared memory past the registers. It is asynchronous on the chip; the copy is
// complete when issued, which every wait that a program may use allows, or it is left to the
// agents.
//
// Facts from compiled code (ptxas 13.0, cp.async): lanes whose predicate is false write zeros. With
// .ZFILL the address is moved up by the bytes to leave out: n = size - address % size bytes are
// copied from the aligned address, and the rest is zero.
#include "emu/isa/memory.hpp"
#include "emu/isa/memory_access.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

// Lane by lane through the port: a load into the sink rows, then a store from them. A store waits
// for the warp's own loads, so the data is there even if the model is slow.
const Op* copy_port(const Op* op, Warp& w, uint32_t mask) {
    const auto width = static_cast<Width>(op->k[0]);
    const uint32_t bytes = width_bytes(width), words = width_words(width);
    const auto& payload = as<CopyPayload>(*op);
    const uint32_t from = payload.from_lanes(w, mask);
    Access a;
    a.bytes = static_cast<uint8_t>(bytes);
    a.warp = &w;
    a.destination = a.source[0] = a.source[1] = sink_row;
    uint32_t missing[32] = {};
    if (from) {
        const FarBase base = payload.far(w);
        bool partial = false;
        for (uint32_t lane = 0; lane < 32; ++lane) {
            missing[lane] = payload.missing(base.at(lane), bytes);
            a.address[lane] = base.at(lane) - missing[lane];
            partial |= missing[lane] != 0;
        }
        a.op = AccessOp::load;
        a.space = AccessSpace::global;
        a.lanes = from;
        if (!services(w).access(w, op, a)) return nullptr;
        if (partial) {
            Fence done;  // the bytes must be there before they are cut
            done.ordering = Ordering::weak;
            done.scope = MemScope::none;
            done.warp = &w;
            if (!services(w).fence(w, op, done)) return nullptr;
            for (uint32_t k = 0; k < words; ++k)
                for (uint32_t lane = 0; lane < 32; ++lane) {
                    const uint32_t keep = bytes - missing[lane];
                    uint32_t& v = w.row(sink_row + k * row_bytes)[lane];
                    if (keep <= k * 4)
                        v = 0;
                    else if (keep < k * 4 + 4)
                        v &= (1u << (keep - k * 4) * 8) - 1;
                }
        }
    }
    payload.to_addresses(w, a.address);
    a.op = AccessOp::store;
    a.space = AccessSpace::shared;
    a.lanes = from;
    if (from && !services(w).access(w, op, a)) return nullptr;
    a.lanes = mask & ~from;
    a.source[0] = a.source[1] = zero_row;
    if (a.lanes && !services(w).access(w, op, a)) return nullptr;
    return op + 1;
}

// What the agents do later.
const Op* copy_late(const Op* op, Warp& w, uint32_t mask) {
    LaneCopy c;
    c.bytes = width_bytes(static_cast<Width>(op->k[0]));
    const auto& payload = as<CopyPayload>(*op);
    c.from_lanes = payload.from_lanes(w, mask);
    const FarBase from = payload.far(w);
    const NearBase to = payload.to(w);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t missing = payload.missing(from.at(lane), c.bytes);
        c.from[lane] = from.at(lane) - missing;
        c.to[lane] = to.at(lane);
        c.keep[lane] = static_cast<uint8_t>(c.bytes - missing);
    }
    return services(w).lane_copy(w, op, mask, c);
}

template <Width W>
const Op* copy(const Op* op, Warp& w, uint32_t mask) {
    using T = Lanes<W>;
    const auto& payload = as<CopyPayload>(*op);
    const uint32_t from = payload.from_lanes(w, mask);
    const NearAddress to = near_address<false>(payload.to(w), mask, T::bytes, shared_rank_bits(w));
    if (w.watch || from == 0 || !near_inside(to.at, mask, T::bytes, w.cta->shared_bytes))
        [[unlikely]]
        return copy_port(op, w, mask);
    const FarAddress a = far_address<false>(op, w, from, T::bytes);
    typename T::Value v;
    const bool aligned = (a.first & (T::bytes - 1)) == 0;
    V32 offset;
    if (a.pattern == Pattern::line && aligned &&
        reach<false>(w, a.first, line_bytes<false>(a.lane, from, T::bytes))) {
        const std::byte* p = w.cta->last.host + (a.first - w.cta->last.lo) - a.lane * T::bytes;
        v = from == ~0u ? T::template contiguous<true>(p, from)
                        : T::template contiguous<false>(p, from);
    } else if (reach<false>(w, a.first, T::bytes) &&
               far_offsets(op, w, from, a, T::bytes, offset)) {
        v = T::gather(w.cta->last.host, offset, from);  // lanes outside the mask read as 0
    } else {
        return copy_port(op, w, mask);
    }
    ++w.effects;
    if (mask == ~0u && to.pattern == Pattern::line)
        T::template store_contiguous<true>(w.cta->shared + to.first, v, mask);
    else
        T::scatter(w.cta->shared, to.at, v, mask);
    return next(op, w);
}

}  // namespace

void lower(Lower& x, const typed::Ldgsts& i) {
    Width width;
    if (!width_of(x, event_of(x.instruction()), width)) return;
    if (width < Width::b32) return x.gap("a copy of less than four bytes");
    if (!far_operand(x, i.addr, true, i.ext == typed::AddressExt::B64)) return;
    x.op.e = x.source_row(i.shared.base);
    x.op.f = x.uniform_scalar(i.shared.has_ureg ? i.shared.ureg : SASSDEC_URZ);
    x.op.m[1] = static_cast<uint32_t>(i.shared.offset);
    x.op.m[2] = i.zfill;
    x.op.m[3] = i.pa.index | static_cast<uint32_t>(i.pa.neg) << 8;
    x.op.k[0] = static_cast<uint8_t>(width);
    // A model has to see the copy's accesses, and checked code watches them.
    const bool late = x.late_copies() && (!x.through_port() || (x.reference() && !x.modelled()));
    if (late) return x.handler(copy_late);
    if (x.through_port()) return x.handler(copy_port);
    switch (width) {
        case Width::b32:
            return x.handler(copy<Width::b32>);
        case Width::b64:
            return x.handler(copy<Width::b64>);
        default:
            return x.handler(copy<Width::b128>);
    }
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
