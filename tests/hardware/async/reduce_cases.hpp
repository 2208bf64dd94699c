// SPDX-License-Identifier: Apache-2.0
// Random reductions: of boxes and columns of pixels (cp.reduce.async.bulk.tensor), and of runs of
// bytes (cp.reduce.async.bulk) in global memory and in the shared memory of another CTA.
#pragma once

#include "image_cases.hpp"

namespace reduce_cases {

using tensor_cases::Case;
using tensor_cases::Random;

constexpr uint64_t region = image_cases::region;
constexpr uint32_t most_bytes = image_cases::most_bytes;

// The operations ADD MIN MAX INC DEC AND OR XOR (bit 0..7) that there are for a type of a tensor
// map; an H200 takes the others for illegal instructions.
using Legal = uint8_t[13];
inline constexpr Legal legal = {0,    0,    0xff, 0xe7, 0xe7, 0x06, 0x07,
                                0x01, 0x01, 0x07, 0x01, 0x01, 0x01};

inline Case make(uint32_t number, bool image, const Legal& legal) {
    Random r(number * 2 + image + (uint64_t{1} << 44));
    Case c;
    for (;;) {
        const bool cells = r.below(8) == 0;
        if (!(image   ? image_cases::attempt(r, true, cells, c)
              : cells ? tensor_cases::attempt_cells(r, true, c, region, most_bytes)
                      : tensor_cases::attempt(r, true, c, region, most_bytes)))
            continue;
        c.op = r.below(8);
        c.flavour = r.below(4);
        if (legal[c.type] >> c.op & 1) return c;
    }
}

// Runs of bytes: what PTX has. Types as tensor maps number them.
enum BulkType : uint32_t { u32 = 2, s32, u64, s64, f16, f32, f64, bf16 };
struct Kind {
    uint8_t type, op;
};
constexpr Kind global_kinds[] = {
    {u32, 0},  {s32, 0}, {u64, 0}, {f16, 0},  {f32, 0}, {f64, 0}, {bf16, 0}, {u32, 1}, {s32, 1},
    {u64, 1},  {s64, 1}, {f16, 1}, {bf16, 1}, {u32, 2}, {s32, 2}, {u64, 2},  {s64, 2}, {f16, 2},
    {bf16, 2}, {u32, 3}, {u32, 4}, {u32, 5},  {u64, 5}, {u32, 6}, {u64, 6},  {u32, 7}, {u64, 7}};
constexpr Kind shared_kinds[] = {{u32, 0}, {s32, 0}, {u64, 0}, {u32, 1}, {s32, 1}, {u32, 2},
                                 {s32, 2}, {u32, 3}, {u32, 4}, {u32, 5}, {u32, 6}, {u32, 7}};

struct Bulk {
    uint32_t type, op, flavour, to, from, bytes;  // offsets and bytes in units of 16
};
constexpr uint32_t bulk_bytes = 1024;  // of the regions that they lie in

inline Bulk make_bulk(uint32_t number, bool shared) {
    Random r(number * 2 + shared + (uint64_t{1} << 45));
    const Kind k = shared ? shared_kinds[r.below(12)] : global_kinds[r.below(27)];
    Bulk b{k.type, k.op, r.below(4), r.below(8), r.below(8), 0};
    b.bytes = 1 + r.below(r.below(2) ? 4 : 56);
    return b;
}

}  // namespace reduce_cases
