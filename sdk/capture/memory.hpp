// SPDX-License-Identifier: Apache-2.0
// Which memory a launch can reach, and what is in it. A word of 8 bytes, at a multiple of 4 in the
// parameters and of 8 in memory, that is an address inside of an allocation is taken for a pointer
// to it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "driver.hpp"
#include "options.hpp"

namespace sassemu::capture {

// An allocation, an array or a variable of a module, with its bytes.
struct Piece {
    Range range;
    std::string variable;  // its name; empty: none
    const Image* image;    // whose variable
    std::vector<std::byte> before, after;
    bool varies = false;  // between runs of the launch
};

class Memory {
  public:
    Memory(Driver& driver, const Options& options) : driver_(driver), options_(options) {}
    // Reads all that the launches can reach. Throws Failure.
    void take(const std::vector<Launch>& launches);
    void take_after();  // what it is now
    void restore(std::vector<std::byte> Piece::*state);
    void compare_with_after();  // sets `varies`

    std::vector<Piece>& pieces() { return pieces_; }
    const std::map<uint64_t, TextureObject>& textures() const { return textures_; }

  private:
    void scan(std::span<const std::byte> bytes, size_t step);
    void word(uint64_t value);
    void add(const Range& range, const std::string& variable = {}, const Image* image = nullptr);

    Driver& driver_;
    const Options& options_;
    std::vector<Piece> pieces_;
    std::map<uint64_t, uint64_t> known_;  // start -> end, of allocations
    std::set<uint64_t> nothing_;          // 256-byte pieces of no allocation, where words pointed
    std::set<uint64_t> arrays_;
    std::map<uint64_t, TextureObject> textures_;
    uint64_t bytes_ = 0;
};

}  // namespace sassemu::capture
