// SPDX-License-Identifier: Apache-2.0
// The plugin `trace`: what runs is put down in rows as it runs (recorder.cpp); blocks are made of
// them elsewhere (writer.hpp). What belongs here: the callbacks' state.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <sassemu/plugin.hpp>
#include <set>
#include <shared_mutex>
#include <unordered_map>

#include "chunk.hpp"
#include "filter.hpp"
#include "shapes.hpp"
#include "writer.hpp"

namespace tracing {

struct WarpState {
    uint64_t number = 0;    // instructions of it so far
    uint64_t recorded = 0;  // of them
};

constexpr uint32_t not_recorded = ~0u;  // in place of an instruction's id

struct LaunchState {
    sassemu_launch_info info{};
    const std::vector<uint32_t>* ids = nullptr;  // of its module's instructions
    bool timed = false;
};

struct CtaState {
    const LaunchState* launch = nullptr;
    uint64_t next_time = 0;  // behind its last record
    std::unique_ptr<Chunk> chunk;
    Shapes shapes;                    // of the chunk's accesses
    const WarpState* last = nullptr;  // whose slice is open
    bool last_recorded = false;       // its last instruction is the chunk's last record
    size_t counted = 0;               // bytes of `chunk` that are in Recorder::held_
    std::vector<WarpState> warps;
};

// What the registers of an instruction are, as trace.proto orders them.
struct RegisterSets {
    std::vector<uint8_t> rows[2], uniform[2], predicates[2];  // read, written
};

// Where a load puts what it reads.
struct LoadResult {
    uint8_t row = SASSEMU_RZ, words = 0;
};

class Recorder : public sassemu::Plugin {
  public:
    static constexpr auto name = "trace", summary = "records what is executed in a file";
    static constexpr auto threading = SASSEMU_FREE;
    static constexpr bool in_flight = true;
    static constexpr uint64_t sync_ignored = uint64_t{1} << SASSEMU_SYNC_SCOREBOARD;
    static constexpr sassemu_option options[] = {
        {"file", "PATH", "where the trace goes (needed)"},
        {"kernel", "NAME", "only launches of this kernel (symbol, name or pattern); repeatable"},
        {"launch", "N|A-B", "only these launches, from 1"},
        {"cta", "N|A-B", "only these CTAs, by linear index"},
        {"warp", "N|A-B", "only these warps of a CTA"},
        {"pc", "N|A-B", "only instructions at these pcs"},
        {"source", "FILE", "only instructions of source files whose path ends so; repeatable"},
        {"lines", "N|A-B", "only instructions of these source lines"},
        {"opcode", "NAME", "only instructions with this opcode, LDG say; repeatable"},
        {"group", "NAME",
         "only these: compute, load, store, atomic, reduce, fence, cache, barrier, mbarrier, "
         "async, "
         "convergence, control; repeatable"},
        {"window", "A-B", "only the A-th to the B-th instruction of each warp, from 0"},
        {"addresses", "0|1", "addresses of accesses (1)"},
        {"values", "0|1", "what accesses read and write (0)"},
        {"registers", "0|1", "registers and predicates before and after each instruction (0)"},
        {"events", "0|1",
         "barriers, mbarriers, asynchronous operations, faults, the host, copies in streams, what "
         "happens in the memory model (1)"},
        {"skipped", "0|1", "instructions whose guard is false in all lanes, too (0)"},
        {"level", "1..19", "of the compression (3)"},
        {"threads", "N", "that compress (2)"}};

    explicit Recorder(const sassemu::Start& start);
    void launch_begin(sassemu_launch l);
    void launch_end(sassemu_launch l, const char* status);
    void cta_begin(sassemu_cta c);
    void cta_end(sassemu_cta c);
    uint32_t select(sassemu_insn i);
    void before(sassemu_warp w, sassemu_insn i, uint32_t lanes);
    void after(sassemu_warp w, sassemu_insn i, uint32_t lanes);
    void records(const sassemu_records& r);
    void sync(const sassemu_sync& e);
    void async(const sassemu_async& e);
    void fault(const sassemu_fault_info& f);
    void host_access(uint64_t address, uint64_t bytes, uint32_t is_write);
    void client(const sassemu_client_access& a);
    void model(const sassemu_model_event& e);
    void allocate(const sassemu_allocation& a);
    void release(const sassemu_allocation& a);
    void finish();

  private:
    bool flag(const sassemu::Start& start, const char* key, bool otherwise) const;
    CtaState* find(sassemu_cta c);
    CtaState* recorded_last(const sassemu_warp_info& w);
    void allocation(const sassemu_allocation& a, bool released);
    void loaded(const sassemu_sync& s, uint32_t warp);
    template <class Fill>
    void outside(Fill&& fill);
    void give_outside();
    void report_filters();
    bool record(CtaState& c, const sassemu_record& r, uint64_t time, uint32_t& skipped);
    void access(CtaState& c, const sassemu_records& block, const sassemu_recorded_access& a,
                uint32_t record, uint32_t step);
    void give(CtaState& c);
    void count(CtaState& c);
    void define(std::function<void(sassemu::trace::Block&)> fill);
    void define_instructions();
    void take(sassemu_warp w, sassemu_insn i, uint32_t lanes, bool written,
              std::vector<uint32_t>& to);
    sassemu::trace::Event* event(sassemu_cta c);

    const std::string file_;
    const Filter filter_;
    const bool addresses_, values_, registers_, events_, skipped_;
    Writer writer_;
    std::atomic<size_t> held_{0};                      // bytes of open chunks
    std::atomic<uint64_t> time_{0};                    // warp instructions that were recorded
    std::atomic<bool> launched_{false}, kept_{false};  // something was launched, recorded

    std::shared_mutex running_mutex_;
    std::unordered_map<sassemu_launch, std::unique_ptr<LaunchState>> launches_;  // in flight
    std::unordered_map<sassemu_cta, std::unique_ptr<CtaState>> ctas_;
    std::set<std::string> met_;  // kernels that were launched, if a filter names some
    // Filled while code is loaded; elements stay where they are.
    std::unordered_map<sassemu_module, std::vector<uint32_t>> ids_;  // by index in the module
    std::unordered_map<sassemu_insn, RegisterSets> sets_;            // with registers
    std::unordered_map<sassemu_insn, LoadResult> loads_;             // with values

    uint32_t instructions_ = 0;
    std::vector<sassemu::trace::Instruction> undefined_;  // not yet in the file
    std::mutex order_;  // of these two: definitions come before what needs them
    std::mutex outside_mutex_;
    sassemu::trace::Outside outside_;
};

}  // namespace tracing
