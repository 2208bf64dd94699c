// SPDX-License-Identifier: Apache-2.0
// Conversions between number formats: F2F F2I I2F I2FP FRND F2FP F2IP.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower& x, const typed::F2f& i);
void lower(Lower& x, const typed::F2i& i);
void lower(Lower& x, const typed::I2f& i);
void lower(Lower& x, const typed::I2fp& i);
void lower(Lower& x, const typed::Uf2f& i);
void lower(Lower& x, const typed::Uf2i& i);
void lower(Lower& x, const typed::Ui2f& i);
void lower(Lower& x, const typed::Ui2fp& i);
void lower(Lower& x, const typed::Frnd& i);
void lower(Lower& x, const typed::F2fpPack& i);
void lower(Lower& x, const typed::F2fpMerge& i);
void lower(Lower& x, const typed::F2fpPack8& i);
void lower(Lower& x, const typed::F2fpNarrow8& i);
void lower(Lower& x, const typed::F2fpUnpack8& i);
void lower(Lower& x, const typed::F2fpTf32& i);
void lower(Lower& x, const typed::F2ip& i);
// conversion_narrow.cpp
void lower(Lower& x, const typed::F2fpPackNarrow& i);
void lower(Lower& x, const typed::F2fpPackFp4& i);
void lower(Lower& x, const typed::F2fpNarrowHalf& i);
void lower(Lower& x, const typed::F2fpNarrowHalfFp4& i);
void lower(Lower& x, const typed::F2fpUnpackNarrow& i);
void lower(Lower& x, const typed::F2fpUnpackFp4& i);
void lower(Lower& x, const typed::F2fpUnpackScale& i);
void lower(Lower& x, const typed::F2fpUnpackScaled& i);
void lower(Lower& x, const typed::F2fpToFixed& i);
void lower(Lower& x, const typed::F2fpHalfToFixed& i);
void lower(Lower& x, const typed::F2fpScaled& i);
void lower(Lower& x, const typed::F2fpPackStochastic& i);
void lower(Lower& x, const typed::F2fpPack8Stochastic& i);
void lower(Lower& x, const typed::F2fpPackNarrowStochastic& i);
void lower(Lower& x, const typed::F2fpMergeStochastic& i);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
