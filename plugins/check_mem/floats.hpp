// SPDX-License-Identifier: Apache-2.0
// Where NaNs, infinities and subnormal numbers come from (fp=1): what is kept of them. A floating
// result that is one of these is followed through registers, shuffles and memory to what the host
// reads.
#pragma once

#include <array>
#include <cstdint>
#include <sassemu/plugin.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace check_mem {

enum class Format : uint8_t { none, f32, f64, f16, bf16 };  // f16, bf16: two in a register
enum class Special : uint8_t { none, nan, infinity, subnormal };

// The format of what an instruction computes, by its text without the guard.
Format format_of(std::string_view text);
// The most special of the numbers in a register; f64: in its upper word, `low` being the other.
Special special(Format format, uint32_t word, uint32_t low);

struct SpecialBirth {
    Special kind{};
    Format format{};
    bool brought = false;  // it was read: no instruction made it
    uint32_t parent = 0;   // what it was made of, of another kind
    sassemu_insn insn = nullptr;
    std::string thread, kernel;
    std::vector<sassemu_insn> path;  // that passed it on, in the order of their first time
};

// Of a warp: births by register row and lane. 0: none.
struct SpecialRegisters {
    std::unordered_map<uint32_t, std::array<uint32_t, 32>> rows;
    uint32_t of(uint32_t row, uint32_t lane) const {
        const auto at = rows.find(row);
        return at == rows.end() ? 0 : at->second[lane];
    }
    void set(uint32_t row, uint32_t lane, uint32_t birth) {
        const auto at = rows.find(row);
        if (at != rows.end())
            at->second[lane] = birth;
        else if (birth)
            rows[row][lane] = birth;
    }
    // Of the instruction at work: what its operands bring.
    std::array<uint32_t, 32> brought{};
};

}  // namespace check_mem
