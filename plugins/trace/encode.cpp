// SPDX-License-Identifier: Apache-2.0
// See encode.hpp; sdk/trace/trace.proto has the meaning of each column.
#include "encode.hpp"

#include <algorithm>
#include <bit>

namespace tracing {

namespace {

// Neighbouring lanes differ as they do in the other access.
bool same_shape(const uint64_t* a, const uint64_t* b, size_t n) {
    uint64_t differs = 0;
    for (size_t k = 1; k < n; ++k) differs |= (a[k] - a[0]) ^ (b[k] - b[0]);
    return differs == 0;
}

bool even(const uint64_t* a, size_t n) {
    uint64_t differs = 0;
    for (size_t k = 2; k < n; ++k) differs |= (a[k] - a[k - 1]) ^ (a[1] - a[0]);
    return differs == 0;
}

void encode_accesses(const Chunk& chunk, bool values, sassemu::trace::Records& to) {
    struct Last {
        const uint64_t* address = nullptr;
        size_t lanes = 0;
    };
    std::vector<Last> by_id;
    uint32_t record = 0;
    const uint64_t* address = chunk.addresses.data();
    const auto add = [&](uint64_t difference) {
        to.add_access_address(static_cast<int64_t>(difference));
    };
    for (const Touched& t : chunk.accesses) {
        to.add_access_record(t.record - record);
        record = t.record;
        to.add_access_op(t.op | t.space << 4);
        to.add_access_bytes(t.bytes);
        to.add_access_lanes(t.lanes ^ t.record_lanes);
        if (values) {
            to.add_access_words(t.words);
            to.add_access_result_words(t.result_words);
        }
        const auto n = static_cast<size_t>(std::popcount(t.lanes));
        if (t.id >= by_id.size()) by_id.resize(t.id + 1);
        Last& last = by_id[t.id];
        add(address[0] - (last.address ? last.address[0] : 0));
        if (last.lanes == n && same_shape(address, last.address, n)) {
            to.add_access_form(2);
        } else if (even(address, n)) {
            to.add_access_form(0);
            if (n > 1) add(address[1] - address[0]);
        } else {
            to.add_access_form(1);
            for (size_t k = 1; k < n; ++k) add(address[k] - address[k - 1]);
        }
        last = {address, n};
        address += n;
    }
}

}  // namespace

void encode(const Chunk& chunk, bool values, bool registers, sassemu::trace::Records& to) {
    to.set_launch(chunk.launch);
    to.set_cta(chunk.cta);
    struct Last {
        uint32_t next = 0;  // id before + 1
        uint32_t lanes = 0;
    };
    std::vector<Last> warps;
    for (size_t s = 0; s < chunk.slices.size(); ++s) {
        const Slice& slice = chunk.slices[s];
        const size_t end =
            s + 1 < chunk.slices.size() ? chunk.slices[s + 1].begin : chunk.runs.size();
        to.add_slice_warp(slice.warp);
        to.add_slice_runs(static_cast<uint32_t>(end - slice.begin));
        to.add_slice_first(slice.first);
        to.add_slice_clock(slice.clock);
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
    for (const sassemu::trace::Event& e : chunk.events) *to.add_event() = e;
}

}  // namespace tracing
