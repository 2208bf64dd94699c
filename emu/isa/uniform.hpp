// SPDX-License-Identifier: Apache-2.0
// The uniform datapath: lowering entry points. Its values are scalars of the warp, its predicates
// masks of all lanes or none; an instruction runs once, if its guard holds.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

// What vector registers have too stands beside it: integer*.cpp and move.cpp.
void lower(Lower&, const typed::Uiadd3&);
void lower(Lower&, const typed::Uiadd364&);
void lower(Lower&, const typed::Uiadd364X&);
void lower(Lower&, const typed::Uviadd&);
void lower(Lower&, const typed::Uimad&);
void lower(Lower&, const typed::UimadWide&);
void lower(Lower&, const typed::Ulea&);
void lower(Lower&, const typed::Ulop3&);
void lower(Lower&, const typed::Ushf&);
void lower(Lower&, const typed::Usgxt&);
void lower(Lower&, const typed::Ubmsk&);
void lower(Lower&, const typed::Uflo&);
void lower(Lower&, const typed::Upopc&);
void lower(Lower&, const typed::Ubrev&);
void lower(Lower&, const typed::Uisetp&);
void lower(Lower&, const typed::Umov&);
void lower(Lower&, const typed::Usel&);
void lower(Lower&, const typed::Uprmt&);
void lower(Lower&, const typed::Uplop3&);
void lower(Lower&, const typed::Uplop3Sign1&);
void lower(Lower&, const typed::Uplop3Sign2&);
void lower(Lower&, const typed::Uplop3Sign3&);
void lower(Lower&, const typed::Up2ur&);
void lower(Lower&, const typed::Ur2up&);
// uniform_move.cpp: loads of constants, transfers from the lanes
void lower(Lower&, const typed::Uldc&);
void lower(Lower&, const typed::Voteu&);
void lower(Lower&, const typed::R2ur&);
void lower(Lower&, const typed::S2ur&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
