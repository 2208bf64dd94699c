// Single- and double-precision arithmetic with every rounding mode, division, square root, denormals, infinities and NaNs,
// minimum, maximum, rounding to integers, and conversions. Everything here is exactly defined.
#include <cuda_fp16.h>

extern "C" __global__ void ieee(const unsigned* a, const unsigned* b, unsigned* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = __uint_as_float(a[i]), y = __uint_as_float(b[i]), z = __uint_as_float(a[n - 1 - i]);
    unsigned* o = out + 28 * i;
    o[0] = __float_as_uint(__fadd_rn(x, y));
    o[1] = __float_as_uint(__fadd_rz(x, y));
    o[2] = __float_as_uint(__fadd_ru(x, -y));
    o[3] = __float_as_uint(__fadd_rd(x, y));
    o[4] = __float_as_uint(__fmul_rn(x, y));
    o[5] = __float_as_uint(__fmul_rz(x, y));
    o[6] = __float_as_uint(__fmaf_rn(x, y, z));
    o[7] = __float_as_uint(__fmaf_ru(x, y, z));
    o[8] = __float_as_uint(__fmaf_rd(-x, y, z));
    o[9] = __float_as_uint(__fdiv_rn(x, y));
    o[10] = __float_as_uint(__fsqrt_rn(fabsf(x)));
    o[11] = __float_as_uint(__frcp_rn(x));
    o[12] = __float_as_uint(fminf(x, y)) ^ __float_as_uint(fmaxf(x, z));
    o[13] = (x < y) + 2 * (x <= y) + 4 * (x == y) + 8 * !(x >= y) + 16 * (x != x) + 32 * (isinf(z) != 0);
    o[14] = static_cast<unsigned>(__float2int_rn(x)) ^ static_cast<unsigned>(__float2uint_rz(y)) << 1;
    o[15] = __float_as_uint(rintf(x)) + __float_as_uint(floorf(y)) + __float_as_uint(truncf(z)) + __float_as_uint(ceilf(x));
    o[16] = __float_as_uint(__int2float_rz(static_cast<int>(a[i]))) ^ __float_as_uint(__uint2float_ru(b[i]));
    o[17] = __half_as_ushort(__float2half_rn(x)) | static_cast<unsigned>(__half_as_ushort(__float2half_rz(y))) << 16;
    o[18] = __float_as_uint(__half2float(__ushort_as_half(static_cast<unsigned short>(a[i])))) ^ __float_as_uint(__saturatef(x * y));
    float ftz;
    asm("mul.ftz.f32 %0, %1, %2;" : "=f"(ftz) : "f"(x), "f"(y));
    o[19] = __float_as_uint(ftz);
    const double dx = x, dy = __hiloint2double(static_cast<int>(b[i]), static_cast<int>(a[i]));
    const double results[4] = {__dadd_ru(dx, dy), __dmul_rd(dx, dy), __fma_rz(dx, dy, dx), __ddiv_rn(dy, dx)};
    unsigned mix = 0;
    for (int k = 0; k < 4; ++k)
        mix = mix * 0x01000193u ^ (static_cast<unsigned>(__double2loint(results[k])) + 7u * static_cast<unsigned>(__double2hiint(results[k])));
    o[20] = mix;
    const double root = __dsqrt_rn(fabs(dy));
    o[21] = static_cast<unsigned>(__double2loint(root));
    o[22] = static_cast<unsigned>(__double2hiint(root));
    o[23] = __float_as_uint(__double2float_rn(dy)) ^ __float_as_uint(__double2float_rz(dy));
    o[24] = static_cast<unsigned>(__double2int_rn(dy)) + static_cast<unsigned>(__double2uint_rz(dy));
    o[25] = static_cast<unsigned>(__double2hiint(fmin(dx, dy))) + static_cast<unsigned>(__double2hiint(fmax(dx, dy))) + (dx < dy);
    o[26] = static_cast<unsigned>(__double2hiint(rint(dy))) + static_cast<unsigned>(__double2loint(floor(dy * 1e-3)));
    o[27] = __float_as_uint(copysignf(x, y)) ^ __float_as_uint(fabsf(z));
}
