// SPDX-License-Identifier: Apache-2.0
// An execution graph as the axioms want it: sets of events and primitive relations, read once from
// the C structs; what its reads take and what was chosen may change then. What belongs here:
// everything that follows from one or two events alone, and the names of it. What does not:
// relations that the standard defines (derived.cpp) and axioms.
#pragma once

#include <sassemu/consistency.h>

#include <optional>
#include <vector>

#include "relation.hpp"

namespace sassemu::ptx {

// The differences between the texts of the standard.
struct Variant {
    const char* name;
    const char* summary;
    bool proxies;             // PTX 7.5: proxies and virtual aliases
    bool po_is_causal;        // PTX 7.5: program order alone is base causality
    bool observation_po_loc;  // PTX 6.0: observation ; po-loc is causality
    bool sc_per_location;     // left out of the formalisation of 7.5
    bool current;             // the current text: asynchronous operations, restricted fences
};

struct Options {
    bool graphics = false;  // texture, surface and constant proxies in the current text
    bool relied = false;  // readings that kernels commonly rely on, where they differ from the text
};

struct ByteSource {
    size_t write, read;
    uint64_t first, end;
};

class Execution {
  public:
    // Nothing when the graph is malformed (an event number out of range, a struct too small).
    static std::optional<Execution> read(const SassemuGraph& graph, const Variant& variant);
    // What its reads take and what was chosen, from now on. False: an event number is out of range.
    bool take(const SassemuReadsFrom* from, size_t count, const SassemuEdges& chose);

    const SassemuEvent& event(size_t i) const { return events[i]; }
    bool is(size_t i, uint32_t kinds) const { return events[i].kind & kinds; }
    bool overlaps(size_t a, size_t b) const;
    bool same_range(size_t a, size_t b) const;
    bool same_address(size_t a, size_t b) const;  // overlapping, through one virtual address
    bool same_cta(size_t a, size_t b) const { return events[a].cta == events[b].cta; }
    // Whether the scope of a includes the thread of b.
    bool includes(size_t a, size_t b) const;

    size_t n = 0;
    std::vector<SassemuEvent> events;
    std::vector<ByteSource> bytes_from;

    Set reads, writes, memory, inits, fences, strong;
    Set releasing_writes;  // release operations on memory or on a barrier
    Set acquiring_reads;
    Set strong_writes, strong_reads;  // arrivals and waits are among them
    Set releasing_fences, acquiring_fences, sc_fences, restricted_fences;

    Relation po, rf, rmw, dependency, pairing, spawn, agent_order, completion, chosen;
    Relation po_loc;  // program order between accesses through one address
    Relation morally_strong;

  private:
    bool current_ = false;
    void read_sets();
    void read_order(const Variant& variant);
};

}  // namespace sassemu::ptx
