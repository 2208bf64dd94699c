// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.tensor in tile mode: a box of a tensor between global and shared memory. Measured
// on an H200 with random maps and coordinates (tests/hardware/async):
// - The box lies densely in shared memory, innermost dimension first; a dimension with step s has
//   ceil(box / s) elements, and the step of the innermost one is ignored. With a swizzle each row
//   takes the whole span (32, 64, 128 bytes), and bits 6:4 of an address are XORed with bits 9:7,
//   as many as the span has.
// - Elements outside of the tensor load as zero or, filled with NaN, as 0x7ff7 in every 16 bits.
// They count
//   for the mbarrier. Stores leave out chunks of 16 bytes that lie outside, and write whole those
//   that begin inside: past the end of a row up to the next multiple of 16 bytes.
// - tf32 and tf32_ftz round to the nearest even of 10 bits when loaded, NaNs become 0x7fffe000;
// subnormals
//   stay, and f32_ftz changes nothing.
// - A box begins at a multiple of 16 bytes, a store inside of the tensor; else the launch fails.
// - Interleaved maps have cells of 16 or 32 bytes for elements: dimension 0 counts cells, which
// follow each other
//   in memory, and its step counts. The last dimension but one are the slices of channels; its box
//   is taken as 1. Cells lie densely in shared memory, whatever the swizzle.
#include "emu/async/agents.hpp"
#include "emu/async/range.hpp"
#include "emu/async/tensor_box.hpp"
#include "emu/plugin/async_events.hpp"

