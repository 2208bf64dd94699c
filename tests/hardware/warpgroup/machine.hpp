// SPDX-License-Identifier: Apache-2.0
// A GPU that runs cases in the kernels of template.cu, whose one wgmma is exchanged.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cases.hpp"

namespace warpgroup {

inline void check(CUresult r, const char* what) {
    if (r == CUDA_SUCCESS) return;
    const char* text = "";
    cuGetErrorString(r, &text);
    std::fprintf(stderr, "%s: %s\n", what, text);
    std::exit(1);
}
#define CHECK(call) check(call, #call)

inline CUdeviceptr copied(const std::vector<uint32_t>& words) {
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, words.size() * 4));
    CHECK(cuMemcpyHtoD(p, words.data(), words.size() * 4));
    return p;
}

class Machine {
  public:
    explicit Machine(const char* path) {
        FILE* f = std::fopen(path, "rb");
        if (!f) {
            std::fprintf(stderr, "%s: cannot read\n", path);
            std::exit(1);
        }
        char chunk[4096];
        while (const size_t n = std::fread(chunk, 1, sizeof chunk, f))
            image.insert(image.end(), chunk, chunk + n);
        std::fclose(f);
        CHECK(cuInit(0));
        CUdevice device;
        CHECK(cuDeviceGet(&device, 0));
        CUcontext context;
        CHECK(cuDevicePrimaryCtxRetain(&context, device));
        CHECK(cuCtxSetCurrent(context));
        a = copied(all_images(false));
        b = copied(all_images(true));
        tables = copied(all_tables());
        metadata = copied(all_metadata());
    }

    // The registers of D, case after case.
    std::vector<uint32_t> run(std::vector<Case> cases) {
        uint64_t words = 0;
        for (Case& c : cases) {
            c.launch.out = words;
            words += c.launch.count * 128;
        }
        CUdeviceptr out, list;
        CHECK(cuMemAlloc(&out, words * 4));
        CHECK(cuMemAlloc(&list, cases.size() * sizeof(Launch)));
        std::vector<Launch> launches;
        for (const Case& c : cases) launches.push_back(c.launch);
        CHECK(cuMemcpyHtoD(list, launches.data(), launches.size() * sizeof(Launch)));
        for (size_t first = 0; first < cases.size();) {
            size_t last = first + 1;
            while (last < cases.size() && cases[last].form == cases[first].form) ++last;
            const Form& f = cases[first].form;
            CUmodule module;
            CUfunction kernel;
            CHECK(cuModuleLoadData(&module, with_form(image, f).data()));
            CHECK(cuModuleGetFunction(&kernel, module, kernel_of(f)));
            CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     shared_bytes));
            CUdeviceptr at = list + first * sizeof(Launch);
            void* arguments[] = {&at, &a, &b, &tables, &metadata, &out};
            CHECK(cuLaunchKernel(kernel, static_cast<unsigned>(last - first), 1, 1, 128, 1, 1,
                                 shared_bytes, nullptr, arguments, nullptr));
            if (const CUresult r = cuCtxSynchronize()) {
                std::fprintf(stderr, "case %zu (a %d b %d half %d n %u rs %d sparse %d): %d\n",
                             first, f.a, f.b, f.half, f.n, f.registers, f.sparse, r);
                std::exit(1);
            }
            CHECK(cuModuleUnload(module));
            first = last;
        }
        std::vector<uint32_t> results(words);
        CHECK(cuMemcpyDtoH(results.data(), out, words * 4));
        CHECK(cuMemFree(out));
        CHECK(cuMemFree(list));
        return results;
    }

  private:
    std::vector<char> image;
    CUdeviceptr a, b, tables, metadata;
};

}  // namespace warpgroup
