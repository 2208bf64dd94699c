// SPDX-License-Identifier: Apache-2.0
// Where all ways from a branch come together again, by the code: its immediate post-dominator.
#pragma once

#include <unordered_map>

#include "code_paths.hpp"
#include "follow/code.hpp"

namespace check_sync {

// The index of the instruction that it names as its target; false: it names none.
bool target_of(const sassemu_host& host, const follow::Instruction& i, uint32_t& index);

class Meetings {
  public:
    // They leave the function first, or nobody knows where they go.
    static constexpr uint32_t nowhere = ~0u;
    // The index of that instruction. What a call leads to is not looked at: it comes back.
    uint32_t of(const sassemu_host& host, const follow::Code& code, sassemu_insn from);

  private:
    std::unordered_map<sassemu_insn, uint32_t> known_;
};

}  // namespace check_sync
