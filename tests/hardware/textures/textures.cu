// SPDX-License-Identifier: Apache-2.0
// Every way of sampling a texture, one kernel each. A thread makes its coordinates from a seed and its number, samples, and writes the four
// components. Not here: gradients in three dimensions and of cubes, which are functions of the driver.
#include <cstdint>

struct Arguments {
    unsigned long long texture;
    uint4* out;
    uint32_t seed, n, pattern, grid;  // grid: bits after the point, of pattern 2
    float low[4], range[4];           // x, y, z, level of detail
    int32_t first, count;             // layers
    int32_t exponent, exponents;      // of gradients
    uint32_t zero;                    // a bit for each gradient that is 0
};

__device__ inline uint32_t mix(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t x = a * 0x9E3779B1u + b * 0x85EBCA77u + c * 0xC2B2AE3Du;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

// 0: uniform; 1: uniform, near the grid, special values, any bits; 2: on a grid.
__device__ inline float number(const Arguments& a, uint32_t i, uint32_t k) {
    const uint32_t h = mix(a.seed, i, k), kind = mix(a.seed ^ 0x5bd1e995u, i, k) & 15;
    const float u = __fadd_rn(a.low[k], __fmul_rn(static_cast<float>(h >> 8), __fmul_rn(a.range[k], 5.9604644775390625e-8f)));
    if (a.pattern == 2) return __fadd_rn(a.low[k], __fmul_rn(static_cast<float>(h >> 8 & ((1u << a.grid) - 1)), __uint_as_float((127u - a.grid) << 23)));
    if (a.pattern == 0 || kind < 8) return u;
    if (kind < 12) {  // a multiple of 1/512, and up to seven units beside it
        const float g = __fmul_rn(static_cast<float>(static_cast<int32_t>(__fmul_rn(u, 512.0f))), 0.001953125f);
        return __uint_as_float(__float_as_uint(g) + (h & 7) * (h & 8 ? 1u : 0xffffffffu));
    }
    if (kind == 12) return __uint_as_float(h);
    const uint32_t special[32] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x3f800000, 0xbf800000, 0x3f7fffff,
                                  0xbf7fffff, 0x3f800001, 0x3f000000, 0xbf000000, 0x3effffff, 0x33800000, 0xb3800000, 0x7f7fffff, 0xff7fffff, 0x4b800000, 0xcb800000, 0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0xb0000000};
    return __uint_as_float(special[h & 31]);
}

// Of either sign, its exponent uniform; now and then 0.
__device__ inline float gradient(const Arguments& a, uint32_t i, uint32_t k) {
    const uint32_t h = mix(a.seed + 77, i, k), g = mix(a.seed + 78, i, k);
    if ((g & 7) == 0 || (a.zero >> k & 1)) return 0.0f;
    return __uint_as_float((h & 0x807fffffu) | static_cast<uint32_t>(a.exponent + 127 + static_cast<int32_t>((g >> 8) % static_cast<uint32_t>(a.exponents))) << 23);
}

#define SAMPLE(name, ...)                                                                                      \
    extern "C" __global__ void name(const Arguments a) {                                                       \
        const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;                                              \
        if (i >= a.n) return;                                                                                  \
        const float x = number(a, i, 0), y = number(a, i, 1), z = number(a, i, 2), l = number(a, i, 3);        \
        const int32_t layer = a.first + static_cast<int32_t>(mix(a.seed + 79, i, 0) % static_cast<uint32_t>(a.count)); \
        const float gx = gradient(a, i, 0), gy = gradient(a, i, 1), gz = gradient(a, i, 2);                    \
        const float hx = gradient(a, i, 3), hy = gradient(a, i, 4), hz = gradient(a, i, 5);                    \
        const int32_t ix = static_cast<int32_t>(x), iy = static_cast<int32_t>(y), iz = static_cast<int32_t>(z), il = static_cast<int32_t>(l); \
        uint4 r = make_uint4(0, 0, 0, 0);                                                                      \
        asm volatile(__VA_ARGS__                                                                               \
                     : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)                                              \
                     : "l"(a.texture), "f"(x), "f"(y), "f"(z), "f"(l), "r"(layer), "f"(gx), "f"(gy), "f"(gz), "f"(hx), "f"(hy), "f"(hz), "r"(ix), "r"(iy), "r"(iz), "r"(il)); \
        a.out[i] = r;                                                                                          \
    }
