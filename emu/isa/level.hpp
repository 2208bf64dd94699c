// SPDX-License-Identifier: Apache-2.0
// What one host level (v2 scalar, v3 AVX2, v4 AVX-512) offers to the engine: lowering and the run
// loops. Each level is a shared object of its own that exports one function.
#pragma once

#include <cstdint>
#include <string>

#include "emu/lanes/matrix.hpp"
#include "emu/lanes/warpgroup.hpp"
#include "emu/machine/lowered.hpp"
#include "emu/machine/services.hpp"
#include "sassdec/sassdec.h"

namespace sassemu {

// One instruction to lower. `instruction` is null where there is none; with `*gap` set for a word
// that does not decode.
struct LowerRequest {
    const sassdec_insn* instruction = nullptr;
    uint64_t offset = 0;         // code offset of this instruction
    uint64_t section_begin = 0;  // code offsets of its section
    uint64_t section_end = 0;
    uint32_t sm = 90;
    uint32_t max_registers = 255;  // registers above it fault
    Lowering lowering = Lowering::plain;
    bool late_copies =
        false;  // asynchronous copies may happen after their instruction, and launches overlap
    bool modelled = false;                  // a model decides what memory shows
    const BankBytes* bank_bytes = nullptr;  // null: whole banks
    ImmediatePool* pool = nullptr;
    Op* op = nullptr;
    std::string* rejection = nullptr;  // set when the operation can only fault, says why
    bool* gap = nullptr;               // set when it is legal and not executed here (exit code 5)
};

struct LevelTable {
    const char* name;
    void (*lower)(const LowerRequest&);
    // Run the warp's current path from `op` until a handler returns nullptr.
    void (*run)(Warp&, const Op*);
    void (*run_checked)(Warp&, const Op*, const RegisterSets*, const Op* first);
    // Whether a mnemonic has a handler (coverage; exit code 5).
    bool (*executes)(const sassdec_insn&);
    // Float products, for tensor cores that work beside the warps.
    lanes::MatrixSums matrix_sums;
    lanes::WarpgroupSums warpgroup_sums;
};

using LevelFunction = const LevelTable* (*)();
extern "C" const LevelTable* sassemu_level_v2();
extern "C" const LevelTable* sassemu_level_v3();
extern "C" const LevelTable* sassemu_level_v4();

}  // namespace sassemu
