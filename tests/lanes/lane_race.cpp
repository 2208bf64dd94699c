// SPDX-License-Identifier: Apache-2.0
// Guest-memory primitives on memory that another thread is writing too. Compiled once per level;
// race_test.cpp runs it.
#include "emu/lanes/lanes.hpp"

namespace lane_tests {
namespace {

using namespace sassemu::L;

// Lanes whose eight bytes are not all alike.
Mask torn(V64 v) {
    const V32 byte = mul_lo(and_(lo32(v), splat(0xff)), splat(0x01010101u));
    return cmp_ne(lo32(v), byte) | cmp_ne(hi32(v), byte);
}

}  // namespace

// All primitives, for ThreadSanitizer. memory: 1024 bytes. The result only keeps the loads alive.
uint32_t SASSEMU_LANES_CAT(lane_race_, SASSEMU_LEVEL)(void* memory, int rounds) {
    V32 sum = splat(0);
    for (int round = 0; round < rounds; ++round) {
        const Mask some = 0x9e3779b9u * (uint32_t)(round + 1);
        const Mask m = round % 3 ? some : kAllLanes;
        const V32 at1 = lane_ids(), at2 = shl(at1, splat(1)), at4 = shl(at1, splat(2));
        const V32 at8 = shl(at1, splat(3)), at16 = shl(at1, splat(4));
        const V64 host = add64(splat64((uint64_t)memory), zext64(at16));
        const V64 w = make64(sum, at4);
        const Rows4 rows{{sum, at2, at4, at8}};
        scatter_8(memory, at1, sum, m);
        scatter_16(memory, at2, sum, m);
        scatter_32(memory, at4, sum, m);
        scatter_64(memory, at8, w, m);
        scatter_128(memory, at16, rows, m);
        scatter_32(host, sum, m);
        scatter_64(host, w, m);
        scatter_128(host, rows, m);
        store_lanes_8(memory, sum);
        store_lanes_16(memory, sum);
        store_lanes_32(memory, sum);
        store_lanes_32(memory, sum, m);
        store_lanes_64(memory, w);
        store_lanes_64(memory, w, m);
        store_lanes_128(memory, rows);
        sum = add(sum, gather_u8(memory, at1, m));
        sum = add(sum, gather_s16(memory, at2, m));
        sum = add(sum, gather_32(memory, at4, m));
        sum = add(sum, hi32(gather_64(memory, at8, m)));
        sum = add(sum, gather_128(memory, at16, m).r[3]);
        sum = add(sum, gather_s8(host, m));
        sum = add(sum, gather_u16(host, m));
        sum = add(sum, lo32(gather_64(host, m)));
        sum = add(sum, gather_128(host, m).r[1]);
        sum = add(sum, load_lanes_u8(memory));
        sum = add(sum, load_lanes_s8(memory));
        sum = add(sum, load_lanes_u16(memory));
        sum = add(sum, load_lanes_s16(memory));
        sum = add(sum, load_lanes_32(memory));
        sum = add(sum, load_lanes_32(memory, m));
        sum = add(sum, hi32(load_lanes_64(memory)));
        sum = add(sum, hi32(load_lanes_64(memory, m)));
        sum = add(sum, load_lanes_128(memory).r[2]);
    }
    return reduce_xor(sum, kAllLanes);
}

// The number of accesses that saw a torn value, when all threads store 8-byte values that are one
// byte repeated. memory: 1024 bytes, zero at first.
uint64_t SASSEMU_LANES_CAT(lane_tear_, SASSEMU_LEVEL)(void* memory, uint32_t seed, int rounds) {
    uint64_t bad = 0;
    for (int round = 0; round < rounds; ++round) {
        const V32 v = splat(((seed + (uint32_t)round * 2) & 0xff) * 0x01010101u);
        const V64 w = make64(v, v);
        const Rows4 rows{{v, v, v, v}};
        const V32 at8 = shl(lane_ids(), splat(3)), at16 = shl(lane_ids(), splat(4));
        switch (round % 5) {
            case 0:
                scatter_64(memory, at8, w, kAllLanes);
                break;
            case 1:
                store_lanes_64(memory, w);
                break;
            case 2:
                store_lanes_64(memory, w, 0x5a5a1234u);
                break;
            case 3:
                scatter_128(memory, at16, rows, kAllLanes);
                break;
            default:
                store_lanes_128(memory, rows);
                break;
        }
        bad += torn(gather_64(memory, at8, kAllLanes)) != 0;
        bad += torn(load_lanes_64(memory)) != 0;
        bad += torn(load_lanes_64(memory, 0xff00ff0fu)) != 0;
        const Rows4 a = gather_128(memory, at16, 0x0ffffff0u), b = load_lanes_128(memory);
        bad += torn(make64(a.r[0], a.r[1])) != 0 || torn(make64(a.r[2], a.r[3])) != 0;
        bad += torn(make64(b.r[0], b.r[1])) != 0 || torn(make64(b.r[2], b.r[3])) != 0;
    }
    return bad;
}

}  // namespace lane_tests
