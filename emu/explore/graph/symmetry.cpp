// SPDX-License-Identifier: Apache-2.0
// See symmetry.hpp.
#include "emu/explore/graph/symmetry.hpp"

#include <algorithm>
#include <numeric>

namespace sassemu::explore {
namespace {

constexpr uint64_t most_copies = 40'320;  // of eight threads

// The first write that a thread makes whatever its reads take; null: there may be none.
const op::Access* first_write(const Thread& t) {
    for (const Statement& i : t.code) {
        if (i.guard >= 0) return nullptr;
        if (const auto* store = std::get_if<op::Store>(&i.what)) return store;
        if (const auto* atomic = std::get_if<op::Atomic>(&i.what))
            return atomic->by.how == AtomicOp::cas ? nullptr : atomic;
        if (!is_any<op::Move, op::Compute, op::Load, op::Fence>(i.what)) return nullptr;
    }
    return nullptr;
}

}  // namespace

Symmetry::Symmetry(const Test& test) : test_(test) {
    if (test.sass || test.liveness()) return;
    for (const Thread& t : test.threads)
        for (const Statement& i : t.code)
            if (is_any<op::Launch, op::Join>(i.what)) return;
    std::vector<bool> taken(test.threads.size());
    for (uint32_t a = 0; a < test.threads.size(); ++a) {
        if (taken[a]) continue;
        std::vector<uint32_t> same{a};
        uint64_t copies = copies_;
        for (uint32_t b = a + 1; b < test.threads.size(); ++b) {
            if (taken[b] || !equal(test.threads[a], test.threads[b])) continue;
            if (copies * (same.size() + 1) > most_copies) break;
            same.push_back(b);
            copies *= same.size();
            taken[b] = true;
        }
        if (same.size() == 1) continue;
        copies_ = copies;
        classes_.push_back(std::move(same));
    }
}

// Whether the thread has its CTA and cluster for itself, and nothing lies there.
bool Symmetry::alone(const Thread& t) const {
    return std::ranges::count(test_.threads, t.cta, &Thread::cta) == 1 &&
           std::ranges::count(test_.threads, t.cluster, &Thread::cluster) == 1 &&
           std::ranges::none_of(test_.locations, [&](const Location& l) {
               return l.space != SASSEMU_SPACE_GLOBAL && (l.cta == t.cta || l.cluster == t.cluster);
           });
}

// Whether their first writes are morally strong.
bool Symmetry::can_be_ordered(const Thread& a, const Thread& b) const {
    const op::Access* w = first_write(a);
    if (!w || w->order == SASSEMU_ORDER_WEAK) return false;
    return w->scope == SASSEMU_SCOPE_SYS || w->scope == SASSEMU_SCOPE_GPU ||
           (w->scope == SASSEMU_SCOPE_CLUSTER && a.cluster == b.cluster) ||
           (w->scope == SASSEMU_SCOPE_CTA && a.cta == b.cta);
}

bool Symmetry::equal(const Thread& a, const Thread& b) const {
    const bool placed = (a.cta == b.cta && a.cluster == b.cluster) || (alone(a) && alone(b));
    if (!placed || a.kind != ThreadKind::thread || b.kind != ThreadKind::thread || a.gpu != b.gpu ||
        a.lanes != b.lanes || !a.starts || !b.starts)
        return false;
    const size_t registers = std::max(a.initial.size(), b.initial.size());
    const auto initial = [](const Thread& t, size_t r) {
        return r < t.initial.size() ? t.initial[r] : 0;
    };
    for (size_t r = 0; r < registers; ++r)
        if (initial(a, r) != initial(b, r)) return false;
    return std::ranges::equal(a.code, b.code,
                              [](const Statement& x, const Statement& y) {
                                  return x.text == y.text && x.guard == y.guard &&
                                         x.guard_inverted == y.guard_inverted;
                              }) &&
           std::ranges::equal(a.registers, b.registers) && can_be_ordered(a, b);
}

void Symmetry::break_in(State& s) const {
    for (const auto& same : classes_) {
        int32_t before = -1;
        for (const uint32_t t : same)
            for (uint32_t e = 0; e < s.events.size(); ++e) {
                const SassemuEvent& x = s.events[e].e;
                if (!(x.kind & SASSEMU_EVENT_WRITE) || x.thread != static_cast<int32_t>(t))
                    continue;
                if (before >= 0) s.chosen.push_back({static_cast<uint32_t>(before), e});
                before = static_cast<int32_t>(e);
                break;
            }
    }
}

std::vector<const Condition*> Symmetry::asked(const std::vector<const Condition*>& leaves) {
    std::vector<const Condition*> out = leaves;
    for (const Condition* c : leaves) {
        std::vector<size_t>& of = of_thread_.emplace_back();
        whose_.push_back(c->thread);
        if (c->kind != Condition::Kind::reg) continue;
        const auto same = std::ranges::find_if(classes_, [&](const auto& one) {
            return std::ranges::find(one, c->thread) != one.end();
        });
        if (same == classes_.end()) continue;
        shown_ = true;
        of.resize(test_.threads.size());
        for (const uint32_t t : *same) {
            const auto known = std::ranges::find_if(out, [&](const Condition* other) {
                return other->kind == Condition::Kind::reg && other->thread == t &&
                       other->reg == c->reg;
            });
            of[t] = static_cast<size_t>(known - out.begin());
            if (known != out.end()) continue;
            more_.push_back(*c);
            more_.back().thread = t;
            out.push_back(&more_.back());
        }
    }
    return out;
}

void Symmetry::each_copy(const std::vector<uint64_t>& values, const Show& show) const {
    std::vector<uint32_t> order(test_.threads.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto out = [&](uint64_t count) {
        std::vector<uint64_t> copy(of_thread_.size());
        for (size_t i = 0; i < copy.size(); ++i)
            copy[i] = of_thread_[i].empty() ? values[i] : values[of_thread_[i][order[whose_[i]]]];
        show(std::move(copy), count, order);
    };
    if (!shown_) return out(copies_);
    const auto permute = [&](auto&& self, size_t k) -> void {
        if (k == classes_.size()) return out(1);
        std::vector<uint32_t> parts = classes_[k];
        do {
            for (size_t i = 0; i < parts.size(); ++i) order[classes_[k][i]] = parts[i];
            self(self, k + 1);
        } while (std::ranges::next_permutation(parts).found);
    };
    permute(permute, 0);
}

State Symmetry::renamed(const State& s, const std::vector<uint32_t>& order) const {
    State out = s;
    for (uint32_t t = 0; t < order.size(); ++t) {  // none where it is its own
        if (order[t] == t) continue;
        out.threads[t] = s.threads[order[t]];
        for (size_t e = 0; e < s.events.size(); ++e) {
            if (s.events[e].e.thread != static_cast<int32_t>(order[t])) continue;
            SassemuEvent& x = out.events[e].e;
            x.thread = static_cast<int32_t>(t);
            x.cta = test_.threads[t].cta;
            x.cluster = test_.threads[t].cluster;
        }
    }
    return out;
}

}  // namespace sassemu::explore
