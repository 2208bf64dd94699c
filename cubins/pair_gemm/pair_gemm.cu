// archs: sm_100a
// A GEMM of CTA pairs whose tensor cores work as one: 256 rows and 128 columns at a time, each CTA with half of A and half
// of B, accumulators in tensor memory, two of them, so that one is read while the next is computed. Pairs that are done ask
// for the tiles of those that have not begun (cluster launch control). bf16, C[m][n] = sum over k of A[m][k] B[n][k].
// BUG_<link>: the kernel without the link.
#include "../sync/tensor.h"
#include "../sync/warpgroup.h"

enum {
    none,
    full,       // the tensor core waits for a stage to be filled
    empty,      // the copies wait for a stage to be used
    computed,   // the epilogue waits for an accumulator to be computed
    taken,      // the tensor core waits for one to be read
    loads,      // it has been read when the tensor core may have it again
    answer,     // what cluster launch control says is there when it is read,
    asked,      // and has been read before it is asked again
};

namespace {

constexpr int stages = 3, buffers = 2, columns_of_d = 128, step_elements = 64;
constexpr uint32_t a_bytes = 128 * 128, b_bytes = 64 * 128;
// D f32, A and B bf16, N 128, M 256
constexpr uint32_t what = 1u << 4 | 1u << 7 | 1u << 10 | uint32_t{columns_of_d >> 3} << 17 | uint32_t{256 >> 4} << 24;

#define PAIR_LOAD(to, map, x, y, bar)                                                              \
    ASM("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%0], " \
        "[%1, {%2, %3}], [%4];" ::"r"(address(to)),                                                \
        "l"(&map), "r"(x), "r"(y), "r"(bar))
#define PAIR_MMA(d, a, b, add)                                                                     \
    ASM("{.reg .pred p;\nsetp.ne.u32 p, %4, 0;\ntcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;}" ::"r"(d), \
        "l"(a), "l"(b), "r"(what), "r"(add))
#define PAIR_COMMIT(bar)                                                                           \
    ASM("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"( \
            address(&bar)),                                                                        \
        "h"(uint16_t{3}))

__device__ uint64_t operand(const void* p) {  // rows of 128 swizzled bytes
    return (address(p) & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 46 | uint64_t{2} << 61;
}

#define TENSOR_LOAD32(v, at)                                                                       \
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 " NAMES_32 ", [%32];" : OF_32("=r", v) : "r"(at) : "memory")
// Of the pair that asks: both CTAs get the answer.
#define ASK(answer, bar)                                                                           \
    ASM("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%0], " \
        "[%1];" ::"r"(address(&answer)),                                                           \
        "r"(address(&bar)))

// The pair whose work is this one's from now on, or -1.
__device__ int pair_of(const ulonglong2& answer) {
    uint64_t low, high;
    uint32_t x, there;
    asm volatile("ld.shared.v2.b64 {%0, %1}, [%2];" : "=l"(low), "=l"(high) : "r"(address(&answer)) : "memory");  // @answer
    asm("{.reg .b128 r;\n.reg .pred p;\n.reg .b32 y, z, w;\nmov.b128 r, {%2, %3};\n"
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r;\nselp.u32 %1, 1, 0, p;\nmov.u32 %0, 0;\n"
        "@p clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, y, z, w}, r;}"
        : "=r"(x), "=r"(there)
        : "l"(low), "l"(high));
    return there ? int(x / 2) : -1;
}

// Tiles of 256 rows and 128 columns, one after the other down the columns; each pair begins with the one of its number.
// `steps`: of 64 along k.
template <int WITHOUT>
__device__ void gemm(const TensorMap& a, const TensorMap& b, float* c, int steps, int tiles_down, int columns) {
    extern __shared__ __align__(1024) uint8_t memory[];
    __shared__ alignas(16) ulonglong2 answered;
    __shared__ alignas(8) uint64_t filled[stages], used[stages], d_filled[buffers], d_used[buffers], told, read, ready;
    __shared__ uint32_t base;
    uint8_t *const as = memory, *const bs = memory + stages * a_bytes;
    const uint32_t t = threadIdx.x, warp = t / 32, lane = t % 32, rank = cluster_rank();
    CLUSTER_SYNC;  // columns are allocated for both CTAs: both must have begun
    if (warp == 0)
        ASM("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;\n"
            "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::"r"(address(&base)), "n"(buffers * columns_of_d));
    if (t == 0) {
        for (int s = 0; s < stages; ++s) {
            MBAR_INIT(filled[s], 1);
            MBAR_INIT(used[s], 1);
        }
        for (int s = 0; s < buffers; ++s) {
            MBAR_INIT(d_filled[s], 1);
            MBAR_INIT(d_used[s], 2);
        }
        MBAR_INIT(told, 1);
        MBAR_INIT(read, rank ? 5 : 6);  // warps that have tiles: of copies, of the tensor core, four of the epilogue
        MBAR_INIT(ready, 2);
    }
    ASM("fence.mbarrier_init.release.cluster;" ::);
    TENSOR_BEFORE;
    CLUSTER_SYNC;
    TENSOR_AFTER;
    const uint32_t d = base;
    const int first = blockIdx.x / 2;
    // After the tile of number `turn` of this pair; for all lanes of a warp.
    const auto next = [&](int turn) {
        LINK(answer) MBAR_WAIT("", told, turn & 1);
        const int pair = pair_of(answered);
        __syncwarp();
        if (lane == 0) MBAR_ARRIVE("release.cta", read);
        return pair;
    };
    if (warp == 0) {
        for (int tile = first, turn = 0, i = 0; tile >= 0; tile = next(turn++))
            for (int k = 0; k < steps; ++k, ++i) {
                const int s = i % stages;
                if (i >= stages) {
                    LINK(empty) MBAR_WAIT("", used[s], (i / stages - 1) & 1);
                }
                if (lane) continue;
                if (rank == 0) MBAR_EXPECT(filled[s], 2 * (a_bytes + b_bytes));
                const uint32_t bar = remote(&filled[s], 0);
                PAIR_LOAD(as + s * a_bytes, a, k * step_elements, tile % tiles_down * 256 + rank * 128, bar);
                PAIR_LOAD(bs + s * b_bytes, b, k * step_elements, tile / tiles_down * columns_of_d + rank * 64, bar);
            }
    } else if (warp == 1 && rank == 0) {
        for (int tile = first, turn = 0, i = 0; tile >= 0; tile = next(turn++)) {
            const int buffer = turn % buffers;
            if (turn >= buffers) {
                LINK(taken) MBAR_WAIT(".acquire.cluster", d_used[buffer], (turn / buffers - 1) & 1);
            }
            TENSOR_AFTER;
            for (int k = 0; k < steps; ++k, ++i) {
                const int s = i % stages;
                LINK(full) MBAR_WAIT("", filled[s], i / stages & 1);
                TENSOR_AFTER;
                if (lane == 0) {
                    const uint64_t da = operand(as + s * a_bytes), db = operand(bs + s * b_bytes);
                    for (int j = 0; j < 4; ++j) PAIR_MMA(d + buffer * columns_of_d, da + 2 * j, db + 2 * j, k + j);
                    PAIR_COMMIT(used[s]);
                    if (k + 1 == steps) PAIR_COMMIT(d_filled[buffer]);
                }
                __syncwarp();
            }
        }
    } else if (warp == 2 && lane == 0) {
        for (int tile = first, turn = 0; tile >= 0; ++turn) {
            if (turn) {
                LINK(asked) MBAR_WAIT("", read, (turn - 1) & 1);
            }
            MBAR_EXPECT(told, 16);
            MBAR_ARRIVE_REMOTE("release.cluster", remote(&ready, 0));
            if (rank == 0) {
                MBAR_WAIT(".acquire.cluster", ready, turn & 1);
                ASK(answered, told);
            }
            MBAR_WAIT("", told, turn & 1);
            tile = pair_of(answered);
        }
    } else if (warp >= 4) {
        for (int tile = first, turn = 0; tile >= 0; tile = next(turn++)) {
            const int buffer = turn % buffers;
            LINK(computed) MBAR_WAIT("", d_filled[buffer], turn / buffers & 1);
            TENSOR_AFTER;
            const int row = tile % tiles_down * 256 + rank * 128 + t % 128, column = tile / tiles_down * columns_of_d;
            for (int x = 0; x < columns_of_d; x += 32) {
                uint32_t v[32];
                TENSOR_LOAD32(v, d + buffer * columns_of_d + lanes_of_warp() + x);
                TENSOR_WAIT_LOAD;
                for (int j = 0; j < 32; j += 4)
                    *reinterpret_cast<uint4*>(c + row * columns + column + x + j) = make_uint4(v[j], v[j + 1], v[j + 2], v[j + 3]);
            }
            TENSOR_BEFORE;
            LINK(loads) BAR_SYNC(1, 128);
            if (t == 128) MBAR_ARRIVE_REMOTE("release.cluster", remote(&d_used[buffer], 0));
        }
    }
    TENSOR_BEFORE;
    CLUSTER_SYNC;
    TENSOR_AFTER;
    if (warp == 0) ASM("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(d), "n"(buffers * columns_of_d));
}

}  // namespace

#define KERNEL(name, WITHOUT)                                                                           \
    extern "C" __global__ void __cluster_dims__(2, 1, 1)                                                \
        name(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* c, int steps, \
             int tiles_down, int columns) {                                                             \
        gemm<WITHOUT>(a, b, c, steps, tiles_down, columns);                                             \
    }
KERNEL(pair_gemm, none)
#ifdef BUGS
#define BUG(link) KERNEL(BUG_##link, link)
BUG(full)  // data-race UTMALDG UTCHMMA
BUG(empty)  // async-reuse UTCHMMA UTMALDG
BUG(computed)  // data-race UTCHMMA LDTM
BUG(taken)  // none: the epilogue gives an answer back behind its loads, and the next but one is asked for behind that
BUG(loads)  // none: each of its warps gives it back
BUG(answer)  // data-race UGETNEXTWORKID LDS
BUG(asked)  // async-reuse LDS UGETNEXTWORKID
#endif
