// SPDX-License-Identifier: Apache-2.0
// fp32 on the uniform datapath of sm_120: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Ufadd&);
void lower(Lower&, const typed::Ufmul&);
void lower(Lower&, const typed::Uffma&);
void lower(Lower&, const typed::Ufmnmx&);
void lower(Lower&, const typed::UfmnmxIsA&);
void lower(Lower&, const typed::Ufsel&);
void lower(Lower&, const typed::Ufset&);
void lower(Lower&, const typed::Ufsetp&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
