// SPDX-License-Identifier: Apache-2.0
// Warp matrix instructions: lowering entry points. Products of floats are in matrix_float.cpp, of
// block-scaled ones in matrix_scaled.cpp, of integers and bits in matrix_integer.cpp, of doubles in
// matrix_double.cpp; matrix_memory.cpp has what moves matrices. Warpgroup instructions are
// elsewhere.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

// L::matrix_multiply and L::matrix_groups, for what no handler does.
void fused_steps(lanes::MatrixTile&, const lanes::MatrixColumns&, lanes::MatrixFormat a,
                 lanes::MatrixFormat b, lanes::MatrixRule, unsigned step,
                 const lanes::MatrixScales* = nullptr);
void group_sums(lanes::MatrixGroups&);
// False, and the instruction rejected: no such type.
bool format_of(Lower&, typed::QmmaType, lanes::MatrixFormat&);

void lower(Lower&, const typed::Hmma&);
void lower(Lower&, const typed::HmmaSp&);
void lower(Lower&, const typed::Hmma884&);
void lower(Lower&, const typed::Qmma&);
void lower(Lower&, const typed::QmmaSp&);
void lower(Lower&, const typed::QmmaSf&);
void lower(Lower&, const typed::QmmaSfSp&);
void lower(Lower&, const typed::OmmaSf&);
void lower(Lower&, const typed::OmmaSfSp&);
void lower(Lower&, const typed::Imma&);
void lower(Lower&, const typed::ImmaSp&);
void lower(Lower&, const typed::Bmma&);
void lower(Lower&, const typed::Dmma&);
void lower(Lower&, const typed::Movm&);
void lower(Lower&, const typed::MovmNarrow&);
void lower(Lower&, const typed::Ldsm&);
void lower(Lower&, const typed::LdsmNarrow&);
void lower(Lower&, const typed::LdsmSquare&);
void lower(Lower&, const typed::Stsm&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
