// SPDX-License-Identifier: Apache-2.0
// `sassemu plugins`: what --plugin and --model can name. What does not belong here: finding and
// opening them (emu/plugin/plugin_file.hpp).
#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "emu/base/exit_code.hpp"
#include "emu/base/text.hpp"
#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/output.hpp"
#include "emu/plugin/plugin_file.hpp"

namespace sassemu::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PluginsCommand {
    std::vector<std::string> names;
    bool json = false;
};

Json describe(const PluginFile& file) {
    const sassemu_plugin& plugin = file.table();
    Json roles = Json::array(), options = Json::array();
    if (plugin.model != nullptr || machine_role(plugin) != nullptr) roles.push_back("memory model");
    if (plugin.consistency != nullptr) roles.push_back("consistency model");
    if (plugin.observer != nullptr) roles.push_back("observer");
    if (plugin.semantics != nullptr) roles.push_back("semantics");
    const auto text = [](const char* s) { return std::string(s != nullptr ? s : ""); };
    const auto add = [&](const sassemu_option& o) {
        options.push_back({{"key", o.key}, {"value", text(o.value)}, {"summary", text(o.summary)}});
    };
    if (machine_role(plugin) != nullptr)
        std::for_each(std::begin(driver_options), std::end(driver_options), add);
    for (const sassemu_option* o = plugin.options; o != nullptr && o->key != nullptr; ++o) add(*o);
    return {{"name", plugin.name},
            {"summary", text(plugin.summary)},
            {"roles", std::move(roles)},
            {"abi", std::to_string(plugin.abi >> 16) + "." + std::to_string(plugin.abi & 0xffff)},
            {"path", file.path()},
            {"options", std::move(options)}};
}

std::string lines_of(const Json& plugin) {
    const auto text = [&](const Json& of, const char* key) {
        return shown(of[key].get_ref<const std::string&>());
    };
    std::string roles, lines = text(plugin, "name") + ": " + text(plugin, "summary") + "\n";
    for (const Json& role : plugin["roles"])
        roles += (roles.empty() ? "" : ", ") + role.get<std::string>();
    lines += "  " + roles + "; ABI " + text(plugin, "abi") + "; " + text(plugin, "path") + "\n";
    for (const Json& option : plugin["options"])
        lines += "    " + text(option, "key") + "=" + text(option, "value") + "  " +
                 text(option, "summary") + "\n";
    return lines;
}

// One that cannot be loaded is told of, and does not hide the others.
int list(const PluginsCommand& command) {
    int code = exit_with::success;
    Json all = Json::array();
    for (const std::string& name : command.names.empty() ? known_plugins({}) : command.names) {
        Result<PluginSpec> spec = parse_plugin_spec(name);
        Result<PluginFile> file =
            spec ? PluginFile::open(*spec, {}) : Result<PluginFile>(std::move(spec).error());
        if (file)
            all.push_back(describe(*file));
        else
            code = worse(code, fail(file.error()));
    }
    if (command.json) {
        print(all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    } else {
        for (const Json& plugin : all) print(lines_of(plugin));
    }
    return code;
}

}  // namespace

void add_plugins_command(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<PluginsCommand>();
    CLI::App* sub = app.add_subcommand(
        "plugins", "the plugins that --plugin and --model can name: roles, ABI, path, options");
    sub->add_option("NAME", command->names,
                    "only these, by name or as file.so; default: all that are installed");
    sub->add_flag("--json", command->json, "as one JSON document");
    sub->callback([command, &exit_code] { exit_code = list(*command); });
}

}  // namespace sassemu::cli
