// Several kernels and functions in one cubin, with tables, divisions and calls: the numbering of labels.
__device__ __noinline__ int count(int a) {
    for (int i = 0; i < a; i++)
        if (a % 3 == i) return i * a;
    return a;
}
__device__ __noinline__ int choose(int a) {
    switch (a) {
        case 0: return count(a);
        case 1: return 7 * a;
        case 2: return a * a;
        case 3: return a / 7;
        case 4: return a % 11;
        case 5: return count(a + 1) + 1;
        case 6: return a ^ 5;
        default: return 0;
    }
}
extern "C" __global__ void calls(int* p) { p[threadIdx.x] = count(p[0]) + choose(p[1]); }
extern "C" __global__ void floats(float* p) {
    p[threadIdx.x] = p[0] / p[1] + sqrtf(p[2]);
    while (p[3] < 1) p[3] += p[1];
}
extern "C" __global__ void doubles(double* p, int* q) {
    p[threadIdx.x] = p[0] / p[1];
    switch (q[0]) {  // two entries of the table are the same target
        case 0: q[1] = 3;
        case 1: q[2] = 7; break;
        case 2: q[3] = 1; break;
        case 3: q[5] = __shfl_xor_sync(q[9], 3, 4); break;
        case 4: atomicAdd(q + 6, 2); break;
    }
    q[7] = choose(q[8]);
}
extern "C" __global__ void pointers(int* p) {
    typedef int (*function)(int);
    function t[2] = {count, choose};
    p[1] = t[p[0] & 1](p[2]);
}
