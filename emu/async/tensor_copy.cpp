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
#include "emu/async/tensor_map.hpp"
#include "emu/plugin/async_events.hpp"

namespace sassemu::async {

namespace {

constexpr uint64_t map_bytes = 128;

// A map or an instruction that the hardware answers with an illegal instruction.
const Op* fault(Warp& w, const Op* op, uint32_t lanes, const std::string& what, uint64_t address) {
    return services(w).fault(w, op, lanes, FaultKind::illegal_instruction, what.c_str(), true, address);
}

// The map's bytes: in global memory, or in the constant bank behind its generic window (a parameter). Null: not there.
const std::byte* bytes_of_map(const Warp& w, uint64_t address) {
    if (address >> 32 == constant_window_high) {
        const uint64_t at = address & 0xffffffffu;
        if (at + map_bytes <= w.cta->launch->bank_bytes[static_cast<int>(Base::bank0)])
            return w.base[static_cast<int>(Base::bank0)] + at;
    }
    const Extent& e = w.cta->launch->space->find(address);
    return e.holds(address, map_bytes) ? e.host + (address - e.lo) : nullptr;
}

uint32_t round_tf32(uint32_t v) {
    if ((v >> 23 & 255) == 255) return v & 0x7fffff ? 0x7fffe000u : v;
    return (v + 0xfff + (v >> 13 & 1)) & ~0x1fffu;
}

bool converts(TensorType type) { return type >= TensorType::tf32; }

// The box as it lies in shared memory.
struct Box {
    uint32_t unit;       // bytes that dimension 0 counts: an element or a cell
    uint32_t step;       // of dimension 0
    uint32_t count[5];   // units or rows per dimension
    uint32_t row, pitch; // bytes of a row, and from one to the next
    uint64_t rows = 1;
    uint32_t swizzle;    // bits 6:4 that are XORed

