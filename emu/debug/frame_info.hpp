// SPDX-License-Identifier: Apache-2.0
// How the caller of a function is found, from .debug_frame of a cubin (which ptxas writes with and
// without -G): where the frame begins, which register has the return address, where the caller's
// registers were saved. Damaged sections give fewer functions, never an error. What does not belong
// here: values (activation.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "emu/module/module.hpp"

namespace sassemu::debug {

class FrameInfo {
  public:
    static constexpr uint32_t registers = 256;
    // What the caller's R<n> is.
    struct Rule {
        enum class Is : uint8_t {
            unsaid,  // the section says nothing of it
            lost,    // the function may have overwritten it
            same,    // as it is here
            saved,   // in local memory, `at` bytes from the frame's begin
            moved    // in R<at>
        } is = Is::unsaid;
        int64_t at = 0;
        bool operator==(const Rule&) const = default;
    };
    // What holds at one instruction. The frame begins at R<frame_register> + frame_offset, which is
    // the caller's R1.
    struct Row {
        uint32_t frame_register = 1;
        int64_t frame_offset = 0;
        bool is_called = false;  // false: a kernel, nobody calls it
        // What the caller's R<return_register> is says where to return: added to the base, a byte
        // of the code image; without a base it is a pair, and an address.
        uint32_t return_register = 0;
        std::optional<uint64_t> return_base;
        std::array<Rule, registers> rules{};
    };

    static FrameInfo read(const Module& module);
    // Of the instruction at that byte of the code image; none: the section says nothing of it.
    [[nodiscard]] std::optional<Row> at(uint64_t code_offset) const;

  private:
    friend struct FrameReader;
    // One function.
    struct Entry {
        uint64_t begin = 0, end = 0;  // bytes of the code image
        uint64_t code_unit = 1;
        int64_t data_unit = 1;
        uint64_t return_column = 0;
        Bytes first, rest;  // the instructions of all its kind, and its own
        std::optional<uint64_t> base;
    };
    std::vector<Entry> entries_;
};

}  // namespace sassemu::debug
