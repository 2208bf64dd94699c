/* SPDX-License-Identifier: Apache-2.0 */
/* The driver API as a program uses it: one function a group, each with what it must give.
 * driver_test GROUP CUBINS */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_driver.h"

#define IS(expected, call)                                                                     \
    do {                                                                                       \
        const CUresult got_ = (call);                                                          \
        if (got_ != (expected)) {                                                              \
            fprintf(stderr, "%s:%d: %s is %d, not %d\n", __FILE__, __LINE__, #call, (int)got_, \
                    (int)(expected));                                                          \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)
#define OK(call) IS(CUDA_SUCCESS, call)
#define TRUE(condition)                                                             \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

enum { n = 1000 };
static const char* cubins;
static CUcontext context;
static CUmodule module;
static CUfunction vecadd;
static float a[n], b[n], c[n];

static void load(const char* name, CUmodule* out) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s/sm_90.cubin", cubins, name);
    OK(cuModuleLoad(out, path));
}
static void begin(void) {
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    load("vecadd", &module);
    OK(cuModuleGetFunction(&vecadd, module, "vecadd"));
    for (int i = 0; i < n; ++i) {
        a[i] = (float)i;
        b[i] = 2.0f * (float)i;
    }
}
static int added(const float* sums) {
    for (int i = 0; i < n; ++i)
        if (sums[i] != 3.0f * (float)i) return 0;
    return 1;
}
static void launch(CUdeviceptr x, CUdeviceptr y, CUdeviceptr z, CUstream stream) {
    int count = n;
    void* parameters[] = {&x, &y, &z, &count};
    OK(cuLaunchKernel(vecadd, 4, 1, 1, 256, 1, 1, 0, stream, parameters, 0));
}
static CUdeviceptr on_device(const void* from, size_t bytes) {
    CUdeviceptr at = 0;
    OK(cuMemAlloc_v2(&at, bytes));
    if (from) OK(cuMemcpyHtoD_v2(at, from, bytes));
    return at;
}

static void devices(void) {
    int version = 0, count = 0, value = 0;
    CUdevice device = -1;
    const char* text = 0;
    void* found = 0;
    int status = 9;
    char name[64], bus[32];
    IS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    OK(cuDriverGetVersion(&version));
    TRUE(version >= 13000);
    IS(CUDA_ERROR_INVALID_VALUE, cuInit(1));
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    TRUE(count == 2);
    OK(cuDeviceGet(&device, 1));
    IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 2));
    OK(cuDeviceGetName(name, sizeof name, 1));
    TRUE(!strncmp(name, "A100", 4));
    OK(cuDeviceGetAttribute(&value, 75, 0));
    TRUE(value == 9);
    OK(cuDeviceGetAttribute(&value, 16, 1));
    TRUE(value == 108);
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, 1));
    OK(cuDeviceGetByPCIBusId(&device, bus));
    TRUE(device == 1);
    OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    TRUE(!strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    IS(CUDA_ERROR_INVALID_VALUE, cuGetErrorString((CUresult)12345, &text));
    OK(cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, &status));
    TRUE(found == (void*)cuMemAlloc_v2 && status == 0);
    OK(cuGetProcAddress_v2("cuMemcpyAsync", &found, 12000, 2, &status));
    TRUE(found == (void*)cuMemcpyAsync_ptsz);
    OK(cuGetProcAddress_v2("cuMemcpyAsync", &found, 6000, 2, &status));
    TRUE(found == (void*)cuMemcpyAsync);
    OK(cuGetProcAddress_v2("cuStreamBeginCapture", &found, 10000, 0, &status));
    TRUE(found == (void*)cuStreamBeginCapture);
    OK(cuGetProcAddress_v2("cuLaunchKernelEx", &found, 11000, 0, &status));
    TRUE(!found && status == 2);
    OK(cuGetProcAddress("cuGLGetDevices", &found, 13000, 0));
    TRUE(!found);
}

