// Point-sampled textures: one- and two-dimensional, all addressing modes, floats and small integers, element and normalised reads,
// normalised coordinates.
extern "C" __global__ void texture_1d(cudaTextureObject_t line, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1D<float>(line, static_cast<float>(i) * 0.75f - 10.0f);
}

extern "C" __global__ void texture_2d(cudaTextureObject_t floats, cudaTextureObject_t bytes, cudaTextureObject_t unit, cudaTextureObject_t mirror, float4* out, int width) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const float u = static_cast<float>(x) + 0.25f, v = static_cast<float>(y) - 3.5f;
    const uchar4 b = tex2D<uchar4>(bytes, u, v);
    const float2 h = tex2D<float2>(unit, u, v);
    const float m = tex2D<float>(mirror, u * 0.046875f - 0.5f, v * 0.046875f);
    out[y * width + x] = make_float4(tex2D<float>(floats, u, v), static_cast<float>(b.x) + static_cast<float>(b.y) * 256.0f + static_cast<float>(b.z) - static_cast<float>(b.w), h.x - 2.0f * h.y, m);
}
