// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), for the `sha256` expectation of a plan. Nothing else belongs here.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sassemu::plan {

std::string sha256_hex(std::span<const std::byte> bytes);  // 64 lower-case hex digits

}  // namespace sassemu::plan
