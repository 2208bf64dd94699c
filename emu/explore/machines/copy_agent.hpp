// SPDX-License-Identifier: Apache-2.0
// An asynchronous operation of machine code on a machine: once it has been issued it reads, writes
// and reports by itself, at any later time. What belongs here: what it has still to do. What does
// not: when (machine_states.hpp), and which instruction asks for what (fetch_copies.cpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emu/explore/machines/cell_work.hpp"
#include "emu/machine/copies.hpp"
#include "emu/machine/mbarrier.hpp"

namespace sassemu::explore {

// What is asked of it; states have it in common. Addresses are those of scoped machines.
struct CopyWork {
    struct Move {
        uint64_t from = 0, to = 0;  // from 0: zeros
        uint32_t bytes = 0;
    };
    struct Receiver {
        std::vector<Move> moves;
        uint64_t object = 0;  // address of the mbarrier that is told then; 0: none
        MbarrierChange change;
    };
    std::vector<Receiver> receivers;  // all of them get the same
    std::vector<uint8_t> value;       // of a store: what it writes, and it reads nothing
    AtomicOp reduce = AtomicOp::none;
    AtomicType type = AtomicType::u32;
    uint16_t byte_mask = 0xffff;  // of each 16 bytes
    bool generic = false;         // cp.async: through the generic proxy, as its thread reads
    std::vector<uint32_t> after;  // copies of its thread that it comes after, and reports on
    bool after_reads = false;     // of these: after what they read, whatever they have written
    // Of tensor memory, which it reads and writes in one step; and what it comes after there.
    std::shared_ptr<const CellWork> cells;
    std::vector<AgentName> behind;
    // Not 0: a wgmma, which reads what its moves read and writes registers: these, as touched.
    uint64_t registers = 0;
    // Of a tensor whose map lies in global memory: nothing else is known before that is read.
    std::optional<TensorCopy> tensor;

    uint64_t bytes() const {
        uint64_t sum = 0;
        if (!receivers.empty())
            for (const Move& m : receivers.front().moves) sum += m.bytes;
        return sum;
    }
    bool reads() const { return !tensor && value.empty() && bytes(); }
};

// What some step of somebody else touches or waits for: what agents do is in order with no other
// step.
struct Footprint {
    struct Range {
        uint64_t address = 0, bytes = 0;
        bool writes = false;
    };
    std::vector<Range> ranges;
    bool everywhere = false;  // in global memory
    // What an asynchronous operation touches that it starts, if that is known; the barrier at which
    // it arrives, and whether it goes on from there.
    std::vector<Range> starts;
    bool starts_unknown = false, arrives = false;
    uint64_t barrier = 0;
    bool unexplored = false;  // it is not known what it does: no end is to be found from here
    // It cannot go on before these copies are done; of all threads' that report to this mbarrier.
    std::vector<AgentName> copies;
    uint64_t object = 0;

    void starts_work(const CellWork& work) {
        for (const SharedRange& r : work.read)
            starts.push_back({tensor_row_of(work.cta) + r.address, r.bytes, false});
        for (const SharedRange& r : work.written)
            starts.push_back({tensor_row_of(work.cta) + r.address, r.bytes, true});
    }
};

struct CopyAgent {
    uint32_t thread = 0, number = 0;  // the how manieth of its thread
    uint32_t pc = 0;                  // of its instruction
    std::shared_ptr<const CopyWork> work = {};
    bool has_read = false;
    uint32_t written = 0;             // receivers
    std::vector<uint8_t> found = {};  // what it has read

    AgentName name() const { return {thread, number}; }
    // As a thread of a scoped machine.
    uint64_t id() const { return uint64_t{1} << 63 | uint64_t{thread} << 24 | number; }
};

}  // namespace sassemu::explore
