// SPDX-License-Identifier: Apache-2.0
// What the standard derives from an execution: PTX ISA, chapter "Memory Consistency Model", section
// "Axioms" and the definitions before it. See derived.hpp.
#include "derived.hpp"

namespace sassemu::ptx {

Derived::Derived(const Execution& x, const Variant& variant, const Options& options)
    : x_(x),
      variant_(variant),
      options_(options),
      tensor_order_(x.n),
      proxy_fences_(x.n),
      tensor_accesses_(x.n) {
    for (Relation* r : {&observation, &from_read, &paired_observation_, &paired_patterns_, &direct_,
                        &patterns_, &preserved_, &scratch_})
        *r = Relation(x.n);
    derive_static();
}

void Derived::derive_static() {
    Set everything(x_.n);
    for (size_t i = 0; i < x_.n; ++i) {
        everything.add(i);
        if (x_.is(i, SASSEMU_EVENT_PROXY_FENCE)) proxy_fences_.add(i);
        if (x_.memory.has(i) && x_.event(i).proxy == SASSEMU_PROXY_TENSOR && x_.event(i).agent >= 0)
            tensor_accesses_.add(i);
    }
    const Relation& po = x_.po;
    const Set &strong_write = x_.strong_writes, &strong_read = x_.strong_reads;
    released_by_ = (identity(x_.releasing_writes) *
                        optional(x_.po_loc.within(x_.releasing_writes, strong_write)) |
                    po.within(x_.releasing_fences, strong_write))
                       .inverse();
    acquires_ =
        optional(x_.po_loc.within(strong_read, x_.acquiring_reads)) * identity(x_.acquiring_reads) |
        po.within(strong_read, x_.acquiring_fences);
    order_ = variant_.po_is_causal ? (po | x_.agent_order | x_.completion).closure() : po;

    required_writes = x_.morally_strong.within(x_.writes, x_.writes);
    required_fences = x_.morally_strong.within(x_.sc_fences, x_.sc_fences);
    plain_ = special_ = overlapping_writes_ = one_range_ = Relation(x_.n);
    Relation initial(x_.n), program(x_.n);
    for (size_t a = 0; a < x_.n; ++a) {
        if (!x_.memory.has(a)) continue;
        const SassemuEvent& x = x_.event(a);
        for (size_t b = 0; b < x_.n; ++b) {
            if (!x_.memory.has(b)) continue;
            if (!variant_.proxies) plain_.add(a, b);
            if (!x_.overlaps(a, b)) continue;
            const SassemuEvent& y = x_.event(b);
            // 1. the same address, both through the generic proxy; 2. the same address, the same
            // proxy, in one CTA.
            const bool tensor = x.proxy == SASSEMU_PROXY_TENSOR && y.proxy == SASSEMU_PROXY_TENSOR;
            const bool plain = x.alias == y.alias && x.proxy == y.proxy && !tensor &&
                               (x.proxy == SASSEMU_PROXY_GENERIC || x_.same_cta(a, b));
            if (variant_.proxies)
                (plain && x_.restricted_fences.empty() ? plain_ : special_).add(a, b);
            if (x_.writes.has(a) && x_.writes.has(b)) {
                overlapping_writes_.add(a, b);
                if (x_.inits.has(a) && !x_.inits.has(b)) initial.add(a, b);
            }
            if (!x_.same_range(a, b)) continue;
            if (x_.morally_strong.has(a, b)) one_range_.add(a, b);
            if (x_.po_loc.has(a, b)) program.add(a, b);
        }
    }
    initial_coherence_ = Order(initial);
    program_loc_ = Order(program.closure());
    // A wait is let through by arrivals; what depends on the wait comes after them.
    dependencies_ = Order((x_.dependency | x_.pairing * x_.dependency).closure());

    // What barriers order, whatever reads take.
    x_.pairing.each([&](size_t a, size_t b) {
        if (x_.morally_strong.has(a, b)) paired_observation_.add(a, b);
    });
    derive_patterns(paired_observation_, paired_patterns_);
    paired_core_ = order_;
    paired_base_ = Relation(x_.n);
    paired_patterns_.each([&](size_t a, size_t b) { order(a, b, paired_core_, paired_base_); });
}

void Derived::derive() {
    bases_.clear();
    broken = Broken::none;
    derive_observation();
    derive_base();
    for (;;) {
        derive_tensor_order();
        derive_causality();
        derive_coherence();
        complete_coherence();
        if (broken != Broken::none) return;
        if (!order_fences()) break;
    }
    causes = dependencies_;
    if (!dependencies_.empty())
        for (const ByteSource& s : x_.bytes_from) causes.close_with(s.write, s.read);
}

void Derived::choose(const std::vector<std::pair<size_t, size_t>>& pairs) {
    bool fences = false;
    for (const auto& [a, b] : pairs) {
        if (x_.sc_fences.has(a))
            fences = true, order(a, b, core_, base);
        else
            coherence.close_with(a, b);
    }
    if (fences) {
        derive_spawned();
        derive_tensor_order();
        derive_causality();
        add_causal_coherence();
    }
    complete_coherence();
}

void Derived::complete_coherence() {
    if (variant_.sc_per_location) per_location = program_loc_;
    do {
        derive_from_read();
        derive_per_location();
    } while (broken == Broken::none && order_writes());
}

// Observation order: a read observes a write when both are morally strong, or through atomic
// operations that read the one and wrote the other. A wait observes the arrivals of its phase.
void Derived::derive_observation() {
    direct_ = paired_observation_;
    for (const ByteSource& s : x_.bytes_from)
        if (x_.morally_strong.has(s.write, s.read)) direct_.add(s.write, s.read);
    if (x_.rmw.empty()) {
        observation = direct_;
        return;
    }
    observation.clear();
    for (size_t w = 0; w < x_.n; ++w) {
        const auto through = [&](auto&& self, size_t from) -> void {
            direct_.each_of(from, [&](size_t r) {
                if (observation.has(w, r)) return;
                observation.add(w, r);
                x_.rmw.each_of(r, [&](size_t next) { self(self, next); });
            });
        };
        through(through, w);
    }
}

// Synchronizes: a release pattern and an acquire pattern, the one observed by the other, their ends
// morally strong.
void Derived::derive_patterns(const Relation& observed, Relation& out) const {
    observed.each([&](size_t w, size_t r) {
        released_by_.each_of(w, [&](size_t from) {
            acquires_.each_of(r, [&](size_t to) {
                if (x_.morally_strong.has(from, to)) out.add(from, to);
            });
        });
    });
}

// a comes before b in base causality, by synchronization. `core` holds it with program order; where
// that alone is no causality, `base` holds the rest.
void Derived::order(size_t a, size_t b, Relation& core, Relation& base) const {
    if (variant_.po_is_causal)
        core.close_with(a, b);
    else if (!base.has(a, b))
        core.close_with(a, b, &base);
}

// Base causality order: synchronization, Fence-SC order and program order. Asynchronous operations
// come after what their thread did before it started them, but their completion does not publish
// that (PTX ISA 8.9.1.1, "Asynchronous operations": complete-tx is ordered only with the accesses
// of the same instruction): hence `spawn` comes last.
void Derived::derive_base() {
    patterns_.clear();
    scratch_ = observation - paired_observation_;
    derive_patterns(scratch_, patterns_);
    if (!x_.restricted_fences.empty()) {
        Set everything(x_.n);
        for (size_t i = 0; i < x_.n; ++i) everything.add(i);
        base = base_causality(everything - x_.restricted_fences, &core_);
        return;
    }
    core_ = paired_core_;
    base = paired_base_;
    const auto one = [&](size_t a, size_t b) { order(a, b, core_, base); };
    patterns_.each(one);
    x_.chosen.within(x_.sc_fences, x_.sc_fences).each(one);
    derive_spawned();
}

void Derived::derive_spawned() {
    if (!variant_.po_is_causal) return;
    base = core_;
    if (!x_.spawn.empty()) base |= optional(core_) * x_.spawn;
}

// The same with these fences alone.
Relation Derived::base_causality(const Set& admitted, Relation* core_too) const {
    Relation core = order_, base(x_.n);
    const auto one = [&](size_t a, size_t b) { order(a, b, core, base); };
    (paired_patterns_ | patterns_).within(admitted, admitted).each(one);
    x_.chosen.within(x_.sc_fences, x_.sc_fences).each(one);
    if (!variant_.po_is_causal) return base;
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
    // 1. and 2.: see derive_static().
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
    preserved_.clear();
    for (size_t a = 0; a < x_.n; ++a) preserved_.join_both(a, base, plain_);
    special_.each([&](size_t a, size_t b) {
        if (x_.event(a).proxy == SASSEMU_PROXY_TENSOR &&
            x_.event(b).proxy == SASSEMU_PROXY_TENSOR) {
            if (tensor_order_.has(a, b)) preserved_.add(a, b);
            return;
        }
        const Relation& base_ab = base_between(a, b);
        if (base_ab.has(a, b) && proxy_preserved(a, b, base_ab)) preserved_.add(a, b);
    });
    causality = preserved_;
    for (size_t w = 0; w < x_.n; ++w)
        observation.each_of(w, [&](size_t r) {
            causality.join(w, preserved_, r);
            if (variant_.observation_po_loc) causality.join(w, x_.po_loc, r);
        });
}

// Coherence order: partial. It holds the initial writes first, what was chosen, and what causality
// says (axiom Coherence); only morally strong writes must be ordered.
void Derived::derive_coherence() {
    coherence = initial_coherence_;
    add_causal_coherence();
}

void Derived::add_causal_coherence() {
    for (size_t a = 0; a < x_.n; ++a)
        for (const Relation* r : std::initializer_list<const Relation*>{&causality, &x_.chosen})
            r->each_of(
                a, [&](size_t b) { coherence.close_with(a, b); }, overlapping_writes_);
}

// From-read: the read precedes every write that follows, in coherence, the write it read from.
void Derived::derive_from_read() {
    from_read.clear();
    for (const ByteSource& s : x_.bytes_from)
        coherence.each_of(s.write, [&](size_t w) {
            const SassemuEvent& e = x_.event(w);
            if (e.first < s.end && s.first < e.first + e.bytes && w != s.read)
                from_read.add(s.read, w);
        });
}

void Derived::derive_per_location() {
    if (!variant_.sc_per_location) return;
    for (size_t a = 0; a < x_.n; ++a)
        for (const Relation* r :
             std::initializer_list<const Relation*>{&x_.rf, &coherence, &from_read})
            r->each_of(
                a, [&](size_t b) { per_location.close_with(a, b); }, one_range_);
}

}  // namespace sassemu::ptx