static void contexts(void) {
    CUcontext own = 0, popped = 0, now = 0;
    CUdevice device = -1;
    unsigned flags = 9;
    int active = 9;
    size_t limit = 0;
    OK(cuInit(0));
    OK(cuCtxGetCurrent(&now));
    TRUE(!now);
    IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&device));
    OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
    TRUE(!active);
    OK(cuDevicePrimaryCtxRetain(&context, 1));
    OK(cuCtxSetCurrent(context));
    OK(cuCtxCreate_v2(&own, 0, 0));
    OK(cuCtxGetDevice(&device));
    TRUE(device == 0);
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    OK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    TRUE(limit == 4096);
    OK(cuCtxPopCurrent_v2(&popped));
    TRUE(popped == own);
    OK(cuCtxGetDevice(&device));
    TRUE(device == 1);
    OK(cuCtxDestroy_v2(own));
    IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2(own));
    IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(context));
    OK(cuDevicePrimaryCtxRelease_v2(1));
    IS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
}

static void launches(void) {
    begin();
    const CUdeviceptr x = on_device(a, sizeof a), y = on_device(b, sizeof b),
                      z = on_device(0, sizeof c);
    launch(x, y, z, 0);
    OK(cuMemcpyDtoH_v2(c, z, sizeof c));
    TRUE(added(c));
    /* Parameters in one buffer, in a stream, by a library's kernel. */
    struct {
        CUdeviceptr x, y, z;
        int count;
    } buffer = {y, x, z, n};
    size_t bytes = 28;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CUstream stream;
    CUlibrary library;
    CUkernel kernel;
    char path[512];
    snprintf(path, sizeof path, "%s/vecadd/sm_90.cubin", cubins);
    OK(cuLibraryLoadFromFile(&library, path, 0, 0, 0, 0, 0, 0));
    OK(cuLibraryGetKernel(&kernel, library, "vecadd"));
    IS(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&kernel, library, "nothing"));
    OK(cuLibraryGetKernel(&kernel, library, "vecadd"));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemsetD32_v2(z, 7, n));
    OK(cuCtxSynchronize());
    CUlaunchConfig how = {4, 1, 1, 256, 1, 1, 0, stream, 0, 0};
    OK(cuLaunchKernelEx(&how, (CUfunction)kernel, 0, extra));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(c, z, sizeof c));
    TRUE(added(c));
    int value = 0;
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, vecadd));
    TRUE(value > 0 && value < 64);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, vecadd, 256, 0));
    TRUE(value == 8);
    int grid = 0, block = 0;
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, vecadd, 0, 0, 0));
    TRUE(block == 1024 && grid == 264);
    void* parameters[4] = {&buffer.x, &buffer.y, &buffer.z, &buffer.count};
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(vecadd, 0, 1, 1, 256, 1, 1, 0, 0, parameters, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(vecadd, 1, 1, 1, 2048, 1, 1, 0, 0, parameters, 0));
    IS(CUDA_ERROR_INVALID_VALUE,
       cuLaunchKernel(vecadd, 1, 1, 1, 32, 1, 1, 100000, 0, parameters, 0));
    IS(CUDA_ERROR_INVALID_HANDLE,
       cuLaunchKernel((CUfunction)stream, 1, 1, 1, 32, 1, 1, 0, 0, parameters, 0));
    IS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&vecadd, module, "vecsub"));
    /* A cooperative launch. */
    CUmodule grids;
    CUfunction grid_sync;
    load("grid_sync", &grids);
    OK(cuModuleGetFunction(&grid_sync, grids, "grid_sync"));
    int in[256], out[256], count = 256;
    for (int i = 0; i < 256; ++i) in[i] = i;
    CUdeviceptr from = on_device(in, sizeof in), part = on_device(0, 4 * 256),
                to = on_device(0, sizeof out);
    void* of_grid[] = {&from, &part, &to, &count};
    OK(cuLaunchCooperativeKernel(grid_sync, 4, 1, 1, 64, 1, 1, 0, 0, of_grid));
    OK(cuMemcpyDtoH_v2(out, to, sizeof out));
    for (int i = 0; i < 256; ++i) TRUE(out[255 - i] == (i ^ (255 * 128)));
    IS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
       cuLaunchCooperativeKernel(grid_sync, 100000, 1, 1, 64, 1, 1, 0, 0, of_grid));
    OK(cuStreamDestroy_v2(stream));
    OK(cuLibraryUnload(library));
    IS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernelEx(&how, (CUfunction)kernel, 0, extra));
    OK(cuModuleUnload(grids));
    IS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(grid_sync, 1, 1, 1, 64, 1, 1, 0, 0, of_grid, 0));
}

