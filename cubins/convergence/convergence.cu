// nvcc: -Xcicc -O0 -Xptxas -O0
// archs: sm_90
// Who runs together: every construct of the language that divides a warp, compiled without optimisation,
// so that functions save convergence barriers and yield. NOTE folds the active lanes into a number
// per lane; only a machine that divides and joins lanes as the chip does gets the same numbers.
#include <cstdint>

#define NOTE h = h * 31 + __activemask()

__device__ uint32_t mix(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352d;
    x ^= x >> 15;
    x *= 0x846ca68b;
    return x ^ (x >> 16);
}

__device__ __noinline__ uint32_t leaf(uint32_t x, uint32_t h) {
    if (x & 1) {
        NOTE;
        x = x * 3 + 1;
    } else {
        NOTE;
        x >>= 1;
    }
    NOTE;
    return h + x;
}

__device__ __noinline__ uint32_t early(uint32_t x, uint32_t h) {
    for (int i = 0; i < 10; ++i) {
        NOTE;
        if (mix(x + i) % 5 == 0) return h;
        if (mix(x + i) % 7 == 0) {
            NOTE;
            continue;
        }
        h ^= i;
    }
    NOTE;
    return h;
}

extern "C" __global__ void branches(uint32_t* out) {
    uint32_t x = mix(threadIdx.x), h = 0;
    if (x & 1) {
        NOTE;
        if (x & 2) {
            NOTE;
        } else if (x & 4) {
            NOTE;
            h ^= leaf(x, h);
        }
        NOTE;
    } else {
        NOTE;
    }
    NOTE;
    if ((x & 1) && (x & 2 || (h = leaf(x, h)) & 4)) NOTE;
    NOTE;
    h += (x & 8) ? early(x, h) : (x & 16) ? leaf(x, h) : h * 3;
    NOTE;
    h += x / (mix(x) & 255 | 1);
    NOTE;
    out[threadIdx.x] = h;
}

extern "C" __global__ void loops(uint32_t* out) {
    uint32_t x = mix(threadIdx.x), h = 0;
    for (uint32_t i = 0; i < x % 13; ++i) {
        NOTE;
        for (uint32_t j = i; j < mix(x + i) % 7; ++j) {
            NOTE;
            if (mix(j * x) % 11 == 0) break;
            h += j;
        }
        NOTE;
    }
    NOTE;
    while (x > 100) {
        x = x / 3;
        NOTE;
        if ((x & 3) == 1) continue;
        h ^= x;
        NOTE;
    }
    NOTE;
    do {
        x = mix(x);
        NOTE;
    } while (x % 5);
    NOTE;
    out[threadIdx.x] = h;
}

extern "C" __global__ void switches(uint32_t* out) {
    uint32_t x = mix(threadIdx.x), h = 0;
    for (int i = 0; i < 9; ++i) {
        switch (mix(x + i) % 9) {
            case 0: NOTE; break;
            case 1: h += 7; NOTE;
            case 2: NOTE; break;
            case 3:
                if (x & 1) break;
                NOTE;
                break;
            case 4: h = leaf(x, h); break;
            case 5:
                for (uint32_t k = 0; k < (x & 3); ++k) NOTE;
                break;
            case 6: continue;
            case 7: h = early(x, h); break;
            default: NOTE;
        }
        NOTE;
    }
    NOTE;
    out[threadIdx.x] = h;
}

extern "C" __global__ void calls(uint32_t* out) {
    uint32_t x = mix(threadIdx.x), h = 0;
    if (x & 1) h = leaf(x & 63, h);
    NOTE;
    h = early(x, h);
    NOTE;
    h = x % 3 == 0 ? leaf(early(x, h), h) : early(x & 31, h);
    NOTE;
    uint32_t (*functions[2])(uint32_t, uint32_t) = {leaf, early};
    for (int i = 0; i < 4; ++i) {
        h = functions[mix(x + i) % 3 == 0](x & 31, h);
        NOTE;
    }
    out[threadIdx.x] = h;
}

extern "C" __global__ void returns(uint32_t* out) {
    uint32_t x = mix(threadIdx.x), h = 0;
    NOTE;
    for (int i = 0; i < 20; ++i) {
        NOTE;
        if (mix(x ^ i) % 9 == 0) {
            out[threadIdx.x] = h;
            return;
        }
        if (mix(x + i) % 6 == 0) {
            NOTE;
            h += __ballot_sync(__activemask(), x & 4);
        }
    }
    NOTE;
    out[threadIdx.x] = h + 1;
}

extern "C" __global__ void gotos(uint32_t* out) {
    uint32_t x = mix(threadIdx.x), h = 0, n = 0;
a:
    NOTE;
    if (++n > 30) goto end;
    x = mix(x);
    if (x % 3 == 0) goto b;
    if (x % 5 == 0) goto c;
    goto a;
b:
    NOTE;
    h += 3;
    if (x % 2) goto c;
    if (x % 7 == 0) goto end;
    goto a;
c:
    NOTE;
    if (x & 64) goto a;
    h ^= 5;
    if (x & 128) {
        x = x / 2;
        goto b;
    }
    goto a;
end:
    NOTE;
    out[threadIdx.x] = h;
}

// Functions with atomics begin with YIELD, which divides what waits further on.
extern "C" __global__ void atomics(uint32_t* out, uint32_t* sums) {
    uint32_t x = mix(threadIdx.x), h = 0;
    uint32_t* own = sums + threadIdx.x * 4;
    if (x & 1) {
        NOTE;
        atomicAdd(own, x);
        NOTE;
        if (atomicAdd(own + 1, 1) == 0) NOTE;
        NOTE;
    }
    NOTE;
    uint32_t old = own[2], assumed;
    do {
        assumed = old;
        old = atomicCAS(own + 2, assumed, assumed + x);
        NOTE;
    } while (assumed != old);
    NOTE;
    if (x & 2) {
        __threadfence();
        NOTE;
    }
    NOTE;
    out[threadIdx.x] = h;
}

extern "C" __global__ void together(uint32_t* out) {
    uint32_t x = mix(threadIdx.x), h = 0;
    if (x & 1) {
        NOTE;
        __syncwarp(__activemask());
        NOTE;
    } else {
        NOTE;
    }
    NOTE;
    const uint32_t same = __match_any_sync(~0u, x & 3);
    NOTE;
    h += __shfl_sync(same, x, __ffs(same) - 1);
    NOTE;
    h += __reduce_add_sync(same, x & 255);
    NOTE;
    __syncwarp(same);
    NOTE;
    __syncwarp();
    NOTE;
    if (x & 4) {
        h += __shfl_xor_sync(__activemask(), x, 1);
        NOTE;
        h += __any_sync(__activemask(), x & 8);
    }
    NOTE;
    __syncthreads();
    NOTE;
    h += __popc(__ballot_sync(0xffffu << (threadIdx.x & 16), x & 16));
    NOTE;
    out[threadIdx.x] = h;
}
