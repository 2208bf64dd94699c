// A lock that the 32 lanes of one warp take from each other: it ends only if every diverged lane makes progress.
// The protected counter and a checksum are updated without atomics.
extern "C" __global__ void warp_spin_lock(int* lock, volatile int* counter, volatile unsigned* sum, int rounds) {
    for (int r = 0; r < rounds; ++r) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *counter = *counter + 1;
        *sum = *sum + threadIdx.x * 2654435761u + r;
        __threadfence();
        atomicExch(lock, 0);
    }
}
