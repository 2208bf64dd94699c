// SPDX-License-Identifier: Apache-2.0
// The engine's side of the memory port: checks an access, asks the model, performs it now or when
// the model says so; and the table of services itself.
#include <algorithm>
#include <sassemu/names.hpp>
#include <utility>

#include "emu/async/agents.hpp"
#include "emu/memory/bounds.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/memory/perform.hpp"
#include "emu/plugin/driven_machine.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/plugin/sync_events.hpp"
#include "emu/schedule/engine.hpp"
#include "emu/schedule/paths.hpp"

namespace sassemu {

namespace {

void mark(Warp& w, const Access& a, bool set) {
    if (a.op != AccessOp::load && a.op != AccessOp::atomic) return;
    if (a.destination < first_register_row * row_bytes) return;  // RZ
    const uint32_t first = a.destination / row_bytes - first_register_row;
    const uint32_t count = a.matrices ? a.matrices : std::max<uint32_t>(1, a.bytes / 4);
    for (uint32_t r = first; r < std::min(first + count, 256u); ++r) {
        if (set)
            w.pending[r / 64] |= uint64_t{1} << (r % 64);
        else
            w.pending[r / 64] &= ~(uint64_t{1} << (r % 64));
    }
}

const Op* access(Warp& w, const Op* op, const Access& a) {
    Engine& e = engine(w);
    const bool write =
        a.op == AccessOp::store || a.op == AccessOp::atomic || a.op == AccessOp::reduce;
    const uint32_t far = e.has_far() ? e.far_lanes(a) : 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        if (!((a.lanes & ~far) >> lane & 1)) continue;
        const Landing at = land(w, a.space, a.address[lane], lane, a.bytes, write, a.through);
        if (at.host) continue;
        if (e.is_multicast(w, a, lane)) return e.access_multicast(w, op, a);
        if (a.op == AccessOp::cache)
            return op + 1;  // it leaves memory alone: nothing need be there
        // Lanes before this one have no fault; hardware would have performed none of them in order,
        // so nothing has landed.
        std::string what = at.what;
        if (at.fault == FaultKind::out_of_bounds || at.fault == FaultKind::use_after_free)
            what += ": " + bounds_text(w, a.space, a.address[lane]);
        return e.fault(w, op, 1u << lane, at.fault, std::move(what), true, a.address[lane]);
    }
    if (far) return e.access_far(w, op, a, far);
    MemoryModel* model = w.cta->launch->model;
    if (!model) {
        Hooks* const observed =
            a.space == AccessSpace::surface && w.instructions ? e.hooks() : nullptr;
        if (observed) observed->surface(w, op, a, false);
        perform(w, a, a.lanes);
        if (observed) observed->surface(w, op, a, true);
        return op + 1;
    }
    // Same-address order: what this warp still has in flight is older than this access.
    if (write && w.in_flight) e.drain(w);
    CtaSlot& slot = e.slot(w);
    const uint64_t token = w.cta->linear << 24 | (++w.cta->sequence & 0xffffff);
    Access sent = a;
    sent.warp = &w;
    sent.sequence = w.cta->sequence;
    if (a.op == AccessOp::load) slot.in_flight.push_back({token, a.lanes, sent, nullptr, nullptr});
    switch (model->issue(sent, token)) {
        case PortAnswer::pending:
            if (a.op == AccessOp::load) {
                mark(w, a, true);
                ++w.in_flight;
                return op + 1;
            }
            perform(w, a, a.lanes);
            return op + 1;
        case PortAnswer::retry:
            if (a.op == AccessOp::load) slot.in_flight.pop_back();
            w.path().pc = op;
            w.stop = Stop::yielded;
            w.path().edge = nullptr;
            return nullptr;
        case PortAnswer::done:
            if (a.op == AccessOp::load) slot.in_flight.pop_back();
            perform(w, a, a.lanes);
            return op + 1;
    }
    return op + 1;
}

const Op* load_reduce(Warp& w, const Op* op, const Access& a, const LoadReduce& how) {
    return engine(w).load_reduce(w, op, a, how);
}

const Op* fence(Warp& w, const Op* op, const Fence& f) {
    if (MemoryModel* model = w.cta->launch->model) {
        // A plugin's model has been told already, and has let happen what this one covers.
        if (w.in_flight) engine(w).drain(w);
        Fence sent = f;
        sent.warp = &w;
        model->fence(sent);
    }
    host::fence();
    if (Engine& e = engine(w); e.has_far()) {
        if (w.in_flight) e.drain(w);
        if (f.scope != MemScope::sys) return op + 1;
        if (const Result<void> drained = e.drain_far(); !drained)
            return e.fault(w, op, w.active, FaultKind::use_after_free,
                           "what was written is lost: " + drained.error().message(), false, 0);
    }
    return op + 1;
}

const Op* fault(Warp& w, const Op* op, uint32_t lanes, FaultKind kind, const char* what,
                bool has_address, uint64_t address) {
    std::string text = what;
    if (has_address &&
        (kind == FaultKind::out_of_bounds || kind == FaultKind::use_after_free ||
         kind == FaultKind::misaligned_address) &&
        address >> 32 != 0)
        text += ": " + bounds_text(w, AccessSpace::generic, address);
    if (kind == FaultKind::illegal_instruction) {
        const std::string why = w.cta->launch->code->rejection(w.cta->launch->code->offset_of(op));
        if (!why.empty()) text = why;
    }
    return engine(w).fault(w, op, lanes, kind, std::move(text), has_address, address);
}

const Op* unsupported(Warp& w, const Op* op, uint32_t) {
    const CodeImage& code = *w.cta->launch->code;
    std::string why = code.rejection(code.offset_of(op));
    // Only one instruction finds out while it runs.
    if (why.empty()) why = "derivatives for a texture whose maxAnisotropy is above 1";
    return engine(w).unsupported(w, op, why);
}

void watch(Warp& w, const std::byte* at, uint32_t bytes) {
    if (!w.watch) return;
    for (uint32_t done = 0; done < bytes; done += 16)
        w.watch->note(at + done, std::min(16u, bytes - done));
    // No spin: the rest of the iteration runs as fast as any other.
    w.watch->overflow |= w.effects != w.watch->effects;
    if (w.watch->overflow) w.watch = nullptr;
}

void watch_mbarrier(Warp& w, const std::byte* object) { w.watch->note(object, 8, true); }

const Op* lane_copy(Warp& w, const Op* op, uint32_t lanes, const LaneCopy& c) {
    return agents_of(*w.cta).issue(w, op, lanes, c);
}
// What an H100 takes for illegal in a launch without clusters; a cluster of one CTA is one.
bool lacks_cluster(Warp& w, const Op* op, uint32_t lanes) {
    if (w.cta->launch->in_clusters) return false;
    engine(w).fault(w, op, lanes, FaultKind::illegal_instruction,
                    "st.async, red.async and bulk copies from shared memory to shared::cluster "
                    "need a launch with clusters: give it a cluster size (1 will do)",
                    false, 0);
    return true;
}
const Op* lane_store(Warp& w, const Op* op, uint32_t lanes, const LaneStore& c) {
    if (lacks_cluster(w, op, lanes)) return nullptr;
    return agents_of(*w.cta).issue(w, op, lanes, c);
}
const Op* bulk_copy(Warp& w, const Op* op, uint32_t lanes, const BulkCopy& c) {
    if (!c.to_global && !c.from_global && lacks_cluster(w, op, lanes)) return nullptr;
    return agents_of(*w.cta).issue(w, op, lanes, c);
}
const Op* tensor_copy(Warp& w, const Op* op, uint32_t lanes, const TensorCopy& c) {
    return agents_of(*w.cta).issue(w, op, lanes, c);
}
const Op* next_work(Warp& w, const Op* op, uint32_t lanes, const WorkRequest& r) {
    return agents_of(*w.cta).issue(w, op, lanes, r);
}
const Op* clear_shared(Warp& w, const Op* op, uint32_t lanes, uint32_t address, uint64_t bytes) {
    if (w.in_flight) engine(w).drain(w);
    return async::clear_shared(w, op, lanes, address, bytes);
}
bool arrive_after_copies(Warp& w, const Op* op, uint32_t lanes, uint32_t address,
                         const MbarrierChange& change) {
    return agents_of(*w.cta).issue(w, op, lanes, async::Arrival{address, change}) != nullptr;
}
const Op* end_copy_group(Warp& w, const Op* op, const CopyGroup& group) {
    return agents_of(*w.cta).issue(w, op, w.active, group);
}
const Op* wait_copy_groups(Warp& w, const Op* op, uint32_t scoreboard, uint32_t left) {
    return agents_of(*w.cta).wait(w, op, scoreboard, left);
}
const Op* multiply(Warp& w, const Op* op, uint32_t lanes, const async::Multiply& m) {
    return async::possible(w, op, lanes, m)
               ? agents_of(*w.cta).issue(w, op, lanes, async::TensorWork(m))
               : nullptr;
}
const Op* tensor_move(Warp& w, const Op* op, uint32_t lanes, const async::TensorMove& m) {
    return async::possible(w, op, lanes, m)
               ? agents_of(*w.cta).issue(w, op, lanes, async::TensorWork(m))
               : nullptr;
}
const Op* commit_tensor(Warp& w, const Op* op, uint32_t lanes, const async::TensorCommit& c) {
    return agents_of(*w.cta).issue(w, op, lanes, c);
}

const Op* warpgroup_multiply(Warp& w, const Op* op, const async::WarpgroupMultiply& m) {
    return agents_of(*w.cta).multiply(w, op, m);
}
const Op* warpgroup_wait(Warp& w, const Op* op, uint32_t left) {
    if (!agents_of(*w.cta).reach(w, left)) return nullptr;
    const auto& groups = w.cta->warpgroups;
    if (!groups || (*groups)[w.index / 4u].pending(w.index % 4u) <= left) return op + 1;
    Path& p = w.path();
    p.pc = op + 1;
    p.state = PathState::at_warpgroup;
    p.want = left;
    return run_other_path(w);
}

// Measured on an H100 (emu/isa/MATRIX.md): a warp arrives once in a phase, whatever lanes execute
// it, and waits until those of its warpgroup that have not exited have; so does its next arrival.
const Op* meet_warpgroup(Warp& w, const Op* op, bool then_arrives) {
    Path& p = w.path();
    p.pc = op + 1;
    p.state = PathState::at_meeting;
    p.want = then_arrives;
    recheck_warpgroup(w);
    if (p.state == PathState::runnable) return op + 1;
    w.stop = Stop::blocked;  // it keeps the warp, as at BAR
    return nullptr;
}
const Op* warpgroup_arrive(Warp& w, const Op* op) {
    const uint32_t first = w.index / 4u * 4;
    for (uint32_t i = first; i < first + 4; ++i)
        if (i >= w.cta->warp_count || !w.cta->warps[i].live)
            return engine(w).fault(w, op, w.active, FaultKind::illegal_instruction,
                                   "WARPGROUP.ARRIVE in an incomplete warpgroup: of warps " +
                                       std::to_string(first) + " to " + std::to_string(first + 3) +
                                       ", warp " + std::to_string(i) +
                                       (i >= w.cta->warp_count ? " does not exist" : " has exited"),
                                   false, 0);
    auto& groups = w.cta->warpgroups;
    if (!groups) groups = std::make_unique<async::Warpgroups>();
    ++w.effects;
    return meet_warpgroup(w, op, true);
}
const Op* warpgroup_meet(Warp& w, const Op* op) { return meet_warpgroup(w, op, false); }

uint64_t address_of(const Warp& w, const Op* op) { return w.cta->launch->code->address_of(op); }

}  // namespace

