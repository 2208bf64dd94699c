// SPDX-License-Identifier: Apache-2.0
// Programs over CUB, small: one kernel each (or a chain of them), with the blocks, warps and look-back of the library inside.
// Built by programs.py from the headers of a CUDA toolkit; neither those nor what is built is kept. A kernel gets its input, a
// scratch buffer of zeros and its results.
#include <cub/block/block_shuffle.cuh>
#include <cub/cub.cuh>

#include <cuda/std/functional>

#include <cstdint>

#define PROGRAM(name) extern "C" __global__ void __launch_bounds__(128) name(const uint32_t* in, uint32_t* data, uint32_t* out)
constexpr int threads = 64, items = 4;

template <cub::BlockScanAlgorithm algorithm>
__device__ void scan_block(const uint32_t* in, uint32_t* out) {
    using Scan = cub::BlockScan<uint32_t, threads, algorithm>;
    __shared__ typename Scan::TempStorage room;
    for (int turn = 0; turn < 2; ++turn) {
        uint32_t v = in[turn * threads + threadIdx.x], all;
        Scan(room).InclusiveSum(v, v, all);
        out[turn * threads + threadIdx.x] = v + all;
        __syncthreads();
    }
}
PROGRAM(block_scan_raking) { scan_block<cub::BLOCK_SCAN_RAKING>(in, out); }
PROGRAM(block_scan_memoize) { scan_block<cub::BLOCK_SCAN_RAKING_MEMOIZE>(in, out); }
PROGRAM(block_scan_warps) { scan_block<cub::BLOCK_SCAN_WARP_SCANS>(in, out); }

template <cub::BlockReduceAlgorithm algorithm>
__device__ void reduce_block(const uint32_t* in, uint32_t* out) {
    using Reduce = cub::BlockReduce<uint32_t, threads, algorithm>;
    __shared__ typename Reduce::TempStorage room;
    for (int turn = 0; turn < 2; ++turn) {
        const uint32_t all = Reduce(room).Sum(in[turn * threads + threadIdx.x]);
        if (threadIdx.x == 0) out[turn] = all;
        __syncthreads();
    }
}
PROGRAM(block_reduce_raking) { reduce_block<cub::BLOCK_REDUCE_RAKING>(in, out); }
PROGRAM(block_reduce_commutative) { reduce_block<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(in, out); }
PROGRAM(block_reduce_warps) { reduce_block<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(in, out); }

