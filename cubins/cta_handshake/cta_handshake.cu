// CTAs pass a message along a ring: each waits for its predecessor's flag (acquire), adds to the data, and releases the next.
// Needs all CTAs resident together and fair progress between them.
// nvcc: -lineinfo
__device__ int load_acquire(const int* p) {
    int v;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ void store_release(int* p, int v) { asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }

extern "C" __global__ void cta_handshake(int* flag, unsigned* message, unsigned* trace, int laps) {
    const int n = gridDim.x, me = blockIdx.x, t = threadIdx.x;
    for (int lap = 0; lap < laps; ++lap) {
        const int turn = lap * n + me;
        if (t == 0)
            while (load_acquire(flag) != turn) {
            }
        __syncthreads();
        const unsigned v = message[t] * 33u + static_cast<unsigned>(me);
        message[t] = v;
        if (t == 0) trace[turn] = v;
        __syncthreads();
        if (t == 0) store_release(flag, turn + 1);
    }
}

// Two CTAs, ping and pong, through volatile flags and a fence: the classical message-passing pattern.
extern "C" __global__ void ping_pong(volatile int* ball, volatile int* data, int* seen, int rounds) {
    if (threadIdx.x != 0) return;
    const int me = blockIdx.x;
    int sum = 0;
    for (int r = 0; r < rounds; ++r) {
        while (*ball != 2 * r + me) {
        }
        __threadfence();
        sum = sum * 7 + data[1 - me];
        data[me] = r * 10 + me + 1;
        __threadfence();
        *ball = 2 * r + me + 1;
    }
    seen[me] = sum;
}
