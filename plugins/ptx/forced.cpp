// SPDX-License-Identifier: Apache-2.0
// What has to be ordered one way because the other violates an axiom. Morally strong writes to one
// location, and morally strong fence.sc, are ordered in every complete execution (PTX ISA 8.9.2 and
// 8.10.1); where one of the two orders is impossible already, the other is as good as chosen. That
// refuses partial graphs early that can never be completed. What belongs here: consequences of the
// axioms (axioms.cpp). What does not: choices.
#include "derived.hpp"

namespace sassemu::ptx {

// True: coherence has grown.
bool Derived::order_writes() {
    bool grown = false;
    Broken axiom = Broken::per_location;
    const auto first = [&](size_t a, size_t b) {
        if (a == b || !required_writes.has(a, b) || coherence.has(a, b)) return;
        if (coherence.has(b, a)) {
            broken = axiom;
            return;
        }
        coherence.close_with(a, b);
        grown = true;
    };
    // SC-per-Location: communication leads from a to b already.
    if (variant_.sc_per_location)
        for (size_t a = 0; a < x_.n; ++a)
            per_location.each_of(
                a, [&](size_t b) { first(a, b); }, required_writes, one_range_);
    // Causality: a write that causes a read comes before what the read took.
    axiom = Broken::causality;
    for (const ByteSource& s : x_.bytes_from)
        required_writes.each_of(s.write, [&](size_t w) {
            const SassemuEvent& e = x_.event(w);
            if (causality.has(w, s.read) && e.first < s.end && s.first < e.first + e.bytes)
                first(w, s.write);
        });
    // Atomicity: nothing comes between what an atomic operation took and what it wrote.
    axiom = Broken::atomicity;
    for (const ByteSource& s : x_.bytes_from)
        x_.rmw.each_of(s.read, [&](size_t own) {
            required_writes.each_of(own, [&](size_t w) {
                if (w == s.write || w == own || !x_.morally_strong.has(s.read, w)) return;
                const SassemuEvent& e = x_.event(w);
                if (!(e.first < s.end && s.first < e.first + e.bytes)) return;
                if (coherence.has(s.write, w)) first(own, w);
                if (coherence.has(w, own)) first(w, s.write);
            });
        });
    return grown && broken == Broken::none;
}

// True: base causality has grown. f comes before g where communication leads from what f precedes
// to what precedes g: the other way round that communication would contradict causality.
bool Derived::order_fences() {
    if (required_fences.empty()) return false;
    bool grown = false;
    std::vector<bool> reached(x_.n);
    for (size_t f = 0; f < x_.n; ++f) {
        if (!required_fences.any_of(f)) continue;
        std::fill(reached.begin(), reached.end(), false);
        base.each_of(f, [&](size_t a) {
            for (const Relation* r :
                 std::initializer_list<const Relation*>{&x_.rf, &coherence, &from_read})
                r->each_of(a, [&](size_t b) {
                    if (plain_.has(b, a)) reached[b] = true;
                });
        });
        required_fences.each_of(f, [&](size_t g) {
            if (f == g || base.has(f, g) || base.has(g, f)) return;
            bool before = false;
            for (size_t b = 0; b < x_.n && !before; ++b) before = reached[b] && base.has(b, g);
            if (!before) return;
            order(f, g, core_, base);
            derive_spawned();
            grown = true;
        });
    }
    return grown;
}

}  // namespace sassemu::ptx
