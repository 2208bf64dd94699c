// Warp-synchronous functions that the lanes of one mask call from different places: both sides of a branch, three cases of a
// switch, turns of a loop that differ. Every lane of the mask takes part in each call, wherever it stands (PTX ISA, shfl.sync).
__device__ __forceinline__ unsigned sum_of(unsigned mask, unsigned v) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(mask, v);
#else
    unsigned sum = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned one = __shfl_sync(mask, v, mask >> lane & 1 ? lane : 0);
        if (mask >> lane & 1) sum += one;
    }
    return sum;
#endif
}

extern "C" __global__ void shuffles(const unsigned* x, unsigned* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, all = 0xffffffffu;
    const unsigned v = x[i];
    unsigned* o = out + 6 * i;
    if (v & 1) {
        o[0] = __shfl_xor_sync(all, v * 3, 16) + 5;
        o[1] = __shfl_sync(all, v + 7, lane * 5) * 11;
    } else {
        o[0] = __shfl_xor_sync(all, v ^ 0x1234, 16) * 7;
        o[1] = __shfl_sync(all, v - 9, lane * 5) + 13;
    }
    switch (v % 3) {
        case 0: o[2] = __shfl_down_sync(all, v, 3) + 1; break;
        case 1: o[2] = __shfl_down_sync(all, ~v, 3) ^ 2; break;
        default: o[2] = __shfl_down_sync(all, v >> 3, 3) - 3; break;
    }
    // Lanes of one parity only, from two places; the others have gone elsewhere.
    const unsigned even = 0x55555555u;
    if (lane % 2 == 0) {
        if (v & 2)
            o[3] = __shfl_up_sync(even, v, 2) + 17;
        else
            o[3] = __shfl_up_sync(even, v * 5, 2) ^ 19;
    } else {
        o[3] = v;
    }
    // Each lane takes part four times, in its own turns of the loop.
    unsigned h = v;
    for (unsigned turn = 0, done = 0; done < 4; ++turn)
        if ((v >> turn % 16 & 1) || turn >= 16) {
            h = h * 31 + __shfl_xor_sync(all, h, 1u << done);
            ++done;
        }
    o[4] = h;
    o[5] = v & 4 ? sum_of(all, v & 0xffff) + 1 : sum_of(all, v & 0xff) + 2;
}

extern "C" __global__ void votes(const unsigned* x, unsigned* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, all = 0xffffffffu;
    const unsigned v = x[i];
    unsigned* o = out + 4 * i;
    if (v & 1) {
        o[0] = __ballot_sync(all, v & 2);
        o[1] = __any_sync(all, v % 29 == 0) * 2 + 4;
        o[2] = __match_any_sync(all, v & 12);
    } else {
        o[0] = ~__ballot_sync(all, v & 4);
        o[1] = __any_sync(all, v % 31 == 0) + 8;
        o[2] = __match_any_sync(all, v & 24);
    }
    o[3] = v & 8 ? __all_sync(all, v & 0xff) : __all_sync(all, v & 0xff00) + 2u;
}

// Values through shared memory: __syncwarp, then barriers of the CTA, from both sides.
extern "C" __global__ void barriers(const unsigned* x, unsigned* out) {
    __shared__ unsigned s[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    const unsigned v = x[i];
    unsigned* o = out + 3 * i;
    if (v & 1) {
        s[t] = v * 3;
        __syncwarp();
        o[0] = s[t ^ 9] + 1;
        __syncwarp();
    } else {
        s[t] = v ^ 0x77;
        __syncwarp();
        o[0] = s[t ^ 9] * 3;
        __syncwarp();
    }
    if (v & 2) {
        s[t] = v + 100;
        asm volatile("barrier.sync 0;" ::: "memory");
        o[1] = s[127 - t];
        asm volatile("barrier.sync 0;" ::: "memory");
    } else {
        s[t] = v - 100;
        asm volatile("barrier.sync 0;" ::: "memory");
        o[1] = s[127 - t] * 5;
        asm volatile("barrier.sync 0;" ::: "memory");
    }
    unsigned count = 0;
    if (v & 4)
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; barrier.red.popc.u32 %0, 1, p; }" : "=r"(count) : "r"(v & 16) : "memory");
    else
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; barrier.red.popc.u32 %0, 1, p; }" : "=r"(count) : "r"(v & 32) : "memory");
    o[2] = count;
}