void recheck_warpgroup(const Warp& of) {
    const uint32_t first = of.index / 4u * 4, end = std::min(first + 4, of.cta->warp_count);
    for (bool again = true; std::exchange(again, false);)
        for (uint32_t i = first; i < end; ++i) {
            Warp& w = of.cta->warps[i];
            for (uint32_t k = 0; k < w.paths_used; ++k) {
                Path& p = w.paths[k];
                if (p.state != PathState::at_meeting || async::missing(w)) continue;
                p.state = PathState::runnable;
                Hooks* const hooks = engine(w).hooks();
                if (!p.want) {
                    if (hooks) events::warpgroup_wait(*hooks, w, p.pc - 1, p.lanes);
                    continue;
                }
                p.want = 0;
                ++(*of.cta->warpgroups)[first / 4].arrived[i - first];
                if (hooks) events::warpgroup_arrive(*hooks, w, p.pc - 1, p.lanes);
                again = true;  // others may have waited for it
            }
        }
}

thread_local Cta* Engine::stepping_ = nullptr;

const Op* Engine::unsupported(Warp& w, const Op* op, const std::string& why) {
    const CodeImage& code = *launch_.code;
    const uint64_t offset = code.offset_of(op);
    w.stop = Stop::faulted;
    // A word without text is one that is not known.
    const std::string sass = code.sass(offset);
    end(LaunchStatus::unsupported, "kernel '" + kernel_ + "' at " +
                                       names::demangled(code.function(offset)) + "+" +
                                       std::to_string(code.section_offset(offset)) + ": " +
                                       (sass.empty()  ? why
                                        : why.empty() ? sass + " decodes but does not execute"
                                                      : sass + " does not execute: " + why) +
                                       " on " + code.options().arch);
    return nullptr;
}

