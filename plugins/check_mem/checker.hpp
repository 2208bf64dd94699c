// SPDX-License-Identifier: Apache-2.0
// The checker of memory: follows which bits have a value, and asks where it matters. What belongs
// here: its state. execute.cpp goes through what ran, transfer.cpp and accesses.cpp say what that
// does to definedness, barriers.cpp looks at barriers and at copies, report.cpp tells.
//
// An undefined value may be moved, stored and computed with. It matters where it decides: in an
// address, a condition of a branch, the guard of an access; and where the host reads it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "code.hpp"
#include "findings/findings.hpp"
#include "floats.hpp"
#include "shadow.hpp"

namespace check_mem {

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

struct Warp {
    Registers registers;
    Shadow local;                                            // of all lanes, one behind the other
    std::vector<std::pair<sassemu_insn, uint32_t>> meeting;  // lanes that wait at a WARPSYNC
    uint64_t local_bytes = 0;
    SpecialRegisters special;        // with fp=1
    std::vector<uint32_t> granules;  // operands of the UTCATOMSWS at work
};

struct Cta {
    sassemu_cta handle = nullptr;
    sassemu_launch launch = nullptr;
    uint64_t serial = 0;  // among all CTAs of the run
    sassemu_dim3 id{};
    uint64_t linear = 0;
    uint32_t rank = 0;
    Shadow shared;
    std::vector<Warp> warps;
    // Of the last instruction that was executed: accesses may come behind it.
    Warp* last_warp = nullptr;
    uint32_t last_index = 0;
    const Instruction* last = nullptr;
    // What the reading half of an LDGSTS has found: undefined bytes of each lane.
    uint32_t copied[32] = {};
    Origin copied_from[32] = {};
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
    struct Granule {                             // of tensor memory, and who allocated it
        sassemu_insn insn = nullptr;
        std::string thread;
    } allocated[16];
    uint32_t granules = 0;  // those that are
};

struct Finding {
    Kind kind{};
    sassemu_insn insn = nullptr;  // where it shows
    Origin origin = never_written;
    std::string kernel, thread, what;
    uint64_t launch = 0, seed = 0, count = 0;
    bool has_address = false;
    uint64_t address = 0;
};

class Checker : public sassemu::Plugin {
  public:
    static constexpr auto name = "check-mem";
    static constexpr auto summary =
        "finds accesses out of bounds, leaks, values never initialised, misused barriers";
    static constexpr auto threading = SASSEMU_SERIAL;
    static constexpr bool in_flight = true;
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
    void records(const sassemu_records& r);
    void sync(const sassemu_sync& s);
    void async(const sassemu_async& a);
    void allocate(const sassemu_allocation& a);
    void release(const sassemu_allocation& a);
    void heap(const sassemu_heap_block& b);
    void client(const sassemu_client_access& a) { in_stream_ = a.kind != SASSEMU_AGENT_HOST; }
    void host_access(uint64_t address, uint64_t bytes, uint32_t is_write);
    void fault(const sassemu_fault_info& f);
    void finish();

  private:
    struct Extent {  // an allocation
        uint64_t end = 0;
        std::string name;
        bool is_heap = false;
        uint64_t undefined_from = ~uint64_t{0};  // by the option, of its first contents
        Shadow shadow;
    };
    struct Block {  // of the device heap
        uint64_t bytes = 0, launch = 0;
        sassemu_insn insn = nullptr;
        std::string thread, kernel;
    };
    struct Place {
        Shadow* shadow = nullptr;  // NULL: nothing is known of it
        uint64_t at = 0;
    };
    struct Flow {  // what an operation has read and not written yet
        uint64_t bytes = 0;
        struct Part {
            uint64_t at, bytes;
            Origin origin;
        };
        std::vector<Part> undefined;
    };
    struct Step {  // an instruction at work
        Cta& cta;
        Warp& warp;
        uint32_t warp_index;
        const Instruction& i;
        uint32_t lanes, active;
    };

    // The launch that the callback at hand is about; a CTA's, if that is ours (else null).
    void enter(sassemu_launch l);
    Cta* enter(sassemu_cta c);

