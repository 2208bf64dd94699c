// SPDX-License-Identifier: Apache-2.0
// Thrust and CUB: sorting, scanning, reducing, selecting, merging, sets, of elements of a TYPE.
#include <cub/cub.cuh>
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/device_vector.h>
#include <thrust/gather.h>
#include <thrust/inner_product.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#include "check.hpp"

template <class T>
struct Odd {
    __host__ __device__ bool operator()(T x) const { return static_cast<long long>(x) & 1; }
};

template <class T>
void all(size_t n) {
    const auto host = numbers<T>(n, 7), second = numbers<T>(n, 8);
    thrust::device_vector<T> a = host, b = second, c(2 * n);
    thrust::device_vector<int> keys(n), index(n);
    thrust::sequence(index.begin(), index.end());
    thrust::transform(a.begin(), a.end(), keys.begin(), [] __device__(T x) { return static_cast<int>(x) & 15; });
    thrust::sort(a.begin(), a.end());
    thrust::stable_sort(b.begin(), b.end(), thrust::greater<T>());
    thrust::sort_by_key(keys.begin(), keys.end(), index.begin());
    thrust::sort(b.begin(), b.end());
    thrust::merge(a.begin(), a.end(), b.begin(), b.end(), c.begin());
    thrust::set_union(a.begin(), a.end(), b.begin(), b.end(), c.begin());
    thrust::set_intersection(a.begin(), a.end(), b.begin(), b.end(), c.begin());
    thrust::set_difference(a.begin(), a.end(), b.begin(), b.end(), c.begin());
    thrust::inclusive_scan(a.begin(), a.end(), c.begin());
    thrust::exclusive_scan(a.begin(), a.end(), c.begin(), T(1), thrust::maximum<T>());
    thrust::inclusive_scan_by_key(keys.begin(), keys.end(), a.begin(), c.begin());
    thrust::reduce_by_key(keys.begin(), keys.end(), a.begin(), index.begin(), c.begin());
    (void)thrust::reduce(a.begin(), a.end(), T(0), thrust::maximum<T>());
    (void)thrust::inner_product(a.begin(), a.end(), b.begin(), T(0));
    (void)thrust::max_element(a.begin(), a.end());
    (void)thrust::minmax_element(a.begin(), a.end());
    (void)thrust::count_if(a.begin(), a.end(), Odd<T>());
    thrust::adjacent_difference(a.begin(), a.end(), c.begin());
    thrust::partition(b.begin(), b.end(), Odd<T>());
    thrust::stable_partition(b.begin(), b.end(), Odd<T>());
    thrust::copy_if(a.begin(), a.end(), c.begin(), Odd<T>());
    thrust::remove_if(b.begin(), b.end(), Odd<T>());
    thrust::unique(a.begin(), a.end());
    thrust::lower_bound(a.begin(), a.end(), b.begin(), b.end(), index.begin());
    thrust::gather(index.begin(), index.begin() + 5, a.begin(), c.begin());

    void* work;
    size_t bytes = 32 << 20;
    CHECK(cudaMalloc(&work, bytes));
    T *in = thrust::raw_pointer_cast(a.data()), *out = thrust::raw_pointer_cast(c.data());
    int *k = thrust::raw_pointer_cast(keys.data()), *i = thrust::raw_pointer_cast(index.data());
    const int count = static_cast<int>(n);
    CHECK(cub::DeviceRadixSort::SortPairsDescending(work, bytes, in, out, i, k, count));
    std::vector<int> offsets{0, count / 5, count / 5, count / 2, count};
    thrust::device_vector<int> segments = offsets;
    int* s = thrust::raw_pointer_cast(segments.data());
    CHECK(cub::DeviceSegmentedReduce::Sum(work, bytes, in, out, 4, s, s + 1));
    CHECK(cub::DeviceSegmentedReduce::ArgMin(work, bytes, in, reinterpret_cast<cub::KeyValuePair<int, T>*>(out), 4, s, s + 1));
    CHECK(cub::DeviceSegmentedSort::SortKeys(work, bytes, in, out, count, 4, s, s + 1));
    CHECK(cub::DeviceSegmentedRadixSort::SortKeys(work, bytes, in, out, count, 4, s, s + 1));
    CHECK(cub::DeviceRunLengthEncode::Encode(work, bytes, k, i, k + count / 2, i + count - 1, count / 2));
    CHECK(cub::DeviceHistogram::HistogramEven(work, bytes, in, i, 17, T(0), T(100), count));
    CHECK(cub::DeviceSelect::Unique(work, bytes, in, out, i, count));
    CHECK(cub::DeviceMergeSort::SortKeys(work, bytes, in, count, thrust::less<T>()));
    CHECK(cub::DeviceReduce::ArgMax(work, bytes, in, out, i, count));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(work));
}

int main() {
    for (const size_t n : {100, 5000}) {
        all<TYPE>(n);
    }
}
