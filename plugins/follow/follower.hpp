// SPDX-License-Identifier: Apache-2.0
// Follows marks of bits through a run: registers of all files, predicates, shared, local and global
// memory. What a mark means is the plugin's: that nothing has written the value (check-mem), or
// that behaviour which is only assumed had a part in it (fidelity). What belongs here: where marks
// go. follower.cpp goes through what ran, transfer.cpp and accesses.cpp say what that does to
// marks.
//
// A mark has an origin, a number that the plugin gives out.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "follow/code.hpp"
#include "follow/shadow.hpp"

namespace follow {

// What becomes marked in a lane where it comes to an instruction.
struct Join {
    uint32_t at = 0;  // the instruction's index
    uint32_t lane = 0;
    Origin origin = unnamed;
    struct Bits {
        uint32_t row, bits;
    };
    std::vector<Bits> rows;
    struct Byte {
        bool local;  // else of shared memory
        uint32_t address;
    };
    std::vector<Byte> bytes;
};

struct Warp {
    Registers registers;
    std::vector<Join> joins;  // that it has not come to
    Shadow local;             // of all lanes, one behind the other
    uint64_t local_bytes = 0;
};

struct Cta {
    sassemu_cta handle = nullptr;
    sassemu_launch launch = nullptr;
    uint64_t serial = 0;  // among all CTAs of the run
    sassemu_dim3 id{};
    uint64_t linear = 0;
    uint32_t rank = 0;
    Shadow shared;
    Origin tensor = unnamed;  // tensor memory has one mark for all of it
    std::vector<Warp> warps;
    // Of the last instruction that was executed: accesses may come behind it.
    Warp* last_warp = nullptr;
    uint32_t last_index = 0;
    const Instruction* last = nullptr;
    // What the reading half of an LDGSTS has found: marked bytes of each lane.
    uint32_t copied[32] = {};
    Origin copied_from[32] = {};
};

struct Extent {  // an allocation
    uint64_t end = 0;
    std::string name;
    Shadow shadow;
};

struct Place {
    Shadow* shadow = nullptr;  // NULL: nothing is known of it
    uint64_t at = 0;
};

struct Flow {  // what an operation has read and not written yet
    uint64_t bytes = 0;
    bool given = false;  // it has been written; what is read next begins anew
    struct Part {
        uint64_t at, bytes;
        Origin origin;
    };
    std::vector<Part> marked;
};

constexpr uint32_t matrix_row = 16;  // bytes that a lane of LDSM and STSM names

// Where the byte of a row is in the fragment of the matrix.
struct PlaceInMatrix {
    uint32_t lane, byte;
};
inline PlaceInMatrix place_in_matrix(MatrixShape shape, uint32_t row, uint32_t byte) {
    if (shape == MatrixShape::rows) return {row * 4 + byte / 4, byte % 4};
    return {byte / 2 * 4 + row / 2, row % 2 * 2 + byte % 2};
}

struct Marked {  // what a lane has of a register
    uint32_t bits = 0;
    Origin origin = unnamed;
};
using Marks = std::array<Marked, 32>;

struct Step {  // an instruction at work
    Cta& cta;
    Warp& warp;
    uint32_t warp_index;
    const Instruction& i;
    uint32_t lanes, active;
};

class Follower : public sassemu::Plugin {
  public:
    static constexpr auto threading = SASSEMU_SERIAL;
    static constexpr bool in_flight = true;

    void launch_begin(sassemu_launch l);
    void launch_end(sassemu_launch l, const char* status);
    void cta_begin(sassemu_cta c);
    void cta_end(sassemu_cta c);
    void records(const sassemu_records& r);
    void async(const sassemu_async& a);
    void allocate(const sassemu_allocation& a);
    void release(const sassemu_allocation& a);
    void client(const sassemu_client_access& a) { in_stream_ = a.kind != SASSEMU_AGENT_HOST; }

  protected:
    // `fresh`: registers, shared and local memory are marked at first.
    Follower(const sassemu::Start& start, bool fresh, Doubt doubt)
        : Plugin(start), fresh_(fresh), doubt_(doubt) {}
    ~Follower() = default;

    // ---- what the plugin says of its marks
    // The origin of a mark that has none yet: in a register, in memory, of what a copy reads.
    virtual Origin born(const Step&, uint32_t row, uint32_t lane) = 0;
    virtual Origin born(const Step&, uint32_t lane, uint32_t space, uint64_t address,
                        const Place&) = 0;
    virtual Origin born_of_copy(const char* space, uint64_t address, sassemu_insn) = 0;
    // An origin for what comes from both; neither is 0, and they differ.
    virtual Origin both(Origin a, Origin b) = 0;
    // A marked row decides: an address, or what is executed. True: it counts as unmarked from here.
    virtual bool decides(const Step&, uint32_t, uint32_t, bool) { return false; }
    // Where doubt marks: how often marks of this origin have decided what is executed, at one
    // place. It stays where it is.
    virtual uint64_t* decisions(sassemu_insn, Origin) { return nullptr; }
    // An instruction has put a value of this origin into memory.
    virtual void stored(Origin, sassemu_insn) {}
    // A marked row is what a store, an atomic or an operation that others perform takes to that
    // place (no shadow: it is not known).
    virtual void leaves(const Step&, uint32_t, uint32_t, const Place&) {}
    // A constant is read that is outside of its bank.
    virtual void outside(const Step&, const sassemu_recorded_access&, const uint64_t*) {}
    // Of a block of records, before it is gone through.
    virtual void seen(Cta&, const sassemu_records&) {}

