// A fair lock: warps of several CTAs draw tickets and wait for their number; the protected list is plain memory.
// The order in which warps enter is not fixed, so the result is what any order gives: how often each entered, a sum, a count.
extern "C" __global__ void ticket_lock(unsigned* ticket, volatile unsigned* serving, volatile unsigned* total, volatile unsigned* entered,
                                       volatile unsigned* broken, int rounds) {
    if (threadIdx.x & 31) return;
    const unsigned me = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    for (int r = 0; r < rounds; ++r) {
        const unsigned mine = atomicAdd(ticket, 1u);
        while (*serving != mine) __nanosleep(20);
        __threadfence();
        const unsigned before = *total;
        *total = before + me + 1;
        entered[me] = entered[me] + 1;
        if (*serving != mine || *total != before + me + 1) *broken = 1;
        __threadfence();
        *serving = mine + 1;
    }
}
