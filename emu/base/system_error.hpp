// SPDX-License-Identifier: Apache-2.0
// The error of a call of the system that has just failed: errno in words.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "emu/base/result.hpp"

namespace sassemu {

inline Error system_error(std::string where, const std::string& what) {
    return Error{ErrorCode::system, std::move(where), what + ": " + std::strerror(errno), ""};
}

}  // namespace sassemu
