// SPDX-License-Identifier: Apache-2.0
// Random copies of images (im2col): maps, bounding boxes, columns of pixels, offsets.
#pragma once

#include "tensor_cases.hpp"

namespace image_cases {

using tensor_cases::Case;
using tensor_cases::Random;

constexpr uint64_t region = 8192;      // bytes that an image may span
constexpr uint32_t most_bytes = 4096;  // of a column in shared memory

inline int32_t between(Random& r, int32_t first, int32_t last) {
    return first + static_cast<int32_t>(r.below(static_cast<uint32_t>(last - first + 1)));
}

// One try; false when it does not fit. `cells`: interleaved maps. An H100 takes a start outside of
// the bounding box for illegal, and stores whose box leaves the tensor.
inline bool attempt(Random& r, bool store, bool cells, Case& c) {
    c = Case{};
    c.image = true;
    c.type = r.below(13);
    c.rank = 3 + r.below(3);
    const uint32_t size = tensor_cases::element_bytes(c.type), unit = 16 / size;
    c.interleave = cells ? 1 + r.below(2) : 0;
    c.swizzle = c.interleave == 2 ? 1 : r.below(4);
    c.promotion = r.below(4);
    c.fill = !store && c.type >= 6 && r.below(2);
    const uint32_t cell = cells ? 8u << c.interleave : size;
    const uint32_t most = c.swizzle && !cells ? 1u << c.swizzle : 16;
    c.channels = cells ? unit * (1 + r.below(2)) : unit * (1 + r.below(most));
    if (c.channels > 256) return false;
    c.pixels = 1 + r.below(r.below(2) ? 16 : 80);
    const bool steps = r.below(3) == 0;
    const uint32_t spatial = c.rank - 2, first = cells ? 0 : 1;  // W, H, D
    const uint64_t align = c.interleave == 2 ? 32 : 16;
    uint64_t span = 0;
    for (uint32_t k = 0; k < c.rank; ++k) {
        c.step[k] = steps ? 1 + r.below(r.below(2) ? 8 : 3) : 1;
        c.dim[k] =
            k == 0 && !cells ? 1 + r.below(2 * c.channels + 2) : 1 + r.below(k == first ? 12 : 6);
        span = k == 0 ? c.dim[0] * cell : c.stride[k - 1] * c.dim[k];
        if (k + 1 < c.rank) c.stride[k] = (span + align - 1) / align * align + align * r.below(3);
        if (span > region) return false;
    }
    for (uint32_t s = 0; s < spatial; ++s) {
        const auto length = static_cast<int32_t>(c.dim[first + s]);
        c.lower[s] = store ? between(r, 0, 2) : between(r, -4, 2);
        c.upper[s] = store ? between(r, -4, 0) : between(r, -4, 3);
        const int32_t last = length - 1 + c.upper[s];
        if (c.lower[s] > last) return false;
        c.at[first + s] = between(r, c.lower[s], last);
        c.offset[s] = r.below(3) ? r.below(4) : r.below(c.rank == 5 ? 32 : 200);
        if (store) c.offset[s] = 0;
    }
    const auto images = static_cast<int32_t>(c.dim[c.rank - 1]);
    c.at[c.rank - 1] = r.below(8) ? between(r, 0, images - 1) : between(r, -2, images + 2);
    // Channels, or slices of them.
    const uint32_t channel = cells ? c.rank - 2 : 0;
    const auto wide = static_cast<int32_t>(c.dim[channel]);
    c.at[channel] = r.below(3) ? 0 : between(r, -static_cast<int32_t>(c.channels), wide + 4);
    if (!cells) c.at[0] -= c.at[0] % static_cast<int32_t>(unit);
    if (store && c.at[channel] < 0) c.at[channel] = 0;
    if (store && c.at[c.rank - 1] < 0) c.at[c.rank - 1] = 0;
    // A cell or the channels of a pixel.
    const uint64_t row = cells ? cell : uint64_t{c.channels} * size;
    const uint64_t pitch = c.swizzle && !cells ? 16u << c.swizzle : row;
    c.bytes = static_cast<uint32_t>(c.pixels * row);
    return c.pixels * pitch <= most_bytes;
}

inline Case make(uint32_t number, bool store, bool cells) {
    Random r(number * 8 + store + 2 * cells + (uint64_t{1} << 42));
    Case c;
    while (!attempt(r, store, cells, c)) {
    }
    return c;
}

// Parameters that the driver may refuse, for the encoder alone.
inline Case odd(uint32_t number, uint64_t& base) {
    Random r(number + (uint64_t{1} << 43));
    Case c = tensor_cases::wild(number + 1000000, base);
    const bool free = number % 4 == 3;
    c.image = true;
    if (!free || c.rank < 3) c.rank = free ? 1 + r.below(5) : 3 + r.below(3);
    const uint32_t size = tensor_cases::element_bytes(c.type), unit = size < 16 ? 16 / size : 1;
    for (uint32_t k = 0; k < c.rank; ++k) {
        if (!c.step[k]) c.step[k] = 1;
        if (!c.dim[k]) c.dim[k] = 1 + r.below(100);
        if (k + 1 < c.rank && !c.stride[k]) c.stride[k] = 32 * (1 + r.below(100));
    }
    const int32_t limit = c.rank == 3 ? 32768 : c.rank == 4 ? 128 : 16;
    for (uint32_t s = 0; s < 3; ++s) {
        const int32_t reach = free && r.below(4) == 0 ? 2 * limit : r.below(2) ? limit : 3;
        c.lower[s] = between(r, -reach, reach - 1);
        c.upper[s] = between(r, -reach, reach - 1);
    }
    const uint32_t most = c.swizzle && !c.interleave ? 1u << c.swizzle : 16;
    c.channels = free && r.below(2) ? r.below(300) : unit * (1 + r.below(most));
    if (c.channels > 256 && !free) c.channels = unit;
    c.pixels = free && r.below(4) == 0 ? r.below(1100) : 1 + r.below(r.below(2) ? 1024 : 64);
    return c;
}

}  // namespace image_cases
