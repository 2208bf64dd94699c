// SPDX-License-Identifier: Apache-2.0
// What happens when a hooked operation runs. The operation's own handler (of the fast level, with
// its inlined flat model) still does the work wherever a model leaves it to the engine: a model
// that does nothing costs one call.
#include <cstring>

#include "emu/machine/chooser.hpp"
#include "emu/machine/lane_bits.hpp"
#include "emu/machine/launch_host.hpp"
#include "emu/machine/services.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/memory/multicast.hpp"
#include "emu/memory/payload.hpp"
#include "emu/memory/perform.hpp"
#include "emu/plugin/async_events.hpp"
#include "emu/plugin/driven_machine.hpp"
#include "emu/plugin/hooked_access.hpp"
#include "emu/plugin/sync_events.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu {

namespace {

// The access as the port knows it, for one that the model holds back.
Access port_access(const AccessCall& call, Warp& w) {
    Access a;
    a.op = static_cast<AccessOp>(call.shown.op);
    a.space = static_cast<AccessSpace>(call.shown.space);
    a.proxy = static_cast<Proxy>(call.shown.proxy);
    a.ordering = static_cast<Ordering>(call.shown.ordering);
    a.scope = static_cast<MemScope>(call.shown.scope);
    a.cache = call.shown.cache;
    a.bytes = call.shown.bytes;
    a.sign = call.shown.flags & SASSEMU_ACCESS_SIGN_EXTEND;
    a.lanes = call.shown.lanes;
    std::memcpy(a.address, call.address, sizeof a.address);
    a.sequence = call.shown.sequence;
    a.warp = &w;
    a.destination = a.source[0] = a.source[1] = call.row;
    return a;
}

}  // namespace

void prepare(AccessCall& call) {
    Warp& w = *call.w;
    const auto& op = as<AtomicPayload>(*call.op);
    call.rows = true;
    call.values = call.compare = call.results = nullptr;
    call.destination = nullptr;
    call.row = op.data_row();
    switch (call.shown.op) {
        case SASSEMU_LOAD:
            call.destination = w.row(op.data_row());
            break;
        case SASSEMU_STORE:
            call.values = w.row(op.data_row());
            break;
        default:
            call.values = w.row(op.operand_row());
            if (call.shown.atomic == SASSEMU_ATOMIC_COMPARE_EXCHANGE)
                call.compare = w.row(op.compare_row());
    }
}

const Op* Hooks::run_model_only(const Op* op, Warp& w, uint32_t mask) {
    const HookedInstruction& i = hooked_instruction(w, op);
    AccessCall call;
    begin_access(call, i, op, w, mask, ++w.cta->sequence);
    const int32_t answer = i.hooks->ask_model("issue", handle(&i), i.issue, &call.shown);
    if (answer == SASSEMU_DONE) [[likely]]
        return plain(i, op, w, mask);
    prepare(call);
    return i.hooks->answered(i, op, w, mask, call, answer);
}

const Op* Hooks::run_recorded_only(const Op* op, Warp& w, uint32_t mask) {
    const HookedInstruction& i = hooked_instruction(w, op);
    const uint32_t lanes = i.access.flags & SASSEMU_ACCESS_MATRIX
                               ? as<MatrixPayload>(*op).row_lanes()
                               : accessing(i, w, mask);
    if (!lanes) return plain(i, op, w, mask);
    uint64_t addresses[32];  // formed first: what is loaded may overwrite their registers
    if (i.access.space == SASSEMU_CONSTANT)
        as<ConstantPayload>(*op).addresses(w, addresses);
    else
        as<MemoryPayload>(*op).addresses(w, addresses);
    const Op* const next = plain(i, op, w, mask);
    if (Recording* const r = Recording::current(); r && next) r->access(i, lanes, addresses);
    return next;
}

