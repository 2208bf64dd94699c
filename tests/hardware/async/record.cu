// Runs the mbarrier protocols, SYNCS.CAS and the tensor copies on a GPU (sm_90) and writes what they leave.
//   record OUT
// OUT/mbarrier.bin, cas.bin, load.bin, store.bin, cells_load.bin, cells_store.bin, maps.bin: 16 bits per sequence, case or map
// (tensor_cases.hpp, cas_cases.hpp).
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cas_cases.hpp"

namespace {

void check(CUresult r, const char* what) {
    if (r == CUDA_SUCCESS) return;
    const char* text = "";
    cuGetErrorString(r, &text);
    std::fprintf(stderr, "%s: %s\n", what, text);
    std::exit(1);
}
#define CHECK(call) check(call, #call)

void save(const std::string& name, const void* data, size_t bytes) {
    FILE* f = std::fopen(name.c_str(), "wb");
    if (!f || std::fwrite(data, 1, bytes, f) != bytes || std::fclose(f)) std::exit(1);
}

CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, bytes));
    return p;
}

CUresult encode(const tensor_cases::Case& c, uint64_t base, CUtensorMap* map) {
    return cuTensorMapEncodeTiled(map, static_cast<CUtensorMapDataType>(c.type), c.rank,
                                  reinterpret_cast<void*>(base), c.dim, c.stride, c.box, c.step,
                                  static_cast<CUtensorMapInterleave>(c.interleave),
                                  static_cast<CUtensorMapSwizzle>(c.swizzle),
                                  static_cast<CUtensorMapL2promotion>(c.promotion),
                                  static_cast<CUtensorMapFloatOOBfill>(c.fill));
}

tensor_cases::Launch prepared(const tensor_cases::Case& c, CUdeviceptr base) {
    tensor_cases::Launch l{};
    alignas(128) CUtensorMap map;
    check(encode(c, base, &map), "cuTensorMapEncodeTiled");
    std::memcpy(l.map, &map, 128);
    std::memcpy(l.at, c.at, sizeof l.at);
    l.rank = c.rank;
    l.bytes = c.bytes;
    return l;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const std::string out = argv[1];
    constexpr uint32_t sequences = 100000, cases = 100000, cell_cases = 20000, cas_count = 20000, maps = 40000;
    CHECK(cuInit(0));
    CUdevice device;
    CHECK(cuDeviceGet(&device, 0));
    CUcontext context;
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CUmodule mbarrier, cas, tensor;
    CHECK(cuModuleLoad(&mbarrier, "mbarrier.cubin"));
    CHECK(cuModuleLoad(&cas, "cas.cubin"));
    CHECK(cuModuleLoad(&tensor, "tensor.cubin"));
    CUfunction protocol, swap, load, store;
    CHECK(cuModuleGetFunction(&protocol, mbarrier, "protocol"));
    CHECK(cuModuleGetFunction(&swap, cas, "cas"));
    CHECK(cuModuleGetFunction(&load, tensor, "load"));
    CHECK(cuModuleGetFunction(&store, tensor, "store"));

    {
        std::vector<uint32_t> hashes(size_t{sequences} * 32);
        CUdeviceptr at = allocate(hashes.size() * 4);
        uint32_t first = 0, steps = 24;
        void* arguments[] = {&at, &first, &steps};
        CHECK(cuLaunchKernel(protocol, sequences, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
        CHECK(cuCtxSynchronize());
        CHECK(cuMemcpyDtoH(hashes.data(), at, hashes.size() * 4));
        std::vector<uint16_t> kept;
        for (uint32_t i = 0; i < sequences; ++i) kept.push_back(tensor_cases::folded_lanes(&hashes[i * 32]));
        save(out + "/mbarrier.bin", kept.data(), kept.size() * 2);
    }
    {
        std::vector<cas_cases::Case> cases_of;
        for (uint32_t i = 0; i < cas_count; ++i) cases_of.push_back(cas_cases::make(i));
        std::vector<cas_cases::Result> results_of(cas_count);
        CUdeviceptr list = allocate(cas_count * sizeof cases_of[0]), at = allocate(cas_count * sizeof results_of[0]);
        CHECK(cuMemcpyHtoD(list, cases_of.data(), cas_count * sizeof cases_of[0]));
        void* arguments[] = {&at, &list};
        CHECK(cuLaunchKernel(swap, cas_count, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
        CHECK(cuCtxSynchronize());
        CHECK(cuMemcpyDtoH(results_of.data(), at, cas_count * sizeof results_of[0]));
        std::vector<uint16_t> kept;
        for (const cas_cases::Result& result : results_of) kept.push_back(cas_cases::folded(result));
        save(out + "/cas.bin", kept.data(), kept.size() * 2);
    }
    {
        std::vector<uint16_t> kept;
        for (uint32_t i = 0; i < maps; ++i) {
            uint64_t base;
            const tensor_cases::Case c = tensor_cases::wild(i, base);
            alignas(128) CUtensorMap map;
            const bool good = encode(c, base, &map) == CUDA_SUCCESS;
            kept.push_back(good ? tensor_cases::folded_map(reinterpret_cast<unsigned char*>(&map)) : 0);
        }
        save(out + "/maps.bin", kept.data(), kept.size() * 2);
    }

    constexpr uint32_t batch = 1000;
    const CUdeviceptr regions = allocate(batch * tensor_cases::region);
    std::vector<uint32_t> source(tensor_cases::region / 4);
    tensor_cases::fill(source.data(), static_cast<uint32_t>(source.size()));
    const CUdeviceptr from = allocate(tensor_cases::region), list = allocate(batch * sizeof(tensor_cases::Launch)),
                      results = allocate(batch * 4);
    CHECK(cuMemcpyHtoD(from, source.data(), tensor_cases::region));
    for (const char* name : {"load", "store", "cells_load", "cells_store"}) {
        const bool stores = std::strstr(name, "store"), cells = std::strstr(name, "cells");
        std::vector<uint16_t> kept;
        for (uint32_t first = 0; first < (cells ? cell_cases : cases); first += batch) {
            std::vector<tensor_cases::Launch> launches;
            for (uint32_t i = 0; i < batch; ++i)
                launches.push_back(prepared(tensor_cases::make(first + i, stores, cells),
                                            stores ? regions + i * tensor_cases::region : from));
            CHECK(cuMemcpyHtoD(list, launches.data(), batch * sizeof launches[0]));
            CUdeviceptr third = stores ? regions : 0;
            CUdeviceptr cases_at = list, results_at = results;
            void* arguments[] = {&cases_at, &results_at, &third};
            CHECK(cuLaunchKernel(stores ? store : load, batch, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
            CHECK(cuCtxSynchronize());
            std::vector<uint32_t> now(batch);
            CHECK(cuMemcpyDtoH(now.data(), results, batch * 4));
            for (const uint32_t hash : now) kept.push_back(tensor_cases::folded(hash));
        }
        save(out + "/" + name + ".bin", kept.data(), kept.size() * 2);
    }
    std::printf("%u mbarrier sequences, %u of SYNCS.CAS, %u maps, %u tensor loads, %u stores, %u of cells\n", sequences, cas_count, maps,
                cases, cases, 2 * cell_cases);
}
