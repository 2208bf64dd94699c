// SPDX-License-Identifier: Apache-2.0
// Names of attribute and relocation numbers; see names.cpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace sassemu {

// "EIATTR_REGCOUNT"; empty when the number is not known.
[[nodiscard]] std::string_view attribute_name(std::uint8_t code);
// "R_CUDA_ABS32_32"; empty when the number is not known. (Also declared in link.hpp.)
[[nodiscard]] std::string_view relocation_name(std::uint32_t type);

}  // namespace sassemu
