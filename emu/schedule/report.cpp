// SPDX-License-Identifier: Apache-2.0
// What a user reads when a launch goes wrong: guest faults and deadlocks, each with kernel, pc,
// SASS, source line, CTA, warp and lane.
#include <sassemu/names.hpp>

#include "emu/base/text.hpp"
#include "emu/machine/dimensions.hpp"
#include "emu/machine/stepper.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/schedule/engine.hpp"
#include "emu/schedule/paths.hpp"

namespace sassemu {

namespace {

std::string describe_state(const Cta& cta, uint32_t warp, const Path& p) {
    switch (p.state) {
        case PathState::at_bsync:
            return "waits at convergence barrier B" + std::to_string(p.barrier);
        case PathState::at_warpsync:
            return "waits at WARPSYNC for lanes " + hex(p.want);
        case PathState::in_collective:
            return "waits for the end of a collective with lanes " + hex(p.want);
        case PathState::at_bar: {
            const Barrier& b = cta.barrier[p.barrier];
            return "waits at CTA barrier " + std::to_string(p.barrier) + ": " +
                   std::to_string(b.arrived) + " of " +
                   std::to_string(b.expected ? b.expected : cta.live_threads) +
                   " threads have arrived";
        }
        case PathState::parked:
            return "spins on memory that nobody changes";
        case PathState::in_flight:
            return "waits for a load in flight";
        case PathState::at_cluster:
            return "waits at the barrier of its cluster";
        case PathState::at_mbarrier:
            return "waits for " + describe_mbarrier(*cta.cluster, p.object);
        case PathState::at_warpgroup:
            return "waits for " + async::describe_warpgroup(cta, warp);
        case PathState::at_meeting:
            return "waits for warp " + async::describe_missing(cta.warps[warp]) +
                   " of its warpgroup, which has not arrived (WARPGROUP.ARRIVE)";
        case PathState::at_grid_wait:
            return "waits for the launch before it";
        default:
            // As on the chip: while some lanes of a warp are at a barrier, none of it runs.
            return "can go on when those of its warp that wait at a barrier do";
    }
}

// Whether the path stands behind the instruction that made it wait.
bool has_executed(const Path& p) {
    switch (p.state) {
        case PathState::runnable:
        case PathState::at_bsync:
        case PathState::parked:
        case PathState::in_flight:
        case PathState::at_mbarrier:
            return false;
        default:
            return !paths::is_before_bar(p);
    }
}

LaunchStatus fault_status(FaultKind kind) {
    return kind == FaultKind::assert_failed ? LaunchStatus::assert_failed
           : kind == FaultKind::trap        ? LaunchStatus::trap
                                            : LaunchStatus::fault;
}

// "8 per thread are free; warps 0 to 3 have 40, warps 4 to 11 have 168"
std::string describe_registers(const Cta& cta) {
    const RegisterPool& pool = cta.registers;
    std::string text = std::to_string(pool.free()) + " per thread of a warp are free";
    for (uint32_t first = 0, end; first < cta.warp_count; first = end) {
        const uint32_t held = pool.held(first);
        for (end = first + 1; end < cta.warp_count && pool.held(end) == held;) ++end;
        text += first ? ", " : "; ";
        text += first + 1 == end ? "warp " + std::to_string(first) + " has "
                                 : "warps " + std::to_string(first) + " to " +
                                       std::to_string(end - 1) + " have ";
        text += std::to_string(held);
    }
    return text;
}

}  // namespace

std::string_view fault_name(FaultKind kind) {
    switch (kind) {
        case FaultKind::none:
            return "none";
        case FaultKind::illegal_instruction:
            return "illegal-instruction";
        case FaultKind::misaligned_address:
            return "misaligned-address";
        case FaultKind::out_of_bounds:
            return "out-of-bounds";
        case FaultKind::use_after_free:
            return "use-after-free";
        case FaultKind::stack_overflow:
            return "stack-overflow";
        case FaultKind::barrier_misuse:
            return "barrier-misuse";
        case FaultKind::invalid_pc:
            return "invalid-pc";
        case FaultKind::trap:
            return "trap";
        case FaultKind::breakpoint:
            return "breakpoint";
        case FaultKind::assert_failed:
            return "assert";
        case FaultKind::illegal_texture:
            return "illegal-texture";
        case FaultKind::cluster:
            return "cluster";
        case FaultKind::other:
            return "other";
    }
    return "other";
}

std::string GuestFault::report() const {
    if (sass.empty() && function.empty()) return what;  // of no instruction
    std::string text = "fault: " + std::string(fault_name(kind)) + " in kernel '" + kernel + "'\n";
    text += "  what:    " + what + "\n";
    text += "  where:   pc " + hex(pc) +
            (function.empty() || function == kernel ? std::string() : " in '" + function + "'") +
            ": " + (sass.empty() ? "<undecodable>" : sass) + "\n";
    if (!source.empty()) text += "  source:  " + source + "\n";
    text += "  who:     CTA " + triple(cta) + ", warp " + std::to_string(warp) + ", lane " +
            std::to_string(lane) + ", thread " + triple(thread) + "\n";
    if (has_address) text += "  address: " + hex(address) + "\n";
    if (landed_lanes) text += "  written: lanes " + hex(landed_lanes) + " had stored already\n";
    return text;
}

// Ends the launch from where no exception may leave. No reason given: the memory is used up.
void Engine::fail(LaunchStatus status, const char* why) noexcept {
    const std::lock_guard guard(fault_mutex_);
    if (!launch_.stop.exchange(true)) {
        result_.status = status;
        try {
            if (why) result_.message = "kernel '" + kernel_ + "': " + why;
        } catch (const std::bad_alloc&) {
            why = nullptr;
        }
        if (!why) result_.message.swap(out_of_memory_);
    }
}

void Engine::end(LaunchStatus status, std::string message) {
    const std::lock_guard guard(fault_mutex_);
    if (!launch_.stop.load()) {
        result_.status = status;
        if (settings_.stepper && status != LaunchStatus::not_run)
            settings_.stepper->launch_fails(launch_, status, message, nullptr, nullptr, 0);
        if (status == LaunchStatus::fault) {  // what it wrote is gone: of no instruction
            GuestFault& f = result_.fault.emplace();
            f.kind = FaultKind::use_after_free;
            f.kernel = kernel_;
            f.what = message;
        }
        result_.message = std::move(message);
    }
    launch_.stop = true;
}

const Op* Engine::fault(Warp& w, const Op* op, uint32_t lanes, FaultKind kind, std::string what,
                        bool has_address, uint64_t address) {
    w.stop = Stop::faulted;
    if (launch_.stop.exchange(true)) return nullptr;  // the first fault is the one to report
    if (launch_.hooks) launch_.hooks->fault(w, op, lanes, kind, what, has_address, address);
    if (settings_.stepper)
        settings_.stepper->launch_fails(launch_, fault_status(kind),
                                        std::string(fault_name(kind)) + ": " + what, &w, op, lanes);
    const std::lock_guard guard(
        fault_mutex_);  // not while a plugin is told: it may end the launch itself
    const CodeImage& code = *launch_.code;
    const uint64_t offset = code.offset_of(op);
    GuestFault f;
    f.kind = kind;
    f.kernel = kernel_;
    f.function = names::demangled(code.function(offset));
    f.sass = code.sass(offset);
    f.source = code.source(offset);
    f.pc = code.section_offset(offset);
    f.cta = w.cta->id;
    f.warp = w.index;
    f.lane = lanes ? static_cast<uint32_t>(std::countr_zero(lanes)) : 0;
    f.thread = thread_of(launch_.block, w.index * 32u + f.lane);
    f.address = address;
    f.has_address = has_address;
    f.what = std::move(what);
    result_.status = fault_status(kind);
    result_.fault = std::move(f);
    return nullptr;
}

std::string Engine::waits() const {
    std::string text =
        "deadlock in kernel '" + kernel_ + "': no path of any resident CTA can go on\n";
    const CodeImage& code = *launch_.code;
    uint32_t shown = 0;
    uint64_t paths = 0;
    std::vector<const CtaSlot*> all;
    for (const CtaSlot* slot : blocked_)
        for (uint32_t r = 0; r < slot->cluster.size; ++r)
            all.push_back(&slot_of(*slot->cluster.cta[r]));
    for (const CtaSlot* slot : all) {
        const Cta& cta = slot->cta;
        for (uint32_t i = 0; i < cta.warp_count; ++i) {
            const Warp& w = cta.warps[i];
            if (!w.live) continue;
            for (uint32_t k = 0; k < w.paths_used; ++k) {
                ++paths;
                if (shown == 16) continue;
                ++shown;
                const Path& p = w.paths[k];
                const Op* at = p.pc;
                if (has_executed(p) && at > code.ops())
                    --at;
                else if (p.edge && p.state != PathState::runnable && p.state != PathState::at_bsync)
                    at = p.edge;
                const uint64_t offset = code.offset_of(at);
                text += "  CTA " + triple(cta.id) + " warp " + std::to_string(i) + " lanes " +
                        hex(p.lanes) + " " + describe_state(cta, i, p) + "\n    at " +
                        names::demangled(code.function(offset)) + "+" +
                        hex(code.section_offset(offset)) + ": " + code.sass(offset);
                const std::string source = code.source(offset);
                if (!source.empty()) text += "  (" + source + ")";
                text += "\n";
                if (p.state != PathState::parked) continue;
                const Watch& watch = slot->watches[p.watch];
                for (uint32_t r = 0; r < std::min(4u, watch.used); ++r) {
                    const Watch::Read& read = watch.reads[r];
                    text += read.mbarrier
                                ? "    waits for " + describe_mbarrier(*cta.cluster, read.at) + "\n"
                            : read.at == cta.registers.watched()
                                ? "    waits for registers; " + describe_registers(cta) + "\n"
                            : slot->cta.tensor && read.at == slot->cta.tensor->watched()
                                ? "    waits for columns of tensor memory; allocated, a bit for 32 "
                                  "of them: " +
                                      hex(read.value[0]) + "\n"
                                : "    reads value " + hex(read.value[0]) + " (" +
                                      std::to_string(read.bytes) + " bytes)\n";
                }
            }
        }
    }
    if (paths > shown) text += "  and " + std::to_string(paths - shown) + " more paths\n";
    if (const uint64_t left = queue_.left())
        text += "  " + std::to_string(left) +
                (launch_.cluster.count() > 1 ? " clusters" : " CTAs") +
                " have not started: the device holds no more at a time\n";
    return text;
}

}  // namespace sassemu
