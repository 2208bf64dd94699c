// SPDX-License-Identifier: Apache-2.0
// DMMA: for each result a chain of fused multiply-adds in the order of k, each rounded as DFMA
// rounds (measured on an H200).
#include "emu/isa/matrix.hpp"

#include "emu/isa/float_modes.hpp"
#include "emu/isa/matrix_fragment.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// Layout of an Op: d, a, b, c rows
//   k[0] rounding   k[1] registers pairs of b (k / 4)   k[2] halves of eight rows
//   m[0..2] sign modifiers of a, b, c   m[3] bytes from one row of d, a, b, c to the next (0: RZ)

SASSEMU_INLINE V64 pair_at(const Warp& w, uint32_t at, uint32_t index, uint32_t step) {
    const uint32_t low = at + 2 * index * step;
    return L::load_pair(w.row(low), w.row(low + step));
}
template <class F>
SASSEMU_INLINE V64 both_words(V64 v, F&& f) {
    return L::make64(f(L::lo32(v)), f(L::hi32(v)));
}

const Op* multiply(const Op* op, Warp& w, uint32_t) {
    const uint32_t registers = op->k[1], halves = op->k[2];
    const auto step = [&](int i) { return op->m[3] >> (8 * i) & 0xff; };
    const bool with_c = accumulates(op, w);
    V64 sum[4];
    for (uint32_t i = 0; i < 2 * halves; ++i)
        sum[i] = !with_c ? L::splat64(0) : modify_number(pair_at(w, op->c, i, step(3)), op->m[2]);
    for (uint32_t r = 0; r < registers; ++r) {
        const V64 b = modify_number(pair_at(w, op->b, r, step(2)), op->m[1]);
        for (uint32_t half = 0; half < halves; ++half) {
            const V64 a = modify_number(pair_at(w, op->a, r * halves + half, step(1)), op->m[0]);
            for (uint32_t t = 0; t < 4; ++t) {
                const V64 at = both_words(a, [&](V32 v) { return of_group(v, t); });
                for (uint32_t p = 0; p < 2; ++p) {
                    const V64 bt = both_words(b, [&](V32 v) { return of_column(v, p, t); });
                    V64& s = sum[2 * half + p];
                    s = with_rounding(op->k[0],
                                      [&]<Rounding R>() { return L::dfma<R>(at, bt, s); });
                }
            }
        }
    }
    for (uint32_t i = 0; i < 2 * halves; ++i) {
        const uint32_t low = op->d + 2 * i * step(0);
        L::store_pair(w.row(low), w.row(low + step(0)), sum[i]);
    }
    return op + 1;
}

}  // namespace

void lower(Lower& x, const typed::Dmma& i) {
    using S = typed::DmmaShape;
    const unsigned halves = i.shape == S::M884 ? 1 : 2;
    unsigned registers;
    switch (i.shape) {
        case S::M884:
        case S::M16x8x4:
            registers = 1;
            break;
        case S::M16x8x8:
            registers = 2;
            break;
        case S::M16x8x16:
            registers = 4;
            break;
        default:
            return x.reject("DMMA with an invalid shape");
    }
    const unsigned count[4] = {4 * halves, 2 * registers * halves, 2 * registers, 4 * halves};
    const unsigned index[4] = {i.d.index, i.a.index, i.b.index, i.c.index};
    uint32_t* at[4] = {&x.op.d, &x.op.a, &x.op.b, &x.op.c};
    for (int o = 0; o < 4; ++o) {
        check_aligned(x, index[o], count[o]);
        *at[o] = o ? x.source_row(index[o], count[o]) : x.destination_row(index[o], count[o]);
        if (index[o] != SASSDEC_RZ) x.op.m[3] |= row_bytes << (8 * o);
    }
    const typed::Src* source[3] = {&i.a, &i.b, &i.c};
    for (int o = 0; o < 3; ++o)
        x.op.m[o] = (source[o]->abs ? modifier_abs : 0) | (source[o]->neg ? modifier_neg : 0);
    set_accumulates(x, i.pa);
    x.op.k[0] = static_cast<uint8_t>(i.rnd);
    x.op.k[1] = static_cast<uint8_t>(registers);
    x.op.k[2] = static_cast<uint8_t>(halves);
    matrix_handler(x, multiply);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
