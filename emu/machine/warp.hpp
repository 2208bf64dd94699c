// SPDX-License-Identifier: Apache-2.0
// The state of one warp: register rows, predicates, uniform registers, paths and convergence
// barriers. No behaviour of instructions here, only what every handler needs to reach its operands.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

#include "emu/machine/op.hpp"

namespace sassemu {

struct Cta;
struct HookedInstruction;

// Why a handler ended the run of a path.
enum class Stop : uint8_t {
    none,
    yielded,  // quantum used up, or YIELD/NANOSLEEP
    blocked,  // the path waits: its state says for what
    retired,  // all lanes of the path exited
    faulted,  // Cta::launch holds the fault
    pending,  // checked runs: an operand row is still in flight
};

enum class PathState : uint8_t {
    runnable,
    at_bsync,       // convergence barrier `barrier`; pc is that of the BSYNC
    at_warpsync,    // all lanes of `want`
    in_collective,  // the lanes of `want` run in another path, up to its ENDCOLLECTIVE
    at_bar,         // CTA barrier `barrier`
    parked,         // spins: waits until a watched byte changes
    in_flight,      // waits for a deferred load
    asleep,         // waits for an agent or for virtual time
    at_cluster,     // the barrier of the cluster
    at_mbarrier,    // suspended try_wait on `object`
    at_trigger,     // griddepcontrol.launch_dependents, until the next launch has had its chance
    at_grid_wait,   // griddepcontrol.wait
    at_warpgroup,   // WARPGROUP.DEPBAR, until at most `want` groups of wgmma are not done
    at_meeting,     // WARPGROUP.WAIT, until the other warps of the warpgroup have arrived
};

// How lanes at WARPSYNC find each other (emu/isa/QUESTIONS.md, T11).
enum class Meeting : uint8_t {
    none,
    here,  // at the same instruction: before sm_90 compiled code has one WARPSYNC in a function
           // that all lanes call
    exclusive,       // the same, and each group is a path of its own from then on
    collective,      // at any WARPSYNC.COLLECTIVE that names the same lanes
    collective_all,  // at any WARPSYNC.COLLECTIVE.ALL
};

// How a suspended try_wait ended.
enum class WaitAnswer : uint8_t { none, completed, timed_out };

// Lanes of a warp that run together.
struct Path {
    const Op* pc = nullptr;
    uint32_t lanes = 0;
    uint32_t want =
        0;  // at_warpsync: lanes that must arrive; in a collective: those that came with this path
    PathState state = PathState::runnable;
    Meeting meeting = Meeting::none;  // at_warpsync; runnable: the path runs a collective
    uint8_t barrier = 0;
    bool yielded = false;       // at YIELD or NANOSLEEP, and has not run since
    bool timed = false;         // parked, though it looks at the clock: see Engine::let_time_pass
    bool aside = false;         // runs only when no path is ready that is not aside
    bool in_turn = false;       // of a jump with several targets, see Convergence::in_turn
    uint8_t turns = 0;          // quanta in a row
    uint8_t parts = 0;          // of an access of 256 bits that a model has put off: the done
    uint16_t yields = 0;        // how often in a row it came back to the same YIELD
    uint16_t spins = 0;         // quanta in a row that ended on the same back edge
    uint32_t since = 0;         // Warp::path_clock when it gave way or began to wait at BSYNC
    const Op* yield = nullptr;  // the last YIELD
    const Op* edge = nullptr;   // the back edge at which the last quantum ended
    const Op* head = nullptr;   // where it leads: a watched iteration begins there
    const Op* end = nullptr;    // in_collective: where the path goes on afterwards; else what the
                                // lanes in `want` execute again, which counts once
    uint32_t watch = 0;         // parked: index of its watch list in the CTA
    uint64_t wake = 0;          // asleep: virtual time
    uint32_t saved = 0;  // preempted: where its uniform registers are kept, see paths::preempt
    const std::byte* object = nullptr;     // at_mbarrier: the object in the shared memory of a CTA
    WaitAnswer answer = WaitAnswer::none;  // of the try_wait that the path executes again
};

// What a path read during one loop iteration; see schedule/watch.hpp.
struct Watch;

// The convergence state of a warp beside its paths, as the chip has it (emu/isa/QUESTIONS.md, T11).
struct Convergence {
    uint32_t b[16] = {};  // barrier registers: the lanes that will meet
    // Paths left for later at branches (OPT_STACK): of each its lowest lane, the last one on top.
    static constexpr uint8_t most_left = 5;
    uint8_t left[most_left] = {}, left_count = 0;
    // The lowest lane of those whose turn at a jump with several targets is next.
    static constexpr uint8_t none = 32;
    uint8_t in_turn = none;
    bool top_is_whole = false;  // all lanes of the one on top are known: none has been taken since
};

struct alignas(64) Warp {
    std::byte* rows = nullptr;      // see op.hpp; the base of Base::rows
    const std::byte* base[8] = {};  // indexed by Base; [rows] repeats `rows`
    uint32_t p[16] = {};            // P0..P6, PT, UP0..UP6, UPT; lane masks
    uint32_t active = 0;            // lanes of the running path
    uint32_t chained = 0;           // ~0: a handler may run the one behind it
    uint32_t live = 0;              // lanes that have not exited
    uint64_t issued = 0;            // warp instructions, guard-false ones not included
    uint64_t quantum_end = 0;       // `issued` at which the next back edge yields
    uint64_t thread_instructions = 0;
    uint64_t guard_false = 0;
    uint64_t effects = 0;  // stores and changing atomics: what a pure spin lacks
    Cta* cta = nullptr;
    Watch* watch = nullptr;                           // set while one iteration is being watched
    const Op* resume = nullptr;                       // where a stopped path goes on
    const Op* ops = nullptr;                          // with plugins: of the code,
    const HookedInstruction* instructions = nullptr;  // and what they know of each
    Stop stop = Stop::none;
    uint8_t index = 0;  // in the CTA
    uint8_t paths_used = 0;
    uint8_t current = 0;
    uint32_t exists = 0;  // lanes that have a thread (a last warp may be short)
    uint32_t started = 0;
    uint8_t barrier_op = 0;      // BarrierOp of the last reduction asked for
    std::byte* local = nullptr;  // local memory: a row per 4-byte word of the stack
    uint64_t pending[4] = {};    // checked runs: registers in flight
    uint32_t in_flight = 0;      // checked runs: accesses in flight
    Path paths[32];
    uint32_t path_clock = 0;  // of Path::since
    alignas(64) Convergence convergence;
    alignas(64) uint32_t uniform[uniform_slots] = {};

    uint32_t* row(uint32_t offset) { return reinterpret_cast<uint32_t*>(rows + offset); }
    const uint32_t* row(uint32_t offset) const {
        return reinterpret_cast<const uint32_t*>(rows + offset);
    }
    const std::byte* scalar(uint32_t operand) const {
        return base[operand >> 28] + (operand & 0x0fffffffu);
    }
    uint32_t scalar32(uint32_t operand) const {
        uint32_t v;
        std::memcpy(&v, scalar(operand), 4);
        return v;
    }
    uint64_t scalar64(uint32_t operand) const {
        uint64_t v;
        std::memcpy(&v, scalar(operand), 8);
        return v;
    }
    Path& path() { return paths[current]; }
};

// tests/house/jumps_test.py knows handlers that go on with the next one by their counting.
static_assert(offsetof(Warp, issued) == 0x98);

// Bits 0..n-1.
constexpr uint32_t low_lanes(uint32_t n) { return n >= 32 ? ~0u : (1u << n) - 1; }

}  // namespace sassemu
