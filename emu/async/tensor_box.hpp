// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a box lie: in shared memory and in the tensor. The rules are those in
// tensor_copy.cpp. What belongs here: addresses, and which copies there are none of. What does not:
// copying.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "emu/async/reduction.hpp"
#include "emu/async/swizzle.hpp"
#include "emu/async/tensor_map.hpp"
#include "emu/machine/copies.hpp"

namespace sassemu::async {

constexpr uint64_t tensor_map_bytes = 128;

// A row of a box, or a pixel of a column.
struct BoxRow {
    uint32_t near = 0;  // its offset in shared memory, before the swizzle
    int64_t first = 0;  // the unit that it begins with
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

// The dimension of W; H and D follow.
inline uint32_t first_of_pixels(const TensorMap& m) {
    return m.interleave == TensorInterleave::none;
}

// Where a walk from `start` in steps up to `end` (exclusive), then again and again from `begin` on,
// is after `count` steps; `count` becomes how often it began again.
inline int64_t walk(int64_t start, int64_t begin, int64_t end, int64_t step, int64_t& count) {
    const int64_t first = std::max<int64_t>(1, (end - start + step - 1) / step);
    if (count < first) {
        start += std::exchange(count, 0) * step;
        return start;
    }
    const int64_t per = std::max<int64_t>(1, (end - begin + step - 1) / step), rest = count - first;
    count = 1 + rest / per;
    return begin + rest % per * step;
}

// The box as it lies in shared memory.
struct Box {
    TensorUnit unit;      // what dimension 0 counts here: an element, a cell, some packed elements
    uint32_t step;        // of dimension 0
    int64_t size;         // of dimension 0, in units
    uint32_t count[5];    // units or rows per dimension; of a column, those of a pixel
    uint32_t row, pitch;  // bytes of a row, and from one to the next
    uint64_t rows = 1;
    Swizzle swizzle;

    Box(const TensorMap& m, const TensorCopy& c) {
        const bool cells = m.interleave != TensorInterleave::none;
        unit = tensor_unit(m.type);
        if (cells)
            unit.elements = 1, unit.near = unit.far = 8u << static_cast<uint32_t>(m.interleave);
        size = static_cast<int64_t>(m.size[0] / unit.elements);
        step = cells ? m.step[0] : 1;
        for (uint32_t k = 0; k < 5; ++k)
            count[k] = k < m.rank ? (m.box[k] + m.step[k] - 1) / m.step[k] : 1;
        if (!cells) count[0] = m.box[0];
        if (cells) count[m.rank - 2] = 1;
        if (m.image) count[0] = cells ? 1 : m.channels;
        count[0] /= unit.elements;
        row = count[0] * unit.near;
        const auto s = static_cast<uint32_t>(m.swizzle);
        swizzle = m.atom == TensorAtom::b16   ? swizzle_of_16(s)
                  : m.atom == TensorAtom::b64 ? swizzle_of_64
                                              : swizzle_of_32;
        pitch = s && !cells ? 16u << s : row;
        switch (c.mode) {
            case TensorMode::tile:
                for (uint32_t k = 1; k < 5; ++k) rows *= count[k];
                break;
            case TensorMode::rows4:
                rows = 4;
                break;
            case TensorMode::column:
                rows = m.pixels;
                break;
            case TensorMode::wide:
                rows = m.pixels + c.offset[0];
                break;
            case TensorMode::wide128:
                rows = 128 + 4 * c.offset[0];
                break;
        }
    }
    uint64_t bytes() const { return rows * row; }
    uint64_t extent() const { return rows * pitch; }

    // Row `number` of what the copy takes.
    BoxRow row_at(const TensorMap& m, const TensorCopy& c, uint64_t number) const {
        int64_t at[5];
        coordinates(m, c, number, at);
        BoxRow r;
        r.near = (c.shared & 0xffffff) + static_cast<uint32_t>(number) * pitch;
        r.first = at[0] / unit.elements;
        r.far = m.address;
        bool inside = true;
        for (uint32_t k = 1; k < m.rank; ++k) {
            inside &= at[k] >= 0 && at[k] < static_cast<int64_t>(m.size[k]);
            r.far += static_cast<uint64_t>(at[k]) * m.stride[k - 1];
        }
        if (!inside) return r;
        const int64_t last = r.first + int64_t{count[0] - 1} * step;
        r.begin = std::max<int64_t>(r.first, 0);
        r.end = std::min<int64_t>(last + 1, size);
        r.far += static_cast<uint64_t>(r.begin) * unit.far;
        return r;
    }
    // The chunk `offset` bytes into a row.
    BoxChunk chunk_at(const TensorMap& m, const BoxRow& r, uint32_t offset) const {
        BoxChunk c;
        c.near = swizzle(r.near + offset);
        // An element lies in a chunk, a cell consists of them.
        const int64_t u = r.first + int64_t{offset / unit.near} * step;
        if (!r.inside() || u < 0) return c;
        const uint32_t in_chunk = is_packed(m.type) ? 1 : 16 / element_bytes(m.type);
        c.left = unit.near < 16 ? size - u : u < size ? in_chunk : 0;
        c.far = r.far + static_cast<uint64_t>(u - r.begin) * unit.far + offset % unit.near;
        return c;
    }

