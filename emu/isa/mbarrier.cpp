// SPDX-License-Identifier: Apache-2.0
// SYNCS, ARRIVES: operations on mbarrier objects (their arithmetic is machine/mbarrier.hpp); and
// UCGABAR, the barrier of a cluster. Addresses are shared addresses of the cluster: a rank in
// bits 31..24.
//
// What ptxas 13.0 makes of PTX, and what an H200 does with it (measured, tests/hardware/README.md):
//   mbarrier.arrive               ARRIVE.A1T0          one arrival a lane
//   ... with a count              ARRIVE.ART0          the operand's arrivals
//   ... .noComplete               TMASK.ART0           and the token names the lanes of the
//   instruction arrive.expect_tx              ARRIVE               one arrival, the operand's bytes
//   expected before it expect_tx, complete_tx        RED.A0TR, RED.A0TX   bytes only arrive_drop
//   OPTOUT               the arrivals leave later phases too cp.async.mbarrier.arrive RED.A0T1,
//   then ARRIVES.LDGSTSBAR.TRANSCNT once the copies are done
//   ... .noinc                    ARRIVES.LDGSTSBAR.ARVCNT, one arrival once the copies are done
// Lanes on one object act at once: every token holds the upper word of the object as it was before
// the instruction. The lower register of the pair is written with TMASK only: the mask of those
// lanes.
#include "emu/isa/mbarrier.hpp"

#include "emu/isa/atomic.hpp"
#include "emu/isa/memory_access.hpp"
#include "emu/isa/uniform_shapes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

uint32_t address_of_lane(const Op* op, const Warp& w, uint32_t lane) {
    return as<MemoryPayload>(*op).near(w).at(lane);
}
// The lanes of `todo` with the address of its first lane.
uint32_t same_address(const Op* op, const Warp& w, uint32_t todo) {
    const uint32_t first = w.row(op->a)[std::countr_zero(todo)];
    return todo & L::cmp_eq(L::load(w.row(op->a)), L::splat(first));
}

// k[0]: arrivals, k[1]: bytes, as Amount; k[2] bit 0: drops, bit 1: the token's lower word is the
// mask, bit 2: after the copies under way, without a token, bit 3: the object of sm_80. d the
// token, e the operand.
enum class Amount : uint8_t { none, one, operand, minus_one, minus_operand, lanes };

int64_t total(Amount amount, uint32_t lanes, const uint32_t* operand) {
    const auto count = static_cast<int64_t>(std::popcount(lanes));
    int64_t sum = 0;
    switch (amount) {
        case Amount::none:
            return 0;
        case Amount::one:
            return count;
        case Amount::lanes:
            return count;
        case Amount::minus_one:
            return -count;
        case Amount::operand:
        case Amount::minus_operand:
            for (uint32_t rest = lanes; rest; rest &= rest - 1)
                sum += operand[std::countr_zero(rest)];
            return amount == Amount::operand ? sum : -sum;
    }
    return 0;
}

const Op* arrive(const Op* op, Warp& w, uint32_t mask) {
    const uint32_t* operand = w.row(op->e);
    for (uint32_t todo = mask; todo;) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(todo));
        const uint32_t lanes = same_address(op, w, todo);
        todo &= ~lanes;
        const uint32_t address = address_of_lane(op, w, lane);
        const std::byte* object = services(w).shared(w, op, lane, address, 8);
        if (!object) return nullptr;
        const uint64_t before = host::load<uint64_t>(object);
        MbarrierChange change;
        change.arrivals =
            static_cast<uint64_t>(total(static_cast<Amount>(op->k[0]), lanes, operand));
        change.drops = op->k[2] & 1 ? change.arrivals : 0;
        change.counters = op->k[2] & 8;
        change.expect = total(static_cast<Amount>(op->k[1]), lanes, operand);
        if (op->k[2] & 4) {
            if (!services(w).arrive_after_copies(w, op, lanes, address, change)) return nullptr;
            continue;
        }
        if (!services(w).mbarrier(w, op, lane, address, change)) return nullptr;
        if (op->k[2] & 2) write<false>(w, op->d, L::splat(lanes), lanes);
        write<false>(w, op->d + row_bytes, L::splat(static_cast<uint32_t>(before >> 32)), lanes);
    }
    return next(op, w);
}

