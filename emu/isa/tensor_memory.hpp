// SPDX-License-Identifier: Apache-2.0
// Tensor memory and the tensor core of the fifth generation: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Ldtm&);
void lower(Lower&, const typed::LdtmStat&);
void lower(Lower&, const typed::Sttm&);
void lower(Lower&, const typed::UtcatomswsFind&);
void lower(Lower&, const typed::UtcatomswsCas&);
void lower(Lower&, const typed::Utcatomsws&);
void lower(Lower&, const typed::Uvirtcount&);
void lower(Lower&, const typed::Utchmma&);
void lower(Lower&, const typed::Utcimma&);
void lower(Lower&, const typed::Utcqmma&);
void lower(Lower&, const typed::UtchmmaTmem&);
void lower(Lower&, const typed::UtcimmaTmem&);
void lower(Lower&, const typed::UtcqmmaTmem&);
void lower(Lower&, const typed::UtcqmmaScaled&);
void lower(Lower&, const typed::UtcqmmaScaledTmem&);
void lower(Lower&, const typed::Utcomma&);
void lower(Lower&, const typed::UtcommaTmem&);
void lower(Lower&, const typed::Utccp&);
void lower(Lower&, const typed::Utcshift&);
void lower(Lower&, const typed::Utcbar&);
void lower(Lower&, const typed::UtcbarFlush&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
