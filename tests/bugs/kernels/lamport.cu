// flashinfer-ai/flashinfer #3053: two ranks push their values into each other's mailbox, of which there are three; the data say
// by themselves that they have come. A mailbox that is emptied one epoch too early loses what a faster rank has put there, and
// the spin waits for it for ever.
#include "sync.h"
enum { none, stage };
constexpr uint32_t empty = 0x80808080;  // what no value is
extern "C" __global__ void lamport(const uint32_t* in, uint32_t* mail, uint32_t epochs, uint32_t* out) {
    const uint32_t t = threadIdx.x, rank = blockIdx.x, words = blockDim.x;
    uint32_t sum = 0;
    for (uint32_t epoch = 0; epoch < epochs; ++epoch) {
        const auto box = [&](uint32_t of, uint32_t e) { return mail + (of * 3 + e % 3) * words + t; };
        const uint32_t mine = in[(rank * epochs + epoch) * words + t];
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(box(rank ^ 1, epoch)), "r"(mine) : "memory");
        *box(rank, epoch + (WITHOUT == stage ? 1 : 2)) = empty;
        uint32_t theirs;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(theirs) : "l"(box(rank, epoch)) : "memory");
        while (theirs == empty);
        sum += (epoch + 1) * (mine + theirs);
    }
    out[rank * words + t] = sum;
}
