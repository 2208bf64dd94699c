// SPDX-License-Identifier: Apache-2.0
// Random tensor copies: maps, boxes, strides and coordinates, in bounds and out of them. The
// recorder on the GPU machine and the replay make the same cases from their numbers.
#pragma once

#include <cstdint>

namespace tensor_cases {

// As cuTensorMapEncodeTiled takes them; enums by their numbers there.
struct Case {
    uint32_t type, rank;
    uint64_t dim[5], stride[4];  // elements; bytes
    uint32_t box[5], step[5];
    uint32_t interleave, swizzle, promotion, fill;
    int32_t at[5];
    uint32_t bytes;  // of the box in shared memory
    // Of image maps (image_cases.hpp), as cuTensorMapEncodeIm2col takes them.
    bool image;
    int32_t lower[3], upper[3];
    uint32_t channels, pixels, offset[3];
    // Of reductions (reduce_cases.hpp): 0..7 as in the instruction, and the kind of the values.
    uint32_t op, flavour;
};

// What the kernels read: tensor.cu.
struct alignas(128) Launch {
    unsigned char map[128];
    int32_t at[5];
    uint32_t rank, bytes;
    uint32_t offset[3], op, type, flavour;  // image.cu, reduce.cu
};

constexpr uint64_t region = 32768;     // bytes that a tensor may span
constexpr uint32_t most_bytes = 8192;  // of a box

inline uint32_t element_bytes(uint32_t type) {
    constexpr uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return bytes[type];
}

// The words of the tensor that loads read: random ones, and floats that conversions treat
// specially.
inline void fill(uint32_t* words, uint32_t count) {
    constexpr uint32_t special[] = {0,          0x80000000, 1,          0x807fffff, 0x007ff000,
                                    0x00001000, 0x7f800000, 0xff800000, 0x7f800001, 0xff801000,
                                    0x7fc00000, 0xffffffff, 0x7f7fffff, 0xff7ff000, 0x3f801000,
                                    0x3f803000, 0xbf800fff, 0x3f801001};
    for (uint32_t i = 0; i < count; ++i)
        words[i] = i % 3 == 1 ? special[i / 3 % 18] : (i + 1) * 0x9E3779B1u ^ i << 20;
}

class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 77) { next(); }
    uint32_t next() {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        const auto x = static_cast<uint32_t>(state_ >> 33);
        return x ^ x >> 15;
    }
    uint32_t below(uint32_t n) { return next() % n; }

  private:
    uint64_t state_;
};

// One try; false when it does not fit.
inline bool attempt(Random& r, bool store, Case& c, uint64_t region = tensor_cases::region,
                    uint32_t most_bytes = tensor_cases::most_bytes) {
    c = Case{};
    c.type = r.below(13);
    c.rank = 1 + r.below(5);
    const uint32_t size = element_bytes(c.type), unit = size < 16 ? 16 / size : 1;
    c.swizzle = r.below(4);
    c.promotion = r.below(4);
    c.fill = !store && c.type >= 6 && r.below(2);
    const uint64_t align = 16;
    uint64_t bytes = size, span = 0, room = c.swizzle ? 16u << c.swizzle : 0;
    const bool steps = r.below(4) == 0;
    for (uint32_t k = 0; k < c.rank; ++k) {
        if (k == 0) {
            const uint32_t most = c.swizzle ? 16u << c.swizzle : 512;
            c.box[0] = unit * (1 + r.below(most / 16));
            if (c.box[0] > 256) return false;
        } else {
            c.box[k] = 1 + r.below(k == 1 ? 24 : 6);
        }
        c.step[k] = steps ? 1 + r.below(r.below(2) ? 8 : 3) : 1;
        c.dim[k] = 1 + r.below(2 * c.box[k] + 2);
        if (k == 0) {
            span = (c.dim[0] * size + align - 1) / align * align;
        } else {
            c.stride[k - 1] = span + align * r.below(3);
            span = c.stride[k - 1] * c.dim[k];
        }
        // The traversal step of the innermost dimension is ignored (CUDA driver API; measured).
        const uint32_t step = k == 0 ? 1 : c.step[k];
        bytes *= (c.box[k] + step - 1) / step;
        // A swizzled row takes the whole span of the pattern.
        if (k > 0) room *= (c.box[k] + step - 1) / step;
        const int32_t wide = static_cast<int32_t>(c.dim[k]) + 2 * static_cast<int32_t>(c.box[k]);
        c.at[k] = r.below(3) == 0 ? static_cast<int32_t>(r.below(static_cast<uint32_t>(wide))) -
                                        static_cast<int32_t>(c.box[k])
                                  : static_cast<int32_t>(r.below(static_cast<uint32_t>(c.dim[k])));
        // A box must begin at a multiple of 16 bytes: an H200 answers anything else with an illegal
        // instruction.
        if (k == 0) c.at[0] -= c.at[0] % static_cast<int32_t>(unit);
        if (store && c.at[k] < 0) c.at[k] = 0;  // the same answer to a store before the tensor
        if (span > region || bytes > most_bytes || room > most_bytes) return false;
    }
    c.bytes = static_cast<uint32_t>(bytes);
    return true;
}

