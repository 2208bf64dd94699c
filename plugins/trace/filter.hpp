// SPDX-License-Identifier: Apache-2.0
// Which launches, CTAs, warps and instructions are recorded. Nothing else belongs here.
#pragma once

#include <limits>
#include <sassemu/plugin.hpp>
#include <string>
#include <vector>

namespace tracing {

// Inclusive.
struct Range {
    uint64_t low = 0, high = std::numeric_limits<uint64_t>::max();
    bool has(uint64_t v) const { return v >= low && v <= high; }
    bool all() const { return low == 0 && high == std::numeric_limits<uint64_t>::max(); }
};

class Filter {
  public:
    explicit Filter(const sassemu::Start& start);
    bool launch(const sassemu_launch_info& l) const;
    bool insn(const sassemu::Plugin& plugin, sassemu_insn i) const;
    const std::vector<std::string>& kernels() const { return kernels_; }
    bool chooses_code() const {
        return !pc_.all() || needs_lines() || !opcodes_.empty() || groups_ != ~0u;
    }
    bool needs_lines() const { return !sources_.empty() || !lines_.all(); }
    Range cta, warp, window;
    std::vector<std::string> words;  // as given, for the header

  private:
    Range launches_, pc_, lines_;
    std::vector<std::string> kernels_, opcodes_, sources_;
    uint32_t groups_ = ~0u;  // bit per enum sassemu_effect_kind
};

}  // namespace tracing
