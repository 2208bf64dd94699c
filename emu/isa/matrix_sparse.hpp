// SPDX-License-Identifier: Apache-2.0
// Sparse A operands (.SP): two of four elements in a row are stored, of tf32 one of two, of nibbles
// two of four pairs, and metadata says which. What is stored is put where it belongs among zeros;
// MatrixTile::present remembers it. Metadata that names an element out of order or twice is
// undefined in the PTX ISA; an H200 multiplies what is stored with the elements of b that it names,
// of tf32 with halves of two (not modelled).
#pragma once

#include "emu/isa/matrix_fragment.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

// The four bits of metadata for group q of four elements (two of tf32) in row 8 * half + g: a
// nibble of a lane of the row's lane group, lanes counted from the selector's share (PTX ISA,
// "Sparse matrix storage"; the order as measured on an H200). Of elements of 16 and 32 bits a lane
// has four groups of row g in its low half and of row g + 8 in its high half; of bytes, and of
// pairs of nibbles, it has eight groups of one row.
SASSEMU_INLINE uint32_t metadata(const uint32_t* row, uint32_t selector, uint32_t groups,
                                 bool bytes, uint32_t half, uint32_t g, uint32_t q) {
    const uint32_t lane = bytes ? 2 * selector + q / 8 * 2 + half : selector * (groups / 4) + q / 4;
    const uint32_t nibble = bytes ? q % 8 : 4 * half + q % 4;
    return row[4 * g + lane % 4] >> (4 * nibble) & 15;
}
// Where in b's registers element k is: of `each` elements per word, the working order of unpack().
SASSEMU_INLINE uint32_t place_of(uint32_t k, uint32_t each) {
    return k / (4 * each) * 4 * each + k % each * 4 + k / each % 4;
}

// Calls f(half, g, k, word, element) for every stored element, k the column of A that it belongs
// to.
template <class F>
SASSEMU_INLINE void each_stored(const Warp& w, const Op* op, unsigned registers, unsigned each,
                                F&& f) {
    const uint32_t* meta = w.row(op->e);
    const unsigned slots = registers / 2;
    const bool one_of_two = each == 1, pairs = each == 8;
    const unsigned groups = one_of_two ? slots * 4 : slots * 4 * each / 2;
    for (unsigned r = 0; r < registers; ++r) {
        const unsigned half = r & 1, slot = r >> 1;
        const uint32_t* words = w.row(op->a + r * row_bytes);
        for (unsigned lane = 0; lane < 32; ++lane) {
            const unsigned g = lane / 4, t = lane % 4;
            for (unsigned e = 0; e < each; ++e) {
                const unsigned stored = (slot * 4 + t) * each + e;
                const unsigned unit =
                    pairs ? stored / 2 : stored;  // what two bits of metadata place
                const unsigned q = one_of_two ? unit : unit / 2;
                const uint32_t bits = metadata(meta, op->k[0], groups, each >= 4, half, g, q);
                const unsigned at =
                    one_of_two ? 2 * q + (bits >> 3) : 4 * q + (bits >> (2 * (unit & 1)) & 3);
                const unsigned k = pairs ? 2 * at + (stored & 1) : at;
                f(half, g, k, words[lane], e);
            }
        }
    }
}

// An element that is named a second time goes to a copy of b after the first. True if there is one.
// `shift`: where elements begin in their part of a word.
inline bool expand_sparse(MatrixTile& tile, MatrixColumns& b, const Warp& w, const Op* op,
                          unsigned registers, unsigned each, unsigned shift = 0) {
    const unsigned room = 2 * tile.k <= MatrixTile::max_k ? 2 * tile.k : tile.k;
    bool twice = false;
    tile.sparse = true;
    std::memset(tile.present, 0, sizeof tile.present);
    for (auto& half : tile.a) std::memset(half, 0, room * sizeof half[0]);
    const unsigned width = 32 / each;
    const uint32_t mask = each == 1 ? ~0u : (1u << width) - 1;
    each_stored(w, op, registers, each,
                [&](unsigned half, unsigned g, unsigned k, uint32_t word, unsigned e) {
                    unsigned at = place_of(k, each);
                    if (tile.present[half][g] >> at & 1 && room > tile.k) {
                        at += tile.k;
                        twice = true;
                    }
                    tile.a[half][at][g] = word >> (width * e + shift) & mask;
                    tile.present[half][g] |= uint64_t{1} << at;
                });
    if (!twice) return false;
    std::memcpy(b.row[tile.k], b.row[0], tile.k * sizeof b.row[0]);
    tile.k = b.k = room;
    return true;
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
