// Linearly filtered textures: the hardware blends with 8-bit weights, so neighbours of the exact value come out.
extern "C" __global__ void texture_linear(cudaTextureObject_t line, cudaTextureObject_t plane, cudaTextureObject_t bytes, float* out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float* o = out + 3 * (y * width + x);
    const float u = static_cast<float>(x) * 0.40625f - 1.0f, v = static_cast<float>(y) * 0.59375f - 1.0f;
    o[0] = tex1D<float>(line, u + v * 3.0f);
    o[1] = tex2D<float>(plane, u, v);
    o[2] = tex2D<float>(bytes, u / 16.0f, v / 16.0f);
}
