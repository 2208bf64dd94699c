// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces of every shape: one, two and three dimensions, layers, cubes, levels of detail; formats, filters, address modes;
// gathered texels, gradients.
#include <algorithm>
#include <type_traits>

#include "check.hpp"

constexpr int threads = 256;

__device__ float at(unsigned i, unsigned k) { return static_cast<float>((i * 2654435761u + k * 40503u) >> 8) * (3.0f / 16777216) - 1; }
__device__ float sum(float x) { return x; }
__device__ float sum(float4 v) { return v.x + 2 * v.y + 4 * v.z + 8 * v.w; }

#define SHAPE(name, T, call)                                                          \
    __global__ void name(cudaTextureObject_t t, T* out, float w, float h, float d) {  \
        const unsigned i = blockIdx.x * threads + threadIdx.x;                        \
        const float x = at(i, 1) * w, y = at(i, 2) * h, z = at(i, 3) * d;             \
        const int layer = i % 5;                                                      \
        (void)y, (void)z, (void)layer;                                                \
        out[i] = call;                                                                \
    }
#define SHAPES(suffix, T)                                                             \
    SHAPE(one_##suffix, T, tex1D<T>(t, x))                                            \
    SHAPE(two_##suffix, T, tex2D<T>(t, x, y))                                         \
    SHAPE(three_##suffix, T, tex3D<T>(t, x, y, z))                                    \
    SHAPE(one_layers_##suffix, T, tex1DLayered<T>(t, x, layer))                       \
    SHAPE(two_layers_##suffix, T, tex2DLayered<T>(t, x, y, layer))                    \
    SHAPE(cube_##suffix, T, texCubemap<T>(t, x, y, z))                                \
    SHAPE(cubes_##suffix, T, texCubemapLayered<T>(t, x, y, z, layer & 1))             \
    SHAPE(level_##suffix, T, tex2DLod<T>(t, x, y, at(i, 4) * 3))                      \
    SHAPE(level3_##suffix, T, tex3DLod<T>(t, x, y, z, at(i, 4) * 3))                  \
    SHAPE(level_layers_##suffix, T, tex2DLayeredLod<T>(t, x, y, layer, at(i, 4) * 3)) \
    SHAPE(gradient_##suffix, T, tex2DGrad<T>(t, x, y, make_float2(at(i, 4) * 0.1f, 0.02f), make_float2(0.01f, at(i, 5) * 0.1f)))
SHAPES(f, float)
SHAPES(f4, float4)
SHAPE(gather, float4, (i & 1 ? tex2Dgather<float4>(t, x, y, 0) : tex2Dgather<float4>(t, x, y, 2)))

__global__ void draw(cudaSurfaceObject_t s, float4* out, int w, int h) {
    const int x = threadIdx.x, y = blockIdx.x;
    if (x >= w || y >= h) return;
    const float4 v = surf2Dread<float4>(s, x * 16, y);
    surf2Dwrite(make_float4(v.y, v.x, v.w + 1, v.z), s, x * 16, y, cudaBoundaryModeZero);
    out[y * w + x] = v;
}
__global__ void draw_layers(cudaSurfaceObject_t s, float* out, int w) {
    const int x = threadIdx.x, layer = blockIdx.x;
    if (x >= w) return;
    float v;
    surf2DLayeredread(&v, s, x * 4, 1, layer);
    surf2DLayeredwrite(v * 2, s, x * 4, 0, layer);
    out[layer * w + x] = v;
}
__global__ void draw_volume(cudaSurfaceObject_t s, unsigned char* out) {
    unsigned char v;
    surf3Dread(&v, s, threadIdx.x, threadIdx.y, blockIdx.x, cudaBoundaryModeClamp);
    surf3Dwrite(static_cast<unsigned char>(v ^ 0x5a), s, threadIdx.x, threadIdx.y, blockIdx.x);
    out[(blockIdx.x * 8 + threadIdx.y) * 8 + threadIdx.x] = v;
}

using Kernel1 = void (*)(cudaTextureObject_t, float*, float, float, float);
using Kernel4 = void (*)(cudaTextureObject_t, float4*, float, float, float);

template <class E>
void fill(cudaArray_t array, cudaExtent e, unsigned slices, int channels, uint32_t seed) {
    const size_t h = e.height ? e.height : 1;
    auto texels = numbers<E>(e.width * h * slices * channels, seed);
    cudaMemcpy3DParms p{};
    p.srcPtr = make_cudaPitchedPtr(texels.data(), e.width * channels * sizeof(E), e.width, h);
    p.dstArray = array;
    p.extent = make_cudaExtent(e.width, h, slices);
    p.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&p));
}

template <class E, class Kernel, class Out>
void sample(Kernel kernel, Out* out, cudaExtent e, unsigned flags, int channels, int levels, cudaTextureFilterMode filter, cudaTextureAddressMode mode, bool normalized) {
    const bool integer = std::is_integral_v<E>;
    if (integer && sizeof(E) > 2) return;
    if (!normalized && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror || levels > 1 || flags & cudaArrayCubemap)) return;
    const int bits = sizeof(E) * 8;
    const auto kind = integer ? std::is_signed_v<E> ? cudaChannelFormatKindSigned : cudaChannelFormatKindUnsigned : cudaChannelFormatKindFloat;
    const auto form = cudaCreateChannelDesc(bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 2 ? bits : 0, kind);
    cudaResourceDesc resource{};
    if (levels > 1) {
        cudaMipmappedArray_t array;
        CHECK(cudaMallocMipmappedArray(&array, &form, e, levels, flags));
        for (int level = 0; level < levels; ++level) {
            cudaArray_t one;
            CHECK(cudaGetMipmappedArrayLevel(&one, array, level));
            cudaExtent size = e;
            size.width = std::max<size_t>(1, e.width >> level);
            size.height = std::max<size_t>(1, e.height >> level);
            if (!(flags & cudaArrayLayered)) size.depth = e.depth ? std::max<size_t>(1, e.depth >> level) : 0;
            fill<E>(one, size, std::max<size_t>(1, size.depth), channels, level + 3);
        }
        resource.resType = cudaResourceTypeMipmappedArray;
        resource.res.mipmap.mipmap = array;
    } else {
        cudaArray_t array;
        CHECK(cudaMalloc3DArray(&array, &form, e, flags));
        fill<E>(array, e, std::max<size_t>(1, e.depth), channels, 9);
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
    }
    cudaTextureDesc how{};
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = mode;
    how.filterMode = filter;
    how.readMode = integer ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    how.normalizedCoords = normalized;
    how.mipmapFilterMode = filter;
    how.maxMipmapLevelClamp = levels;
    how.borderColor[0] = 0.25f;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    const float scale = normalized ? 1 : 0;
    kernel<<<2, threads>>>(texture, out, scale ? scale : e.width, scale ? scale : e.height, scale ? scale : e.depth);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaDestroyTextureObject(texture));
}

template <class E>
void all(float* out, float4* out4) {
    constexpr auto layered = cudaArrayLayered, cubed = cudaArrayCubemap;
    struct Shape {
        Kernel1 one;
        Kernel4 four;
        cudaExtent extent;
        unsigned flags;
        int levels;
    } shapes[] = {
        {one_f, one_f4, {33, 0, 0}, 0, 1},
        {two_f, two_f4, {20, 12, 0}, 0, 1},
        {three_f, three_f4, {9, 8, 7}, 0, 1},
        {one_layers_f, one_layers_f4, {17, 0, 5}, layered, 1},
        {two_layers_f, two_layers_f4, {12, 10, 5}, layered, 1},
        {cube_f, cube_f4, {8, 8, 6}, cubed, 1},
        {cubes_f, cubes_f4, {8, 8, 12}, cubed | layered, 1},
        {level_f, level_f4, {32, 16, 0}, 0, 4},
        {level3_f, level3_f4, {16, 8, 8}, 0, 3},
        {level_layers_f, level_layers_f4, {16, 16, 5}, layered, 3},
        {gradient_f, gradient_f4, {32, 32, 0}, 0, 5},
    };
    for (const Shape& s : shapes)
        for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear})
            for (const auto mode : {cudaAddressModeClamp, cudaAddressModeWrap, cudaAddressModeMirror, cudaAddressModeBorder})
                for (const bool normalized : {false, true}) {
                    sample<E>(s.one, out, s.extent, s.flags, 1, s.levels, filter, mode, normalized);
                    sample<E>(s.four, out4, s.extent, s.flags, 4, s.levels, filter, mode, normalized);
                }
    for (const bool normalized : {false, true})
        sample<E>(gather, out4, make_cudaExtent(20, 12, 0), cudaArrayTextureGather, 4, 1, cudaFilterModeLinear, cudaAddressModeClamp, normalized);
}

cudaSurfaceObject_t surface(cudaChannelFormatDesc form, cudaExtent e, unsigned flags, bool bytes) {
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &form, e, flags | cudaArraySurfaceLoadStore));
    const int channels = form.w ? 4 : 1;
    if (bytes)
        fill<uint8_t>(array, e, std::max<size_t>(1, e.depth), channels, 3);
    else
        fill<float>(array, e, std::max<size_t>(1, e.depth), channels, 3);
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t s;
    CHECK(cudaCreateSurfaceObject(&s, &resource));
    return s;
}

int main() {
    float* out = device<float>(1024);
    float4* out4 = reinterpret_cast<float4*>(device<float>(4096));
    all<float>(out, out4);
    all<uint8_t>(out, out4);
    all<int8_t>(out, out4);
    all<uint16_t>(out, out4);
    all<int16_t>(out, out4);
    draw<<<10, 32>>>(surface(cudaCreateChannelDesc<float4>(), make_cudaExtent(20, 10, 0), 0, false), out4, 20, 10);
    draw_layers<<<3, 32>>>(surface(cudaCreateChannelDesc<float>(), make_cudaExtent(20, 2, 3), cudaArrayLayered, false), out, 20);
    draw_volume<<<4, dim3(8, 8)>>>(surface(cudaCreateChannelDesc<unsigned char>(), make_cudaExtent(8, 8, 4), 0, true), reinterpret_cast<unsigned char*>(out));
    CHECK(cudaDeviceSynchronize());
}