void Engine::complete(uint64_t token, uint32_t lanes) {
    // A model completes only what belongs to the CTA being stepped.
    if (stepping_) complete_in(slot_of(*stepping_), token, lanes, nullptr);
}

bool Engine::complete_with(uint64_t token, uint32_t lanes, const uint32_t* values) {
    if (stepping_ && complete_in(slot_of(*stepping_), token, lanes, values)) return true;
    // Calls that never overlap may complete for any CTA.
    if (workers_ > 1) return false;
    for (const auto& slot : slots_) {
        if (slot->fresh) continue;
        for (uint32_t r = 0; r < slot->cluster.size; ++r)
            if (complete_in(slot_of(*slot->cluster.cta[r]), token, lanes, values)) return true;
    }
    return false;
}

void Engine::hold(Warp& w, const Op* op, const Access& a, uint64_t token) {
    slot(w).in_flight.push_back({token, a.lanes, a, op, nullptr});
    mark(w, a, true);
    ++w.in_flight;
}

bool Engine::complete_in(CtaSlot& slot, uint64_t token, uint32_t lanes, const uint32_t* values) {
    for (size_t i = 0; i < slot.in_flight.size(); ++i) {
        if (slot.in_flight[i].token != token) continue;
        const InFlight held = slot.in_flight[i];
        Warp& w = *held.access.warp;
        const uint32_t now = held.lanes & lanes;
        if (values)
            deliver(w.row(held.access.destination), held.access.bytes, held.access.sign, now,
                    values);
        else
            perform(w, held.access, now);
        slot.in_flight[i].lanes &= ~now;
        if (!slot.in_flight[i].lanes) {
            slot.in_flight.erase(slot.in_flight.begin() + static_cast<std::ptrdiff_t>(i));
            --w.in_flight;
            mark(w, held.access, false);
            for (const InFlight& other :
                 slot.in_flight)  // another load of the same row is still out
                if (other.access.warp == &w) mark(w, other.access, true);
            for (uint32_t k = 0; k < w.paths_used; ++k)
                if (w.paths[k].state == PathState::in_flight)
                    w.paths[k].state = PathState::runnable;
        }
        if (launch_.hooks && held.op && now) {
            launch_.hooks->completed();
            launch_.hooks->performed(w, held.op, held.access, token, now);
        }
        return true;
    }
    return false;
}

