// SPDX-License-Identifier: Apache-2.0
// How order between threads comes about: what each lane knows, what it has released, what it may
// acquire. What belongs here: releasing, acquiring, fences, barriers, each with its scope. What
// does not: accesses to data (shadow.hpp), and what an instruction means (meaning.hpp).
//
// Every lane carries the same knowledge several times, under different rules. The proper ones
// decide; the lax ones say afterwards which link was missing: what a rule without it orders, and
// the proper one does not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "view.hpp"

namespace check_sync {

enum Rule : uint32_t {
    for_global,  // proper, data in global memory
    for_shared,  // proper, data in shared memory (fences and copies may order shared memory alone)
    by_letter,   // proper, and lanes of a warp are ordered by explicit barriers only
    for_init,    // proper, of mbarrier.init: fence.mbarrier_init counts
    to_async,    // generic accesses that a proxy fence has shown to the async proxy, by whomever
    to_async_strict,  // the same, the fence executed by the thread that made the access
    any_scope,        // release and acquire must be there; how far they reach does not matter
    acquire_given,    // as if every read acquired
    release_given,    // as if every write released
    executed,         // whatever is known to have been executed before
    sc_given,         // what a fence.sc has behind it that comes before: see Order::sc_release
    sc_seen,          // what a fence.sc here learns: it comes behind those that gave it
    sc_given_sys,     // the same of fence.sc.sys, for those on other GPUs and on the host
    sc_seen_sys,
    map_given,        // what a fence.proxy.tensormap has released
    sent,             // what a fence of the own CTA's puts in order on its way to one PE of NVSHMEM
    delivered,        // proper, for global memory, were nvshmem_fence() no fence
    let_go,           // proper, of reads and of what copies do: see Order::lets_go
    without_meeting,  // proper, for global memory, had there not been the last barrier that the
                      // lanes were at
    rules
};

// Rules that know only what a fence of their kind has shown, not all that a thread does.
constexpr bool by_fence(uint32_t rule) {
    return rule == to_async || rule == to_async_strict || rule == sc_given || rule == sc_seen ||
           rule == sc_given_sys || rule == sc_seen_sys || rule == map_given || rule == sent;
}

// How far an operation reaches, or how far apart two threads are.
enum Reach : uint32_t { cta, cluster, gpu, sys, reaches };

using Knowledge = std::array<View, rules>;

// Where a thread runs. The host is a GPU of its own.
constexpr uint32_t of_host = ~0u, of_streams = of_host - 1;
struct Place {
    uint64_t cta = 0, cluster = 0;
    uint32_t gpu = 0;
    Reach apart(const Place& other) const {
        return cta == other.cta           ? Reach::cta
               : cluster == other.cluster ? Reach::cluster
               : gpu == other.gpu         ? Reach::gpu
                                          : Reach::sys;
    }
};

// Something released: by one place, and what it gives to a reader that is so far away.
struct Edge {
    Place from;
    std::array<Knowledge, reaches> gives;
    std::array<uint32_t, reaches> fence{};  // whose snapshot that is; 0: the operation itself
};

// A word that threads synchronise through: an atomic, a flag, a phase of an mbarrier, a barrier.
struct Channel {
    std::vector<Edge> edges;                                   // at most one per CTA
    std::unordered_map<uint64_t, std::vector<uint32_t>> near;  // cluster -> its edges
    std::vector<uint32_t> fences;  // of all edges, those that reach the whole GPU
    // What all of them give to any reader of their GPU, and on other GPUs and the host.
    std::vector<std::pair<uint32_t, Knowledge>> everywhere;
    Knowledge beyond;
    Knowledge& in_gpu(uint32_t gpu) {
        for (auto& [of, gives] : everywhere)
            if (of == gpu) return gives;
        return everywhere.emplace_back(gpu, Knowledge{}).second;
    }
    View any_scope, executed, release_given;  // of all of them, how far they reach aside
    View let_go;                              // see Order::lets_go
    uint32_t insn = 0;                        // the last one that released
    struct Told {                             // by a warp, without a release of its own
        uint64_t changes = 0;
        uint32_t lanes = 0;
        Reach reach = cta;
    };
    std::unordered_map<uint32_t, Told> told;
    Edge& from(const Place& place);
    void clear() { *this = Channel{}; }
};

// Lanes of one warp that know the same.
struct Group {
    uint32_t lanes = 0;
    Knowledge now;
    std::array<Knowledge, reaches> released;  // as of the last fence of at least that reach
    Knowledge released_shared;  // of the last fence for shared memory alone (reach: cluster)
    std::array<uint32_t, reaches> fence{};  // its instruction
    uint32_t shared_fence = 0;
    std::array<Knowledge, reaches> acquirable;  // read from that far away, and not acquired yet
    View acquirable_any, acquirable_given;
    bool acquirable_from[reaches] = {};  // something came from that far away
    uint32_t from = 0, to = 0;           // the last edge that came in: instructions
    View maps;                           // what fence.proxy.tensormap has shown to its proxy
    View before_maps;                    // what was in order before the last one
    View tensor;           // what was executed before the last tcgen05.fence::after_thread_sync
    View before_meeting;   // while a cluster's barrier is left
    uint32_t met = 0;      // the last barrier that they were at: Order::meeting
    uint64_t version = 0;  // of what is proper in `now`: another one whenever that has changed
    uint64_t changes = 0;  // of all of it
};

// What a look into `now` has shown; see Checker::knows.
struct Known {
    uint64_t version = ~uint64_t{0};
    Entry entry{};
    uint32_t unaided = 0;  // up to this epoch the last barrier was not needed for it
};

struct Copy;

// What the lanes that issue an asynchronous operation know by the lax rules.
struct Issue {
    View executed, release_given;
    bool same(const Issue& other) const {
        return executed.same(other.executed) && release_given.same(other.release_given);
    }
};

// Registers of a thread.
struct Registers {
    std::array<uint64_t, 4> bits{};
    bool meets(const Registers& o) const {
        return bits[0] & o.bits[0] || bits[1] & o.bits[1] || bits[2] & o.bits[2] ||
               bits[3] & o.bits[3];
    }
    Registers operator&(const Registers& o) const {
        Registers r;
        for (size_t i = 0; i < bits.size(); ++i) r.bits[i] = bits[i] & o.bits[i];
        return r;
    }
    void operator|=(const Registers& o) {
        for (size_t i = 0; i < bits.size(); ++i) bits[i] |= o.bits[i];
    }
    bool operator==(const Registers&) const = default;
};

// What a warp knows of its warpgroup's wgmma.
struct Wgmma {
    struct Pending {
        uint32_t insn, group;
        Registers read, written;
    };
    uint32_t groups = 0;               // that the warp has closed
    std::vector<Pending> pending;      // not waited for
    Registers read, written;           // of all of those
    Registers touched;                 // by other instructions since the last wgmma.fence,
    std::map<uint32_t, Registers> by;  // and by which
    uint32_t awaited = 0;              // the last group that it has waited for
};

struct Warp {
    uint32_t id = 0;  // from 1; components are made of it
    uint64_t launch = 0;
    Place place;
    uint32_t index = 0;
    uint32_t epoch = 1;
    bool used = false;  // something happened in this epoch
    uint32_t done() const {
        return used ? epoch : epoch - 1;
    }                           // the last epoch in which something did
    std::vector<Group> groups;  // disjoint, together all lanes
    uint32_t classes[32] = {};  // lanes that run together have the same
    uint32_t next_class = 1;
    uint32_t last_active = ~0u;
    bool guarded = false;  // Checker::guarded
    struct Counted {       // for the atomic on that line of PTX, which one lane makes for all
        uint32_t line = 0, lanes = 0;
    } counted[32];
    uint32_t issued = 0;   // lanes of the last instruction on an mbarrier
    Copy* copy = nullptr;  // the LDGSTS that is being issued
    Issue issue;           // of the last copy: what these lanes knew in that epoch
    uint32_t issue_epoch = ~0u, issue_lanes = 0;
    uint32_t texture = 0;  // the last instruction that reads one
    std::vector<std::pair<uint64_t, uint32_t>>
        begun;  // CTAs of the cluster, and the lanes that know that these have begun
    std::map<uint32_t, uint32_t>
        gathering;  // WARPSYNCs before barriers of a CTA, and the lanes that wait there
    uint32_t copies[3][32] = {};  // groups committed: LDGSTS, bulk, tensor units
    // Of bulk copies from the CTA's own shared memory: the last group, its instruction, and the
    // last group that the thread has waited for.
    uint32_t bulk_read[32] = {}, bulk_insn[32] = {}, bulk_waited[32] = {};
    uint32_t tensor[4] = {};  // waits for its loads, for its stores; the last commit before which
                              // it asked for work; commits
    Wgmma wgmma;
    std::array<Known, 32> known;
    struct Stores {  // strong ones, and what fence.sc came behind
        uint64_t key = 0;
        bool any = false, many = false;
        std::vector<uint32_t> fences;
    } stores;
    struct Cut {  // a register in which a barrier's number and count do not fit
        uint32_t reg = 0, lanes = 0, number = 0, count = 0;
    } cut;
    uint32_t membar = 0;  // that was its last act: the instruction, and how far it reaches
    Reach membar_reach = Reach::cta;
    bool membar_sc = false;  // of the whole GPU

