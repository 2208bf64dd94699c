// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: a part of a tensor between global and
// shared memory. Measured on an H200 and an H100 with random maps and coordinates
// (tests/hardware/async):
// - A box lies densely in shared memory, innermost dimension first; a dimension with step s has
//   ceil(box / s) elements, and the step of the innermost one is ignored. With a swizzle each row
//   takes the whole span (32, 64, 128 bytes), and bits 6:4 of an address are XORed with bits 9:7,
//   as many as the span has.
// - Elements outside of the tensor load as zero or, filled with NaN, as 0x7ff7 in every 16 bits.
//   They count for the mbarrier. Stores leave out chunks of 16 bytes that lie outside, and write
//   whole those that begin inside: past the end of a row up to the next multiple of 16 bytes.
//   Reductions likewise.
// - tf32 and tf32_ftz round to the nearest even of 10 bits when loaded, NaNs become 0x7fffe000;
//   subnormals stay, and f32_ftz changes nothing.
// - A box begins at a multiple of 16 bytes, a store inside of the tensor; else the launch fails.
// - Interleaved maps have cells of 16 or 32 bytes for elements: dimension 0 counts cells, which
//   follow each other in memory, and its step counts. The last dimension but one are the slices of
//   channels; its box is taken as 1. Cells lie densely in shared memory, whatever the swizzle.
// - Pixels (im2col): a column goes through the bounding box, W first, in the steps of the map, and
//   from its end to the next row's beginning, to the next image at last (in the step of that
//   dimension). The offsets are added to where a pixel is read, not to the box. A column begins
//   inside of the box; for stores and reductions the box lies inside of the tensor; else the launch
//   fails, as it does where a map of boxes is used for pixels or the other way round, prefetches
//   included.
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

bool reduces(const TensorCopy& c) { return c.reduce != AtomicOp::none; }
bool converts(TensorType type) { return type == TensorType::tf32 || type == TensorType::tf32_ftz; }

// Copies 16 bytes between shared memory and the tensor, of which `left` elements from `far` on are
// there.
void copy_chunk(const TensorMap& m, const TensorCopy& c, std::byte* near, std::byte* far,
                int64_t left) {
    const TensorUnit unit = tensor_unit(m.type);
    if (unit.near != unit.far) {
        for (uint32_t i = 0; i < 16; i += 4) {
            const bool there = left > 0 && i < unit.far;
            if (!c.store)
                host::store<uint32_t>(near + i, there ? host::load<uint32_t>(far + i) : 0);
            else if (there)
                host::store<uint32_t>(far + i, host::load<uint32_t>(near + i));
        }
        return;
    }
    const uint32_t bytes = unit.near;
    const int64_t elements = 16 / bytes;
    if (c.store) {
        if (left <= 0) return;
        if (c.reduce == AtomicOp::none)
            copy_words(far, near, 16);
        else
            reduce_words(far, near, 16, c.reduce, atomic_type(m.type));
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
void copy_row(const TensorMap& m, const TensorCopy& c, const Box& box, const BoxRow& row,
              std::byte* global, std::byte* shared) {
    for (uint32_t offset = 0; offset < box.row; offset += 16) {
        const BoxChunk chunk = box.chunk_at(m, row, offset);
        std::byte* const far = chunk.left > 0 ? global + (chunk.far - row.far) : nullptr;
        std::byte* const near = shared + chunk.near;
        if (m.atom != TensorAtom::b32_flip || !(chunk.near & 128)) {
            copy_chunk(m, c, near, far, chunk.left);
            continue;
        }
        alignas(8) std::byte halves[16];
        const auto exchange = [](std::byte* to, const std::byte* from) {
            for (uint32_t i = 0; i < 16; i += 8)
                host::store<uint64_t>(to + i, host::load<uint64_t>(from + (8 - i)));
        };
        if (c.store) exchange(halves, near);
        copy_chunk(m, c, halves, far, chunk.left);
        if (!c.store) exchange(near, halves);
    }
}

// Calls visit(row, bytes) for the rows of a box, until it answers false; `bytes`: what is touched
// of the tensor (0: nothing).
template <class Visit>
bool each_row(const TensorMap& m, const Box& box, const TensorCopy& c, Visit&& visit) {
    for (uint64_t number = 0; number < box.rows; ++number) {
        const BoxRow row = box.row_at(m, c, number);
        // Only the units of the row that exist are read; whole chunks are written.
        uint64_t bytes =
            row.inside() ? static_cast<uint64_t>(row.end - row.begin) * box.unit.far : 0;
        if (c.store && box.unit.near == box.unit.far) bytes = (bytes + 15) / 16 * 16;
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
    if (c.prefetch) return 0;
    events::AsyncIssue issue(w, op, lanes, SASSEMU_AGENT_TMA, c.store ? SASSEMU_GROUP_BULK : -1,
                             c.mbarrier);
    const std::byte* encoded = bytes_of_map(w, c.map);
    if (!encoded) return issue.id();
    issue.will_read(events::global_location(c.map), tensor_map_bytes, SASSEMU_VIA_TENSORMAP);
    const Result<TensorMap> decoded = TensorMap::decode(encoded);
    if (!decoded) return issue.id();
    const Box box(*decoded, c);
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
                    c.store ? issue.will_write(far, bytes, reduces(c))
                            : issue.will_read(far, bytes);
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
    // What the tensormap proxy has there may be older than what its bytes are.
    events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TMA, c.prefetch ? 0 : id);
    if (agent)
        encoded = agent.read(events::global_location(c.map), encoded, tensor_map_bytes,
                             SASSEMU_VIA_TENSORMAP);
    const Result<TensorMap> decoded = TensorMap::decode(encoded);
    if (!decoded)
        return fault(w, op, lanes, decoded.error().where + " " + decoded.error().what, c.map);
    const TensorMap& m = *decoded;
    const Box box(m, c);
    if (const std::string why = refusal(m, box, c); !why.empty())
        return fault(w, op, lanes, why, c.map);
    if (c.prefetch) return op + 1;

    ++w.effects;
    std::vector<std::byte> seen;  // the shared memory that a store sees, where that differs
    const bool done = each_window(c, [&](uint32_t window) {
        if (!shared_range(w, op, lanes, window | (c.shared & 0xffffff), box.extent(), 128))
            return false;
        const Cta& cta = *w.cta->cluster->cta[window >> 24];
        std::byte* shared = cta.shared;
        if (agent && c.store && agent.may_see_other())
            seen.assign(shared, shared + w.cta->launch->shared_bytes);
        const bool copied = each_row(m, box, c, [&](const BoxRow& row, uint64_t bytes) {
            std::byte* global = nullptr;
            if (row.inside() && !(global = global_range(w, op, lanes, row.far, bytes, c.store)))
                return false;
            if (agent)
                each_range(
                    box, row, c.store,
                    [&](uint32_t at, uint64_t count) {
                        const sassemu_location near = events::shared_location(*w.cta, window | at);
                        if (!c.store) return agent.write(near, shared + at, count);
                        const std::byte* found = agent.read(near, shared + at, count);
                        if (!seen.empty()) std::copy_n(found, count, seen.data() + at);
                    },
                    [&] {
                        const sassemu_location far = events::global_location(row.far);
                        if (c.store) return agent.write(far, global, bytes, reduces(c));
                        global = const_cast<std::byte*>(agent.read(far, global, bytes));
                    });
            copy_row(m, c, box, row, global, seen.empty() ? shared : seen.data());
            return true;
        });
        return copied && (c.store || report(w, op, lanes, c, window, box.bytes()));
    });
    return done ? op + 1 : nullptr;
}

}  // namespace sassemu::async
