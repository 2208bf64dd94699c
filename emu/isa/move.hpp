// SPDX-License-Identifier: Apache-2.0
// Moves, selects, byte permutes and predicate logic on vector registers: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Mov&);
void lower(Lower&, const typed::Sel&);
void lower(Lower&, const typed::Prmt&);
void lower(Lower&, const typed::Plop3&);
void lower(Lower&, const typed::Plop3Sign1&);
void lower(Lower&, const typed::Plop3Sign2&);
void lower(Lower&, const typed::Plop3Sign3&);
void lower(Lower&, const typed::P2r&);
void lower(Lower&, const typed::R2p&);
void lower(Lower&, const typed::Rpcmov&);
void lower(Lower&, const typed::RpcmovTo&);
void lower(Lower&, const typed::RpcmovTo64&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