// As arrive, once for the warp, with scalars; k[1] as there, k[0] may be Amount::lanes. The token
// is the whole object before.
const Op* arrive_uniform(const Op* op, Warp& w, uint32_t mask) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    const uint32_t address = as<MbarrierPayload>(*op).address(w);
    const std::byte* object = services(w).shared(w, op, lane, address, 8);
    if (!object) return nullptr;
    const uint64_t before = host::load<uint64_t>(object);
    const auto amount = [&](uint8_t k) -> int64_t {
        uint32_t operand[32];
        operand[lane] = w.scalar32(op->e);
        const auto what = static_cast<Amount>(k);
        return what == Amount::lanes ? std::popcount(mask) : total(what, 1u << lane, operand);
    };
    MbarrierChange change;
    change.arrivals = static_cast<uint64_t>(amount(op->k[0]));
    change.drops = op->k[2] & 1 ? change.arrivals : 0;
    change.expect = amount(op->k[1]);
    if (!services(w).mbarrier(w, op, lane, address, change)) return nullptr;
    write_uniform64(w, op->d, before);
    return op + 1;
}

// As MbarrierTestPayload; k[1]: TRYWAIT. On uniform registers all lanes ask the same.
const Op* check(const Op* op, Warp& w, uint32_t mask) {
    const auto& test = as<MbarrierTestPayload>(*op);
    const auto answered = [&](uint32_t over) {
        if (test.uniform())
            write_uniform_predicate(w, op->k[0] - 8u, over);
        else
            write_predicate(w, op->k[0], over, mask);
        return next(op, w);
    };
    Path& path = w.path();
    const WaitAnswer answer = path.answer;
    path.answer = WaitAnswer::none;
    if (answer == WaitAnswer::completed) return answered(~0u);
    const uint32_t parities = test.parities(w);
    uint32_t over = 0;
    const std::byte* object = nullptr;
    bool one = true;  // object
    for (uint32_t todo = mask; todo;) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(todo));
        const uint32_t lanes = same_address(op, w, todo);
        todo &= ~lanes;
        one = lanes == mask;
        object = services(w).shared(w, op, lane, address_of_lane(op, w, lane), 8);
        if (!object) return nullptr;
        if (w.watch) services(w).watch_mbarrier(w, object);
        const uint64_t now = host::load<uint64_t>(object);
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            const int i = std::countr_zero(rest);
            if (mbarrier_completed(now, parities >> i & 1)) over |= 1u << i;
        }
    }
    if (op->k[1] && !over && one && !w.watch && answer == WaitAnswer::none)
        return services(w).mbarrier_wait(w, op, object);
    return answered(over);
}

// ATOMS.ARRIVE, and ATOM.ARRIVE by generic addresses: the lanes arrive one after the other at
// objects of sm_80. The token is the state word before, in both registers, as compiled code makes
// it for arrive.noComplete.
template <bool Generic>
const Op* arrive_counters(const Op* op, Warp& w, uint32_t mask) {
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        uint32_t address;
        if constexpr (Generic) {
            const uint64_t at = as<MemoryPayload>(*op).far(w).at(lane);
            if (at >> 32 != shared_window_high)
                return services(w).fault(w, op, 1u << lane, FaultKind::out_of_bounds,
                                         "mbarrier objects lie in shared memory", true, at);
            address = static_cast<uint32_t>(at);
        } else {
            address = address_of_lane(op, w, lane);
        }
        const std::byte* object = services(w).shared(w, op, lane, address, 8);
        if (!object) return nullptr;
        const auto state = static_cast<uint32_t>(host::load<uint64_t>(object) >> 32);
        const MbarrierChange change{.arrivals = 1, .counters = true};
        if (!services(w).mbarrier(w, op, lane, address, change)) return nullptr;
        w.row(op->d)[lane] = w.row(op->d + row_bytes)[lane] = state;
    }
    return next(op, w);
}

// a: uniform scalar of the address, m[0] its offset; b: uniform scalar of the new object; d the old
// one.
const Op* exchange(const Op* op, Warp& w, uint32_t mask) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    const auto& barrier = as<MbarrierPayload>(*op);
    const uint32_t address = barrier.address(w);
    std::byte* object = services(w).shared(w, op, lane, address, 8);
    if (!object) return nullptr;
    const uint64_t after = barrier.object(w), before = host::load<uint64_t>(object);
    if (!Mbarrier::valid_initial(after))
        return services(w).fault(
            w, op, mask, FaultKind::barrier_misuse,
            "no valid mbarrier object: mbarrier.init takes a count of 1 to 2^20-1", true, address);
    host::store<uint64_t>(object, after);
    ++w.effects;
    write_uniform64(w, op->d, before);
    return next(op, w);
}

