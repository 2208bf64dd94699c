// Kernels that use asynchronous copies before they are done, and their correct twins; and one that asks for registers.
#include <cstdint>
#include <cstdio>

namespace {
__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void copy(uint32_t* to, const uint32_t* from) {
    asm volatile("cp.async.ca.shared.global [%0],[%1],4;" ::"r"(address(to)), "l"(from) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
}  // namespace

// out[0..63]: read before the copy is waited for; out[64..127]: after.
extern "C" __global__ void unwaited(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t s[64];
    const uint32_t t = threadIdx.x;
    volatile uint32_t* v = s;
    v[t] = 7;
    copy(&s[t], in + t);
    commit();
    out[t] = v[t];
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    out[64 + t] = v[t];
}

// Waits for the first of two groups: out[0..63] has it; out[64..127] is the second, not waited for.
extern "C" __global__ void two_groups(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t s[128];
    const uint32_t t = threadIdx.x;
    volatile uint32_t* v = s;
    v[t] = v[64 + t] = 7;
    copy(&s[t], in + t);
    commit();
    copy(&s[64 + t], in + t);
    commit();
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    out[t] = v[t];
    out[64 + t] = v[64 + t];
    asm volatile("cp.async.wait_all;" ::: "memory");
}

#if __CUDA_ARCH__ >= 900
__device__ void wait(uint64_t* bar) {
    asm volatile("{.reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p,[%0],0;\n@!p bra again;}" ::"r"(address(bar)) : "memory");
}

// A barrier that the copies arrive at: nothing is missing.
extern "C" __global__ void arrival(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t s[64];
    __shared__ alignas(8) uint64_t bar;
    const uint32_t t = threadIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0],64;" ::"r"(address(&bar)) : "memory");
    __syncthreads();
    copy(&s[t], in + t);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address(&bar)) : "memory");
    wait(&bar);
    out[t] = s[(t + 1) % 64];
}

// The same, round after round; the wait looks at the clock, and sleeps, as that of cuda::barrier does.
extern "C" __global__ void polled(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t s[64];
    __shared__ alignas(8) uint64_t bar;
    const uint32_t t = threadIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0],64;" ::"r"(address(&bar)) : "memory");
    __syncthreads();
#pragma unroll 1
    for (uint32_t round = 0; round < 16; ++round) {
        copy(&s[t], in + t);
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address(&bar)) : "memory");
        const long long since = clock64();
        for (uint32_t over = 0;;) {
            asm volatile("{.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p,[%1],%2;\nselp.u32 %0,1,0,p;}" : "=r"(over) : "r"(address(&bar)), "r"(round & 1) : "memory");
            if (over) break;
            const long long passed = clock64() - since;
            if (passed > 40000) __nanosleep(static_cast<uint32_t>(passed / 4));
        }
        out[t] = s[(t + 1) % 64];
        __syncthreads();
    }
}

// Lets time pass, and does not wait for the copy.
extern "C" __global__ void delayed(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t s[64];
    const uint32_t t = threadIdx.x;
    volatile uint32_t* v = s;
    v[t] = 7;
    copy(&s[t], in + t);
    commit();
    const long long since = clock64();
    while (clock64() - since < 40000) {}
    out[t] = v[t];
    asm volatile("cp.async.wait_group 0;" ::: "memory");
}

// Thread 0 stores 256 bytes in bulk and overwrites them, waiting in between or not.
extern "C" __global__ void overwritten(uint32_t* out, uint32_t waits) {
    __shared__ alignas(16) uint32_t s[64];
    const uint32_t t = threadIdx.x;
    s[t] = t;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],256;" ::"l"(out), "r"(address(s)) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        if (waits) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
    s[t] = 1000 + t;
    __syncthreads();
    if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Ends while a bulk store is under way.
extern "C" __global__ void leaves(uint32_t* out) {
    __shared__ alignas(16) uint32_t s[64];
    s[threadIdx.x] = threadIdx.x;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],256;" ::"l"(out), "r"(address(s)) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
}

