// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic, logic, shifts and comparisons on vector registers: lowering entry points.
#pragma once

#include "emu/isa/integer_wide.hpp"
#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

// integer.cpp: sums and products
void lower(Lower&, const typed::Iadd3&);
void lower(Lower&, const typed::Imad&);
void lower(Lower&, const typed::ImadWide&);
void lower(Lower&, const typed::ImadHi&);
void lower(Lower&, const typed::Viadd&);
// integer_bits.cpp: shifted sums, shifts, logic, bit fields and bit counts
void lower(Lower&, const typed::Lea&);
void lower(Lower&, const typed::Shf&);
void lower(Lower&, const typed::Lop3&);
void lower(Lower&, const typed::Bmsk&);
void lower(Lower&, const typed::Sgxt&);
void lower(Lower&, const typed::Flo&);
void lower(Lower&, const typed::Popc&);
void lower(Lower&, const typed::Brev&);
// integer_compare.cpp: comparisons, minimum and maximum, absolute values and differences
void lower(Lower&, const typed::Isetp&);
void lower(Lower&, const typed::Viset&);
void lower(Lower&, const typed::Iabs&);
void lower(Lower&, const typed::Imnmx&);
void lower(Lower&, const typed::Vimnmx&);
void lower(Lower&, const typed::Vimnmx3&);
void lower(Lower&, const typed::Viaddmnmx&);
void lower(Lower&, const typed::Vabsdiff&);
void lower(Lower&, const typed::Vabsdiff4&);
// integer_packed.cpp: packed bytes, halves and smaller elements
void lower(Lower&, const typed::Idp&);
void lower(Lower&, const typed::I2i&);
void lower(Lower&, const typed::I2ip&);
void lower(Lower&, const typed::I2ipBits&);
void lower(Lower&, const typed::I2ipNibbles&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
