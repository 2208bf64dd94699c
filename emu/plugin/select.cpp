// SPDX-License-Identifier: Apache-2.0
// Which operations are hooked, and the description of each that plugins are shown: asked once per
// instruction, when its section is lowered. What happens when one runs is in handlers.cpp.
#include <string_view>
#include <type_traits>

#include "emu/memory/port.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/program/code_image.hpp"
#include "sassdec/ids.h"
#include "sassdec/visit.hpp"

namespace sassemu {

namespace {

namespace typed = sassdec::typed;

// The numbers of port.hpp are those of the ABI.
static_assert(int(AccessOp::reduce) == SASSEMU_REDUCE &&
              int(AccessSpace::surface) == SASSEMU_SURFACE &&
              int(Proxy::host) == SASSEMU_VIA_HOST && int(Ordering::mmio) == SASSEMU_MMIO &&
              int(MemScope::sys) == SASSEMU_LEVEL_SYS &&
              int(AtomicOp::safe_add) == SASSEMU_ATOMIC_SAFE_ADD);

// The operands and modifiers that are looked at here, of whatever instruction has them.
struct Parts {
    typed::Pred pa;
    typed::Mem addr;
    typed::CctlOp op{};
    uint8_t cache = 0;
    typed::FenceView view{};
    uint64_t count = 0;
    int size = -1;            // MemSize
    uint32_t data_words = 1;  // of an atomic's operand
    typed::Src constant;
    uint8_t destination = 255;  // uniform register
};
template <class T, class... Any>
concept OneOf = (std::is_same_v<T, Any> || ...);

Parts parts_of(const sassdec_insn& in) {
    Parts p;
    typed::visit(in, [&]<class T>(const T& t) {
        if constexpr (OneOf<T, typed::Ldg, typed::Ldgsts>) p.pa = t.pa;
        if constexpr (OneOf<T, typed::Cctl, typed::SyncsCctlAddr>) p.addr = t.addr;
        if constexpr (OneOf<T, typed::Cctl, typed::CctlAll, typed::Cctll, typed::CctllAll>)
            p.op = t.op;
        if constexpr (OneOf<T, typed::Cctl, typed::CctlAll>)
            p.cache = static_cast<uint8_t>(t.cache);
        if constexpr (OneOf<T, typed::Fence>) p.view = t.space;
        if constexpr (OneOf<T, typed::DepbarLe>) p.count = t.count.imm;
        if constexpr (OneOf<T, typed::Ldg, typed::Stg, typed::Ld, typed::St, typed::Lds, typed::Sts,
                            typed::Ldl, typed::Stl, typed::Ldc, typed::Ldgsts>)
            p.size = static_cast<int>(t.size);
        if constexpr (requires { t.data.width; }) p.data_words = t.data.width;
        if constexpr (OneOf<T, typed::Ldc, typed::Uldc, typed::Ldcu>) p.constant = t.addr;
        if constexpr (OneOf<T, typed::Uldc, typed::Ldcu>) {
            p.destination = t.d.index;
            // ULDC numbers its sizes as the others do, as far as it has them.
            static_assert(int(typed::UldcSize::B64) == int(typed::MemSize::B64) &&
                          int(typed::UldcSize::U8) == int(typed::MemSize::U8));
            p.size = static_cast<int>(t.size);
        }
    });
    return p;
}

uint8_t bytes_of(const Parts& p) {
    using S = typed::MemSize;
    if (p.size < 0) return static_cast<uint8_t>(p.data_words * 4);
    switch (static_cast<S>(p.size)) {
        case S::U8:
        case S::S8:
            return 1;
        case S::U16:
        case S::S16:
            return 2;
        case S::B32:
            return 4;
        case S::B64:
            return 8;
        case S::B128:
        case S::U128:
            return 16;
    }
    return 4;
}
bool sign_extends(const Parts& p) {
    return p.size == static_cast<int>(typed::MemSize::S8) ||
           p.size == static_cast<int>(typed::MemSize::S16);
}

bool is_atomic(uint16_t id) {
    switch (id) {
        case SASSDEC_ID_ATOMG:
        case SASSDEC_ID_ATOM:
        case SASSDEC_ID_ATOMGCAS:
        case SASSDEC_ID_ATOMCAS:
        case SASSDEC_ID_RED:
        case SASSDEC_ID_REDG:
        case SASSDEC_ID_ATOMS:
        case SASSDEC_ID_ATOMSPOPCINC:
        case SASSDEC_ID_ATOMSCAS:
            return true;
        default:
            return false;
    }
}
bool is_matrix(uint16_t id) { return id == SASSDEC_ID_LDSM || id == SASSDEC_ID_STSM; }
bool is_plain_access(uint16_t id) {
    switch (id) {
        case SASSDEC_ID_LDG:
        case SASSDEC_ID_STG:
        case SASSDEC_ID_LD:
        case SASSDEC_ID_ST:
        case SASSDEC_ID_LDS:
        case SASSDEC_ID_STS:
        case SASSDEC_ID_LDL:
        case SASSDEC_ID_STL:
            return true;
        default:
            return false;
    }
}
bool is_constant_load(uint16_t id) {
    return id == SASSDEC_ID_LDC || id == SASSDEC_ID_ULDC || id == SASSDEC_ID_LDCU;
}

// The eviction policy and the like: the raw values of those modifiers, as one number.
uint8_t cache_policy(const sassdec_insn& in) {
    for (unsigned i = 0; i < in.field_count; ++i) {
        const char* name = sassdec_field_name(&in, i);
        if (name && std::string_view(name) == "evict") return static_cast<uint8_t>(in.field[i]);
    }
    return 0;
}

// The guarding predicate operand of LDG and LDGSTS.
void predicate_of(Instruction& i, const typed::Pred& p) {
    i.predicate = p.index | uint32_t{p.neg} << 8;
}

void describe_access(Instruction& i, const sassdec_insn& in, const Op& op) {
    sassemu_access& a = i.access;
    a.size = sizeof a;
    a.insn = handle(&i);
    a.cache = cache_policy(in);
    const uint16_t id = in.id;
    const Parts parts = parts_of(in);
    if (is_constant_load(id)) {
        i.kind = id == SASSDEC_ID_LDC ? Hooked::access : Hooked::uniform_load;
        a.op = SASSEMU_LOAD;
        a.space = SASSEMU_CONSTANT;
        a.proxy = SASSEMU_VIA_CONSTANT;
        a.bytes = bytes_of(parts);
        a.flags = SASSEMU_ACCESS_IMMEDIATE;
        if (sign_extends(parts)) a.flags |= SASSEMU_ACCESS_SIGN_EXTEND;
        i.bank = parts.constant.bank;
        i.address_offset = parts.constant.offset;
        if (parts.constant.has_base) i.address_ureg = parts.constant.index;
        i.destination = parts.destination;
        return;
    }
    if (id == SASSDEC_ID_LDGSTS) {
        i.kind = Hooked::copy;
        a.flags = SASSEMU_ACCESS_LDGSTS;
        a.bytes = bytes_of(parts);
        predicate_of(i, parts.pa);
        return;
    }
    i.kind = Hooked::access;
    a.op = op.k[1] & 15;
    a.space = op.k[1] >> 4;
    a.ordering = op.k[2] & 7;
    a.scope = op.k[2] >> 3 & 7;
    a.proxy = op.k[2] >> 7 ? SASSEMU_VIA_TEXTURE : SASSEMU_VIA_GENERIC;
    if (is_matrix(id)) {
        a.bytes = 16;
        a.flags = SASSEMU_ACCESS_MATRIX;
        return;
    }
    a.bytes = bytes_of(parts);
    if (sign_extends(parts)) a.flags |= SASSEMU_ACCESS_SIGN_EXTEND;
    // ld.cv and ld.volatile are the word of ld.relaxed.sys.
    if (a.op == SASSEMU_LOAD && a.scope == SASSEMU_LEVEL_SYS) a.flags |= SASSEMU_ACCESS_CACHE_CV;
    if (is_atomic(id)) {
        if (a.ordering == SASSEMU_WEAK) a.ordering = SASSEMU_RELAXED;
        a.atomic = op.m[2] & 255;
        if (a.op == SASSEMU_ATOMIC && op.d == sink_row)
            a.op = SASSEMU_REDUCE;  // ATOMS has no form without a destination
    }
    if (id == SASSDEC_ID_LDG) predicate_of(i, parts.pa);
}

void describe_fence(Instruction& i, const sassdec_insn& in, const Op& op) {
    i.kind = Hooked::fence;
    sassemu_fence& f = i.fence;
    f.size = sizeof f;
    f.insn = handle(&i);
    f.ordering = op.k[0];
    f.scope = op.k[1];
    f.invalidate_data = op.k[2] & 1;
    f.invalidate_texture = op.k[2] >> 1 & 1;
    if (in.id == SASSDEC_ID_MEMBARASYNC) f.waits_for_async = 1;
    if (in.id != SASSDEC_ID_FENCE) return;
    // FENCE.VIEW.ASYNC.{S,G,T}: between the generic and the asynchronous proxy, for objects in one
    // space.
    f.from_proxy = SASSEMU_VIA_GENERIC;
    f.to_proxy = SASSEMU_VIA_ASYNC;
    f.both_ways = 1;
    switch (parts_of(in).view) {
        case typed::FenceView::S:
            f.spaces = SASSEMU_SPACE_BIT(SASSEMU_SHARED);
            break;
        case typed::FenceView::G:
            f.spaces = SASSEMU_SPACE_BIT(SASSEMU_GLOBAL);
            break;
        case typed::FenceView::T:
            f.spaces = SASSEMU_SPACE_BIT(SASSEMU_TENSOR_MEMORY);
            break;
    }
}

uint8_t action_of(typed::CctlOp op) {
    using O = typed::CctlOp;
    switch (op) {
        case O::IV:
            return SASSEMU_CACHE_INVALIDATE;
        case O::IVALL:
            return SASSEMU_CACHE_INVALIDATE_ALL;
        case O::IVALLP:
            return SASSEMU_CACHE_INVALIDATE_ALL_PRIVATE;
        case O::WB:
            return SASSEMU_CACHE_WRITE_BACK;
        case O::WBALL:
        case O::WBALLP:
            return SASSEMU_CACHE_WRITE_BACK_ALL;
        case O::RS:
            return SASSEMU_CACHE_RESET;
        case O::PF1:
        case O::PF2:
            return SASSEMU_CACHE_PREFETCH;
        default:
            return SASSEMU_CACHE_OTHER;
    }
}

void set_address(Instruction& i, const typed::Mem& m) {
    i.cache.has_address = 1;
    if (m.has_base && !m.base_uniform) i.address_row = m.base;
    if (m.has_ureg) i.address_ureg = m.ureg;
    if (m.has_base && m.base_uniform) i.address_ureg = m.base;
    i.wide_address = m.base_width == 2 || (m.has_base && m.base_uniform);
    i.address_offset = m.offset;
}

void describe_cache(Instruction& i, const sassdec_insn& in) {
    i.kind = Hooked::cache;
    sassemu_cache_op& c = i.cache;
    c.size = sizeof c;
    c.insn = handle(&i);
    const Parts parts = parts_of(in);
    switch (in.id) {
        case SASSDEC_ID_CCTL:
            set_address(i, parts.addr);
            [[fallthrough]];
        case SASSDEC_ID_CCTLALL:
            c.cache = parts.cache;  // D, U, C, I in the ABI's order
            c.action = action_of(parts.op);
            break;
        case SASSDEC_ID_CCTLL:
        case SASSDEC_ID_CCTLLALL:
            c.cache = SASSEMU_CACHE_LOCAL;
            c.action = action_of(parts.op);
            break;
        case SASSDEC_ID_CCTLTIVALL:
            c.cache = SASSEMU_CACHE_TEXTURE;
            c.action = SASSEMU_CACHE_INVALIDATE_ALL;
            break;
        default:  // CCTLT by header or address: what it reaches is not known, so everything
            c.cache = SASSEMU_CACHE_TEXTURE;
            c.action = SASSEMU_CACHE_INVALIDATE_ALL;
    }
}

}  // namespace

void Hooks::hook(Instruction& i, const sassdec_insn& in, Op& op) {
    const auto bit = [](size_t n) { return uint64_t{1} << n; };
    for (size_t n = 0; n < sessions_.size(); ++n) {
        const PluginSession& s = *sessions_[n];
        if (const auto* r = s.table().semantics; r && r->overrides(s.self, handle(&i)))
            i.wanted_override |= bit(n);
        const auto* o = s.table().observer;
        if (!o || !o->select || !(o->before || o->after)) continue;
        const uint32_t wanted = o->select(s.self, handle(&i));
        if (wanted & SASSEMU_BEFORE && o->before) i.wanted_before |= bit(n);
        if (wanted & SASSEMU_AFTER && o->after) i.wanted_after |= bit(n);
    }
    i.overridden = i.wanted_override != 0;
    i.before = i.wanted_before != 0;
    i.after = i.wanted_after != 0;
    i.wait = in.control.wait_mask;
    i.scoreboard = i.wait && wants(SASSEMU_SYNC_SCOREBOARD);
    const uint16_t id = in.id;
    const bool runs = op.fn[0] != nullptr;
    if (runs && (is_plain_access(id) || is_atomic(id) || is_matrix(id) || is_constant_load(id) ||
                 id == SASSDEC_ID_LDGSTS)) {
        describe_access(i, in, op);
        uint32_t spaces = SASSEMU_SPACE_BIT(i.access.space);
        if (i.access.space == SASSEMU_GENERIC) spaces = ~0u;
        if (i.kind == Hooked::copy)
            spaces = SASSEMU_SPACE_BIT(SASSEMU_GLOBAL) | SASSEMU_SPACE_BIT(SASSEMU_SHARED);
        if (!((model_spaces_ | observed_spaces_) & spaces)) i.kind = Hooked::plain;
    }
    switch (id) {
        case SASSDEC_ID_MEMBAR:
        case SASSDEC_ID_MEMBARASYNC:
        case SASSDEC_ID_FENCE:
            if (!on_fence_.empty() || (model_ && model_table_->fence)) describe_fence(i, in, op);
            break;
        case SASSDEC_ID_CCTL:
        case SASSDEC_ID_CCTLALL:
        case SASSDEC_ID_CCTLL:
        case SASSDEC_ID_CCTLLALL:
        case SASSDEC_ID_CCTLTIVALL:
        case SASSDEC_ID_CCTLT:
            if (!on_cache_.empty() || (model_ && model_table_->cache)) describe_cache(i, in);
            break;
        case SASSDEC_ID_SYNCSEXCH:
            if (wants(SASSEMU_SYNC_MBARRIER_INIT)) i.kind = Hooked::mbarrier_init;
            break;
        case SASSDEC_ID_SYNCSPHASECHK:
            if (wants(SASSEMU_SYNC_MBARRIER_TEST)) i.kind = Hooked::mbarrier_test;
            break;
        case SASSDEC_ID_SYNCSCCTLADDR: {
            if (!wants(SASSEMU_SYNC_MBARRIER_INVALIDATE)) break;
            i.kind = Hooked::mbarrier_invalidate;
            set_address(i, parts_of(in).addr);
            break;
        }
        case SASSDEC_ID_LDGDEPBAR:
        case SASSDEC_ID_UTMACMDFLUSH:
            i.group = id == SASSDEC_ID_LDGDEPBAR ? SASSEMU_GROUP_LDGSTS : SASSEMU_GROUP_BULK;
            last_group_ = i.group;
            if (wants(SASSEMU_SYNC_GROUP_COMMIT)) i.kind = Hooked::group_commit;
            break;
        case SASSDEC_ID_DEPBARLE: {
            if (!wants(SASSEMU_SYNC_GROUP_WAIT)) break;
            i.kind = Hooked::group_wait;
            i.group_left = static_cast<uint32_t>(parts_of(in).count);
            // One instruction waits for groups of either kind: the text tells, else the last commit
            // before it.
            i.group = last_group_;
            const Intent* intent = text_of(i).has_intent ? &text_of(i).intent : nullptr;
            if (intent && intent->kind == IntentKind::async) {
                i.group =
                    intent->to_proxy == Proxy::async ? SASSEMU_GROUP_BULK : SASSEMU_GROUP_LDGSTS;
                i.group_read = intent->opcode.find(".read") != std::string::npos;
            }
            break;
        }
        case SASSDEC_ID_PREEXIT:
            if (wants(SASSEMU_SYNC_GRID_LAUNCH)) i.kind = Hooked::grid_launch;
            break;
        case SASSDEC_ID_ACQBULK:
            if (wants(SASSEMU_SYNC_GRID_WAIT)) i.kind = Hooked::grid_wait;
            break;
        default:
            break;
    }
    if (i.kind == Hooked::plain && !i.overridden && !i.before && !i.after && !i.scoreboard) return;
    i.hooks = this;
    i.plain[0] = op.fn[0];
    i.plain[1] = op.fn[1];
    const bool model_only = i.kind == Hooked::access && !i.overridden && !i.before && !i.after &&
                            !i.scoreboard && on_issue_.empty() && on_access_.empty() &&
                            i.predicate == 7 && !(i.access.flags & SASSEMU_ACCESS_MATRIX);
    if (model_only) {
        i.issue = model_table_->issue;
        i.model = model_self_;
    }
    op.fn[0] = op.fn[1] = model_only ? run_model_only : run_all;
}

}  // namespace sassemu