const Op* Hooks::run_all(const Op* op, Warp& w, uint32_t mask) {
    const HookedInstruction& i = hooked_instruction(w, op);
    Hooks& h = *i.hooks;
    if (i.scoreboard) {
        sassemu_sync e = events::event(w, handle(&i), SASSEMU_SYNC_SCOREBOARD, mask);
        e.mask = i.wait;
        h.sync(e);
    }
    if (i.orders) h.scoped_->order(handle(&i), handle(&w), mask);
    const auto each = [&](uint64_t wanted, auto&& act) {
        for (; wanted; wanted &= wanted - 1)
            act(*h.sessions_[static_cast<size_t>(std::countr_zero(wanted))]);
    };
    if (i.before)
        each(i.wanted_before, [&](PluginSession& s) {
            s.tell("before", handle(&i), &sassemu_observer::before, handle(&w), handle(&i), mask);
        });
    const Op* next = nullptr;
    bool executed = false;
    for (uint64_t wanted = i.wanted_override; wanted && !executed; wanted &= wanted - 1) {
        PluginSession& s = *h.sessions_[static_cast<size_t>(std::countr_zero(wanted))];
        const int32_t outcome = s.call("execute", handle(&i), s.table().semantics->execute,
                                       handle(&w), handle(&i), mask);
        if (w.stop == Stop::faulted || outcome == SASSEMU_FAULTED) {
            if (w.stop != Stop::faulted)
                launch_host(w).fault(w, op, mask, FaultKind::other,
                                     "plugin '" + s.name + "' refuses this instruction", false, 0);
            return nullptr;
        }
        executed = outcome == SASSEMU_EXECUTED;
    }
    if (executed) {
        ++w.effects;  // nobody knows what it did: no loop around it is taken for a spin
        next = op + 1;
    } else {
        next = h.run(i, op, w, mask);
    }
    if (i.after && next)
        each(i.wanted_after, [&](PluginSession& s) {
            s.tell("after", handle(&i), &sassemu_observer::after, handle(&w), handle(&i), mask);
        });
    return next;
}

const Op* Hooks::run(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask) {
    switch (i.kind) {
        case Hooked::plain:
            return plain(i, op, w, mask);
        case Hooked::access:
            return access(i, op, w, mask);
        case Hooked::wide:
            return wide(i, op, w, mask);
        case Hooked::copy:
            return copy(i, op, w, mask);
        case Hooked::uniform_load:
            return uniform_load(i, op, w, mask);
        case Hooked::fence:
            return fence(i, op, w, mask);
        case Hooked::cache:
            return cache(i, op, w, mask);
        default:
            return misc(i, op, w, mask);
    }
}

// ---- accesses
// -------------------------------------------------------------------------------------------------------------

void Hooks::tell_issue(AccessCall& call) {
    for (PluginSession* s : on_issue_)
        s->tell("access_issue", call.shown.insn, &sassemu_observer::access_issue, &call.shown);
}
void Hooks::tell_access(AccessCall& call) {
    for (PluginSession* s : on_access_)
        s->tell("access", call.shown.insn, &sassemu_observer::access, &call.shown);
}

// An address of a multicast object is here, and its members need not be.
bool Hooks::reaches_far(AccessCall& call) const {
    const AddressSpace& space = *call.w->cta->launch->space;
    const bool global = call.shown.space == SASSEMU_GLOBAL || call.shown.space == SASSEMU_GENERIC;
    const auto far = [&](uint64_t address) { return far_->holds(FarMemory::by_host, address, 1); };
    bool any = false;
    plugin_host().addresses(&call.shown);  // forms them, of a multicast object too
    for_lanes(call.shown.lanes, [&](uint32_t lane) {
        const uint64_t address = call.address[lane];
        any |= far(address);
        const Multicast* const object =
            global ? multicast_of(space.find(address), address) : nullptr;
        if (!object) return;
        for (const Multicast::Member& member : object->members)
            any |= far(member.address + (address - object->address));
    });
    return any;
}

