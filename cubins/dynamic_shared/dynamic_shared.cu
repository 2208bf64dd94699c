// Dynamic shared memory, carved into arrays of several types beside a static array; more than 48 KiB of it in the second kernel.
extern __shared__ __align__(16) unsigned char pool[];

extern "C" __global__ void dynamic_shared(const int* in, double* out, int n) {
    __shared__ int fixed[32];
    double* d = reinterpret_cast<double*>(pool);
    int* w = reinterpret_cast<int*>(d + n);
    short* h = reinterpret_cast<short*>(w + n);
    const int t = threadIdx.x, base = blockIdx.x * n;
    if (t < 32) fixed[t] = t * t;
    for (int i = t; i < n; i += blockDim.x) {
        w[i] = in[base + i];
        h[n - 1 - i] = static_cast<short>(in[base + i]);
    }
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) d[i] = static_cast<double>(w[(i + 1) % n]) * 0.5 + h[i] + fixed[i & 31];
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) out[base + i] = d[(i * 5) % n];
    unsigned size;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
    if (t == 0) out[gridDim.x * n + blockIdx.x] = size;
}

extern "C" __global__ void large_shared(unsigned* out, int words) {
    unsigned* w = reinterpret_cast<unsigned*>(pool);
    for (int i = threadIdx.x; i < words; i += blockDim.x) w[i] = i * 2654435761u;
    __syncthreads();
    unsigned sum = 0;
    for (int i = threadIdx.x; i < words; i += blockDim.x) sum += w[words - 1 - i] ^ i;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
