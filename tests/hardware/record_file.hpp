// SPDX-License-Identifier: Apache-2.0
// The record (README.md) in memory. What belongs here: reading it, and the rows of a machine in its
// numbering. What does not: running words.
#pragma once

#include <string>
#include <vector>

#include "tests/hardware/operands.hpp"
#include "tests/isa/harness.hpp"

namespace sassemu::test {

constexpr uint8_t ran = 0, traps = 1, unstable = 2, missing = 3;

// Records hold words without control bits; this is what a slot gives them: no scoreboard, the
// longest stall.
constexpr uint64_t quiet_control = 15 | 7 << 5 | 7 << 8;

struct Recorded {
    Word word;
    uint8_t status = 0;
    std::vector<uint8_t> rows;     // that the word changed in any warp
    std::vector<uint64_t> hashes;  // per warp; empty if nothing changed
    std::vector<Row> sampled;      // [row][warp] after the word
};

struct Record {
    uint32_t warps = 0, samples = 0;
    std::vector<Recorded> words;
};

std::string read_file(const std::string& path);
// The bytes themselves if they are not compressed (zstd); empty if they are broken.
std::string unpacked(std::string bytes);
bool parse(const std::string& bytes, Record& record);

uint64_t row_hash(const Row& row, uint8_t number);

using State = std::array<Row, slot_rows>;

// One row of the record's numbering, out of and into a machine.
void get_row(Machine& m, uint32_t row, Row& out);
void set_row(Machine& m, uint32_t row, const Row& in);
std::string row_name(uint32_t row, uint32_t lane);
// What the word read, for a report: every register operand's value in that lane.
std::string operands_text(const sassdec_insn& insn, const State& before, uint32_t lane);
// "FADD.FTZ" of "@!P0 FADD.FTZ R1, R2, R3".
std::string mnemonic_of(const std::string& sass);
// The constant bank of a machine as the record has it.
void set_constants(Machine& m);

}  // namespace sassemu::test
