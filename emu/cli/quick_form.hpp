// SPDX-License-Identifier: Apache-2.0
// `sassemu run X.cubin --kernel K ...`: one launch described by options, as a plan. What belongs
// here: the options' syntax. What does not: running it.
#pragma once

#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/plan/plan.hpp"

namespace sassemu::cli {

struct QuickForm {
    std::string kernel, grid = "1", block = "1", cluster;
    uint32_t dynamic_shared = 0, repeat = 1;
    bool cooperative = false;
    // i32=N u32=N i64=N u64=N f32=X f64=X bits=0x.. bytes=HEX symbol=NAME,
    // buffer=BYTES (zeros) or file=PATH: a buffer of its own, called arg0, arg1, ... by position.
    std::vector<std::string> args;
};

Result<plan::Plan> quick_plan(const std::string& module, const QuickForm& form);

}  // namespace sassemu::cli
