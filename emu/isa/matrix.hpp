// SPDX-License-Identifier: Apache-2.0
// Warp matrix instructions: lowering entry points. Products of floats are in matrix_float.cpp, of
// integers and bits in matrix_integer.cpp, of doubles in matrix_double.cpp; matrix_memory.cpp has
// what moves matrices. Warpgroup instructions are elsewhere.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

// L::matrix_multiply, for what no handler does.
void fused_steps(lanes::MatrixTile&, const lanes::MatrixColumns&, lanes::MatrixFormat a,
                 lanes::MatrixFormat b, lanes::MatrixRule, unsigned step);

void lower(Lower&, const typed::Hmma&);
void lower(Lower&, const typed::HmmaSp&);
void lower(Lower&, const typed::Hmma884&);
void lower(Lower&, const typed::Qmma&);
void lower(Lower&, const typed::QmmaSp&);
void lower(Lower&, const typed::Imma&);
void lower(Lower&, const typed::ImmaSp&);
void lower(Lower&, const typed::Bmma&);
void lower(Lower&, const typed::Dmma&);
void lower(Lower&, const typed::Movm&);
void lower(Lower&, const typed::Ldsm&);
void lower(Lower&, const typed::Stsm&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
