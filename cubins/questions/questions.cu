// What published sources on numerics leave open (emu/isa/QUESTIONS.md): one instruction per thread, on the
// operands of cases.bin, which cases.py writes.
// archs: sm_90
#include <cstdint>

// W: on the low words of a, b, c. D: on 64-bit operands. cases.py reads the names and their order from here.
#define OPERATIONS(W, D)                                                                                  \
    W(mul_ftz, "mul.rn.ftz.f32 %0, %1, %2;")                                                              \
    W(mul_rz_ftz, "mul.rz.ftz.f32 %0, %1, %2;")                                                           \
    W(mul_rp_ftz, "mul.rp.ftz.f32 %0, %1, %2;")                                                           \
    W(add_ftz, "add.rn.ftz.f32 %0, %1, %2;")                                                              \
    W(fma_ftz, "fma.rn.ftz.f32 %0, %1, %2, %3;")                                                          \
    W(fma_rz_ftz, "fma.rz.ftz.f32 %0, %1, %2, %3;")                                                       \
    W(fma_rp_ftz, "fma.rp.ftz.f32 %0, %1, %2, %3;")                                                       \
    W(fma_f16x2_ftz, "fma.rn.ftz.f16x2 %0, %1, %2, %3;")                                                  \
    W(add, "add.rn.f32 %0, %1, %2;")                                                                      \
    W(mul, "mul.rn.f32 %0, %1, %2;")                                                                      \
    W(fma, "fma.rn.f32 %0, %1, %2, %3;")                                                                  \
    W(min, "min.f32 %0, %1, %2;")                                                                         \
    W(min_nan, "min.NaN.f32 %0, %1, %2;")                                                                 \
    W(fma_f16x2, "fma.rn.f16x2 %0, %1, %2, %3;")                                                          \
    W(fma_bf16x2, "fma.rn.bf16x2 %0, %1, %2, %3;")                                                        \
    D(add_f64, "add.rn.f64 %0, %1, %2;")                                                                  \
    D(mul_f64, "mul.rn.f64 %0, %1, %2;")                                                                  \
    D(fma_f64, "fma.rn.f64 %0, %1, %2, %3;")                                                              \
    W(f16_to_f32, "{.reg .b16 h, z; mov.b32 {h, z}, %1; cvt.f32.f16 %0, h;}")                             \
    W(f32_to_f16, "{.reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.u32.u16 %0, h;}")                              \
    W(f32_to_bf16x2, "cvt.rn.bf16x2.f32 %0, %1, %2;")                                                     \
    D(f32_to_f64, "{.reg .b32 w, z; mov.b64 {w, z}, %1; cvt.f64.f32 %0, w;}")                             \
    D(f64_to_f32, "{.reg .b32 w; cvt.rn.f32.f64 w, %1; cvt.u64.u32 %0, w;}")                              \
    W(add_sat, "add.sat.f32 %0, %1, %2;")                                                                 \
    W(fma_f16x2_relu, "fma.rn.relu.f16x2 %0, %1, %2, %3;")                                                \
    W(fma_f16x2_sat, "fma.rn.sat.f16x2 %0, %1, %2, %3;")                                                  \
    W(fma_bf16x2_relu, "fma.rn.relu.bf16x2 %0, %1, %2, %3;")                                              \
    W(f32_to_f16x2_relu, "cvt.rn.relu.f16x2.f32 %0, %1, %2;")                                             \
    W(f32_to_s32, "cvt.rzi.s32.f32 %0, %1;")                                                              \
    W(f32_to_u32, "cvt.rzi.u32.f32 %0, %1;")                                                              \
    W(f32_to_s16, "{.reg .b16 h; cvt.rzi.s16.f32 h, %1; cvt.u32.u16 %0, h;}")                             \
    W(f32_to_u8, "cvt.rzi.u8.f32 %0, %1;")                                                                \
    D(f32_to_s64, "{.reg .b32 w, z; mov.b64 {w, z}, %1; cvt.rzi.s64.f32 %0, w;}")                         \
    D(f32_to_u64, "{.reg .b32 w, z; mov.b64 {w, z}, %1; cvt.rzi.u64.f32 %0, w;}")                         \
    D(f64_to_s32, "{.reg .b32 w; cvt.rzi.s32.f64 w, %1; cvt.u64.u32 %0, w;}")                             \
    D(f64_to_s64, "cvt.rzi.s64.f64 %0, %1;")                                                              \
    D(f64_to_u64, "cvt.rzi.u64.f64 %0, %1;")                                                              \
    W(f16_to_s32, "{.reg .b16 h, z; mov.b32 {h, z}, %1; cvt.rzi.s32.f16 %0, h;}")                         \
    W(round_f32, "cvt.rni.f32.f32 %0, %1;")                                                               \
    W(round_ftz_f32, "cvt.rpi.ftz.f32.f32 %0, %1;")                                                       \
    W(mad_hi_s32, "mad.hi.s32 %0, %1, %2, %3;")                                                           \
    W(mad_hi_u32, "mad.hi.u32 %0, %1, %2, %3;")                                                           \
    W(prmt, "prmt.b32 %0, %1, %2, %3;")                                                                   \
    W(prmt_f4e, "prmt.b32.f4e %0, %1, %2, %3;")                                                           \
    W(prmt_b4e, "prmt.b32.b4e %0, %1, %2, %3;")                                                           \
    W(prmt_rc8, "prmt.b32.rc8 %0, %1, %2, %3;")                                                           \
    W(prmt_ecl, "prmt.b32.ecl %0, %1, %2, %3;")                                                           \
    W(prmt_ecr, "prmt.b32.ecr %0, %1, %2, %3;")                                                           \
    W(prmt_rc16, "prmt.b32.rc16 %0, %1, %2, %3;")                                                         \
    W(bmsk_clamp, "bmsk.clamp.b32 %0, %1, %2;")                                                           \
    W(bmsk_wrap, "bmsk.wrap.b32 %0, %1, %2;")                                                             \
    W(sgxt_clamp, "szext.clamp.s32 %0, %1, %2;")                                                          \
    W(sgxt_wrap, "szext.wrap.s32 %0, %1, %2;")                                                            \
    W(sgxt_clamp_u, "szext.clamp.u32 %0, %1, %2;")                                                        \
    W(rcp, "rcp.approx.ftz.f32 %0, %1;")                                                                  \
    W(rsqrt, "rsqrt.approx.ftz.f32 %0, %1;")                                                              \
    W(sqrt, "sqrt.approx.ftz.f32 %0, %1;")                                                                \
    W(ex2, "ex2.approx.ftz.f32 %0, %1;")                                                                  \
    W(lg2, "lg2.approx.ftz.f32 %0, %1;")                                                                  \
    W(tanh, "tanh.approx.f32 %0, %1;")                                                                    \
    W(tanh_f16x2, "tanh.approx.f16x2 %0, %1;")                                                            \
    W(ex2_f16x2, "ex2.approx.f16x2 %0, %1;")                                                              \
    W(f32_to_e4m3x2, "{.reg .b16 h; cvt.rn.satfinite.e4m3x2.f32 h, %1, %2; cvt.u32.u16 %0, h;}")          \
    W(f32_to_e5m2x2, "{.reg .b16 h; cvt.rn.satfinite.e5m2x2.f32 h, %1, %2; cvt.u32.u16 %0, h;}")          \
    W(f32_to_e4m3x2_relu, "{.reg .b16 h; cvt.rn.satfinite.relu.e4m3x2.f32 h, %1, %2; cvt.u32.u16 %0, h;}") \
    W(f16x2_to_e4m3x2, "{.reg .b16 h; cvt.rn.satfinite.e4m3x2.f16x2 h, %1; cvt.u32.u16 %0, h;}")          \
    W(e4m3x2_to_f16x2, "{.reg .b16 h, z; mov.b32 {h, z}, %1; cvt.rn.f16x2.e4m3x2 %0, h;}")                \
    W(e5m2x2_to_f16x2, "{.reg .b16 h, z; mov.b32 {h, z}, %1; cvt.rn.f16x2.e5m2x2 %0, h;}")                \
    W(e4m3x2_to_f16x2_relu, "{.reg .b16 h, z; mov.b32 {h, z}, %1; cvt.rn.relu.f16x2.e4m3x2 %0, h;}")

#define NUMBER(name, ptx) name,
namespace number {
enum Operation { OPERATIONS(NUMBER, NUMBER) };
}

struct Case {
    uint64_t a, b, c, operation;
};

#define WORD(name, ptx)                                                                                                  \
    case number::name: {                                                                                                 \
        uint32_t r;                                                                                                      \
        asm volatile(ptx : "=r"(r) : "r"(uint32_t(x.a)), "r"(uint32_t(x.b)), "r"(uint32_t(x.c)));                        \
        out[i] = r;                                                                                                      \
        break;                                                                                                           \
    }
#define DOUBLE(name, ptx)                                                                   \
    case number::name: {                                                                    \
        uint64_t r;                                                                         \
        asm volatile(ptx : "=l"(r) : "l"(x.a), "l"(x.b), "l"(x.c));                         \
        out[i] = r;                                                                         \
        break;                                                                              \
    }

extern "C" __global__ void questions(const Case* cases, uint64_t* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const Case x = cases[i];
    switch (x.operation) { OPERATIONS(WORD, DOUBLE) }
}