static void memory(void) {
    begin();
    CUdeviceptr pitched = 0, managed = 0, found = 0;
    size_t pitch = 0, bytes = 0;
    float *pinned = 0, *own = aligned_alloc(4096, 8192);
    OK(cuMemHostAlloc((void**)&pinned, sizeof a, 0));
    memcpy(pinned, a, sizeof a);
    memcpy(own, b, sizeof b);
    OK(cuMemHostRegister_v2(own, sizeof b, 0));
    IS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(own, sizeof b, 0));
    OK(cuMemAllocManaged(&managed, sizeof c, CU_MEM_ATTACH_GLOBAL));
    CUdeviceptr registered = 0;
    OK(cuMemHostGetDevicePointer_v2(&registered, own, 0));
    launch((CUdeviceptr)pinned, registered, managed, 0);
    OK(cuCtxSynchronize());
    TRUE(added((const float*)managed));
    unsigned type = 0, is_managed = 0;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)pinned));
    TRUE(type == CU_MEMORYTYPE_HOST);
    OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed + 8));
    TRUE(is_managed);
    IS(CUDA_ERROR_INVALID_VALUE,
       cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)a));
    OK(cuMemAllocPitch_v2(&pitched, &pitch, 40, 25, 4));
    TRUE(pitch >= 40 && pitch % 512 == 0);
    OK(cuMemGetAddressRange_v2(&found, &bytes, pitched + 50));
    TRUE(found == pitched && bytes == pitch * 25);
    OK(cuMemsetD2D16_v2(pitched, pitch, 0x1234, 20, 25));
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    unsigned short rows[25][24];
    memset(rows, 0, sizeof rows);
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = pitched;
    copy.srcPitch = pitch;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = rows;
    copy.dstPitch = sizeof rows[0];
    copy.WidthInBytes = 40;
    copy.Height = 25;
    OK(cuMemcpy2D_v2(&copy));
    for (int y = 0; y < 25; ++y)
        for (int x = 0; x < 24; ++x) TRUE(rows[y][x] == (x < 20 ? 0x1234 : 0));
    /* Slices of a box, there and back in a stream. */
    CUDA_MEMCPY3D box;
    memset(&box, 0, sizeof box);
    char volume[3][4][8], back[3][4][8];
    for (int i = 0; i < 96; ++i) ((char*)volume)[i] = (char)i;
    CUdeviceptr at = on_device(0, 4096);
    box.srcMemoryType = CU_MEMORYTYPE_HOST;
    box.srcHost = volume;
    box.srcPitch = 8;
    box.srcHeight = 4;
    box.srcXInBytes = 1;
    box.srcY = 1;
    box.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    box.dstDevice = at;
    box.dstPitch = 16;
    box.dstHeight = 5;
    box.WidthInBytes = 7;
    box.Height = 3;
    box.Depth = 3;
    OK(cuMemcpy3D_v2(&box));
    memset(back, 0, sizeof back);
    for (int z = 0; z < 3; ++z)
        for (int y = 0; y < 3; ++y)
            OK(cuMemcpyDtoH_v2(&back[z][y + 1][1], at + (CUdeviceptr)(z * 80 + y * 16), 7));
    for (int z = 0; z < 3; ++z)
        for (int y = 1; y < 4; ++y) TRUE(!memcmp(&back[z][y][1], &volume[z][y][1], 7));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(at, a, 4097 * 16));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpy(at, (CUdeviceptr)64, 8));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(at + 16));
    OK(cuMemFree_v2(at));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(at));
    IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&at, (size_t)1 << 45));
    OK(cuMemHostUnregister(own));
    IS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(own));
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree_v2(managed));
    /* In the order of a stream. */
    CUstream stream;
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemAllocAsync(&at, sizeof c, stream));
    OK(cuMemsetD32Async(at, 0x3f800000, n, stream));
    OK(cuMemcpyDtoHAsync_v2(c, at, sizeof c, stream));
    OK(cuMemFreeAsync(at, stream));
    OK(cuStreamSynchronize(stream));
    TRUE(c[0] == 1.0f && c[n - 1] == 1.0f);
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(c, at, sizeof c));
}

