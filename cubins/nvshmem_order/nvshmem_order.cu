// SPDX-License-Identifier: Apache-2.0
// What nvshmem_fence and nvshmem_quiet are for: each as it should be, and what is commonly forgotten (BUG_...). Data go
// from PE 0; PE 1 has them; PE 2, where there is one, is told.
// nvcc: -lineinfo -Invshmem_headers
// archs: sm_80 sm_90
#include <nvshmem.h>
#include <nvshmemx.h>

__device__ void put_data(int* data, int value) {
    int two[2] = {value, value + 1};
    nvshmem_int_put(data, two, 2, 1);
}
__device__ void read_here(const int* data, int* seen) {
    seen[0] = data[0];
    seen[1] = data[1];
}

// Data, then a flag to the same PE: a fence between them.
extern "C" __global__ void fenced(int* data, int* flag, int* seen) {
    if (nvshmem_my_pe() == 0) {
        put_data(data, 7);
        nvshmem_fence();
        nvshmem_int_p(flag, 1, 1);
    } else if (nvshmem_my_pe() == 1) {
        nvshmem_int_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        read_here(data, seen);
    }
}
extern "C" __global__ void BUG_unfenced(int* data, int* flag, int* seen) {
    if (nvshmem_my_pe() == 0) {
        put_data(data, 7);
        nvshmem_int_p(flag, 1, 1);
    } else if (nvshmem_my_pe() == 1) {
        nvshmem_int_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        read_here(data, seen);
    }
}
extern "C" __global__ void BUG_no_wait(int* data, int* flag, int* seen) {
    if (nvshmem_my_pe() == 0) {
        put_data(data, 7);
        nvshmem_fence();
        nvshmem_int_p(flag, 1, 1);
    } else if (nvshmem_my_pe() == 1) {
        read_here(data, seen);
    }
}
extern "C" __global__ void BUG_spins(int* data, int* flag, int* seen) {
    if (nvshmem_my_pe() == 0) {
        put_data(data, 7);
        nvshmem_fence();
        nvshmem_int_p(flag, 1, 1);
    } else if (nvshmem_my_pe() == 1) {
        while (*static_cast<volatile int*>(flag) != 1) {
        }
        read_here(data, seen);
    }
}
// The signal brings its own order.
extern "C" __global__ void signalled(int* data, uint64_t* flag, int* seen) {
    if (nvshmem_my_pe() == 0) {
        int two[2] = {7, 8};
        nvshmem_int_put_signal(data, two, 2, flag, 1, NVSHMEM_SIGNAL_SET, 1);
    } else if (nvshmem_my_pe() == 1) {
        nvshmem_signal_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        read_here(data, seen);
    }
}
// All threads of a CTA put; the fence of one is that of the whole put.
extern "C" __global__ void fenced_block(int* data, int* flag, int* seen, int* source) {
    if (nvshmem_my_pe() == 0) {
        nvshmemx_int_put_block(data, source, 32, 1);
        if (threadIdx.x == 0) {
            nvshmem_fence();
            nvshmem_int_p(flag, 1, 1);
        }
    } else if (nvshmem_my_pe() == 1) {
        nvshmem_int_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        seen[threadIdx.x] = data[threadIdx.x];
    }
}

// Data to PE 1, the flag to PE 2, which gets the data: they have to be there.
extern "C" __global__ void quiet_elsewhere(int* data, int* flag, int* seen) {
    if (nvshmem_my_pe() == 0) {
        put_data(data, 7);
        nvshmem_quiet();
        nvshmem_int_p(flag, 1, 2);
    } else if (nvshmem_my_pe() == 2) {
        nvshmem_int_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        nvshmem_int_get(seen, data, 2, 1);
    }
}
extern "C" __global__ void BUG_fence_elsewhere(int* data, int* flag, int* seen) {
    if (nvshmem_my_pe() == 0) {
        put_data(data, 7);
        nvshmem_fence();  // to PE 1; PE 2 may see its flag before the data have come
        nvshmem_int_p(flag, 1, 2);
    } else if (nvshmem_my_pe() == 2) {
        nvshmem_int_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        nvshmem_int_get(seen, data, 2, 1);
    }
}
// PE 1 has seen them, and tells PE 2.
extern "C" __global__ void handed_on(int* data, int* flag, int* seen) {
    if (nvshmem_my_pe() == 0) {
        put_data(data, 7);
        nvshmem_fence();
        nvshmem_int_p(flag, 1, 1);
    } else if (nvshmem_my_pe() == 1) {
        nvshmem_int_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        nvshmem_fence();
        nvshmem_int_p(flag, 1, 2);
    } else if (nvshmem_my_pe() == 2) {
        nvshmem_int_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        nvshmem_int_get(seen, data, 2, 1);
    }
}
// PE 2 hears first, and tells PE 1, whose data may still be on their way.
extern "C" __global__ void BUG_round_about(int* data, int* flag, int* seen) {
    if (nvshmem_my_pe() == 0) {
        put_data(data, 7);
        nvshmem_fence();
        nvshmem_int_p(flag, 1, 2);
    } else if (nvshmem_my_pe() == 2) {
        nvshmem_int_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        nvshmem_fence();
        nvshmem_int_p(flag, 1, 1);
    } else if (nvshmem_my_pe() == 1) {
        nvshmem_int_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        read_here(data, seen);
    }
}

// ---- what the examples of OpenSHMEM's page show

// Two puts to each of PEs 1 and 2; the fence keeps the second behind the first at each, whoever is served first.
extern "C" __global__ void fence_example(int* list, int* last, int* seen, int* source) {
    const int me = nvshmem_my_pe();
    if (me == 0) {
        for (int i = 0; i < 10; ++i) source[i] = i + 1;
        for (int pe = 1; pe <= 2; ++pe) nvshmem_int_put(list, source, 10, pe);
        nvshmem_fence();
        for (int pe = 1; pe <= 2; ++pe) nvshmem_int_p(last, 90, pe);
    } else if (me <= 2) {
        nvshmem_int_wait_until(last, NVSHMEM_CMP_EQ, 90);
        int sum = *last;
        for (int i = 0; i < 10; ++i) sum += list[i];
        *seen = sum;
    }
}

// PE 0 writes to 1 and 2; only when both have all of it, it tells PE 3, which asks them.
extern "C" __global__ void quiet_example(int* list, int* told, int* seen, int* source) {
    const int me = nvshmem_my_pe();
    if (me == 0) {
        for (int i = 0; i < 10; ++i) source[i] = 10 * (i + 1);
        for (int pe = 1; pe <= 2; ++pe) nvshmem_int_put_nbi(list, source, 10, pe);
        nvshmem_quiet();
        nvshmem_int_p(told, 1, 3);
    } else if (me == 3) {
        nvshmem_int_wait_until(told, NVSHMEM_CMP_EQ, 1);
        int sum = 0;
        for (int pe = 1; pe <= 2; ++pe)
            for (int i = 0; i < 10; ++i) sum += nvshmem_int_g(list + i, pe);
        *seen = sum;
    }
}

// The root's data go round: each PE waits for its own copy and sends it on; the fence keeps the flag behind.
extern "C" __global__ void ring_broadcast(int* data, int* arrived, int count, int root) {
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n;
    if (me != root) nvshmem_int_wait_until(arrived, NVSHMEM_CMP_EQ, 1);
    if (next == root) return;
    nvshmem_int_put(data, data, count, next);
    nvshmem_fence();
    nvshmem_int_p(arrived, 1, next);
}
