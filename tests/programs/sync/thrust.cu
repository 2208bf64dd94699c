// SPDX-License-Identifier: Apache-2.0
// Programs over Thrust: host programs, whose launches a stand-in for the CUDA runtime writes down (recorder.cpp) for plans.
// Built by programs.py from the headers of a CUDA toolkit; neither those nor what is built is kept.
//     thrust PROGRAM     with 10,007 words at `in`, room for as many results at `out`, and for what is changed in place at `data`
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#include <cstdint>
#include <cstring>

extern "C" void* recorder_buffer(const char* name);

using Words = thrust::device_ptr<uint32_t>;

struct Odd {
    __host__ __device__ bool operator()(uint32_t v) const { return v & 1; }
};
struct Triple {
    __host__ __device__ uint32_t operator()(uint32_t v) const { return 3 * v + 1; }
};
struct ByLowBits {  // not a radix sort's order
    __host__ __device__ bool operator()(uint32_t a, uint32_t b) const { return (a & 1023) < (b & 1023); }
};
struct SameHundred {
    __host__ __device__ bool operator()(uint32_t a, uint32_t b) const { return a / 16384 == b / 16384; }
};

int main(int, char** argv) {
    const auto is = [&](const char* name) { return !std::strcmp(argv[1], name); };
    const auto words = [](const char* name) { return Words(static_cast<uint32_t*>(recorder_buffer(name))); };
    const Words in = words("in"), data = words("data"), out = words("out");
    constexpr int n = 10000;
    const auto& on = thrust::device;
    if (is("thrust_reduce")) thrust::reduce(on, in, in + n);
    if (is("thrust_transform_reduce")) thrust::transform_reduce(on, in, in + n, Triple{}, 0u, thrust::plus<uint32_t>{});
    if (is("thrust_adjacent_difference")) thrust::adjacent_difference(on, in, in + n, out);
    if (is("thrust_scan")) thrust::inclusive_scan(on, in, in + n, out);
    if (is("thrust_scan_by_key")) thrust::exclusive_scan_by_key(on, in, in + n, in, out, 7u, SameHundred{});
    if (is("thrust_sort")) {
        thrust::copy(on, in, in + n, out);
        thrust::sort(on, out, out + n);
    }
    if (is("thrust_sort_by_key")) {
        thrust::copy(on, in, in + n, data);
        thrust::copy(on, in, in + n, out);
        thrust::stable_sort_by_key(on, data, data + n, out, ByLowBits{});
    }
    if (is("thrust_unique")) {
        thrust::copy(on, in, in + n, data);
        thrust::unique_copy(on, data, data + n, out, SameHundred{});
    }
    if (is("thrust_unique_by_key")) thrust::unique_by_key_copy(on, in, in + n, in + 7, data, out, SameHundred{});
    if (is("thrust_copy_if")) thrust::copy_if(on, in, in + n, out, Odd{});
    if (is("thrust_partition")) thrust::stable_partition_copy(on, in, in + n, out, out + 6000, Odd{});
    if (is("thrust_reduce_by_key")) thrust::reduce_by_key(on, in, in + n, in, data, out, SameHundred{});
    // Of two sorted halves, as the plan has them at `data`:
    if (is("thrust_merge")) thrust::merge(on, data, data + n / 2, data + n / 2, data + n, out);
    if (is("thrust_set_union")) thrust::set_union(on, data, data + n / 2, data + n / 2, data + n, out);
    if (is("thrust_set_intersection")) thrust::set_intersection(on, data, data + n / 2, data + n / 2, data + n, out);
    if (is("thrust_lower_bound")) thrust::lower_bound(on, data, data + n / 2, in, in + n, out);
}
