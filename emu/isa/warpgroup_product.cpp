// SPDX-License-Identifier: Apache-2.0
// The sums of HGMMA, QGMMA, IGMMA and BGMMA at one host level: operands as async/ has taken them
// apart, accumulators and results in register rows. When they are made is async/'s, too.
#include "emu/isa/matrix_fragment.hpp"
#include "emu/isa/warpgroup.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

using lanes::WarpgroupKind;
using lanes::WarpgroupProduct;

template <bool Half>
void floats(WarpgroupProduct& p) {
    constexpr unsigned registers = Half ? 2 : 4;
    L::MatrixLeft left[WarpgroupProduct::warps];
    for (unsigned w = 0; w < WarpgroupProduct::warps; ++w)
        L::matrix_prepare(p.left[w], p.a, left[w]);
    for (unsigned j = 0; j < p.n / 8; ++j) {
        L::MatrixRight right;
        L::matrix_prepare(p.right[j], p.b, right);
        for (unsigned w = 0; w < WarpgroupProduct::warps; ++w) {
            MatrixTile& tile = p.left[w];
            if (p.accumulate)
                load_accumulator<Half>(tile, p.c[w] + j * registers * 32);
            else
                std::memset(tile.c, 0, sizeof tile.c);
            L::matrix_multiply(tile, left[w], p.right[j], right, p.a, p.b, p.rule, tile.k);
            store_accumulator<Half>(tile, p.d[w] + j * registers * 32);
        }
    }
}

// Each row meets other columns: one after the other.
template <bool Half>
void irregular_floats(WarpgroupProduct& p) {
    constexpr unsigned registers = Half ? 2 : 4;
    const bool halves = p.b == MatrixFormat::tf32;
    MatrixColumns met;
    L::MatrixLeft left;
    L::MatrixRight right;
    for (unsigned w = 0; w < WarpgroupProduct::warps; ++w) {
        MatrixTile& tile = p.left[w];
        met.k = tile.k;
        L::matrix_prepare(tile, p.a, left);
        for (unsigned j = 0; j < p.n / 8; ++j) {
            uint32_t before[4][32], after[4][32];
            std::memset(tile.c, 0, sizeof tile.c);
            if (p.accumulate) load_accumulator<Half>(tile, p.c[w] + j * registers * 32);
            std::memcpy(before, tile.c, sizeof before);
            for (unsigned row = 0; row < 16; ++row) {
                for (unsigned i = 0; i < tile.k; ++i) {
                    const uint8_t* from = p.meets[16 * w + row][i];
                    for (unsigned n = 0; n < 8; ++n) {
                        const auto half = [&](unsigned at) {
                            return p.right[j].row[at / 2][n] >> (at % 2 * 16) & 0xffff;
                        };
                        met.row[i][n] = halves ? half(from[0]) | half(from[1]) << 16
                                               : p.right[j].row[from[0] / 2][n];
                    }
                }
                L::matrix_prepare(met, p.b, right);
                std::memcpy(tile.c, before, sizeof before);
                L::matrix_multiply(tile, left, met, right, p.a, p.b, p.rule, tile.k);
                for (unsigned t = 0; t < 4; ++t)
                    for (unsigned odd = 0; odd < 2; ++odd) {
                        const unsigned at = row / 8 * 2 + odd;
                        after[at][8 * t + row % 8] = tile.c[at][8 * t + row % 8];
                    }
            }
            std::memcpy(tile.c, after, sizeof after);
            store_accumulator<Half>(tile, p.d[w] + j * registers * 32);
        }
    }
}

struct Integers {
    static SASSEMU_INLINE V32 add(V32 a, V32 b, V32 sum) { return L::dp_16x2(a, b, sum); }
};
struct Bits {
    static SASSEMU_INLINE V32 add(V32 a, V32 b, V32 sum) {
        return L::add(sum, L::popc(L::and_(a, b)));
    }
};
template <class P>
void integers(WarpgroupProduct& p) {
    for (unsigned w = 0; w < WarpgroupProduct::warps; ++w)
        for (unsigned j = 0; j < p.n / 8; ++j)
            for (unsigned half = 0; half < 2; ++half) {
                V32 sum[2] = {L::splat(0), L::splat(0)};
                for (unsigned k = 0; k < p.k; ++k) {
                    const V32 a = L::load(p.rows[w][half][k]);
                    for (unsigned odd = 0; odd < 2; ++odd)
                        sum[odd] = P::add(a, L::load_quad(p.columns[j][odd][k]), sum[odd]);
                }
                const size_t at = (4 * j + 2 * half) * 32;
                for (unsigned odd = 0; odd < 2; ++odd) {
                    const V32 c = p.accumulate ? L::load(p.c[w] + at + 32 * odd) : L::splat(0);
                    L::store(p.d[w] + at + 32 * odd, accumulate(sum[odd], c, p.saturate));
                }
            }
}

}  // namespace

void warpgroup_sums(WarpgroupProduct& p) {
    if (p.kind == WarpgroupKind::integers)
        integers<Integers>(p);
    else if (p.kind == WarpgroupKind::bits)
        integers<Bits>(p);
    else if (p.irregular)
        p.half ? irregular_floats<true>(p) : irregular_floats<false>(p);
    else
        p.half ? floats<true>(p) : floats<false>(p);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
