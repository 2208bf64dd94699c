// The synchronisation patterns of PTX ISA 9.7.16.6 for tensor memory, and each without the links
// that it may lack. Built by
//   nvcc -O3 -std=c++17 -cubin -arch=sm_100a -lineinfo tensor.cu -o tensor.cubin
#include "../../../cubins/sync/tensor.h"
#undef LINK
#define LINK(x) if constexpr (without != x)

enum { nothing, wait, after, before, stored, leak, early, loaded, other };

#define TENSOR_LOAD(v, at)                                           \
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" \
                 : "=r"(v)                                           \
                 : "r"(at)                                           \
                 : "memor"                                           \
                   "y")
#define TENSOR_STORE(at, v) \
    ASM("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(at), "r"(v))

// A product that changes one lane of D, which is the first that is allocated; `test` as in
// TENSOR_PRODUCT. A and B are zero but for the elements that make the lane's
// first word 2, or 4 with `more` for B.
struct Operands {
    uint4 a[256], b[32], more[32];
    uint64_t done, first;
    uint32_t base;
};
template <uint32_t lane>
__device__ void begin(Operands& o) {
    if (threadIdx.x / 32 == lane / 32) TENSOR_ALLOC(o.base);  // a warp of one thread
    if (threadIdx.x == 0) {
        MBAR_INIT(o.done, 1);
        MBAR_INIT(o.first, 1);
        o.a[half_row(lane, 0)] = make_uint4(1, 0, 0, 0);
        o.b[0] = make_uint4(2, 0, 0, 0);
        o.more[0] = make_uint4(4, 0, 0, 0);
        ASM("fence.proxy.async.shared::cta;" ::);
    }
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
}
// At the end, by the thread that allocated: what it waits for here is over before.
#define END TENSOR_FREE(0)
#define ALL_BUT(lane, of) (lane / 32 == of ? ~(1u << lane % 32) : ~0u)
#define MULTIPLY(test, lane, a, b)                                                              \
    ASM("{.reg .pred p;\nsetp." test                                                            \
        ".u32 p, 0, 0;\ntcgen05.mma.cta_group::1.kind::i8 [%0], %1, %2, %3, {%4, %5, %6, %6}, " \
        "p;}" ::"r"(0),                                                                         \
        "l"(descriptor(a)), "l"(descriptor(b)), "r"(shape), "r"(ALL_BUT(lane, 0)),              \
        "r"(ALL_BUT(lane, 1)), "r"(~0u))
#define SHIFT(at) ASM("tcgen05.shift.cta_group::1.down [%0];" ::"r"(at))
#define COPY(rows, from) \
    ASM("tcgen05.cp.cta_group::1." rows " [%0], %1;" ::"r"(0), "l"(descriptor(from)))

// Pipelined, in one thread: a product that adds to another. Behind it, not pipelined: a load.
template <int without>
__device__ void chain(uint32_t* out) {
    __shared__ alignas(128) Operands o;
    begin<0>(o);
    MULTIPLY("ne", 0, o.a, o.b);
    MULTIPLY("eq", 0, o.a, o.b);
    TENSOR_COMMIT(o.done);
    LINK(wait) MBAR_WAIT("", o.done, 0);
    LINK(after) TENSOR_AFTER;
    uint32_t v;
    TENSOR_LOAD(v, 0);
    TENSOR_WAIT_LOAD;
    out[0] = v;
    if constexpr (without == wait) MBAR_WAIT("", o.done, 0);
    END;
}

// Not pipelined, in one thread: a store, and a load of it.
template <int without>
__device__ void reload(uint32_t* out) {
    __shared__ alignas(128) Operands o;
    begin<0>(o);
    uint32_t v = 4;
    TENSOR_STORE(0, v);
    LINK(stored) TENSOR_WAIT_STORE;
    TENSOR_LOAD(v, 0);
    TENSOR_WAIT_LOAD;
    out[0] = v;
    if constexpr (without == stored) TENSOR_WAIT_STORE;
    END;
}

// Pipelined, in two threads: the second, alone in its warp, writes over what the first has made.
template <int without>
__device__ void turns(uint32_t* out) {
    __shared__ alignas(128) Operands o;
    begin<32>(o);
    if (threadIdx.x == 0) {
        MULTIPLY("ne", 32, o.a, o.b);
        LINK(before) TENSOR_BEFORE;
        if constexpr (without != nothing) TENSOR_COMMIT(o.first);
    }
    __syncthreads();
    if (threadIdx.x < 32) return;
    LINK(after) TENSOR_AFTER;
    MULTIPLY("ne", 32, o.a, o.more);
    TENSOR_COMMIT(o.done);
    MBAR_WAIT("", o.done, 0);
    TENSOR_AFTER;
    uint32_t v;
    TENSOR_LOAD(v, 32 << 16);
    TENSOR_WAIT_LOAD;
    out[0] = v;
    if constexpr (without != nothing) MBAR_WAIT("", o.first, 0);
    END;
}

// Not pipelined, in two threads: what one has stored the other's product adds to.
template <int without>
__device__ void sum(uint32_t* out) {
    __shared__ alignas(128) Operands o;
    begin<32>(o);
    if (threadIdx.x >= 32) {
        TENSOR_STORE(32 << 16, 2);
        LINK(stored) TENSOR_WAIT_STORE;
        LINK(before) TENSOR_BEFORE;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        LINK(after) TENSOR_AFTER;
        MULTIPLY("eq", 32, o.a, o.b);
        TENSOR_COMMIT(o.done);
        MBAR_WAIT("", o.done, 0);
    }
    __syncthreads();
    if (threadIdx.x < 32) return;
    TENSOR_AFTER;
    uint32_t v;
    TENSOR_LOAD(v, 32 << 16);
    TENSOR_WAIT_LOAD;
    out[0] = v;
    if constexpr (without == stored) TENSOR_WAIT_STORE;
    END;
}

// The same: what one has loaded is written anew by the other's product.
template <int without>
__device__ void reuse(uint32_t* out) {
    __shared__ alignas(128) Operands o;
    begin<32>(o);
    if (threadIdx.x >= 32) {
        uint32_t v = 4;
        TENSOR_STORE(32 << 16, v);
        TENSOR_WAIT_STORE;
        TENSOR_LOAD(v, 32 << 16);
        LINK(wait) TENSOR_WAIT_LOAD;
        TENSOR_BEFORE;
        __syncthreads();
        if constexpr (without == wait) TENSOR_WAIT_LOAD;
        out[0] = v;
        MBAR_WAIT("", o.done, 0);
        END;
    } else {
        __syncthreads();
        if (threadIdx.x == 0) {
            TENSOR_AFTER;
            MULTIPLY("ne", 32, o.a, o.b);
            TENSOR_COMMIT(o.done);
        }
    }
}

// What the product has made in lane 33 is moved to lane 32, which another thread loads. Pipelined:
// a product, a shift, and (`over`) a product or (`quarter`) a copy .4x256b over what was moved;
// not: a load, and (`whole`) another copy.
enum { over = 16, quarter, whole };
template <int without>
__device__ void shifted(uint32_t* out) {
    __shared__ alignas(128) Operands o;
    begin<33>(o);
    if (threadIdx.x == 0) {
        MULTIPLY("ne", 33, o.a, o.b);
        SHIFT(32 << 16);
        if constexpr (without == over) MULTIPLY("ne", 32, o.a, o.b);
        if constexpr (without == quarter) COPY("4x256b", o.b);
        if constexpr (without == whole) COPY("128x256b", o.a);
        TENSOR_COMMIT(o.done);
    }
    if (threadIdx.x < 32) return;
    LINK(wait) MBAR_WAIT("", o.done, 0);
    TENSOR_AFTER;
    uint32_t v;
    TENSOR_LOAD(v, 32 << 16);
    TENSOR_WAIT_LOAD;
    out[0] = v;
    if constexpr (without == wait) MBAR_WAIT("", o.done, 0);
    END;
}

// Not pipelined either: a copy, and a shift of what it brings.
template <int without>
__device__ void copied(uint32_t* out) {
    __shared__ alignas(128) Operands o;
    begin<33>(o);
    if (threadIdx.x == 0) {
        COPY("128x256b", o.a);
        TENSOR_COMMIT(o.first);
        LINK(wait) MBAR_WAIT("", o.first, 0);
        LINK(after) TENSOR_AFTER;
        SHIFT(32 << 16);
        TENSOR_COMMIT(o.done);
    }
    if (threadIdx.x < 32) return;
    MBAR_WAIT("", o.done, 0);
    TENSOR_AFTER;
    uint32_t v;
    TENSOR_LOAD(v, 32 << 16);
    TENSOR_WAIT_LOAD;
    out[0] = v;
    if constexpr (without != nothing) MBAR_WAIT("", o.first, 0);
    END;
}

// Columns: one thread asks for a product, the other has allocated them, and loads it. `leak`:
// nobody frees them; `early`: they are freed while the tensor core may still write them; `loaded`:
// while the load may still read them; `other`: nothing is missing, the other one's warp frees them.
template <int without>
__device__ void allocation(uint32_t* out) {
    __shared__ alignas(128) Operands o;
    begin<32>(o);
    if (threadIdx.x == 0) {
        MULTIPLY("ne", 32, o.a, o.more);
        TENSOR_COMMIT(o.done);
    }
    if (threadIdx.x >= 32) {
        uint32_t v = 4;
        LINK(early) {
            MBAR_WAIT("", o.done, 0);
            TENSOR_AFTER;
            TENSOR_LOAD(v, 32 << 16);
            LINK(loaded) TENSOR_WAIT_LOAD;
        }
        if constexpr (without != leak && without != other) END;
        if constexpr (without == loaded) TENSOR_WAIT_LOAD;
        out[0] = v;
        TENSOR_BEFORE;
    }
    if constexpr (without == other) {
        __syncthreads();
        TENSOR_AFTER;
        if (threadIdx.x < 32) END;
    }
}

// Two warps allocate, in either order, and never the same. `leak`: one of them does not free;
// `early`: one frees what the other uses.
#define ALLOCATE(to, count)                                                                      \
    ASM("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(address(&to)), \
        "n"(count))
#define FREE(at, count) \
    ASM("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(at), "n"(count))
template <int without>
__device__ void several(uint32_t* out) {
    __shared__ uint32_t base[2];
    const uint32_t warp = threadIdx.x / 32;
    ALLOCATE(base[warp], 32);
    __syncthreads();
    if (threadIdx.x >= 32) {
        uint32_t v = 4;
        TENSOR_STORE(base[1] + (32 << 16), v);
        TENSOR_WAIT_STORE;
        TENSOR_LOAD(v, base[1] + (32 << 16));
        TENSOR_WAIT_LOAD;
        out[0] = v;
        out[1] = base[0] ^ base[1];
        out[2] = base[1];
        TENSOR_BEFORE;
    }
    LINK(early) __syncthreads();
    TENSOR_AFTER;
    if (without != leak || warp == 1) FREE(base[without == early ? 1 - warp : warp], 32);
}

// Zeros over eight columns, which come out of no register; what is there then.
#define STORE8(at, v)                                                                              \
    ASM("tcgen05.st.sync.aligned.32x32b.x8.b32 [%0], {%1, %1, %1, %1, %1, %1, %1, %1};" ::"r"(at), \
        "r"(v))
extern "C" __global__ void zeros(uint32_t* out) {
    __shared__ alignas(128) Operands o;
    begin<0>(o);
    STORE8(0, 7);
    TENSOR_WAIT_STORE;
    STORE8(0, 0);
    TENSOR_WAIT_STORE;
    uint32_t v[8];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]),
                   "=r"(v[6]), "=r"(v[7])
                 : "r"(0)
                 : "memory");
    TENSOR_WAIT_LOAD;
    for (uint32_t k = 0; k < 8; ++k) out[k] = v[k];
    END;
}

#define KERNEL(name, x) \
    extern "C" __global__ void name##_##x(uint32_t* out) { name<x>(out); }
KERNEL(chain, nothing)
KERNEL(chain, wait)
KERNEL(chain, after)
KERNEL(reload, nothing)
KERNEL(reload, stored)
KERNEL(turns, nothing)
KERNEL(turns, before)
KERNEL(turns, after)
KERNEL(sum, nothing)
KERNEL(sum, stored)
KERNEL(sum, before)
KERNEL(sum, after)
KERNEL(reuse, nothing)
KERNEL(reuse, wait)
KERNEL(shifted, nothing)
KERNEL(shifted, wait)
KERNEL(shifted, over)
KERNEL(shifted, quarter)
KERNEL(shifted, whole)
KERNEL(copied, nothing)
KERNEL(copied, wait)
KERNEL(copied, after)
KERNEL(several, nothing)
KERNEL(several, leak)
KERNEL(several, early)
KERNEL(allocation, nothing)
KERNEL(allocation, other)
KERNEL(allocation, leak)
KERNEL(allocation, early)
KERNEL(allocation, loaded)