static int called;
static void host_function(void* user) { called += *(int*)user; }
static void stream_callback(CUstream stream, CUresult status, void* user) {
    (void)stream;
    if (status == CUDA_SUCCESS) called += *(int*)user;
}

static void streams(void) {
    begin();
    CUstream one, other;
    CUevent first, last, plain;
    int ten = 10, least = 9, greatest = 9, priority = 9;
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    OK(cuStreamCreateWithPriority(&one, CU_STREAM_NON_BLOCKING, -2));
    OK(cuStreamGetPriority(one, &priority));
    TRUE(priority == -2);
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&first, 0));
    OK(cuEventCreate(&last, 0));
    OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    const CUdeviceptr x = on_device(a, sizeof a), y = on_device(b, sizeof b),
                      z = on_device(0, sizeof c);
    const CUdeviceptr flag = on_device(0, 8);
    OK(cuMemsetD32_v2(flag, 0, 2));
    OK(cuCtxSynchronize());
    OK(cuStreamWaitValue32_v2(one, flag, 5, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuEventRecord(first, one));
    launch(x, y, z, one);
    OK(cuEventRecord(last, one));
    OK(cuLaunchHostFunc(one, host_function, &ten));
    IS(CUDA_ERROR_NOT_READY, cuStreamQuery(one));
    IS(CUDA_ERROR_NOT_READY, cuEventQuery(last));
    OK(cuStreamWaitEvent(other, last, 0));
    OK(cuStreamAddCallback(other, stream_callback, &ten, 0));
    OK(cuStreamWriteValue32_v2(0, flag, 6, 0));
    OK(cuStreamSynchronize(one));
    OK(cuStreamSynchronize(other));
    TRUE(called == 20);
    OK(cuStreamQuery(one));
    OK(cuEventQuery(last));
    float milliseconds = -1;
    OK(cuEventElapsedTime_v2(&milliseconds, first, last));
    TRUE(milliseconds > 0 && milliseconds < 1);
    IS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime_v2(&milliseconds, first, plain));
    OK(cuMemcpyDtoH_v2(c, z, sizeof c));
    TRUE(added(c));
    OK(cuEventDestroy_v2(first));
    IS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(first, one));
    /* The calling thread's own stream. */
    OK(cuMemsetD32Async_ptsz(z, 9, n, 0));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    OK(cuMemcpyDtoH_v2_ptds(c, z, 4));
    TRUE(*(int*)c == 9);
}