    Component threads() const { return id * 4; }
    Component copying() const { return id * 4 + 1; }  // LDGSTS
    Component bulk_writes() const { return id * 4 + 2; }
    Component bulk_reads() const { return id * 4 + 3; }
};
constexpr Component first_mbarrier = 0x80000000;
constexpr bool is_copying(Component who) { return who < first_mbarrier && who % 4 == 1; }  // LDGSTS
constexpr bool is_async(Component who) { return who >= first_mbarrier || who % 4 > 1; }
// tcgen05 of a warp: what it loads from tensor memory, stores there, and has the tensor core do;
// `issue`: that it has asked for that. All but work, of which a commit tells, once more as
// fence::before_thread_sync hands them on.
enum class Tensor : uint32_t { load, store, issue, work, fenced_load, fenced_store, fenced_issue };
constexpr Component first_tensor = 0xc0000000;
constexpr Component tensor_component(uint32_t warp, Tensor kind) {
    return first_tensor + warp * 8 + static_cast<uint32_t>(kind);
}
constexpr Tensor fenced(Tensor kind) {
    return static_cast<Tensor>(static_cast<uint32_t>(kind) + 4);
}
constexpr Tensor tensor_kind(Component who) { return static_cast<Tensor>(who % 8); }
constexpr uint64_t tensor_block(uint64_t cta) {
    return cta | uint64_t{1} << 63;
}  // in place of its shared memory
constexpr uint32_t tensor_warp(Component who) { return (who - first_tensor) / 8; }
constexpr uint32_t grid_epoch = 1;  // of all that a launch before has done

// What an operation asks for.
struct Release {
    bool releases = false;  // itself; otherwise fences before it do
    Reach reach = gpu;
};
struct Acquire {
    bool acquires = false;  // itself; otherwise fences behind it do
    Reach reach = gpu;
    bool chip = false;  // what the chip does by itself: shared memory is not cached, nor is a CTA's
                        // own L1 stale to it
};

// Adds the instruction to those it stands among, once.
void remember(std::vector<uint32_t>& fences, uint32_t insn);

class Order {
  public:
    // Splits the groups of the warp so that each lies within `lanes` or outside, and calls f(group)
    // for those within.
    template <class F>
    void each(Warp& w, uint32_t lanes, F&& f) {
        split(w, lanes);
        for (Group& g : w.groups)
            if (g.lanes & lanes) f(g);
    }
    void merge(Warp& w);  // groups that know the same become one

