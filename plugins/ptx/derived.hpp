// SPDX-License-Identifier: Apache-2.0
// The relations that the memory consistency model derives: synchronizes, base causality, causality,
// coherence, from-read. What belongs here: one function or member per term of the standard.
#pragma once

#include <map>
#include <string>

#include "execution.hpp"

namespace sassemu::ptx {

class Derived {
  public:
    Derived(const Execution& x, const Variant& variant, const Options& options);

    // Base causality of two events, with the fences admitted that are restricted to what they
    // touch.
    bool ordered(size_t a, size_t b) {
        return (x_.overlaps(a, b) ? base_between(a, b) : base).has(a, b);
    }

    Relation observation;
    Relation base;       // base causality; unrestricted: of events that no restriction concerns
    Relation causality;  // between memory operations
    Relation coherence;
    Relation from_read;
    Relation coherent_required;  // morally strong pairs that coherence or Fence-SC must order

  private:
    void derive_observation();
    Relation synchronizes(const Set& admitted) const;
    Relation base_causality(const Set& admitted, Relation* core = nullptr) const;
    const Relation& base_between(size_t a, size_t b);
    bool admits(size_t fence, size_t a, size_t b) const;
    bool in_restriction(size_t fence, size_t object) const;
    bool links(size_t fence, size_t access, bool outward) const;
    bool proxy_preserved(size_t a, size_t b, const Relation& base_ab) const;
    void derive_tensor_order();  // tensor_memory.cpp
    void derive_causality();
    void derive_coherence();
    void derive_from_read();

    const Execution& x_;
    const Variant& variant_;
    const Options& options_;
    Relation core_;  // base causality that does not lead into an agent
    Relation tensor_order_;
    Set proxy_fences_;
    std::map<std::vector<bool>, Relation> bases_;
};

}  // namespace sassemu::ptx
