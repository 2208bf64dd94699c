// Loader test data: line tables with inlined frames, printf and a local device function.
// module_test.cpp knows these line numbers.
extern "C" __device__ int printf(const char*, ...);
__device__ __forceinline__ float inner(float x) {
    asm("cos.approx.f32 %0, %0;" : "+f"(x)); return x + 2.0f;
}
__device__ __forceinline__ float outer(float x) {
    const float y = inner(x * 3.0f);
    return y - 1.0f;
}
__device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
extern "C" __global__ void lines(float* out, int n) {
    const float value = outer(out[threadIdx.x]);
    out[threadIdx.x] = value;
    if (n == 12345) printf("value %d\n", factorial(n));
}
