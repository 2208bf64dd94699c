// SPDX-License-Identifier: Apache-2.0
// Which operations are hooked, and the description of each that plugins are shown: asked once per
// instruction, when its section is lowered. What happens when one runs is in run_hooked.cpp.
#include "emu/memory/payload.hpp"
#include "emu/plugin/driven_machine.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/plugin/shown_event.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu {

namespace {

// The numbers of port.hpp are those of the ABI; so are those of the decoder's effects where no
// conversion is written down.
static_assert(int(AccessOp::reduce) == SASSEMU_REDUCE &&
              int(AccessSpace::surface) == SASSEMU_SURFACE &&
              int(Proxy::host) == SASSEMU_VIA_HOST && int(Ordering::mmio) == SASSEMU_MMIO &&
              int(MemScope::sys) == SASSEMU_LEVEL_SYS &&
              int(AtomicOp::safe_add) == SASSEMU_ATOMIC_SAFE_ADD);
static_assert(SASSDEC_CACHE_DATA == int(SASSEMU_CACHE_DATA) &&
              SASSDEC_CACHE_LOCAL == int(SASSEMU_CACHE_LOCAL));
static_assert(SASSDEC_SPACE_TENSOR - SASSDEC_SPACE_GLOBAL == int(SASSEMU_TENSOR_MEMORY));

// The guarding predicate operand of loads and LDGSTS.
void predicate_of(HookedInstruction& i, const Event& e) {
    if (const sassdec_operand* p = e.operand(e.predicate))
        i.predicate = p->index | uint32_t{(p->flags & SASSDEC_INV) != 0} << 8;
}

// Loads of constants, LDGSTS, and what else the lanes access themselves.
bool shown_as_access(const Event& e) {
    if (e.is(SASSDEC_KIND_ASYNC, SASSDEC_ACTION_COPY)) return e.agent == SASSDEC_AGENT_LDGSTS;
    if (!e.accesses() || e.address == SASSDEC_NO_OPERAND) return false;
    if (e.operand(e.address)->kind == SASSDEC_OP_CONST) return true;
    return e.space >= SASSDEC_SPACE_GLOBAL && e.space <= SASSDEC_SPACE_GENERIC &&
           e.proxy != SASSDEC_PROXY_CONSTANT;
}

void describe_access(HookedInstruction& i, const Event& e) {
    sassemu_access& a = i.access;
    a.size = sizeof a;
    a.insn = handle(&i);
    a.cache = e.cache_policy();
    a.bytes = e.bytes;
    if (e.is(SASSDEC_KIND_ASYNC)) {
        i.kind = Hooked::copy;
        a.flags = SASSEMU_ACCESS_LDGSTS;
        return predicate_of(i, e);
    }
    i.kind = e.bytes == WidePayload::bytes ? Hooked::wide : Hooked::access;
    a.op = static_cast<uint8_t>(e.access_op());
    a.space = static_cast<uint8_t>(e.access_space());
    a.ordering = e.order;
    a.scope = e.scope;
    a.proxy = e.proxy;
    if (e.sign_extends()) a.flags |= SASSEMU_ACCESS_SIGN_EXTEND;
    if (e.space == SASSDEC_SPACE_CONSTANT) {
        const sassdec_operand& at = *e.operand(e.address);
        const sassdec_operand& to = *e.operand(e.result);
        a.flags |= SASSEMU_ACCESS_IMMEDIATE;
        i.bank = at.bank;
        i.address_offset = at.offset;
        if (at.flags & SASSDEC_HAS_REG) i.address_ureg = at.index;
        if (to.file != SASSDEC_UR) return;
        i.kind = Hooked::uniform_load;
        i.destination = to.index;
        return;
    }
    if (e.action == SASSDEC_ACTION_MATRIX) {
        a.flags = SASSEMU_ACCESS_MATRIX;
        return;
    }
    // ld.cv and ld.volatile are the word of ld.relaxed.sys.
    if (a.op == SASSEMU_LOAD && a.scope == SASSEMU_LEVEL_SYS) a.flags |= SASSEMU_ACCESS_CACHE_CV;
    if (e.updates()) {
        if (a.ordering == SASSEMU_WEAK) a.ordering = SASSEMU_RELAXED;
        a.atomic = e.atomic;
        i.elements = e.elements;
        // ATOMS has no form without a destination.
        const sassdec_operand* result = e.operand(e.result);
        if (!result || result->index == SASSDEC_RZ) a.op = SASSEMU_REDUCE;
    }
    predicate_of(i, e);
}

void describe_fence(HookedInstruction& i, const Event& e) {
    i.kind = Hooked::fence;
    i.fence = shown_fence(e);
    i.fence.insn = handle(&i);
}

void set_address(HookedInstruction& i, const sassdec_operand& at) {
    const bool based = at.flags & SASSDEC_HAS_REG, uniform = based && at.file == SASSDEC_UR;
    if (based && !uniform) i.address_row = at.index;
    if (at.flags & SASSDEC_HAS_UREG) i.address_ureg = at.ureg;
    if (uniform) i.address_ureg = at.index;
    i.wide_address = at.width == 2 || uniform;
    i.address_offset = at.offset;
}

void describe_cache(HookedInstruction& i, const Event& e) {
    i.kind = Hooked::cache;
    sassemu_cache_op& c = i.cache;
    c = shown_cache_operation(e);
    c.insn = handle(&i);
    // Addresses of local memory are not told.
    const sassdec_operand* at = e.operand(e.address);
    if (!at || at->kind != SASSDEC_OP_MEM || e.cache == SASSDEC_CACHE_LOCAL) return;
    c.has_address = 1;
    set_address(i, *at);
}

}  // namespace

