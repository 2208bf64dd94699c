// SPDX-License-Identifier: Apache-2.0
// What the programs here share: errors, numbers, memory.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

#define CHECK(call)                                                        \
    if (const auto failure = (call); static_cast<int>(failure)) {          \
        std::fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, \
                     static_cast<int>(failure));                           \
        if (cudaPeekAtLastError() != cudaSuccess) std::exit(1);            \
    }

template <class T>
std::vector<T> numbers(size_t count, uint32_t seed) {
    std::vector<T> v(count);
    for (T& x : v) {
        seed = seed * 1664525 + 1013904223;
        if constexpr (std::is_integral_v<T>)
            x = static_cast<T>(seed >> 8 * (4 - std::min<size_t>(sizeof(T), 4)));
        else
            x = static_cast<T>(static_cast<float>(static_cast<int32_t>(seed) >> 8) / (1 << 21));
    }
    return v;
}
template <class T>
T* device(size_t count, uint32_t seed = 1) {
    const auto values = numbers<T>(count, seed);
    T* p = nullptr;
    CHECK(cudaMalloc(&p, count * sizeof(T)));
    CHECK(cudaMemcpy(p, values.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}
