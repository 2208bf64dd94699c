// SPDX-License-Identifier: Apache-2.0
// One execution under construction: its events, the values they carry (some not known yet), where
// each read takes its bytes from, and where every thread stands. Copied at every choice of the
// exploration. What belongs here: data and how values are computed. What does not: instructions.
#pragma once

#include <array>
#include <bit>
#include <bitset>
#include <map>
#include <optional>

#include "emu/explore/litmus/test.hpp"
#include "emu/explore/sass/products.hpp"
#include "emu/explore/sass/tensor_work.hpp"

namespace sassemu::explore {

// A set of events. 256 are held in place, those behind them elsewhere.
class Events {
  public:
    bool operator[](size_t i) const {
        return i / 64 < near_.size()                 ? near_[i / 64] >> i % 64 & 1
               : i / 64 < near_.size() + far_.size() ? far_[i / 64 - near_.size()] >> i % 64 & 1
                                                     : false;
    }
    void set(size_t i) {
        if (i / 64 >= near_.size() + far_.size()) far_.resize(i / 64 + 1 - near_.size());
        (i / 64 < near_.size() ? near_[i / 64] : far_[i / 64 - near_.size()]) |= uint64_t{1}
                                                                                 << i % 64;
    }
    Events& operator|=(const Events& other) {
        for (size_t i = 0; i < near_.size(); ++i) near_[i] |= other.near_[i];
        if (far_.size() < other.far_.size()) far_.resize(other.far_.size());
        for (size_t i = 0; i < other.far_.size(); ++i) far_[i] |= other.far_[i];
        return *this;
    }
    friend Events operator|(Events a, const Events& b) { return a |= b; }
    bool none() const { return within({}); }
    bool within(const Events& other) const {
        for (size_t i = 0; i < near_.size(); ++i)
            if (near_[i] & ~other.near_[i]) return false;
        for (size_t i = 0; i < far_.size(); ++i)
            if (far_[i] & ~(i < other.far_.size() ? other.far_[i] : 0)) return false;
        return true;
    }
    template <class F>
    void each(F&& f) const {
        const auto one = [&](size_t word, uint64_t bits) {
            for (; bits; bits &= bits - 1)
                f(static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits))));
        };
        for (size_t i = 0; i < near_.size(); ++i) one(i, near_[i]);
        for (size_t i = 0; i < far_.size(); ++i) one(near_.size() + i, far_[i]);
    }

  private:
    std::array<uint64_t, 4> near_{};
    std::vector<uint64_t> far_;
};

// A test with what never changes while it is explored.
struct Program {
    explicit Program(const Test& t);
    const Test& test;
    // Per location: the boundaries of the pieces that accesses tell apart, first 0, last its size.
    std::vector<std::vector<uint64_t>> cuts;
    std::vector<std::vector<uint8_t>> image;  // per location: initial bytes
    // Per thread and instruction: the registers that are read before they are written from there
    // on.
    std::vector<std::vector<std::vector<bool>>> live;
    std::vector<std::vector<bool>> loop_heads;
    mutable bool too_deep = false;  // a value was given up: it is made of too many others

    static uint64_t address_of(uint32_t name) { return uint64_t{1} << 62 | name; }
    static std::optional<uint32_t> name_at(uint64_t address, const Test& test);
};

// A value: a constant, what a read returned, or arithmetic on values. Reads may be unresolved.
struct Value {
    enum class Kind : uint8_t {
        constant,
        read,
        arithmetic,
        atomic,   // an atomic operation on a and b
        select,   // a ? b : c, of registers
        part,     // bytes of a, from `constant`; with a sign to extend, or not
        join,     // a, and behind its `bytes` bytes b
        sass,     // what an instruction makes of `inputs`: register a; b the thread, c the pc
        product,  // of products[c]: of its thread a the register b
        tensor,   // of tensor_work[c]: bytes of tensor memory from `constant`
        loaded,   // of tensor_loads[c]: what tcgen05.ld.red makes of `inputs`
        elements  // of a bulk reduction: `bytes` of a, with those of b from `constant`
    } kind = Kind::constant;
    Arithmetic how = Arithmetic::add;
    AtomicOp atomic = AtomicOp::none;
    AtomicType type = AtomicType::u64;
    uint64_t bytes = 8;                          // of an atomic operation: its width
    uint32_t a = 0, b = 0, c = 0;                // other values; kind read: the event
    static constexpr uint32_t address = 0xffff;  // kind sass: instead of a register
    uint64_t constant = 0;
    Events reads;  // the reads it depends on
    std::shared_ptr<const std::vector<uint32_t>> inputs;
    bool sign = false;
    // Of kinds that compute: found out once, since what a read took never changes.
    mutable bool known = false;
    mutable uint64_t result = 0;
};