void Hooks::describe(HookedInstruction& i, const Event& e) {
    if (shown_as_access(e)) {
        describe_access(i, e);
        uint32_t spaces = SASSEMU_SPACE_BIT(i.access.space);
        if (i.access.space == SASSEMU_GENERIC) spaces = ~0u;
        if (i.kind == Hooked::copy)
            spaces = SASSEMU_SPACE_BIT(SASSEMU_GLOBAL) | SASSEMU_SPACE_BIT(SASSEMU_SHARED);
        if (!((model_spaces_ | observed_spaces_) & spaces) && !i.wanted_accesses)
            i.kind = Hooked::plain;
        return;
    }
    const auto when = [&](sassemu_sync_kind wanted, Hooked kind) {
        if (wants(wanted)) i.kind = kind;
    };
    switch (e.kind) {
        case SASSDEC_KIND_FENCE:
            if (e.action != SASSDEC_ACTION_ERROR &&
                (!on_fence_.empty() || (model_ && model_table_->fence)))
                describe_fence(i, e);
            break;
        case SASSDEC_KIND_CACHE:
            if (e.cache == SASSDEC_CACHE_MBARRIER && e.address != SASSDEC_NO_OPERAND) {
                when(SASSEMU_SYNC_MBARRIER_INVALIDATE, Hooked::mbarrier_invalidate);
                set_address(i, *e.operand(e.address));
            }
            if (e.cache <= SASSDEC_CACHE_LOCAL &&
                (!on_cache_.empty() || (model_ && model_table_->cache)))
                describe_cache(i, e);
            break;
        case SASSDEC_KIND_MBARRIER:
            if (e.action == SASSDEC_ACTION_INIT)
                when(SASSEMU_SYNC_MBARRIER_INIT, Hooked::mbarrier_init);
            if (e.action == SASSDEC_ACTION_TEST)
                when(SASSEMU_SYNC_MBARRIER_TEST, Hooked::mbarrier_test);
            break;
        case SASSDEC_KIND_BARRIER:
            if (e.action == SASSDEC_ACTION_LAUNCH)
                when(SASSEMU_SYNC_GRID_LAUNCH, Hooked::grid_launch);
            if (e.action == SASSDEC_ACTION_WAIT && e.scope == SASSDEC_SCOPE_NONE)
                when(SASSEMU_SYNC_GRID_WAIT, Hooked::grid_wait);
            break;
        case SASSDEC_KIND_ASYNC:
            describe_group(i, e);
            break;
        default:
            break;
    }
}

