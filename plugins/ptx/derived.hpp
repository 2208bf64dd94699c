// SPDX-License-Identifier: Apache-2.0
// The relations that the memory consistency model derives: synchronizes, base causality, causality,
// coherence, from-read. What belongs here: one function or member per term of the standard. What
// follows from the events alone is derived once; the rest anew for each choice of what reads take.
#pragma once

#include <map>
#include <string>

#include "execution.hpp"

namespace sassemu::ptx {

class Derived {
  public:
    Derived(const Execution& x, const Variant& variant, const Options& options);

    // Of what the reads of the execution take now, and what was chosen.
    void derive();
    // What follows from these orders, too: coherence or Fence-SC.
    void choose(const std::vector<std::pair<size_t, size_t>>& pairs);

    // Base causality of two events, with the fences admitted that are restricted to what they
    // touch.
    bool ordered(size_t a, size_t b) {
        return (x_.overlaps(a, b) ? base_between(a, b) : base).has(a, b);
    }

    Relation observation;
    Relation base;       // base causality; unrestricted: of events that no restriction concerns
    Relation causality;  // between memory operations
    // Coherence order: partial. What follows from it having to be total between morally strong
    // writes is in it, too.
    Order coherence;
    Relation from_read;
    // Morally strong pairs that coherence or Fence-SC must order.
    Relation required_writes, required_fences;
    // Communication and program order between operations on one address, transitively closed:
    // SC-per-Location.
    Order per_location;
    // An axiom that nothing can be ordered by any more; what else is derived is not complete then.
    enum class Broken : uint8_t { none, per_location, causality, atomicity } broken = Broken::none;
    Order causes;  // reads-from and dependencies, transitively closed: No-Thin-Air

  private:
    void derive_static();
    void derive_observation();
    void derive_patterns(const Relation& observed, Relation& out) const;
    void derive_base();
    void derive_spawned();
    void add_causal_coherence();
    void complete_coherence();
    void order(size_t a, size_t b, Relation& core, Relation& base) const;
    Relation base_causality(const Set& admitted, Relation* core_too = nullptr) const;
    const Relation& base_between(size_t a, size_t b);
    bool admits(size_t fence, size_t a, size_t b) const;
    bool in_restriction(size_t fence, size_t object) const;
    bool links(size_t fence, size_t access, bool outward) const;
    bool proxy_preserved(size_t a, size_t b, const Relation& base_ab) const;
    void derive_tensor_order();  // tensor_memory.cpp
    void derive_causality();
    void derive_coherence();
    void derive_from_read();
    void derive_per_location();
    bool order_writes();  // forced.cpp
    bool order_fences();

    const Execution& x_;
    const Variant& variant_;
    const Options& options_;
    Relation core_;  // base causality that does not lead into an agent
    Relation tensor_order_;
    Set proxy_fences_, tensor_accesses_;
    std::map<std::vector<bool>, Relation> bases_;

    // Of the events alone.
    Relation released_by_;  // a strong write -> where its release patterns begin
    Relation acquires_;     // a strong read -> where its acquire patterns end
    Relation order_;        // what base causality is made of beside synchronization, closed
    Relation paired_observation_, paired_patterns_, paired_core_, paired_base_;
    Relation plain_;    // pairs between which base causality is causality as it is
    Relation special_;  // pairs for which that depends on proxies
    Relation overlapping_writes_;
    Order initial_coherence_, dependencies_;
    Relation one_range_;  // morally strong, and of the same bytes
    Order program_loc_;   // program order of the same bytes, closed
    // Kept, so that nothing is allocated for each question.
    Relation direct_, patterns_, preserved_, scratch_;
};

}  // namespace sassemu::ptx
