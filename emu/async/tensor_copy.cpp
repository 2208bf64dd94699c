// cp.async.bulk.tensor in tile mode: a box of a tensor between global and shared memory. Measured on an
// H200 with random maps and coordinates (tests/hardware/async):
// - The box lies densely in shared memory, innermost dimension first; a dimension with step s has
//   ceil(box / s) elements, and the step of the innermost one is ignored. With a swizzle each row takes the
//   whole span (32, 64, 128 bytes), and bits 6:4 of an address are XORed with bits 9:7, as many as the span has.
// - Elements outside of the tensor load as zero or, filled with NaN, as 0x7ff7 in every 16 bits. They count
//   for the mbarrier. Stores leave out chunks of 16 bytes that lie outside, and write whole those that begin
//   inside: past the end of a row up to the next multiple of 16 bytes.
// - tf32 and tf32_ftz round to the nearest even of 10 bits when loaded, NaNs become 0x7fffe000; subnormals
//   stay, and f32_ftz changes nothing.
// - A box begins at a multiple of 16 bytes, a store inside of the tensor; else the launch fails.
// - Interleaved maps have cells of 16 or 32 bytes for elements: dimension 0 counts cells, which follow each other
//   in memory, and its step counts. The last dimension but one are the slices of channels; its box is taken as 1.
//   Cells lie densely in shared memory, whatever the swizzle.
#include "emu/async/agents.hpp"
#include "emu/async/range.hpp"
#include "emu/async/tensor_box.hpp"
#include "emu/plugin/sync_events.hpp"

namespace sassemu::async {

namespace {

// A map or an instruction that the hardware answers with an illegal instruction.
const Op* fault(Warp& w, const Op* op, uint32_t lanes, const std::string& what, uint64_t address) {
    return services(w).fault(w, op, lanes, FaultKind::illegal_instruction, what.c_str(), true, address);
}

// The map's bytes: in global memory, or in the constant bank behind its generic window (a parameter).
const std::byte* map_at(Warp& w, const Op* op, uint32_t lanes, uint64_t address) {
    if (address >> 32 == constant_window_high) {
        const uint64_t at = address & 0xffffffffu;
        if (at + tensor_map_bytes <= w.cta->launch->bank_bytes[static_cast<int>(Base::bank0)])
            return w.base[static_cast<int>(Base::bank0)] + at;
    }
    return global_range(w, op, lanes, address, tensor_map_bytes, false);
}

uint32_t round_tf32(uint32_t v) {
    if ((v >> 23 & 255) == 255) return v & 0x7fffff ? 0x7fffe000u : v;
    return (v + 0xfff + (v >> 13 & 1)) & ~0x1fffu;
}

bool converts(TensorType type) { return type >= TensorType::tf32; }

// Copies 16 bytes between shared memory and the tensor, of which `left` elements from `far` on are there.
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
                v = converts(m.type) ? round_tf32(host::load<uint32_t>(at)) : host::load_bytes(at, bytes);
            }
            host::store_bytes(near + i * bytes, bytes, v);
        }
    }
}

// One row, whose part of the tensor lies at `global`.
void copy_row(const TensorMap& m, const Box& box, const BoxRow& row, std::byte* global, int64_t first,
              std::byte* shared, bool store) {
    for (uint32_t offset = 0; offset < box.row; offset += 16) {
        const BoxChunk c = box.chunk_at(m, row, first, offset);
        copy_chunk(m, shared + c.near, c.left > 0 ? global + (c.far - row.far) : nullptr, c.left, store);
    }
}

// Tells plugins of one row, before it is copied. A swizzle permutes the chunks of a row within its span.
void tell_row(events::AsyncOperation& agent, const Box& box, uint64_t far, const std::byte* global, uint64_t bytes,
              uint32_t window, const std::byte* shared, uint32_t row_at, bool store) {
    const auto near = [&](uint32_t at, uint32_t count) {
        if (store)
            agent.read_shared(window | at, shared + at, count);
        else
            agent.write_shared(window | at, shared + at, count);
    };
    if (global && !store) agent.read_global(far, global, bytes);
    if (!box.swizzle || box.row == box.pitch) {
        near(row_at, box.row);
    } else {
        for (uint32_t chunk = 0; chunk < box.row; chunk += 16) {
            const uint32_t at = row_at + chunk;
            near(box.swizzled(at), 16);
        }
    }
    if (global && store) agent.write_global(far, global, bytes);
}

}  // namespace

const Op* tensor_copy(Warp& w, const Op* op, uint32_t lanes, const TensorCopy& c) {
    if (c.map % 64)
        return services(w).fault(w, op, lanes, FaultKind::misaligned_address,
                                 "a tensor map lies at a multiple of 64", true, c.map);
    const std::byte* encoded = map_at(w, op, lanes, c.map);
    if (!encoded) return nullptr;
    const Result<TensorMap> decoded = TensorMap::decode(encoded);
    if (!decoded) return fault(w, op, lanes, decoded.error().where + " " + decoded.error().what, c.map);
    const TensorMap& m = *decoded;
    const Box box(m);
    if (const std::string why = refusal(m, box, c); !why.empty()) return fault(w, op, lanes, why, c.map);

    ++w.effects;
    events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TMA);
    if (agent) agent.read_global(c.map, encoded, tensor_map_bytes, SASSEMU_VIA_TENSORMAP);
    const uint32_t at = c.shared & 0xffffff;
    for (uint32_t rest = receivers(c, c.shared); rest; rest &= rest - 1) {
        const uint32_t window = static_cast<uint32_t>(std::countr_zero(rest)) << 24;
        if (!shared_range(w, op, lanes, window | at, box.extent(), 128)) return nullptr;
        std::byte* shared = w.cta->cluster->cta[window >> 24]->shared;
        for (uint64_t number = 0; number < box.rows; ++number) {
            const BoxRow row = box.row_at(m, at, c.at, number);
            std::byte* global = nullptr;
            uint64_t bytes = 0;
            // Only the units of the row that exist are read; whole chunks are written.
            if (row.inside()) {
                bytes = static_cast<uint64_t>(row.end - row.begin) * box.unit;
                if (c.store) bytes = (bytes + 15) / 16 * 16;
                global = global_range(w, op, lanes, row.far, bytes, c.store);
                if (!global) return nullptr;
            }
            if (agent) tell_row(agent, box, row.far, global, bytes, window, shared, row.near, c.store);
            copy_row(m, box, row, global, c.at[0], shared, c.store);
        }
        if (!c.store && !report(w, op, lanes, c, window, box.bytes())) return nullptr;
    }
    return op + 1;
}

}  // namespace sassemu::async
