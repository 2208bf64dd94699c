// SPDX-License-Identifier: Apache-2.0
// What a thread knows of what others have done, which is base causality order (PTX ISA, "Memory
// Consistency Model") as far as it leads to the thread's next operation. What belongs here: sets of
// events, handed on. What does not: who hands on what to whom (machine.cpp).
//
// Events have stamps, in the order in which they take place. A thread whose view has (t, s) comes
// after all that t did up to s.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace weak {

using Thread = uint64_t;
using Stamp = uint64_t;

// Shared between all who know the same, until one of them learns more.
class View {
  public:
    using Entry = std::pair<Thread, Stamp>;
    Stamp of(Thread t) const;
    bool knows(Thread t, Stamp s) const { return of(t) >= s; }
    void add(Thread t, Stamp s);
    void join(const View& other);
    // The same of many at once.
    void join(const std::vector<const View*>& views, std::vector<Entry> entries);
    bool includes(const View& other) const { return !other.entries_ || includes(*other.entries_); }
    bool includes(const std::vector<Entry>& by_thread) const;
    const void* identity() const { return entries_.get(); }

  private:
    void put(std::vector<Entry> entries);
    std::shared_ptr<const std::vector<Entry>> entries_;  // by thread; null: none
};

// Under each rule, since fences and proxies may order one kind of access and not another.
enum Rule : uint32_t {
    in_global,     // accesses to global memory
    in_shared,     // accesses to shared memory
    async_global,  // generic accesses that a proxy fence has shown to the async proxy
    async_shared,
    tensormap,  // those that fence.proxy.tensormap has released
    inits,      // of mbarriers: in_shared, and what fence.mbarrier_init has released
    rules
};
using Knowledge = std::array<View, rules>;
void join(Knowledge& to, const Knowledge& from);

// How far an operation reaches, or how far apart two threads are.
enum Reach : uint32_t { cta, cluster, gpu, sys, reaches };

struct Place {
    uint64_t cta = 0;
    uint32_t cluster = 0, gpu = 0;
    bool host = false;
    Reach apart(const Place& other) const {
        if (cta == other.cta && host == other.host) return Reach::cta;
        if (host || other.host || gpu != other.gpu) return Reach::sys;
        return cluster == other.cluster ? Reach::cluster : Reach::gpu;
    }
};

// A thread's knowledge at one of its releases, and itself up to there.
struct Snapshot {
    Knowledge known;
    Thread thread = 0;
    Stamp global = 0, shared = 0, inits = 0;  // its own accesses, up to these
};

// What a strong write gives to who acquires from it: from how far away, which snapshot.
struct Edge {
    Place from;
    Reach reach = cta;     // of the write: strong towards threads that are no farther away
    uint32_t threads = 1;  // so many who know the same, from the snapshots' one on
    std::array<std::shared_ptr<const Snapshot>, reaches> gives;
};
using Edges = std::vector<Edge>;
void add_edge(Edges& to, const Edge& edge);
void add_edges(Edges& to, const Edges& from);  // of barriers: many

}  // namespace weak
