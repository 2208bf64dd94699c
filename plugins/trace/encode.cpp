// SPDX-License-Identifier: Apache-2.0
// See encode.hpp; sdk/trace/trace.proto has the meaning of each column.
#include "encode.hpp"

#include <utility>

namespace tracing {

namespace {

void encode_accesses(const Chunk& chunk, bool values, sassemu::trace::Records& to) {
    uint32_t record = 0;
    for (const Touched& t : chunk.accesses) {
        to.add_access_record(t.record - record);
        record = t.record;
        to.add_access_op(t.op | t.space << 4);
        to.add_access_bytes(t.bytes);
        to.add_access_lanes(t.lanes ^ t.record_lanes);
        to.add_access_form(t.form);
        if (values) {
            to.add_access_words(t.words);
            to.add_access_result_words(t.result_words);
        }
    }
    to.mutable_access_address()->Add(chunk.addresses.begin(), chunk.addresses.end());
}

}  // namespace

void encode(Chunk& chunk, bool values, bool registers, sassemu::trace::Records& to) {
    to.set_launch(chunk.launch);
    to.set_cta(chunk.cta);
    struct Last {
        uint32_t next = 0;  // id before + 1
        uint32_t lanes = 0;
    };
    std::vector<Last> warps;
    uint64_t time = 0;
    for (size_t s = 0; s < chunk.slices.size(); ++s) {
        const Slice& slice = chunk.slices[s];
        const size_t end =
            s + 1 < chunk.slices.size() ? chunk.slices[s + 1].begin : chunk.runs.size();
        to.add_slice_warp(slice.warp);
        to.add_slice_runs(static_cast<uint32_t>(end - slice.begin));
        to.add_slice_first(slice.first);
        to.add_slice_clock(slice.clock);
        if (chunk.timed) to.add_slice_time(slice.time - std::exchange(time, slice.time));
        if (slice.warp >= warps.size()) warps.resize(slice.warp + 1);
        Last& last = warps[slice.warp];
        for (size_t k = slice.begin; k < end; ++k) {
            const Run& r = chunk.runs[k];
            to.add_step(static_cast<int32_t>(r.id - last.next));
            to.add_more(r.count - 1);
            to.add_lanes(r.lanes ^ last.lanes);
            to.add_waiting(r.active & ~r.lanes);
            last = {r.id + r.count, r.lanes};
        }
    }
    encode_accesses(chunk, values, to);
    if (values) {
        to.mutable_access_value()->Add(chunk.values.begin(), chunk.values.end());
        to.mutable_access_result()->Add(chunk.results.begin(), chunk.results.end());
    }
    if (registers) {
        to.mutable_has_after()->Add(chunk.has_after.begin(), chunk.has_after.end());
        to.mutable_before()->Add(chunk.before.begin(), chunk.before.end());
        to.mutable_after()->Add(chunk.after.begin(), chunk.after.end());
    }
    to.mutable_event()->Reserve(static_cast<int>(chunk.events.size()));
    for (sassemu::trace::Event& e : chunk.events) to.add_event()->Swap(&e);
}

}  // namespace tracing
