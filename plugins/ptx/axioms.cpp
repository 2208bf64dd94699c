// SPDX-License-Identifier: Apache-2.0
// The six axioms, in the order of the standard. See axioms.hpp.
#include "axioms.hpp"

namespace sassemu::ptx {
namespace {

constexpr const char* between_clause =
    "no morally strong write comes between the read and the write of an atomic operation";
constexpr const char* per_location_clause =
    "communication between morally strong operations cannot contradict program order at one "
    "address";
constexpr const char* stale_clause =
    "a read that follows a write in causality order cannot read from a write before it in "
    "coherence order";

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
    std::optional<Violation> out;
    x.rmw.each([&](size_t r, size_t w) {
        d.from_read.each_of(
            r,
            [&](size_t between) {
                if (!out && x.morally_strong.has(between, w) && d.coherence.has(between, w))
                    out = Violation{"Atomicity", between_clause, {r, w}};
            },
            x.morally_strong);
    });
    // Single-copy: r may not take one byte from w and another from a write before w.
    for (const ByteSource& s : x.bytes_from)
        if (!out && x.morally_strong.has(s.write, s.read) && d.from_read.has(s.read, s.write))
            out = Violation{"Atomicity",
                            "conflicting morally strong operations are single-copy atomic",
                            {s.write, s.read}};
    return out;
}

// No-Thin-Air: no value causes itself through dependencies and communication.
std::optional<Violation> no_thin_air(const Derived& d) {
    const size_t at = d.causes.reflexive_at();
    if (at == d.causes.size()) return std::nullopt;
    return Violation{
        "No-Thin-Air",
        "values do not appear out of thin air: reads-from and dependencies form no cycle",
        {at}};
}

// SC-per-Location: among morally strong operations on one address, communication order does not
// contradict program order.
std::optional<Violation> sc_per_location(const Derived& d) {
    const size_t at = d.per_location.reflexive_at();
    if (at == d.per_location.size()) return std::nullopt;
    return Violation{"SC-per-Location", per_location_clause, {at}};
}

// Causality: communication cannot contradict causality. A read that precedes a write does not read
// from it; a read that follows a write reads from nothing before it.
std::optional<Violation> causality(const Execution& x, const Derived& d) {
    for (const ByteSource& s : x.bytes_from)
        if (d.causality.has(s.read, s.write))
            return Violation{
                "Causality",
                "a read that precedes an overlapping write in causality order cannot read from it",
                {s.read, s.write}};
    std::optional<Violation> out;
    for (const ByteSource& s : x.bytes_from)
        d.from_read.each_of(s.read, [&](size_t w) {
            if (!out && d.causality.has(w, s.read))
                out = Violation{"Causality", stale_clause, {w, s.read}};
        });
    return out;
}

}  // namespace

std::optional<Violation> violated(const Execution& x, const Derived& d, const Variant& variant) {
    switch (d.broken) {
        case Derived::Broken::none:
            break;
        case Derived::Broken::per_location:
            return Violation{"SC-per-Location", per_location_clause, {}};
        case Derived::Broken::causality:
            return Violation{"Causality", stale_clause, {}};
        case Derived::Broken::atomicity:
            return Violation{"Atomicity", between_clause, {}};
    }
    if (auto v = coherence(d)) return v;
    if (auto v = fence_sc(x, d)) return v;
    if (auto v = atomicity(x, d)) return v;
    if (auto v = no_thin_air(d)) return v;
    if (variant.sc_per_location)
        if (auto v = sc_per_location(d)) return v;
    return causality(x, d);
}

std::vector<std::pair<size_t, size_t>> open_pairs(const Execution& x, const Derived& d) {
    std::vector<std::pair<size_t, size_t>> out;
    const auto find = [&](const Relation& required, const Relation& order) {
        std::vector<size_t> before(x.n);  // how many; what extends it extends the order
        bool counted = false;
        for (size_t a = 0; a < x.n; ++a)
            required.each_of(a, [&](size_t b) {
                if (b <= a || order.has(a, b) || order.has(b, a)) return;
                if (!counted) order.each([&](size_t, size_t to) { ++before[to]; });
                counted = true;
                out.push_back(before[a] <= before[b] ? std::pair{a, b} : std::pair{b, a});
            });
    };
    find(d.required_writes, d.coherence);
    find(d.required_fences, d.base);
    return out;
}

}  // namespace sassemu::ptx