    explicit Box(const TensorMap& m) {
        const bool cells = m.interleave != TensorInterleave::none;
        unit = cells ? 8u << static_cast<uint32_t>(m.interleave) : element_bytes(m.type);
        step = cells ? m.step[0] : 1;
        for (uint32_t k = 0; k < 5; ++k)
            count[k] = k < m.rank ? (m.box[k] + m.step[k] - 1) / m.step[k] : 1;
        if (!cells) count[0] = m.box[0];
        if (cells) count[m.rank - 2] = 1;
        row = count[0] * unit;
        const auto s = static_cast<uint32_t>(m.swizzle);
        swizzle = ((1u << s) - 1) << 4;
        pitch = s && !cells ? 16u << s : row;
        for (uint32_t k = 1; k < 5; ++k) rows *= count[k];
    }
    // Where the byte at a shared offset lies.
    uint32_t swizzled(uint32_t at) const { return at ^ (at >> 3 & swizzle); }
    uint64_t bytes() const { return rows * row; }
    uint64_t extent() const { return rows * pitch; }
};

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

// One row between `row_at` (shared offset) and the tensor; `inside`: the row has units of the tensor, from number
// `begin` on at `global`.
void copy_row(const TensorMap& m, const Box& box, std::byte* global, int64_t begin, bool inside,
              int64_t first, std::byte* shared, uint32_t row_at, bool store) {
    const auto size = static_cast<int64_t>(m.size[0]);
    const uint32_t elements = 16 / element_bytes(m.type);
    for (uint32_t chunk = 0; chunk < box.row; chunk += 16) {
        // An element lies in a chunk, a cell consists of them.
        const int64_t u = first + int64_t{chunk / box.unit} * box.step;
        const int64_t left = !inside || u < 0 ? 0 : box.unit < 16 ? size - u : u < size ? elements : 0;
        std::byte* far = left > 0 ? global + (u - begin) * box.unit + chunk % box.unit : nullptr;
        copy_chunk(m, shared + box.swizzled(row_at + chunk), far, left, store);
    }
}

// A row of the box, and its part in the tensor: `bytes` (0: none) at the global address `far`, from unit `begin` on.
struct Row {
    uint32_t at;  // shared offset
    int64_t begin;
    uint64_t far, bytes;
};

// Calls visit(Row) for all of them, until it answers false.
template <class Visit>
bool each_row(const TensorMap& m, const Box& box, const TensorCopy& c, Visit&& visit) {
    uint32_t index[5] = {};
    for (uint64_t row = 0; row < box.rows; ++row) {
        bool inside = true;
        uint64_t far = m.address;
        for (uint32_t k = 1; k < m.rank; ++k) {
            const int64_t i = c.at[k] + int64_t{index[k]} * m.step[k];
            inside &= i >= 0 && i < static_cast<int64_t>(m.size[k]);
            far += static_cast<uint64_t>(i) * m.stride[k - 1];
        }
        // Only the units of the row that exist are read; whole chunks are written.
        const int64_t begin = std::max<int64_t>(c.at[0], 0),
                      last = int64_t{c.at[0]} + int64_t{box.count[0] - 1} * box.step,
                      end = std::min<int64_t>(last + 1, static_cast<int64_t>(m.size[0]));
        uint64_t bytes = 0;
        if (inside && begin < end) {
            bytes = static_cast<uint64_t>(end - begin) * box.unit;
            if (c.store) bytes = (bytes + 15) / 16 * 16;
        }
        const uint32_t at = (c.shared & 0xffffff) + static_cast<uint32_t>(row) * box.pitch;
        if (!visit(Row{at, begin, far + static_cast<uint64_t>(begin) * box.unit, bytes})) return false;
        for (uint32_t k = 1; k < 5 && ++index[k] == box.count[k]; ++k) index[k] = 0;
    }
    return true;
}

// The ranges of one row in the order in which they are touched: near(shared offset, bytes) and far(). A swizzle permutes the
// chunks of a row within its span.
template <class Near, class Far>
void each_range(const Box& box, const Row& row, bool store, Near&& near, Far&& far) {
    if (row.bytes && !store) far();
    if (!box.swizzle || box.row == box.pitch) {
        near(row.at, box.row);
    } else {
        for (uint32_t chunk = 0; chunk < box.row; chunk += 16) near(box.swizzled(row.at + chunk), 16);
    }
    if (row.bytes && store) far();
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
    events::AsyncIssue issue(w, op, lanes, SASSEMU_AGENT_TMA, c.store ? SASSEMU_GROUP_BULK : -1, c.mbarrier);
    const std::byte* encoded = bytes_of_map(w, c.map);
    if (!encoded) return issue.id();
    issue.will_read(events::global_location(c.map), map_bytes, SASSEMU_VIA_TENSORMAP);
    const Result<TensorMap> decoded = TensorMap::decode(encoded);
    if (!decoded || decoded->rank != c.dimensions) return issue.id();
    const Box box(*decoded);
    each_window(c, [&](uint32_t window) {
        if (!c.store) issue.reports_to(reported(c, window));
        return each_row(*decoded, box, c, [&](const Row& row) {
            each_range(
                box, row, c.store,
                [&](uint32_t at, uint64_t bytes) {
                    const sassemu_location near = events::shared_location(*w.cta, window | at);
                    c.store ? issue.will_read(near, bytes) : issue.will_write(near, bytes);
                },
                [&] {
                    const sassemu_location far = events::global_location(row.far);
                    c.store ? issue.will_write(far, row.bytes) : issue.will_read(far, row.bytes);
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
    if (!encoded) encoded = global_range(w, op, lanes, c.map, map_bytes, false);  // says what is wrong
    if (!encoded) return nullptr;
    const Result<TensorMap> decoded = TensorMap::decode(encoded);
    if (!decoded) return fault(w, op, lanes, decoded.error().where + " " + decoded.error().what, c.map);
    const TensorMap& m = *decoded;
    if (m.rank != c.dimensions)
        return fault(w, op, lanes,
                     "the instruction has " + std::to_string(c.dimensions) +
                         " coordinates, the tensor map a rank of " + std::to_string(m.rank), c.map);
    const Box box(m);
    if (c.at[0] * int64_t{box.unit} % 16)
        return fault(w, op, lanes, "the first coordinate, " + std::to_string(c.at[0]) +
                                       ", is no multiple of 16 bytes", c.map);
    for (uint32_t k = 0; k < m.rank; ++k)
        if (c.store && c.at[k] < 0)
            return fault(w, op, lanes, "coordinate " + std::to_string(k) + " of a store is negative", c.map);

    ++w.effects;
    events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TMA, id);
    if (agent) agent.read(events::global_location(c.map), encoded, map_bytes, SASSEMU_VIA_TENSORMAP);
    const bool done = each_window(c, [&](uint32_t window) {
        if (!shared_range(w, op, lanes, window | (c.shared & 0xffffff), box.extent(), 128)) return false;
        std::byte* shared = w.cta->cluster->cta[window >> 24]->shared;
        const bool copied = each_row(m, box, c, [&](const Row& row) {
            std::byte* global = nullptr;
            if (row.bytes && !(global = global_range(w, op, lanes, row.far, row.bytes, c.store))) return false;
            if (agent)
                each_range(
                    box, row, c.store,
                    [&](uint32_t at, uint64_t bytes) {
                        const sassemu_location near = events::shared_location(*w.cta, window | at);
                        c.store ? agent.read(near, shared + at, bytes) : agent.write(near, shared + at, bytes);
                    },
                    [&] {
                        const sassemu_location far = events::global_location(row.far);
                        c.store ? agent.write(far, global, row.bytes) : agent.read(far, global, row.bytes);
                    });
            copy_row(m, box, global, row.begin, row.bytes != 0, c.at[0], shared, row.at, c.store);
            return true;
        });
        return copied && (c.store || report(w, op, lanes, c, window, box.bytes()));
    });
    return done ? op + 1 : nullptr;
}

}  // namespace sassemu::async
