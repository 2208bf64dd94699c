// SPDX-License-Identifier: Apache-2.0
// The special-function unit: MUFU.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower& x, const typed::Mufu& i);
void lower(Lower& x, const typed::MufuHalf& i);
void lower(Lower& x, const typed::MufuPair& i);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
