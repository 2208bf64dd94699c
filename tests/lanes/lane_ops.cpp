// One entry per lane primitive and variant, compiled once per host level. See lane_ops.hpp.
#include "tests/lanes/lane_ops.hpp"

#include "emu/lanes/lanes.hpp"

namespace lane_tests {
namespace {

using namespace sassemu::L;
using sassemu::lanes::Compare;
using sassemu::lanes::Post;
using sassemu::lanes::Rounding;

constexpr auto kRn = Rounding::rn;
constexpr auto kRm = Rounding::rm;
constexpr auto kRp = Rounding::rp;
constexpr auto kRz = Rounding::rz;

inline void put64(Arguments& x, V64 v) { store_pair(x.row[0], x.row[1], v); }
inline void put_rows(Arguments& x, const Rows4& v) {
    for (int i = 0; i < 4; ++i) store(x.row[i], v.r[i]);
}
inline Rows4 get_rows(const Arguments& x) {
    return Rows4{{load(x.row[0]), load(x.row[1]), load(x.row[2]), load(x.row[3])}};
}

#define A load(x.a)
#define B load(x.b)
#define C load(x.c)
#define A64 load_pair(x.a, x.a + 32)
#define B64 load_pair(x.b, x.b + 32)
#define C64_ load_pair(x.c, x.c + 32)
#define ENTRY(label, operands, ...) {label, Operands::operands, [](Arguments& x) { __VA_ARGS__; }},
#define V(label, operands, ...) ENTRY(label, operands, store(x.row[0], __VA_ARGS__))
#define W(label, operands, ...) ENTRY(label, operands, put64(x, __VA_ARGS__))
#define P(label, operands, ...) ENTRY(label, operands, x.out[0] = (uint32_t)(__VA_ARGS__))
#define ROUNDINGS(M) M(kRn, "rn") M(kRm, "rm") M(kRp, "rp") M(kRz, "rz")
#define COMPARES(M) \
    M(f)            \
    M(lt) M(eq) M(le) M(gt) M(ne) M(ge) M(num) M(nan) M(ltu) M(equ) M(leu) M(gtu) M(neu) M(geu) M(t)

const LaneOp kOps[] = {
    // rows and lanes
    V("load_store", integers, A) ENTRY("store_masked", integers, store(x.row[0], A, x.in[0])) W(
        "pair", integers64,
        A64) ENTRY("store_pair_masked", integers64,
                   store_pair(x.row[0], x.row[1], A64, x.in[0])) V("splat", integers, splat(x.a[0]))
        W("splat64", integers64, splat64(x.a[0] | (uint64_t)x.a[1] << 32)) V(
            "lane_ids", integers, lane_ids()) W("make64", integers, make64(A, B))
            V("lo32", integers64, lo32(A64)) V("hi32", integers64, hi32(A64)) W(
                "zext64", integers, zext64(A)) W("sext64", integers, sext64(A))
                W("load64", integers64, load64((const uint64_t*)(const void*)x.a)) ENTRY(
                    "store64", integers64,
                    store64((uint64_t*)(void*)x.row, A64)) P("lane", integers, lane(A, x.b[0] & 31))
                    ENTRY("lane64", integers64, x.wide = lane64(A64, x.b[0] & 31)) V(
                        "broadcast_lane",
                        integers,
                        broadcast_lane(A, x.b[0])) V("select", integers, select(x.in[0], A, B))
                        W("select64", integers64, select64(x.in[0], A64, B64)) P(
                            "nonzero", integers, nonzero(A)) P("sign_mask", integers, sign_mask(A))
                            V("permute", integers,
                              permute(A, B)) V("match_any", indices, match_any(A, x.in[0]))
                                P("all_equal", indices, all_equal(A, x.in[0])) P(
                                    "all_equal_one", indices,
                                    all_equal(A, x.in[0] & (0u - x.in[0])))
                                    P("all_equal64", indices, all_equal64(A64, x.in[0]))
                                        P("first_lane", integers, first_lane(x.in[0])) P(
                                            "is_stride", indices,
                                            is_stride(add(mul_lo(lane_ids(), splat(12)), A),
                                                      x.in[0], 12))
                                            ENTRY("is_stride64", indices,
                                                  x.out[0] = is_stride64(
                                                      add64(mul_wide_u(lane_ids(), splat(8)), A64),
                                                      x.in[0], 8, &x.wide))
                                                P("reduce_add", integers, reduce_add(A, x.in[0])) P(
                                                    "reduce_min_s", integers,
                                                    reduce_min_s(A, x.in[0]))
                                                    P("reduce_max_s", integers,
                                                      reduce_max_s(A, x.in[0]))
                                                        P("reduce_min_u", integers,
                                                          reduce_min_u(A, x.in[0]))
                                                            P("reduce_max_u", integers,
                                                              reduce_max_u(A, x.in[0]))
                                                                P("reduce_and", integers,
                                                                  reduce_and(A, x.in[0]))
                                                                    P("reduce_or", integers,
                                                                      reduce_or(A, x.in[0]))
                                                                        P("reduce_xor", integers,
                                                                          reduce_xor(A, x.in[0]))

    // 32-bit integers
    V("add", integers, add(A, B)) V("sub", integers, sub(A, B)) V("neg", integers, neg(A)) V(
        "mul_lo", integers, mul_lo(A, B)) V("mul_hi_u", integers,
                                            mul_hi_u(
                                                A, B)) V("mul_hi_s", integers,
                                                         mul_hi_s(A, B)) W("mul_wide_u",
                                                                           integers, mul_wide_u(A, B))
        W("mul_wide_s", integers, mul_wide_s(A, B)) V("mad", integers, mad(A, B, C)) V("add3", integers, add3(A, B, C)) V(
            "add3_carry",
            integers,
            add3_carry(
                A, B,
                C, x.in[0],
                x.in[1],
                &x.out[0],
                &x.out
                     [1])) V("add_carry", integers,
                             add_carry(A, B, x.in[0], &x.out[0])) V("and_", integers, and_(A, B))
            V("or_", integers, or_(A, B)) V("xor_", integers, xor_(A, B)) V("not_", integers, not_(A)) V(
                "andn",
                integers,
                andn(A,
                     B)) V("lop3<0x96>", integers,
                           lop3<0x96>(A, B, C)) V("lop3<0xca>", integers, lop3<0xca>(A, B, C))
                V("lop3<0x1b>", integers, lop3<0x1b>(A, B, C)) V(
                    "lop3_runtime",
                    integers,
                    lop3(
                        A,
                        B,
                        C,
                        (
                            uint8_t)x.c
                            [5])) V("shl", shifts, shl(A, B)) V("shr", shifts, shr(A, B)) V("sar", shifts, sar(A, B))
                    V("rotl", shifts, rotl(A, B)) V(
                        "funnel_l_wrap",
                        shifts,
                        funnel_l_wrap(
                            A, load(x.a + 32), C)) V("funnel_l_clamp", shifts,
                                                     funnel_l_clamp(A, load(x.a + 32), C))
                        V("funnel_r_wrap", shifts, funnel_r_wrap(A, load(x.a + 32), C)) V(
                            "funnel_r_clamp",
                            shifts,
                            funnel_r_clamp(A, load(x.a + 32),
                                           C)) P("cmp_eq", integers,
                                                 cmp_eq(A, B)) P("cmp_ne", integers, cmp_ne(A, B))
                            P("cmp_lt_s", integers,
                              cmp_lt_s(A,
                                       B)) P("cmp_le_s", integers,
                                             cmp_le_s(A, B)) P("cmp_gt_s", integers, cmp_gt_s(A, B))
                                P("cmp_ge_s", integers,
                                  cmp_ge_s(
                                      A, B)) P("cmp_lt_u", integers,
                                               cmp_lt_u(A, B)) P("cmp_le_u", integers, cmp_le_u(A, B))
                                    P("cmp_gt_u", integers,
                                      cmp_gt_u(
                                          A, B)) P("cmp_ge_u", integers,
                                                   cmp_ge_u(A, B)) V("min_s", integers, min_s(A, B))
                                        V("max_s", integers, max_s(A, B)) V("min_u", integers, min_u(A, B)) V(
                                            "max_u", integers,
                                            max_u(
                                                A, B)) V("abs", integers,
                                                         abs(A)) V("absdiff_s", integers,
                                                                   absdiff_s(A, B))
                                            V("absdiff_u", integers, absdiff_u(A, B)) V(
                                                "sad_u8x4",
                                                integers,
                                                sad_u8x4(
                                                    A,
                                                    B, C)) V("popc", integers,
                                                             popc(A)) V("clz", integers, clz(A))
                                                V("brev", integers, brev(A)) V("bswap", integers, bswap(A)) V(
                                                    "prmt",
                                                    integers,
                                                    prmt(A, B,
                                                         C)) V("bmsk_clamp", shifts,
                                                               bmsk_clamp(B, C))
                                                    V("bmsk_wrap", shifts, bmsk_wrap(B, C)) V(
                                                        "sgxt_s",
                                                        shifts,
                                                        sgxt_s(A,
                                                               B)) V("sgxt_u", shifts, sgxt_u(A, B))
                                                        V("dp4a_uu", integers, dp4a<false, false>(A, B, C)) V(
                                                            "dp4a_us",
                                                            integers,
                                                            dp4a<false, true>(
                                                                A,
                                                                B, C)) V("dp4a_su", integers,
                                                                         dp4a<true, false>(A, B, C))
                                                            V("dp4a_ss", integers, dp4a<true, true>(A, B, C)) V(
                                                                "dp2a_uu_lo",
                                                                integers,
                                                                dp2a<false, false, false>(
                                                                    A,
                                                                    B, C)) V("dp2a_us_hi", integers,
                                                                             dp2a<false, true, true>(A, B, C))
                                                                V("dp2a_su_lo", integers,
                                                                  dp2a<true, false, false>(
                                                                      A,
                                                                      B, C)) V("dp2a_ss_hi",
                                                                               integers,
                                                                               dp2a<true, true, true>(A, B, C))
                                                                    V("add_16x2", integers,
                                                                      add_16x2(A,
                                                                               B)) V("sub_16x2",
                                                                                     integers,
                                                                                     sub_16x2(A, B))
                                                                        V("min_s16x2", integers, min_s16x2(A, B)) V(
                                                                            "max_s16x2", integers,
                                                                            max_s16x2(A, B))
                                                                            V(
                                                                                "min_u16x2",
                                                                                integers,
                                                                                min_u16x2(
                                                                                    A,
                                                                                    B)) V("max_"
                                                                                          "u16x"
                                                                                          "2",
                                                                                          integers,
                                                                                          max_u16x2(
                                                                                              A, B))
                                                                                V("sat_narrow_s8_s",
                                                                                  shifts,
                                                                                  sat_narrow<
                                                                                      8, true,
                                                                                      true>(
                                                                                      sub(B, C)))
                                                                                    V("sat_narrow_"
                                                                                      "u8_s",
                                                                                      shifts,
                                                                                      sat_narrow<
                                                                                          8, true,
                                                                                          false>(sub(
                                                                                          B,
                                                                                          C))) V("s"
                                                                                                 "a"
                                                                                                 "t"
                                                                                                 "_"
                                                                                                 "n"
                                                                                                 "a"
                                                                                                 "r"
                                                                                                 "r"
                                                                                                 "o"
                                                                                                 "w"
                                                                                                 "_"
                                                                                                 "s"
                                                                                                 "1"
                                                                                                 "6"
                                                                                                 "_"
                                                                                                 "s",
                                                                                                 integers,
                                                                                                 sat_narrow<16, true, true>(
                                                                                                     A))
                                                                                        V("sat_"
                                                                                          "narrow"
                                                                                          "_u16_"
                                                                                          "s",
                                                                                          integers,
                                                                                          sat_narrow<
                                                                                              16,
                                                                                              true,
                                                                                              false>(
                                                                                              A))
                                                                                            V("sat_"
                                                                                              "narr"
                                                                                              "ow_"
                                                                                              "s16_"
                                                                                              "u",
                                                                                              integers,
                                                                                              sat_narrow<
                                                                                                  16,
                                                                                                  false,
                                                                                                  true>(
                                                                                                  A))
                                                                                                V("sat_narrow_u8_u",
                                                                                                  shifts,
                                                                                                  sat_narrow<
                                                                                                      8,
                                                                                                      false,
                                                                                                      false>(
                                                                                                      B))

    // 64-bit integers
    W("add64", integers64, add64(A64, B64)) W("sub64", integers64, sub64(A64, B64)) W(
        "neg64", integers64, neg64(A64)) W("mul_lo64", integers64, mul_lo64(A64, B64))
        W("and64", integers64, and64(A64, B64)) W("or64", integers64, or64(A64, B64)) W(
            "xor64", integers64,
            xor64(A64, B64)) W("not64", integers64,
                               not64(A64)) W("shl64", shifts64, shl64(A64, B)) W("shr64", shifts64,
                                                                                 shr64(A64, B))
            W("sar64", shifts64, sar64(A64, B)) P("cmp_eq64", integers64, cmp_eq64(A64, B64)) P(
                "cmp_lt_s64",
                integers64,
                cmp_lt_s64(
                    A64, B64)) P("cmp_lt_u64", integers64,
                                 cmp_lt_u64(A64, B64)) P("cmp_le_s64", integers64, cmp_le_s64(A64, B64))
                P("cmp_le_u64", integers64, cmp_le_u64(A64, B64)) W("min_s64", integers64, min_s64(A64, B64)) W(
                    "max_s64", integers64,
                    max_s64(
                        A64, B64)) W("min_u64", integers64,
                                     min_u64(A64, B64)) W("max_u64", integers64, max_u64(A64, B64))

// f32 and f64
#define ARITHMETIC(r, s)                             \
    V("fadd_" s, floats, fadd<r>(A, B))              \
    V("fmul_" s, floats, fmul<r>(A, B))              \
    V("ffma_" s, floats, ffma<r>(A, B, C))           \
    V("fadd_ftz_" s, floats, fadd<r, true>(A, B))    \
    V("fmul_ftz_" s, floats, fmul<r, true>(A, B))    \
    V("ffma_ftz_" s, floats, ffma<r, true>(A, B, C)) \
    V("frnd_" s, any_float, frnd<r>(A))              \
    W("dadd_" s, doubles, dadd<r>(A64, B64))         \
    W("dmul_" s, doubles, dmul<r>(A64, B64))         \
    W("dfma_" s, doubles, dfma<r>(A64, B64, C64_))   \
    W("drnd_" s, any_double, drnd<r>(A64))
                    ROUNDINGS(ARITHMETIC) V("ftz", floats, ftz(A)) V("fsat", floats, fsat(A)) V(
                        "fneg",
                        floats,
                        fneg(A)) V("fabs", floats,
                                   fabs(A)) V("fmin", floats, fmin(A, B))
                        V("fmax", floats, fmax(A, B)) V("fmin_nan", floats, fmin_nan(A, B)) V(
                            "fmax_nan",
                            floats,
                            fmax_nan(A, B)) P("fisnan", floats, fisnan(A))
                            W("dneg", doubles, dneg(A64)) W("dabs", doubles, dabs(A64)) W(
                                "dmin",
                                doubles, dmin(A64, B64)) W("dmax", doubles, dmax(A64, B64))
#define COMPARISON(c)                                                                        \
    P("fcmp_" #c, floats, fcmp<Compare::c>(A, B))                                            \
    P("fcmp_runtime_" #c, floats, fcmp(A, B, Compare::c))                                    \
    P("dcmp_" #c, doubles, dcmp<Compare::c>(A64, B64))                                       \
    P("dcmp_runtime_" #c, doubles, dcmp(A64, B64, Compare::c))                               \
    ENTRY("hcmp2_" #c, halves, const MaskPair m = hcmp2(A, B, Compare::c); x.out[0] = m.lo;  \
          x.out[1] = m.hi)                                                                   \
    ENTRY("bcmp2_" #c, bfloats, const MaskPair m = bcmp2(A, B, Compare::c); x.out[0] = m.lo; \
          x.out[1] = m.hi)
                                COMPARES(COMPARISON)

// conversions
#define CONVERSION(r, s)                                         \
    V("f32_to_s32_" s, any_float, f32_to_s32<r>(A))              \
    V("f32_to_u32_" s, any_float, f32_to_u32<r>(A))              \
    W("f32_to_s64_" s, any_float, f32_to_s64<r>(A))              \
    W("f32_to_u64_" s, any_float, f32_to_u64<r>(A))              \
    V("f64_to_s32_" s, any_double, f64_to_s32<r>(A64))           \
    V("f64_to_u32_" s, any_double, f64_to_u32<r>(A64))           \
    W("f64_to_s64_" s, any_double, f64_to_s64<r>(A64))           \
    W("f64_to_u64_" s, any_double, f64_to_u64<r>(A64))           \
    V("f32_to_s8_" s, any_float, f32_to_small<r, 8, true>(A))    \
    V("f32_to_u8_" s, any_float, f32_to_small<r, 8, false>(A))   \
    V("f32_to_s16_" s, any_float, f32_to_small<r, 16, true>(A))  \
    V("f32_to_u16_" s, any_float, f32_to_small<r, 16, false>(A)) \
    V("s32_to_f32_" s, integers, s32_to_f32<r>(A))               \
    V("u32_to_f32_" s, integers, u32_to_f32<r>(A))               \
    V("s64_to_f32_" s, integers64, s64_to_f32<r>(A64))           \
    V("u64_to_f32_" s, integers64, u64_to_f32<r>(A64))           \
    W("s64_to_f64_" s, integers64, s64_to_f64<r>(A64))           \
    W("u64_to_f64_" s, integers64, u64_to_f64<r>(A64))           \
    V("f64_to_f32_" s, doubles, f64_to_f32<r>(A64))              \
    V("f32_to_f16_" s, any_float, f32_to_f16<r>(A))              \
    V("f32_to_bf16_" s, floats, f32_to_bf16<r>(A))               \
    V("f64_to_f16_" s, any_double, f64_to_f16<r>(A64))           \
    V("f32x2_to_f16x2_" s, any_float, f32x2_to_f16x2<r>(A, B))   \
    V("f32x2_to_bf16x2_" s, any_float, f32x2_to_bf16x2<r>(A, B))
                                    ROUNDINGS(CONVERSION) W("s32_to_f64", integers, s32_to_f64(A)) W(
                                        "u32_to_f64",
                                        integers,
                                        u32_to_f64(A)) W("f32_to_f64", floats,
                                                         f32_to_f64(
                                                             A)) V("f16_to_f32", halves, f16_to_f32(A))
                                        V("bf16_to_f32", bfloats, bf16_to_f32(A)) V(
                                            "pack16",
                                            integers,
                                            pack16(A, B)) V("hi16", integers, hi16(A))

// f16x2 and bf16x2
#define HALF(p, s)                                    \
    V("hadd2" s, halves, hadd2<false, p>(A, B))       \
    V("hmul2" s, halves, hmul2<false, p>(A, B))       \
    V("hfma2" s, halves, hfma2<false, p>(A, B, C))    \
    V("hadd2_ftz" s, halves, hadd2<true, p>(A, B))    \
    V("hmul2_ftz" s, halves, hmul2<true, p>(A, B))    \
    V("hfma2_ftz" s, halves, hfma2<true, p>(A, B, C)) \
    V("badd2" s, bfloats, badd2<p>(A, B))             \
    V("bmul2" s, bfloats, bmul2<p>(A, B))             \
    V("bfma2" s, bfloats, bfma2<p>(A, B, C))
                                            HALF(Post::none, "") HALF(Post::sat, "_sat") HALF(
                                                Post::relu,
                                                "_relu") V("ftz_f16x2", halves,
                                                           ftz_f16x2(A)) V("hmin2", halves,
                                                                           hmin2<false>(A, B))
                                                V("hmax2", halves, hmax2<false>(A, B)) V(
                                                    "hmin2_nan", halves,
                                                    hmin2<true>(
                                                        A, B)) V("hmax2_nan", halves,
                                                                 hmax2<true>(A, B))
                                                    V("bmin2", bfloats, bmin2<false>(A, B)) V(
                                                        "bmax2", bfloats,
                                                        bmax2<false>(A, B))
                                                        V("bmin2_nan", bfloats, bmin2<true>(A, B)) V(
                                                            "bmax2_nan",
                                                            bfloats, bmax2<true>(A, B))

// guest memory
#define HOST add64(splat64((uint64_t)x.memory), zext64(A))
#define M0 x.in[0]
                                                            V("gather_u8", memory1,
                                                              gather_u8(
                                                                  x.memory,
                                                                  A,
                                                                  M0)) V("gather_s8", memory1,
                                                                         gather_s8(x.memory, A, M0))
                                                                V("gather_u16", memory2,
                                                                  gather_u16(
                                                                      x.memory,
                                                                      A,
                                                                      M0)) V("gather_s16", memory2,
                                                                             gather_s16(x.memory, A, M0))
                                                                    V("gather_32", memory4,
                                                                      gather_32(x.memory, A, M0))
                                                                        W("gather_64", memory8,
                                                                          gather_64(
                                                                              x.memory,
                                                                              A, M0))
                                                                            ENTRY("gather_128",
                                                                                  memory16,
                                                                                  put_rows(
                                                                                      x,
                                                                                      gather_128(
                                                                                          x.memory,
                                                                                          A, M0)))
                                                                                V("gather_u8_host",
                                                                                  memory1,
                                                                                  gather_u8(
                                                                                      HOST,
                                                                                      M0))
                                                                                    V("gather_"
                                                                                      "s8_host",
                                                                                      memory1,
                                                                                      gather_s8(
                                                                                          HOST,
                                                                                          M0))
                                                                                        V(
                                                                                            "gather"
                                                                                            "_u16_"
                                                                                            "host",
                                                                                            memory2, gather_u16(HOST, M0)) V("gather_s16_host", memory2, gather_s16(HOST, M0)) V("gather_32_host", memory4, gather_32(HOST, M0)) W("gather_64_host", memory8, gather_64(HOST, M0)) ENTRY("gather_128_host",
                                                                                                                                                                                                                                                                                         memory16,
                                                                                                                                                                                                                                                                                         put_rows(
                                                                                                                                                                                                                                                                                             x,
                                                                                                                                                                                                                                                                                             gather_128(HOST,
                                                                                                                                                                                                                                                                                                        M0))) ENTRY("scatter_8",
                                                                                                                                                                                                                                                                                                                    memory1, scatter_8(x.memory, A, B, M0)) ENTRY("scatter_16",
                                                                                                                                                                                                                                                                                                                                                                  memory2, scatter_16(x.memory, A, B, M0)) ENTRY("scatter_32",
                                                                                                                                                                                                                                                                                                                                                                                                                 memory4,
                                                                                                                                                                                                                                                                                                                                                                                                                 scatter_32(
                                                                                                                                                                                                                                                                                                                                                                                                                     x.memory,
                                                                                                                                                                                                                                                                                                                                                                                                                     A,
                                                                                                                                                                                                                                                                                                                                                                                                                     B,
                                                                                                                                                                                                                                                                                                                                                                                                                     M0)) ENTRY("scatter_64", memory8, scatter_64(x.memory, A, B64, M0)) ENTRY("scatter_128", memory16, scatter_128(x.memory, A, get_rows(x), M0)) ENTRY("scatter_8_host", memory1, scatter_8(HOST, B, M0)) ENTRY("scatter_16_host", memory2, scatter_16(HOST, B, M0)) ENTRY("scatter_32_host", memory4, scatter_32(HOST, B, M0)) ENTRY("scatter_64_host", memory8, scatter_64(HOST, B64, M0)) ENTRY("scatter_128_host", memory16, scatter_128(HOST, get_rows(x), M0)) V("load_lanes_u8",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         memory1,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         load_lanes_u8(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                             x.memory + 8)) V("load_lanes_s8",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              memory1, load_lanes_s8(x.memory + 8)) V("load_lanes_u16",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                      memory2, load_lanes_u16(x.memory + 8)) V("load_lanes_s16", memory2, load_lanes_s16(x.memory + 8)) V("load_lanes_32", memory4, load_lanes_32(x.memory + 8)) W("load_lanes_64", memory8, load_lanes_64(x.memory + 8)) ENTRY("load_lanes_128", memory16, put_rows(x, load_lanes_128(x.memory + 16))) ENTRY("store_lanes_8", memory1, store_lanes_8(x.memory + 8, B)) ENTRY("store_lanes_16", memory2, store_lanes_16(x.memory + 8, B)) ENTRY("store_lanes_32", memory4, store_lanes_32(x.memory + 8, B)) ENTRY("store_lanes_64",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  memory8,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  store_lanes_64(x.memory + 8, B64)) ENTRY("store_lanes_128", memory16, store_lanes_128(x.memory + 16, get_rows(x))) V("load_lanes_32_masked",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       memory4,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       load_lanes_32(x.memory +
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         8,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     M0)) W("load_lanes_64_masked",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                            memory8, load_lanes_64(x.memory + 8, M0)) ENTRY("store_lanes_32_masked", memory4, store_lanes_32(x.memory + 8, B, M0)) ENTRY("store_lanes_64_masked",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         memory8,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         store_lanes_64(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                             x.memory +
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 8,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                             B64, M0))

// accesses whose inactive lanes lie past the end of memory; see the guard page test
#define EDGE(bytes) (x.memory + kMemoryBytes - (bytes))
                                                                                            V("edge"
                                                                                              "_loa"
                                                                                              "d_"
                                                                                              "lane"
                                                                                              "s_"
                                                                                              "32",
                                                                                              memory4,
                                                                                              load_lanes_32(
                                                                                                  EDGE(
                                                                                                      44),
                                                                                                  M0 &
                                                                                                      0x7ff))
                                                                                                W(
                                                                                                    "edge_"
                                                                                                    "load_"
                                                                                                    "lanes_"
                                                                                                    "64",
                                                                                                    memory8,
                                                                                                    load_lanes_64(EDGE(88), M0 & 0x7ff)) ENTRY("edge_store_lanes_32", memory4, store_lanes_32(EDGE(44), B, M0 & 0x7ff)) ENTRY("edge_store_lanes_64", memory8, store_lanes_64(EDGE(88), B64, M0 & 0x7ff)) V("edge_gather_u8",
                                                                                                                                                                                                                                                                                                           memory1, gather_u8(EDGE(11), lane_ids(), M0 & 0x7ff)) V("edge_gather_s16",
                                                                                                                                                                                                                                                                                                                                                                   memory2,
                                                                                                                                                                                                                                                                                                                                                                   gather_s16(
                                                                                                                                                                                                                                                                                                                                                                       EDGE(
                                                                                                                                                                                                                                                                                                                                                                           22),
                                                                                                                                                                                                                                                                                                                                                                       shl(lane_ids(),
                                                                                                                                                                                                                                                                                                                                                                           splat(
                                                                                                                                                                                                                                                                                                                                                                               1)),
                                                                                                                                                                                                                                                                                                                                                                       M0 & 0x7ff)) V("edge_gather_32",
                                                                                                                                                                                                                                                                                                                                                                                      memory4, gather_32(EDGE(44), shl(lane_ids(), splat(2)), M0 & 0x7ff)) W("edge_gather_64",
                                                                                                                                                                                                                                                                                                                                                                                                                                                             memory8, gather_64(EDGE(88), shl(lane_ids(), splat(3)), M0 & 0x7ff)) ENTRY("edge_gather_128",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                        memory16,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                        put_rows(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                            x, gather_128(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   EDGE(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       176),
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   shl(lane_ids(), splat(4)), M0 & 0x7ff))) V("ed"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "ge"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "_l"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "oa"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "d_"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "la"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "ne"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "s_"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "u"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "8",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              memory1,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              load_lanes_u8(EDGE(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  32))) V("edge_load_lanes_s16", memory2, load_lanes_s16(EDGE(64)))
                                                                                                    ENTRY("edge_load_lanes_128",
                                                                                                          memory16,
                                                                                                          put_rows(
                                                                                                              x,
                                                                                                              load_lanes_128(EDGE(
                                                                                                                  512)))) ENTRY("edge_store_lanes_8",
                                                                                                                                memory1,
                                                                                                                                store_lanes_8(
                                                                                                                                    EDGE(32),
                                                                                                                                    B))
                                                                                                        ENTRY(
                                                                                                            "edge_store_lanes_16",
                                                                                                            memory2,
                                                                                                            store_lanes_16(
                                                                                                                EDGE(
                                                                                                                    64),
                                                                                                                B))
                                                                                                            ENTRY(
                                                                                                                "edge_store_lanes_128",
                                                                                                                memory16,
                                                                                                                store_lanes_128(
                                                                                                                    EDGE(
                                                                                                                        512),
                                                                                                                    get_rows(
                                                                                                                        x)))};

}  // namespace

LaneTable SASSEMU_LANES_CAT(lane_table_, SASSEMU_LEVEL)() {
    return {kOps, sizeof kOps / sizeof kOps[0]};
}

}  // namespace lane_tests
