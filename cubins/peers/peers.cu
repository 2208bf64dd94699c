// SPDX-License-Identifier: Apache-2.0
// Handshakes among GPUs and with the host, each as it should be and with what is commonly forgotten (BUG_...), and every
// kind of access to memory of a peer and of the host. The plans beside it are for two GPUs.
// nvcc: -lineinfo
// archs: sm_80 sm_90
#include <cuda/atomic>

using System = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;
using Device = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
constexpr auto relaxed = cuda::memory_order_relaxed, acquire = cuda::memory_order_acquire, release = cuda::memory_order_release;

// One thread hands a word to another GPU or to the host.
extern "C" __global__ void send(unsigned* data, unsigned* flag, unsigned value) {
    *data = value;
    System(*flag).store(1, release);
}
extern "C" __global__ void BUG_send_device(unsigned* data, unsigned* flag, unsigned value) {
    *data = value;
    Device(*flag).store(1, release);  // the reader is on another GPU, or the host
}
extern "C" __global__ void BUG_send_relaxed(unsigned* data, unsigned* flag, unsigned value) {
    *data = value;
    System(*flag).store(1, relaxed);  // nothing orders the data before it
}
// The same with fences, as doorbells are written.
extern "C" __global__ void ring(unsigned* data, unsigned* flag, unsigned value) {
    *data = value;
    __threadfence_system();
    *reinterpret_cast<volatile unsigned*>(flag) = 1;
}
extern "C" __global__ void BUG_ring_device(unsigned* data, unsigned* flag, unsigned value) {
    *data = value;
    __threadfence();  // reaches this GPU only
    *reinterpret_cast<volatile unsigned*>(flag) = 1;
}
extern "C" __global__ void BUG_ring(unsigned* data, unsigned* flag, unsigned value) {
    *data = value;
    *reinterpret_cast<volatile unsigned*>(flag) = 1;  // a doorbell without a fence before it
}

extern "C" __global__ void receive(const unsigned* data, unsigned* flag, unsigned* seen) {
    while (System(*flag).load(acquire) != 1) {
    }
    *seen = *data;
}
extern "C" __global__ void BUG_receive_device(const unsigned* data, unsigned* flag, unsigned* seen) {
    while (Device(*flag).load(acquire) != 1) {
    }
    *seen = *data;
}
extern "C" __global__ void BUG_receive_relaxed(const unsigned* data, unsigned* flag, unsigned* seen) {
    while (System(*flag).load(relaxed) != 1) {
    }
    *seen = *data;
}

// A counter that both GPUs add to.
extern "C" __global__ void count(unsigned* sum) { System(*sum).fetch_add(1, relaxed); }
extern "C" __global__ void BUG_count_device(unsigned* sum) { Device(*sum).fetch_add(1, relaxed); }

// All threads of a CTA write, one of them tells: every thread's fence, a barrier, the flag.
extern "C" __global__ void send_block(unsigned* data, unsigned* flag, unsigned value) {
    data[threadIdx.x] = value;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *reinterpret_cast<volatile unsigned*>(flag) = 1;
}
extern "C" __global__ void receive_block(const unsigned* data, unsigned* flag, unsigned* seen) {
    if (threadIdx.x == 0)
        while (System(*flag).load(acquire) != 1) {
        }
    __syncthreads();
    seen[threadIdx.x] = data[threadIdx.x];
}

// Every kind of access to `there`, memory of a peer or of the host; what was read goes to `out`.
// there: 64 words of 1, 2, ...; atomics on words 32 to 47.
extern "C" __global__ void kinds(unsigned* there, unsigned* out) {
    const unsigned t = threadIdx.x;
    __shared__ alignas(128) unsigned staged[32];
    out[t] = there[t];  // loads of 1 to 16 bytes
    out[32 + t] = reinterpret_cast<const unsigned char*>(there)[4 * t] + reinterpret_cast<const unsigned short*>(there)[2 * t];
    if (t < 8) reinterpret_cast<uint4*>(out + 64)[t] = reinterpret_cast<const uint4*>(there)[t];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\ncp.async.wait_all;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(staged + t))), "l"(there + t) : "memory");
    __syncthreads();
    out[96 + t] = staged[t];
    __syncthreads();
    if (t < 8) {  // stores
        reinterpret_cast<uint2*>(there + 16)[t] = uint2{100 + t, 200 + t};
        reinterpret_cast<unsigned char*>(there + 48)[t] = static_cast<unsigned char>(t);
    }
    // atomics with a result, and reductions
    unsigned* const a = there + 32;
    unsigned old = 0;
    if (t == 0) old = atomicAdd_system(a, 5u);
    if (t == 1) old = atomicMax_system(a + 1, 99u);
    if (t == 2) old = atomicExch_system(a + 2, 7u);
    if (t == 3) old = atomicCAS_system(a + 3, 36u, 8u);
    if (t == 4) old = atomicXor_system(a + 4, 1u);
    if (t == 5) old = static_cast<unsigned>(atomicAdd_system(reinterpret_cast<unsigned long long*>(a + 6), 1ull << 32));
    if (t == 6) atomicAdd_system(reinterpret_cast<float*>(a + 8), 1.0f);
    atomicAdd_system(a + 9, t);
    atomicMin_system(a + 10, t + 3);
    out[128 + t] = old;
}

#if __CUDA_ARCH__ >= 900
// Bulk copies of 64 words from there and back.
extern "C" __global__ void bulk(unsigned* from, unsigned* to) {
    __shared__ alignas(128) unsigned staged[64];
    __shared__ alignas(8) unsigned long long done;
    const unsigned s = static_cast<unsigned>(__cvta_generic_to_shared(staged)), b = static_cast<unsigned>(__cvta_generic_to_shared(&done));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(b) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(b) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(s), "l"(from), "r"(b) : "memory");
    asm volatile("{\n.reg .pred p;\nwait:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra wait;\n}" ::"r"(b) : "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(to), "r"(s) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}
// A tensor copy of 8 x 8 words there and back.
struct alignas(64) Map {
    char bytes[128];
};
extern "C" __global__ void tensor(const __grid_constant__ Map from, const __grid_constant__ Map to) {
    __shared__ alignas(128) unsigned staged[64];
    __shared__ alignas(8) unsigned long long done;
    const unsigned s = static_cast<unsigned>(__cvta_generic_to_shared(staged)), b = static_cast<unsigned>(__cvta_generic_to_shared(&done));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(b) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(b) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2}], [%3];" ::"r"(s), "l"(&from), "r"(0), "r"(b) : "memory");
    asm volatile("{\n.reg .pred p;\nwait:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra wait;\n}" ::"r"(b) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %1}], [%2];" ::"l"(&to), "r"(0), "r"(s) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}
// A bulk reduction: each of 64 words is raised by its number.
extern "C" __global__ void bulk_add(unsigned* to) {
    __shared__ alignas(128) unsigned staged[64];
    staged[threadIdx.x] = threadIdx.x;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x) return;
    const unsigned s = static_cast<unsigned>(__cvta_generic_to_shared(staged));
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 256;" ::"l"(to), "r"(s) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}
#endif
