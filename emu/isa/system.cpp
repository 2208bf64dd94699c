// SPDX-License-Identifier: Apache-2.0
// Special registers. Time is virtual: %clock counts the warp instructions that the CTA has issued,
// %globaltimer is the launch's base plus one nanosecond per clock (architecture, decision 14).
#include "emu/isa/system.hpp"

#include "emu/isa/uniform_shapes.hpp"
#include "emu/machine/dimensions.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

using Sr = typed::SpecialRegister;

Dim3 thread_index(const Warp& w, unsigned lane) {
    return thread_of(w.cta->launch->block, w.index * 32u + lane);
}

uint64_t timer(const Warp& w) { return w.cta->launch->start_ns + w.cta->time(); }

// A register whose value may differ from lane to lane.
const Op* s2r_lanes(const Op* op, Warp& w, uint32_t mask) {
    const auto id = static_cast<Sr>(op->k[0]);
    alignas(64) uint32_t values[32];
    for (unsigned lane = 0; lane < 32; ++lane) values[lane] = special_register(w, id, lane);
    L::store(w.row(op->d), L::load(values), mask);
    return next(op, w);
}

const Op* s2r_lane_id(const Op* op, Warp& w, uint32_t mask) {
    L::store(w.row(op->d), L::lane_ids(), mask);
    return next(op, w);
}

// TID.X where the block is one-dimensional or a multiple of the warp wide: no division per lane.
const Op* s2r_tid_x(const Op* op, Warp& w, uint32_t mask) {
    const Dim3& block = w.cta->launch->block;
    const uint32_t first = w.index * 32u;
    if (block.x % 32 != 0 && block.y * block.z != 1) return s2r_lanes(op, w, mask);
    L::store(w.row(op->d), L::add(L::lane_ids(), L::splat(first % block.x)), mask);
    return next(op, w);
}

const Op* s2r_uniform(const Op* op, Warp& w, uint32_t mask) {
    const auto id = static_cast<Sr>(op->k[0]);
    if (op->k[1]) look_at_clock(w);
    L::store(w.row(op->d), L::splat(special_register(w, id, 0)), mask);
    return next(op, w);
}

// 64 bits of a counter, or zeros.
uint64_t counter(const Op* op, Warp& w) {
    const auto id = static_cast<Sr>(op->k[0]);
    if (op->k[1]) look_at_clock(w);
    switch (id) {
        case Sr::ZERO:
            return 0;
        case Sr::CLOCKLO:
            return w.cta->time();
        case Sr::GLOBALTIMERLO:
            return timer(w);
        default:
            return special_register(w, id, 0);
    }
}
const Op* cs2r_64(const Op* op, Warp& w, uint32_t mask) {
    const uint64_t value = counter(op, w);
    L::store(w.row(op->d), L::splat(static_cast<uint32_t>(value)), mask);
    L::store(w.row(op->d + row_bytes), L::splat(static_cast<uint32_t>(value >> 32)), mask);
    return next(op, w);
}

const Op* breakpoint(const Op* op, Warp& w, uint32_t mask) {
    return op->k[0] ? services(w).fault(w, op, mask, FaultKind::trap, "the kernel executed a trap",
                                        false, 0)
                    : services(w).fault(w, op, mask, FaultKind::breakpoint,
                                        "the kernel reached a breakpoint", false, 0);
}

bool differs_by_lane(Sr id) {
    switch (id) {
        case Sr::LANEID:
        case Sr::TID:
        case Sr::TID_X:
        case Sr::TID_Y:
        case Sr::TID_Z:
        case Sr::EQMASK:
        case Sr::LTMASK:
        case Sr::LEMASK:
        case Sr::GTMASK:
        case Sr::GEMASK:
            return true;
        default:
            return false;
    }
}

const Op* release_registers(const Op* op, Warp& w, uint32_t) {
    w.cta->registers.release(w.index, w.scalar32(op->a));
    return next(op, w);
}
// Code asks in a loop, which is a spin like any other.
const Op* ask_registers(const Op* op, Warp& w, uint32_t) {
    RegisterPool& pool = w.cta->registers;
    if (w.watch) services(w).watch(w, pool.watched(), 4);
    write_uniform_predicate(w, op->k[0], pool.ask(w.index, w.scalar32(op->a)));
    return next(op, w);
}

// What lies behind is out of bounds for the warp from now on. Here that is so where the CTA has one
// warp: the others keep their own (ARCHITECTURES.md).
const Op* resize_shared(const Op* op, Warp& w, uint32_t mask) {
    Cta& cta = *w.cta;
    const uint32_t bytes = w.scalar32(op->a);
    if (bytes % 128 || bytes > cta.shared_bytes)
        return services(w).fault(w, op, mask, FaultKind::illegal_instruction,
                                 "USETSHMSZ wants a multiple of 128 bytes, at most what there is",
                                 false, 0);
    if (cta.warp_count == 1) cta.shared_bytes = bytes;
    return next(op, w);
}

}  // namespace

bool is_clock(typed::SpecialRegister id) {
    switch (id) {
        case Sr::CLOCK:
        case Sr::CLOCKLO:
        case Sr::CLOCKHI:
        case Sr::GLOBALTIMERLO:
        case Sr::GLOBALTIMERHI:
            return true;
        default:
            return false;
    }
}

