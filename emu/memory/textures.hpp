// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects: what a 64-bit handle in a kernel parameter stands for.
#pragma once

#include <array>
#include <deque>

#include "emu/gpu.hpp"
#include "emu/memory/address_space.hpp"

namespace sassemu {

struct Warp;

struct TextureObject {
    TextureDesc desc;
    uint32_t texel_bytes = 4;
    bool surface = false;
    static constexpr uint32_t most_levels = 18;       // of 131,072 texels
    std::array<uint64_t, most_levels> level_begin{};  // bytes from the first texel
};

// Handles carry the index in their low 20 bits, as bindless handles of the hardware do (the texture
// header index), so that code which masks or combines handles keeps working.
class TextureTable {
  public:
    // `wanted`: its handle; 0: the next that is free.
    Result<uint64_t> add(const TextureDesc& desc, bool surface, uint64_t wanted = 0);
    // nullptr: no such object.
    const TextureObject* find(uint64_t handle) const {
        const uint64_t index = handle & index_bits;
        if (index == 0 || index > objects_.size()) return nullptr;
        const TextureObject& object = objects_[index - 1];
        return object.desc.width ? &object : nullptr;
    }

    // Where a texel is read instead of at `at` (it may fill `copy`, 16 bytes); null: there.
    using Texel = const std::byte* (*)(void* user, Warp&, uint64_t address, const std::byte* at,
                                       uint32_t bytes, std::byte* copy);
    Texel texel = nullptr;
    void* texel_user = nullptr;

  private:
    static constexpr uint64_t index_bits = 0xfffff;
    std::deque<TextureObject> objects_;  // addresses stay valid; width 0: none has that handle
};

}  // namespace sassemu
