// SPDX-License-Identifier: Apache-2.0
#include "emu/async/tensor_descriptor.hpp"

#include <algorithm>

namespace sassemu::async {
namespace {

constexpr uint32_t field(uint64_t word, uint32_t at, uint32_t bits) {
    return static_cast<uint32_t>(word >> at & ((uint64_t{1} << bits) - 1));
}

enum SwizzleMode : uint32_t { none = 0, chunks_of_32 = 1, span_128 = 2, span_64 = 4, span_32 = 6 };

// Element types of the instruction descriptor.
bool read_type(TensorKind kind, uint32_t type, TensorElements& e) {
    using F = lanes::MatrixFormat;
    const auto of = [&](F format, uint32_t bits, uint32_t container, uint32_t shift = 0) {
        e.format = format, e.bits = bits, e.container = container, e.shift = shift;
        return true;
    };
    switch (kind) {
        case TensorKind::f16:
            if (type == 0) return of(F::f16, 16, 16);
            return type == 1 && of(F::bf16, 16, 16);
        case TensorKind::tf32:
            return type == 2 && of(F::tf32, 32, 32);
        case TensorKind::i8:
            e.is_signed = type == 1;
            return type < 2 && of(F::e4m3, 8, 8);
        case TensorKind::f8f6f4:
        case TensorKind::mxf8f6f4:
            switch (type) {
                case 0:
                    return of(F::e4m3, 8, 8);
                case 1:
                    return of(F::e5m2, 8, 8);
                case 3:
                    return of(F::e2m3, 6, 8);
                case 4:
                    return of(F::e3m2, 6, 8);
                case 5:
                    return of(F::e2m1, 4, 8, 2);
            }
            return false;
        case TensorKind::mxf4:
            return type == 1 && of(F::e2m1, 4, 4);
    }
    return false;
}

constexpr bool scaled(TensorKind kind) {
    return kind == TensorKind::mxf8f6f4 || kind == TensorKind::mxf4;
}

}  // namespace

SharedMatrix::SharedMatrix(uint64_t d)
    : start_(field(d, 0, 14) << 4),
      leading_(field(d, 16, 14) << 4),
      stride_(field(d, 32, 14) << 4),
      pattern_(field(d, 49, 3) << 7),
      absolute_(field(d, 52, 1)) {
    switch (field(d, 61, 3)) {
        case chunks_of_32:
            span_ = 3, group_ = 2, swizzle_ = swizzle_of_32;
            break;
        case span_128:
            span_ = 3, swizzle_ = swizzle_of_16(3);
            break;
        case span_64:
            span_ = 2, swizzle_ = swizzle_of_16(2);
            break;
        case span_32:
            span_ = 1, swizzle_ = swizzle_of_16(1);
            break;
        default:
            break;
    }
}

const char* SharedMatrix::refusal(uint64_t d, bool mn_major, bool elements_of_32_bits,
                                  bool absolute) {
    if (field(d, 14, 2) || field(d, 30, 2)) return "reserved bits of a matrix descriptor are set";
    if (field(d, 46, 3) != 1) return "bits 48..46 of a matrix descriptor are not 0b001";
    if (field(d, 52, 1) &&
        (!absolute || field(d, 61, 3) != span_128 || field(d, 16, 14) * 16 % 128))
        return "an absolute leading dimension in a matrix descriptor (bit 52) needs K of 96, the "
               "swizzle of 128 bytes and an address that 128 divides";
    if (field(d, 53, 8)) return "bits 60..53 of a matrix descriptor are not zero";
    const uint32_t mode = field(d, 61, 3);
    if (mode == 3 || mode == 5 || mode == 7)
        return "a matrix descriptor has an invalid swizzle mode";
    if (mn_major && elements_of_32_bits && mode != chunks_of_32)
        return "a transposed matrix of 32-bit elements needs the swizzle of 128 bytes with chunks "
               "of 32";
    if (mn_major && !elements_of_32_bits && mode == chunks_of_32)
        return "the swizzle with chunks of 32 bytes has no transposed matrices but those of 32-bit "
               "elements";
    return nullptr;
}

const char* TensorInstruction::read(const Multiply& x, uint32_t sm) {
    const uint32_t d = x.instruction;
    const bool integers = x.kind == TensorKind::i8, nibbles = x.kind == TensorKind::mxf4;
    const bool by_blocks = scaled(x.kind);
    using F = lanes::MatrixFormat;
    sparse = field(d, 2, 1);
    if (!read_type(x.kind, field(d, 7, 3), a))
        return "an instruction descriptor has an invalid type of A";
    if (!read_type(x.kind, field(d, 10, nibbles ? 2 : 3), b))
        return "an instruction descriptor has an invalid type of B";
    a.negated = field(d, 13, 1), b.negated = field(d, 14, 1);
    a.transposed = field(d, 15, 1), b.transposed = field(d, 16, 1);
    n = field(d, 17, 6) << 3;
    bool wide = false;
    if (by_blocks) {
        if (field(d, 0, 2) || field(d, 3, 1) || field(d, 6, 1) || field(d, 24, 3) ||
            (nibbles ? field(d, 12, 1) : field(d, 31, 1)))
            return "reserved bits of an instruction descriptor are set";
        m = field(d, 27, 2) << 7;
        wide = nibbles && field(d, 31, 1);
        scale_a = field(d, 29, 2), scale_b = field(d, 4, 2);
        ue4m3 = !field(d, 23, 1);
        if (ue4m3 && !(nibbles && x.block16))
            return "an instruction descriptor has UE4M3 scales in a kind other than mxf4nvf4 with "
                   "blocks of 16";
        if (wide && (sm < 103 || sm == 110))
            return "an instruction descriptor has K of 96, which this architecture lacks";
        if (wide && sparse) return "an instruction descriptor has K of 96 for a sparse matrix";
        if (nibbles && (x.block16 ? (wide ? (scale_a | scale_b) & 1 : scale_a | scale_b)
                                  : !wide && ((scale_a | scale_b) & 1)))
            return "an instruction descriptor selects scales (bits 5..4, 30..29) that do not lie "
                   "so "
                   "in a word";
    } else {
        selector = field(d, 0, 2);
        most_shift = field(d, 30, 2) ? 4u << field(d, 30, 2) : 0;
        if (field(d, 6, 1) || field(d, 23, 1) || field(d, 29, 1) ||
            (field(d, 30, 2) && !x.stationary))
            return "reserved bits of an instruction descriptor are set";
        if (selector && (!sparse || a.container <= 8))
            return "an instruction descriptor has a sparsity selector (bits 1..0) other than 0 in "
                   "a "
                   "product that has no choice";
        m = field(d, 24, 5) << 4;
        // 0 f16, 1 f32, 2 s32.
        const uint32_t type = field(d, 4, 2);
        half = type == 0;
        const bool fits =
            integers ? type == 2
            : half   ? x.kind == TensorKind::f8f6f4 || (a.format == F::f16 && b.format == F::f16)
                     : type == 1;
        if (!fits) return "an instruction descriptor has an invalid type of D";
        saturates = field(d, 3, 1);
        if (saturates && !integers) return "an instruction descriptor saturates a sum of floats";
        if (integers && (a.negated || b.negated))
            return "an instruction descriptor negates integers";
    }
    if ((a.transposed && a.bits < 8) || (b.transposed && b.bits < 8))
        return "an instruction descriptor transposes elements of less than 8 bits";
    k = nibbles ? (wide ? 96 : 64) : 256 / a.container;
    a.k = k;
    if (sparse) k *= 2;
    b.k = k;
    vectors = !by_blocks ? 0 : nibbles ? k / (x.block16 ? 16 : 32) / (sparse ? 2 : 1) : 1;

    // M, and where it lies.
    if (x.stationary) {
        if (m != 32 && m != 64 && m != 128) return "an instruction descriptor has an invalid M";
        banks = 128 / m;
    } else if (x.pair) {
        if (m != 256 && (m != 128 || (sparse && by_blocks)))
            return "an instruction descriptor has an invalid M for cta_group::2";
        if (wide && m != 256)
            return "an instruction descriptor has K of 96 and an M other than 256";
        spread = m == 128 && sparse;
        banks = m == 128 && !sparse ? 2 : 1;
    } else {
        if (m == 256) return "an instruction descriptor has an M of 256, which needs cta_group::2";
        if (m != 128 && (m != 64 || by_blocks)) return "an instruction descriptor has an invalid M";
        spread = m == 64;
    }
    rows = x.pair ? m / 2 : m;
    if (x.shifts && rows != 128) return ".ashift needs an M of 128, or 256 of cta_group::2";

    // N.
    const bool bytes_across = b.transposed && b.bits == 8;
    if (x.stationary ? n != 64 && n != 128 && (n != 256 || sparse)
        : x.pair     ? n == 0 || n > 256 || n % (integers ? 32 : 16)
                     : n == 0 || n > 256 || (integers && n > 32 && n % 16))
        return "an instruction descriptor has an invalid N";
    if (bytes_across && n % (x.pair ? 32 : 16))
        return "a transposed B of 8-bit elements needs an N that 16 divides, or 32 of cta_group::2";
    columns = x.pair ? n / 2 : n;
    return nullptr;
}

const char* ZeroColumns::refusal(uint64_t d, const TensorInstruction& in) {
    if (field(d, 36, 3) || field(d, 62, 2))
        return "reserved bits of a zero-column mask descriptor are set";
    const uint32_t shift = field(d, 56, 6);
    if (shift > (in.m == 32 ? 16u : 32u) || shift > in.most_shift)
        return "a zero-column mask descriptor shifts by more columns than M or the instruction "
               "descriptor (bits 31..30) allow";
    return nullptr;
}

// Spans of columns that are used and of zeros take turns. The first one is shorter by the start
// count, and has a column at least.
bool ZeroColumns::zero(uint32_t column) const {
    if (!field(bits_, 39, 1)) return false;
    const uint32_t bank = column / bank_columns_;
    const uint32_t zeros = field(bits_, 40, 8) + 1, used = field(bits_, 48, 8) + 1;
    const bool zeros_first = field(bits_, 32 + bank, 1);
    const uint32_t first = zeros_first ? zeros : used;
    const uint32_t start = std::min(field(bits_, 8 * bank, 8), first - 1);
    return ((column % bank_columns_ + start) % (zeros + used) < first) == zeros_first;
}

}  // namespace sassemu::async
