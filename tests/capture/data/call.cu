// SPDX-License-Identifier: Apache-2.0
// Functions by addresses in memory: a table, virtual functions, one that another kernel stored. See capture_test.cpp; made by
// ./rebuild, linked by nvlink: then such addresses are whole ones.
#include <new>

using Function = unsigned (*)(unsigned);
__device__ __noinline__ unsigned twice(unsigned x) { return 2 * x; }
__device__ __noinline__ unsigned square(unsigned x) { return x * x; }
__device__ Function table[2] = {square, twice};

struct Base {
    unsigned k;
    __device__ virtual unsigned f(unsigned x) const { return x + k; }
};
struct Derived : Base {
    __device__ unsigned f(unsigned x) const override { return x ^ k; }
};

extern "C" __global__ void make(Base* objects, Function* stored) {
    new (static_cast<void*>(objects)) Base;
    new (static_cast<void*>(objects + 1)) Derived;
    objects[0].k = 5;
    objects[1].k = 9;
    *stored = objects[0].k == 5 ? twice : square;
}
extern "C" __global__ void call(const Base* objects, const Function* stored, unsigned* out) {
    const unsigned i = threadIdx.x;
    out[i] = objects[i & 1].f(i) + 1000 * table[i >> 1 & 1](i) + 1000000 * (*stored)(i);
}
