// SPDX-License-Identifier: Apache-2.0
// record CASES CUBIN: samples every case on the GPU and prints its line with a hash of the results,
// or "# " and why not. Nothing is freed: the process ends soon.
#include <cuda_runtime.h>

#include <cstdio>
#include <fstream>

#include "cases.hpp"

using texture_cases::Arguments;
using texture_cases::Case;

namespace {

const char* error = nullptr;
bool ok(cudaError_t e) {
    if (e) error = cudaGetErrorString(e), (void)cudaGetLastError();
    return !e;
}

bool put(cudaArray_t array, const Case& c, long level) {
    const auto texels = c.texels(level);
    const auto down = [&](long n) { return static_cast<size_t>(n >> level ? n >> level : 1); };
    cudaMemcpy3DParms p = {};
    const size_t row = down(c.width) * static_cast<size_t>(c.channels * c.bits / 8);
    p.srcPtr = make_cudaPitchedPtr(const_cast<uint8_t*>(texels.data()), row, down(c.width),
                                   down(c.height));
    p.dstArray = array;
    p.extent = make_cudaExtent(down(c.width), down(c.height), static_cast<size_t>(c.slices(level)));
    p.kind = cudaMemcpyHostToDevice;
    return ok(cudaMemcpy3D(&p));
}

bool resource(const Case& c, cudaResourceDesc* r) {
    const int b = c.bits, more = c.channels > 2 ? b : 0;
    const auto kind = c.format[0] == 'f'   ? cudaChannelFormatKindFloat
                      : c.format[0] == 's' ? cudaChannelFormatKindSigned
                                           : cudaChannelFormatKindUnsigned;
    const auto format = cudaCreateChannelDesc(b, c.channels > 1 ? b : 0, more, more, kind);
    const bool sliced = c.layers || c.cube;
    const unsigned flags =
        (c.layers ? cudaArrayLayered : 0u) | (c.cube ? cudaArrayCubemap : 0u) |
        (!sliced && c.text("kernel", "").rfind("gather", 0) == 0 ? cudaArrayTextureGather : 0u);
    const auto extent = make_cudaExtent(static_cast<size_t>(c.width), static_cast<size_t>(c.height),
                                        static_cast<size_t>(sliced ? c.slices(0) : c.depth));
    if (c.number("lin", 0) || c.number("pitch", 0)) {
        const auto texels = c.texels(0);
        void* memory = nullptr;
        size_t pitch = 0;
        const size_t rows = c.height ? static_cast<size_t>(c.height) : 1,
                     row = texels.size() / rows;
        if (!ok(cudaMallocPitch(&memory, &pitch, row, rows)) ||
            !ok(cudaMemcpy2D(memory, pitch, texels.data(), row, row, rows, cudaMemcpyHostToDevice)))
            return false;
        if (c.number("lin", 0)) {
            r->resType = cudaResourceTypeLinear;
            r->res.linear = {memory, format, texels.size()};
        } else {
            r->resType = cudaResourceTypePitch2D;
            r->res.pitch2D = {memory, format, static_cast<size_t>(c.width), rows, pitch};
        }
        return true;
    }
    if (!c.levels) {
        r->resType = cudaResourceTypeArray;
        return ok(cudaMalloc3DArray(&r->res.array.array, &format, extent, flags)) &&
               put(r->res.array.array, c, 0);
    }
    r->resType = cudaResourceTypeMipmappedArray;
    if (!ok(cudaMallocMipmappedArray(&r->res.mipmap.mipmap, &format, extent,
                                     static_cast<unsigned>(c.levels), flags)))
        return false;
    for (long level = 0; level < c.levels; ++level) {
        cudaArray_t array;
        if (!ok(cudaGetMipmappedArrayLevel(&array, r->res.mipmap.mipmap,
                                           static_cast<unsigned>(level))) ||
            !put(array, c, level))
            return false;
    }
    return true;
}

cudaTextureDesc sampler(const Case& c) {
    cudaTextureDesc t = {};
    const std::string modes = c.text("addr", "ccc");
    for (int i = 0; i < 3; ++i)
        t.addressMode[i] = modes[static_cast<size_t>(i)] == 'w'   ? cudaAddressModeWrap
                           : modes[static_cast<size_t>(i)] == 'm' ? cudaAddressModeMirror
                           : modes[static_cast<size_t>(i)] == 'b' ? cudaAddressModeBorder
                                                                  : cudaAddressModeClamp;
    t.filterMode = c.text("filter", "l") == "l" ? cudaFilterModeLinear : cudaFilterModePoint;
    t.mipmapFilterMode = c.text("mip", "p") == "l" ? cudaFilterModeLinear : cudaFilterModePoint;
    t.readMode = c.number("norm", 0) ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    t.sRGB = static_cast<int>(c.number("srgb", 0));
    t.normalizedCoords = static_cast<int>(c.number("nc", 0));
    t.maxAnisotropy = static_cast<unsigned>(c.number("aniso", 0));
    t.mipmapLevelBias = c.real("bias", "0");
    t.minMipmapLevelClamp = c.real("minlod", "0");
    t.maxMipmapLevelClamp = c.real("maxlod", c.levels ? "16" : "0");
    t.disableTrilinearOptimization = static_cast<int>(c.number("notri", 0));
    t.seamlessCubemap = static_cast<int>(c.number("seamless", 0));
    const auto border = c.reals("border", "0.25,0.5,-0.75,1");
    for (size_t i = 0; i < 4; ++i) t.borderColor[i] = border[i];
    return t;
}

}  // namespace

int main(int argc, char** argv) {
    cudaLibrary_t library;
    if (argc != 3 ||
        !ok(cudaLibraryLoadFromFile(&library, argv[2], nullptr, nullptr, 0, nullptr, nullptr, 0))) {
        std::fprintf(stderr, "record CASES CUBIN%s%s\n", error ? ": " : "", error ? error : "");
        return 2;
    }
    std::ifstream in(argv[1]);
    for (std::string line; std::getline(in, line);) {
        const Case c(line);
        const size_t bytes = static_cast<size_t>(c.samples) * 16;
        error = nullptr;
        cudaResourceDesc texels = {};
        const cudaTextureDesc how = sampler(c);
        cudaTextureObject_t texture = 0;
        cudaKernel_t kernel;
        void* out = nullptr;
        std::vector<uint32_t> results(bytes / 4);
        bool done = resource(c, &texels) &&
                    ok(cudaCreateTextureObject(&texture, &texels, &how, nullptr)) &&
                    ok(cudaLibraryGetKernel(&kernel, library, c.text("kernel", "").c_str())) &&
                    ok(cudaMalloc(&out, bytes));
        if (done) {
            Arguments a = c.arguments(texture, reinterpret_cast<uint64_t>(out));
            void* arguments[] = {&a};
            done = ok(cudaLaunchKernel(reinterpret_cast<const void*>(kernel),
                                       dim3(static_cast<unsigned>((c.samples + 127) / 128)),
                                       dim3(128), arguments, 0, nullptr)) &&
                   ok(cudaMemcpy(results.data(), out, bytes, cudaMemcpyDeviceToHost));
        }
        if (done)
            std::printf("%s hash=%016llx\n", line.c_str(),
                        static_cast<unsigned long long>(
                            texture_cases::hash(results.data(), results.size())));
        else
            std::printf("# %s: %s\n", line.c_str(), error);
    }
    return 0;
}
