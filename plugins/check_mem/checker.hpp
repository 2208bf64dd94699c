// SPDX-License-Identifier: Apache-2.0
// The checker of memory: follows which bits have no value (plugins/follow, whose marks are that),
// and asks where it matters. What belongs here: its state. barriers.cpp looks at barriers,
// report.cpp tells.
//
// An undefined value may be moved, stored and computed with. It matters where it decides: in an
// address, a condition of a branch, the guard of an access; and where the host reads it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "columns/columns.hpp"
#include "findings/findings.hpp"
#include "floats.hpp"
#include "follow/follower.hpp"

namespace check_mem {

using follow::Cta;
using follow::each_lane;
using follow::Extent;
using follow::Instruction;
using follow::Origin;
using follow::Place;
using follow::Step;
using follow::Transfer;
using follow::unnamed;
using follow::Warp;

enum class Kind : uint8_t {
    out_of_bounds,
    use_after_free,
    misaligned,
    stack_overflow,
    invalid_free,
    leak,
    address,
    condition,
    output,
    load,
    barrier,
    mbarrier,
    unknown_name
};
constexpr size_t kinds = static_cast<size_t>(Kind::unknown_name) + 1;

struct Birth {         // of undefined values
    std::string what;  // "R5, which nothing has written", "shared memory at 0x40, ..."
    std::string thread;
    sassemu_insn insn = nullptr;    // that read it
    sassemu_insn stored = nullptr;  // that put it in memory, the first
};

// What is watched of a CTA beside its marks.
struct Watched {
    struct OfWarp {
        std::vector<std::pair<sassemu_insn, uint32_t>> meeting;  // lanes that wait at a WARPSYNC
        SpecialRegisters special;                                // with fp=1
        std::vector<uint32_t> operands;                          // of the UTCATOMSWS at work
    };
    std::vector<OfWarp> warps;
    struct Accessed {  // with fp=1: by the instruction at work
        uint32_t op, space, bytes, lane;
        uint64_t address;
    };
    std::vector<Accessed> accessed;
    struct Waiting {
        uint64_t id;
        sassemu_insn insn;
        uint32_t warp, lanes;
    };
    std::vector<Waiting> waiting;                // at barriers
    std::map<uint32_t, sassemu_insn> mbarriers;  // objects, and who initialised them
    columns::Columns columns;                    // of tensor memory that are allocated
};

struct Finding {
    Kind kind{};
    sassemu_insn insn = nullptr;  // where it shows
    Origin origin = unnamed;
    std::string kernel, thread, what;
    uint64_t launch = 0, seed = 0, count = 0;
    bool has_address = false;
    uint64_t address = 0;
};

class Checker final : public follow::Follower {
  public:
    static constexpr auto name = "check-mem";
    static constexpr auto summary =
        "finds accesses out of bounds, leaks, values never initialised, misused barriers";
    static constexpr uint64_t sync_ignored = ~(
        uint64_t{1} << SASSEMU_SYNC_BARRIER_ARRIVE | uint64_t{1} << SASSEMU_SYNC_BARRIER_COMPLETE |
        uint64_t{1} << SASSEMU_SYNC_WARP | uint64_t{1} << SASSEMU_SYNC_MBARRIER_INIT |
        uint64_t{1} << SASSEMU_SYNC_MBARRIER_ARRIVE | uint64_t{1} << SASSEMU_SYNC_MBARRIER_TEST |
        uint64_t{1} << SASSEMU_SYNC_MBARRIER_INVALIDATE);
    static constexpr sassemu_option options[] = {
        findings::json_option,
        findings::sarif_option,
        findings::suppressions_option,
        findings::baseline_option,
        findings::runs_option,
        {"kernel", "NAME", "reports only what launches of this kernel do; repeatable"},
        {"undefined", "NAME[+BYTE]",
         "what this buffer holds at first, from that byte on, has no value; repeatable"},
        {"loads", "0|1", "a load of what was never written is a finding by itself (0)"},
        {"leaks", "0|1", "blocks of the device heap that are never freed are findings (1)"},
        {"fp", "0|1",
         "says where the first NaN, infinity and subnormal number of each output was born (0)"}};

