// SPDX-License-Identifier: Apache-2.0
// The plugin `profile`: how often each instruction ran, with how many lanes, and what its accesses
// cost. What belongs here: what is counted, and the callbacks. Reports are made in report.cpp.
#pragma once

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sassemu/plugin.hpp>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "folder.hpp"

namespace profiling {

// What records tell.
struct Cost {
    uint64_t diverged = 0;  // branches: times that some lanes of the path took it and some did not
    uint64_t requests = 0;  // accesses of warps, by whichever rule applies
    uint64_t passes = 0, ideal_passes = 0;    // shared memory
    uint64_t sectors = 0, ideal_sectors = 0;  // global memory
    uint64_t atomics = 0, contention = 0;     // requests; lanes at the most wanted address, summed

    void add(const Cost& one) {
        diverged += one.diverged;
        requests += one.requests;
        passes += one.passes;
        ideal_passes += one.ideal_passes;
        sectors += one.sectors;
        ideal_sectors += one.ideal_sectors;
        atomics += one.atomics;
        contention += one.contention;
    }
};

struct Metrics : Cost {
    sassemu_count count{};
    uint64_t waits = 0, waited = 0;  // barriers: warps that waited, and for how many instructions
    uint64_t failed = 0;             // tests of an mbarrier that found the phase not over
};

// What of an instruction decides how its accesses are served.
struct Trait {
    bool copies = false;  // LDGSTS: to shared memory from global
    bool wide = false;    // LDG, STG of 256 bits: accesses of up to 16 bytes
    bool twice = false;   // compare and swap: a pass to read, one to write
    bool once = false;    // compare and set: of lanes that meet in a bank the rest fail
    bool counts = false;  // adds how many lanes there are, so lanes of a word are served together
    uint16_t operands =
        0;  // tensor core, four warps together: passes for what lies in shared memory
};

// Launches of one kernel of one module, added up.
struct Kernel {
    std::string name, arch;
    sassemu_module module;
    sassemu_launch_info first;  // of the first launch
    uint64_t launches = 0;
    std::vector<Metrics> at;  // by index in the module
    std::vector<Trait> trait;
};

class Profiler : public sassemu::Plugin {
  public:
    static constexpr auto name = "profile",
                          summary = "counts what runs, by instruction and source line";
    static constexpr auto threading = SASSEMU_FREE;
    static constexpr bool in_flight = true;
    static constexpr uint64_t sync_ignored =
        ~(uint64_t{1} << SASSEMU_SYNC_BARRIER_ARRIVE |
          uint64_t{1} << SASSEMU_SYNC_BARRIER_COMPLETE | uint64_t{1} << SASSEMU_SYNC_MBARRIER_TEST);
    static constexpr sassemu_option options[] = {
        {"kernel", "NAME", "only launches of this kernel (symbol, name or pattern); repeatable"},
        {"memory", "0|1", "banks, sectors, contention, branches (1)"},
        {"top", "N", "rows of each table of the text (10)"},
        {"json", "FILE", "all of it as JSON"},
        {"html", "FILE", "a page that needs nothing else"},
        {"directory", "FOLDER", "sources in the page come from there; repeatable"}};

    explicit Profiler(const sassemu::Start& start);
    ~Profiler();
    void launch_begin(sassemu_launch l);
    void launch_end(sassemu_launch l, const char* status);
    uint32_t select(sassemu_insn i);
    void records(const sassemu_records& r);
    void sync(const sassemu_sync& s);
    void cta_end(sassemu_cta c);
    void counts(sassemu_launch l, const sassemu_counts& c);
    void finish();

  private:
    struct Arrival {
        uint32_t insn, barrier;
        uint64_t clock;
    };
    // What an LDGSTS loads.
    struct Half {
        uint32_t insn = 0, lanes = 0;
        uint64_t from[32];
        Half() = default;
        Half(const sassemu_recorded_access& a, const uint64_t* addresses, uint32_t at);
    };
    uint32_t index(sassemu_insn i) const {
        return static_cast<uint32_t>(host.insn_code_offset(i) / 16);
    }
    Trait trait_of(sassemu_insn i) const;
    struct Running;
    static Cost cost(const Running& of, const sassemu_recorded_access& a, const uint64_t* addresses,
                     Trait trait, uint32_t rank);
    static Cost cost_of_copy(const sassemu_recorded_access& store, const uint64_t* addresses,
                             const Half& load);
    bool take_half(sassemu_cta c, Half& half);
    struct Tally;
    Running* running(sassemu_launch l);
    Running* running(sassemu_cta c) { return running(info(c).launch); }
    Tally& tally(Running& of);
    nlohmann::ordered_json kernel_json(const Kernel& k) const;
    std::string text(const nlohmann::ordered_json& all) const;
    void write(const std::string& file, const std::string& content) const;

    std::vector<std::string> kernels_;
    std::vector<sassemu::sources::Folder> folders_;
    const bool memory_;
    const uint64_t top_;
    const std::string json_, html_;
    std::vector<std::string> met_;  // names of all kernels that were launched
    std::vector<std::unique_ptr<Kernel>> all_;
    std::mutex mutex_;  // of what follows, and of Kernel::at
    std::map<sassemu_launch, std::unique_ptr<Running>> running_;  // in flight
    std::unordered_map<sassemu_cta, std::vector<Arrival>> arrivals_;
    std::unordered_map<sassemu_cta, Half> halves_;  // of copies that a block parts
};

}  // namespace profiling
