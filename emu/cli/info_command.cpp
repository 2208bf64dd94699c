// SPDX-License-Identifier: Apache-2.0
// `sassemu info`: what a module, fatbin or executable holds.
#include <memory>
#include <nlohmann/json.hpp>

#include "emu/base/exit_code.hpp"
#include "emu/base/text.hpp"
#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/output.hpp"
#include "emu/module/describe.hpp"
#include "emu/module/module.hpp"
#include "emu/schedule/unsupported.hpp"

namespace sassemu::cli {
namespace {

struct InfoCommand {
    std::string file, arch;
    bool json = false, unsupported = false;
};

// What ends a launch with exit code 5, a line each or as JSON.
Result<int> list_unsupported(const std::vector<Module>& modules, bool json) {
    nlohmann::json document = nlohmann::json::array();
    std::string text;
    for (const Module& module : modules) {
        SASSEMU_ASSIGN(const std::vector<Unsupported> all,
                       unsupported_code(std::make_shared<const Module>(module)));
        for (const Unsupported& one : all) {
            document.push_back({{"file", module.file_name()},
                                {"arch", module.arch().name()},
                                {"function", one.function},
                                {"what", one.what},
                                {"offset", one.offset},
                                {"source", one.source},
                                {"why", one.why},
                                {"count", one.count}});
            text += shown(module.file_name()) + " (" + module.arch().name() + "): '" +
                    shown(one.function) + "': " + shown(one.what) + " at " +
                    std::to_string(one.offset);
            if (one.count > 1) text += " and " + std::to_string(one.count - 1) + " more";
            if (!one.why.empty()) text += ": " + one.why;
            if (!one.source.empty()) text += " (" + shown(one.source) + ")";
            text += "\n";
        }
    }
    const int code = document.empty() ? exit_with::success : exit_with::not_executed;
    print(json ? document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
               : text);
    return code;
}

Result<int> info(const InfoCommand& command) {
    LoadOptions options;
    if (!command.arch.empty()) {
        SASSEMU_ASSIGN(options.arch, parse_arch(command.arch));
    }
    SASSEMU_ASSIGN(const std::vector<uint8_t> bytes, read_file(command.file));
    SASSEMU_ASSIGN(const std::vector<ImageInfo> images, list_images(bytes, command.file));
    SASSEMU_ASSIGN(const std::vector<Module> modules,
                   load_all_modules(bytes, command.file, options));
    if (command.unsupported) return list_unsupported(modules, command.json);
    const bool container =
        images.size() > 1 || (!modules.empty() && modules.front().container() != Container::cubin);
    std::string text;
    if (command.json) {
        nlohmann::json document;
        document["images"] = describe_json(images);
        document["modules"] = nlohmann::json::array();
        for (const Module& module : modules) document["modules"].push_back(describe_json(module));
        text = document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    } else {
        if (container) text += describe(images);
        for (const Module& module : modules) text += describe(module);
    }
    print(text);
    return exit_with::success;
}

}  // namespace

void add_info_command(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<InfoCommand>();
    CLI::App* sub = app.add_subcommand(
        "info", "kernels, registers, shared memory, parameters, architecture, launch limits");
    sub->add_option("FILE", command->file, "a cubin, fatbin, executable or shared library")
        ->required();
    sub->add_option("--arch", command->arch, "choose images for this architecture");
    sub->add_flag("--json", command->json, "as one JSON document");
    sub->add_flag("--unsupported", command->unsupported,
                  "list what would end a launch with exit code 5 (which this then ends with)");
    sub->callback([command, &exit_code] {
        const Result<int> result = info(*command);
        exit_code = result ? *result : fail(result.error());
    });
}

}  // namespace sassemu::cli
