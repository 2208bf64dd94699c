// SPDX-License-Identifier: Apache-2.0
// The warpgroup matrix instructions of sm_90a (wgmma). Lowering is in warpgroup.cpp, the sums are
// in warpgroup_product.cpp.
#pragma once

#include "emu/isa/isa.hpp"
#include "emu/lanes/warpgroup.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

// For the unit that works beside the warps.
void warpgroup_sums(lanes::WarpgroupProduct&);

void lower(Lower&, const typed::Hgmma&);
void lower(Lower&, const typed::HgmmaSp&);
void lower(Lower&, const typed::HgmmaRs&);
void lower(Lower&, const typed::HgmmaSpRs&);
void lower(Lower&, const typed::Qgmma&);
void lower(Lower&, const typed::QgmmaSp&);
void lower(Lower&, const typed::QgmmaRs&);
void lower(Lower&, const typed::QgmmaSpRs&);
void lower(Lower&, const typed::Igmma&);
void lower(Lower&, const typed::IgmmaSp&);
void lower(Lower&, const typed::IgmmaRs&);
void lower(Lower&, const typed::IgmmaSpRs&);
void lower(Lower&, const typed::Bgmma&);
void lower(Lower&, const typed::BgmmaRs&);
void lower(Lower&, const typed::WarpgroupArrive&);
void lower(Lower&, const typed::WarpgroupWait&);
void lower(Lower&, const typed::WarpgroupDepbar&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