void Hooks::describe_group(HookedInstruction& i, const Event& e) {
    const bool ldgsts = e.agent == SASSDEC_AGENT_LDGSTS;
    if (e.action == SASSDEC_ACTION_COMMIT && (ldgsts || e.agent == SASSDEC_AGENT_BULK)) {
        i.group = last_group_ = ldgsts ? SASSEMU_GROUP_LDGSTS : SASSEMU_GROUP_BULK;
        if (wants(SASSEMU_SYNC_GROUP_COMMIT)) i.kind = Hooked::group_commit;
    }
    const sassdec_operand* left = e.operand(e.data);
    if (e.action != SASSDEC_ACTION_WAIT || !left || left->kind != SASSDEC_OP_IMM ||
        !wants(SASSEMU_SYNC_GROUP_WAIT))
        return;
    i.kind = Hooked::group_wait;
    i.group_left = static_cast<uint32_t>(left->imm);
    // One instruction waits for groups of either kind: the text tells, else the last commit before
    // it.
    i.group = last_group_;
    const Intent* intent = text_of(i).has_intent ? &text_of(i).intent : nullptr;
    if (intent && intent->kind == IntentKind::async) {
        i.group = intent->to_proxy == Proxy::async ? SASSEMU_GROUP_BULK : SASSEMU_GROUP_LDGSTS;
        i.group_read = intent->opcode.find(".read") != std::string::npos;
    }
}

void Hooks::hook(HookedInstruction& i, const sassdec_insn& in, Op& op, uint64_t& recorded,
                 bool first) {
    const auto bit = [](size_t n) { return uint64_t{1} << n; };
    for (size_t n = 0; n < sessions_.size(); ++n) {
        const PluginSession& s = *sessions_[n];
        if (const auto* r = s.table().semantics;
            r && s.call("overrides", handle(&i), r->overrides, handle(&i)))
            i.wanted_override |= bit(n);
        const auto* o = s.table().observer;
        const bool records = s.slot != PluginSession::no_slot;
        if (!o || !o->select || !(o->before || o->after || records)) continue;
        const uint32_t wanted = s.call("select", handle(&i), o->select, handle(&i));
        if (records && wanted & SASSEMU_RECORD) {
            recorded |= Wanted::record(s.slot);
            if (wanted & SASSEMU_RECORD_SKIPPED) recorded |= Wanted::skipped(s.slot);
            if (wanted & SASSEMU_RECORD_ACCESSES) i.wanted_accesses |= 1u << s.slot;
            if (wanted & SASSEMU_RECORD_VALUES) i.wanted_values |= 1u << s.slot;
            if (wanted & SASSEMU_RECORD_LAST) recorded |= Wanted::last;
        }
        if (wanted & SASSEMU_BEFORE && o->before) i.wanted_before |= bit(n);
        if (wanted & SASSEMU_AFTER && o->after) i.wanted_after |= bit(n);
    }
    i.overridden = i.wanted_override != 0;
    i.before = i.wanted_before != 0;
    i.after = i.wanted_after != 0;
    i.wait = in.control.wait_mask;
    i.scoreboard = i.wait && wants(SASSEMU_SYNC_SCOREBOARD);
    if (op.fn[0]) describe(i, event_of(in));
    if (DrivenMachine* const driver = scoped())
        i.orders = driver->orders(i, event_of(in), first) && op.fn[0];
    if (i.kind == Hooked::plain && !i.overridden && !i.before && !i.after && !i.scoreboard &&
        !i.orders)
        return;
    i.hooks = this;
    i.plain[0] = op.fn[0];
    i.plain[1] = op.fn[1];
    const bool access_only = i.kind == Hooked::access && !i.overridden && !i.before && !i.after &&
                             !i.scoreboard && on_issue_.empty() && on_access_.empty();
    const bool model_only = access_only && i.predicate == 7 && !i.wanted_accesses &&
                            !(scoped_ && i.access.atomic) && !i.orders &&
                            !(i.access.flags & SASSEMU_ACCESS_MATRIX);
    const bool recorded_only = access_only && i.wanted_accesses && !i.wanted_values && !model_;
    if (model_only) {
        i.issue = model_table_->issue;
    }
    op.fn[0] = op.fn[1] = model_only ? run_model_only : recorded_only ? run_recorded_only : run_all;
}

}  // namespace sassemu
