// Hashes what each slot changed, as record_file.cpp does: one block of one warp per (warp, slot). The
// layout is that of slots.py.
#include <cstdint>

namespace {

constexpr uint32_t registers = 208, quads = registers / 4, slots = 128;
constexpr uint32_t at_predicates = quads * 128, at_uniform = at_predicates + 128;  // in words
constexpr uint32_t in_words = 32768 / 4, out_words = 0x6c00 / 4;

__device__ uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

// The contribution of one row, in every lane: 0 if no lane changed.
__device__ uint64_t row_hash(uint32_t before, uint32_t after, uint32_t number, uint32_t lane) {
    if (!__any_sync(~0u, before != after)) return 0;
    uint64_t h = mix(after + (uint64_t{lane} << 40) + 0x1234567);
    for (int step = 16; step; step /= 2) h += __shfl_xor_sync(~0u, h, step);
    return mix(h + number * 0x9e3779b97f4a7c15ull);
}

}  // namespace

extern "C" __global__ void hash_slots(const uint32_t* in, const uint32_t* out, uint64_t* hashes) {
    const uint32_t lane = threadIdx.x, warp = blockIdx.x, slot = blockIdx.y;
    in += uint64_t{warp} * in_words;
    out += (uint64_t{warp} * slots + slot) * out_words;
    uint64_t hash = 0;
    for (uint32_t q = 0; q < quads; ++q) {
        const uint4 a = reinterpret_cast<const uint4*>(in)[q * 32 + lane];
        const uint4 b = reinterpret_cast<const uint4*>(out)[q * 32 + lane];
        hash += row_hash(a.x, b.x, 4 * q, lane) + row_hash(a.y, b.y, 4 * q + 1, lane) +
                row_hash(a.z, b.z, 4 * q + 2, lane) + row_hash(a.w, b.w, 4 * q + 3, lane);
    }
    hash += row_hash(in[at_predicates + 4 * lane], out[at_predicates + 4 * lane], registers, lane);
    hash += row_hash(in[at_uniform + lane], out[at_uniform + lane], registers + 1, lane);
    uint32_t before = in[at_uniform + 32 + lane], after = out[at_uniform + 32 + lane];
    if (lane == 27 || lane > 28) before = after = 0;
    if (lane == 28) {
        before = 0;
        for (uint32_t i = 0; i < 7; ++i) before |= in[at_uniform + 64 + i] << i;
    }
    hash += row_hash(before, after, registers + 2, lane);
    if (lane == 0) hashes[uint64_t{warp} * slots + slot] = hash;
}
