// Runs the mbarrier protocols, SYNCS.CAS, tensor copies and reductions on a GPU (sm_90) and writes what they leave.
//   record OUT [NAME...]
// OUT/NAME.bin: 16 bits per sequence, case or map (tensor_cases.hpp and its like); all without a name.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cas_cases.hpp"
#include "cast_cases.hpp"
#include "reduce_cases.hpp"

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
    const auto type = static_cast<CUtensorMapDataType>(c.type);
    const auto interleave = static_cast<CUtensorMapInterleave>(c.interleave);
    const auto swizzle = static_cast<CUtensorMapSwizzle>(c.swizzle);
    const auto promotion = static_cast<CUtensorMapL2promotion>(c.promotion);
    const auto fill = static_cast<CUtensorMapFloatOOBfill>(c.fill);
    const auto address = reinterpret_cast<void*>(base);
    return c.image ? cuTensorMapEncodeIm2col(map, type, c.rank, address, c.dim, c.stride, c.lower, c.upper, c.channels, c.pixels,
                                             c.step, interleave, swizzle, promotion, fill)
                   : cuTensorMapEncodeTiled(map, type, c.rank, address, c.dim, c.stride, c.box, c.step, interleave, swizzle,
                                            promotion, fill);
}

// What a kernel reads of a case whose tensor lies at `base`.
std::vector<std::byte> prepared(const tensor_cases::Case& c, CUdeviceptr base) {
    tensor_cases::Launch l{};
    alignas(128) CUtensorMap map;
    check(encode(c, base, &map), "a tensor map");
    std::memcpy(l.map, &map, 128);
    std::memcpy(l.at, c.at, sizeof c.at);
    std::memcpy(l.offset, c.offset, sizeof c.offset);
    l.rank = c.rank;
    l.bytes = c.bytes;
    l.op = c.op;
    l.type = c.type;
    l.flavour = c.flavour;
    const auto* bytes = reinterpret_cast<const std::byte*>(&l);
    return {bytes, bytes + sizeof l};
}

// Cases of one kernel, a CTA each or several.
struct Suite {
    const char *name, *module, *kernel;
    uint32_t count, block, ctas;
    uint64_t region;  // bytes of a tensor
    enum { own, shared, passed } tensor;  // each case has its own; all read one; and the kernel is told where
    std::function<std::vector<std::byte>(uint32_t number, CUdeviceptr base)> make;
};

std::vector<Suite> suites() {
    using Bytes = std::vector<std::byte>;
    std::vector<Suite> all;
    for (const bool cells : {false, true})
        for (const bool store : {false, true}) {
            all.push_back({cells ? store ? "cells_store" : "cells_load" : store ? "store" : "load", "tensor", store ? "store" : "load",
                           cells ? 20000u : 100000u, 128, 1, tensor_cases::region, store ? Suite::own : Suite::shared,
                           [=](uint32_t i, CUdeviceptr base) { return prepared(tensor_cases::make(i, store, cells), base); }});
            all.push_back({cells ? store ? "image_cells_store" : "image_cells_load" : store ? "image_store" : "image_load", "image",
                           store ? "image_store" : "image_load", cells ? 20000u : 100000u, 128, 1, image_cases::region,
                           store ? Suite::own : Suite::shared,
                           [=](uint32_t i, CUdeviceptr base) { return prepared(image_cases::make(i, store, cells), base); }});
        }
    for (const bool image : {false, true})
        all.push_back({image ? "image_reduce" : "tile_reduce", "reduce", image ? "image_reduce" : "tile_reduce", 100000, 128, 1,
                       reduce_cases::region, Suite::own, [=](uint32_t i, CUdeviceptr base) {
                           return prepared(reduce_cases::make(i, image, reduce_cases::legal), base);
                       }});
    for (const bool near : {false, true})
        all.push_back({near ? "near_reduce" : "bulk_reduce", "reduce", near ? "near_reduce" : "bulk_reduce", 100000, 32, 1,
                       reduce_cases::bulk_bytes, Suite::own, [=](uint32_t i, CUdeviceptr) -> Bytes {
                           const reduce_cases::Bulk b = reduce_cases::make_bulk(i, near);
                           const auto* bytes = reinterpret_cast<const std::byte*>(&b);
                           return {bytes, bytes + sizeof b};
                       }});
    all.push_back({"cast", "cast", "cast_to", 20000, 128, cast_cases::ctas, image_cases::region, Suite::passed,
                   [](uint32_t i, CUdeviceptr base) { return prepared(cast_cases::make(i), base); }});
    return all;
}

