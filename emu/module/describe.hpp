// SPDX-License-Identifier: Apache-2.0
// What `sassemu info FILE` prints. Belongs here: text and JSON of a Module and of a fatbin's
// contents. Does not belong here: reading files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "emu/module/module.hpp"

namespace sassemu {

// Several lines of text, ending with a newline.
[[nodiscard]] std::string describe(const Module& module);
[[nodiscard]] std::string describe(const std::vector<ImageInfo>& images);
[[nodiscard]] nlohmann::json describe_json(const Module& module);
[[nodiscard]] nlohmann::json describe_json(const std::vector<ImageInfo>& images);

}  // namespace sassemu
