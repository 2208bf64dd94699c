// SPDX-License-Identifier: Apache-2.0
// The program `sassemu`: command line to subcommand to exit code. Nothing else belongs here.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>

#include "emu/cli/commands.hpp"

namespace {

constexpr int usage_error = 2, internal_error = 7;

}  // namespace

int main(int argc, char** argv) {
    int exit_code = 0;
    try {
        CLI::App app{"Runs NVIDIA machine code (SASS) on an ordinary CPU, bit for bit.", "sassemu"};
        app.require_subcommand(1);
        app.set_version_flag("--version", "sassemu " SASSEMU_VERSION);
        sassemu::cli::add_run_command(app, exit_code);
        sassemu::cli::add_disasm_command(app, exit_code);
        sassemu::cli::add_info_command(app, exit_code);
        sassemu::cli::add_asm_command(app, exit_code);
        sassemu::cli::add_isa_command(app, exit_code);
        sassemu::cli::add_check_sync_command(app, exit_code);
        sassemu::cli::add_litmus_command(app, exit_code);
        try {
            app.parse(argc, argv);
        } catch (const CLI::ParseError& error) {
            // Help and version end well; everything else is bad usage, whatever its own number.
            return app.exit(error) == 0 ? 0 : usage_error;
        }
        if (std::fflush(stdout) != 0) {
            std::perror("sassemu: stdout");
            return exit_code == 0 ? usage_error : exit_code;
        }
    } catch (const std::bad_alloc&) {
        std::fputs("sassemu: the host has no memory left for this\n", stderr);
        return usage_error;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sassemu: internal error: %s\n", error.what());
        return internal_error;
    }
    return exit_code;
}