namespace sassemu::async {

namespace {

// A map or an instruction that the hardware answers with an illegal instruction.
const Op* fault(Warp& w, const Op* op, uint32_t lanes, const std::string& what, uint64_t address) {
    return services(w).fault(w, op, lanes, FaultKind::illegal_instruction, what.c_str(), true,
                             address);
}

// The map's bytes: in global memory, or in the constant bank behind its generic window (a
// parameter). Null: not there.
const std::byte* bytes_of_map(const Warp& w, uint64_t address) {
    if (address >> 32 == constant_window_high) {
        const uint64_t at = address & 0xffffffffu;
        if (at + tensor_map_bytes <= w.cta->launch->bank_bytes[static_cast<int>(Base::bank0)])
            return w.base[static_cast<int>(Base::bank0)] + at;
    }
    const Extent& e = w.cta->launch->space->find(address);
    return bytes_of(e, address, tensor_map_bytes);
}

uint32_t round_tf32(uint32_t v) {
    if ((v >> 23 & 255) == 255) return v & 0x7fffff ? 0x7fffe000u : v;
    return (v + 0xfff + (v >> 13 & 1)) & ~0x1fffu;
}

bool converts(TensorType type) { return type >= TensorType::tf32; }

// Copies 16 bytes between shared memory and the tensor, of which `left` elements from `far` on are
// there.
void copy_chunk(const TensorMap& m, std::byte* near, std::byte* far, int64_t left, bool store) {
    const uint32_t bytes = element_bytes(m.type);
    const int64_t elements = 16 / bytes;
    if (store) {
        if (left > 0) copy_words(far, near, 16);
    } else if (left >= elements && !converts(m.type)) {
        copy_words(near, far, 16);
    } else {
        for (int64_t i = 0; i < elements; ++i) {
            uint64_t v = m.nan_fill ? 0x7ff77ff77ff77ff7u : 0;
            if (i < left) {
                const std::byte* at = far + i * bytes;
                v = converts(m.type) ? round_tf32(host::load<uint32_t>(at))
                                     : host::load_bytes(at, bytes);
            }
            host::store_bytes(near + i * bytes, bytes, v);
        }
    }
}

// One row, whose part of the tensor lies at `global`.
void copy_row(const TensorMap& m, const Box& box, const BoxRow& row, std::byte* global,
              int64_t first, std::byte* shared, bool store) {
    for (uint32_t offset = 0; offset < box.row; offset += 16) {
        const BoxChunk c = box.chunk_at(m, row, first, offset);
        copy_chunk(m, shared + c.near, c.left > 0 ? global + (c.far - row.far) : nullptr, c.left,
                   store);
    }
}

// Calls visit(row, bytes) for the rows of a box, until it answers false; `bytes`: what is touched
// of the tensor (0: nothing).
template <class Visit>
bool each_row(const TensorMap& m, const Box& box, const TensorCopy& c, Visit&& visit) {
    for (uint64_t number = 0; number < box.rows; ++number) {
        const BoxRow row = box.row_at(m, c.shared & 0xffffff, c.at, number);
        // Only the units of the row that exist are read; whole chunks are written.
        uint64_t bytes = row.inside() ? static_cast<uint64_t>(row.end - row.begin) * box.unit : 0;
        if (c.store) bytes = (bytes + 15) / 16 * 16;
        if (!visit(row, bytes)) return false;
    }
    return true;
}

// The ranges of one row in the order in which they are touched: near(shared offset, bytes) and
// far(). A swizzle permutes the chunks of a row within its span.
template <class Near, class Far>
void each_range(const Box& box, const BoxRow& row, bool store, Near&& near, Far&& far) {
    if (row.inside() && !store) far();
    if (!box.swizzle || box.row == box.pitch) {
        near(row.near, box.row);
    } else {
        for (uint32_t chunk = 0; chunk < box.row; chunk += 16)
            near(box.swizzle(row.near + chunk), 16);
    }
    if (row.inside() && store) far();
}

// The ranks that the copy touches, as windows (bits 31..24).
template <class Visit>
bool each_window(const TensorCopy& c, Visit&& visit) {
    for (uint32_t rest = receivers(c, c.shared); rest; rest &= rest - 1)
        if (!visit(static_cast<uint32_t>(std::countr_zero(rest)) << 24)) return false;
    return true;
}

}  // namespace

// What is wrong with the map or the instruction is found out when the copy is performed.
uint64_t announce(Warp& w, const Op* op, uint32_t lanes, const TensorCopy& c) {
    events::AsyncIssue issue(w, op, lanes, SASSEMU_AGENT_TMA, c.store ? SASSEMU_GROUP_BULK : -1,
                             c.mbarrier);
    const std::byte* encoded = bytes_of_map(w, c.map);
    if (!encoded) return issue.id();
    issue.will_read(events::global_location(c.map), tensor_map_bytes, SASSEMU_VIA_TENSORMAP);
    const Result<TensorMap> decoded = TensorMap::decode(encoded);
    if (!decoded) return issue.id();
    const Box box(*decoded);
    if (!refusal(*decoded, box, c).empty()) return issue.id();
    each_window(c, [&](uint32_t window) {
        if (!c.store) issue.reports_to(reported(c, window));
        return each_row(*decoded, box, c, [&](const BoxRow& row, uint64_t bytes) {
            each_range(
                box, row, c.store,
                [&](uint32_t at, uint64_t count) {
                    const sassemu_location near = events::shared_location(*w.cta, window | at);
                    c.store ? issue.will_read(near, count) : issue.will_write(near, count);
                },
                [&] {
                    const sassemu_location far = events::global_location(row.far);
                    c.store ? issue.will_write(far, bytes) : issue.will_read(far, bytes);
                });
            return true;
        });
    });
    return issue.id();
}

const Op* tensor_copy(Warp& w, const Op* op, uint32_t lanes, const TensorCopy& c, uint64_t id) {
    if (c.map % 64)
        return services(w).fault(w, op, lanes, FaultKind::misaligned_address,
                                 "a tensor map lies at a multiple of 64", true, c.map);
    const std::byte* encoded = bytes_of_map(w, c.map);
    if (!encoded)
        encoded = global_range(w, op, lanes, c.map, tensor_map_bytes, false);  // says what is wrong
    if (!encoded) return nullptr;
    const Result<TensorMap> decoded = TensorMap::decode(encoded);
    if (!decoded)
        return fault(w, op, lanes, decoded.error().where + " " + decoded.error().what, c.map);
    const TensorMap& m = *decoded;
    const Box box(m);
    if (const std::string why = refusal(m, box, c); !why.empty())
        return fault(w, op, lanes, why, c.map);

    ++w.effects;
    events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TMA, id);
    if (agent)
        agent.read(events::global_location(c.map), encoded, tensor_map_bytes,
                   SASSEMU_VIA_TENSORMAP);
    const bool done = each_window(c, [&](uint32_t window) {
        if (!shared_range(w, op, lanes, window | (c.shared & 0xffffff), box.extent(), 128))
            return false;
        std::byte* shared = w.cta->cluster->cta[window >> 24]->shared;
        const bool copied = each_row(m, box, c, [&](const BoxRow& row, uint64_t bytes) {
            std::byte* global = nullptr;
            if (row.inside() && !(global = global_range(w, op, lanes, row.far, bytes, c.store)))
                return false;
            if (agent)
                each_range(
                    box, row, c.store,
                    [&](uint32_t at, uint64_t count) {
                        const sassemu_location near = events::shared_location(*w.cta, window | at);
                        c.store ? agent.read(near, shared + at, count)
                                : agent.write(near, shared + at, count);
                    },
                    [&] {
                        const sassemu_location far = events::global_location(row.far);
                        c.store ? agent.write(far, global, bytes) : agent.read(far, global, bytes);
                    });
            copy_row(m, box, row, global, c.at[0], shared, c.store);
            return true;
        });
        return copied && (c.store || report(w, op, lanes, c, window, box.bytes()));
    });
    return done ? op + 1 : nullptr;
}

}  // namespace sassemu::async
