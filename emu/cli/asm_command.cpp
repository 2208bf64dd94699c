// SPDX-License-Identifier: Apache-2.0
// `sassemu asm`: text to words. What belongs here: the command line. What does not: reading an
// instruction (decoder/), reading a file and writing a cubin (emu/sass).
#include <cstdio>
#include <cstring>
#include <memory>

#include "emu/base/exit_code.hpp"
#include "emu/base/text.hpp"
#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/text_input.hpp"
#include "emu/plan/atomic_file.hpp"
#include "emu/sass/assembled.hpp"
#include "sassdec/architectures.hpp"
#include "sassdec/sassdec.h"
#include "words.hpp"

namespace sassemu::cli {
namespace {

struct AsmCommand {
    std::string file, output, arch, words;
    bool exact = false;
};

Result<void> asm_words(const AsmCommand& command) {
    const sassdec_arch arch = sassdec_arch_from_name(command.arch.c_str());
    if (arch == SASSDEC_ARCH_UNKNOWN) {
        return make_error(ErrorCode::usage, "--arch " + command.arch, "unknown architecture",
                          sassdec::known_architectures);
    }
    SASSEMU_ASSIGN(const TextInput input, TextInput::open(command.words));
    sassdec::assemble_words(arch, input.stream(), stdout);
    return {};
}

// Complaints go to stderr as FILE:LINE:COLUMN; nothing is written when there is one.
Result<bool> asm_file(const AsmCommand& command) {
    if (command.output.empty()) {
        return make_error(ErrorCode::usage, "asm " + command.file, "no output file",
                          "add -o FILE.cubin");
    }
    SASSEMU_ASSIGN(const std::vector<uint8_t> text, read_file(command.file));
    std::vector<sass::Diagnostic> diagnostics;
    const auto module =
        sass::read_sass(std::string(text.begin(), text.end()), command.arch, diagnostics);
    for (const sass::Diagnostic& d : diagnostics) {
        std::fprintf(stderr, "%s:%u:%u: error: %s%s%s\n", shown(command.file).c_str(), d.line,
                     d.column, shown(d.what).c_str(), d.hint.empty() ? "" : "; ", d.hint.c_str());
    }
    if (!module) return false;
    const std::vector<uint8_t> cubin = sass::write_cubin(*module);
    SASSEMU_TRY(plan::write_file_atomically(command.output, std::as_bytes(std::span(cubin))));
    return true;
}

}  // namespace

void add_asm_command(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<AsmCommand>();
    CLI::App* sub = app.add_subcommand("asm", "a cubin from SASS text, or words from lines");
    CLI::Option* file = sub->add_option("FILE", command->file, "a .sass file (decoder/doc/asm.md)");
    CLI::Option* words =
        sub->add_option("--words", command->words, "FILE or - with one text (and TAB pc) a line");
    words->excludes(file);
    sub->add_option("-o,--output", command->output, "the cubin to write");
    sub->add_option("--arch", command->arch, "architecture; for a file it overrides .target");
    // A control suffix is read wherever it stands; the flag is there for symmetry with disasm.
    sub->add_flag("--exact", command->exact, "the lines are those of disasm --exact");
    sub->callback([command, file, words, &exit_code] {
        if (file->count() + words->count() != 1) {
            exit_code = fail(make_error(ErrorCode::usage, "asm", "expected a FILE or --words"));
            return;
        }
        if (words->count() != 0) {
            const Result<void> result = asm_words(*command);
            exit_code = result ? 0 : fail(result.error());
            return;
        }
        const Result<bool> result = asm_file(*command);
        exit_code = !result ? fail(result.error()) : *result ? 0 : exit_with::bad_input;
    });
}

}  // namespace sassemu::cli
