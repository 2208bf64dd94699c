// `sassemu asm`: text to words. What belongs here: the command line. What does not: reading an
// instruction (decoder/), reading a file and writing a cubin (emu/sass).
#include <cstdio>
#include <cstring>
#include <memory>

#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "sassdec/sassdec.h"
#include "words.hpp"

namespace sassemu::cli {
namespace {

struct AsmCommand {
    std::string arch, words;
    bool exact = false;
};

Result<void> asm_words(const AsmCommand& command) {
    const sassdec_arch arch = sassdec_arch_from_name(command.arch.c_str());
    if (arch == SASSDEC_ARCH_UNKNOWN) {
        return make_error(ErrorCode::usage, "--arch " + command.arch, "unknown architecture",
                          "--words needs --arch, sm_75 to sm_121, e.g. sm_90a");
    }
    std::FILE* in = command.words == "-" ? stdin : std::fopen(command.words.c_str(), "r");
    if (in == nullptr) {
        return make_error(ErrorCode::input, command.words,
                          std::string("cannot open: ") + std::strerror(errno));
    }
    sassdec::assemble_words(arch, in, stdout);
    if (in != stdin) std::fclose(in);
    return {};
}

}  // namespace

void add_asm_command(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<AsmCommand>();
    CLI::App* sub = app.add_subcommand("asm", "words from text");
    sub->add_option("--words", command->words, "FILE or - with one text (and TAB pc) a line")
        ->required();
    sub->add_option("--arch", command->arch, "architecture");
    // A control suffix is read wherever it stands; the flag is there for symmetry with disasm.
    sub->add_flag("--exact", command->exact, "the lines are those of disasm --exact");
    sub->callback([command, &exit_code] {
        const Result<void> result = asm_words(*command);
        exit_code = result ? 0 : fail(result.error());
    });
}

}  // namespace sassemu::cli
