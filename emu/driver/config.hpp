// SPDX-License-Identifier: Apache-2.0
// How the library is to run, from the environment: SASSEMU_EXEC, lines `name=value`
// (docs/driver.md).
#pragma once

#include <string>
#include <vector>

#include "emu/gpu.hpp"
#include "emu/machine.hpp"

namespace sassemu::driver {

struct Config {
    GpuOptions options;
    Limits limits;
    std::vector<DeviceProfile> devices;
    std::vector<std::string> plugins, plugin_path;
    std::string report;  // a file that gets a line `exit-code N` for what was reported
    std::string error;   // what is wrong with the text; cuInit says it
    bool wall_time = false, stats = false;
};
Config read_config(const char* text);

}  // namespace sassemu::driver