const Op* load_object(const Op* op, Warp& w, uint32_t mask) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    const std::byte* object =
        services(w).shared(w, op, lane, as<MbarrierPayload>(*op).address(w), 8);
    if (!object) return nullptr;
    if (w.watch) services(w).watch_mbarrier(w, object);
    write_uniform64(w, op->d, host::load<uint64_t>(object));
    return next(op, w);
}

// As exchange; the object is replaced by c where it equals b. No compiler emits it; on an H200 any
// word may be there and any may come (tests/hardware/async/cas.sass).
const Op* compare_and_swap(const Op* op, Warp& w, uint32_t mask) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    std::byte* object = services(w).shared(w, op, lane, as<MbarrierPayload>(*op).address(w), 8);
    if (!object) return nullptr;
    if (w.watch) services(w).watch_mbarrier(w, object);
    const uint64_t before = host::load<uint64_t>(object);
    if (before == w.scalar64(op->b)) {
        host::store<uint64_t>(object, w.scalar64(op->c));
        ++w.effects;
    }
    write_uniform64(w, op->d, before);
    return next(op, w);
}

// mbarrier.inval leaves the object alone; the chip looks at its address all the same, and takes a
// rank that is not there for an illegal instruction (tests/hardware/generic).
const Op* possible_object(const Op* op, Warp& w, uint32_t mask) {
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        const uint32_t address = address_of_lane(op, w, lane), rank = address >> 24;
        const auto fault = [&](FaultKind kind, const char* what) {
            return services(w).fault(w, op, 1u << lane, kind, what, true, address);
        };
        if (rank >= w.cta->cluster->size)
            return fault(FaultKind::illegal_instruction,
                         "the address names a rank that the cluster does not have");
        if (rank == w.cta->rank && (address & 0xffffff) + 8 > w.cta->shared_bytes)
            return fault(FaultKind::out_of_bounds, "outside the shared memory of the CTA");
        if (address % 8)
            return fault(FaultKind::misaligned_address,
                         "an mbarrier object lies at a multiple of 8 bytes");
    }
    return next(op, w);
}

const Op* cluster_arrive(const Op* op, Warp& w, uint32_t mask) {
    return services(w).cluster_arrive(w, op, mask);
}
const Op* cluster_wait(const Op* op, Warp& w, uint32_t mask) {
    return services(w).cluster_wait(w, op, mask);
}

void uniform_address(Lower& x, const typed::Mem& mem) {
    x.op.a = x.uniform_scalar(mem.base);
    x.op.m[0] = static_cast<uint32_t>(mem.offset);
}

void set_amounts(Lower& x, Amount arrivals, Amount bytes) {
    x.op.k[0] = static_cast<uint8_t>(arrivals);
    x.op.k[1] = static_cast<uint8_t>(bytes);
}

// False: it is refused.
bool set_param(Lower& x, typed::SyncsParam param) {
    switch (param) {
        case typed::SyncsParam::NONE:
            set_amounts(x, Amount::one, Amount::operand);
            break;
        case typed::SyncsParam::A1T0:
            set_amounts(x, Amount::one, Amount::none);
            break;
        case typed::SyncsParam::A0T1:
            set_amounts(x, Amount::none, Amount::one);
            break;
        case typed::SyncsParam::A0TR:
            set_amounts(x, Amount::none, Amount::operand);
            break;
        case typed::SyncsParam::A0TX:
            set_amounts(x, Amount::none, Amount::minus_operand);
            break;
        case typed::SyncsParam::ART0:
            set_amounts(x, Amount::operand, Amount::none);
            break;
        case typed::SyncsParam::ACT0:
            set_amounts(x, Amount::lanes, Amount::none);
            break;
        default:
            x.gap("a count of an arrival that no PTX becomes");
            return false;
    }
    return true;
}

}  // namespace

void lower(Lower& x, const typed::SyncsArrive& i) {
    near_operand(x, i.addr, 0);
    x.op.e = x.source_row(i.a.index);
    x.op.d = x.destination_row(i.d.index, 2);
    if (!set_param(x, i.param)) return;
    x.op.k[2] = static_cast<uint8_t>(i.optout | (i.ret == typed::SyncsRet::TMASK) << 1);
    if (i.ret == typed::SyncsRet::RED) x.op.d = sink_row;
    x.handler(arrive);
}

void lower(Lower& x, const typed::UsyncsArrive& i) {
    uniform_address(x, i.addr);
    x.op.e = x.uniform_scalar(i.a.index);
    x.op.d = x.uniform_destination(i.d.index, 2);
    if (!set_param(x, i.param)) return;
    if (i.ret == typed::SyncsRet::TMASK) return x.gap("a token with a mask of lanes");
    x.op.k[2] = i.optout;
    if (i.ret == typed::SyncsRet::RED) x.op.d = x.uniform_destination(SASSDEC_URZ, 2);
    x.handler(arrive_uniform);
}

