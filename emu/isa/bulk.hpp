// SPDX-License-Identifier: Apache-2.0
// Bulk and tensor copies: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Ublkcp&);
void lower(Lower&, const typed::Ublkred&);
void lower(Lower&, const typed::Ublkpf&);
void lower(Lower&, const typed::Utmaldg&);
void lower(Lower&, const typed::Utmastg&);
void lower(Lower&, const typed::Utmaredg&);
void lower(Lower&, const typed::Utmapf&);
void lower(Lower&, const typed::Utmacctl&);
void lower(Lower&, const typed::UtmacctlIvall&);
void lower(Lower&, const typed::Utmacmdflush&);
void lower(Lower&, const typed::Ugetnextworkid&);
void lower(Lower&, const typed::Umemsets&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
