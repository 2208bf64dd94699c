// SPDX-License-Identifier: Apache-2.0
// Instructions of a module that paths come to, each of them once.
#pragma once

#include <sassemu/plugin.hpp>

#include <unordered_set>
#include <vector>

namespace check_sync {

// At an offset in the module's code; null: there is none.
inline sassemu_insn instruction_at(const sassemu_host& host, sassemu_module module, uint64_t at) {
    return at < host.module_code_bytes(module) ? host.module_insn(module, at) : nullptr;
}

// In the module's code, where a function's section begins: targets of branches count from there.
inline uint64_t section_of(const sassemu_host& host, sassemu_insn i) {
    return host.insn_code_offset(i) - host.insn_pc(i);
}

class CodePaths {
  public:
    explicit CodePaths(uint64_t from) : open_{from} {}
    void add(uint64_t at) { open_.push_back(at); }
    // One that has not been looked at; false: there is none left.
    bool next(uint64_t& at) {
        while (!open_.empty()) {
            at = open_.back();
            open_.pop_back();
            if (seen_.insert(at).second) return true;
        }
        return false;
    }
    bool seen(uint64_t at) const { return seen_.contains(at); }

  private:
    std::vector<uint64_t> open_;
    std::unordered_set<uint64_t> seen_;
};

}  // namespace check_sync
