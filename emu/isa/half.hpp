// SPDX-License-Identifier: Apache-2.0
// fp16x2 and bf16x2 arithmetic and comparison: HADD2 HMUL2 HFMA2 HMNMX2 VHMNMX HSET2 HSETP2.
// Packing and conversions are in conversion.hpp.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower& x, const typed::Hadd2& i);
void lower(Lower& x, const typed::Hadd2F32& i);
void lower(Lower& x, const typed::Hadd2Bf16& i);
void lower(Lower& x, const typed::Hmul2& i);
void lower(Lower& x, const typed::Hmul2Bf16& i);
void lower(Lower& x, const typed::Hfma2& i);
void lower(Lower& x, const typed::Hfma2Bf16& i);
void lower(Lower& x, const typed::Hmnmx2& i);
void lower(Lower& x, const typed::Hmnmx2Bf16& i);
void lower(Lower& x, const typed::Vhmnmx& i);
void lower(Lower& x, const typed::Hset2& i);
void lower(Lower& x, const typed::Hset2Bf16& i);
void lower(Lower& x, const typed::Hsetp2& i);
void lower(Lower& x, const typed::Hsetp2Bf16& i);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
