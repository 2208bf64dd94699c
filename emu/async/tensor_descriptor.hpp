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
    // Why there is no such matrix; null if there is.
    static const char* refusal(uint64_t descriptor, bool mn_major, bool elements_of_32_bits);

    // The offset of a chunk: of 16 bytes of row `mn`, `chunk` counting along k, or of the elements
    // with one k, `chunk` counting along m or n. Below 2^24 for what an instruction can have of
    // either.
    uint32_t k_major(uint32_t mn, uint32_t chunk) const {
        return place(mn % 8 * (16 * span_) + mn / 8 * stride_ + chunk % span_ * 16 +
                     chunk / span_ * leading_);
    }
    uint32_t mn_major(uint32_t chunk, uint32_t k) const {
        const uint32_t row = k % group_ * (16 * span_);
        if (span_ == 1) return place(chunk * stride_ + row + k / group_ * leading_);
        return place(chunk % span_ * 16 + chunk / span_ * leading_ + row + k / group_ * stride_);
    }

  private:
    uint32_t place(uint32_t at) const { return swizzle_(start_ + at, pattern_); }

    uint32_t start_, leading_, stride_, pattern_;
    uint32_t span_ = 1;   // chunks that the swizzle exchanges
    uint32_t group_ = 8;  // spans of an MN-major matrix in a row
    Swizzle swizzle_;
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

    uint32_t in_chunk() const { return 128 / container; }
    uint32_t bytes() const {
        return in_chunk() * bits / 8;
    }  // of a chunk; what is behind them is padding
};

// An instruction descriptor of a kind, as far as it is supported.
struct TensorInstruction {
    uint32_t m = 0, n = 0, k = 0;
    TensorElements a, b;
    bool half = false;       // D is f16
    bool saturates = false;  // integers

    // Null, or what is wrong with it.
    const char* read(TensorKind, uint32_t descriptor);

    // The lane of a row of A or D, from the lane of their address on: M = 64 has the first or
    // second half of each quarter.
    uint32_t lane(uint32_t row) const { return m == 128 ? row : row / 16 * 32 + row % 16; }
};

}  // namespace sassemu::async