// A wgmma. By thread of the warpgroup: which it is, the registers of A and C (values), the metadata
// (likewise), and the fence that the thread had before.
struct GraphProduct {
    Product product;
    std::array<uint32_t, threads_of_warpgroup> threads{}, metadata{};
    std::array<int32_t, threads_of_warpgroup> spawned_by{};
    std::vector<uint32_t> a, c;
    std::vector<std::pair<SharedRange, uint32_t>> shared;  // values
    std::vector<uint32_t> events;
    Events reads;
};

// Work of the tensor core, and what it has read (values).
struct GraphTensorWork {
    TensorWork work;
    uint32_t launch = 0;
    std::vector<std::pair<SharedRange, uint32_t>> shared, tensor;
};

struct GraphEvent {
    SassemuEvent e{};
    uint32_t value = 0;    // of a write
    Events data, control;  // dependencies: reads for the value and address; reads and waits for its
                           // being there
    uint32_t first_piece = 0, pieces = 0;  // of a read: in State::sources
};

// Where one piece of a read takes its bytes from.
struct Source {
    uint32_t read = 0;
    uint64_t first = 0, bytes = 0;
    int32_t write = -1;  // -1: not chosen yet
    uint32_t seen = 0;   // writes with smaller numbers were considered and left out
};

enum class ThreadStatus : uint8_t {
    running,
    needs_value,  // stands at a branch (or the like) on a value that is not known yet
    at_barrier,   // waits for others at bar
    at_cluster,   // the same at barrier.cluster
    at_join,
    at_grid_wait,
    not_started,
    spinning,  // came back to where it was without having written anything
    ended,
};

// Who does an asynchronous operation beside its thread.
struct Agent {
    int32_t number = -1, index = 0;
    uint32_t issue = 0;
    std::vector<uint32_t> events;  // what comes before its next write or completion
};

// A bulk tensor copy whose tensor map has not been read yet.
struct StalledAgent {
    Agent agent;
    uint32_t value = 0;   // of the map
    uint32_t thread = 0;  // in a test's text
    op::BulkTensor copy{};
};

struct ThreadState {
    uint32_t pc = 0;
    ThreadStatus status = ThreadStatus::running;
    bool triggered = false;           // griddepcontrol.launch_dependents
    std::vector<uint32_t> registers;  // values
    Events control;
    int32_t next_index = 0;
    uint32_t needs = 0;         // the value it stands at
    uint32_t first_impure = 0;  // events from here on came after its last write, arrival or issue
    struct Visit {
        uint32_t pc;
        uint32_t events;  // how many the execution had
        std::vector<uint32_t> registers;
    };
    std::vector<Visit> visits;              // of loop heads
    std::map<uint32_t, uint32_t> taken;     // backward branch -> how often
    std::map<uint64_t, uint32_t> barriers;  // barrier number -> instances used
    uint32_t cluster_arrivals = 0, cluster_waits = 0;
    // Asynchronous operations: events not committed yet, and committed groups, per kind.
    struct Groups {
        std::vector<uint32_t> open;
        std::vector<std::vector<uint32_t>> committed;
    };
    std::array<Groups, 3> groups;  // by GroupKind
    std::vector<uint32_t> tensor_loads, tensor_stores, tensor_products;
    int32_t wgmma_fence = -1;
    struct Multiplied {
        size_t group;
        async::WarpgroupMultiply product;
    };
    std::vector<Multiplied> products;    // that it has not waited for
    std::bitset<255> written;            // registers, since its last wgmma.fence
    std::array<uint64_t, 3> waits_at{};  // at_barrier: a key of State::barriers
    std::optional<Register> reduced_to;  // the same, of a reduction
    // Machine code.
    std::map<uint32_t, uint32_t> local;  // words of its local memory -> values
    uint32_t guesses = 0;                // needs_value: how many values may be guessed; 0: none
    int8_t guessed_guard = -1;           // of the instruction that it stands at
    int64_t guessed_place = -1;
    std::optional<StalledAgent> map;  // a tensor copy at which it stands, until its map is known
    std::bitset<8> bulk_scoreboards;  // the group committed there last was one of bulk copies
};

struct BarrierInstance {
    struct Arrival {
        uint32_t event, thread, lanes, predicate;
        bool waits;
        int32_t aligned = -1;  // where it stands, if all threads of its warp have to arrive there
    };
    std::vector<Arrival> arrivals;
    uint32_t lanes = 0;
    uint64_t needed = 0;
    bool counted = false, complete = false, live_only = false;
    Reduction reduction = Reduction::none;  // of the first that came
};

