// Votes and matches: all, any, ballot, match.any and match.all on 32 and 64 bits, lane masks, inside and outside divergence.
__device__ unsigned lane_mask(int which) {
    unsigned v;
    switch (which) {
        case 0: asm("mov.u32 %0, %%lanemask_lt;" : "=r"(v)); break;
        case 1: asm("mov.u32 %0, %%lanemask_le;" : "=r"(v)); break;
        case 2: asm("mov.u32 %0, %%lanemask_gt;" : "=r"(v)); break;
        default: asm("mov.u32 %0, %%lanemask_ge;" : "=r"(v)); break;
    }
    return v;
}

extern "C" __global__ void vote_match(const unsigned* x, unsigned* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, all = 0xffffffffu;
    const unsigned v = x[i];
    unsigned* o = out + 16 * i;
    o[0] = __ballot_sync(all, v & 4u);
    o[1] = __any_sync(all, v % 41u == 0) | __all_sync(all, v % 41u != 1) << 1;
    o[2] = __match_any_sync(all, v & 7u);
    o[3] = __match_any_sync(all, static_cast<unsigned long long>(v & 3u) << 40 | (v >> 8 & 1u));
    int same;
    o[4] = __match_all_sync(all, blockIdx.x & 1u ? v : 5u, &same);
    o[5] = static_cast<unsigned>(same);
    o[6] = __match_all_sync(all, blockIdx.x & 2u ? static_cast<unsigned long long>(v) << 20 : 7ull, &same);
    o[7] = static_cast<unsigned>(same);
    o[8] = lane_mask(0) ^ lane_mask(1) << 1;
    o[9] = lane_mask(2) + lane_mask(3);
    const unsigned odd = __ballot_sync(all, v & 1u);
    if (v & 1u) {
        const unsigned peers = __match_any_sync(odd, v >> 1 & 3u);
        o[10] = peers;
        o[11] = __ballot_sync(peers, v & 16u);
    } else {
        const unsigned third = __ballot_sync(~odd, v % 3u == 0);
        o[10] = third;
        o[11] = v % 3u == 0 ? __match_any_sync(third, v >> 4 & 1u) : __popc(third);
    }
    __syncwarp();
    // A branch that the whole warp takes or leaves together, decided by a vote.
    o[12] = __all_sync(all, (v & 0x80000000u) == 0 || i >= 64u) ? 1u : 2u;
    o[13] = __syncthreads_count(v & 8u);
    o[14] = static_cast<unsigned>(__syncthreads_and(v != 12345u)) | static_cast<unsigned>(__syncthreads_or(v & 1u)) << 1;
    o[15] = __fns(v | 1u, 0, 1 + (v >> 29));
}
