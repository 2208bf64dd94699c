// SPDX-License-Identifier: Apache-2.0
// What a thread knows to have happened: a vector clock, kept as a short sorted list. A component is
// what has a clock of its own: the threads of a warp (a lane each), the copies of a warp, an
// mbarrier object. What belongs here: the list, joined and asked. What does not: what the clocks
// mean.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace check_sync {

using Component = uint32_t;

// The accesses of these lanes of `who`, up to and with `epoch`.
struct Entry {
    Component who;
    uint32_t lanes;
    uint32_t epoch;
    bool operator==(const Entry&) const = default;
};

// Shared and never changed, so that a thousand threads that know the same have it once. Not for
// several host threads.
class View {
  public:
    View() = default;
    explicit View(std::vector<Entry> entries)
        : rep_(entries.empty() ? nullptr : new Rep{1, std::move(entries)}) {}
    View(const View& other) : rep_(other.rep_) {
        if (rep_) ++rep_->uses;
    }
    View(View&& other) noexcept : rep_(std::exchange(other.rep_, nullptr)) {}
    View& operator=(View other) noexcept {
        std::swap(rep_, other.rep_);
        return *this;
    }
    ~View() {
        if (rep_ && --rep_->uses == 0) delete rep_;
    }
    bool same(const View& other) const { return rep_ == other.rep_; }
    bool empty() const { return !rep_; }
    const void* key() const { return rep_; }

    // Whether all these lanes of `who` are known up to `epoch`.
    bool covers(Component who, uint32_t lanes, uint32_t epoch) const {
        if (!rep_) return false;
        const std::vector<Entry>& all = rep_->entries;
        auto at = std::lower_bound(all.begin(), all.end(), who,
                                   [](const Entry& e, Component c) { return e.who < c; });
        for (; at != all.end() && at->who == who; ++at)
            if (at->epoch >= epoch && !(lanes &= ~at->lanes)) return true;
        return false;
    }
    // One entry that says so.
    const Entry* find(Component who, uint32_t lanes, uint32_t epoch) const {
        if (!rep_) return nullptr;
        const std::vector<Entry>& all = rep_->entries;
        auto at = std::lower_bound(all.begin(), all.end(), who,
                                   [](const Entry& e, Component c) { return e.who < c; });
        for (; at != all.end() && at->who == who; ++at)
            if (at->epoch >= epoch && !(lanes & ~at->lanes)) return &*at;
        return nullptr;
    }
    const std::vector<Entry>& entries() const {
        static const std::vector<Entry> none;
        return rep_ ? rep_->entries : none;
    }

    // Whether this says all that `other` says; false where a closer look would be needed.
    bool contains(const View& other) const {
        const Entry *i = entries().data(), *const end = i + entries().size();
        for (const Entry& e : other.entries()) {
            while (i != end && i->who < e.who) ++i;
            const Entry* at = i;
            while (at != end && at->who == e.who && (e.lanes & ~at->lanes || at->epoch < e.epoch))
                ++at;
            if (at == end || at->who != e.who) return false;
        }
        return true;
    }
    static View joined(const View& a, const View& b) {
        if (a.same(b) || b.empty()) return a;
        if (a.empty()) return b;
        if (a.contains(b)) return a;
        if (b.contains(a)) return b;
        const std::vector<Entry>&x = a.entries(), &y = b.entries();
        std::vector<Entry> all;
        all.reserve(x.size() + y.size());
        const Entry *i = x.data(), *const x_end = i + x.size(),
                    *k = y.data(), *const y_end = k + y.size();
        while (i != x_end && k != y_end) {
            if (i->who < k->who) {
                all.push_back(*i++);
                continue;
            }
            if (k->who < i->who) {
                all.push_back(*k++);
                continue;
            }
            const Component who = i->who;
            const Entry *const first_x = i, *const first_y = k;
            while (i != x_end && i->who == who) ++i;
            while (k != y_end && k->who == who) ++k;
            if (i - first_x == 1 && k - first_y == 1 && first_x->lanes == first_y->lanes)
                all.push_back(first_x->epoch < first_y->epoch ? *first_y : *first_x);
            else
                merge(first_x, static_cast<size_t>(i - first_x), first_y,
                      static_cast<size_t>(k - first_y), all);
        }
        all.insert(all.end(), i, x_end);
        all.insert(all.end(), k, y_end);
        return View(std::move(all));
    }
    // Adds one entry; in place where nobody else has this view.
    void raise(const Entry& e) {
        if (rep_ && rep_->uses == 1) {
            std::vector<Entry>& all = rep_->entries;
            const auto at = std::lower_bound(all.begin(), all.end(), e.who,
                                             [](const Entry& x, Component c) { return x.who < c; });
            auto same = at;  // of the run of entries of this component
            uint32_t others = 0;
            for (; same != all.end() && same->who == e.who && same->lanes != e.lanes; ++same)
                others |= same->lanes;
            const bool found = same != all.end() && same->who == e.who;
            const bool newest = at == all.end() || at->who != e.who || at->epoch <= e.epoch;
            if (found && same->epoch >= e.epoch) return;
            if (found && newest) {
                std::rotate(at, same, same + 1);
                at->epoch = e.epoch;
                return;
            }
            if (!found && newest && !(others & e.lanes)) {
                all.insert(at, e);
                return;
            }
        }
        *this = joined(*this, View(std::vector<Entry>{e}));
    }

  private:
    // Entries of one component: later epochs first, no lane twice.
    static void merge(const Entry* x, size_t nx, const Entry* y, size_t ny,
                      std::vector<Entry>& out) {
        uint32_t seen = 0;
        while (nx || ny) {
            const bool from_x = !ny || (nx && x->epoch >= y->epoch);
            Entry e = from_x ? *x : *y;
            from_x ? (++x, --nx) : (++y, --ny);
            e.lanes &= ~seen;
            if (!e.lanes) continue;
            seen |= e.lanes;
            if (!out.empty() && out.back().who == e.who && out.back().epoch == e.epoch)
                out.back().lanes |= e.lanes;
            else
                out.push_back(e);
        }
    }

    struct Rep {
        uint32_t uses;
        std::vector<Entry> entries;
    };
    Rep* rep_ = nullptr;
};

// Joining the same two views again and again (all warps of a CTA at a barrier, all kinds of
// knowledge) costs one look.
class Joiner {
  public:
    View operator()(const View& a, const View& b) {
        if (a.same(b) || b.empty()) return a;
        if (a.empty()) return b;
        const auto x = reinterpret_cast<uintptr_t>(a.key()),
                   y = reinterpret_cast<uintptr_t>(b.key());
        Slot& slot = slots_[(x >> 5 ^ y >> 11 ^ y >> 4) % slots_.size()];
        if (!slot.a.same(a) || !slot.b.same(b)) slot = {a, b, View::joined(a, b)};
        return slot.result;
    }

  private:
    struct Slot {
        View a, b, result;
    };
    std::array<Slot, 1024> slots_;
};

}  // namespace check_sync