    // The launch that the callback at hand is about; a CTA's, if that is ours (else null).
    void enter(sassemu_launch l);
    Cta* enter(sassemu_cta c);
    Cta* by_linear(uint64_t linear);
    Extent* extent(uint64_t address);
    Place place(Cta& c, Warp& w, uint32_t lane, uint32_t space, uint64_t address);
    Origin origin(const Step& s, uint32_t row, uint32_t lane) {
        const Origin o = s.warp.registers.origin(row, lane);
        return o ? o : born(s, row, lane);
    }
    // Of what a load has found these bytes are marked.
    void bring(Warp& w, const Instruction& i, uint32_t flags, uint32_t bytes, uint32_t lane,
               uint32_t marked, Origin from);
    Origin join(Origin a, Origin b) { return !a || a == b ? b : !b ? a : both(a, b); }
    const Instruction& instruction(sassemu_insn i) {
        return codes_[host.insn_module(i)][static_cast<uint32_t>(host.insn_code_offset(i) / 16)];
    }
    // Where a copy reads and writes.
    void take(Flow& f, Place p, uint64_t address, uint64_t bytes, const char* space,
              sassemu_insn insn);
    void give(Flow& f, Place p, uint64_t bytes, sassemu_insn insn, bool adds = false);

    const bool fresh_;
    const Doubt doubt_;
    sassemu_launch launch_ = nullptr;  // at hand; what follows is of it
    sassemu_launch_info info_{};
    std::string kernel_;
    uint64_t in_flight_ = 0;  // launches
    uint64_t begun_ = 0;      // CTAs
    std::unordered_map<sassemu_module, Code> codes_;
    std::unordered_map<sassemu_cta, Cta> ctas_;
    std::map<uint64_t, Extent> extents_;
    std::pair<uint64_t, Extent*> last_extent_{0, nullptr};
    bool in_stream_ = false;  // what the host's callback is about, is a stream's
    Flow streamed_;           // of a copy there

  private:
    // follower.cpp
    void execute(Cta& c, Code& code, const sassemu_records& r, const sassemu_record& record,
                 const sassemu_recorded_access* a, const sassemu_recorded_access* end);
    // accesses.cpp
    bool quick(Cta& c, Warp& w, const Instruction& i, const sassemu_recorded_access& a,
               const uint64_t* at);
    bool quick_shared(Shadow& s, const sassemu_recorded_access& a, const uint64_t* at,
                      uint32_t bytes);
    bool quick_global(const sassemu_recorded_access& a, const uint64_t* at, bool& known);
    bool inside_bank(const Instruction& i, const sassemu_recorded_access& a, const uint64_t* at);
    void access(const Step& s, const sassemu_recorded_access& a, const uint64_t* at);
    void store_matrix(const Step& s, uint32_t data, uint32_t lane, const Place& p);
    // transfer.cpp
    void step(const Step& s, const sassemu_recorded_access* a, const sassemu_recorded_access* end,
              const sassemu_records& r);
    bool quick_transfer(const Step& s);
    void transfer(const Step& s);
    Marked marked(const Step& s, uint32_t row, uint32_t lane) {
        const uint32_t bits = row == no_row ? 0 : s.warp.registers.bits(row, lane);
        return bits ? Marked{bits, origin(s, row, lane)} : Marked{};
    }
    // Whether a lane has marks in what the instruction stores or computes with.
    static bool has_marked_data(const Step& s) {
        return std::any_of(s.i.data.begin(), s.i.data.end(),
                           [&](uint16_t row) { return s.warp.registers.lanes(row) & s.lanes; });
    }
    Marked mixed(const Step& s, uint32_t lane);
    Marked of_lanes(const Step& s, uint32_t lanes);
    void give(const Step& s, uint32_t row, const Marks& marks);
    void give_all(const Step& s, const Marks& marks);
    // values.cpp
    uint32_t value(const Step& s, const sassemu_operand& o, uint32_t lane) const;
    void select(const Step& s);
    Marked compared(const Step& s, uint32_t lane, bool& known, bool& holds);
    void compare(const Step& s);
    void combine(const Step& s);
    void shuffle(const Step& s);
    // fragments.cpp
    void multiply(const Step& s);
    void turn(const Step& s);
    void spread(const Step& s);
    void pack(const Step& s);
    void check_control(const Step& s);
    void brought(const Step& s);
    void mark_results(const Step& s, uint32_t lanes, const std::array<Origin, 32>& by);

    // A record's instructions from `first` to `last`, with their accesses from `a` on; returns the
    // first one behind them.
    const sassemu_recorded_access* pass(Cta& c, Warp& w, Code& code, const sassemu_records& r,
                                        const sassemu_record& record, uint32_t first, uint32_t last,
                                        const sassemu_recorded_access* a,
                                        const sassemu_recorded_access* end);
    // The same, of a warp that has joins before it.
    void pass_joins(Cta& c, Warp& w, Code& code, const sassemu_records& r,
                    const sassemu_record& record, const sassemu_recorded_access* a,
                    const sassemu_recorded_access* end);
    // As it went before with the same marks; false: it has to be gone through.
    bool repeat(Cta& c, Warp& w, Code& code, const sassemu_records& r, const sassemu_record& record,
                const sassemu_recorded_access* a, const sassemu_recorded_access* end, Run& run);
    void remember(Warp& w, const sassemu_record& record, Run& run);

    // The warps of a CTA that has ended, for another one: they are large.
    void recycle(Cta& c);
    std::vector<std::vector<Warp>> spare_;

    Details details_;
    std::vector<Registers::Row> before_;  // of the run at work
    std::vector<uint64_t*> decided_;
    bool repeatable_ = false;  // so far its marks have met registers only
    // Of the instruction at work: what marks all that it makes, by lane.
    std::array<Origin, 32> through_{};
    bool through_any_ = false;
    std::unordered_map<uint64_t, Flow> flows_;  // by number
};

}  // namespace follow
