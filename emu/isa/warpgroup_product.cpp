// SPDX-License-Identifier: Apache-2.0
// The sums of HGMMA, QGMMA, IGMMA and BGMMA at one host level: operands in chunks of 16 bytes, as
// async/ has collected them, accumulators and results in register rows. When they are made is
// async/'s, too.
#include "emu/isa/matrix_fragment.hpp"
#include "emu/isa/warpgroup.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

using lanes::WarpgroupKind;
using lanes::WarpgroupProduct;

// Eight rows or columns of a chunk: lane 4 * g + t has word t of number g, as in a fragment.
SASSEMU_INLINE V32 eight(const uint32_t (*chunks)[4], bool is_transposed) {
    const V32 v = L::load(*chunks);
    return is_transposed ? transposed(v) : v;
}

// Elements of floats, of which a word has `each`, and where unpack() leaves element k.
constexpr unsigned each_word(MatrixFormat f) {
    return f == MatrixFormat::tf32 ? 1 : f == MatrixFormat::f16 || f == MatrixFormat::bf16 ? 2 : 4;
}
constexpr unsigned unpacked(unsigned k, unsigned each) {
    return k / (4 * each) * (4 * each) + k % each * 4 + k / each % 4;
}

// Sixteen rows of A. Where it is sparse they are expanded, or stay as they are stored where
// metadata is irregular.
void take_rows(const WarpgroupProduct& p, unsigned w, MatrixTile& tile) {
    const unsigned each = each_word(p.format_a), stored = 8 * each;
    const uint32_t sign = !p.negates  ? 0
                          : each == 1 ? 1u << 31
                          : each == 2 ? 0x80008000u
                                      : 0x80808080u;
    tile.sparse = p.sparse && !p.irregular;
    tile.k = tile.sparse ? 2 * stored : stored;
    for (unsigned half = 0; half < 2; ++half) {
        const unsigned first = 16 * w + 8 * half;
        alignas(128) uint32_t rows[32][8];
        uint32_t(*const to)[8] = tile.sparse ? rows : tile.a[half];
        for (unsigned c = 0; c < 2; ++c)
            unpack(to[c * 4 * each], L::xor_(eight(&p.a[c][first], p.transposed_a), L::splat(sign)),
                   each);
        if (!tile.sparse) continue;
        std::memset(tile.a[half], 0, tile.k * sizeof tile.a[half][0]);
        for (unsigned row = 0; row < 8; ++row) {
            tile.present[half][row] = 0;
            for (unsigned i = 0; i < stored; ++i) {
                const unsigned k = unpacked(p.places[first + row][i][0] / 2u, each);
                tile.a[half][k][row] = rows[unpacked(i, each)][row];
                tile.present[half][row] |= uint64_t{1} << k;
            }
        }
    }
}
// Eight columns of B.
void take_columns(const WarpgroupProduct& p, unsigned j, MatrixColumns& columns) {
    const unsigned each = each_word(p.format_b), chunks = p.sparse ? 4 : 2;
    columns.k = chunks * 4 * each;
    for (unsigned c = 0; c < chunks; ++c)
        unpack(columns.row[c * 4 * each], eight(&p.b[c][8 * j], p.transposed_b), each);
}

template <bool Half>
void load(const WarpgroupProduct& p, unsigned w, unsigned j, MatrixTile& tile) {
    if (p.accumulate)
        load_accumulator<Half>(tile, p.c[w] + j * (Half ? 2 : 4) * 32);
    else
        std::memset(tile.c, 0, sizeof tile.c);
}
template <bool Half>
void store(const WarpgroupProduct& p, unsigned w, unsigned j, const MatrixTile& tile) {
    store_accumulator<Half>(tile, p.d[w] + j * (Half ? 2 : 4) * 32);
}

template <bool Half>
void floats(const WarpgroupProduct& p) {
    MatrixTile tile[WarpgroupProduct::warps];
    L::MatrixLeft left[WarpgroupProduct::warps];
    for (unsigned w = 0; w < WarpgroupProduct::warps; ++w) {
        take_rows(p, w, tile[w]);
        L::matrix_prepare(tile[w], p.format_a, p.rule, left[w]);
    }
    MatrixColumns columns;
    L::MatrixRight right;
    for (unsigned j = 0; j < p.n / 8; ++j) {
        take_columns(p, j, columns);
        L::matrix_prepare(columns, p.format_b, p.rule, right);
        for (unsigned w = 0; w < WarpgroupProduct::warps; ++w) {
            load<Half>(p, w, j, tile[w]);
            L::matrix_multiply(tile[w], left[w], columns, right, p.format_a, p.format_b, p.rule,
                               tile[w].k);
            store<Half>(p, w, j, tile[w]);
        }
    }
}

