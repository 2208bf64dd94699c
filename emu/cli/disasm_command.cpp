// `sassemu disasm`: the code of a module as text, or words as lines. What belongs here: the
// listing's layout (labels, columns, JSON). What does not: the text of an instruction, which is the
// decoder's.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "emu/module/line_table.hpp"
#include "emu/module/module.hpp"
#include "sassdec/sassdec.h"
#include "words.hpp"

namespace sassemu::cli {
namespace {

constexpr size_t instruction_bytes = SASSDEC_INSN_BYTES;
constexpr size_t text_column = 35;  // where an unguarded mnemonic starts
constexpr size_t hex_column = 70;

struct DisasmCommand {
    std::string file, arch, words;
    bool hex = false, json = false, control = false, source = false, exact = false;
};

struct Listing {
    const DisasmCommand& command;
    const Module& module;
    sassdec_arch arch;
    unsigned next_label;  // labels are numbered through the whole file
};

sassdec_insn decode(sassdec_arch arch, Bytes code, uint64_t offset) {
    uint64_t words[2];
    std::memcpy(words, code.data() + offset, sizeof words);
    sassdec_insn insn;
    sassdec_decode(arch, words, offset, &insn);
    return insn;
}

// Section offset -> label: functions, and every target of a branch within the section.
using Labels = std::map<uint64_t, std::string>;

Labels find_labels(Listing& listing, const CodeSection& section) {
    std::set<uint64_t> targets;
    for (uint64_t at = 0; at + instruction_bytes <= section.bytes.size(); at += instruction_bytes) {
        const sassdec_insn insn = decode(listing.arch, section.bytes, at);
        uint64_t target = 0;
        if (insn.status == SASSDEC_OK && sassdec_branch_target(&insn, &target) != 0 &&
            target < section.bytes.size()) {
            targets.insert(target);
        }
    }
    for (const Kernel& kernel : listing.module.kernels()) {
        if (kernel.section != section.section) continue;
        for (const IndirectBranch& branch : kernel.indirect_branches) {
            targets.insert(branch.targets.begin(), branch.targets.end());
        }
    }
    Labels labels;
    for (const Function& function : listing.module.functions()) {
        if (function.section == section.section) labels[function.section_offset] = function.name;
    }
    for (const uint64_t target : targets) {
        if (labels.contains(target)) continue;  // a function's name comes first
        labels[target] = ".L_x_" + std::to_string(listing.next_label++);
    }
    return labels;
}

int label_text(void* user, const sassdec_insn*, uint64_t target, char* out, size_t size) {
    const auto& labels = *static_cast<const Labels*>(user);
    const auto found = labels.find(target);
    if (found == labels.end()) return -1;
    return std::snprintf(out, size, "`(%s)", found->second.c_str());
}

std::string instruction_text(const sassdec_insn& insn, Labels* labels) {
    sassdec_format_options options{};
    options.size = sizeof options;
    if (labels != nullptr) {
        options.label = label_text;
        options.user = labels;
    }
    char text[512];
    const int length = sassdec_format(&insn, &options, text, sizeof text);
    return length < 0 ? "<undecodable: text too long>" : std::string(text, size_t(length));
}

// "B0-2--:R-:W1:Y:S04": scoreboards waited for, read and write barrier, yield, stall cycles.
std::string control_text(const sassdec_control& control) {
    std::string text = "B";
    for (int i = 0; i < 6; ++i) {
        text += (control.wait_mask >> i & 1) != 0 ? static_cast<char>('0' + i) : '-';
    }
    const auto barrier = [](uint8_t number) {
        return number < 6 ? std::string(1, static_cast<char>('0' + number)) : std::string("-");
    };
    text += ":R" + barrier(control.read_barrier) + ":W" + barrier(control.write_barrier);
    text += control.yield != 0 ? ":Y" : ":-";
    char stall[8];
    std::snprintf(stall, sizeof stall, ":S%02u", control.stall);
    return text + stall;
}

std::string word_text(uint64_t word) {
    char text[32];
    std::snprintf(text, sizeof text, "/* 0x%016llx */", static_cast<unsigned long long>(word));
    return text;
}

void pad(std::string& line, size_t column) {
    if (line.size() < column) line.append(column - line.size(), ' ');
}

void print_instruction(const Listing& listing, const sassdec_insn& insn, Labels& labels) {
    std::string text = instruction_text(insn, &labels);
    // A guard stands left of the mnemonics' column.
    size_t guard = 0;
    if (text.starts_with('@')) {
        guard = text.find(' ');
        guard = guard == std::string::npos ? 0 : guard + 1;
    }
    char address[32];
    std::snprintf(address, sizeof address, "        /*%04llx*/",
                  static_cast<unsigned long long>(insn.pc));
    std::string line = address;
    if (listing.command.control) line += " [" + control_text(insn.control) + "]";
    const size_t shift = line.size() - std::strlen(address);
    pad(line, text_column + shift - guard);
    line += text + " ;";
    if (listing.command.hex) {
        pad(line, hex_column + shift);
        line += word_text(insn.word[0]) + "\n";
        line.append(hex_column + shift, ' ');
        line += word_text(insn.word[1]);
    }
    std::printf("%s\n", line.c_str());
}

void print_source(const LineInfo& info) {
    if (info.source) {
        std::printf("\t//## File \"%.*s\", line %u", int(info.source->file.size()),
                    info.source->file.data(), info.source->line);
        for (const SourceLocation& site : info.inlined_at) {
            std::printf(" inlined at \"%.*s\", line %u", int(site.file.size()), site.file.data(),
                        site.line);
        }
        std::printf("\n");
    }
    if (info.ptx_line != 0) {
        std::printf("\t//## PTX line %u: %.*s\n", info.ptx_line, int(info.ptx_text.size()),
                    info.ptx_text.data());
    }
}

std::string source_key(const LineInfo& info) {
    std::string key = std::to_string(info.ptx_line);
    if (info.source) key += std::string(info.source->file) + std::to_string(info.source->line);
    return key;
}

// An instruction that is one with the next; the assembler reads the directive.
bool is_fused(const Module& module, uint32_t section, uint64_t offset) {
    for (const Kernel& kernel : module.kernels()) {
        if (kernel.section == section &&
            std::ranges::find(kernel.fused_offsets, offset) != kernel.fused_offsets.end()) {
            return true;
        }
    }
    return false;
}

void print_section(Listing& listing, const CodeSection& section) {
    Labels labels = find_labels(listing, section);
    std::printf("\n//--------------------- %-24s --------------------------\n",
                section.name.c_str());
    std::string last_source;
    for (uint64_t at = 0; at + instruction_bytes <= section.bytes.size(); at += instruction_bytes) {
        if (const auto label = labels.find(at); label != labels.end()) {
            std::printf("%s:\n", label->second.c_str());
        }
        if (listing.command.source) {
            const auto info = listing.module.lines().find(section.code_offset + at);
            if (info && source_key(*info) != last_source) {
                last_source = source_key(*info);
                print_source(*info);
            }
        }
        if (is_fused(listing.module, section.section, at)) std::printf("\t.fused\n");
        print_instruction(listing, decode(listing.arch, section.bytes, at), labels);
    }
}

nlohmann::ordered_json section_json(const Listing& listing, const CodeSection& section) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (uint64_t at = 0; at + instruction_bytes <= section.bytes.size(); at += instruction_bytes) {
        const sassdec_insn insn = decode(listing.arch, section.bytes, at);
        char word[40];
        std::snprintf(word, sizeof word, "%016llx%016llx",
                      static_cast<unsigned long long>(insn.word[1]),
                      static_cast<unsigned long long>(insn.word[0]));
        nlohmann::ordered_json row{{"pc", at},
                                   {"word", word},
                                   {"text", instruction_text(insn, nullptr)},
                                   {"control", control_text(insn.control)}};
        if (const auto info = listing.module.lines().find(section.code_offset + at);
            info && info->source) {
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
                          "sm_75 to sm_121, e.g. sm_90a");
    }
    return arch;
}

Result<void> disasm_words(const DisasmCommand& command) {
    if (command.arch.empty()) {
        return make_error(ErrorCode::usage, "--words", "needs --arch, e.g. --arch sm_90a");
    }
    SASSEMU_ASSIGN(const sassdec_arch arch, decoder_arch(command.arch));
    std::FILE* in = command.words == "-" ? stdin : std::fopen(command.words.c_str(), "r");
    if (in == nullptr) {
        return make_error(ErrorCode::input, command.words,
                          std::string("cannot open: ") + std::strerror(errno));
    }
    sassdec::disassemble_words(arch, command.exact, in, stdout);
    if (in != stdin) std::fclose(in);
    return {};
}

Result<void> disasm_file(const DisasmCommand& command) {
    LoadOptions options;
    if (!command.arch.empty()) {
        SASSEMU_ASSIGN(options.arch, parse_arch(command.arch));
    }
    SASSEMU_ASSIGN(const std::vector<uint8_t> bytes, read_file(command.file));
    SASSEMU_ASSIGN(const std::vector<Module> modules,
                   load_all_modules(bytes, command.file, options));
    nlohmann::ordered_json document = nlohmann::ordered_json::array();
    for (const Module& module : modules) {
        const std::string name = command.arch.empty() ? module.arch().name() : command.arch;
        SASSEMU_ASSIGN(const sassdec_arch arch, decoder_arch(name));
        Listing listing{command, module, arch, 0};
        nlohmann::ordered_json sections = nlohmann::ordered_json::array();
        if (!command.json) std::printf("\t.target\t%s\n", module.arch().name().c_str());
        for (const CodeSection& section : module.code_sections()) {
            if (command.json) {
                sections.push_back(section_json(listing, section));
            } else {
                print_section(listing, section);
            }
        }
        document.push_back({{"arch", module.arch().name()}, {"sections", std::move(sections)}});
    }
    if (command.json) {
        using Handler = nlohmann::ordered_json::error_handler_t;
        std::printf("%s\n", document.dump(1, ' ', false, Handler::replace).c_str());
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
    sub->add_flag("--hex", command->hex, "with the instruction words");
    sub->add_flag("--json", command->json, "as one JSON document");
    sub->add_flag("--control", command->control, "with scoreboards, barriers and stall cycles");
    sub->add_flag("--exact", command->exact, "--words: with all that the text does not say, for asm");
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