// Each thread sends in[t] to the other CTA of its cluster and adds to a word there; out[0..63] is what has come before
// the barrier is waited for, out[64..127] after.
extern "C" __global__ void __cluster_dims__(2, 1, 1) sends(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t s[64], sum;
    __shared__ alignas(8) uint64_t bar;
    const uint32_t t = threadIdx.x;
    uint32_t to, count, barrier, rank;
    asm("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank));
    volatile uint32_t* v = s;
    v[t] = 7;
    if (t == 0) {
        sum = 0;
        asm volatile("mbarrier.init.shared.b64 [%0],1;\nmbarrier.arrive.expect_tx.shared.b64 _,[%0],512;\nfence.mbarrier_init.release.cluster;" ::"r"(
                         address(&bar))
                     : "memory");
    }
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(to) : "r"(address(s + t)), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(count) : "r"(address(&sum)), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(barrier) : "r"(address(&bar)), "r"(rank ^ 1));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0],%1,[%2];" ::"r"(to), "r"(in[t]), "r"(barrier) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0],%1,[%2];" ::"r"(count), "r"(t),
                 "r"(barrier)
                 : "memory");
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
    if (rank == 0) out[t] = v[t];
    asm volatile("{.reg .pred p;\nagain: mbarrier.try_wait.parity.acquire.cluster.shared.b64 p,[%0],0;\n@!p bra again;}" ::"r"(address(&bar)) : "memory");
    if (rank == 0) out[64 + t] = v[t];
    if (rank == 0) out[128 + t] = sum;
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

// out[i] = in[i] + 1; the next launch may begin before that is written, and reads it too early unless it waits.
extern "C" __global__ void dependent(const uint32_t* in, uint32_t* out, uint32_t waits) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (waits) asm volatile("griddepcontrol.wait;" ::: "memory");
    const uint32_t v = reinterpret_cast<const volatile uint32_t*>(in)[i];
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    out[i] = v + 1;
}

// Says when it begins, and when it may go on.
extern "C" __global__ void talks(int launch) {
    if (threadIdx.x == 0) printf("%d.%d begins\n", launch, blockIdx.x);
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (threadIdx.x == 0) printf("%d.%d ends\n", launch, blockIdx.x);
}

// Holds 200 values at once in warps that ask for 232 registers.
extern "C" __global__ void __launch_bounds__(256, 1) many_registers(const uint32_t* in, uint32_t* out) {
    constexpr int count = 200;
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        out[threadIdx.x] = 1;
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    uint32_t v[count];
#pragma unroll
    for (int i = 0; i < count; ++i) v[i] = in[i] + threadIdx.x;
#pragma unroll 1
    for (uint32_t round = 0; round < in[0]; ++round) {
#pragma unroll
        for (int i = 0; i < count; ++i) v[i] = v[i] * 5 + v[(i + 7) % count];
    }
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < count; ++i) sum = sum * 3 + v[i];
    out[threadIdx.x] = sum;
}
#endif

// Each CTA of a pair adds t + 1 to word t of a buffer in global memory, and to that of the other CTA's memory, in bulk. out[0..63]: what
// has come of the other before the barrier is waited for, out[64..127]: after.
extern "C" __global__ void __cluster_dims__(2, 1, 1) reduces(uint32_t* sums, uint32_t* out) {
    __shared__ alignas(16) uint32_t from[64], s[64];
    __shared__ alignas(8) uint64_t bar;
    const uint32_t t = threadIdx.x;
    uint32_t to, barrier, rank;
    asm("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank));
    from[t] = t + 1;
    volatile uint32_t* v = s;
    v[t] = 1000;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0],1;\nmbarrier.arrive.expect_tx.shared.b64 _,[%0],256;\nfence.mbarrier_init.release.cluster;" ::"r"(address(&bar)) : "memory");
    asm volatile("fence.proxy.async;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
    if (t == 0) {
        asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(to) : "r"(address(s)), "r"(rank ^ 1));
        asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(barrier) : "r"(address(&bar)), "r"(rank ^ 1));
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0],[%1],256;" ::"l"(sums), "r"(address(from)) : "memory");
        asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%0],[%1],256,[%2];" ::"r"(to), "r"(address(from)), "r"(barrier) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
    if (rank == 0) out[t] = v[t];
    asm volatile("{.reg .pred p;\nagain: mbarrier.try_wait.parity.acquire.cluster.shared.b64 p,[%0],0;\n@!p bra again;}" ::"r"(address(&bar)) : "memory");
    if (rank == 0) out[64 + t] = v[t];
    if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}