// Each row meets other columns: one after the other.
template <bool Half>
void irregular_floats(const WarpgroupProduct& p) {
    const bool halves = p.format_b == MatrixFormat::tf32;
    const unsigned each = each_word(p.format_a);
    MatrixTile tile;
    MatrixColumns columns, met;
    L::MatrixLeft left;
    L::MatrixRight right;
    for (unsigned w = 0; w < WarpgroupProduct::warps; ++w) {
        take_rows(p, w, tile);
        met.k = tile.k;
        L::matrix_prepare(tile, p.format_a, p.rule, left);
        for (unsigned j = 0; j < p.n / 8; ++j) {
            take_columns(p, j, columns);
            uint32_t before[4][32], after[4][32];
            load<Half>(p, w, j, tile);
            std::memcpy(before, tile.c, sizeof before);
            for (unsigned row = 0; row < 16; ++row) {
                for (unsigned i = 0; i < tile.k; ++i) {
                    const uint8_t* from = p.places[16 * w + row][i];
                    uint32_t* to = met.row[unpacked(i, each)];
                    for (unsigned n = 0; n < 8; ++n) {
                        const auto half = [&](unsigned at) {
                            return columns.row[unpacked(at / 2, each)][n] >> (at % 2 * 16) & 0xffff;
                        };
                        to[n] = halves ? half(from[0]) | half(from[1]) << 16
                                       : columns.row[unpacked(from[0] / 2u, each)][n];
                    }
                }
                L::matrix_prepare(met, p.format_b, p.rule, right);
                std::memcpy(tile.c, before, sizeof before);
                L::matrix_multiply(tile, left, met, right, p.format_a, p.format_b, p.rule, tile.k);
                for (unsigned t = 0; t < 4; ++t)
                    for (unsigned odd = 0; odd < 2; ++odd) {
                        const unsigned at = row / 8 * 2 + odd;
                        after[at][8 * t + row % 8] = tile.c[at][8 * t + row % 8];
                    }
            }
            std::memcpy(tile.c, after, sizeof after);
            store<Half>(p, w, j, tile);
        }
    }
}

// Bytes 0 and 2, or 1 and 3, as numbers of 16 bits.
SASSEMU_INLINE V32 pair(V32 v, bool odd, bool is_signed) {
    const V32 two = L::and_(L::shr(v, L::splat(odd ? 8 : 0)), L::splat(0x00ff00ff));
    if (!is_signed) return two;
    const V32 signs = L::and_(two, L::splat(0x00800080));
    return L::or_(two, L::sub(L::shl(signs, L::splat(9)), L::shl(signs, L::splat(1))));
}

// A group of four words of eight rows, and of eight columns.
SASSEMU_INLINE void put_left(WarpgroupProduct& p, unsigned row, unsigned group, V32 v) {
    for (unsigned t = 0; t < 4; ++t)
        L::store(p.left[row / 16][row / 8 % 2][4 * group + t], of_group(v, t));
}
SASSEMU_INLINE void put_right(WarpgroupProduct& p, unsigned j, unsigned group, V32 v) {
    const V32 l = L::lane_ids(), q = L::and_(l, L::splat(3));
    const V32 t = L::and_(L::shr(l, L::splat(2)), L::splat(3)), odd = L::shr(l, L::splat(4));
    const V32 from = L::add(L::add(L::shl(q, L::splat(3)), L::shl(odd, L::splat(2))), t);
    L::store(p.right[j][group][0][0], L::permute(v, from));
}
// Words as they are, but for the bits of `flip`.
unsigned whole_words(WarpgroupProduct& p, uint32_t flip_a, uint32_t flip_b) {
    for (unsigned c = 0; c < 2; ++c) {
        for (unsigned row = 0; row < WarpgroupProduct::rows; row += 8)
            put_left(p, row, c, L::xor_(L::load(p.a[c][row]), L::splat(flip_a)));
        for (unsigned j = 0; j < p.n / 8; ++j)
            put_right(p, j, c, L::xor_(L::load(p.b[c][8 * j]), L::splat(flip_b)));
    }
    return 2;
}
// Elements of 16 bits; of a sparse A those that meet the same one of B are added up.
unsigned pairs(WarpgroupProduct& p) {
    const unsigned chunks = p.sparse ? 4 : 2;
    for (unsigned odd = 0; odd < 2; ++odd)
        for (unsigned c = 0; c < chunks; ++c) {
            const unsigned group = odd * chunks + c;
            for (unsigned j = 0; j < p.n / 8; ++j)
                put_right(p, j, group, pair(L::load(p.b[c][8 * j]), odd, p.signed_b));
            for (unsigned row = 0; row < WarpgroupProduct::rows && !p.sparse; row += 8)
                put_left(p, row, group, pair(L::load(p.a[c][row]), odd, p.signed_a));
        }
    for (unsigned row = 0; row < WarpgroupProduct::rows && p.sparse; ++row) {
        uint16_t sums[64] = {};
        for (unsigned i = 0; i < 32; ++i) {
            const uint32_t byte = p.a[i / 16][row][i / 4 % 4] >> i % 4 * 8 & 0xff;
            sums[p.places[row][i][0] / 2] +=
                static_cast<uint16_t>(p.signed_a && byte & 0x80 ? byte | 0xff00 : byte);
        }
        uint32_t(*const to)[32] = p.left[row / 16][row / 8 % 2];
        for (unsigned odd = 0; odd < 2; ++odd)
            for (unsigned i = 0; i < 16; ++i)
                for (unsigned t = 0; t < 4; ++t)
                    to[odd * 16 + i][row % 8 * 4 + t] =
                        sums[4 * i + odd] | uint32_t{sums[4 * i + odd + 2]} << 16;
    }
    return 2 * chunks;
}

