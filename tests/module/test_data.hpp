// SPDX-License-Identifier: Apache-2.0
// Access to the committed files of tests/module/data. Belongs here: loading helpers shared by the
// loader's tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "emu/module/module.hpp"

namespace sassemu::test {

inline std::string data_path(const std::string& name) {
    return std::string(SASSEMU_MODULE_TEST_DATA) + "/" + name;
}

inline std::vector<std::uint8_t> data_bytes(const std::string& name) {
    auto bytes = read_file(data_path(name));
    EXPECT_TRUE(bytes.ok()) << name;
    return bytes.ok() ? *bytes : std::vector<std::uint8_t>{};
}

// The module of a file that must load.
inline Module load(const std::string& name, const LoadOptions& options = {}) {
    auto module = load_module_file(data_path(name), options);
    if (!module.ok()) {
        ADD_FAILURE() << module.error().message();
        std::abort();
    }
    return *module;
}

inline const Kernel& kernel_of(const Module& module, const std::string& name) {
    const auto kernel = module.kernel(name);
    if (!kernel.ok()) {
        ADD_FAILURE() << kernel.error().message();
        std::abort();
    }
    return **kernel;
}

}  // namespace sassemu::test
