// SPDX-License-Identifier: Apache-2.0
// The variables of functions that were compiled with -G: names, types, and where each is while the
// function runs, read from .debug_info, .debug_loc and .nv_debug_info_reg_sass of a cubin. Damaged
// sections give fewer variables, never an error. Lines are in emu/module/line_table.hpp.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "emu/debug/value.hpp"
#include "emu/module/module.hpp"

namespace sassemu::elf {
struct File;
}

namespace sassemu::debug {

struct SourceVariable {
    std::string name;
    std::string symbol;  // of a variable of the module, or static in a function; may be empty
    TypeRef type;
    bool is_parameter = false;
    uint64_t low = 0, high = 0;  // of its scope, bytes from the function's begin
    uint32_t inlined = 0;        // it is of a function inlined so deep into that one
    uint32_t address_class = 0;  // as the compiler numbers address spaces
    // The DWARF expression that holds from `low` to `high`; one, or a list.
    struct Location {
        uint64_t low = 0, high = 0;
        Bytes expression;
    };
    std::vector<Location> locations;
};

// A function inlined into another.
struct InlinedCall {
    uint64_t low = 0, high = 0;  // bytes from the begin of the function that has the code
    std::string function;        // what was inlined
    uint32_t line = 0;           // of the call; 0: not known
    bool same_file = false;      // the call stands in the file that declares who calls
};

class DebugInfo {
  public:
    static DebugInfo read(const Module& module);
    // Expressions of variables point into what it owns.
    DebugInfo(DebugInfo&&) = default;
    DebugInfo& operator=(DebugInfo&&) = default;
    DebugInfo(const DebugInfo&) = delete;

    // Of the function (its symbol), visible at that byte of it; inner scopes last.
    std::vector<const SourceVariable*> visible(const std::string& function, uint64_t at) const;
    // Of the module (in no function), by its name in the source; null: none is told of.
    const SourceVariable* of_module(const std::string& name) const;
    // At that byte of the function, the outermost first.
    std::vector<const InlinedCall*> inlined(const std::string& function, uint64_t at) const;
    // Where a register of the PTX is in that place: for each 32-bit part the kind of file and the
    // number; empty: nowhere.
    struct Part {
        enum class File : uint8_t { other = 0, predicate = 2, general = 5 } file = File::other;
        uint32_t number = 0;
    };
    std::vector<Part> registers(const std::string& function, const std::string& name,
                                uint64_t at) const;
    // Bytes of the function's frame in local memory; 0: not known.
    uint64_t frame(const std::string& function) const;

  private:
    DebugInfo() = default;
    struct Held {
        uint32_t part = 0, where = 0;  // where: file << 24 | number
        uint64_t low = 0, high = 0;
    };
    void read_registers(Bytes section);
    Bytes relocated(const Module& module, const elf::File& file, size_t index);
    std::deque<std::vector<uint8_t>> owned_;  // sections that relocations have changed
    std::map<std::string, std::vector<SourceVariable>> variables_;  // by function; "": none
    std::map<std::string, std::vector<InlinedCall>> inlined_;       // likewise
    std::map<std::string, std::map<std::string, std::vector<Held>>> held_;
    std::map<std::string, uint64_t> frames_;
};

}  // namespace sassemu::debug
