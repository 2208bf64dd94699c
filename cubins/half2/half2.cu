// Packed and scalar half precision: add, multiply, fused multiply-add with and without saturation, comparisons,
// and conversions, bfloat16 too.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ unsigned bits(__half2 v) { return static_cast<unsigned>(__half_as_ushort(__low2half(v))) | static_cast<unsigned>(__half_as_ushort(__high2half(v))) << 16; }

extern "C" __global__ void half_pairs(const __half2* a, const __half2* b, unsigned* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const __half2 x = a[i], y = b[i], z = a[n - 1 - i];
    unsigned* o = out + 12 * i;
    o[0] = bits(__hadd2(x, y));
    o[1] = bits(__hmul2(x, y));
    o[2] = bits(__hfma2(x, y, z));
    o[3] = bits(__hfma2_sat(x, y, z));
    o[4] = bits(__hsub2(__lowhigh2highlow(x), y));
    o[5] = bits(__hadd2_sat(x, z));
    o[6] = __hbgt2(x, y) | __hble2(x, z) << 1 | __heq(__low2half(x), __high2half(x)) << 2;
    o[7] = static_cast<unsigned>(__half2int_rn(__low2half(x))) ^ static_cast<unsigned>(__half2int_rz(__high2half(y))) << 16;
    o[8] = __half_as_ushort(__hfma(__low2half(x), __high2half(y), __low2half(z))) | static_cast<unsigned>(__half_as_ushort(__int2half_rn(i * 77))) << 16;
    o[9] = bits(__habs2(__hneg2(x)));
    const float2 f = __half22float2(y);
    o[10] = __float_as_uint(f.x) ^ __float_as_uint(f.y);
    o[11] = __bfloat16_as_ushort(__float2bfloat16_rn(f.x * 3.0f)) | static_cast<unsigned>(__bfloat16_as_ushort(__float2bfloat16_rz(f.y))) << 16;
}
