// SPDX-License-Identifier: Apache-2.0
// fp32 arithmetic, comparison and selection: FADD FMUL FFMA FMNMX FSEL FSETP FSET FCHK. Conversions
// are in conversion.hpp, the special-function unit in special.hpp.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower& x, const typed::Fadd& i);
void lower(Lower& x, const typed::Fhadd& i);
void lower(Lower& x, const typed::Fhfma& i);
void lower(Lower& x, const typed::Fswzadd& i);
void lower(Lower& x, const typed::Fmul& i);
void lower(Lower& x, const typed::Ffma& i);
void lower(Lower& x, const typed::Fmnmx& i);
void lower(Lower& x, const typed::Fmnmx3& i);
void lower(Lower& x, const typed::FmnmxIsA& i);
void lower(Lower& x, const typed::Fsel& i);
void lower(Lower& x, const typed::Fsetp& i);
void lower(Lower& x, const typed::Fset& i);
void lower(Lower& x, const typed::Fchk& i);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
