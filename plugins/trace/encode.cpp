// SPDX-License-Identifier: Apache-2.0
// See encode.hpp; sdk/trace/trace.proto has the meaning of each column.
#include "encode.hpp"

#include <bit>
#include <unordered_map>

namespace tracing {

namespace {

template <class Column>
auto room(Column* column, size_t count) {
    column->Resize(static_cast<int>(count), 0);
    return column->mutable_data();
}

void encode_accesses(const Chunk& chunk, const IdOf& id_of, bool values,
                     sassemu::trace::Records& to) {
    std::unordered_map<uint32_t, uint64_t> bases;  // by instruction
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
        to.add_access_lanes(t.lanes ^ chunk.records[t.record].lanes);
        if (values) {
            to.add_access_words(t.words);
            to.add_access_result_words(t.result_words);
        }
        const auto n = static_cast<size_t>(std::popcount(t.lanes));
        uint64_t& base = bases[id_of(t.insn)];
        add(address[0] - base);
        base = address[0];
        bool even = true;
        for (size_t k = 2; k < n; ++k)
            even &= address[k] - address[k - 1] == address[1] - address[0];
        to.add_access_form(!even);
        if (n > 1 && even) add(address[1] - address[0]);
        for (size_t k = 1; k < n && !even; ++k) add(address[k] - address[k - 1]);
        address += n;
    }
}

}  // namespace

void encode(const Chunk& chunk, const IdOf& id_of, bool values, bool registers,
            sassemu::trace::Records& to) {
    to.set_launch(chunk.launch);
    to.set_cta(chunk.cta);
    struct Last {
        uint32_t next = 0;  // id before + 1
        uint32_t lanes = 0;
    };
    std::vector<Last> warps;
    const size_t n = chunk.records.size();
    int32_t* const step = room(to.mutable_step(), n);
    uint32_t* const lanes = room(to.mutable_lanes(), n);
    uint32_t* const waiting = room(to.mutable_waiting(), n);
    // Code mostly goes on with the instruction that came next the last time.
    sassemu_insn known = nullptr;
    uint32_t id = 0;
    std::vector<sassemu_insn> follows;  // by id: the instruction with id + 1
    for (size_t s = 0; s < chunk.slices.size(); ++s) {
        const Slice& slice = chunk.slices[s];
        const size_t end = s + 1 < chunk.slices.size() ? chunk.slices[s + 1].begin : n;
        to.add_slice_warp(slice.warp);
        to.add_slice_records(static_cast<uint32_t>(end - slice.begin));
        to.add_slice_first(slice.first);
        to.add_slice_clock(slice.clock);
        if (slice.warp >= warps.size()) warps.resize(slice.warp + 1);
        Last last = warps[slice.warp];
        for (size_t k = slice.begin; k < end; ++k) {
            const Executed& e = chunk.records[k];
            if (e.insn != known) {
                if (known && id < follows.size() && follows[id] == e.insn) {
                    ++id;
                } else {
                    const uint32_t before = id;
                    const bool had = known != nullptr;
                    id = id_of(e.insn);
                    if (had && id == before + 1) {
                        if (before >= follows.size()) follows.resize(before + 1, nullptr);
                        follows[before] = e.insn;
                    }
                }
                known = e.insn;
            }
            step[k] = static_cast<int32_t>(id - last.next);
            last.next = id + 1;
            lanes[k] = e.lanes ^ last.lanes;
            last.lanes = e.lanes;
            waiting[k] = e.active & ~e.lanes;
        }
        warps[slice.warp] = last;
    }
    encode_accesses(chunk, id_of, values, to);
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
