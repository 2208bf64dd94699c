// SPDX-License-Identifier: Apache-2.0
// `sassemu disasm`: the code of a module as text or JSON, or words as lines. What belongs here: the
// command and its JSON. What does not: the layout of the listing (listing.hpp) and the text of an
// instruction (decoder/).
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <sassemu/names.hpp>

#include "emu/base/limits.hpp"
#include "emu/cli/commands.hpp"
#include "emu/cli/listing.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/output.hpp"
#include "emu/cli/text_input.hpp"
#include "emu/cli/usage.hpp"
#include "emu/module/find_name.hpp"
#include "emu/module/line_table.hpp"
#include "emu/module/module.hpp"
#include "sassdec/architectures.hpp"
#include "sassdec/sassdec.h"
#include "words.hpp"

namespace sassemu::cli {
namespace {

struct DisasmCommand {
    std::string file, arch, words, kernel;
    bool hex = false, json = false, control = false, source = false, exact = false;
};

std::string instruction_text(const sassdec_insn& insn) {
    char text[512];
    const int length = sassdec_format(&insn, nullptr, text, sizeof text);
    return length < 0 ? "<undecodable: text too long>" : std::string(text, size_t(length));
}

nlohmann::ordered_json section_json(const Module& module, sassdec_arch arch,
                                    const CodeSection& section) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (uint64_t at = 0; at + instruction_bytes <= section.bytes.size(); at += instruction_bytes) {
        const sassdec_insn insn = decode_at(arch, section.bytes, at);
        char word[40];
        std::snprintf(word, sizeof word, "%016llx%016llx",
                      static_cast<unsigned long long>(insn.word[1]),
                      static_cast<unsigned long long>(insn.word[0]));
        nlohmann::ordered_json row{{"pc", at},
                                   {"word", word},
                                   {"text", instruction_text(insn)},
                                   {"control", control_text(insn.control)}};
        if (const auto info = module.lines().find(section.code_offset + at); info && info->source) {
            row["file"] = info->source->file;
            row["line"] = info->source->line;
        }
        rows.push_back(std::move(row));
    }
    return {{"section", section.name}, {"instructions", std::move(rows)}};
}

Result<sassdec_arch> decoder_arch(const std::string& name) {
    const sassdec_arch arch = sassdec_arch_from_name(name.c_str());
    if (arch == SASSDEC_ARCH_UNKNOWN) {
        return make_error(ErrorCode::usage, "--arch " + name, "unknown architecture",
                          sassdec::known_architectures);
    }
    return arch;
}

Result<void> disasm_words(const DisasmCommand& command) {
    if (command.arch.empty()) {
        return make_error(ErrorCode::usage, "--words", "needs --arch, e.g. --arch sm_90a");
    }
    SASSEMU_ASSIGN(const sassdec_arch arch, decoder_arch(command.arch));
    SASSEMU_ASSIGN(const TextInput input, TextInput::open(command.words));
    sassdec::disassemble_words(arch, command.exact, input.stream(), stdout);
    return {};
}

bool has_function(const Module& module, const std::string& name) {
    return name.empty() ||
           std::ranges::find(module.functions(), name, &Function::name) != module.functions().end();
}

// The symbol of the kernel or function that --kernel means.
Result<std::string> symbol_of(const std::vector<Module>& modules, const DisasmCommand& command) {
    std::vector<std::string> symbols;
    for (const Module& module : modules)
        for (const Function& function : module.functions())
            if (std::ranges::find(symbols, function.name) == symbols.end())
                symbols.push_back(function.name);
    if (names::meant(symbols, command.kernel).empty()) {
        std::vector<std::string> readable;
        for (const std::string& symbol : symbols) readable.push_back(names::Forms(symbol).plain);
        const std::string near = nearest(command.kernel, readable);
        return make_error(
            ErrorCode::not_found, command.file,
            "there is no kernel or function '" + command.kernel + "'",
            near.empty() ? "sassemu info lists what there is" : "did you mean " + near + "?");
    }
    SASSEMU_ASSIGN(const size_t found, only_meant(symbols, command.kernel, command.file));
    return symbols[found];
}

Result<void> disasm_file(const DisasmCommand& command) {
    LoadOptions options;
    if (!command.arch.empty()) {
        SASSEMU_ASSIGN(options.arch, parse_arch(command.arch));
    }
    SASSEMU_ASSIGN(const std::vector<uint8_t> bytes, read_file(command.file));
    SASSEMU_ASSIGN(const std::vector<Module> modules,
                   load_all_modules(bytes, command.file, options));
    std::string kernel;
    if (!command.kernel.empty()) {
        SASSEMU_ASSIGN(kernel, symbol_of(modules, command));
    }
    nlohmann::ordered_json document = nlohmann::ordered_json::array();
    for (const Module& module : modules) {
        if (!has_function(module, kernel)) continue;
        const std::string name = command.arch.empty() ? module.arch().name() : command.arch;
        SASSEMU_ASSIGN(const sassdec_arch arch, decoder_arch(name));
        if (!command.json) {
            SASSEMU_ASSIGN(
                const std::string text,
                listing(module, arch,
                        {command.hex, command.control, command.source, command.exact, kernel}));
            print(text);
            continue;
        }
        nlohmann::ordered_json sections = nlohmann::ordered_json::array();
        for (const CodeSection& section : module.code_sections()) {
            if (!in_section(module, section, kernel)) continue;
            SASSEMU_TRY(process_budget().check("disasm"));
            sections.push_back(section_json(module, arch, section));
        }
        document.push_back({{"arch", module.arch().name()}, {"sections", std::move(sections)}});
    }
    if (command.json) {
        using Handler = nlohmann::ordered_json::error_handler_t;
        print(document.dump(1, ' ', false, Handler::replace) + "\n");
    }
    return {};
}

}  // namespace

void add_disasm_command(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<DisasmCommand>();
    CLI::App* sub = app.add_subcommand("disasm", "the text of a module's code, or of words");
    CLI::Option* file =
        sub->add_option("FILE", command->file, "a cubin, fatbin, executable or shared library");
    CLI::Option* words = sub->add_option(
        "--words", command->words, "FILE or - with one 32-digit hex word (and TAB pc) a line");
    words->excludes(file);
    sub->add_option("--arch", command->arch, "architecture; for a module it overrides the file's");
    sub->add_option("--kernel", command->kernel,
                    "only the code of this kernel or function (as for run)")
        ->excludes(words);
    sub->add_flag("--hex", command->hex, "with the instruction words");
    sub->add_flag("--json", command->json, "as one JSON document");
    sub->add_flag("--control", command->control, "with scoreboards, barriers and stall cycles");
    sub->add_flag("--exact", command->exact,
                  "with all that the text does not say: asm makes the same bits of it");
    sub->add_flag("--source", command->source, "with source lines (-lineinfo)");
    sub->callback([command, file, words, &exit_code] {
        if (file->count() + words->count() != 1) {
            exit_code = fail(make_error(ErrorCode::usage, "disasm", "expected a FILE or --words"));
            return;
        }
        const Result<void> result =
            words->count() != 0 ? disasm_words(*command) : disasm_file(*command);
        exit_code = result ? 0 : fail(result.error());
    });
}

}  // namespace sassemu::cli
