// SPDX-License-Identifier: Apache-2.0
// A CUDA program that needs no toolkit: it registers a cubin as nvcc's code does, and checks what
// the runtime makes of it. Run by exec_test.py under `sassemu exec`. Called with a cubin of vecadd.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "emu/runtime/types.hpp"

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*,
                            void*, int*);
unsigned int __cudaPushCallConfiguration(dim3, dim3, size_t, CUstream);
Error __cudaPopCallConfiguration(dim3*, dim3*, size_t*, CUstream*);
Error cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, CUstream);
Error cudaLaunchKernel_ptsz(const void*, dim3, dim3, void**, size_t, CUstream);
Error cudaMalloc(void**, size_t);
Error cudaFree(void*);
Error cudaMemcpy(void*, const void*, size_t, int);
Error cudaMemcpyAsync(void*, const void*, size_t, int, CUstream);
Error cudaMemcpy2D(void*, size_t, const void*, size_t, size_t, size_t, int);
Error cudaMemset(void*, int, size_t);
Error cudaMallocPitch(void**, size_t*, size_t, size_t);
Error cudaDeviceSynchronize();
Error cudaGetLastError();
Error cudaPeekAtLastError();
const char* cudaGetErrorName(Error);
Error cudaSetDevice(int);
Error cudaGetDevice(int*);
Error cudaGetDeviceCount(int*);
Error cudaGetDeviceProperties(Prop13*, int);
Error cudaStreamCreate(CUstream*);
Error cudaStreamSynchronize(CUstream);
Error cudaStreamDestroy(CUstream);
Error cudaEventCreate(CUevent*);
Error cudaEventRecord(CUevent, CUstream);
Error cudaEventSynchronize(CUevent);
Error cudaEventElapsedTime(float*, CUevent, CUevent);
Error cudaFuncGetAttributes(FuncAttributes*, const void*);
Error cudaPointerGetAttributes(PointerAttributes*, const void*);
Error cudaRuntimeGetVersion(int*);
}