void lower(Lower& x, const typed::AtomsArrive& i) {
    if (i.size != 2) return x.reject("ATOMS.ARRIVE of an object that is not 64 bits");
    near_operand(x, i.addr, shift_of(i.scale));
    x.op.d = x.destination_row(i.d.index, 2);
    x.handler(arrive_counters<false>);
}
void lower(Lower& x, const typed::AtomArrive& i) {
    if (i.size != 2) return x.reject("ATOM.ARRIVE of an object that is not 64 bits");
    if (i.pd.index != 7) return x.gap("a predicate result of ATOM.ARRIVE");
    if (!far_operand(x, i.addr, true, i.ext == typed::AddressExt::B64)) return;
    x.op.d = x.destination_row(i.d.index, 2);
    x.handler(arrive_counters<true>);
}

void lower(Lower& x, const typed::SyncsPhasechk& i) {
    if (i.conditional) return x.gap("a conditional wait");
    near_operand(x, i.addr, 0);
    x.op.e = x.source_row(i.a.index);
    x.op.k[0] = i.pd.index;
    x.op.k[1] = i.trywait;
    x.handler(check);
}
void lower(Lower& x, const typed::UsyncsPhasechk& i) {
    if (i.conditional) return x.gap("a conditional wait");
    x.op.a = zero_row;
    x.op.c = x.uniform_scalar(i.addr.base);
    x.op.m[0] = static_cast<uint32_t>(i.addr.offset);
    x.op.e = x.uniform_scalar(i.a.index);
    x.op.k[0] = Lower::uniform_predicate(i.pd.index);
    x.op.k[1] = i.trywait;
    x.handler(check);
}

void lower(Lower& x, const typed::SyncsExch& i) {
    uniform_address(x, i.addr);
    x.op.b = x.uniform_scalar(i.a.index, 2);
    x.op.d = x.uniform_destination(i.d.index, 2);
    x.handler(exchange);
}
void lower(Lower& x, const typed::SyncsLd& i) {
    uniform_address(x, i.addr);
    x.op.d = x.uniform_destination(i.d.index, 2);
    x.handler(load_object);
}
void lower(Lower& x, const typed::SyncsCas& i) {
    if (i.what != 2) return x.reject("SYNCS of an unknown kind");
    uniform_address(x, i.addr);
    // Where the text of sm_90 has UR60 and UR62, the field is URZ: both pairs read zeros
    // (measured).
    const bool named = i.b.kind == typed::SrcKind::UReg;
    const unsigned expected = named ? i.b.index : SASSDEC_URZ,
                   next = named ? i.c.index : SASSDEC_URZ;
    if (expected != SASSDEC_URZ && expected % 4)
        return x.reject("SYNCS.CAS with pairs that do not begin at a multiple of four");
    x.op.b = x.uniform_scalar(expected, 2);
    x.op.c = x.uniform_scalar(next, 2);
    x.op.d = x.uniform_destination(i.d.index, 2);
    x.handler(compare_and_swap);
}
// The unit keeps objects in a cache of its own, which these empty (mbarrier.inval is IV); here an
// object is always in memory.
void lower(Lower& x, const typed::SyncsCctlAll&) { x.handler(nothing); }
void lower(Lower& x, const typed::SyncsCctlAddr& i) {
    if (i.addr.base_uniform) return x.handler(nothing);  // USYNCS.CCTL
    near_operand(x, i.addr, 0);
    x.handler(possible_object);
}

// Once the copies of the lanes so far are done.
void lower(Lower& x, const typed::ArrivesLdgstsbar& i) {
    near_operand(x, i.addr, 0);
    x.op.e = zero_row;
    x.op.d = sink_row;
    switch (i.mode) {
        case typed::ArriveMode::ARVCNT:
            set_amounts(x, Amount::one, Amount::none);
            break;
        case typed::ArriveMode::TRANSCNT:
            set_amounts(x, Amount::none, Amount::minus_one);
            break;
        case typed::ArriveMode::LEGACY:
            set_amounts(x, Amount::one, Amount::none);
            x.op.k[2] = 8;
            break;
        default:
            return x.reject("ARRIVES of an invalid kind");
    }
    x.op.k[2] |= static_cast<uint8_t>(x.late_copies() << 2);
    x.handler(arrive);
}

void lower(Lower& x, const typed::UcgabarArv&) { x.handler(cluster_arrive); }
void lower(Lower& x, const typed::UcgabarWait&) { x.handler(cluster_wait); }

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
