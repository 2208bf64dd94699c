// nvcc -O3 -cubin -arch=sm_120a -o scaled.sm_120a.cubin scaled.cu    (CUDA 13.0)
// mma of bytes, nibbles and what lies between, with and without scales, dense and sparse, of sm_120: one warp per case. Per lane, a: 4
// words, b: 4 words, c: 4 words, metadata, scales of a and of b; then byte and lane of the scales of a and of b. Out: 4 words.
#define IN2(v) "r"(v[0]), "r"(v[1])
#define IN4(v) IN2(v), "r"(v[2]), "r"(v[3])
#define OUT4 "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
#define SCALES "r"(in[13]), "h"(ba), "h"(ta), "r"(in[14]), "h"(bb), "h"(tb)
#define D4 "{%0,%1,%2,%3},"

#define DENSE(T) \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32." T ".f32 " D4 "{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};" \
                 : OUT4 : IN4(a), IN2(b), IN4(c))
#define HALF(T) \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16." T ".f16 {%0,%1},{%2,%3,%4,%5},{%6,%7},{%8,%9};" \
                 : "=r"(d[0]), "=r"(d[1]) : IN4(a), IN2(b), IN2(c))
#define SPARSE(T) \
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32." T ".f32 " D4 \
                 "{%4,%5,%6,%7},{%8,%9,%10,%11},{%12,%13,%14,%15},%16,0x0;" : OUT4 : IN4(a), IN4(b), IN4(c), "r"(in[12]))
#define SCALED(T) \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32." T ".f32.ue8m0 " D4 \
                 "{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13},%14,{%15,%16},%17,{%18,%19};" : OUT4 : IN4(a), IN2(b), IN4(c), SCALES)
#define SCALED_SPARSE(T) \
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32." T ".f32.ue8m0 " D4 \
                 "{%4,%5,%6,%7},{%8,%9,%10,%11},{%12,%13,%14,%15},%16,0x0,%17,{%18,%19},%20,{%21,%22};" \
                 : OUT4 : IN4(a), IN4(b), IN4(c), "r"(in[12]), SCALES)
#define NIBBLES(KIND, VECTOR, SCALE) \
    asm volatile("mma.sync.aligned.m16n8k64.row.col.kind::" KIND ".block_scale.scale_vec::" VECTOR ".f32.e2m1.e2m1.f32." SCALE " " D4 \
                 "{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13},%14,{%15,%16},%17,{%18,%19};" : OUT4 : IN4(a), IN2(b), IN4(c), SCALES)
#define NIBBLES_SPARSE(KIND, VECTOR, SCALE) \
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::" KIND ".block_scale.scale_vec::" VECTOR ".f32.e2m1.e2m1.f32." SCALE " " D4 \
                 "{%4,%5,%6,%7},{%8,%9,%10,%11},{%12,%13,%14,%15},%16,0x0,%17,{%18,%19},%20,{%21,%22};" \
                 : OUT4 : IN4(a), IN4(b), IN4(c), "r"(in[12]), SCALES)

#define EACH_B(FIRST, FORM, A)                       \
    case FIRST + 0: FORM(A ".e4m3"); break;          \
    case FIRST + 1: FORM(A ".e5m2"); break;          \
    case FIRST + 2: FORM(A ".e3m2"); break;          \
    case FIRST + 3: FORM(A ".e2m3"); break;          \
    case FIRST + 4: FORM(A ".e2m1"); break;
#define EACH_TYPE(FIRST, FORM)                       \
    EACH_B(FIRST + 0, FORM, "e4m3") EACH_B(FIRST + 5, FORM, "e5m2") EACH_B(FIRST + 10, FORM, "e3m2") \
    EACH_B(FIRST + 15, FORM, "e2m3") EACH_B(FIRST + 20, FORM, "e2m1")

extern "C" __global__ void scaled(const unsigned* all, unsigned* out, int form, short ba, short ta, short bb, short tb) {
    const unsigned at = blockIdx.x * 32 + threadIdx.x;
    const unsigned *in = all + 15 * at, *a = in, *b = in + 4, *c = in + 8;
    unsigned d[4] = {};
    switch (form) {
        EACH_TYPE(0, DENSE)
        EACH_TYPE(25, HALF)
        EACH_TYPE(50, SPARSE)
        EACH_TYPE(75, SCALED)
        EACH_TYPE(100, SCALED_SPARSE)
        case 125: NIBBLES("mxf4", "2X", "ue8m0"); break;
        case 126: NIBBLES("mxf4nvf4", "4X", "ue4m3"); break;
        case 127: NIBBLES_SPARSE("mxf4", "2X", "ue8m0"); break;
        case 128: NIBBLES_SPARSE("mxf4nvf4", "4X", "ue4m3"); break;
    }
    for (int i = 0; i < 4; ++i) out[4 * at + i] = d[i];
}