static void graphs(void) {
    begin();
    CUstream one, other;
    CUevent fork_, join;
    CUgraph graph, built;
    CUgraphExec exec;
    size_t count = 0;
    OK(cuStreamCreate(&one, 0));
    OK(cuStreamCreate(&other, 0));
    OK(cuEventCreate(&fork_, 0));
    OK(cuEventCreate(&join, 0));
    const CUdeviceptr x = on_device(0, sizeof a), y = on_device(0, sizeof b),
                      z = on_device(0, sizeof c);
    OK(cuStreamBeginCapture_v2(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemcpyHtoDAsync_v2(x, a, sizeof a, one));
    OK(cuEventRecord(fork_, one));
    OK(cuStreamWaitEvent(other, fork_, 0));
    OK(cuMemcpyHtoDAsync_v2(y, b, sizeof b, other));
    OK(cuEventRecord(join, other));
    OK(cuStreamWaitEvent(one, join, 0));
    launch(x, y, z, one);
    OK(cuMemcpyDtoHAsync_v2(c, z, sizeof c, one));
    int ten = 10;
    OK(cuLaunchHostFunc(one, host_function, &ten));
    IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(one));
    OK(cuStreamEndCapture(one, &graph));
    OK(cuGraphGetNodes(graph, 0, &count));
    TRUE(count == 5 && !called && c[1] == 0);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; ++i) OK(cuGraphLaunch(exec, one));
    OK(cuStreamSynchronize(one));
    TRUE(added(c) && called == 30);
    /* By hand, the launch put first and made to wait. */
    CUgraphNode kernel, fill, host, nodes[2];
    int length = n;
    void* parameters[] = {(void*)&x, (void*)&y, (void*)&z, &length};
    CUDA_KERNEL_NODE_PARAMS of_kernel = {vecadd, 4, 1, 1, 256, 1, 1, 0, parameters, 0, 0, 0};
    CUDA_MEMSET_NODE_PARAMS of_fill = {x, 0, 0, 4, n, 1};
    CUDA_HOST_NODE_PARAMS of_host = {host_function, &ten};
    OK(cuGraphCreate(&built, 0));
    OK(cuGraphAddKernelNode_v2(&kernel, built, 0, 0, &of_kernel));
    OK(cuGraphAddMemsetNode(&fill, built, 0, 0, &of_fill, context));
    OK(cuGraphAddHostNode(&host, built, &kernel, 1, &of_host));
    OK(cuGraphAddDependencies(built, &fill, &kernel, 1));
    count = 2;
    OK(cuGraphGetRootNodes(built, nodes, &count));
    TRUE(count == 1 && nodes[0] == fill);
    CUgraphExec other_exec;
    OK(cuGraphInstantiateWithFlags(&other_exec, built, 0));
    OK(cuGraphLaunch(other_exec, one));
    OK(cuStreamSynchronize(one));
    OK(cuMemcpyDtoH_v2(c, z, sizeof c));
    TRUE(c[7] == 14.0f && called == 40);
    of_fill.value = 0x3f800000;
    OK(cuGraphExecMemsetNodeSetParams(other_exec, fill, &of_fill, context));
    OK(cuGraphLaunch(other_exec, one));
    OK(cuStreamSynchronize(one));
    OK(cuMemcpyDtoH_v2(c, z, sizeof c));
    TRUE(c[7] == 15.0f);
    OK(cuGraphAddDependencies(built, &host, &fill, 1));
    CUgraphExec round;
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&round, built, 0));
    CUgraphExecUpdateResultInfo info;
    IS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, built, &info));
    OK(cuGraphExecDestroy(exec));
    IS(CUDA_ERROR_INVALID_HANDLE, cuGraphLaunch(exec, one));
    OK(cuGraphDestroy(graph));
}

static void faults(void) {
    begin();
    CUmodule wild;
    CUfunction fault;
    load("fault_wild", &wild);
    OK(cuModuleGetFunction(&fault, wild, "fault_wild"));
    CUdeviceptr good = on_device(0, 4096), bad = 0x1000000;
    void* parameters[] = {&good, &bad};
    const int saved = dup(2), file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    dup2(file, 2);
    OK(cuLaunchKernel(fault, 1, 1, 1, 32, 1, 1, 0, 0, parameters, 0));
    const CUresult first = cuCtxSynchronize();
    const CUresult then = cuMemAlloc_v2(&good, 16), again = cuCtxSynchronize();
    dup2(saved, 2);
    char text[8192] = "";
    const ssize_t length = pread(file, text, sizeof text - 1, 0);
    TRUE(length > 0);
    TRUE(first == CUDA_ERROR_ILLEGAL_ADDRESS && then == first && again == first);
    const char* report = strstr(text, "fault_wild");
    TRUE(report && strstr(text, "fault_wild.cu:3"));
    OK(cuDevicePrimaryCtxReset_v2(0));
    IS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    /* A fresh context works. */
    begin();
    launches();
}

static void deadlock(void) {
    begin();
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    const CUdeviceptr flag = on_device(0, 8);
    OK(cuStreamWaitValue32_v2(stream, flag, 5, CU_STREAM_WAIT_VALUE_EQ));
    IS(CUDA_ERROR_LAUNCH_TIMEOUT, cuStreamSynchronize(stream));
    IS(CUDA_ERROR_LAUNCH_TIMEOUT, cuCtxSynchronize());
}

static void forks(void) {
    int count = 0, status = 1;
    pid_t child = fork();
    if (!child) _exit(cuInit(0) || cuDeviceGetCount(&count) || !count);
    TRUE(waitpid(child, &status, 0) == child && !status);
    begin();
    child = fork();
    if (!child)
        _exit(cuDeviceGetCount(&count) != CUDA_ERROR_NOT_INITIALIZED ||
              cuInit(0) != CUDA_ERROR_NOT_INITIALIZED);
    TRUE(waitpid(child, &status, 0) == child && !status);
}

