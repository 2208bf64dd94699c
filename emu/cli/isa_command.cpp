// SPDX-License-Identifier: Apache-2.0
// `sassemu isa`: what the description says of a mnemonic on an architecture. What belongs here:
// finding entries and printing them with the enums they name.
#include <algorithm>
#include <cctype>
#include <memory>
#include <set>

#include "emu/cli/commands.hpp"
#include "emu/cli/isa_description.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/output.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu::cli {
namespace {

struct IsaCommand {
    std::string mnemonic, arch = "sm_90";
};

std::string upper(std::string text) {
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

// "IADD3" finds IADD3 and IADD3.X; "IADD3.X" finds just that; FFMA.RM.FTZ finds FFMA, whose printed
// modifiers are lines of its entry.
std::vector<const IsaEntry*> find_entries(const IsaDescription& isa, const std::string& wanted) {
    std::vector<const IsaEntry*> found;
    for (const IsaEntry& entry : isa.entries()) {
        const std::string name = upper(entry.mnemonic);
        if (name == wanted || name.starts_with(wanted + ".")) found.push_back(&entry);
    }
    const size_t dot = wanted.rfind('.');
    if (found.empty() && dot != std::string::npos) return find_entries(isa, wanted.substr(0, dot));
    return found;
}

// Names in front of '@' that are enums: ".rnd Rounding@79:78" names Rounding.
void collect_enums(const IsaDescription& isa, const std::string& line,
                   std::set<std::string>& names) {
    for (size_t at = line.find('@'); at != std::string::npos; at = line.find('@', at + 1)) {
        size_t start = at;
        while (start > 0 && (std::isalnum(static_cast<unsigned char>(line[start - 1])) != 0 ||
                             line[start - 1] == '_')) {
            --start;
        }
        const std::string name = line.substr(start, at - start);
        if (isa.enumeration(name) != nullptr) names.insert(name);
    }
}

Result<void> print_isa(const IsaCommand& command) {
    const sassdec_arch arch = sassdec_arch_from_name(command.arch.c_str());
    if (arch == SASSDEC_ARCH_UNKNOWN) {
        return make_error(ErrorCode::usage, "--arch " + command.arch, "unknown architecture",
                          sassdec::known_architectures);
    }
    SASSEMU_ASSIGN(const IsaDescription isa, IsaDescription::read(arch));
    const std::vector<const IsaEntry*> entries = find_entries(isa, upper(command.mnemonic));
    if (entries.empty()) {
        return make_error(ErrorCode::not_found, command.mnemonic,
                          "no such instruction on " + std::string(sassdec_arch_name(arch)));
    }
    std::set<std::string> enums;
    for (const IsaEntry* entry : entries) {
        print(entry->head + "\n");
        for (const std::string& line : entry->lines) {
            print("    " + line + "\n");
            collect_enums(isa, line, enums);
        }
    }
    for (const std::string& name : enums) print(*isa.enumeration(name) + "\n");
    return {};
}

}  // namespace

void add_isa_command(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<IsaCommand>();
    CLI::App* sub = app.add_subcommand(
        "isa", "what the ISA description says: forms, fields, modifiers (format: decoder/isa)");
    sub->add_option("MNEMONIC", command->mnemonic, "e.g. FFMA or IADD3.X")->required();
    sub->add_option("--arch", command->arch, "architecture")->capture_default_str();
    sub->callback([command, &exit_code] {
        const Result<void> result = print_isa(*command);
        exit_code = result ? 0 : fail(result.error());
    });
}

}  // namespace sassemu::cli