template <class Load, class Store, class Between>
__device__ void striped(const uint32_t* in, uint32_t* out, Between between) {
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } room;
    uint32_t v[items];
    Load(room.load).Load(in, v);
    __syncthreads();
    between(v);
    Store(room.store).Store(out, v);
}
PROGRAM(block_load_transpose) {
    striped<cub::BlockLoad<uint32_t, threads, items, cub::BLOCK_LOAD_TRANSPOSE>, cub::BlockStore<uint32_t, threads, items, cub::BLOCK_STORE_TRANSPOSE>>(
        in, out, [](uint32_t(&v)[items]) { for (uint32_t& x : v) x += threadIdx.x; });
}
PROGRAM(block_load_warps) {
    striped<cub::BlockLoad<uint32_t, threads, items, cub::BLOCK_LOAD_WARP_TRANSPOSE>,
            cub::BlockStore<uint32_t, threads, items, cub::BLOCK_STORE_WARP_TRANSPOSE>>(
        in, out, [](uint32_t(&v)[items]) { for (uint32_t& x : v) x += threadIdx.x; });
}
PROGRAM(block_exchange) {
    using Exchange = cub::BlockExchange<uint32_t, threads, items>;
    __shared__ typename Exchange::TempStorage room;
    uint32_t v[items];
    for (int i = 0; i < items; ++i) v[i] = in[i * threads + threadIdx.x];
    Exchange(room).StripedToBlocked(v, v);
    for (int i = 0; i < items; ++i) out[threadIdx.x * items + i] = v[i];
}
PROGRAM(block_radix_sort) {
    using Sort = cub::BlockRadixSort<uint32_t, threads, items, uint32_t>;
    __shared__ typename Sort::TempStorage room;
    uint32_t k[items], v[items];
    for (int i = 0; i < items; ++i) k[i] = in[threadIdx.x * items + i], v[i] = threadIdx.x * items + i;
    Sort(room).Sort(k, v, 0, 17);
    for (int i = 0; i < items; ++i) out[threadIdx.x * items + i] = k[i] * 3 + v[i];
}
PROGRAM(block_radix_rank) {
    using Rank = cub::BlockRadixRankMatch<threads, 4, false>;
    __shared__ typename Rank::TempStorage room;
    uint32_t k[items];
    int ranks[items];
    const uint32_t first = threadIdx.x / 32 * 32 * items + threadIdx.x % 32;
    for (int i = 0; i < items; ++i) k[i] = in[first + i * 32];
    Rank(room).RankKeys(k, ranks, cub::BFEDigitExtractor<uint32_t>(0, 4));
    for (int i = 0; i < items; ++i) out[ranks[i]] = k[i];
}
struct Less {
    __device__ bool operator()(uint32_t a, uint32_t b) const { return a < b; }
};
PROGRAM(block_merge_sort) {
    using Sort = cub::BlockMergeSort<uint32_t, threads, items>;
    __shared__ typename Sort::TempStorage room;
    uint32_t k[items];
    for (int i = 0; i < items; ++i) k[i] = in[threadIdx.x * items + i];
    Sort(room).Sort(k, Less());
    for (int i = 0; i < items; ++i) out[threadIdx.x * items + i] = k[i];
}
template <cub::BlockHistogramAlgorithm algorithm>
__device__ void histogram(const uint32_t* in, uint32_t* out) {
    using Histogram = cub::BlockHistogram<uint8_t, threads, items, 32, algorithm>;
    __shared__ typename Histogram::TempStorage room;
    __shared__ uint32_t bins[32];
    uint8_t v[items];
    for (int i = 0; i < items; ++i) v[i] = in[threadIdx.x * items + i] % 32;
    Histogram(room).Histogram(v, bins);
    __syncthreads();
    if (threadIdx.x < 32) out[threadIdx.x] = bins[threadIdx.x];
}
PROGRAM(block_histogram_sort) { histogram<cub::BLOCK_HISTO_SORT>(in, out); }
PROGRAM(block_histogram_atomic) { histogram<cub::BLOCK_HISTO_ATOMIC>(in, out); }
PROGRAM(block_discontinuity) {
    using Heads = cub::BlockDiscontinuity<uint32_t, threads>;
    __shared__ typename Heads::TempStorage room;
    uint32_t v[1] = {in[threadIdx.x] & 1};
    int heads[1];
    Heads(room).FlagHeads(heads, v, cuda::std::not_equal_to<>());
    out[threadIdx.x] = heads[0];
}
struct Minus {
    __device__ uint32_t operator()(uint32_t a, uint32_t b) const { return a - b; }
};
PROGRAM(block_adjacent_difference) {
    using Difference = cub::BlockAdjacentDifference<uint32_t, threads>;
    __shared__ typename Difference::TempStorage room;
    uint32_t v[1] = {in[threadIdx.x]}, d[1];
    Difference(room).SubtractLeft(v, d, Minus());
    out[threadIdx.x] = d[0];
}
PROGRAM(block_shuffle) {
    using Shuffle = cub::BlockShuffle<uint32_t, threads>;
    __shared__ typename Shuffle::TempStorage room;
    uint32_t v = 0;
    Shuffle(room).Rotate(in[threadIdx.x], v, 5);
    out[threadIdx.x] = v;
}
PROGRAM(warp_scan) {
    using Scan = cub::WarpScan<uint32_t, 16>;
    __shared__ typename Scan::TempStorage room[threads / 16];
    uint32_t v = in[threadIdx.x];
    Scan(room[threadIdx.x / 16]).InclusiveSum(v, v);
    out[threadIdx.x] = v;
}
struct Pair {  // not a power of two: through shared memory
    uint32_t a, b, c;
};
struct Add {
    __device__ Pair operator()(const Pair& x, const Pair& y) const { return {x.a + y.a, x.b + y.b, x.c + y.c}; }
};
PROGRAM(warp_scan_odd) {
    using Scan = cub::WarpScan<Pair, 11>;
    __shared__ typename Scan::TempStorage room[4];
    const int lane = threadIdx.x % 32, i = threadIdx.x / 32 * 22 + lane;
    if (lane >= 22) return;
    Pair p{in[i], 1, in[i] * 3};
    Scan(room[i / 11]).InclusiveScan(p, p, Add());
    out[i] = p.a + p.b + p.c;
}
PROGRAM(warp_reduce_odd) {
    using Reduce = cub::WarpReduce<uint32_t, 11>;
    __shared__ typename Reduce::TempStorage room[4];
    const int lane = threadIdx.x % 32, i = threadIdx.x / 32 * 22 + lane;
    if (lane >= 22) return;
    const uint32_t all = Reduce(room[i / 11]).Sum(in[i]);
    if (i % 11 == 0) out[i / 11] = all;
}
PROGRAM(warp_merge_sort) {
    using Sort = cub::WarpMergeSort<uint32_t, items, 16>;
    __shared__ typename Sort::TempStorage room[threads / 16];
    uint32_t k[items];
    for (int i = 0; i < items; ++i) k[i] = in[threadIdx.x * items + i];
    Sort(room[threadIdx.x / 16]).Sort(k, Less());
    for (int i = 0; i < items; ++i) out[threadIdx.x * items + i] = k[i];
}
PROGRAM(warp_exchange) {
    using Exchange = cub::WarpExchange<uint32_t, items, 16>;
    __shared__ typename Exchange::TempStorage room[threads / 16];
    uint32_t v[items];
    const int first = threadIdx.x / 16 * 16 * items + threadIdx.x % 16;
    for (int i = 0; i < items; ++i) v[i] = in[first + i * 16];
    Exchange(room[threadIdx.x / 16]).StripedToBlocked(v, v);
    for (int i = 0; i < items; ++i) out[threadIdx.x * items + i] = v[i];
}

