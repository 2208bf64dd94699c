// SPDX-License-Identifier: Apache-2.0
// The six axioms, in the order of the standard. See axioms.hpp.
#include "axioms.hpp"

namespace sassemu::ptx {
namespace {

using Cycle = std::vector<size_t>;

// The shortest way from `from` to `to` along r, both included; empty when there is none.
Cycle path(const Relation& r, size_t from, size_t to) {
    const size_t n = r.size();
    std::vector<size_t> before(n, n), queue;
    for (size_t b = 0; b < n; ++b)
        if (r.has(from, b)) before[b] = from, queue.push_back(b);
    for (size_t head = 0; head < queue.size(); ++head) {
        const size_t at = queue[head];
        if (at == to) {
            Cycle out{to};
            for (size_t i = to; before[i] != from; i = before[i]) out.push_back(before[i]);
            out.push_back(from);
            return {out.rbegin(), out.rend()};
        }
        for (size_t b = 0; b < n; ++b)
            if (before[b] == n && r.has(at, b)) before[b] = at, queue.push_back(b);
    }
    return {};
}

std::optional<Cycle> cyclic(const Relation& r) {
    const size_t at = r.closure().reflexive_at();
    if (at == r.size()) return std::nullopt;
    Cycle c = path(r, at, at);
    if (!c.empty()) c.pop_back();
    return c;
}

// Coherence: a write that precedes an overlapping write in causality order precedes it in coherence
// order, which is a (partial) order.
std::optional<Violation> coherence(const Derived& d) {
    const size_t at = d.coherence.reflexive_at();
    if (at == d.coherence.size()) return std::nullopt;
    return Violation{
        "Coherence", "coherence order contains causality between overlapping writes", {at}};
}

// Fence-SC: the order of morally strong fence.sc cannot contradict causality.
std::optional<Violation> fence_sc(const Execution& x, const Derived& d) {
    for (size_t f = 0; f < x.n; ++f)
        if (x.sc_fences.has(f) && d.base.has(f, f))
            return Violation{"Fence-SC", "Fence-SC order cannot contradict causality order", {f}};
    return std::nullopt;
}

// Atomicity: of morally strong operations each happens at once; nothing morally strong comes
// between the read and the write of an atomic operation.
std::optional<Violation> atomicity(const Execution& x, const Derived& d) {
    const Relation between =
        (x.morally_strong & d.from_read) * (x.morally_strong & d.coherence) & x.rmw;
    std::optional<Violation> out;
    between.each([&](size_t r, size_t w) {
        if (!out)
            out = Violation{"Atomicity",
                            "no morally strong write comes between the read and the write of an "
                            "atomic operation",
                            {r, w}};
    });
    // Single-copy: r may not take one byte from w and another from a write before w.
    const Relation torn = x.rf & x.morally_strong;
    torn.each([&](size_t w, size_t r) {
        if (!out && d.from_read.has(r, w))
            out = Violation{"Atomicity",
                            "conflicting morally strong operations are single-copy atomic",
                            {r, w}};
    });
    return out;
}

// No-Thin-Air: no value causes itself through dependencies and communication.
std::optional<Violation> no_thin_air(const Execution& x) {
    // A wait is let through by arrivals; what depends on the wait comes after them.
    const auto c = cyclic(x.rf | x.dependency | x.pairing * x.dependency);
    if (!c) return std::nullopt;
    return Violation{
        "No-Thin-Air",
        "values do not appear out of thin air: reads-from and dependencies form no cycle", *c};
}

// SC-per-Location: among morally strong operations on one address, communication order does not
// contradict program order.
std::optional<Violation> sc_per_location(const Execution& x, const Derived& d) {
    const Relation communication = x.rf | d.coherence | d.from_read;
    Relation order(x.n);
    (x.morally_strong & communication).each([&](size_t a, size_t b) {
        if (x.same_range(a, b)) order.add(a, b);
    });
    x.po_loc.each([&](size_t a, size_t b) {
        if (x.same_range(a, b)) order.add(a, b);
    });
    const auto c = cyclic(order);
    if (!c) return std::nullopt;
    return Violation{"SC-per-Location",
                     "communication between morally strong operations cannot contradict program "
                     "order at one address",
                     *c};
}

// Causality: communication cannot contradict causality. A read that precedes a write does not read
// from it; a read that follows a write reads from nothing before it.
std::optional<Violation> causality(const Execution& x, const Derived& d) {
    std::optional<Violation> out;
    (d.causality & (x.rf | d.from_read).inverse()).each([&](size_t a, size_t b) {
        if (out) return;
        const bool early = x.rf.has(b, a);
        out = Violation{
            "Causality",
            early
                ? "a read that precedes an overlapping write in causality order cannot read from it"
                : "a read that follows a write in causality order cannot read from a write before "
                  "it in coherence order",
            {a, b}};
    });
    return out;
}

}  // namespace

std::optional<Violation> violated(const Execution& x, const Derived& d, const Variant& variant) {
    if (auto v = coherence(d)) return v;
    if (auto v = fence_sc(x, d)) return v;
    if (auto v = atomicity(x, d)) return v;
    if (auto v = no_thin_air(x)) return v;
    if (variant.sc_per_location)
        if (auto v = sc_per_location(x, d)) return v;
    return causality(x, d);
}

std::optional<std::pair<size_t, size_t>> open_pair(const Execution& x, const Derived& d) {
    for (size_t a = 0; a < x.n; ++a)
        for (size_t b = a + 1; b < x.n; ++b) {
            if (!d.coherent_required.has(a, b)) continue;
            const Relation& order = x.writes.has(a) ? d.coherence : d.base;
            if (!order.has(a, b) && !order.has(b, a)) return std::pair{a, b};
        }
    return std::nullopt;
}

}  // namespace sassemu::ptx
