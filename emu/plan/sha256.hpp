// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), for the `sha256` expectation of a plan. Nothing else belongs here.
#pragma once

#include <string>

#include "emu/plan/byte_source.hpp"

namespace sassemu::plan {

Result<std::string> sha256_hex(ByteSource& bytes);  // 64 lower-case hex digits

}  // namespace sassemu::plan
