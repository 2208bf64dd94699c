// Benchmark: shared memory. Every warp moves words, pairs and quads within its own kilobytes, read in one order and written in
// another, so that nearly all instructions are LDS and STS. Most accesses are free of bank conflicts; one group in four strides.
extern "C" __global__ void __launch_bounds__(256) shared(unsigned* out, int turns) {
    __shared__ __align__(16) unsigned pool[8][1280];
    unsigned* mine = pool[threadIdx.x >> 5];
    const unsigned lane = threadIdx.x & 31u;
    for (unsigned i = lane; i < 1280; i += 32) mine[i] = i * 2654435761u + blockIdx.x * 977u + (threadIdx.x >> 5);
    __syncwarp();
    unsigned *const forward = mine + lane, *const backward = mine + (31u - lane), *const strided = mine + 4u * lane;
    uint2* const pairs = reinterpret_cast<uint2*>(mine + 512) + lane;
    uint4* const quads = reinterpret_cast<uint4*>(mine + 768) + lane;
    uint4* const quads_back = reinterpret_cast<uint4*>(mine + 768) + (31u - lane);
#pragma unroll 1
    for (int t = 0; t < turns; ++t) {
        unsigned w[12];
#pragma unroll
        for (int k = 0; k < 12; ++k) w[k] = backward[32 * k];
        __syncwarp();
#pragma unroll
        for (int k = 0; k < 12; ++k) forward[32 * ((k + 5) % 12)] = w[k];
        __syncwarp();
#pragma unroll
        for (int k = 0; k < 4; ++k) w[k] = strided[k];
        __syncwarp();
#pragma unroll
        for (int k = 0; k < 4; ++k) strided[(k + 1) & 3] = w[k];
        __syncwarp();
        const uint2 p0 = pairs[0], p1 = pairs[32], p2 = pairs[64], p3 = pairs[96];
        const uint4 q0 = quads[0], q1 = quads[32], q2 = quads[64], q3 = quads[96];
        __syncwarp();
        pairs[32] = p0;
        pairs[64] = p1;
        pairs[96] = p2;
        pairs[0] = p3;
        quads_back[96] = q0;
        quads_back[0] = q1;
        quads_back[32] = q2;
        quads_back[64] = q3;
        __syncwarp();
    }
    unsigned sum = 0;
    for (unsigned i = lane; i < 1280; i += 32) sum = sum * 31u + mine[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
