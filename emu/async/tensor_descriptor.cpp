// SPDX-License-Identifier: Apache-2.0
#include "emu/async/tensor_descriptor.hpp"

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
    }
    return false;
}

}  // namespace

SharedMatrix::SharedMatrix(uint64_t d)
    : start_(field(d, 0, 14) << 4),
      leading_(field(d, 16, 14) << 4),
      stride_(field(d, 32, 14) << 4),
      pattern_(field(d, 49, 3) << 7) {
    switch (field(d, 61, 3)) {
        case chunks_of_32:
            span_ = 8, group_ = 4, swizzle_ = swizzle_of_32;
            break;
        case span_128:
            span_ = 8, swizzle_ = swizzle_of_16(3);
            break;
        case span_64:
            span_ = 4, swizzle_ = swizzle_of_16(2);
            break;
        case span_32:
            span_ = 2, swizzle_ = swizzle_of_16(1);
            break;
        default:
            break;
    }
}

const char* SharedMatrix::refusal(uint64_t d, bool mn_major, bool elements_of_32_bits) {
    if (field(d, 14, 2) || field(d, 30, 2)) return "reserved bits of a matrix descriptor are set";
    if (field(d, 46, 3) != 1) return "bits 48..46 of a matrix descriptor are not 0b001";
    if (field(d, 52, 1))
        return "absolute leading dimensions in matrix descriptors are not supported";
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

const char* TensorInstruction::read(TensorKind kind, uint32_t d) {
    const bool integers = kind == TensorKind::i8;
    if (field(d, 2, 1)) return "sparse matrices are not supported by the tensor core";
    if (field(d, 6, 1) || field(d, 23, 1) || field(d, 29, 1))
        return "reserved bits of an instruction descriptor are set";
    if (!read_type(kind, field(d, 7, 3), a))
        return "an instruction descriptor has an invalid type of A";
    if (!read_type(kind, field(d, 10, 3), b))
        return "an instruction descriptor has an invalid type of B";
    // 0 f16, 1 f32, 2 s32.
    const uint32_t type = field(d, 4, 2);
    half = type == 0;
    using F = lanes::MatrixFormat;
    const bool fits = integers ? type == 2
                      : half
                          ? kind == TensorKind::f8f6f4 || (a.format == F::f16 && b.format == F::f16)
                          : type == 1;
    if (!fits) return "an instruction descriptor has an invalid type of D";
    saturates = field(d, 3, 1);
    if (saturates && !integers) return "an instruction descriptor saturates a sum of floats";
    a.negated = field(d, 13, 1), b.negated = field(d, 14, 1);
    if (integers && (a.negated || b.negated)) return "an instruction descriptor negates integers";
    a.transposed = field(d, 15, 1), b.transposed = field(d, 16, 1);
    if ((a.transposed && a.bits < 8) || (b.transposed && b.bits < 8))
        return "an instruction descriptor transposes elements of less than 8 bits";

    m = field(d, 24, 5) << 4, n = field(d, 17, 6) << 3, k = 2 * a.in_chunk();
    if (m == 256) return "M of 256 is for cta_group::2, which is not supported";
    if (m != 64 && m != 128) return "an instruction descriptor has an invalid M";
    if (n == 0 || n > 256 || (integers && n > 32 && n % 16))
        return "an instruction descriptor has an invalid N";
    if (b.transposed && b.bits == 8 && n % 16)
        return "a transposed B of 8-bit elements needs an N that 16 divides";
    return nullptr;
}

}  // namespace sassemu::async