// The same with an interleaved map: dimension 0 counts cells of 16 or 32 bytes, the last but one
// slices of channels.
inline bool attempt_cells(Random& r, bool store, Case& c, uint64_t region = tensor_cases::region,
                          uint32_t most_bytes = tensor_cases::most_bytes) {
    c = Case{};
    c.type = r.below(13);
    c.rank = 3 + r.below(3);
    c.interleave = 1 + r.below(2);
    c.swizzle = r.below(2) ? c.interleave - 1 : r.below(4);
    c.promotion = r.below(4);
    c.fill = !store && c.type >= 6 && r.below(2);
    const uint32_t cell = 8u << c.interleave, unit = 16 / element_bytes(c.type);
    const bool steps = r.below(3) == 0;
    uint64_t bytes = cell, span = 0;
    for (uint32_t k = 0; k < c.rank; ++k) {
        c.box[k] = k == 0 ? unit * (1 + r.below(3)) : 1 + r.below(r.below(2) ? 4 : 40);
        c.step[k] = steps ? 1 + r.below(r.below(2) ? 8 : 3) : 1;
        c.dim[k] = 1 + r.below(2 * (c.box[k] < 8 ? c.box[k] : 8) + 2);
        span = k == 0 ? c.dim[0] * cell : c.stride[k - 1] * c.dim[k];
        if (k + 1 < c.rank) c.stride[k] = (span + 31) / 32 * 32 + 32 * r.below(3);
        if (k + 2 != c.rank) bytes *= (c.box[k] + c.step[k] - 1) / c.step[k];
        const auto size = static_cast<int32_t>(c.dim[k]);
        c.at[k] = r.below(4) == 0
                      ? static_cast<int32_t>(r.below(static_cast<uint32_t>(size) + 8)) - 4
                      : static_cast<int32_t>(r.below(static_cast<uint32_t>(size)));
        if (store && c.at[k] < 0) c.at[k] = 0;
        if (span > region || bytes > most_bytes) return false;
    }
    c.bytes = static_cast<uint32_t>(bytes);
    return true;
}

inline Case make(uint32_t number, bool store, bool cells) {
    Random r(number * 2 + store + (cells ? uint64_t{1} << 41 : 0));
    Case c;
    while (!(cells ? attempt_cells(r, store, c) : attempt(r, store, c))) {
    }
    return c;
}

// Parameters of a map that the driver may refuse, for the encoder alone; `base` gets its address.
inline Case wild(uint32_t number, uint64_t& base) {
    Random r(number + (uint64_t{1} << 40));
    const auto big = [&](uint64_t n) { return (uint64_t{r.next()} << 32 | r.next()) % n; };
    const bool free = number % 4 == 3;
    Case c{};
    c.type = r.below(13);
    c.rank = 1 + r.below(5);
    base = big(uint64_t{1} << 43) << 4;
    if (free && r.below(4) == 0) base += r.below(16);
    c.interleave = r.below(4) == 0 ? r.below(3) : 0;
    if (c.interleave && !free && c.rank < 3) c.rank = 3 + r.below(3);
    c.swizzle = r.below(4);
    if (c.interleave == 2 && !free) c.swizzle = 1, base &= ~uint64_t{31};
    c.promotion = r.below(4);
    c.fill = r.below(2) && (free || c.type >= 6);
    const uint32_t size = element_bytes(c.type), unit = size < 16 ? 16 / size : 1;
    const uint64_t align = c.interleave == 2 ? 32 : 16;
    for (uint32_t k = 0; k < c.rank; ++k) {
        c.dim[k] = 1 + big(r.below(3) ? 5000 : uint64_t{1} << 32);
        c.box[k] = 1 + r.below(r.below(3) ? 8 : 256);
        c.step[k] = r.below(4) ? 1 : 1 + r.below(free ? 9 : 8);
        if (k + 1 < c.rank) {
            c.stride[k] = (1 + big(r.below(2) ? uint64_t{1} << 36 : 4096)) * align;
            if (free && r.below(8) == 0) c.stride[k] += r.below(16);
        }
    }
    if (!free || r.below(2)) {
        const uint32_t most = c.swizzle && !c.interleave ? 1u << c.swizzle : 16;
        c.box[0] = unit * (1 + r.below(most));
        if (c.box[0] > 256) c.box[0] = unit;
    }
    return c;
}

// What a record keeps of a hash.
inline uint16_t folded(uint32_t hash) { return static_cast<uint16_t>(hash ^ hash >> 16); }
// Of the bytes of a map, 0 for one that was refused.
inline uint16_t folded_map(const unsigned char* map) {
    uint32_t hash = 1;
    for (uint32_t i = 0; i < 128; ++i) hash = (hash ^ map[i]) * 0x01000193u;
    return static_cast<uint16_t>(folded(hash) | 1);
}
// Of the hashes of several lanes or CTAs.
inline uint16_t folded(const uint32_t* hashes, uint32_t count) {
    uint32_t hash = 0;
    for (uint32_t i = 0; i < count; ++i) hash = hash * 31 + hashes[i];
    return folded(hash);
}

}  // namespace tensor_cases
