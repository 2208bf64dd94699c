// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: texels in device memory, row after row, slice after slice, level after level.
#pragma once

#include "emu/driver/driver.hpp"

namespace sassemu::driver {

struct Array {
    std::weak_ptr<Context> context;
    uint32_t device = 0;
    CUDA_ARRAY3D_DESCRIPTOR what{};
    uint32_t levels = 1;
    uint64_t address = 0;
    uint32_t texel = 4;         // bytes
    std::shared_ptr<Array> of;  // a level of a mipmapped array: whose memory it is
    std::vector<CUarray> level_handles;
    ~Array();
    uint64_t row() const { return what.Width * texel; }
    uint64_t rows() const { return what.Height ? what.Height : 1; }
    uint64_t slices() const { return what.Depth ? what.Depth : 1; }
};

}  // namespace sassemu::driver