void Engine::drain(Warp& w) {
    if (launch_.hooks)
        if (DrivenMachine* const driver = launch_.hooks->driver()) driver->drain(handle(&w));
    CtaSlot& held = slot(w);
    for (size_t i = 0; i < held.in_flight.size();) {
        if (held.in_flight[i].access.warp == &w && held.in_flight[i].far)
            end_far_load(held, i);
        else if (held.in_flight[i].access.warp == &w)
            complete_in(held, held.in_flight[i].token, ~0u, nullptr);  // erases entry i
        else
            ++i;
    }
}

const Services& engine_services() {
    static constexpr Services table{
        .fault = fault,
        .unsupported = unsupported,
        .split = paths::split,
        .jump = paths::jump,
        .yield = paths::yield,
        .give_way = paths::give_way,
        .bsync = paths::bsync,
        .leave_barrier = paths::leave_barrier,
        .warpsync = paths::warpsync,
        .end_collective = paths::end_collective,
        .exit = paths::exit,
        .barrier = paths::barrier,
        .cluster_arrive = paths::cluster_arrive,
        .cluster_wait = paths::cluster_wait,
        .launch_dependents = paths::launch_dependents,
        .grid_wait = paths::grid_wait,
        .shared = paths::shared,
        .mbarrier = paths::mbarrier,
        .mbarrier_wait = paths::mbarrier_wait,
        .lane_copy = lane_copy,
        .lane_store = lane_store,
        .bulk_copy = bulk_copy,
        .tensor_copy = tensor_copy,
        .next_work = next_work,
        .clear_shared = clear_shared,
        .arrive_after_copies = arrive_after_copies,
        .end_copy_group = end_copy_group,
        .wait_copy_groups = wait_copy_groups,
        .tensor_granules = async::tensor_granules,
        .tensor_access = async::tensor_access,
        .multiply = multiply,
        .tensor_move = tensor_move,
        .commit_tensor = commit_tensor,
        .warpgroup_multiply = warpgroup_multiply,
        .warpgroup_wait = warpgroup_wait,
        .warpgroup_arrive = warpgroup_arrive,
        .warpgroup_meet = warpgroup_meet,
        .sleep = paths::sleep,
        .access = access,
        .load_reduce = load_reduce,
        .fence = fence,
        .watch = watch,
        .watch_mbarrier = watch_mbarrier,
        .address_of = address_of,
    };
    return table;
}

}  // namespace sassemu