// ---- device-wide: tiles that look back ------------------------------------------------------------------------------

template <class T, class Op>
__device__ void scan_device(const T* in, uint32_t* data, T* out, int count, int tiles, Op op) {
    using Policy = cub::AgentScanPolicy<threads, items, uint32_t, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::LOAD_DEFAULT, cub::BLOCK_STORE_WARP_TRANSPOSE,
                                        cub::BLOCK_SCAN_WARP_SCANS, cub::detail::MemBoundScaling<threads, items, uint32_t>>;
    using Agent = cub::detail::scan::AgentScan<Policy, const T*, T*, Op, cub::NullType, int, T>;
    __shared__ typename Agent::TempStorage room;
    cub::ScanTileState<T> state;
    state.Init(tiles, data, 4096);
    Agent(room, in, out, op, cub::NullType()).ConsumeRange(count, state, 0);
}
template <class T>
__device__ void begin_tiles(uint32_t* data, int tiles) {
    cub::ScanTileState<T> state;
    state.Init(tiles, data, 4096);
    state.InitializeStatus(tiles);
}
PROGRAM(begin_word) { begin_tiles<uint32_t>(data, 4); }
PROGRAM(begin_long) { begin_tiles<uint64_t>(data, 4); }
PROGRAM(begin_struct) { begin_tiles<Pair>(data, 4); }
struct Plus {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a + b;
    }
};
PROGRAM(device_scan) { scan_device(in, data, out, 1000, 4, Plus()); }
PROGRAM(device_scan_long) { scan_device(reinterpret_cast<const uint64_t*>(in), data, reinterpret_cast<uint64_t*>(out), 500, 2, Plus()); }
PROGRAM(device_scan_struct) { scan_device(reinterpret_cast<const Pair*>(in), data, reinterpret_cast<Pair*>(out), 330, 2, Add()); }