    // What an arrival at an mbarrier of another CTA tells, whatever it releases, and the issue of a
    // wgmma: that bytes are no longer in use. It comes behind what its thread has read and has seen
    // copies and the tensor core do; not behind what it has written.
    void lets_go(const Warp& w, uint32_t lanes, View& to);
    // To lanes that wait for it.
    void has_let_go(Warp& w, uint32_t lanes, const View& from);
    // To be followed by next(), once for all channels that an instruction releases to.
    void release(Warp& w, uint32_t lanes, const Release&, uint32_t insn, Channel& to,
                 bool barrier = false);
    // All that a launch has done is over, by the letter or by chance.
    void await_grid(Warp& w, uint32_t lanes, Component grid, bool letter);
    // What has ended, `known` to every rule; `shown`: to the async proxy.
    void behind(Warp& w, const View& known, const View& shown);
    void next(Warp& w) { w.epoch += std::exchange(w.used, false); }
    void move(Channel& from, Channel& to);  // adds all of it
    // What an asynchronous operation gives when it completes: itself, and by the lax rules what its
    // thread had done when it issued it.
    Issue issue(const Warp& w, uint32_t lanes);
    void release_copy(const Place& place, const Issue& by, const Knowledge& seen, const Entry& copy,
                      uint32_t insn, Channel& to);
    // And a commit of tcgen05 (`seen`): the work that it waits for comes behind what its thread has
    // seen other asynchronous operations do, a copy that has filled a stage. What threads do
    // themselves needs a release.
    Knowledge commit(const Warp& w, uint32_t lanes);
    void acquire(Warp& w, uint32_t lanes, const Acquire&, const Channel& from, uint32_t insn);
    // Lanes that have met at a barrier of their CTA, `others` that have arrived and gone on, and
    // those that have exited: by the letter these are not at it.
    struct Arrival {
        Warp* warp;
        uint32_t lanes, epoch, insn;
    };
    void meet(const std::vector<Arrival>& arrived, const Channel& others,
              const Channel& exited = {});
    // For what is stronger than was needed: a barrier where these instructions met; `level` of what
    // is in order thanks to nothing but a group's last one.
    enum Level {
        level_none = -1,
        level_warp,
        level_cta,
        level_cluster,
        level_meeting = level_cluster
    };
    uint32_t meeting(std::vector<uint32_t> insns);
    void need(uint32_t meeting, int level);
    void has_met(Group& g, uint32_t meeting, const View& before);
    // `reaches`: what was asked for reaches whoever tells of it.
    void know(Warp& w, uint32_t lanes, const Entry& entry, const Acquire&, bool reaches = true);