static void arrays(void) {
    begin();
    CUDA_ARRAY3D_DESCRIPTOR of = {16, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0}, asked;
    CUarray array, level;
    CUmipmappedArray levels;
    OK(cuArray3DCreate_v2(&array, &of));
    OK(cuArray3DGetDescriptor_v2(&asked, array));
    TRUE(asked.Width == 16 && asked.Height == 8);
    float texels[8][16], back[8][16];
    for (int i = 0; i < 128; ++i) ((float*)texels)[i] = (float)i;
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = texels;
    copy.srcPitch = 64;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.WidthInBytes = 64;
    copy.Height = 8;
    OK(cuMemcpy2D_v2(&copy));
    OK(cuMemcpyAtoH_v2(back, array, 0, sizeof back));
    TRUE(!memcmp(texels, back, sizeof back));
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC how;
    memset(&resource, 0, sizeof resource);
    memset(&how, 0, sizeof how);
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    how.addressMode[0] = how.addressMode[1] = 1;
    CUtexObject texture = 0;
    CUsurfObject surface = 0;
    OK(cuTexObjectCreate(&texture, &resource, &how, 0));
    OK(cuSurfObjectCreate(&surface, &resource));
    OK(cuTexObjectDestroy(texture));
    IS(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(texture));
    OK(cuSurfObjectDestroy(surface));
    /* A row read by a kernel. */
    CUmodule textures;
    CUfunction line;
    load("texture", &textures);
    OK(cuModuleGetFunction(&line, textures, "texture_1d"));
    CUDA_ARRAY_DESCRIPTOR row = {64, 0, CU_AD_FORMAT_FLOAT, 1};
    CUarray one;
    OK(cuArrayCreate_v2(&one, &row));
    OK(cuMemcpyHtoA_v2(one, 0, texels, 256));
    resource.res.array.hArray = one;
    OK(cuTexObjectCreate(&texture, &resource, &how, 0));
    CUdeviceptr out = on_device(0, 400);
    int count = 100;
    float read[100];
    void* parameters[] = {&texture, &out, &count};
    OK(cuLaunchKernel(line, 1, 1, 1, 128, 1, 1, 0, 0, parameters, 0));
    OK(cuMemcpyDtoH_v2(read, out, sizeof read));
    for (int i = 0; i < 100; ++i) {
        const float at = (float)i * 0.75f - 10.0f;
        TRUE(read[i] == (at < 0 ? 0.0f : at > 63 ? 63.0f : (float)(int)at));
    }
    of.Depth = 0;
    OK(cuMipmappedArrayCreate(&levels, &of, 3));
    OK(cuMipmappedArrayGetLevel(&level, levels, 2));
    OK(cuArray3DGetDescriptor_v2(&asked, level));
    TRUE(asked.Width == 4 && asked.Height == 2);
    OK(cuMipmappedArrayDestroy(levels));
    IS(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(level));
    /* A tensor map as the plan's tests know it: a fault is an error code. */
    CUtensorMap map;
    const unsigned long long size[2] = {64, 32}, stride[1] = {256};
    const unsigned tile[2] = {16, 8}, step[2] = {1, 1}, wide[2] = {300, 8};
    CUdeviceptr tensor = on_device(0, 8192);
    OK(cuTensorMapEncodeTiled(&map, 7, 2, (void*)tensor, size, stride, tile, step, 0, 0, 0, 0));
    TRUE(map.opaque[0] == tensor);
    IS(CUDA_ERROR_INVALID_VALUE,
       cuTensorMapEncodeTiled(&map, 7, 2, (void*)tensor, size, stride, wide, step, 0, 0, 0, 0));
}

int main(int count, char** words) {
    static const struct {
        const char* name;
        void (*run)(void);
    } groups[] = {{"devices", devices}, {"contexts", contexts}, {"launches", launches},
                  {"memory", memory},   {"streams", streams},   {"graphs", graphs},
                  {"faults", faults},   {"deadlock", deadlock}, {"forks", forks},
                  {"arrays", arrays}};
    if (count < 3) return 2;
    cubins = words[2];
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; ++i) {
        if (strcmp(words[1], groups[i].name)) continue;
        groups[i].run();
        return 0;
    }
    return 2;
}