void run(const Suite& suite, const std::string& out) {
    constexpr uint32_t batch = 1000;
    CUmodule module;
    CUfunction kernel;
    CHECK(cuModuleLoad(&module, (std::string(suite.module) + ".cubin").c_str()));
    CHECK(cuModuleGetFunction(&kernel, module, suite.kernel));
    const bool own = suite.tensor == Suite::own;
    const CUdeviceptr regions = allocate((own ? batch : 1) * suite.region), list = allocate(batch * sizeof(tensor_cases::Launch)),
                      results = allocate(batch * suite.ctas * 4);
    if (!own) {
        std::vector<uint32_t> source(suite.region / 4);
        tensor_cases::fill(source.data(), static_cast<uint32_t>(source.size()));
        CHECK(cuMemcpyHtoD(regions, source.data(), suite.region));
    }
    std::vector<uint16_t> kept;
    for (uint32_t first = 0; first < suite.count; first += batch) {
        std::vector<std::byte> cases;
        for (uint32_t i = 0; i < batch; ++i) {
            const auto one = suite.make(first + i, regions + (own ? i * suite.region : 0));
            cases.insert(cases.end(), one.begin(), one.end());
        }
        CHECK(cuMemcpyHtoD(list, cases.data(), cases.size()));
        CUdeviceptr cases_at = list, results_at = results, third = suite.tensor == Suite::shared ? 0 : regions;
        void* arguments[] = {&cases_at, &results_at, &third};
        CHECK(cuLaunchKernel(kernel, batch * suite.ctas, 1, 1, suite.block, 1, 1, 0, nullptr, arguments, nullptr));
        CHECK(cuCtxSynchronize());
        std::vector<uint32_t> now(batch * suite.ctas);
        CHECK(cuMemcpyDtoH(now.data(), results, now.size() * 4));
        for (uint32_t i = 0; i < batch; ++i) kept.push_back(tensor_cases::folded(&now[i * suite.ctas], suite.ctas));
    }
    save(out + "/" + suite.name + ".bin", kept.data(), kept.size() * 2);
    std::printf("%s: %u cases\n", suite.name, suite.count);
    for (const CUdeviceptr p : {regions, list, results}) CHECK(cuMemFree(p));
}

void record_maps(const std::string& path, bool image) {
    std::vector<uint16_t> kept;
    for (uint32_t i = 0; i < 40000; ++i) {
        uint64_t base;
        const tensor_cases::Case c = image ? image_cases::odd(i, base) : tensor_cases::wild(i, base);
        alignas(128) CUtensorMap map;
        const bool good = encode(c, base, &map) == CUDA_SUCCESS;
        kept.push_back(good ? tensor_cases::folded_map(reinterpret_cast<unsigned char*>(&map)) : 0);
    }
    save(path, kept.data(), kept.size() * 2);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const std::string out = argv[1];
    const auto wanted = [&](const char* name) {
        if (argc == 2) return true;
        for (int i = 2; i < argc; ++i)
            if (std::strcmp(argv[i], name) == 0) return true;
        return false;
    };
    constexpr uint32_t sequences = 100000, cas_count = 20000;
    CHECK(cuInit(0));
    CUdevice device;
    CHECK(cuDeviceGet(&device, 0));
    CUcontext context;
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));

    if (wanted("mbarrier")) {
        CUmodule module;
        CUfunction protocol;
        CHECK(cuModuleLoad(&module, "mbarrier.cubin"));
        CHECK(cuModuleGetFunction(&protocol, module, "protocol"));
        std::vector<uint32_t> hashes(size_t{sequences} * 32);
        CUdeviceptr at = allocate(hashes.size() * 4);
        uint32_t first = 0, steps = 24;
        void* arguments[] = {&at, &first, &steps};
        CHECK(cuLaunchKernel(protocol, sequences, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
        CHECK(cuCtxSynchronize());
        CHECK(cuMemcpyDtoH(hashes.data(), at, hashes.size() * 4));
        std::vector<uint16_t> kept;
        for (uint32_t i = 0; i < sequences; ++i) kept.push_back(tensor_cases::folded(&hashes[i * 32], 32));
        save(out + "/mbarrier.bin", kept.data(), kept.size() * 2);
    }
    if (wanted("cas")) {
        CUmodule module;
        CUfunction swap;
        CHECK(cuModuleLoad(&module, "cas.cubin"));
        CHECK(cuModuleGetFunction(&swap, module, "cas"));
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
    if (wanted("maps")) record_maps(out + "/maps.bin", false);
    if (wanted("image_maps")) record_maps(out + "/image_maps.bin", true);
    for (const Suite& suite : suites())
        if (wanted(suite.name)) run(suite, out);
}
