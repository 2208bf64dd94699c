// SPDX-License-Identifier: Apache-2.0
// Shuffles, votes, matches, reductions: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Shfl&);
void lower(Lower&, const typed::Vote&);
void lower(Lower&, const typed::MatchAny&);
void lower(Lower&, const typed::MatchAll&);
void lower(Lower&, const typed::Redux&);
void lower(Lower&, const typed::Credux&);
void lower(Lower&, const typed::Elect&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