void look_at_clock(Warp& w) {
    if (w.cta->stopped_at)
        w.cta->looked_at_clock = true;
    else
        ++w.effects;
}

uint32_t special_register(const Warp& w, typed::SpecialRegister id, unsigned lane) {
    const Cta& cta = *w.cta;
    const Launch& launch = *cta.launch;
    switch (id) {
        case Sr::LANEID:
            return lane;
        case Sr::CLOCK:
        case Sr::CLOCKLO:
            return static_cast<uint32_t>(cta.time());
        case Sr::CLOCKHI:
            return static_cast<uint32_t>(cta.time() >> 32);
        case Sr::GLOBALTIMERLO:
            return static_cast<uint32_t>(timer(w));
        case Sr::GLOBALTIMERHI:
            return static_cast<uint32_t>(timer(w) >> 32);
        case Sr::TID: {
            // Packed as ptxas unpacks it: x in bits 15..0, y in 25..16, z in 31..26.
            const Dim3 t = thread_index(w, lane);
            return t.x | t.y << 16 | t.z << 26;
        }
        case Sr::TID_X:
            return thread_index(w, lane).x;
        case Sr::TID_Y:
            return thread_index(w, lane).y;
        case Sr::TID_Z:
            return thread_index(w, lane).z;
        case Sr::CTAID_X:
            return cta.id.x;
        case Sr::CTAID_Y:
            return cta.id.y;
        case Sr::CTAID_Z:
            return cta.id.z;
        case Sr::CGA_CTA_ID:
            return cta.rank;
        case Sr::NTID:
            return launch.block.x | launch.block.y << 16 | launch.block.z << 26;
        case Sr::LWINHI:
            return local_window_high;
        case Sr::SWINHI:
            return shared_window_high;
        case Sr::SMEMSZ:
            return launch.shared_bytes;
        case Sr::EQMASK:
            return 1u << lane;
        case Sr::LTMASK:
            return (1u << lane) - 1;
        case Sr::LEMASK:
            return (2u << lane) - 1;
        case Sr::GTMASK:
            return ~((2u << lane) - 1);
        case Sr::GEMASK:
            return ~((1u << lane) - 1);
        // %warpid in bits 13..8, %smid in the rest: see VIRTID below and VIRTUALSMID.
        case Sr::VIRTID:
            return w.index << 8 | static_cast<uint32_t>(cta.sm) << 20;
        // %nwarpid, the warps an SM holds, in bits 15..8 (64 on an H200: measured).
        case Sr::VIRTCFG:
            return launch.device->resident_threads_per_sm / 32 << 8;
        case Sr::VIRTUALSMID:
            return static_cast<uint32_t>(cta.sm);
        default:
            return 0;
    }
}

void lower(Lower& x, const typed::S2r& i) {
    x.op.d = x.destination_row(i.d.index);
    x.op.k[0] = static_cast<uint8_t>(i.a);
    x.op.k[1] = is_clock(i.a);
    x.handler(i.a == Sr::LANEID      ? s2r_lane_id
              : i.a == Sr::TID_X     ? s2r_tid_x
              : differs_by_lane(i.a) ? s2r_lanes
                                     : s2r_uniform);
}

void lower(Lower& x, const typed::Cs2r& i) {
    x.op.d = x.destination_row(i.d.index, i.d.width);
    x.op.k[0] = static_cast<uint8_t>(i.a);
    x.op.k[1] = is_clock(i.a);
    x.handler(i.d.width == 2 ? cs2r_64 : s2r_uniform);
}

// m[0]: registers.
const Op* cs2ur(const Op* op, Warp& w, uint32_t) {
    const uint64_t value = counter(op, w);
    w.uniform[op->d / 4] = static_cast<uint32_t>(value);
    if (op->m[0] == 2) w.uniform[op->d / 4 + 1] = static_cast<uint32_t>(value >> 32);
    return next(op, w);
}
void lower(Lower& x, const typed::Cs2ur& i) {
    x.op.d = x.uniform_destination(i.d.index, i.d.width);
    x.op.m[0] = i.d.width;
    x.op.k[0] = static_cast<uint8_t>(i.a);
    x.op.k[1] = is_clock(i.a);
    x.handler(cs2ur);
}

void lower(Lower& x, const typed::Nop&) { x.handler(nothing); }
void lower(Lower& x, const typed::Pmtrig&) {
    x.handler(nothing);
}  // counts an event for a profiler

void lower(Lower& x, const typed::Bpt& i) {
    x.op.k[0] = i.mode == 3;  // TRAP
    x.handler(breakpoint);
}

// How much shared memory the CTA keeps; FLUSH hands the rest to other CTAs, which shows nothing
// here.
void lower(Lower& x, const typed::Usetshmsz& i) {
    x.op.a = x.source(i.a).at;
    x.handler(resize_shared);
}
void lower(Lower& x, const typed::UsetshmszFlush&) { x.handler(nothing); }

// setmaxnreg.
void lower(Lower& x, const typed::Usetmaxreg& i) {
    constexpr uint8_t deallocate = 0;
    x.op.a = x.source(i.a).at;
    x.op.k[0] = i.pd.index;
    x.handler(i.action == deallocate ? release_registers : ask_registers);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
