// SPDX-License-Identifier: Apache-2.0
// Loads, stores and copies: lowering entry points. Fences and cache control come with
// memory_order.hpp; atomics are in atomic.hpp, textures in texture.hpp.
#pragma once

#include "emu/isa/isa.hpp"
#include "emu/isa/memory_order.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Ldg&);
void lower(Lower&, const typed::Stg&);
void lower(Lower&, const typed::Ldg256&);
void lower(Lower&, const typed::Stg256&);
void lower(Lower&, const typed::Ld&);
void lower(Lower&, const typed::St&);
void lower(Lower&, const typed::Lds&);
void lower(Lower&, const typed::Sts&);
void lower(Lower&, const typed::Ldl&);
void lower(Lower&, const typed::Stl&);
void lower(Lower&, const typed::Ldc&);
void lower(Lower&, const typed::Ldgsts&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
