// SPDX-License-Identifier: Apache-2.0
// What the standard derives from an execution: PTX ISA, chapter "Memory Consistency Model", section
// "Axioms" and the definitions before it. See derived.hpp.
#include "derived.hpp"

namespace sassemu::ptx {

Derived::Derived(const Execution& x, const Variant& variant, const Options& options)
    : x_(x), variant_(variant), options_(options), proxy_fences_(x.n) {
    for (size_t i = 0; i < x.n; ++i)
        if (x.is(i, SASSEMU_EVENT_PROXY_FENCE)) proxy_fences_.add(i);
    derive_observation();
    Set everything(x.n);
    for (size_t i = 0; i < x.n; ++i) everything.add(i);
    base = base_causality(everything - x.restricted_fences, &core_);
    derive_tensor_order();
    derive_causality();
    derive_coherence();
    derive_from_read();
}

// Observation order: a read observes a write when both are morally strong, or through atomic
// operations that read the one and wrote the other. A wait observes the arrivals of its phase.
void Derived::derive_observation() {
    const Relation direct = x_.morally_strong & (x_.rf | x_.pairing);
    observation = direct;
    for (;;) {
        const Relation next = observation | observation * x_.rmw * direct;
        if ((next - observation).empty()) return;
        observation = next;
    }
}

// Synchronizes: a release pattern and an acquire pattern, the one observed by the other, their ends
// morally strong; and Fence-SC order.
Relation Derived::synchronizes(const Set& admitted) const {
    const Relation& po = x_.po;
    const Set& strong_write = x_.strong_writes;
    const Set& strong_read = x_.strong_reads;
    const Relation release_pattern =
        identity(x_.releasing_writes) *
            optional(x_.po_loc.within(x_.releasing_writes, strong_write)) |
        po.within(x_.releasing_fences, strong_write);
    const Relation acquire_pattern =
        optional(x_.po_loc.within(strong_read, x_.acquiring_reads)) * identity(x_.acquiring_reads) |
        po.within(strong_read, x_.acquiring_fences);
    const Relation patterns = release_pattern * observation * acquire_pattern;
    return (patterns & x_.morally_strong).within(admitted, admitted) |
           x_.chosen.within(x_.sc_fences, x_.sc_fences);
}

// Base causality order. Asynchronous operations come after what their thread did before it started
// them, but their completion does not publish that (PTX ISA 8.9.1.1, "Asynchronous operations":
// complete-tx is ordered only with the accesses of the same instruction): hence `spawn` comes last.
Relation Derived::base_causality(const Set& admitted, Relation* core_too) const {
    const Relation sync = synchronizes(admitted);
    if (!variant_.po_is_causal) {
        const Relation po = optional(x_.po), base = (po * sync * po).closure();
        if (core_too) *core_too = base;
        return base;
    }
    const Relation core = (x_.po | sync | x_.agent_order | x_.completion).closure();
    if (core_too) *core_too = core;
    return core | optional(core) * x_.spawn;
}

// Whether the object that `access` touches is in the state spaces that the fence is restricted to.
bool Derived::in_restriction(size_t fence, size_t access) const {
    const SassemuEvent &f = x_.event(fence), &e = x_.event(access);
    if (!f.restriction) return true;
    const bool shared = e.space & (SASSEMU_SPACE_SHARED_CTA | SASSEMU_SPACE_SHARED_CLUSTER);
    if (f.restriction & SASSEMU_SPACE_GLOBAL && e.space & SASSEMU_SPACE_GLOBAL) return true;
    if (f.restriction & SASSEMU_SPACE_SHARED_CLUSTER && shared) return true;
    if (f.restriction & SASSEMU_SPACE_SHARED_CTA && shared && e.owner == f.cta) return true;
    return f.restriction & SASSEMU_SPACE_TENSOR && e.space & SASSEMU_SPACE_TENSOR;
}

// Whether a restricted fence (or restricted release) orders access a before access b at all.
bool Derived::admits(size_t fence, size_t a, size_t b) const {
    const SassemuEvent& f = x_.event(fence);
    // fence.mbarrier_init: only this thread's earlier mbarrier.init.
    if (f.operation == SASSEMU_OPERATION_MBARRIER_INIT &&
        !(x_.event(a).operation == f.operation && x_.event(a).thread == f.thread))
        return false;
    // A one-way proxy fence orders accesses of its first proxy before those of its second.
    if (f.kind & SASSEMU_EVENT_PROXY_FENCE && !f.both_ways &&
        !(x_.event(a).proxy == f.from && x_.event(b).proxy == f.to))
        return false;
    return in_restriction(fence, a);
}

const Relation& Derived::base_between(size_t a, size_t b) {
    if (x_.restricted_fences.empty()) return base;
    std::vector<bool> key(x_.n, true);
    Set admitted(x_.n);
    bool all_refused = true;
    for (size_t i = 0; i < x_.n; ++i) {
        const bool admitted_here = !x_.restricted_fences.has(i) || admits(i, a, b);
        key[i] = admitted_here;
        if (admitted_here) admitted.add(i);
        if (admitted_here && x_.restricted_fences.has(i)) all_refused = false;
    }
    if (all_refused) return base;
    const auto found = bases_.find(key);
    if (found != bases_.end()) return found->second;
    return bases_.emplace(key, base_causality(admitted)).first->second;
}

// Whether the proxy fence ties `access` to the generic proxy. outward: from the access's proxy to
// generic; else from generic to the access's proxy. The fence is in the CTA of the access that is
// not generic.
bool Derived::links(size_t fence, size_t access, bool outward) const {
    const SassemuEvent &f = x_.event(fence), &e = x_.event(access);
    if (!in_restriction(fence, access)) return false;
    const bool ranged =
        f.to == SASSEMU_PROXY_TENSORMAP && f.bytes;  // fence.proxy.tensormap [addr], 128
    if (ranged && !x_.overlaps(fence, access)) return false;
    const uint32_t other = f.from == SASSEMU_PROXY_GENERIC ? f.to : f.from;
    if (other != e.proxy) return false;
    const bool right_way = f.both_ways || (outward ? f.from : f.to) == e.proxy;
    if (!right_way) return false;
    // async::generic is one-way and ties in whichever CTA it stands.
    const bool one_way = !f.both_ways && f.to == SASSEMU_PROXY_ASYNC;
    return f.cta == e.cta || one_way || options_.relied;
}

// Proxy-preserved base causality order: what base causality is worth between two accesses.
bool Derived::proxy_preserved(size_t a, size_t b, const Relation& base_ab) const {
    const SassemuEvent &x = x_.event(a), &y = x_.event(b);
    constexpr uint32_t generic = SASSEMU_PROXY_GENERIC;
    const bool aliased = x.alias != y.alias;
    // 1. the same address, both through the generic proxy; 2. the same address, the same proxy, in
    // one CTA.
    if (!aliased && x.proxy == y.proxy && (x.proxy == generic || x_.same_cta(a, b))) return true;
    // 3. linked by proxy fences: from a's proxy to generic, between aliases, from generic to b's.
    const auto precedes = [&](size_t p, size_t q) { return p == q || base_ab.has(p, q); };
    const size_t n = x_.n;
    std::vector<size_t> first, last;  // where the path has become generic; where it stops being so
    if (x.proxy == generic) first.push_back(a);
    if (y.proxy == generic) last.push_back(b);
    for (size_t f = 0; f < n; ++f) {
        if (!proxy_fences_.has(f)) continue;
        if (x.proxy != generic && base_ab.has(a, f) && links(f, a, true)) {
            // The completion of an asynchronous operation is visible to the generic and the async
            // proxy alike (PTX ISA, "Async proxy": the implicit generic-async proxy fence).
            const bool completion = x_.is(f, SASSEMU_EVENT_ARRIVE | SASSEMU_EVENT_COMPLETE);
            if (completion && x.proxy == y.proxy && !aliased && base_ab.has(f, b)) return true;
            first.push_back(f);
        }
        if (y.proxy != generic && base_ab.has(f, b) && links(f, b, false)) {
            if (y.proxy == SASSEMU_PROXY_TENSORMAP) {
                // The release side has to be there as well, each in the other's scope.
                bool released = false;
                for (size_t r = 0; r < n && !released; ++r)
                    released = proxy_fences_.has(r) && x_.releasing_fences.has(r) &&
                               x_.event(r).to == y.proxy && base_ab.has(a, r) &&
                               base_ab.has(r, f) && x_.includes(r, f) && x_.includes(f, r);
                if (!released || !x_.acquiring_fences.has(f)) continue;
            }
            last.push_back(f);
        }
    }
    for (const size_t p : first)
        for (const size_t q : last) {
            if (!precedes(p, q)) continue;
            if (!aliased) return true;
            for (size_t f = 0; f < n; ++f)
                if (proxy_fences_.has(f) &&
                    (x_.event(f).to == SASSEMU_PROXY_ALIAS ||
                     x_.event(f).from == SASSEMU_PROXY_ALIAS) &&
                    base_ab.has(p, f) && base_ab.has(f, q))
                    return true;
        }
    return false;
}

// Causality order: proxy-preserved base causality, or observation and then that.
void Derived::derive_causality() {
    Relation preserved(x_.n);
    if (!variant_.proxies) {
        preserved = base.within(x_.memory, x_.memory);
    } else {
        for (size_t a = 0; a < x_.n; ++a)
            for (size_t b = 0; b < x_.n; ++b) {
                if (!x_.overlaps(a, b) || !x_.memory.has(a) || !x_.memory.has(b)) continue;
                if (x_.event(a).proxy == SASSEMU_PROXY_TENSOR &&
                    x_.event(b).proxy == SASSEMU_PROXY_TENSOR) {
                    if (tensor_order_.has(a, b)) preserved.add(a, b);
                    continue;
                }
                const Relation& base_ab = base_between(a, b);
                if (base_ab.has(a, b) && proxy_preserved(a, b, base_ab)) preserved.add(a, b);
            }
    }
    Relation then = preserved;
    if (variant_.observation_po_loc) then |= x_.po_loc;
    causality = preserved | observation * then;
}

// Coherence order: partial. It holds the initial writes first, what was chosen, and what causality
// says (axiom Coherence); only morally strong writes must be ordered.
void Derived::derive_coherence() {
    Relation direct =
        causality.within(x_.writes, x_.writes) | x_.chosen.within(x_.writes, x_.writes);
    for (size_t a = 0; a < x_.n; ++a)
        for (size_t b = 0; b < x_.n; ++b) {
            if (!x_.writes.has(a) || !x_.writes.has(b) || !x_.overlaps(a, b)) {
                direct.remove(a, b);
                continue;
            }
            if (x_.inits.has(a) && !x_.inits.has(b)) direct.add(a, b);
        }
    coherence = direct.closure();
    coherent_required = x_.morally_strong.within(x_.writes, x_.writes) |
                        x_.morally_strong.within(x_.sc_fences, x_.sc_fences);
}

// From-read: the read precedes every write that follows, in coherence, the write it read from.
void Derived::derive_from_read() {
    from_read = Relation(x_.n);
    for (const ByteSource& s : x_.bytes_from)
        for (size_t w = 0; w < x_.n; ++w) {
            if (!coherence.has(s.write, w)) continue;
            const SassemuEvent& e = x_.event(w);
            if (e.first < s.end && s.first < e.first + e.bytes && w != s.read)
                from_read.add(s.read, w);
        }
}

}  // namespace sassemu::ptx
