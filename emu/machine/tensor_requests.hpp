// SPDX-License-Identifier: Apache-2.0
// What warps ask of tensor memory and of the tensor core (tcgen05), and of the tensor cores that a
// warpgroup uses together (wgmma). How it is done is async/'s.
#pragma once

#include <cstdint>

namespace sassemu::async {

// UTCATOMSWS: one change of the granules.
struct GranuleRequest {
    enum Kind : uint8_t { find_and_set, and_, or_, compare_and_swap };
    Kind kind = find_and_set;
    bool aligned = false;
    bool pair = false;     // .2CTA: of both CTAs of the pair, the same granules
    uint32_t operand = 0;  // find_and_set: how many; compare_and_swap: what is there
    uint32_t next = 0;     // compare_and_swap
    uint32_t result = 0;   // find_and_set: the first of them; else the bits before
    bool done = false;     // found; swapped
    bool waits =
        false;  // nothing has been found or written: the path executes the instruction again
};

// LDTM, STTM. Named by lanes x bits of a row, as in the PTX ISA; the two halves of .16x32bx2 are
// instructions.
enum class TensorLayout : uint8_t { x32b32, x16b64, x16b128, x16b256, x16b32_low, x16b32_high };

// tcgen05.ld.red: what is made of the registers that a lane loads, beside them. Floats as min and
// max of PTX: of magnitudes where `magnitude`; a NaN counts for nothing, or decides where `nan`.
struct TensorStatistic {
    enum Type : uint8_t { none, u32, s32, f32 };
    Type type = none;
    bool max = false, magnitude = false, nan = false;
    uint32_t to = 0;  // a register, as Op::d
};

struct TensorAccess {
    TensorLayout layout = TensorLayout::x32b32;
    TensorStatistic statistic;
    bool store = false;
    bool halves =
        false;  // .pack::16b, .unpack::16b: a register holds the lower halves of two columns
    uint32_t registers = 1;  // of each lane
    uint32_t first = 0;      // of them, as Op::d
    uint32_t address = 0;
};

enum class TensorKind : uint8_t {
    f16,  // or bf16, as the instruction descriptor says
    tf32,
    f8f6f4,
    i8,
    mxf8f6f4,
    mxf4  // and nvf4
};

// Of work of the tensor core, `pair` (cta_group::2): it is done in the CTA that asks and in the one
// of the cluster whose rank differs in bit 0.

// D = A * B, or A * B + D. Addresses of tensor memory: lane in bits 31..16, column in bits 15..0.
struct Multiply {
    TensorKind kind = TensorKind::f16;
    bool pair = false;         // cta_group::2, with the CTA whose rank differs in bit 0
    bool second = false;       // of a pair: the one that asks has the odd rank
    bool stationary = false;   // weights (.ws)
    bool shifts = false;       // A in tensor memory moves down by one row afterwards (.ashift)
    bool block16 = false;      // mxf4: a scale for 16 elements, else for 32
    uint32_t instruction = 0;  // the instruction descriptor
    uint64_t a = 0;            // matrix descriptor, or
    bool a_in_tensor_memory = false;
    uint32_t a_address = 0;  // where in tensor memory
    uint64_t b = 0;          // matrix descriptor
    uint32_t d = 0;          // tensor memory
    bool accumulate = false;
    uint32_t metadata = 0;                // sparse: tensor memory
    uint32_t scales_a = 0, scales_b = 0;  // mxf8f6f4, mxf4: tensor memory
    const uint32_t* disabled_lanes =
        nullptr;  // 4 words, of a pair 8, a bit per lane that D does not change in; null: none
    uint64_t zero_columns = 0;  // .ws: the zero-column mask descriptor
    uint32_t scale_d = 0;       // D counts 2^-scale_d of its value (f16, tf32)
};

// tcgen05.cp, by lanes and bits of one copy. The wide ones go to all lanes, or each quarter's
// first; 64 lanes twice, to quarters 0, 1 and again 2, 3, or to 0, 2 and again 1, 3; 32 lanes to
// every quarter.
enum class TensorShape : uint8_t {
    x128b256,
    x4b256,
    x128b128,
    x64b128_02_13,
    x64b128_01_23,
    x32b128
};
// Elements of 4 or 6 bits, sixteen in 16 bytes of shared memory, become bytes.
enum class TensorUnpack : uint8_t { none, b4, b6 };

struct TensorMove {
    bool pair = false;   // in each CTA, by itself
    bool shift = false;  // tcgen05.shift of the 32 lanes and 8 columns at `to`; else a copy
    TensorShape shape = TensorShape::x128b256;
    TensorUnpack unpack = TensorUnpack::none;
    uint64_t from = 0;  // matrix descriptor
    uint32_t to = 0;    // tensor memory
};

// UTCBAR: the arrival at `mbarrier`, or at the same offset in the CTAs of `ranks`, once what the
// warp has issued to the tensor core is done.
struct TensorCommit {
    uint32_t mbarrier = 0;
    bool multicast = false;
    uint32_t ranks = 0;
};

// Elements of A and B.
enum class WarpgroupType : uint8_t { f16, bf16, tf32, e4m3, e5m2, u8, s8, bit };

// What a wgmma says, the same for every execution of it.
struct WarpgroupForm {
    WarpgroupType a = WarpgroupType::f16, b = WarpgroupType::f16;
    uint8_t bits = 16;     // of an element of either
    uint8_t selector = 0;  // sparse: which lanes' metadata
    uint16_t n = 8;
    bool half : 1 = false;       // D is f16
    bool saturates : 1 = false;  // integers
    bool negates : 1 = false;    // products of floats
    bool transposed_a : 1 = false;
    bool transposed_b : 1 = false;
    bool in_registers : 1 = false;  // A
    bool sparse : 1 = false;
    bool spread : 1 = false;   // sparse: metadata goes round the lanes (.REGOFFSET)
    bool signals : 1 = false;  // its end counts for WARPGROUP.DEPBAR
    bool empty : 1 = false;    // D is RZ: no product, it only signals

    // Registers of D, and elements of a column of B.
    uint32_t registers() const { return n / (half ? 4u : 2u); }
    uint32_t k() const { return (sparse ? 512u : 256u) / bits; }
};

// One execution. Rows are offsets of registers in each warp.
struct WarpgroupMultiply {
    WarpgroupForm form;
    bool accumulate = false;
    uint32_t d = 0, c = 0;
    uint32_t a_rows = 0;    // of four registers
    uint32_t metadata = 0;  // of one
    uint64_t a = 0, b = 0;  // matrix descriptors
};

}  // namespace sassemu::async
