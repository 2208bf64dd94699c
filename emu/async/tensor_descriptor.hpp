// SPDX-License-Identifier: Apache-2.0
// What the descriptors of the fifth generation's tensor core say: the matrix descriptor, where a
// matrix lies in shared memory, and the instruction descriptor, what is multiplied (PTX ISA,
// "Matrix descriptors").
#pragma once

#include <cstdint>

#include "emu/async/swizzle.hpp"
#include "emu/async/tensor_core.hpp"
#include "emu/lanes/matrix.hpp"

namespace sassemu::async {

// A matrix in shared memory. It consists of chunks of 16 bytes, neighbours along k (K-major) or
// along m or n (MN-major); the swizzle moves whole chunks only.
class SharedMatrix {
  public:
    explicit SharedMatrix(uint64_t descriptor);
    // The descriptors of wgmma (sm_90a) have the same fields, a swizzle mode of two bits at their
    // end and no others that count.
    static SharedMatrix of_warpgroup(uint64_t descriptor) {
        return SharedMatrix(descriptor & 0xc00e3fff3fff3fffull);
    }
    // Why there is no such matrix; null if there is. `absolute`: the leading dimension may be an
    // address (rows of 48 bytes).
    static const char* refusal(uint64_t descriptor, bool mn_major, bool elements_of_32_bits,
                               bool absolute = false);

    // The offset of a chunk: of 16 bytes of row `mn`, `chunk` counting along k, or of the elements
    // with one k, `chunk` counting along m or n. Below 2^24 for what an instruction can have of
    // either.
    uint32_t k_major(uint32_t mn, uint32_t chunk) const {
        const uint32_t row = (mn % 8 * 16 << span_) + mn / 8 * stride_;
        // What is behind the 128 bytes of a span lies from the leading address on.
        if (const uint32_t at = start_ % 128 + chunk * 16; absolute_ && at >= 128)
            return swizzle_(leading_ + row + at % 128, pattern_);
        return place(row + (chunk & last()) * 16 + (chunk >> span_) * leading_);
    }
    // No less than where the last of `rows` (a multiple of 8) and of `chunks` can end.
    uint32_t end_k_major(uint32_t rows, uint32_t chunks) const {
        const uint32_t row = (7 * 16 << span_) + (rows / 8 - 1) * stride_;
        const uint32_t along_k = last() * 16 + ((chunks - 1) >> span_) * leading_;
        return start_ + row + along_k + swizzle_.bits + 16;
    }
    uint32_t mn_major(uint32_t chunk, uint32_t k) const {
        const uint32_t row = (k & ((1u << group_) - 1)) * 16 << span_;
        if (!span_) return place(chunk * stride_ + row + (k >> group_) * leading_);
        return place((chunk & last()) * 16 + (chunk >> span_) * leading_ + row +
                     (k >> group_) * stride_);
    }

  private:
    uint32_t place(uint32_t at) const { return swizzle_(start_ + at, pattern_); }
    uint32_t last() const { return (1u << span_) - 1; }

    uint32_t start_, leading_, stride_, pattern_;
    // Logarithms: of the chunks that the swizzle exchanges, and of the spans of an MN-major matrix
    // in a row.
    uint32_t span_ = 0, group_ = 3;
    Swizzle swizzle_;
    bool absolute_ = false;  // the leading dimension is an address
};

// How the elements of A or B lie in a chunk, and in a cell of tensor memory.
struct TensorElements {
    lanes::MatrixFormat format = lanes::MatrixFormat::f16;
    bool is_signed = false;   // integers
    uint32_t bits = 16;       // of one
    uint32_t container = 16;  // bits from one to the next in tensor memory
    uint32_t shift = 0;       // where they begin in it
    bool transposed = false;  // MN-major
    bool negated = false;
    uint32_t k = 0;  // of a row or column, as stored

    uint32_t in_chunk() const { return 128 / container; }
    uint32_t bytes() const {
        return in_chunk() * bits / 8;
    }  // of a chunk; what is behind them is padding
};

// What an instruction says, as its descriptor and its modifiers have it.
struct TensorInstruction {
    uint32_t m = 0, n = 0, k = 0;  // of the whole product
    TensorElements a, b;
    bool half = false;       // D is f16
    bool saturates = false;  // integers
    bool sparse = false;
    uint32_t selector = 0;              // of metadata
    uint32_t most_shift = 0;            // of columns (.ws)
    uint32_t scale_a = 0, scale_b = 0;  // bytes from which on a word of scales has them
    uint32_t vectors = 0;               // scales of a row or column
    bool ue4m3 = false;                 // they are, else ue8m0

    // Null, or what is wrong with it on an architecture.
    const char* read(const Multiply&, uint32_t sm);

    // Rows of A and D, and columns of B, that one CTA has.
    uint32_t rows = 0, columns = 0;

    // Where D lies in the tensor memory of a CTA (PTX ISA, "Data path layout organization"): rows
    // in lanes in a row, or the first or second half of each quarter (`spread`), and its columns in
    // 1, 2 or 4 banks one below the other.
    uint32_t banks = 1;
    bool spread = false;
    uint32_t bank_columns() const { return n / banks; }
    // The lane of a row, from the lane of the address on.
    uint32_t lane(uint32_t row, uint32_t bank) const {
        return spread ? row / 16 * 32 + row % 16 : bank * rows + row;
    }
    // Columns of tensor memory.
    uint32_t a_columns() const { return a.k * a.container / 32; }
    // The word of a row's metadata, or of the 8 lanes from the row's on, that has group `group`,
    // its lane counted from that of row 0 of the 16, and the nibble.
    struct Place {
        uint32_t lane, column, nibble;
    };
    bool metadata_by_bytes() const { return a.container <= 8; }
    uint32_t metadata_columns() const { return metadata_by_bytes() ? 2 : 1; }
    Place metadata(uint32_t row, uint32_t group) const {
        if (metadata_by_bytes()) return {row, group / 8, group % 8};
        return {row % 8 + group / 4 * 8, selector, row / 8 * 4 + group % 4};
    }
    uint32_t metadata_groups() const { return metadata_by_bytes() ? 16 : 8; }
    // Columns of scales: of A from `rows` on, of B from bank_columns() or columns on.
    static uint32_t scale_columns(uint32_t count, uint32_t first, uint32_t vectors) {
        return scale_word(count, first + vectors - 1) + (count + 31) / 32;
    }
    // Where the word with byte `byte` of the scales of `count` rows is, in columns.
    static uint32_t scale_word(uint32_t count, uint32_t byte) {
        return byte / 4 * ((count + 127) / 128 * 4);
    }
};

// Which columns of B a weight-stationary product takes as zeros, and where the others come from
// (PTX ISA, "Zero-column mask descriptor").
class ZeroColumns {
  public:
    ZeroColumns(uint64_t descriptor, uint32_t bank_columns)
        : bits_(descriptor), bank_columns_(bank_columns) {}
    static const char* refusal(uint64_t descriptor, const TensorInstruction&);
    uint32_t shift() const { return static_cast<uint32_t>(bits_ >> 56 & 63); }
    bool zero(uint32_t column) const;

  private:
    uint64_t bits_;
    uint32_t bank_columns_;
};

}  // namespace sassemu::async