SASSEMU_INLINE void store_integers(const WarpgroupProduct& p, unsigned w, unsigned half, unsigned j,
                                   unsigned odd, V32 sum) {
    const size_t at = (4 * j + 2 * half + odd) * size_t{32};
    const V32 c = p.accumulate ? L::load(p.c[w] + at) : L::splat(0);
    L::store(p.d[w] + at, accumulate(sum, c, p.saturate));
}
template <class Add>
void words(const WarpgroupProduct& p, unsigned groups, Add&& add) {
    for (unsigned w = 0; w < WarpgroupProduct::warps; ++w)
        for (unsigned j = 0; j < p.n / 8; ++j)
            for (unsigned half = 0; half < 2; ++half) {
                V32 sum[2] = {L::splat(0), L::splat(0)};
                for (unsigned i = 0; i < 4 * groups; ++i) {
                    const V32 a = L::load(p.left[w][half][i]);
                    for (unsigned odd = 0; odd < 2; ++odd)
                        sum[odd] = add(a, L::load_quad(p.right[j][i / 4][odd][i % 4]), sum[odd]);
                }
                for (unsigned odd = 0; odd < 2; ++odd) store_integers(p, w, half, j, odd, sum[odd]);
            }
}
void bits(WarpgroupProduct& p) {
    words(p, whole_words(p, 0, 0),
          [](V32 a, V32 b, V32 sum) { return L::add(sum, L::popc(L::and_(a, b))); });
}
void integers(WarpgroupProduct& p) {
#if SASSEMU_LANES_LEVEL == 4
    if (L::has_dot_bytes() && !p.sparse) {
        // The left operand is (A + a), the right one (B - b), where a and b are 128 or 0:
        // A B = (A + a) (B - b) + b (A + a) - a (B - b) - a b
        constexpr uint32_t signs = 0x80808080u;
        const uint32_t a = p.signed_a ? 128 : 0, b = p.signed_b ? 0 : 128;
        whole_words(p, a ? signs : 0, b ? signs : 0);
        alignas(64) uint32_t begin[WarpgroupProduct::max_n / 8][2][4];
        L::sum_columns(p.right, p.n / 8, 0 - a, begin);
        for (unsigned w = 0; w < WarpgroupProduct::warps; ++w)
            for (unsigned half = 0; half < 2; ++half)
                L::dot_bytes(p.left[w][half], p.right, p.n / 8, b, 0 - 32 * a * b, begin,
                             [&](unsigned j, unsigned odd, V32 sum) {
                                 store_integers(p, w, half, j, odd, sum);
                             });
        return;
    }
#endif
    words(p, pairs(p), [](V32 a, V32 b, V32 sum) { return L::dp_16x2(a, b, sum); });
}

}  // namespace

void warpgroup_sums(WarpgroupProduct& p) {
    if (p.kind == WarpgroupKind::integers)
        integers(p);
    else if (p.kind == WarpgroupKind::bits)
        bits(p);
    else if (p.sparse && p.irregular)
        p.half ? irregular_floats<true>(p) : irregular_floats<false>(p);
    else
        p.half ? floats<true>(p) : floats<false>(p);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