  private:
    // Of the first unit of a row.
    void coordinates(const TensorMap& m, const TensorCopy& c, uint64_t number,
                     int64_t at[5]) const {
        std::copy_n(c.at, 5, at);
        if (c.mode == TensorMode::rows4) {
            at[1] = c.at[1 + number];
            return;
        }
        if (c.mode == TensorMode::tile) {
            for (uint32_t k = 1; k < m.rank; ++k) {
                at[k] += static_cast<int64_t>(number % count[k]) * m.step[k];
                number /= count[k];
            }
            return;
        }
        // Pixels: through the bounding box, row after row, image after image; wide copies along W
        // alone, and then `extra` ones past the box (wHalo).
        const bool wide = c.mode != TensorMode::column;
        const uint32_t first = first_of_pixels(m), spatial = wide ? 1 : m.rank - 2;
        auto left = static_cast<int64_t>(number);
        int64_t extra = 0;
        if (wide) {
            const int64_t halo = c.offset[0], main = c.mode == TensorMode::wide ? m.pixels : 32,
                          in_group = left % (main + halo);
            extra = std::max<int64_t>(0, in_group - (main - 1));
            left = left / (main + halo) * main + in_group - extra;
        }
        for (uint32_t s = 0; s < spatial; ++s) {
            const uint32_t k = first + s;
            const int64_t end = static_cast<int64_t>(m.size[k]) + m.upper[s];
            at[k] = walk(c.at[k], m.lower[s], end, m.step[k], left) + c.offset[wide ? 1 : s] +
                    extra * m.step[k];
        }
        at[m.rank - 1] += left * m.step[m.rank - 1];
    }
};

// Why the hardware takes this copy for an illegal instruction; empty if it does not.
inline std::string refusal(const TensorMap& m, const Box& box, const TensorCopy& c) {
    const bool image = c.mode >= TensorMode::column;
    if (m.image != image)
        return image ? "a copy of pixels (im2col) by a tensor map of boxes"
                     : "a copy of a box by a tensor map of pixels (im2col)";
    if (m.rank != c.dimensions)
        return "the instruction has " + std::to_string(c.dimensions) +
               " coordinates, the tensor map a rank of " + std::to_string(m.rank);
    if (c.reduce != AtomicOp::none && !reduction_exists(m.type, c.reduce))
        return "there is no such reduction of the type of the tensor map";
    if (c.at[0] % int64_t{box.unit.elements} ||
        c.at[0] / int64_t{box.unit.elements} * box.unit.near % 16)
        return "the first coordinate, " + std::to_string(c.at[0]) + ", is no multiple of 16 bytes";
    const uint32_t first = image ? first_of_pixels(m) : 0, spatial = image ? m.rank - 2 : 0;
    for (uint32_t k = 0; k < (c.mode == TensorMode::rows4 ? 5 : m.rank); ++k)
        if (c.store && c.at[k] < 0 && k - first >= spatial)
            return "coordinate " + std::to_string(k) + " of a store is negative";
    if (!image) return {};
    const bool wide = c.mode != TensorMode::column;
    for (uint32_t s = 0; s < (wide ? 1 : spatial); ++s) {
        const uint32_t k = first + s;
        if ((c.at[k] < m.lower[s] && !wide) ||
            c.at[k] >= static_cast<int64_t>(m.size[k]) + m.upper[s])
            return "coordinate " + std::to_string(k) + ", " + std::to_string(c.at[k]) +
                   ", lies outside of the bounding box";
        if (c.store && (m.lower[s] < 0 || m.upper[s] > 0))
            return "the bounding box of a store leaves the tensor";
    }
    return {};
}

}  // namespace sassemu::async
