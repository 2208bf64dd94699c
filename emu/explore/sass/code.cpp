// SPDX-License-Identifier: Apache-2.0
// See code.hpp.
#include "emu/explore/sass/code.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/explore/ptx/read_test.hpp"
#include "emu/memory/word_order.hpp"
#include "emu/module/line_table.hpp"
#include "sassdec/ids.h"

namespace sassemu::explore {

namespace reg = sass_register;

uint32_t order_of(Ordering o) {
    constexpr uint32_t orders[] = {
        SASSEMU_ORDER_WEAK,    SASSEMU_ORDER_RELAXED, SASSEMU_ORDER_ACQUIRE,  SASSEMU_ORDER_RELEASE,
        SASSEMU_ORDER_ACQ_REL, SASSEMU_ORDER_SC,      SASSEMU_ORDER_VOLATILE, SASSEMU_ORDER_MMIO};
    return orders[static_cast<size_t>(o)];
}

uint32_t scope_of(MemScope s) {
    switch (s) {
        case MemScope::none:
            return SASSEMU_SCOPE_NONE;
        case MemScope::cta:
        case MemScope::sm:
            return SASSEMU_SCOPE_CTA;
        case MemScope::cluster:
            return SASSEMU_SCOPE_CLUSTER;
        case MemScope::vc:
        case MemScope::gpu:
            return SASSEMU_SCOPE_GPU;
        case MemScope::sys:
            return SASSEMU_SCOPE_SYS;
    }
    return SASSEMU_SCOPE_SYS;
}

std::string reg::name(uint32_t index) {
    if (index < predicate) return "R" + std::to_string(index);
    if (index < uniform) return "P" + std::to_string(index - predicate);
    if (index < uniform_predicate) return "UR" + std::to_string(index - uniform);
    if (index < reduced) return "UP" + std::to_string(index - uniform_predicate);
    return index == reduced ? "reduced" : "reduced_of";
}

uint32_t elected(uint32_t index, uint32_t lane, uint32_t exists) {
    const auto leader = static_cast<uint32_t>(std::countr_zero(exists));
    const bool predicate =
        (index >= reg::predicate && index < reg::uniform) || index >= reg::uniform_predicate;
    return predicate ? lane == leader : leader;
}

namespace {

constexpr uint32_t control_groups = SASSDEC_GROUP_BRANCH | SASSDEC_GROUP_CALL |
                                    SASSDEC_GROUP_RETURN | SASSDEC_GROUP_EXIT |
                                    SASSDEC_GROUP_INDIRECT;
constexpr uint32_t access_groups = SASSDEC_GROUP_LOAD | SASSDEC_GROUP_STORE | SASSDEC_GROUP_ATOMIC;

SassInstruction::Kind kind_of(const Event& e) {
    using Kind = SassInstruction::Kind;
    const uint32_t g = e.insn->groups;
    // The acquire of a tensor map names it.
    if (e.is(SASSDEC_KIND_FENCE) ||
        (e.is(SASSDEC_KIND_CACHE) && e.cache != SASSDEC_CACHE_TENSORMAP))
        return Kind::order;
    if (g & control_groups) return g & SASSDEC_GROUP_MOVE ? Kind::plain : Kind::control;
    if (e.is(SASSDEC_KIND_LOAD) && e.space == SASSDEC_SPACE_CONSTANT) return Kind::plain;
    if (g & (SASSDEC_GROUP_ASYNC | SASSDEC_GROUP_BARRIER | SASSDEC_GROUP_CONVERGENCE |
             SASSDEC_GROUP_WARP | SASSDEC_GROUP_TENSOR | SASSDEC_GROUP_TEXTURE))
        return Kind::other;
    if (g & access_groups) return Kind::access;
    return g & SASSDEC_GROUP_MEMORY ? Kind::other : Kind::plain;
}

// A fence in PTX's words.
std::optional<Operation> fence_named(std::string_view text) {
    Test test;
    test.model = "ptx";
    Thread thread;
    auto read = read_statement(text, test, thread);
    if (!read) return std::nullopt;
    return std::move(read->what);
}

op::Fence fence_of(const WordOrder& order) {
    op::Fence fence;
    fence.scope = scope_of(order.scope);
    fence.order = order_of(order.ordering);
    return fence;
}

}  // namespace

SassCode::SassCode(CodeImage& image) : image_(image) {
    const auto& words = image.words();
    code_.resize(words.size() / 16);
    const sassdec_arch arch = sassdec_arch_from_name(image.options().arch.c_str());
    for (uint32_t pc = 0; pc < code_.size(); ++pc) {
        SassInstruction& i = code_[pc];
        uint64_t word[2];
        std::memcpy(word, words.data() + size_t{pc} * 16, 16);
        const uint64_t at = image.section_offset(uint64_t{pc} * 16);
        i.decodes = sassdec_decode(arch, word, at, &i.insn) == SASSDEC_OK;
        if (!i.decodes) continue;
        i.event = event_of(i.insn);
        i.kind = kind_of(i.event);
        i.elects = i.insn.id == SASSDEC_ID_ELECT || i.insn.id == SASSDEC_ID_ELECTUR;
        i.warpgroup = i.event.agent == SASSDEC_AGENT_WGMMA;
        i.tensor = i.event.agent == SASSDEC_AGENT_TCGEN05 || i.event.space == SASSDEC_SPACE_TENSOR;
        i.warp = i.insn.groups & (SASSDEC_GROUP_WARP | SASSDEC_GROUP_TENSOR) && !i.elects &&
                 !i.warpgroup && !i.tensor && i.insn.id != SASSDEC_ID_VOTEU &&
                 !(i.insn.groups & SASSDEC_GROUP_CONVERGENCE);
    }
    read_registers();
    read_intents();
    read_retries();
    set_wanted(std::vector<bool>(registers_.size()));
}

std::string SassCode::place(uint32_t pc) const {
    const uint64_t offset = uint64_t{pc} * 16;
    char hex[24];
    std::snprintf(hex, sizeof hex, "+0x%llx",
                  static_cast<unsigned long long>(image_.section_offset(offset)));
    return image_.function(offset) + hex;
}

bool SassCode::uses_tensor_memory() const {
    return std::ranges::any_of(code_, &SassInstruction::tensor);
}

void SassCode::read_registers() {
    std::vector<bool> used(reg::count);
    const auto each = [](const sassdec_regset& s, auto&& f) {
        for (uint32_t r = 0; r < 255; ++r)
            if (s.r[r / 64] >> r % 64 & 1) f(reg::general + r);
        for (uint32_t p = 0; p < 7; ++p)
            if (s.p >> p & 1) f(reg::predicate + p);
        for (uint32_t r = 0; r < 80; ++r)
            if (s.ur[r / 64] >> r % 64 & 1) f(reg::uniform + r);
        for (uint32_t p = 0; p < 7; ++p)
            if (s.up >> p & 1) f(reg::uniform_predicate + p);
    };
    for (SassInstruction& i : code_) {
        if (!i.decodes) continue;
        sassdec_regset read, written;
        sassdec_registers(&i.insn, &read, &written);
        // The guard counts as read; here it is apart, unless an operand reads it too.
        if (i.insn.guard != 7) {
            i.guard = static_cast<int32_t>(
                (i.insn.guard_uniform ? reg::uniform_predicate : reg::predicate) + i.insn.guard);
            bool again = false;
            for (unsigned o = 0; o < i.insn.operand_count; ++o) {
                const sassdec_operand& x = i.insn.operand[o];
                again |= x.kind == SASSDEC_OP_PRED && x.access & SASSDEC_READ &&
                         x.index == i.insn.guard &&
                         (x.file == SASSDEC_UP) == (i.insn.guard_uniform != 0);
            }
            uint8_t& set = i.insn.guard_uniform ? read.up : read.p;
            if (!again) set = static_cast<uint8_t>(set & ~(1u << i.insn.guard));
            used[static_cast<uint32_t>(i.guard)] = true;
        }
        i.guard_negated = i.insn.guard_neg != 0;
        each(read, [&](uint32_t r) { i.reads.push_back(r), used[r] = true; });
        each(written, [&](uint32_t r) { i.writes.push_back(r), used[r] = true; });
        if (i.event.is(SASSDEC_KIND_BARRIER, SASSDEC_ACTION_RESULT)) {
            i.reads.insert(i.reads.end(), {reg::reduced, reg::reduced_of});
            used[reg::reduced] = used[reg::reduced_of] = true;
        } else if (i.event.is(SASSDEC_KIND_BARRIER) && i.event.scope == SASSDEC_SCOPE_CTA) {
            i.writes.insert(i.writes.end(), {reg::reduced, reg::reduced_of});
            used[reg::reduced] = used[reg::reduced_of] = true;
        }
        i.data.resize(i.reads.size());
        const bool late =
            i.warpgroup || i.tensor ||
            (i.event.is(SASSDEC_KIND_ASYNC) && i.event.space == SASSDEC_SPACE_CLUSTER);
        if (i.kind != SassInstruction::Kind::access && !late) continue;
        // Register operands that are no part of an address.
        for (size_t k = 0; k < i.reads.size(); ++k) {
            if (i.reads[k] >= reg::predicate) continue;
            bool in_address = false, in_data = false;
            for (unsigned o = 0; o < i.insn.operand_count; ++o) {
                const sassdec_operand& x = i.insn.operand[o];
                if (x.file != SASSDEC_R || x.index == SASSDEC_RZ) continue;
                const bool here = i.reads[k] >= x.index &&
                                  i.reads[k] < uint32_t{x.index} + std::max<uint32_t>(x.width, 1);
                if (x.kind == SASSDEC_OP_MEM && x.flags & SASSDEC_HAS_REG) in_address |= here;
                if (x.kind == SASSDEC_OP_REG && x.access & SASSDEC_READ) in_data |= here;
            }
            i.data[k] = in_data && !in_address;
        }
    }
    numbers_.assign(reg::count, -1);
    for (uint32_t r = 0; r < reg::count; ++r)
        if (used[r]) {
            numbers_[r] = static_cast<int32_t>(registers_.size());
            registers_.push_back(r);
        }
    const auto renumber = [&](uint32_t r) { return static_cast<uint32_t>(numbers_[r]); };
    for (SassInstruction& i : code_) {
        std::ranges::transform(i.reads, i.reads.begin(), renumber);
        std::ranges::transform(i.writes, i.writes.begin(), renumber);
        if (i.guard >= 0) i.guard = numbers_[static_cast<uint32_t>(i.guard)];
    }
}

// What a fence, an invalidation or the like orders when nothing is known but the word
// (docs/litmus.md, section 9).
void SassCode::order_of_words(uint32_t pc) {
    SassInstruction& i = code_[pc];
    const Event& e = i.event;
    if (e.is(SASSDEC_KIND_FENCE, SASSDEC_ACTION_PLAIN) &&
        (e.scope == SASSDEC_SCOPE_VC || e.order == SASSDEC_ORDER_MMIO)) {
        i.refused = "is not modelled: use the model 'caches' for it";
        return;
    }
    uint32_t next = pc + 1;
    while (next < count() && code_[next].decodes && stands_in_fence(code_[next].event)) ++next;
    const bool invalidates = next < count() && code_[next].decodes &&
                             code_[next].event.acts_on_data() &&
                             code_[next].event.action == SASSDEC_ACTION_INVALIDATE_ALL;
    const auto order = order_of_word(e, invalidates);
    if (!order) return;
    if (order->to == Proxy::async) {
        op::ProxyFence fence;
        fence.to = SASSEMU_PROXY_ASYNC;
        fence.both_ways = 1;
        i.orders.emplace_back(fence);
        return;
    }
    i.orders.emplace_back(fence_of(*order));
}

void SassCode::read_intents() {
    using Kind = SassInstruction::Kind;
    const Module* module = image_.module();
    has_ptx_ = module && module->lines().has_ptx();
    uint32_t last_fence = 0;  // line of the fence whose words are being read
    for (uint32_t pc = 0; pc < code_.size(); ++pc) {
        SassInstruction& i = code_[pc];
        if (!i.decodes) continue;
        uint32_t line = 0;
        if (has_ptx_)
            if (const auto info = module->lines().find(uint64_t{pc} * 16);
                info && info->ptx_line && !info->ptx_text.empty())
                if (auto intent = read_intent(info->ptx_text)) {
                    i.intent = std::move(*intent);
                    i.ptx_known = true;
                    line = info->ptx_line;
                }
        // What the PTX itself asks of the warp is no choice of the compiler's.
        const auto asks = [&](std::string_view opcode) {
            return i.intent.opcode.starts_with(opcode);
        };
        if (i.ptx_known && i.insn.groups & SASSDEC_GROUP_WARP && !i.elects &&
            !(i.insn.groups & SASSDEC_GROUP_CONVERGENCE))
            i.warp = asks("vote") || asks("shfl") || asks("match") || asks("redux") ||
                     asks("activemask");
        const bool fence = i.ptx_known && (i.intent.kind == IntentKind::fence ||
                                           i.intent.kind == IntentKind::proxy_fence);
        // A compiler elects each thread that issues a copy in turn; to allocate, one of the warp.
        if (i.ptx_known && i.elects)
            i.elects = asks("elect") || asks("tcgen05.alloc") || asks("tcgen05.relinquish");
        i.once = i.ptx_known && asks("tcgen05.dealloc") && i.kind != Kind::plain;
        i.meets = i.ptx_known && i.insn.id == SASSDEC_ID_NOP && asks("bar.warp.sync");
        if (i.meets) i.kind = Kind::other;
        if (const bool tensor = asks("tcgen05.fence") || asks("tcgen05.wait");
            i.ptx_known && tensor && (i.kind == Kind::order || i.insn.id == SASSDEC_ID_NOP)) {
            if (auto one = fence_named(i.intent.opcode); one && line != last_fence)
                i.orders.push_back(std::move(*one));
            last_fence = line;
            continue;
        }
        // A fence may leave nothing but a NOP, or several words: it stands at the first of them.
        if (fence && (i.kind == Kind::order || i.insn.id == SASSDEC_ID_NOP)) {
            if (line != last_fence) {
                if (auto one = fence_named(i.intent.opcode))
                    i.orders.push_back(std::move(*one));
                else
                    order_of_words(pc);
            }
            last_fence = line;
            continue;
        }
        if (!i.ptx_known && i.insn.id == SASSDEC_ID_NOP)
            i.orders.emplace_back(fence_of(order_of_nop));
        if (i.kind != Kind::order) {
            if (i.kind != Kind::plain) last_fence = 0;
            continue;
        }
        // The words around an access are part of what its own order says.
        if (i.ptx_known && i.intent.kind != IntentKind::none) continue;
        order_of_words(pc);
    }
}

// Where the thread goes from here when the predicate has this value.
SassCode::Ahead SassCode::ahead(uint32_t pc, int32_t predicate, bool value) const {
    constexpr int most_steps = 16;
    Ahead out{pc, {}};
    for (int steps = 0; steps < most_steps && out.pc < count(); ++steps) {
        const SassInstruction& i = at(out.pc);
        if (!i.decodes || (i.guard >= 0 && i.guard != predicate)) break;
        uint64_t target = 0;
        const bool off = i.guard >= 0 && value == i.guard_negated;
        if (off || i.insn.id == SASSDEC_ID_NOP || i.insn.id == SASSDEC_ID_YIELD) {
            if (!off && (i.meets || !i.orders.empty())) break;
            ++out.pc;
        } else if (i.kind == SassInstruction::Kind::order) {
            out.ordered.push_back(text(out.pc++));
        } else if (i.insn.id == SASSDEC_ID_BRA && i.reads.empty() &&
                   sassdec_branch_target(&i.insn, &target)) {
            out.pc += static_cast<uint32_t>(
                static_cast<int64_t>(target - image_.section_offset(uint64_t{out.pc} * 16)) / 16);
        } else {
            break;
        }
    }
    return out;
}

// A wait that failed is often tried again in a loop of its own, behind the code. If nothing else is
// done there, and success leads on as at the first try, then a failed try is nothing but time. The
// line table gives a first try the PTX line before it: what the PTX meant is known of the loop.
void SassCode::read_retries() {
    for (uint32_t pc = 0; pc < count(); ++pc) {
        SassInstruction& first = code_[pc];
        if (!first.decodes || !first.event.is(SASSDEC_KIND_MBARRIER, SASSDEC_ACTION_TEST) ||
            first.writes.size() != 1)
            continue;
        const auto done = static_cast<int32_t>(first.writes[0]);
        const Ahead again = ahead(pc + 1, done, false);
        if (again.pc >= count() || !again.ordered.empty() || text(again.pc) != text(pc)) continue;
        const Ahead loop = ahead(again.pc + 1, done, false);
        const Ahead on = ahead(pc + 1, done, true), later = ahead(again.pc + 1, done, true);
        if (loop.pc != again.pc || !loop.ordered.empty() || on.pc != later.pc ||
            on.ordered != later.ordered)
            continue;
        first.insists = true;
        const SassInstruction& second = code_[again.pc];
        if (!second.ptx_known || second.intent.kind != IntentKind::mbarrier) continue;
        first.intent = Intent(second.intent);
        first.ptx_known = true;
    }
}

void SassCode::set_wanted(const std::vector<bool>& wanted) {
    using Kind = SassInstruction::Kind;
    const size_t n = code_.size(), regs = registers_.size();
    const std::vector<bool> all(regs, true);
    live_.assign(n + 1, std::vector<bool>(regs));
    live_[n] = all;
    heads_.assign(n + 1, false);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t pc = n; pc-- > 0;) {
            const SassInstruction& i = code_[pc];
            if (!i.decodes) continue;
            std::vector<bool> live = live_[pc + 1];
            const bool sure = i.guard < 0;
            uint64_t target = 0;
            const auto join = [&](const std::vector<bool>& other) {
                for (size_t r = 0; r < regs; ++r) live[r] = live[r] || other[r];
            };
            if (i.insn.groups & SASSDEC_GROUP_EXIT) {
                if (sure) live.assign(regs, false);
                join(wanted);
            } else if (i.kind == Kind::control) {
                const bool direct = sassdec_branch_target(&i.insn, &target) != 0 &&
                                    !(i.insn.groups & SASSDEC_GROUP_CALL);
                if (direct) {
                    const auto by =
                        static_cast<int64_t>(target - image_.section_offset(pc * 16)) / 16;
                    const size_t to =
                        pc + static_cast<size_t>(by);  // wraps where it leads out of the code
                    if (to <= n) {
                        join(live_[to]);
                        if (to <= pc) heads_[to] = true;
                    }
                } else {
                    live = all;
                }
            }
            if (sure)
                for (const uint32_t r : i.writes) live[r] = false;
            for (const uint32_t r : i.reads) live[r] = true;
            if (i.guard >= 0) live[static_cast<size_t>(i.guard)] = true;
            if (live != live_[pc]) live_[pc] = std::move(live), changed = true;
        }
    }
}

}  // namespace sassemu::explore
