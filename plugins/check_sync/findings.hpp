// SPDX-License-Identifier: Apache-2.0
// What the checker has found: one entry per kind and pair of instructions, with its first
// occurrence in full. What belongs here: the entries, their words, their order. How files of them
// look is in report.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "order.hpp"

namespace check_sync {

constexpr size_t enough_seeds = 100;  // before a fence is called too strong

enum class FindingKind : uint8_t {
    data_race,
    missing_proxy_fence,
    scope_too_narrow,
    missing_release,
    missing_acquire,
    no_memory_order,
    async_reuse,
    uninitialised_read,
    mbarrier_protocol,
    barrier_misuse,
    read_only_data,
    missing_map_fence,
    missing_wgmma_fence,
    fence_for_quiet,
    peer_not_ready,
    queue_misuse,
    tensor_memory_leak,
    tensor_memory_misuse
};
constexpr size_t kinds = static_cast<size_t>(FindingKind::tensor_memory_misuse) + 1;
struct KindText {
    const char* name;
    const char* sentence;
    const char* clause;
};
const KindText& text_of(FindingKind);

// One side of a finding, in words; empty where there is none.
struct Side {
    uint32_t insn = 0;
    std::string action;  // "writes", "reads", "atomically adds", "copies to"
    std::string thread;  // "thread 5 of CTA 0 (warp 0, lane 5; cluster 0)"
    std::string proxy;   // "generic", "async"
    std::string space;   // "shared", "global"
    uint64_t address = 0;
    uint32_t bytes = 0;
    uint64_t cta = 0, cluster = 0;  // linear; of the thread
    std::string before, after;      // values
};

struct Finding {
    FindingKind kind{};
    bool common = true;  // wrong by what is commonly relied on as well, not by the letter only
    Side first, second;
    std::string path;     // the order that there is
    std::string missing;  // the link that is not
    std::string repair;
    std::string clause;  // of the specification, where it is another one than the kind's
    uint64_t count = 0;
    uint64_t seed = 0;  // of the run that showed it first
    uint64_t launch = 0;
    std::string kernel;
    bool shared = false;  // of shared memory, of CTA `owner`
    uint64_t owner = 0;
    uint32_t used = 0;      // uninitialised read: the instruction that uses the value
    std::string used_for;   // what for
    std::string relied_on;  // why it is wrong by the letter only
};

inline std::string clause_of(const Finding& f) {
    return f.clause.empty() ? text_of(f.kind).clause : f.clause;
}

// What would do in place of a fence or a barrier.
struct Weaker {
    bool gone = false, without_sc = false, release_only = false, within_warp = false;
    Reach reach = sys;
};

// A fence or barrier that may be weaker than it is, by what was observed.
struct TooStrong {
    uint32_t insn = 0;
    std::vector<uint32_t> insns;  // all of that line
    Weaker weaker;
    uint64_t tried = 0;  // runs in which all was in order with that in its place
    std::string what;  // "fence", "cache invalidation", "proxy fence", "barrier", "cluster barrier"
    std::string is,
        would_do;  // as written; a scope, "acq_rel.gpu" of a fence.sc, "release" of an acq_rel
                   // fence, "warp", or "none"
    std::string sentence() const {
        const std::string all = "all that was observed needs this " + what;
        if (would_do == "none") return "nothing that was observed needs this " + what;
        if (would_do == "release") return all + " for its release only: fence.release would do";
        if (would_do.starts_with("acq_rel."))
            return all + " as fence." + would_do + ": no order of fence.sc was relied on";
        if (would_do == "warp") return all + " within a warp only: __syncwarp() would do";
        if (what == "cluster barrier") return all + " within a CTA only: __syncthreads() would do";
        return all + " at scope ." + would_do + " only";
    }
};

// kind, whether by the letter only, the two instructions
using FindingKey = std::tuple<FindingKind, bool, uint32_t, uint32_t>;
using Findings = std::map<FindingKey, Finding>;

}  // namespace check_sync
