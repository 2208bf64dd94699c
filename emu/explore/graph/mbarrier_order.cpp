// SPDX-License-Identifier: Apache-2.0
// See mbarrier_order.hpp.
#include "emu/explore/graph/mbarrier_order.hpp"

#include <algorithm>

namespace sassemu::explore {
namespace {

using Kind = MbarrierEvent::Kind;

constexpr int64_t most_transactions = (1 << 20) - 1;  // PTX ISA 9.7.13.15.2: the tx-count's range
constexpr size_t most_states = 200'000;
constexpr size_t most_operations = 63;  // on one object: bits of Object::done

// The object while its operations are gone through.
struct Object {
    bool initialised = false;
    int64_t pending = 0, expected = 0, transactions = 0;
    uint32_t phase = 0;
    uint64_t done = 0;              // operations, as bits
    std::vector<uint8_t> phase_of;  // per operation: the phase of an arrival; what a wait saw
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes it for a comparison with 0
    auto operator<=>(const Object&) const = default;
};

class Search {
  public:
    Search(const State& s, const Program& p, uint32_t location, const std::vector<uint8_t>& base,
           const SearchBudget& budget)
        : s_(s), p_(p), location_(location), budget_(budget) {
        for (const MbarrierEvent& op : s.mbarriers)
            if (op.location == location) ops_.push_back(&op);
        if (ops_.size() > most_operations) return;  // run() says so
        before_.resize(ops_.size());
        const size_t n = s.events.size();
        for (size_t a = 0; a < ops_.size(); ++a)
            for (size_t b = 0; b < ops_.size(); ++b) {
                if (a == b) continue;
                const GraphEvent &x = s.events[ops_[a]->event], &y = s.events[ops_[b]->event];
                const bool po = x.e.thread == y.e.thread && x.e.agent < 0 && y.e.agent < 0 &&
                                x.e.index < y.e.index;
                if (po || y.control[ops_[a]->event] ||
                    (!base.empty() && base[ops_[a]->event * n + ops_[b]->event]))
                    before_[b] |= uint64_t{1} << a;
            }
    }

    MbarrierOrders run() {
        const int64_t count = p_.test.locations[location_].count;
        Object start;
        start.initialised = count > 0;
        start.pending = start.expected = std::max<int64_t>(count, 0);
        start.phase_of.resize(ops_.size());
        if (ops_.size() > most_operations)
            out_.cut = true;
        else
            go(start);
        return std::move(out_);
    }

  private:
    void go(const Object& at) {
        if (out_.cut || budget_.over() || !seen_.insert(at).second) return;
        if (seen_.size() > most_states) {
            out_.cut = true;
            return;
        }
        if (at.done == (uint64_t{1} << ops_.size()) - 1) return record(at);
        for (size_t i = 0; i < ops_.size(); ++i) {
            if (at.done >> i & 1 || (before_[i] & ~at.done)) continue;
            Object next = at;
            next.done |= uint64_t{1} << i;
            if (perform(next, i)) go(next);
        }
    }

    int64_t amount(uint32_t value) const {
        return static_cast<int64_t>(s_.evaluate(value, p_).value_or(0));
    }

    bool misuse() {
        out_.misused = true;
        return false;
    }

    // False: this operation cannot come here.
    bool perform(Object& o, size_t i) {
        const MbarrierEvent& op = *ops_[i];
        if (op.kind == Kind::init) {
            o.initialised = true;
            o.pending = o.expected = amount(op.amount);
            o.transactions = 0;
            return o.pending > 0 || misuse();
        }
        if (!o.initialised)
            return false;  // whether it has to be is asked of base causality (explorer)
        if (op.kind == Kind::wait) {
            const bool passed = (o.phase & 1) != (static_cast<uint64_t>(amount(op.amount)) & 1);
            if (passed != op.result) return false;
            o.phase_of[i] = static_cast<uint8_t>(o.phase);
            return true;
        }
        o.phase_of[i] = static_cast<uint8_t>(o.phase);
        if (op.kind == Kind::increment) {
            o.pending += amount(op.amount);
            return true;
        }
        if (op.kind == Kind::transaction)
            o.transactions += op.negative ? -amount(op.amount) : amount(op.amount);
        if (op.expected) o.transactions += amount(op.expected);
        if (o.transactions > most_transactions || o.transactions < -most_transactions)
            return misuse();
        if (op.kind == Kind::arrive) {
            o.pending -= amount(op.amount);
            if (op.drop) o.expected -= amount(op.amount);
            if (o.pending < 0) return misuse();
        }
        if (o.pending == 0 && o.transactions == 0) {
            if (op.keeps_phase) return misuse();
            if (o.phase >= 250) return false;
            ++o.phase;
            o.pending = o.expected;
        }
        return true;
    }

    // A wait has seen every arrival of the phases before the one it found.
    void record(const Object& o) {
        Pairing out;
        for (size_t w = 0; w < ops_.size(); ++w) {
            if (ops_[w]->kind != Kind::wait || !ops_[w]->result) continue;
            for (size_t a = 0; a < ops_.size(); ++a)
                if (s_.events[ops_[a]->event].e.kind & SASSEMU_EVENT_ARRIVE &&
                    o.phase_of[a] < o.phase_of[w])
                    out.emplace_back(ops_[a]->event, ops_[w]->event);
        }
        std::sort(out.begin(), out.end());
        out_.pairings.insert(std::move(out));
    }

    const State& s_;
    const Program& p_;
    uint32_t location_;
    const SearchBudget& budget_;
    std::vector<const MbarrierEvent*> ops_;
    std::vector<uint64_t> before_;
    std::set<Object> seen_;
    MbarrierOrders out_;
};

// A wait that stands for several tries: without what only the one that succeeded has seen.
bool before_first_try(const State& s, uint32_t init, uint32_t wait,
                      const std::vector<uint8_t>& base) {
    const SassemuEvent& w = s.events[wait].e;
    for (uint32_t e = 0; e < s.events.size(); ++e) {
        const SassemuEvent& x = s.events[e].e;
        if (x.thread != w.thread || x.agent >= 0 || x.index >= w.index) continue;
        if (e == init || base[init * s.events.size() + e]) return true;
    }
    return false;
}

}  // namespace

bool initialised_first(const State& s, const Program& p, uint32_t location,
                       const std::vector<uint8_t>& base) {
    if (p.test.locations[location].count > 0) return true;
    return std::all_of(s.mbarriers.begin(), s.mbarriers.end(), [&](const MbarrierEvent& op) {
        if (op.location != location || op.kind == Kind::init) return true;
        return std::any_of(s.mbarriers.begin(), s.mbarriers.end(), [&](const MbarrierEvent& init) {
            if (init.location != location || init.kind != Kind::init) return false;
            if (!base[init.event * s.events.size() + op.event]) return false;
            return !op.insists || before_first_try(s, init.event, op.event, base);
        });
    });
}

MbarrierOrders mbarrier_orders(const State& s, const Program& p, uint32_t location,
                               const std::vector<uint8_t>& base, const SearchBudget& budget) {
    return Search(s, p, location, base, budget).run();
}

}  // namespace sassemu::explore
