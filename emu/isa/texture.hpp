// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Tex&);
void lower(Lower&, const typed::Tld&);
void lower(Lower&, const typed::Tld4&);
void lower(Lower&, const typed::Txd&);
void lower(Lower&, const typed::Txq&);
void lower(Lower&, const typed::Suld&);
void lower(Lower&, const typed::Sust&);
void lower(Lower&, const typed::Sured&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
