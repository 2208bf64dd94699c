// SPDX-License-Identifier: Apache-2.0
// Functions by their addresses: virtual ones of objects that one kernel makes and another uses, tables, pointers that a kernel stores. Built
// with -rdc=true these are whole addresses, and otherwise numbers.
#include <new>

#include "check.hpp"

struct Shape {
    float size;
    __device__ virtual float area() const = 0;
    __device__ virtual float scaled(float k) const { return area() * k; }
};
struct Square : Shape {
    __device__ float area() const override { return size * size; }
};
struct Disc : Shape {
    __device__ float area() const override { return size * size * 3.14159265f; }
    __device__ float scaled(float k) const override { return area() * k * k; }
};
struct Ring : Disc {
    float hole;
    __device__ float area() const override { return Disc::area() - hole * hole * 3.14159265f; }
};

using Function = float (*)(float);
__device__ __noinline__ float half(float x) { return x * 0.5f; }
__device__ __noinline__ float root(float x) { return sqrtf(x); }
__device__ __noinline__ float wave(float x) { return __sinf(x); }
__device__ Function table[3] = {half, root, wave};
__constant__ Function fixed[2] = {wave, half};

__global__ void make(Ring* memory, Shape** shapes, Function* chosen, int n) {
    const int i = threadIdx.x;
    if (i >= n) return;
    if (i % 3 == 0)
        shapes[i] = new (memory + i) Square;
    else if (i % 3 == 1)
        shapes[i] = new (memory + i) Disc;
    else
        shapes[i] = new (memory + i) Ring;
    shapes[i]->size = 1 + i * 0.25f;
    if (i % 3 == 2) memory[i].hole = i * 0.125f;
    chosen[i] = i % 5 == 0 ? half : i % 5 == 1 ? root : table[i % 3];
}
__global__ void use(Shape* const* shapes, const Function* chosen, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] = shapes[i]->scaled(1.5f) + table[i % 3](shapes[n - 1 - i]->area()) + chosen[i](i) + fixed[i & 1](i);
}

int main() {
    constexpr int n = 96;
    Ring* memory;
    Shape** shapes;
    Function* chosen;
    CHECK(cudaMalloc(&memory, n * sizeof(Ring)));
    CHECK(cudaMalloc(&shapes, n * sizeof(Shape*)));
    CHECK(cudaMalloc(&chosen, n * sizeof(Function)));
    float* out = device<float>(n);
    make<<<1, 128>>>(memory, shapes, chosen, n);
    for (int i = 0; i < 3; ++i) use<<<1, 128>>>(shapes, chosen, out, n - i);
    CHECK(cudaDeviceSynchronize());
}
