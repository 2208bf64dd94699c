// SPDX-License-Identifier: Apache-2.0
// The state of one lane, read only: registers, memory, variables. What belongs here: getting at
// bytes. What does not: expressions over them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "emu/debug/activation.hpp"
#include "emu/debug/places.hpp"
#include "emu/debug/value.hpp"

namespace sassemu {
struct Cta;
struct Launch;
struct Op;
struct Path;
struct Warp;
}  // namespace sassemu

namespace sassemu::debug {

// Things with addresses that the plan names.
struct NamedMemory {
    uint64_t address = 0, bytes = 0;
};

class View {
  public:
    // `frame`: which of frames(), below their number.
    View(const Places& places, const std::map<std::string, NamedMemory>& buffers, Warp& warp,
         uint32_t lane, uint64_t position, uint32_t frame = 0);

    Warp& warp() const { return warp_; }
    uint32_t lane() const { return lane_; }
    // Where the lane is, in its frame; of one that has exited or does not exist: no module.
    CodePlace place() const;
    // What a backtrace lists, innermost first; none of a lane that has exited.
    struct Frame {
        size_t activation = 0;
        size_t inlined = 0;  // which of the frames that Places::frames() has there
        bool is_inlined = false;
        SourceFrame source;
    };
    std::vector<Frame> frames() const;
    const CallStack& stack() const;

    Result<std::vector<std::byte>> read(MemorySpace space, uint64_t address, uint64_t bytes) const;
    Result<Value> load(const TypeRef& type, const ValuePlace& place) const;
    // $R4, $R4.64, $R4.f, $P0, $UR3, $pc, $lane, ...: without the dollar sign.
    Result<Value> special(const std::string& name) const;
    // A variable of the source, threadIdx and its like, a variable of the module, a buffer of the
    // plan; "::NAME": of the last two.
    Result<Value> variable(const std::string& name) const;
    // Of the source, at this place (-G), inner scopes first.
    std::vector<const SourceVariable*> variables() const;
    Result<Value> constant(uint64_t bank, uint64_t offset) const;

  private:
    Result<Value> value_of(const SourceVariable& variable) const;
    Result<Value> placed(const SourceVariable& variable, uint32_t space, uint64_t address) const;
    const SourceVariable* of_module(const std::string& name) const;
    // What R<n> holds in the frame of the view.
    Result<uint32_t> general(uint32_t n) const;
    CodePlace innermost() const;
    const Places& places_;
    const std::map<std::string, NamedMemory>& buffers_;
    Warp& warp_;
    uint32_t lane_;
    uint64_t position_;
    size_t activation_ = 0;
    size_t inlined_ = 0;  // which of the frames of Places there
    mutable std::optional<CallStack> stack_;
};

// Which path of the warp has the lane; null: none, it has exited or never was.
const Path* path_of(const Warp& warp, uint32_t lane);
CodePlace place_of(const Warp& warp, const Op* op);
// "R5" is 5; nothing if the text is no register of that file.
std::optional<uint32_t> register_number(const std::string& name, const std::string& file);

}  // namespace sassemu::debug
