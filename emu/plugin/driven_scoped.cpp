// SPDX-License-Identifier: Apache-2.0
// Driving a scoped machine, which is shown what PTX orders: orders and scopes as they are meant,
// and accesses to global and shared memory. Barriers and asynchronous operations are in
// driven_meetings.cpp. See driven_machine.hpp.
#include <algorithm>

#include "emu/memory/word_order.hpp"
#include "emu/plugin/driven_machine.hpp"
#include "emu/plugin/driving.hpp"
#include "emu/plugin/hooks.hpp"
#include "sassdec/ids.h"

namespace sassemu {

using namespace driving;

namespace {

bool releases(uint32_t ordering) {
    return ordering == SASSEMU_RELEASE || ordering == SASSEMU_ACQ_REL || ordering == SASSEMU_SC;
}
bool acquires(uint32_t ordering) {
    return ordering == SASSEMU_ACQUIRE || ordering == SASSEMU_ACQ_REL || ordering == SASSEMU_SC;
}

sassemu_operation ordering_fence(uint32_t ordering, uint32_t scope) {
    sassemu_operation o = operation(SASSEMU_OPERATION_FENCE);
    o.ordering = static_cast<uint8_t>(ordering);
    o.scope = static_cast<uint8_t>(scope);
    return o;
}

sassemu_operation fence_of(const Intent& intent) {
    sassemu_operation o =
        ordering_fence(static_cast<uint32_t>(intent.ordering), static_cast<uint32_t>(intent.scope));
    o.restriction = static_cast<uint8_t>(intent.restriction);
    if (intent.kind != IntentKind::proxy_fence) return o;
    o.proxy = static_cast<uint8_t>(intent.from_proxy);
    o.to_proxy = static_cast<uint8_t>(intent.to_proxy);
    o.both_ways = intent.both_ways;
    o.spaces = static_cast<uint8_t>(intent.spaces);
    if (intent.both_ways) o.ordering = SASSEMU_WEAK;  // orders nothing but proxies
    return o;
}

}  // namespace

void DrivenMachine::begin_scoped() {
    machine_.drop(self_, state_);
    state_ = machine_.start(self_, nullptr, 0);
    Scoped& s = scoped_;
    s.number_of.clear();
    s.cta_of.clear();
    s.last_cta = {};
    s.phased.clear();
    s.copies.clear();
    s.reports.clear();
    s.in_cluster.clear();
    s.leaving.clear();
    s.landing.clear();
    s.late.clear();
    late_reads_.open.clear();
    s.pause = 4u << pick(5);
    s.slow = host.seed(session) ? pick(1 << 17) : 0;
}

void DrivenMachine::cta_begin(sassemu_cta c) {
    const AtMachine at_machine(this);
    placed_ = {};
    if (!scoped()) return;
    const sassemu_cta_info i = info(c);
    const Launch& launch = *std::ranges::find(launches_, i.launch, &Launch::handle);
    const uint64_t number = ++scoped_.ctas;
    scoped_.number_of[launch.id << cta_bits | i.linear] = number;
    scoped_.cta_of[number] = c;
}
void DrivenMachine::cta_end(sassemu_cta c) {
    const AtMachine at_machine(this);
    placed_ = {};
    if (!scoped()) return;
    const sassemu_cta_info i = info(c);
    const Launch& launch = *std::ranges::find(launches_, i.launch, &Launch::handle);
    const uint64_t cta = launch.id << cta_bits | i.linear;
    if (const auto at = scoped_.number_of.find(cta); at != scoped_.number_of.end()) {
        scoped_.cta_of.erase(at->second);
        scoped_.last_cta = {};
        scoped_.number_of.erase(at);
    }
    std::erase_if(scoped_.copies, [&](const auto& one) { return one.first[0] == cta; });
    forget_late_reads(cta);
}

sassemu_cta DrivenMachine::shared_of(uint64_t address) const {
    const uint64_t number = (address & ~SASSEMU_MACHINE_SHARED) >> 24;
    if (scoped_.last_cta.first == number) return scoped_.last_cta.second;
    const auto at = scoped_.cta_of.find(number);
    if (at == scoped_.cta_of.end()) return nullptr;
    scoped_.last_cta = *at;
    return at->second;
}

// ---- what is meant

bool DrivenMachine::orders(const HookedInstruction& i, const Event& e, bool first) {
    Scoped& s = scoped_;
    if (first) s.last_line = 0, s.open = nullptr;
    look_for_late_reads(e);
    const bool word = e.is(SASSDEC_KIND_FENCE) ||
                      (e.is(SASSDEC_KIND_CACHE) && e.cache != SASSDEC_CACHE_TENSORMAP);
    const bool nothing = e.insn->id == SASSDEC_ID_NOP;
    const bool of_map = e.is(SASSDEC_KIND_CACHE) && !word;  // the acquire of a tensor map
    if (!word && !nothing && !of_map) {
        if (e.accesses() || e.is(SASSDEC_KIND_BARRIER) || e.is(SASSDEC_KIND_MBARRIER) ||
            e.is(SASSDEC_KIND_ASYNC) || e.is(SASSDEC_KIND_CONTROL))
            s.last_line = 0, s.open = nullptr;
        // Of an arrival it is told which lanes make it.
        return e.is(SASSDEC_KIND_MBARRIER, SASSDEC_ACTION_ARRIVE);
    }
    std::vector<sassemu_operation> all;
    const InstructionText& text = text_of(i);
    const bool known = text.has_intent;
    if (known &&
        (text.intent.kind == IntentKind::fence || text.intent.kind == IntentKind::proxy_fence)) {
        // It may leave several words: it stands at the first of them.
        if (text.ptx_line != s.last_line) all.push_back(fence_of(text.intent));
        s.last_line = text.ptx_line;
    } else if (known && nothing && text.intent.opcode.starts_with("bar.warp.sync")) {
        all.push_back(operation(SASSEMU_OPERATION_MEET));
    } else if (nothing && !known) {
        // It is what fence.acquire.sync_restrict::shared::cluster leaves as well.
        all = {ordering_fence(static_cast<uint32_t>(order_of_nop.ordering),
                              static_cast<uint32_t>(order_of_nop.scope)),
               ordering_fence(SASSEMU_ACQUIRE, SASSEMU_LEVEL_CLUSTER)};
        all[1].restriction = SASSEMU_RESTRICT_SHARED_CLUSTER;
    } else if (word && !(known && text.intent.kind != IntentKind::none)) {
        // The words around an access are part of what its own order says.
        if (const auto order = order_of_word(e, false)) {
            sassemu_operation o = ordering_fence(static_cast<uint32_t>(order->ordering),
                                                 static_cast<uint32_t>(order->scope));
            o.to_proxy = static_cast<uint8_t>(order->to);
            o.both_ways = order->to != Proxy::generic;
            if (s.open && order->ordering == Ordering::acquire)
                s.open->front().ordering = SASSEMU_SC;
            all.push_back(o);
            // Behind a MEMBAR, the end of fence.release.sync_restrict::shared::cta, too.
            if (order->to == Proxy::async && e.space == SASSDEC_SPACE_SHARED) {
                all.push_back(ordering_fence(SASSEMU_RELEASE, SASSEMU_LEVEL_CLUSTER));
                all.back().restriction = SASSEMU_RESTRICT_SHARED_CTA;
            }
        }
    } else if (of_map && !(known && text.intent.kind != IntentKind::none) &&
               e.action == SASSDEC_ACTION_INVALIDATE) {
        // What its release left says nothing of maps: all that is known here counts as released.
        all.push_back(ordering_fence(SASSEMU_ACQ_REL, SASSEMU_LEVEL_SYS));
        all.back().to_proxy = SASSEMU_VIA_TENSORMAP;
    }
    const bool sc =
        e.is(SASSDEC_KIND_FENCE, SASSDEC_ACTION_PLAIN) && e.order == SASSDEC_ORDER_SC && !known;
    if (!stands_in_fence(e)) s.open = nullptr;
    if (all.empty()) return word;  // loads are over then
    auto& kept = s.fences[handle(&i)] = std::move(all);
    if (sc) s.open = &kept;
    return true;
}

void DrivenMachine::order(sassemu_insn i, sassemu_warp w, uint32_t lanes) {
    const AtMachine at_machine(this);
    const auto fences = scoped_.fences.find(i);
    scoped_.arriving = lanes;
    const Who who = place(w);
    finish_lanes(who, lanes);
    if (fences == scoped_.fences.end()) return;
    for (sassemu_operation o : fences->second) {
        if (o.kind == SASSEMU_OPERATION_MEET) {
            meet_warp(who, lanes);
            continue;
        }
        for_lanes(who.threads(lanes), [&](unsigned lane) {
            o.from = of(who, lane);
            perform(o, nullptr);
        });
    }
}

const DrivenMachine::Meant& DrivenMachine::meant(sassemu_insn i) {
    static const Meant nothing;
    if (!i) return nothing;  // a function of the driver does it
    const auto [at, fresh] = scoped_.meant.try_emplace(i);
    Meant& m = at->second;
    if (!fresh) return m;
    sassemu_effect e{};
    e.size = sizeof e;
    host.insn_effect(i, &e);
    m.ordering = e.ordering;
    m.scope = e.scope;
    m.late = e.kind == SASSEMU_EFFECT_LOAD && may_be_late(i);
    m.meets = e.kind == SASSEMU_EFFECT_CONVERGENCE &&
              (e.action == SASSEMU_ACTION_WARP || e.action == SASSEMU_ACTION_COLLECTIVE);
    m.arrives_later = e.action == SASSEMU_ACTION_ARRIVE_LATER;
    if (e.kind == SASSEMU_EFFECT_MBARRIER) {
        const std::string_view text = host.insn_text(i);
        m.counts =
            text.find("ATOM") != text.npos || (m.arrives_later && text.find("CNT") == text.npos);
    }
    const bool tests = e.kind == SASSEMU_EFFECT_MBARRIER && e.action == SASSEMU_ACTION_TEST;
    sassemu_intent intent{};
    intent.size = sizeof intent;
    const auto fits = [&](sassemu_insn of) {
        if (host.insn_intent(of, &intent)) return false;
        // A test may have the line of what comes before it, an arrival at times.
        const std::string_view opcode = intent.opcode ? intent.opcode : "";
        if (tests && opcode.find("wait") == opcode.npos) return false;
        return intent.kind == SASSEMU_INTENT_MBARRIER ||
               (!tests &&
                (intent.kind == SASSEMU_INTENT_ACCESS || intent.kind == SASSEMU_INTENT_BARRIER));
    };
    bool known = fits(i);
    // ptxas gives the first try of a wait the line before it; its own is that of the loop's.
    const sassemu_module module = host.insn_module(i);
    const uint64_t from = host.insn_code_offset(i);
    const std::string text = tests && !known ? host.insn_text(i) : "";
    for (const bool alike : {true, false})
        for (uint64_t step = 16; tests && !known && step < 0x4000; step += 16)
            for (const uint64_t offset : {from + step, from - step}) {
                const sassemu_insn other = !known && offset < host.module_code_bytes(module)
                                               ? host.module_insn(module, offset)
                                               : nullptr;
                if (!other) continue;
                host.insn_effect(other, &e);
                known = e.kind == SASSEMU_EFFECT_MBARRIER && e.action == SASSEMU_ACTION_TEST &&
                        (!alike || text == host.insn_text(other)) && fits(other);
            }
    if (!known) return m;
    m.known = true;
    m.ordering = intent.ordering;
    m.scope = intent.scope;
    return m;
}

// ---- accesses

uint64_t DrivenMachine::map(const Who& who, const sassemu_location& where) const {
    if (where.space == SASSEMU_GLOBAL) return where.address;
    if (where.space != SASSEMU_SHARED) return 0;
    const uint64_t cta = who.cta >> cta_bits << cta_bits | where.owner;
    const auto at = scoped_.number_of.find(cta);
    return at == scoped_.number_of.end()
               ? 0
               : SASSEMU_MACHINE_SHARED | at->second << 24 | where.address;
}

uint32_t DrivenMachine::map(const Who& who, const sassemu_location* where, uint32_t lanes,
                            uint64_t* out) {
    uint32_t mapped = 0;
    uint32_t owner = 0;
    uint64_t base = 0;
    for_lanes(lanes, [&](unsigned lane) {
        const sassemu_location& at = where[lane];
        if (at.space == SASSEMU_SHARED && base && at.owner == owner) {
            out[lane] = base | at.address;
        } else {
            out[lane] = map(who, at);
            if (at.space == SASSEMU_SHARED && out[lane]) base = out[lane] & ~uint64_t{0xffffff};
            owner = at.owner;
        }
        if (out[lane]) mapped |= 1u << lane;
    });
    return mapped;
}

void DrivenMachine::show_meant(sassemu_insn i, sassemu_operation& o) {
    const Meant& m = meant(i);  // of a texel nothing
    if (!m.known) return;
    o.ordering = m.ordering;
    o.scope = m.scope;
}

// Before an access: now and then; with half of the seeds some warps begin late.
bool DrivenMachine::gives_way(const Who& who) {
    const uint64_t number = (who.cta << 5 | who.warp) + scoped_.slow / 2;
    if (scoped_.slow & 1 && (number * 0x9e3779b97f4a7c15u) >> 62 == 0) {
        const auto [left, fresh] = scoped_.late.try_emplace(number);
        if (fresh) left->second = 1u << pick(7);
        if (left->second) return left->second--;
    }
    return pick(scoped_.pause) == 0;
}

// For a warp's loads of its own CTA's memory, whose addresses need not be looked at then.
bool DrivenMachine::shared_is_plain(sassemu_warp w) const {
    placed(w);
    Placed& at = placed_[slot_of(w)];
    if (at.asked == performed_) return at.plain;
    const sassemu_cta_info c = info(info(w).cta);
    sassemu_operation o = operation(SASSEMU_OPERATION_LOAD);
    o.bytes = most_bytes;
    o.address = map(at.who, {0, SASSEMU_SHARED, static_cast<uint32_t>(c.linear)});
    o.from = of(at.who, 0);
    at.asked = performed_;
    at.plain = o.address && !host.cta_of_rank(info(w).cta, 1) &&
               is_plain(o, c.shared_bytes, at.who.apart ? ~0u : 1u);
    return at.plain;
}

int DrivenMachine::issue_scoped(const sassemu_access& a) {
    if (a.op == SASSEMU_PREFETCH) return SASSEMU_DONE;
    if (a.op == SASSEMU_LOAD && a.space == SASSEMU_SHARED && held_.empty() &&
        shared_is_plain(a.warp) && !acquires(meant(a.insn).ordering) && !meant(a.insn).late)
        return SASSEMU_DONE;
    const sassemu_location* where = host.locations(&a);
    if (!where) return SASSEMU_DONE;  // the engine reports the fault
    const Who who = place(a.warp);
    uint64_t address[32];
    const uint32_t mapped = map(who, where, a.lanes, address);
    if (!mapped) return SASSEMU_DONE;
    const bool matrix = a.flags & SASSEMU_ACCESS_MATRIX, load = a.op == SASSEMU_LOAD;
    const unsigned bytes = matrix ? most_bytes : a.bytes;
    if (!held_.empty()) finish_same(who, address, mapped, bytes);
    sassemu_operation what = operation(load ? SASSEMU_OPERATION_LOAD : SASSEMU_OPERATION_ATOMIC);
    what.proxy = a.proxy;
    what.bytes = static_cast<uint8_t>(std::min(bytes, most_bytes));
    const auto [low, high] = [&] {
        uint64_t least = ~uint64_t{0}, most = 0;
        for_lanes(mapped, [&](unsigned lane) {
            least = std::min(least, address[lane]);
            most = std::max(most, address[lane] + bytes);
        });
        return std::pair(least, most);
    }();
    what.address = low;
    what.from = of(who, 0);
    bool far = false;
    for_lanes(far_ ? mapped : 0, [&](unsigned lane) { far |= far_->elsewhere(address[lane]); });
    if (load && !far && is_plain(what, high - low, who.apart ? mapped : 1u)) {
        show_meant(a.insn, what);
        if (!acquires(what.ordering)) {
            if (late_reads_.possible && a.insn && meant(a.insn).late)
                leave_open(a.insn, who, address, a.lanes, mapped, bytes);
            return SASSEMU_DONE;
        }
    }
    what.ordering = a.ordering;
    what.scope = a.scope;
    show_meant(a.insn, what);
    const bool late = load && late_reads_.possible && a.insn && !matrix && meant(a.insn).late &&
                      what.ordering == SASSEMU_WEAK;
    if (!matrix && !meant(a.insn).known) {
        const WordOrder most =
            order_of_access(static_cast<AccessSpace>(a.space), static_cast<Ordering>(what.ordering),
                            static_cast<MemScope>(what.scope));
        what.ordering = static_cast<uint8_t>(most.ordering);
        what.scope = static_cast<uint8_t>(most.scope);
    }
    if (releases(what.ordering)) finish_lanes(who, a.lanes);
    const bool immediate = a.flags & SASSEMU_ACCESS_IMMEDIATE;
    if (load && !matrix && !late && mapped == a.lanes && bytes <= most_bytes &&
        !acquires(what.ordering) && held_.size() < settings_.depth && defer(a)) {
        Held& h = held_.emplace_back();
        h.who = who;
        h.token = a.token;
        h.lanes = a.lanes;
        h.what = what;
        std::copy_n(address, 32, h.address);
        return SASSEMU_PENDING;
    }
    if (settings_.policy == Policy::random && !immediate && !matrix && gives_way(who))
        return SASSEMU_RETRY;
    if (load && !matrix) {
        load_pieces(a, who, where, address, mapped, what);
        if (late) leave_open(a.insn, who, address, a.lanes, mapped, bytes);
        return SASSEMU_SUPPLIED;
    }
    if (load) {  // LDSM: the engine's, which sees what there is
        machine_loads_newest(who, address, mapped, what);
        return SASSEMU_DONE;
    }
    if (a.op == SASSEMU_STORE && !matrix && mapped == a.lanes) {
        what.kind = SASSEMU_OPERATION_STORE;
        const uint32_t* rows = host.values(&a);
        for_lanes(mapped, [&](unsigned lane) {
            uint8_t value[64];
            for (unsigned k = 0; k < (bytes + 3u) / 4; ++k)
                std::memcpy(value + 4 * k, &rows[k * 32 + lane], 4);
            what.from = of(who, lane);
            for (unsigned done = 0; done < bytes; done += most_bytes) {
                what.address = address[lane] + done;
                perform(what, value + done);
            }
        });
        if (!late_reads_.passed.empty()) pass_on(a.insn, who, address, mapped);
        if (far) stored();
        host.wake(session);
        return SASSEMU_SUPPLIED;
    }
    // The engine changes the bytes of all lanes right after it.
    if (a.op == SASSEMU_STORE) what.ordering = SASSEMU_WEAK;
    what.atomic = a.atomic;
    uint64_t changed[32];
    unsigned count = 0;
    for_lanes(mapped, [&](unsigned lane) {
        what.early = std::find(changed, changed + count, address[lane]) != changed + count;
        changed[count++] = address[lane];
        what.from = of(who, lane);
        for (unsigned done = 0; done < bytes; done += most_bytes) {
            what.address = address[lane] + done;
            perform(what, nullptr);
        }
    });
    return SASSEMU_DONE;
}

void DrivenMachine::machine_loads_newest(const Who& who, const uint64_t* address, uint32_t lanes,
                                         sassemu_operation what) {
    for_lanes(lanes, [&](unsigned lane) {
        uint8_t value[most_bytes];
        what.address = address[lane];
        what.from = of(who, lane);
        ++performed_;
        machine_.perform(self_, state_, &bytes_, &what, 0, value);
    });
}

void DrivenMachine::load_pieces(const sassemu_access& a, const Who& who,
                                const sassemu_location* where, const uint64_t* address,
                                uint32_t mapped, sassemu_operation what) {
    const Fetched fetched(*this);
    for (unsigned done = 0; far_ && done < a.bytes; done += most_bytes) {
        uint64_t at[32] = {};
        for_lanes(mapped, [&](unsigned lane) { at[lane] = address[lane] + done; });
        if (const std::string why = fetch(who, what, at, mapped); !why.empty())
            return lost(a, mapped, why);
    }
    uint32_t rows[16][32] = {};
    for_lanes(a.lanes, [&](unsigned lane) {
        uint8_t value[64] = {};
        if (mapped >> lane & 1) {
            what.from = of(who, lane);
            for (unsigned done = 0; done < a.bytes; done += most_bytes) {
                what.address = address[lane] + done;
                perform(what, value + done);
            }
        } else {
            load_elsewhere(a, where[lane], lane, value);
        }
        put(rows, lane, value, a.bytes);
    });
    host.supply(&a, a.lanes, rows[0]);
}

}  // namespace sassemu
