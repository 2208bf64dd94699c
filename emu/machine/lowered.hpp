// SPDX-License-Identifier: Apache-2.0
// What lowering fills beside the operations: the scalars that they refer to, and the sets of
// registers that checked runs look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "emu/machine/op.hpp"

namespace sassemu {

// Scalars that operations refer to by offset (Base::immediate): each is 8 bytes, stored once.
// The base address never moves, so running CTAs may read while another section is lowered.
class ImmediatePool {
  public:
    ImmediatePool();
    ~ImmediatePool();
    ImmediatePool(const ImmediatePool&) = delete;
    uint32_t add(uint64_t value);  // byte offset
    const std::byte* base() const { return base_; }

  private:
    static constexpr uint64_t capacity = uint64_t{1} << 27;  // bytes of address space
    std::byte* base_ = nullptr;
    uint32_t used_ = 0;
    std::unordered_map<uint64_t, uint32_t> known_;
};

// What checked runs look at before each instruction: registers read and written.
struct RegisterSets {
    uint64_t reads[4] = {};
    uint64_t writes[4] = {};
};

enum class Lowering : uint8_t { plain, checked, reference };

}  // namespace sassemu