    enum Restrict { everything, shared_memory, mbarrier_init };
    void release_fence(Warp& w, uint32_t lanes, Reach, Restrict, uint32_t insn);
    // nvshmem_fence(): a fence of the machine, but by its own rules it completes nothing, and what
    // threads of the CTA (`of_cta`) have sent is in order with what is sent later to the same PE.
    void nvshmem_fence(Warp& w, uint32_t lanes, uint32_t insn,
                       const std::function<bool(Component)>& of_cta);
    void acquire_fence(Warp& w, uint32_t lanes, Reach, Restrict, uint32_t insn);
    // generic -> async: for accesses in shared and/or global memory.
    void proxy_fence(Warp& w, uint32_t lanes, bool shared, bool global);
    void tensormap_release(Warp& w, uint32_t lanes);
    void tensormap_fence(Warp& w, uint32_t lanes);
    // fence.sc: all of them have one order, which causality keeps to. So one that comes behind a
    // read of what was written behind another comes behind that other, whoever executed which and
    // however weak the read and the write are.
    void sc_release(Warp& w, uint32_t lanes, Reach, uint32_t insn);
    void sc_acquire(Warp& w, uint32_t lanes, Reach);
    // tcgen05: loads or stores have been issued; they are done; the fences around a synchronisation
    // of threads.
    void tensor_issued(Warp& w, uint32_t lanes, Tensor kind);
    void tensor_work(Warp& w, uint32_t lanes);
    void tensor_done(Warp& w, uint32_t lanes, Tensor kind);
    void tensor_before_sync(Warp& w, uint32_t lanes);
    void tensor_after_sync(Warp& w, uint32_t lanes);
    // Lanes that go on together, with or without a barrier in the text.
    void together(Warp& w, uint32_t lanes, bool stated);

    // The instruction of a fence -> how far what it released was used; for what is stronger than
    // was needed.
    std::map<uint32_t, int> release_used, acquire_used, barrier_used, proxy_used;
    // fence.sc whose own order was relied on, or that stands between a strong store and a strong
    // load of another word.
    std::set<uint32_t> sc_used;
    void strong_store(Warp& w, uint64_t key);
    void strong_load(Warp& w, uint64_t key);

  private:
    void split(Warp& w, uint32_t lanes);
    void join_all(Knowledge& to, const Knowledge& from);
    void give_all(Channel& to, const Edge& edge, Reach reach);
    void add(Knowledge& to, const Entry& entry);
    Joiner joiner_;
    struct Meeting {
        std::vector<uint32_t> insns;
        int level;
    };
    std::vector<uint32_t> sc_fences_;                            // instructions that released
    std::vector<Meeting> meetings_{Meeting{{}, level_cluster}};  // the first is none
    std::map<std::vector<uint32_t>, uint32_t> meeting_numbers_;
    void changed(Group& g) { g.version = g.changes = ++versions_; }
    uint64_t versions_ = 0;
};

// Components of accesses in a proxy view: one per space.
constexpr Component in_space(Component who, bool shared) { return who * 2 + shared; }

}  // namespace check_sync