const Op* Hooks::access(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask) {
    uint32_t lanes = accessing(i, w, mask);
    if (i.access.flags & SASSEMU_ACCESS_MATRIX) lanes = as<MatrixPayload>(*op).row_lanes();
    if (!lanes) return plain(i, op, w, mask);
    AccessCall call;
    begin_access(call, i, op, w, lanes, ++w.cta->sequence);
    prepare(call);
    // What the operation overwrites is kept for those who look afterwards.
    const bool observed = !on_issue_.empty() || !on_access_.empty() || i.wanted_accesses;
    const uint32_t bit = SASSEMU_SPACE_BIT(call.shown.space);
    const bool generic = call.shown.space == SASSEMU_GENERIC;
    uint32_t kept[2][4][32];
    if (observed) {
        plugin_host().addresses(&call.shown);
        if (call.shown.atomic) {
            std::memcpy(kept[0], call.values, sizeof kept[0]);
            call.values = kept[0][0];
            if (call.compare) {
                std::memcpy(kept[1], call.compare, sizeof kept[1]);
                call.compare = kept[1][0];
            }
        }
    }
    // Other processes do not come between what the machine is told and what is done.
    const DrivenMachine::AtMachine stays(far_ && scoped_ && !reaches_far(call) ? scoped_ : nullptr);
    if (model_ && (generic || model_spaces_ & bit) &&
        (scoped_ || !(call.shown.flags & SASSEMU_ACCESS_MATRIX))) {
        const int32_t answer = ask_model("issue", handle(&i), model_table_->issue, &call.shown);
        if (answer != SASSEMU_DONE) {
            const Op* const then = answered(i, op, w, mask, call, answer);
            if (then && call.known == AccessCall::Known::good) record_access(call);
            return then;
        }
    }
    const bool told = generic || shown_to_observers(bit);
    // A schedule (schedules.hpp) may leave the warp behind an atomic: what it has published is seen
    // before it goes on. And behind a load, now and then: what it has learnt is old by then.
    const auto leave_behind = [&](const Op* then) -> const Op* {
        const bool loads = call.shown.op == SASSEMU_LOAD &&
                           !(call.shown.flags & SASSEMU_ACCESS_MATRIX) && !w.watch;
        if (!then || !(call.shown.atomic || loads)) return then;
        const uint32_t count = loads ? 8 : 3;
        if (chooser->pick(ChoicePoint::next_warp, count) != count - 1) return then;
        w.path().pc = then;
        w.stop = Stop::pending;
        return nullptr;
    };
    const Multicast* const object =
        observed && told && call.known == AccessCall::Known::bad ? multicast_of_all(call) : nullptr;
    if (object) {
        at_members(call, *object, &Hooks::tell_issue);
        const Op* const then = plain(i, op, w, mask);
        if (then) at_members(call, *object, &Hooks::tell_access);
        return then;
    }
    if (!observed || call.known == AccessCall::Known::bad || !(told || i.wanted_accesses)) {
        const Op* const then = plain(i, op, w, mask);
        return scoped_ ? leave_behind(then) : then;
    }
    if (told) tell_issue(call);
    if (lanes != mask && call.shown.op == SASSEMU_LOAD &&
        !(call.shown.flags & SASSEMU_ACCESS_MATRIX))
        call.values = nullptr;
    const Op* next = plain(i, op, w, mask);
    if (!next) return nullptr;
    if (call.shown.op == SASSEMU_LOAD)
        call.values = w.row(as<MemoryPayload>(*op).data_row());
    else if (call.shown.op == SASSEMU_ATOMIC)
        call.results = w.row(as<MemoryPayload>(*op).data_row());
    if (told) tell_access(call);
    record_access(call);
    return leave_behind(next);
}

// The path gives way, and issues the instruction again when it has its next turn.
const Op* Hooks::retry(const Op* op, Warp& w, uint32_t mask) {
    Path& p = w.path();
    p.pc = op;
    w.stop = Stop::yielded;
    // It did not take place.
    --w.issued;
    Recording* const r = Recording::current();
    if (!r || !r->take_back(op))
        w.thread_instructions -= static_cast<unsigned>(std::popcount(mask));
    launch_host(w).give_way(w);
    return nullptr;
}