struct ClusterPhase {
    std::vector<uint32_t> arrivals, waits;  // events
};

// An operation on an mbarrier. They happen in one total order, chosen when the execution is
// complete.
struct MbarrierEvent {
    enum class Kind : uint8_t { init, arrive, transaction, increment, wait } kind;
    uint32_t event, location;
    uint32_t amount = 0;  // value: arrivals, bytes, count, or parity
    uint32_t expected =
        0;  // value: bytes expected together with an arrival; 0: none (value 0 is the constant 0)
    bool negative = false, drop = false, keeps_phase = false;
    bool result = true;    // of a wait
    bool insists = false;  // a wait that stands for all tries before the one that succeeded
};

// A value that has to turn out true or false: what a compare-and-swap was taken to do.
struct Assumption {
    uint32_t value;
    bool truth;
};

struct State {
    explicit State(const Program& program);

    std::vector<GraphEvent> events;
    std::vector<Value> values;  // 0 is the constant 0
    std::vector<Source> sources;
    std::vector<ThreadState> threads;
    std::map<std::array<uint64_t, 3>, BarrierInstance> barriers;  // {cta, number, instance}
    std::map<std::pair<int32_t, uint32_t>, ClusterPhase> clusters;
    // Of tensor memory, by CTA of which one thread allocates and frees: those that are used, and
    // who that is. Of all: each change, at an event.
    struct Granules {
        uint32_t used = 0, thread = 0;
    };
    std::map<int32_t, Granules> granules;
    struct GranuleChange {
        uint32_t event = 0;
        int32_t cta = 0;
        uint32_t before = 0, after = 0;  // values
    };
    std::vector<GranuleChange> granule_changes;
    std::vector<std::shared_ptr<const GraphProduct>> products;
    std::vector<std::shared_ptr<const GraphTensorWork>> tensor_work;
    std::vector<async::TensorStatistic> tensor_loads;
    std::map<std::array<uint64_t, 3>, GraphProduct> gathered;  // at which not all are
    std::vector<MbarrierEvent> mbarriers;
    std::vector<StalledAgent> stalled;
    std::vector<Assumption> assumptions;
    std::vector<SassemuEdge> rmw, pairing, spawn, agent_order, completion, chosen;
    std::vector<int32_t> launched;  // thread -> the event that launched it
    int32_t agents = 0;
    bool mbarriers_ordered = false;  // who let which wait through is chosen: `pairing` has it
    bool symmetric = false;          // which of its renamings is looked for is chosen
    bool bounded = false;            // a loop reached its bound
    bool unguessed = false;          // an open address had too many places to be guessed
    std::array<uint32_t, 128> constants{};  // some that were made, to be used again
    std::string error;                      // the test does what no program may do,
    bool unexplored = false;                // or what exploration does not know
    std::string undefined;      // it did what has no meaning (docs/litmus.md, section 3, 12)
    int32_t undefined_at = -1;  // the event at which: only if what came before it is consistent

    uint32_t constant(uint64_t v);
    uint32_t arithmetic(Arithmetic how, uint32_t a, uint32_t b);
    uint32_t read_value(uint32_t event);
    uint32_t add(Value v);
    uint32_t made_of(Value v, uint32_t a, uint32_t b, uint32_t c = 0);  // of these values
    uint32_t constant(uint64_t v, const Events& reads);
    uint32_t depending(uint32_t value, const Events& reads);  // the same value
    uint32_t part(uint32_t value, uint64_t first, uint64_t bytes, bool sign);
    uint32_t join(uint32_t low, uint64_t bytes, uint32_t high);
    uint32_t select(uint32_t condition, uint32_t yes, uint32_t no);

    // The value, when every read it depends on is resolved.
    std::optional<uint64_t> evaluate(uint32_t value, const Program& p) const {
        return slice(value, 0, 8, p, 0);
    }
    // Bytes [first, first+bytes) of it, bytes <= 8: a copy may be of more than eight bytes.
    std::optional<uint64_t> slice(uint32_t value, uint64_t first, uint64_t bytes, const Program& p,
                                  int depth) const;
    std::optional<uint64_t> piece(const Source& s, uint64_t first, uint64_t bytes, const Program& p,
                                  int depth) const;
    bool assumptions_hold(const Program& p) const;
    // Reads may take something else from now on.
    void forget() const {
        for (const Value& v : values)
            if (v.known && !v.reads.none()) v.known = false;
    }
};

uint64_t apply(Arithmetic how, uint64_t a, uint64_t b);

}  // namespace sassemu::explore