    explicit Checker(const sassemu::Start& start);
    // With fp=1, and of allocations of tensor memory:
    void before(sassemu_warp w, sassemu_insn i, uint32_t lanes);
    void after(sassemu_warp w, sassemu_insn i, uint32_t lanes);

    void launch_begin(sassemu_launch l);
    void launch_end(sassemu_launch l, const char* status);
    void cta_begin(sassemu_cta c);
    void cta_end(sassemu_cta c);
    uint32_t select(sassemu_insn i);
    void sync(const sassemu_sync& s);
    void allocate(const sassemu_allocation& a);
    void heap(const sassemu_heap_block& b);
    void host_access(uint64_t address, uint64_t bytes, uint32_t is_write);
    void fault(const sassemu_fault_info& f);
    void finish();

  private:
    struct Block {  // of the device heap
        uint64_t bytes = 0, launch = 0;
        sassemu_insn insn = nullptr;
        std::string thread, kernel;
    };
    static constexpr const char* heap_name = "device heap";
    // From which byte on the option says that its first contents have no value.
    uint64_t undefined_from(const Extent& e) const;
    Watched& watched(const Cta& c) { return watched_[c.handle]; }
    // Of what follows marks.
    Origin born(const Step& s, uint32_t row, uint32_t lane) override;
    Origin born(const Step& s, uint32_t lane, uint32_t space, uint64_t address,
                const Place& p) override;
    Origin born_of_copy(const char* space, uint64_t address, sassemu_insn insn) override;
    Origin both(Origin a, Origin) override { return a; }
    bool decides(const Step& s, uint32_t row, uint32_t lanes, bool condition) override;
    void stored(Origin o, sassemu_insn insn) override {
        if (!births_[o].stored) births_[o].stored = insn;
    }
    void outside(const Step& s, const sassemu_recorded_access& a, const uint64_t* at) override;
    void seen(Cta& c, const sassemu_records& r) override;
    // barriers.cpp
    void mbarrier(const sassemu_sync& s);
    // tensor_memory.cpp
    void change_columns(Cta& c, sassemu_warp handle, uint32_t warp, sassemu_insn insn,
                        uint32_t lanes);
    void left_columns(Cta& c);
    // floats.cpp
    static Format format_of(const Instruction& i) { return static_cast<Format>(i.tag); }
    uint32_t special_birth(const Step& s, uint32_t lane, Special kind, bool brought,
                           uint32_t parent);
    uint64_t special_key(Cta& c, uint32_t warp, uint32_t lane, uint32_t space, uint64_t address);
    void special_output(const Extent& e, uint64_t base, uint64_t low, uint64_t high);
    void tell_specials();
    // report.cpp
    Origin birth(std::string key, std::string what, std::string thread, sassemu_insn insn);
    Finding* found(Kind kind, sassemu_insn insn, Origin origin = unnamed);
    std::string thread_text(const Cta& c, uint32_t warp, uint32_t lane) const;
    std::string thread_text(const Step& s, uint32_t lane) const {
        return thread_text(s.cta, s.warp_index, lane);
    }
    void leaks();
    void tell(const Finding& f);

    findings::Report report_;
    std::vector<std::string> kernels_;
    bool selected_ = true;                       // the launch at hand is of one of these
    std::map<std::string, uint64_t> undefined_;  // buffers, from a byte on
    const bool loads_, leaks_, fp_;
    std::set<std::string> met_, buffers_;  // kernels that were launched; names of allocations
    std::unordered_map<sassemu_cta, Watched> watched_;
    std::map<uint64_t, Block> blocks_;
    std::vector<Birth> births_{Birth{}};
    std::map<std::string, Origin> birth_of_;
    std::map<std::tuple<Kind, sassemu_insn, Origin>, Finding> findings_;
    static constexpr size_t most_passed = 32;
    std::vector<SpecialBirth> specials_{SpecialBirth{}};
    std::map<std::tuple<sassemu_insn, Special, bool>, uint32_t> special_of_;
    std::unordered_map<uint64_t, uint32_t> special_memory_;  // by word
    struct SpecialOutput {
        uint32_t birth;
        std::string buffer;
        uint64_t byte, words;
    };
    std::vector<SpecialOutput> special_outputs_;
    std::set<std::pair<std::string, size_t>> special_told_;
};

}  // namespace check_mem