// A loop that spins on what the model gave goes on when that may have changed.
void Hooks::watch_supplied(const AccessCall& call) {
    Warp& w = *call.w;
    if (w.watch) services(w).watch(w, reinterpret_cast<const std::byte*>(&epoch_), sizeof epoch_);
    for_lanes(far_ ? call.shown.lanes : 0, [&](uint32_t lane) {
        if (!w.watch || !launch_host(w).far(call.address[lane], call.shown.bytes)) return;
        uint32_t seen[4] = {};
        for (uint32_t k = 0; k < (call.shown.bytes + 3u) / 4; ++k)
            seen[k] = call.values[k * 32 + lane];
        launch_host(w).watch_far(w, call.address[lane], call.shown.bytes,
                                 reinterpret_cast<const std::byte*>(seen));
    });
}

const Op* Hooks::answered(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask,
                          AccessCall& call, int32_t answer) {
    if (answer == SASSEMU_RETRY) return retry(op, w, mask);
    if (w.stop == Stop::faulted) return nullptr;
    if (answer == SASSEMU_FAULT)
        return launch_host(w).fault(w, op, mask, FaultKind::other,
                                    "the memory model '" + model_->name + "' refuses this access",
                                    false, 0);
    // A bad address: the operation's own handler reports it.
    if (!plugin_host().addresses(&call.shown)) return plain(i, op, w, mask);
    const auto wrong = [&](const char* what) {
        return launch_host(w).fault(w, op, mask, FaultKind::other,
                                    "the memory model '" + model_->name + "' answers " + what,
                                    false, 0);
    };
    const bool load = call.shown.op == SASSEMU_LOAD;
    const uint32_t bit = SASSEMU_SPACE_BIT(call.shown.space);
    const bool observed = call.shown.space == SASSEMU_GENERIC || shown_to_observers(bit);
    const uint32_t zero = mask & ~call.shown.lanes;  // LDG with a false predicate operand
    const auto clear = [&] {
        for (uint32_t k = 0; zero && k < (call.shown.bytes + 3u) / 4; ++k)
            for (uint32_t rest = zero; rest; rest &= rest - 1)
                w.row(call.row)[k * 32 + static_cast<uint32_t>(std::countr_zero(rest))] = 0;
    };
    switch (answer) {
        case SASSEMU_SUPPLIED:
            if (load && call.supplied != call.shown.lanes)
                return wrong("SUPPLIED without having supplied every lane");
            if (!load && call.shown.op != SASSEMU_STORE)
                return wrong("SUPPLIED to an atomic operation");
            clear();
            if (load) {
                call.values = w.row(call.row);
                watch_supplied(call);
            } else {
                ++w.effects;
            }
            if (observed) {
                tell_issue(call);
                tell_access(call);
            }
            return op + 1;
        case SASSEMU_PENDING:
            if (!load || !defers_ || call.shown.flags & SASSEMU_ACCESS_IMMEDIATE)
                return wrong("PENDING where it must not");
            clear();
            if (observed) tell_issue(call);
            call.rows = true;
            call.values = nullptr;  // not yet
            launch_host(w).hold(w, op, port_access(call, w), call.shown.token);
            return op + 1;
        default:
            return wrong("a number that is no answer");
    }
}

void Hooks::performed(Warp& w, const Op* op, const Access& a, uint64_t token, uint32_t lanes) {
    const HookedInstruction& i = hooked_instruction(w, op);
    if (!on_access_.empty() &&
        (a.space == AccessSpace::generic ||
         shown_to_observers(SASSEMU_SPACE_BIT(static_cast<unsigned>(a.space))))) {
        AccessCall call;
        call.shown = i.access;
        call.shown.bytes = a.bytes;
        call.shown.lanes = lanes;
        call.shown.sequence = a.sequence;
        call.shown.token = token;
        call.shown.warp = handle(&w);
        call.op = op;
        call.w = &w;
        prepare(call);
        call.known = AccessCall::Known::good;
        std::memcpy(call.address, a.address, sizeof call.address);
        call.values = w.row(a.destination);
        tell_access(call);
    }
    if (!wants(SASSEMU_SYNC_LOAD_RETURN)) return;
    sassemu_sync e = events::event(w, handle(&i), SASSEMU_SYNC_LOAD_RETURN, lanes);
    e.token = token;
    sync(e);
}

}  // namespace sassemu
