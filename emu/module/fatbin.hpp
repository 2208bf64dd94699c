// SPDX-License-Identifier: Apache-2.0
// Fatbin containers. Private to the loader.
#pragma once

#include <string>
#include <vector>

#include "emu/module/module.hpp"

namespace sassemu {

struct FatbinEntry {
    ImageInfo info;
    Bytes payload;  // as stored
};

[[nodiscard]] bool is_fatbin(Bytes bytes);

// All entries of the containers that lie one after the other in `bytes` (zero padding between
// them). `where` names the file and place.
[[nodiscard]] Result<std::vector<FatbinEntry>> read_fatbin(Bytes bytes, const std::string& where);

// The entry's bytes, decompressed.
[[nodiscard]] Result<std::vector<std::uint8_t>> unpack(const FatbinEntry& entry,
                                                       const std::string& where);

}  // namespace sassemu
