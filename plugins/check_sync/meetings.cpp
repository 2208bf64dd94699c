// SPDX-License-Identifier: Apache-2.0
// See meetings.hpp. Dominators of the reversed graph as Cooper, Harvey and Kennedy find them: by
// going through the nodes, the end first, until nothing changes.
#include "meetings.hpp"

#include <array>

namespace check_sync {

namespace {

constexpr uint32_t none = ~0u;

struct Successors {
    std::array<uint32_t, 2> index{none, none};
    bool ends = false;  // it may leave the function, or go where nobody knows
};

bool is_conditional(const follow::Instruction& i) {
    if (i.guard != follow::no_row) return true;
    for (const sassemu_operand& o : i.operands)
        if (o.kind != SASSEMU_OPERAND_IMMEDIATE &&
            !(follow::is_predicate(o) && o.index == SASSEMU_PT && !o.inverted))
            return true;
    return false;
}

Successors successors(const sassemu_host& host, const follow::Code& code, uint32_t at) {
    Successors s;
    const uint32_t next = at + 1 < code.size() && code[at + 1].insn ? at + 1 : none;
    const follow::Instruction& i = code[at];
    if (i.effect.kind != SASSEMU_EFFECT_CONTROL || i.effect.action == SASSEMU_ACTION_CALL ||
        i.effect.action == SASSEMU_ACTION_ALLOCATE) {
        s.index[0] = next;
        s.ends = next == none;
        return s;
    }
    const bool branches = i.effect.action == SASSEMU_ACTION_BRANCH &&
                          host.insn_opcode(i.insn) == std::string_view("BRA");  // else by a table
    uint32_t target = none;
    if (branches && target_of(host, i, target) && target < code.size() && code[target].insn)
        s.index[0] = target;
    s.ends = s.index[0] == none;
    if (branches ? is_conditional(i) : i.guard != follow::no_row) s.index[1] = next;
    return s;
}

}  // namespace

bool target_of(const sassemu_host& host, const follow::Instruction& i, uint32_t& index) {
    for (const sassemu_operand& o : i.operands) {
        if (o.kind != SASSEMU_OPERAND_IMMEDIATE) continue;
        const uint64_t at = section_of(host, i.insn) + static_cast<uint64_t>(o.value);
        index = static_cast<uint32_t>(at / 16);
        return at % 16 == 0;
    }
    return false;
}

uint32_t Meetings::of(const sassemu_host& host, const follow::Code& code, sassemu_insn from) {
    const auto [known, fresh] = known_.try_emplace(from, nowhere);
    if (!fresh) return known->second;
    // Nodes are numbered as they are found; `end` stands behind all of them.
    std::unordered_map<uint32_t, uint32_t> number;
    std::vector<uint32_t> index;
    std::vector<Successors> to;
    const auto node = [&](uint32_t at) {
        const auto [n, is_new] = number.try_emplace(at, static_cast<uint32_t>(index.size()));
        if (is_new) index.push_back(at);
        return n->second;
    };
    node(static_cast<uint32_t>(host.insn_code_offset(from) / 16));
    for (uint32_t n = 0; n < index.size(); ++n) {
        Successors s = successors(host, code, index[n]);
        for (uint32_t& at : s.index)
            if (at != none) at = node(at);
        to.push_back(s);
    }
    const auto end = static_cast<uint32_t>(index.size());
    std::vector<std::vector<uint32_t>> before(end + 1);
    for (uint32_t n = 0; n < end; ++n) {
        for (const uint32_t at : to[n].index)
            if (at != none) before[at].push_back(n);
        if (to[n].ends) before[end].push_back(n);
    }
    // Those that come to the end, each behind all that follow from it but for loops.
    std::vector<uint32_t> order, rank(end + 1, none);
    std::vector<std::pair<uint32_t, size_t>> open{{end, 0}};
    std::vector<bool> seen(end + 1);
    seen[end] = true;
    while (!open.empty()) {
        auto& [n, k] = open.back();
        if (k < before[n].size()) {
            const uint32_t next = before[n][k++];
            if (!seen[next]) open.push_back({next, 0});
            seen[next] = true;
        } else {
            rank[n] = static_cast<uint32_t>(order.size());
            order.push_back(n);
            open.pop_back();
        }
    }
    std::vector<uint32_t> dominator(end + 1, none);
    dominator[end] = end;
    const auto common = [&](uint32_t a, uint32_t b) {
        while (a != b) (rank[a] < rank[b] ? a : b) = dominator[rank[a] < rank[b] ? a : b];
        return a;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = order.size(); k-- > 0;) {
            const uint32_t n = order[k];
            if (n == end) continue;
            uint32_t now = to[n].ends ? end : none;
            for (const uint32_t at : to[n].index)
                if (at != none && dominator[at] != none) now = now == none ? at : common(now, at);
            changed |= dominator[n] != now;
            dominator[n] = now;
        }
    }
    if (dominator[0] != none && dominator[0] != end) known->second = index[dominator[0]];
    return known->second;
}

}  // namespace check_sync
