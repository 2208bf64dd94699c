// SPDX-License-Identifier: Apache-2.0
// Which columns of tensor memory a CTA has allocated, and by which instruction (PTX ISA,
// "tcgen05.alloc"): followed through a run, from one UTCATOMSWS to the next. What belongs here:
// what those instructions change. What a checker makes of it is the checker's.
#pragma once

#include <sassemu/plugin.hpp>

#include <array>
#include <bit>
#include <string>
#include <vector>

namespace columns {

// Columns are allocated in granules; a set of them is a word with a bit for each.
inline constexpr uint32_t columns_of_granule = 32, granules = 16;

inline bool changes(const sassemu_effect& e) {  // allocates, frees
    return e.kind == SASSEMU_EFFECT_CONTROL && e.action == SASSEMU_ACTION_ALLOCATE &&
           e.space == SASSEMU_TENSOR_MEMORY;
}

// "columns 0 to 63 of tensor memory": the first of the set that lie side by side.
std::string range(uint32_t granules);

// What the instruction reads: taken in front of it, for the result may take an operand's place.
std::vector<uint32_t> operands(const sassemu::Plugin& plugin, sassemu_warp warp, sassemu_insn insn);

// What one such instruction, which has been executed, does to the granules of a CTA.
class Change {
  public:
    Change(const sassemu::Plugin& plugin, sassemu_warp warp, sassemu_insn insn,
           const std::vector<uint32_t>& operands);
    bool of_pair() const { return pair_; }  // it does so in the other CTA of the pair, too
    uint32_t after(uint32_t used) const { return (used & kept_) | set_; }
    // By an AND, which is the compiler's code for tcgen05.dealloc.
    uint32_t frees() const { return frees_; }

  private:
    static constexpr uint32_t all = (1u << granules) - 1;
    uint32_t kept_ = all, set_ = 0, frees_ = 0;
    bool pair_ = false;
};

class Columns {
  public:
    struct Allocation {
        sassemu_insn insn = nullptr;
        std::string thread;
    };
    // The granules that are freed without being allocated.
    uint32_t apply(const Change& change, const Allocation& by) {
        const uint32_t wrong = change.frees() & ~used_, after = change.after(used_);
        for (uint32_t fresh = after & ~used_; fresh; fresh &= fresh - 1)
            by_[static_cast<size_t>(std::countr_zero(fresh))] = by;
        used_ = after;
        return wrong;
    }
    // visit(granules, Allocation): those that are allocated and lie side by side, by instruction.
    template <class Visit>
    void each_allocated(Visit&& visit) const {
        for (uint32_t left = used_; left;) {
            const auto first = static_cast<uint32_t>(std::countr_zero(left));
            uint32_t alike = 0;
            for (uint32_t k = first;
                 k < granules && left >> k & 1 && by_[k].insn == by_[first].insn; ++k)
                alike |= 1u << k;
            left &= ~alike;
            visit(alike, by_[first]);
        }
    }

  private:
    uint32_t used_ = 0;
    std::array<Allocation, granules> by_;
};

}  // namespace columns
