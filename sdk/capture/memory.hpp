// SPDX-License-Identifier: Apache-2.0
// Which memory a launch can reach, and what is in it. A word of 8 bytes, at a multiple of 4 in the
// parameters and of 8 in memory, that is an address inside of an allocation is taken for a pointer
// to it. One of the parameters in no allocation, but at most 64 KiB before one begins or after one
// ends, is taken for a pointer to these: such that kernels add something to before they use them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "driver.hpp"
#include "options.hpp"

namespace sassemu::capture {

// An allocation, an array or a variable of a module, with its bytes.
struct Piece {
    Range range;
    std::string variable;          // its name; empty: none
    const Image* image = nullptr;  // whose variable
    std::vector<std::byte> before, after;
    bool varies = false;   // between runs of the launch
    bool scratch = false;  // a graph's own memory: not read
    uint64_t rounded = 0;  // bytes after it that the driver gives with it
};

class Memory {
  public:
    Memory(Driver& driver, const Options& options) : driver_(driver), options_(options) {}
    // Reads all that the work can reach. Throws Failure.
    void take(const Work& work);
    void take_after();  // what it is now
    void restore(std::vector<std::byte> Piece::*state);
    void compare_with_after();  // sets `varies`

    const std::vector<Piece>& pieces() const { return pieces_; }
    const std::map<uint64_t, TextureObject>& textures() const { return textures_; }
    // Where the functions of an image are, as far as its variables say.
    using Functions = std::map<std::string, uint64_t>;
    const std::map<const Image*, Functions>& functions() const { return functions_; }

  private:
    void scan(std::span<const std::byte> bytes, size_t step);
    // Whether it is an address in an allocation.
    bool word(uint64_t value, bool parameter = false);
    void near(uint64_t value);
    void add_window(const Range& range, uint64_t value);
    void read(Piece piece);
    void find_functions();
    void add(const Range& range, const std::string& variable = {}, const Image* image = nullptr);

    Driver& driver_;
    const Options& options_;
    std::vector<Piece> pieces_;
    std::map<uint64_t, uint64_t> known_;         // start -> end, of allocations
    std::unordered_set<uint64_t> nothing_;       // words that are in no allocation
    std::optional<std::vector<uint64_t>> live_;  // allocations, sorted; once they were asked for
    std::vector<Range> windowed_;                // allocations of which only parts are taken
    std::set<uint64_t> arrays_;
    std::map<uint64_t, TextureObject> textures_;
    std::map<const Image*, Functions> functions_;
    uint64_t bytes_ = 0;
};

}  // namespace sassemu::capture