namespace {

int failures = 0;
void check(bool good, const char* what, int line) {
    if (good) return;
    std::printf("line %d: %s\n", line, what);
    ++failures;
}
#define CHECK(condition) check(condition, #condition, __LINE__)
#define OK(call)                                                                         \
    do {                                                                                 \
        const Error result = (call);                                                     \
        check(result == 0, (std::string(#call ": ") + cudaGetErrorName(result)).c_str(), \
              __LINE__);                                                                 \
    } while (false)

enum { to_device = 1, to_host = 2 };
constexpr int count = 1000;

void vecadd_stub() {}
const void* const vecadd = reinterpret_cast<const void*>(&vecadd_stub);

struct Vectors {
    std::vector<float> a = std::vector<float>(count), b = a, c = a;
    void *da = nullptr, *db = nullptr, *dc = nullptr;
    int n = count;
    void* parameters[4] = {&da, &db, &dc, &n};
    Vectors() {
        for (int i = 0; i < count; ++i) {
            a[static_cast<size_t>(i)] = static_cast<float>(i);
            b[static_cast<size_t>(i)] = 0.5f;
        }
        for (void** p : {&da, &db, &dc}) OK(cudaMalloc(p, count * sizeof(float)));
        OK(cudaMemcpy(da, a.data(), count * sizeof(float), to_device));
        OK(cudaMemcpy(db, b.data(), count * sizeof(float), to_device));
    }
    ~Vectors() {
        for (void* p : {da, db, dc}) OK(cudaFree(p));
    }
    Vectors(const Vectors&) = delete;
    void expect_sum() {
        OK(cudaMemcpy(c.data(), dc, count * sizeof(float), to_host));
        for (size_t i = 0; i < count; ++i)
            if (c[i] != a[i] + b[i]) return CHECK(!"the sum");
    }
};

// As the code goes that nvcc makes of <<<>>>.
void launch(void** parameters, CUstream stream = nullptr) {
    CHECK(__cudaPushCallConfiguration({4, 1, 1}, {256, 1, 1}, 0, stream) == 0);
    dim3 grid{}, block{};
    size_t shared = 1;
    CUstream back = nullptr;
    OK(__cudaPopCallConfiguration(&grid, &block, &shared, &back));
    OK(cudaLaunchKernel(vecadd, grid, block, parameters, shared, back));
}

void sums() {
    Vectors v;
    launch(v.parameters);
    v.expect_sum();
    // A stream, with events around it.
    OK(cudaMemset(v.dc, 0, count * sizeof(float)));
    CUstream stream = nullptr;
    CUevent begin = nullptr, end = nullptr;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaEventRecord(begin, stream));
    launch(v.parameters, stream);
    OK(cudaEventRecord(end, stream));
    OK(cudaEventSynchronize(end));
    float ms = -1;
    OK(cudaEventElapsedTime(&ms, begin, end));
    CHECK(ms >= 0);
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
    v.expect_sum();
    // The default stream of a thread.
    OK(cudaMemset(v.dc, 0, count * sizeof(float)));
    OK(cudaDeviceSynchronize());
    OK(cudaLaunchKernel_ptsz(vecadd, {4, 1, 1}, {256, 1, 1}, v.parameters, 0, nullptr));
    OK(cudaDeviceSynchronize());
    v.expect_sum();
}

void rows() {
    void* rows = nullptr;
    size_t pitch = 0;
    OK(cudaMallocPitch(&rows, &pitch, 100, 7));
    CHECK(pitch >= 100);
    std::vector<char> from(700), to(700);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7);
    OK(cudaMemcpy2D(rows, pitch, from.data(), 100, 100, 7, to_device));
    OK(cudaMemcpy2D(to.data(), 100, rows, pitch, 100, 7, to_host));
    CHECK(from == to);
    CHECK(cudaMemcpy2D(to.data(), 50, rows, pitch, 100, 7, to_host) == 12);
    OK(cudaFree(rows));
    CHECK(cudaGetLastError() == 12);
}

void what_is_there() {
    int devices = 0, device = -1, version = 0;
    OK(cudaGetDeviceCount(&devices));
    CHECK(devices >= 1);
    OK(cudaSetDevice(devices - 1));
    OK(cudaGetDevice(&device));
    CHECK(device == devices - 1);
    OK(cudaSetDevice(0));
    Prop13 p{};
    OK(cudaGetDeviceProperties(&p, 0));
    CHECK(p.warpSize == 32 && p.maxThreadsPerBlock == 1024 && p.multiProcessorCount > 0);
    std::printf("%s, %d SMs, %d.%d, devices: %d\n", p.name, p.multiProcessorCount, p.major, p.minor,
                devices);
    OK(cudaRuntimeGetVersion(&version));
    CHECK(version == 13000);
    FuncAttributes f{};
    OK(cudaFuncGetAttributes(&f, vecadd));
    CHECK(f.maxThreadsPerBlock == 1024 && f.numRegs > 0);
    void* memory = nullptr;
    PointerAttributes attributes{};
    OK(cudaMalloc(&memory, 100));
    OK(cudaPointerGetAttributes(&attributes, memory));
    CHECK(attributes.type == 2 && attributes.devicePointer == memory);
    OK(cudaPointerGetAttributes(&attributes, &attributes));
    CHECK(attributes.type == 0);
    OK(cudaFree(memory));
}

void errors() {
    CHECK(cudaGetLastError() == 0);
    CHECK(cudaSetDevice(1000) == 101);
    CHECK(cudaPeekAtLastError() == 101);
    std::thread([] { CHECK(cudaPeekAtLastError() == 0); }).join();  // each thread has its own
    CHECK(cudaGetLastError() == 101);
    CHECK(cudaGetLastError() == 0);
    CHECK(cudaMalloc(nullptr, 4) == 1);
    CHECK(cudaLaunchKernel(&failures, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr) == 98);
    Vectors v;
    CHECK(cudaLaunchKernel(vecadd, {0, 1, 1}, {1, 1, 1}, v.parameters, 0, nullptr) == 9);
    CHECK(cudaLaunchKernel(vecadd, {1, 1, 1}, {2000, 1, 1}, v.parameters, 0, nullptr) == 9);
    CHECK(cudaMemcpy(v.da, v.db, 4, 17) == 21);
    CHECK(cudaStreamDestroy(nullptr) == 400);
    dim3 d{};
    size_t shared = 0;
    CUstream stream = nullptr;
    CHECK(__cudaPopCallConfiguration(&d, &d, &shared, &stream) == 52);
    CHECK(cudaGetLastError() == 52);
}

// A launch that faults: said once, and the context stays broken.
void fault() {
    Vectors* const v = new Vectors;  // its memory cannot be freed any more
    void* nowhere = reinterpret_cast<void*>(16);
    void* parameters[4] = {&v->da, &v->db, &nowhere, &v->n};
    OK(cudaLaunchKernel(vecadd, {1, 1, 1}, {32, 1, 1}, parameters, 0, nullptr));
    CHECK(cudaDeviceSynchronize() == 700);
    CHECK(cudaGetLastError() == 700);
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, 4) == 700);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    std::ifstream file(argv[1], std::ios::binary);
    const std::vector<char> cubin((std::istreambuf_iterator<char>(file)),
                                  std::istreambuf_iterator<char>());
    struct Wrapper {
        uint32_t magic, version;
        const void* data;
        void* unused;
    } wrapper{0x466243b1, 1, cubin.data(), nullptr};
    void** const handle = __cudaRegisterFatBinary(&wrapper);
    char name[] = "vecadd";
    __cudaRegisterFunction(handle, static_cast<const char*>(vecadd), name, name, -1, nullptr,
                           nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterFatBinaryEnd(handle);
    const std::string part = argv[2];
    if (part == "sums") sums();
    if (part == "rows") rows();
    if (part == "devices") what_is_there();
    if (part == "errors") errors();
    if (part == "fault") fault();
    __cudaUnregisterFatBinary(handle);
    return failures != 0 ? 1 : 0;
}
