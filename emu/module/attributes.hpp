// SPDX-License-Identifier: Apache-2.0
// .nv.info records: reading them and what they say about a kernel. For the loader and those who
// list a file.
#pragma once

#include <string>
#include <vector>

#include "emu/module/module.hpp"

namespace sassemu {

// Attribute numbers the loader acts on; names.cpp names the others.
namespace eiattr {
inline constexpr std::uint8_t ctaidz_used = 0x04, max_threads = 0x05, param_cbank = 0x0a,
                              externs = 0x0f, reqntid = 0x10, frame_size = 0x11,
                              min_stack_size = 0x12, kparam_info = 0x17, cbank_param_size = 0x19,
                              maxreg_count = 0x1b, exit_instr_offsets = 0x1c, crs_stack_size = 0x1e,
                              max_stack_size = 0x23, coop_group_instr_offsets = 0x28,
                              coop_group_mask_regids = 0x29, regcount = 0x2f,
                              int_warp_wide_instr_offsets = 0x31, indirect_branch_targets = 0x34,
                              cta_per_cluster = 0x3d, explicit_cluster = 0x3e,
                              max_cluster_rank = 0x3f, reserved_smem_used = 0x41,
                              kparam_info_v2 = 0x45, syscall_offsets = 0x46, num_barriers = 0x4c,
                              tcgen05_1cta_used = 0x51, tcgen05_2cta_used = 0x52,
                              blocks_are_clusters = 0x5b;
}  // namespace eiattr

// Reads the records of one section. `named` says whether the numbers are EIATTR numbers
// (.nv.compat has its own numbering).
[[nodiscard]] Result<std::vector<Attribute>> parse_attributes(Bytes bytes, const std::string& where,
                                                              bool named);

// What an INDIRECT_BRANCH_TARGETS record lists.
[[nodiscard]] Result<std::vector<IndirectBranch>> indirect_branches(const Attribute& attribute,
                                                                    const std::string& where);

// Fills the fields of `kernel` from kernel.attributes. `where` names file and section.
[[nodiscard]] Result<void> apply_kernel_attributes(Kernel& kernel, std::size_t symbol_count,
                                                   const std::string& where);

}  // namespace sassemu
