// SPDX-License-Identifier: Apache-2.0
// A plugin's shared object: found, opened, checked, its options read. What belongs here: everything
// up to the plugin's table (sdk/include/sassemu/plugin.h). What does not: calling it (hooks.hpp).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emu/base/result.hpp"
#include "sassemu/plugin.h"

namespace sassemu {

// "NAME" or "file.so", then ":key=value,key=value".
struct PluginSpec {
    std::string name;
    std::vector<std::pair<std::string, std::string>> options;
    bool is_file = false;  // a path, not a name
};
Result<PluginSpec> parse_plugin_spec(std::string_view text);

// Options that every machine (machine.h) has under `run`, beside its own.
inline constexpr sassemu_option driver_options[] = {
    {"policy", "lazy|eager|random|adversarial",
     "when stores become visible and loads are performed (random)"},
    {"depth", "N", "operations on their way at most (256)"}};
// The plugin as a machine; null: it is none, or runs as a model of its own.
const sassemu_machine* machine_role(const sassemu_plugin& plugin);

class PluginFile {
  public:
    // A name is looked up in `directories`, then in sassemu/plugins beside this library. Errors are
    // of bad usage: not found, not loadable, no plugin, another ABI, an option that the plugin does
    // not have.
    static Result<PluginFile> open(const PluginSpec& spec,
                                   const std::vector<std::string>& directories);

    const sassemu_plugin& table() const { return *table_; }
    const std::string& path() const { return path_; }

  private:
    std::shared_ptr<void> library_;  // closed with the last copy
    const sassemu_plugin* table_ = nullptr;
    std::string path_;
};

// The names that could be given: of every *.so in those directories.
std::vector<std::string> known_plugins(const std::vector<std::string>& directories);

}  // namespace sassemu
