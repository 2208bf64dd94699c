// nvcc -O3 -cubin -arch=sm_80 -o sparse_nibbles.sm_80.cubin sparse_nibbles.cu; the same with sm_90 (CUDA 13.0).
// mma.sp of 4-bit integers, one warp per case: sm_80 has the instruction, for sm_90 ptxas makes 8-bit ones of it.
// Per lane, a: 4 words, b: 4 words, c: 4 words, metadata: 1 word; out: 4 words.
#define MMA64(A, B, SAT, SEL)                                                                                             \
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col" SAT ".s32." A "." B ".s32 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, "       \
                 "{%8,%9,%10,%11}, %12, " SEL ";"                                                                         \
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(e))
#define MMA128(A, B, SAT)                                                                                                 \
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col" SAT ".s32." A "." B ".s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "         \
                 "{%8,%9,%10,%11}, {%12,%13,%14,%15}, %16, 0x0;"                                                          \
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(c[0]),     \
                   "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(e))

extern "C" __global__ void sparse_nibbles(const unsigned* in, unsigned* out, int form) {
    const unsigned at = blockIdx.x * 32 + threadIdx.x;
    const unsigned *a = in + 13 * at, *b = a + 4, *c = a + 8;
    const unsigned e = a[12];
    unsigned d[4];
    switch (form) {
        case 0: MMA64("s4", "s4", "", "0x0"); break;
        case 1: MMA64("s4", "u4", "", "0x1"); break;
        case 2: MMA64("u4", "s4", ".satfinite", "0x0"); break;
        case 3: MMA64("u4", "u4", ".satfinite", "0x1"); break;
        case 4: MMA128("s4", "s4", ""); break;
        case 5: MMA128("s4", "u4", ".satfinite"); break;
        case 6: MMA128("u4", "s4", ""); break;
        default: MMA128("u4", "u4", ".satfinite"); break;
    }
    for (int i = 0; i < 4; ++i) out[4 * at + i] = d[i];
}
