// SPDX-License-Identifier: Apache-2.0
// What the recorder has seen of one CTA and not yet given away: plain rows, filled in the
// callbacks, which make nothing else of them. encode.cpp makes a block of it, on another thread.
#pragma once

#include <sassemu/observer.h>

#include <cstdint>
#include <vector>

#include <sassemu/trace.pb.h>

namespace tracing {

struct Run {
    uint32_t id, count;  // of its first instruction; ids ascend by 1
    uint32_t lanes, active;
};

struct Slice {
    uint32_t warp, begin;  // index of its first run
    uint64_t first, clock, time;
};

struct Touched {
    uint32_t record, lanes, record_lanes;
    uint8_t op, space, bytes, words, result_words, form;
};

struct Chunk {
    uint64_t launch = 0, cta = 0;
    bool timed = false;
    uint32_t records = 0;  // instructions of all runs
    std::vector<Run> runs;
    std::vector<Slice> slices;
    std::vector<Touched> accesses;
    std::vector<int64_t> addresses;  // numbers of each access, by its form
    std::vector<uint32_t> values, results;
    std::vector<uint32_t> before, after;
    std::vector<uint8_t> has_after;  // of each record
    std::vector<sassemu::trace::Event> events;

    bool empty() const { return runs.empty() && events.empty(); }
    size_t bytes() const {
        return runs.size() * sizeof(Run) + accesses.size() * sizeof(Touched) +
               addresses.size() * 8 +
               (values.size() + results.size() + before.size() + after.size()) * 4 +
               has_after.size() + events.size() * 256;
    }
};

}  // namespace tracing
