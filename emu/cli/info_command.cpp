// SPDX-License-Identifier: Apache-2.0
// `sassemu info`: what a module, fatbin or executable holds.
#include <memory>
#include <nlohmann/json.hpp>

#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/output.hpp"
#include "emu/module/describe.hpp"
#include "emu/module/module.hpp"

namespace sassemu::cli {
namespace {

struct InfoCommand {
    std::string file, arch;
    bool json = false;
};

Result<void> info(const InfoCommand& command) {
    LoadOptions options;
    if (!command.arch.empty()) {
        SASSEMU_ASSIGN(options.arch, parse_arch(command.arch));
    }
    SASSEMU_ASSIGN(const std::vector<uint8_t> bytes, read_file(command.file));
    SASSEMU_ASSIGN(const std::vector<ImageInfo> images, list_images(bytes, command.file));
    SASSEMU_ASSIGN(const std::vector<Module> modules,
                   load_all_modules(bytes, command.file, options));
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
    return {};
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
    sub->callback([command, &exit_code] {
        const Result<void> result = info(*command);
        exit_code = result ? 0 : fail(result.error());
    });
}

}  // namespace sassemu::cli