// %4 texture, %5 x, %6 y, %7 z, %8 level, %9 layer, %10.. gx gy gz, %13.. hx hy hz, %16.. ix iy iz il
#define R "{%0, %1, %2, %3}"
SAMPLE(tex_1d, "tex.1d.v4.u32.f32 " R ", [%4, {%5}];")
SAMPLE(tex_2d, "tex.2d.v4.u32.f32 " R ", [%4, {%5, %6}];")
SAMPLE(tex_3d, "tex.3d.v4.u32.f32 " R ", [%4, {%5, %6, %7, %7}];")
SAMPLE(tex_a1d, "tex.a1d.v4.u32.f32 " R ", [%4, {%9, %5}];")
SAMPLE(tex_a2d, "tex.a2d.v4.u32.f32 " R ", [%4, {%9, %5, %6, %6}];")
SAMPLE(tex_cube, "tex.cube.v4.u32.f32 " R ", [%4, {%5, %6, %7, %7}];")
SAMPLE(tex_acube, "tex.acube.v4.u32.f32 " R ", [%4, {%9, %5, %6, %7}];")
SAMPLE(lod_1d, "tex.level.1d.v4.u32.f32 " R ", [%4, {%5}], %8;")
SAMPLE(lod_2d, "tex.level.2d.v4.u32.f32 " R ", [%4, {%5, %6}], %8;")
SAMPLE(lod_3d, "tex.level.3d.v4.u32.f32 " R ", [%4, {%5, %6, %7, %7}], %8;")
SAMPLE(lod_a1d, "tex.level.a1d.v4.u32.f32 " R ", [%4, {%9, %5}], %8;")
SAMPLE(lod_a2d, "tex.level.a2d.v4.u32.f32 " R ", [%4, {%9, %5, %6, %6}], %8;")
SAMPLE(lod_cube, "tex.level.cube.v4.u32.f32 " R ", [%4, {%5, %6, %7, %7}], %8;")
SAMPLE(lod_acube, "tex.level.acube.v4.u32.f32 " R ", [%4, {%9, %5, %6, %7}], %8;")
SAMPLE(grad_1d, "tex.grad.1d.v4.u32.f32 " R ", [%4, {%5}], {%10}, {%13};")
SAMPLE(grad_2d, "tex.grad.2d.v4.u32.f32 " R ", [%4, {%5, %6}], {%10, %11}, {%13, %14};")
SAMPLE(grad_a1d, "tex.grad.a1d.v4.u32.f32 " R ", [%4, {%9, %5}], {%10}, {%13};")
SAMPLE(grad_a2d, "tex.grad.a2d.v4.u32.f32 " R ", [%4, {%9, %5, %6, %6}], {%10, %11}, {%13, %14};")
SAMPLE(gather_r, "tld4.r.2d.v4.u32.f32 " R ", [%4, {%5, %6}];")
SAMPLE(gather_g, "tld4.g.2d.v4.u32.f32 " R ", [%4, {%5, %6}];")
SAMPLE(gather_b, "tld4.b.2d.v4.u32.f32 " R ", [%4, {%5, %6}];")
SAMPLE(gather_a, "tld4.a.2d.v4.u32.f32 " R ", [%4, {%5, %6}];")
SAMPLE(gather_a2d, "tld4.g.a2d.v4.u32.f32 " R ", [%4, {%9, %5, %6, %6}];")
SAMPLE(gather_cube, "tld4.r.cube.v4.u32.f32 " R ", [%4, {%5, %6, %7, %7}];")
SAMPLE(gather_acube, "tld4.b.acube.v4.u32.f32 " R ", [%4, {%9, %5, %6, %7}];")
SAMPLE(fetch_1d, "tex.1d.v4.u32.s32 " R ", [%4, {%16}];")
SAMPLE(fetch_2d, "tex.2d.v4.u32.s32 " R ", [%4, {%16, %17}];")
SAMPLE(fetch_3d, "tex.3d.v4.u32.s32 " R ", [%4, {%16, %17, %18, %18}];")
SAMPLE(fetch_a1d, "tex.a1d.v4.u32.s32 " R ", [%4, {%9, %16}];")
SAMPLE(fetch_a2d, "tex.a2d.v4.u32.s32 " R ", [%4, {%9, %16, %17, %17}];")
SAMPLE(fetch_lod_1d, "tex.level.1d.v4.u32.s32 " R ", [%4, {%16}], %19;")
SAMPLE(fetch_lod_2d, "tex.level.2d.v4.u32.s32 " R ", [%4, {%16, %17}], %19;")
SAMPLE(fetch_lod_3d, "tex.level.3d.v4.u32.s32 " R ", [%4, {%16, %17, %18, %18}], %19;")
SAMPLE(fetch_lod_a2d, "tex.level.a2d.v4.u32.s32 " R ", [%4, {%9, %16, %17, %17}], %19;")
SAMPLE(tex_1d_off, "tex.1d.v4.u32.f32 " R ", [%4, {%5}], {-3};")
SAMPLE(tex_2d_off, "tex.2d.v4.u32.f32 " R ", [%4, {%5, %6}], {3, -8};")
SAMPLE(tex_3d_off, "tex.3d.v4.u32.f32 " R ", [%4, {%5, %6, %7, %7}], {-1, 7, 2, 2};")
SAMPLE(tex_a2d_off, "tex.a2d.v4.u32.f32 " R ", [%4, {%9, %5, %6, %6}], {-4, 5};")
SAMPLE(lod_2d_off, "tex.level.2d.v4.u32.f32 " R ", [%4, {%5, %6}], %8, {-5, 4};")
SAMPLE(lod_3d_off, "tex.level.3d.v4.u32.f32 " R ", [%4, {%5, %6, %7, %7}], %8, {-2, 3, 1, 1};")
SAMPLE(grad_2d_off, "tex.grad.2d.v4.u32.f32 " R ", [%4, {%5, %6}], {%10, %11}, {%13, %14}, {2, -1};")
SAMPLE(gather_off, "tld4.a.2d.v4.u32.f32 " R ", [%4, {%5, %6}], {-7, 2};")
SAMPLE(gather_a2d_off, "tld4.r.a2d.v4.u32.f32 " R ", [%4, {%9, %5, %6, %6}], {1, -2};")
SAMPLE(fetch_2d_off, "tex.2d.v4.u32.s32 " R ", [%4, {%16, %17}], {3, -4};")
SAMPLE(fetch_lod_2d_off, "tex.level.2d.v4.u32.s32 " R ", [%4, {%16, %17}], %19, {-1, 6};")
SAMPLE(query_level, "txq.level.width.b32 %0, [%4], %19; txq.level.height.b32 %1, [%4], %19; txq.level.depth.b32 %2, [%4], %19; mov.b32 %3, 0;")
SAMPLE(half_2d, "tex.2d.v2.f16x2.f32 {%0, %1}, [%4, {%5, %6}]; mov.b32 %2, 0; mov.b32 %3, 0;")
SAMPLE(half_lod_3d, "tex.level.3d.v2.f16x2.f32 {%0, %1}, [%4, {%5, %6, %7, %7}], %8; mov.b32 %2, 0; mov.b32 %3, 0;")
SAMPLE(half_fetch_2d, "tex.2d.v2.f16x2.s32 {%0, %1}, [%4, {%16, %17}]; mov.b32 %2, 0; mov.b32 %3, 0;")
SAMPLE(resident_2d, "{ .reg .pred p; .reg .b32 a, b, c, d; tex.2d.v4.u32.f32 {a, b, c, d}|p, [%4, {%5, %6}]; mov.b32 %0, a; mov.b32 %1, b; mov.b32 %2, c; selp.b32 %3, d, 7, p; }")
