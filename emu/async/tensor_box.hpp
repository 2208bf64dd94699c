// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a box lie: in shared memory and in the tensor. The rules are those in
// tensor_copy.cpp. What belongs here: addresses, and which copies there are none of. What does not:
// copying.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "emu/async/swizzle.hpp"
#include "emu/async/tensor_map.hpp"
#include "emu/machine/copies.hpp"

namespace sassemu::async {

constexpr uint64_t tensor_map_bytes = 128;

// A row of a box.
struct BoxRow {
    uint32_t near = 0;  // its offset in shared memory, before the swizzle
    int64_t begin = 0,
            end = 0;   // the units that a copy may touch in the tensor; none with begin >= end
    uint64_t far = 0;  // global address of unit `begin`
    bool inside() const { return begin < end; }
};

// 16 bytes of a row.
struct BoxChunk {
    uint32_t near = 0;  // offset in shared memory
    int64_t left = 0;   // elements of the tensor from here on; none with left <= 0
    uint64_t far = 0;   // their global address
};

// The box as it lies in shared memory.
struct Box {
    uint32_t unit;        // bytes that dimension 0 counts: an element or a cell
    uint32_t step;        // of dimension 0
    uint32_t count[5];    // units or rows per dimension
    uint32_t row, pitch;  // bytes of a row, and from one to the next
    uint64_t rows = 1;
    Swizzle swizzle;

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
        swizzle = swizzle_of_16(s);
        pitch = s && !cells ? 16u << s : row;
        for (uint32_t k = 1; k < 5; ++k) rows *= count[k];
    }
    uint64_t bytes() const { return rows * row; }
    uint64_t extent() const { return rows * pitch; }

    // Row `number` of the box that begins at shared offset `near` and at coordinates `at`.
    BoxRow row_at(const TensorMap& m, uint32_t near, const int32_t at[5], uint64_t number) const {
        BoxRow r;
        r.near = near + static_cast<uint32_t>(number) * pitch;
        r.far = m.address;
        bool inside = true;
        for (uint32_t k = 1; k < m.rank; ++k) {
            const int64_t i = at[k] + static_cast<int64_t>(number % count[k]) * m.step[k];
            number /= count[k];
            inside &= i >= 0 && i < static_cast<int64_t>(m.size[k]);
            r.far += static_cast<uint64_t>(i) * m.stride[k - 1];
        }
        if (!inside) return r;
        const int64_t last = int64_t{at[0]} + int64_t{count[0] - 1} * step;
        r.begin = std::max<int64_t>(at[0], 0);
        r.end = std::min<int64_t>(last + 1, static_cast<int64_t>(m.size[0]));
        r.far += static_cast<uint64_t>(r.begin) * unit;
        return r;
    }
    // The chunk `offset` bytes into a row that begins at coordinate `first`.
    BoxChunk chunk_at(const TensorMap& m, const BoxRow& r, int64_t first, uint32_t offset) const {
        BoxChunk c;
        c.near = swizzle(r.near + offset);
        // An element lies in a chunk, a cell consists of them.
        const int64_t u = first + int64_t{offset / unit} * step,
                      size = static_cast<int64_t>(m.size[0]);
        if (!r.inside() || u < 0) return c;
        c.left = unit < 16 ? size - u : u < size ? 16 / element_bytes(m.type) : 0;
        c.far = r.far + static_cast<uint64_t>((u - r.begin) * unit) + offset % unit;
        return c;
    }
};

// Why the hardware takes this copy for an illegal instruction; empty if it does not.
inline std::string refusal(const TensorMap& m, const Box& box, const TensorCopy& c) {
    if (m.rank != c.dimensions)
        return "the instruction has " + std::to_string(c.dimensions) +
               " coordinates, the tensor map a rank of " + std::to_string(m.rank);
    if (c.at[0] * int64_t{box.unit} % 16)
        return "the first coordinate, " + std::to_string(c.at[0]) + ", is no multiple of 16 bytes";
    for (uint32_t k = 0; k < m.rank; ++k)
        if (c.store && c.at[k] < 0)
            return "coordinate " + std::to_string(k) + " of a store is negative";
    return {};
}

}  // namespace sassemu::async