    // execute.cpp
    void execute(Cta& c, Code& code, const sassemu_records& r, const sassemu_record& record,
                 const sassemu_recorded_access* a, const sassemu_recorded_access* end);
    // accesses.cpp
    Extent* extent(uint64_t address);
    Place place(Cta& c, Warp& w, uint32_t lane, uint32_t space, uint64_t address);
    bool quick(Cta& c, Warp& w, const Instruction& i, const sassemu_recorded_access& a,
               const uint64_t* at);
    bool quick_shared(Shadow& s, const sassemu_recorded_access& a, const uint64_t* at,
                      uint32_t bytes);
    bool quick_global(const sassemu_recorded_access& a, const uint64_t* at, bool& known);
    void constant(const Step& s, const sassemu_recorded_access& a, const uint64_t* at);
    void access(const Step& s, const sassemu_recorded_access& a, const uint64_t* at);
    Origin born(const Step& s, uint32_t lane, uint32_t space, uint64_t address, const Place& p);
    // transfer.cpp
    void step(const Step& s, const sassemu_recorded_access* a, const sassemu_recorded_access* end,
              const sassemu_records& r);
    void transfer(const Step& s);
    void check_control(const Step& s);
    Origin origin(const Step& s, uint32_t row, uint32_t lane);
    // barriers.cpp
    Cta* by_linear(uint64_t linear);
    void mbarrier(const sassemu_sync& s);
    void take(Flow& f, Place p, uint64_t address, uint64_t bytes, const char* space,
              sassemu_insn insn);
    void give(Flow& f, Place p, uint64_t bytes, sassemu_insn insn);
    // tensor_memory.cpp
    bool allocates_tensor_memory(sassemu_insn insn) const;
    void before_granules(Cta& c, sassemu_warp handle, uint32_t warp, sassemu_insn insn);
    void after_granules(Cta& c, sassemu_warp handle, uint32_t warp, sassemu_insn insn,
                        uint32_t lanes);
    void left_granules(Cta& c);
    // floats.cpp
    uint32_t index_of(sassemu_insn i) const {
        return static_cast<uint32_t>(host.insn_code_offset(i) / 16);
    }
    uint32_t special_birth(const Step& s, uint32_t lane, Special kind, bool brought,
                           uint32_t parent);
    uint64_t special_key(Cta& c, uint32_t warp, uint32_t lane, uint32_t space, uint64_t address);
    void special_output(const Extent& e, uint64_t base, uint64_t low, uint64_t high);
    void tell_specials();
    // report.cpp
    Origin birth(std::string key, std::string what, std::string thread, sassemu_insn insn);
    Finding* found(Kind kind, sassemu_insn insn, Origin origin = never_written);
    std::string thread_text(const Cta& c, uint32_t warp, uint32_t lane) const;
    std::string thread_text(const Step& s, uint32_t lane) const {
        return thread_text(s.cta, s.warp_index, lane);
    }
    void leaks();
    void tell(const Finding& f);

    findings::Report report_;
    std::vector<std::string> kernels_;
    std::map<std::string, uint64_t> undefined_;  // buffers, from a byte on
    const bool loads_, leaks_, fp_;
    std::set<std::string> met_, buffers_;  // kernels that were launched; names of allocations
    sassemu_launch launch_ = nullptr;      // at hand; what follows is of it
    sassemu_launch_info info_{};
    std::string kernel_;
    uint64_t in_flight_ = 0;  // launches
    uint64_t begun_ = 0;      // CTAs
    std::unordered_map<sassemu_module, Code> codes_;
    std::unordered_map<sassemu_cta, Cta> ctas_;
    std::map<uint64_t, Extent> extents_;
    std::pair<uint64_t, Extent*> last_extent_{0, nullptr};
    std::map<uint64_t, Block> blocks_;
    std::vector<Birth> births_{Birth{}};
    std::map<std::string, Origin> birth_of_;
    std::map<std::tuple<Kind, sassemu_insn, Origin>, Finding> findings_;
    std::unordered_map<uint64_t, Flow> flows_;  // by number
    bool in_stream_ = false;                    // what the host's callback is about, is a stream's
    Flow streamed_;                             // of a copy there
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
