// SPDX-License-Identifier: Apache-2.0
// The lane algebra: primitives over the 32 lanes of a warp. Include this file and nothing else.
// A translation unit is compiled once per host level, with -DSASSEMU_LEVEL=v2|v3|v4 and the flags
// of sassemu_level_flags() (CMakeLists.txt here), and finds the level's functions in namespace
// sassemu::lanes_v2, lanes_v3 or lanes_v4, and by the alias sassemu::L. interface.hpp lists and
// explains them. Instruction semantics do not belong here.
//
// Rules that keep levels apart: everything is force-inlined, lives in the level's namespace and
// uses no std template with out-of-line code, so that the linker can never pick v4 code for v2.
// MXCSR is expected, and left, at its default (round to nearest, no FTZ, no DAZ).
#pragma once

#include "emu/lanes/common.hpp"
#include "emu/lanes/matrix.hpp"

#define SASSEMU_LANES_ID_v2 2
#define SASSEMU_LANES_ID_v3 3
#define SASSEMU_LANES_ID_v4 4
#define SASSEMU_LANES_CAT2(a, b) a##b
#define SASSEMU_LANES_CAT(a, b) SASSEMU_LANES_CAT2(a, b)
#ifndef SASSEMU_LEVEL
#error "define SASSEMU_LEVEL as v2, v3 or v4 (see sassemu_level_flags in emu/lanes/CMakeLists.txt)"
#endif
#define SASSEMU_LANES_LEVEL SASSEMU_LANES_CAT(SASSEMU_LANES_ID_, SASSEMU_LEVEL)
#define SASSEMU_LANES_NS SASSEMU_LANES_CAT(lanes_, SASSEMU_LEVEL)

#if defined(__FAST_MATH__)
#error "the lane algebra needs IEEE arithmetic: no -ffast-math"
#endif

namespace sassemu {
namespace SASSEMU_LANES_NS {
using lanes::Compare;
using lanes::FtzPolicy;
using lanes::kAllLanes;
using lanes::kF16Nan;
using lanes::kF32Nan;
using lanes::kF64DefaultNan;
using lanes::kLanes;
using lanes::kStoreBytes;
using lanes::Mask;
using lanes::MatrixColumns;
using lanes::MatrixFormat;
using lanes::MatrixResult;
using lanes::MatrixRule;
using lanes::MatrixTile;
using lanes::Post;
using lanes::Rounding;
// A pair of predicates, for the two halves of an f16x2 operation.
struct MaskPair {
    Mask lo, hi;
};
}  // namespace SASSEMU_LANES_NS
namespace L = SASSEMU_LANES_NS;
}  // namespace sassemu

#if SASSEMU_LANES_LEVEL == 2
#include "emu/lanes/v2/types.hpp"
#elif SASSEMU_LANES_LEVEL == 3
#if !defined(__AVX2__) || !defined(__FMA__) || !defined(__F16C__) || !defined(__BMI2__)
#error "level v3 needs -march=x86-64-v3"
#endif
#include "emu/lanes/v3/chunk.hpp"
#else
#if !defined(__AVX512F__) || !defined(__AVX512DQ__) || !defined(__AVX512BW__)
#error "level v4 needs -march=x86-64-v4"
#endif
#include "emu/lanes/v4/chunk.hpp"
#endif

#include "emu/lanes/interface.hpp"

#include "emu/lanes/scalar/soft_float.hpp"

#include "emu/lanes/scalar/convert.hpp"
#include "emu/lanes/scalar/float.hpp"
#include "emu/lanes/scalar/guest.hpp"
#include "emu/lanes/scalar/integer.hpp"
#include "emu/lanes/scalar/matrix.hpp"

#if SASSEMU_LANES_LEVEL == 2
#include "emu/lanes/v2/integer.hpp"

#include "emu/lanes/v2/convert.hpp"
#include "emu/lanes/v2/float.hpp"
#include "emu/lanes/v2/half.hpp"
#include "emu/lanes/v2/matrix.hpp"
#include "emu/lanes/v2/memory.hpp"
#else
#include "emu/lanes/simd/rows.hpp"

#include "emu/lanes/simd/integer.hpp"
#include "emu/lanes/simd/integer64.hpp"

#include "emu/lanes/simd/float.hpp"

#include "emu/lanes/simd/double.hpp"

#include "emu/lanes/simd/convert.hpp"
#include "emu/lanes/simd/half.hpp"
#include "emu/lanes/simd/matrix.hpp"
#include "emu/lanes/simd/matrix_groups.hpp"
#include "emu/lanes/simd/memory.hpp"
#endif

#include "emu/lanes/derived.hpp"