struct Odd {
    __device__ bool operator()(uint32_t v) const { return v & 1; }
};
struct OnePart {  // of one that is not cut
    static constexpr __device__ bool is_first_partition() { return true; }
    static constexpr __device__ bool is_last_partition() { return true; }
    static constexpr __device__ int input_offset() { return 0; }
    static constexpr __device__ int num_previously_selected() { return 0; }
    static constexpr __device__ int num_previously_rejected() { return 0; }
    static constexpr __device__ int num_total_items(int all) { return all; }
    using total_num_items_t = int;
    template <class To>
    __device__ void update_num_selected(To* to, int count) const {
        *to = count;
    }
};
PROGRAM(device_select) {
    using Policy = cub::AgentSelectIfPolicy<threads, items, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::LOAD_DEFAULT, cub::BLOCK_SCAN_WARP_SCANS>;
    using Agent = cub::detail::select::AgentSelectIf<Policy, const uint32_t*, cub::NullType*, uint32_t*, Odd, cub::NullType, int, OnePart,
                                                     cub::SelectImpl::Select>;
    __shared__ typename Agent::TempStorage room;
    cub::ScanTileState<int> state;
    state.Init(4, data, 4096);
    Agent(room, in, nullptr, out, Odd(), cub::NullType(), 1000, OnePart()).ConsumeRange(4, state, out + 1000);
}
PROGRAM(begin_runs) {
    cub::ReduceByKeyScanTileState<uint32_t, int> state;
    state.Init(4, data, 4096);
    state.InitializeStatus(4);
}
PROGRAM(device_reduce_by_key) {
    using Policy = cub::AgentReduceByKeyPolicy<threads, items, cub::BLOCK_LOAD_DIRECT, cub::LOAD_DEFAULT, cub::BLOCK_SCAN_WARP_SCANS>;
    using Agent = cub::detail::reduce::AgentReduceByKey<Policy, const uint32_t*, uint32_t*, const uint32_t*, uint32_t*, uint32_t*, cuda::std::equal_to<>, Plus, int, uint32_t>;
    __shared__ typename Agent::TempStorage room;
    cub::ReduceByKeyScanTileState<uint32_t, int> state;
    state.Init(4, data, 4096);
    Agent(room, in, out, in + 1000, out + 1000, out + 2000, cuda::std::equal_to<>(), Plus()).ConsumeRange(1000, state, 0);
}

// ---- radix sort: the digits counted, added up, and the keys moved by one sweep a digit -----------------------------

constexpr int radix_bits = 5, digits = 1 << radix_bits, passes = 2, keys = 1000;
PROGRAM(radix_histogram) {
    using Policy = cub::AgentRadixSortHistogramPolicy<threads, items, 1, uint32_t, radix_bits>;
    using Agent = cub::detail::radix_sort::AgentRadixSortHistogram<Policy, false, uint32_t, uint32_t>;
    __shared__ typename Agent::TempStorage room;
    Agent(room, data, in, keys, 0, radix_bits * passes).Process();
}
PROGRAM(radix_starts) {
    using Scan = cub::BlockScan<uint32_t, digits>;
    __shared__ typename Scan::TempStorage room;
    uint32_t v = data[blockIdx.x * digits + threadIdx.x];
    Scan(room).ExclusiveSum(v, v);
    data[blockIdx.x * digits + threadIdx.x] = v;
}
__device__ void sweep(const uint32_t* from, uint32_t* to, uint32_t* data, int pass) {
    using Policy = cub::AgentRadixSortOnesweepPolicy<threads, items, uint32_t, 1, cub::RADIX_RANK_MATCH, cub::BLOCK_SCAN_WARP_SCANS, cub::RADIX_SORT_STORE_DIRECT,
                                                     radix_bits>;
    using Agent = cub::detail::radix_sort::AgentRadixSortOnesweep<Policy, false, uint32_t, cub::NullType, uint32_t, int>;
    __shared__ typename Agent::TempStorage room;
    uint32_t* const lookback = data + 64 + pass * 4 * digits;
    Agent(room, reinterpret_cast<typename Agent::AtomicOffsetT*>(lookback), reinterpret_cast<typename Agent::AtomicOffsetT*>(data + 512 + pass), nullptr,
          data + pass * digits, to, from, nullptr, nullptr, keys, pass * radix_bits, radix_bits)
        .Process();
}
PROGRAM(radix_first) { sweep(in, data + 1024, data, 0); }
PROGRAM(radix_second) { sweep(data + 1024, out, data, 1); }
