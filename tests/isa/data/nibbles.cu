// for a in 75 80 90; do nvcc -O3 -cubin -arch=sm_$a -o nibbles.sm_$a.cubin nibbles.cu; done    (CUDA 13.0)
// mma and mma.sp of 4-bit integers, one warp per case: sm_75 has the smallest shape, sm_80 all, and for sm_90 ptxas makes
// 8-bit instructions of them. Per lane, a: 4 words, b: 4 words, c: 4 words, metadata: 1 word; out: 4 words.
#define D2 "{%0,%1}"
#define D4 "{%0,%1,%2,%3}"
#define OUT2 "=r"(d[0]), "=r"(d[1])
#define OUT4 OUT2, "=r"(d[2]), "=r"(d[3])
#define IN2(v) "r"(v[0]), "r"(v[1])
#define IN4(v) IN2(v), "r"(v[2]), "r"(v[3])
#define MMA(SHAPE, TYPES, SAT) "mma.sync.aligned." SHAPE ".row.col" SAT ".s32." TYPES ".s32 "
#define MMA_SP(SHAPE, TYPES, SAT) "mma.sp::ordered_metadata.sync.aligned." SHAPE ".row.col" SAT ".s32." TYPES ".s32 "

#define M8N8K32(TYPES, SAT, SEL) \
    asm volatile(MMA("m8n8k32", TYPES, SAT) D2 ",{%2},{%3},{%4,%5};" : OUT2 : "r"(a[0]), "r"(b[0]), IN2(c))
#define M16N8K32(TYPES, SAT, SEL) \
    asm volatile(MMA("m16n8k32", TYPES, SAT) D4 ",{%4,%5},{%6},{%7,%8,%9,%10};" : OUT4 : IN2(a), "r"(b[0]), IN4(c))
#define M16N8K64(TYPES, SAT, SEL) \
    asm volatile(MMA("m16n8k64", TYPES, SAT) D4 ",{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};" : OUT4 : IN4(a), IN2(b), IN4(c))
#define SPARSE64(TYPES, SAT, SEL) \
    asm volatile(MMA_SP("m16n8k64", TYPES, SAT) D4 ",{%4,%5},{%6,%7},{%8,%9,%10,%11},%12," SEL ";" \
                 : OUT4 : IN2(a), IN2(b), IN4(c), "r"(a[12]))
#define SPARSE128(TYPES, SAT, SEL) \
    asm volatile(MMA_SP("m16n8k128", TYPES, SAT) D4 ",{%4,%5,%6,%7},{%8,%9,%10,%11},{%12,%13,%14,%15},%16,0x0;" \
                 : OUT4 : IN4(a), IN4(b), IN4(c), "r"(a[12]))

#define EACH_TYPE(FIRST, FORM)                            \
    case FIRST + 0: FORM("s4.s4", "", "0x0"); break;      \
    case FIRST + 1: FORM("s4.u4", "", "0x1"); break;      \
    case FIRST + 2: FORM("u4.s4", "", "0x0"); break;      \
    case FIRST + 3: FORM("u4.u4", "", "0x1"); break;      \
    case FIRST + 4: FORM("s4.s4", ".satfinite", "0x1"); break; \
    case FIRST + 5: FORM("s4.u4", ".satfinite", "0x0"); break; \
    case FIRST + 6: FORM("u4.s4", ".satfinite", "0x1"); break; \
    case FIRST + 7: FORM("u4.u4", ".satfinite", "0x0"); break;

extern "C" __global__ void nibbles(const unsigned* in, unsigned* out, int form) {
    const unsigned at = blockIdx.x * 32 + threadIdx.x;
    const unsigned *a = in + 13 * at, *b = a + 4, *c = a + 8;
    unsigned d[4] = {};
    switch (form) {
        EACH_TYPE(0, M8N8K32)
#if __CUDA_ARCH__ >= 800
        EACH_TYPE(8, M16N8K32)
        EACH_TYPE(16, M16N8K64)
        EACH_TYPE(24, SPARSE64)
        EACH_TYPE(32, SPARSE128)
#endif
    }
    for (int i = 0; i < 4; ++i) out[4 * at + i] = d[i];
}
