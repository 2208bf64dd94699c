// C = alpha * A * B + beta * C, row major, single precision.
// 64x64 tiles of C per CTA of 256 threads, 16 columns of A and 16 rows of B staged in shared memory,
// a 4x4 patch of C in registers per thread. Sizes must be multiples of the tile.
constexpr int tile = 64;
constexpr int depth = 16;

extern "C" __global__ void __launch_bounds__(256)
sgemm(int m, int n, int k, float alpha, const float* __restrict__ a, const float* __restrict__ b, float beta,
      float* __restrict__ c) {
    __shared__ __align__(16) float as[depth][tile];
    __shared__ __align__(16) float bs[depth][tile];
    const int t = threadIdx.x;
    const int row0 = blockIdx.y * tile, col0 = blockIdx.x * tile;
    const int tr = t / 16 * 4, tc = t % 16 * 4;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < k; k0 += depth) {
        const int ar = t / 4, ak = t % 4 * 4;
        const float4 va = *reinterpret_cast<const float4*>(a + (row0 + ar) * k + k0 + ak);
        const int bk = t / 16, bc = t % 16 * 4;
        const float4 vb = *reinterpret_cast<const float4*>(b + (k0 + bk) * n + col0 + bc);
        __syncthreads();
        as[ak + 0][ar] = va.x;
        as[ak + 1][ar] = va.y;
        as[ak + 2][ar] = va.z;
        as[ak + 3][ar] = va.w;
        *reinterpret_cast<float4*>(&bs[bk][bc]) = vb;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < depth; ++i) {
            const float4 x = *reinterpret_cast<const float4*>(&as[i][tr]);
            const float4 y = *reinterpret_cast<const float4*>(&bs[i][tc]);
            const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int r = 0; r < 4; ++r)
#pragma unroll
                for (int q = 0; q < 4; ++q) sum[r][q] = fmaf(xs[r], ys[q], sum[r][q]);
        }
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        float4* out = reinterpret_cast<float4*>(c + (row0 + tr + r) * n + col0 + tc);
        const float4 old = *out;
        *out = make_float4(fmaf(alpha, sum[r][0], beta * old.x), fmaf(alpha, sum[r][1], beta * old.y),
                           fmaf(alpha, sum[r][2], beta * old.z), fmaf(alpha, sum[r][3], beta * old.w));
    }
}
