// SPDX-License-Identifier: Apache-2.0
// Layout rules found by comparing listings of nvdisasm 13.0; see tests/cli/listing_test.py, which
// holds the results.
#include "emu/cli/listing.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "emu/base/limits.hpp"
#include "emu/base/text.hpp"
#include "emu/cli/listing_symbols.hpp"
#include "emu/cli/symbolic_text.hpp"
#include "emu/module/attributes.hpp"
#include "emu/module/byte_reader.hpp"
#include "emu/module/elf.hpp"
#include "emu/module/line_table.hpp"

namespace sassemu::cli {
namespace {

constexpr size_t text_column = 35;          // where an unguarded mnemonic starts
constexpr size_t note_gap = 2;              // from the longest text to the column of notes
constexpr uint64_t plain_schedule = 0x7e0;  // bits [127:105] of a word that waits for nothing

constexpr uint32_t plain_word = 2;  // R_CUDA_64

using Labels = std::map<uint64_t, std::string>;

struct Line {
    sassdec_insn insn;
    std::string text;  // with labels
    std::string note;  // (*"BRANCH_TARGETS ..."*)
};

struct SectionListing {
    const CodeSection* section = nullptr;
    std::vector<const Function*> functions;  // by offset
    std::vector<IndirectBranch> tables;      // branches with a list of targets
    Labels labels;
    std::vector<Line> lines;
};

class Lister {
  public:
    Lister(const Module& module, sassdec_arch arch, const ListingOptions& options)
        : module_(module), arch_(arch), options_(options) {}

    Result<std::string> run() {
        const std::vector<uint32_t> no_space = {0x7000000a, 0x7000000b, 0x70000015};
        SASSEMU_ASSIGN(file_, elf::parse(module_.elf(), module_.file_name(), no_space));
        for (const CodeSection& section : module_.code_sections())
            SASSEMU_TRY(add_section(section));
        // Numbers are given out over the whole file: first to what relocations of code refer to, to
        // direct branches and to tables, then to what other sections (debug information) refer to
        // and to the ends of functions.
        SASSEMU_TRY(read_relocations());
        name_referred(true);
        for (SectionListing& s : sections_) name_targets(s);
        for (SectionListing& s : sections_) name_tables(s);
        if (module_.is_relocatable()) skip_entries();
        name_referred(false);
        name_ends();
        for (SectionListing& s : sections_) {
            SASSEMU_TRY(process_budget().check("disasm"));
            make_lines(s);
        }
        out_ = "\t.target\t" + module_.arch().name() + "\n\n\t.elftype\t@\"" +
               (module_.is_relocatable() ? "ET_REL" : "ET_EXEC") + "\"\n\n";
        for (const SectionListing& s : sections_) {
            SASSEMU_TRY(process_budget().check("disasm"));
            if (in_section(module_, *s.section, options_.function)) print_section(s);
        }
        if (options_.function.empty()) print_symbols();
        return std::move(out_);
    }

  private:
    Result<void> add_section(const CodeSection& section) {
        SectionListing s;
        s.section = &section;
        for (const Function& f : module_.functions()) {
            if (f.section != section.section) continue;
            s.functions.push_back(&f);
            s.labels[f.section_offset] = shown(f.name);
        }
        std::stable_sort(s.functions.begin(), s.functions.end(),
                         [](const Function* a, const Function* b) {
                             return a->section_offset < b->section_offset;
                         });
        // What .text.NAME branches to stands in .nv.info.NAME, kernel or not.
        const std::string info = ".nv.info" + section.name.substr(std::string(".text").size());
        for (const elf::Section& about : file_.sections) {
            if (about.name != info) continue;
            const std::string where = module_.file_name() + ": " + info;
            SASSEMU_ASSIGN(const auto attributes, parse_attributes(about.bytes, where, true));
            for (const Attribute& attribute : attributes) {
                if (attribute.code != eiattr::indirect_branch_targets) continue;
                SASSEMU_ASSIGN(s.tables, indirect_branches(attribute, where));
            }
        }
        sections_.push_back(std::move(s));
        return {};
    }

    // All relocations of the file, section by section, each section's by offset.
    Result<void> read_relocations() {
        for (size_t i = 1; i < file_.sections.size(); ++i) {
            const uint32_t type = file_.sections[i].type;
            if (type != elf::sht_rel && type != elf::sht_rela) continue;
            SASSEMU_ASSIGN(auto found, elf::relocations(file_, i, module_.symbols().size(),
                                                        module_.file_name()));
            for (Relocation& relocation :
                 found) {  // without an addend of its own the field holds it
                if (relocation.has_addend || relocation.type != plain_word) continue;
                const Bytes target = file_.sections[relocation.section].bytes;
                relocation.addend = read_at<int64_t>(target, relocation.offset).value_or(0);
            }
            std::ranges::stable_sort(found, {}, &Relocation::offset);
            relocations_.insert(relocations_.end(), found.begin(), found.end());
        }
        return {};
    }

    [[nodiscard]] SectionListing* code(uint32_t section) {
        const auto found = std::ranges::find(
            sections_, section, [](const SectionListing& s) { return s.section->section; });
        return found == sections_.end() ? nullptr : &*found;
    }

    // The tables' entries are places too in a relocatable file; all of them have names by now, and
    // take numbers still.
    void skip_entries() {
        for (const SectionListing& s : sections_) {
            for (const IndirectBranch& branch : s.tables)
                next_label_ += unsigned(branch.targets.size());
        }
    }

    // A relocation to the inside of a function needs a label there; nvdisasm counts those of
    // sections that `-c` does not print too.
    void name_referred(bool from_code) {
        for (const Relocation& relocation : relocations_) {
            if ((code(relocation.section) != nullptr) != from_code) continue;
            const Symbol& symbol = module_.symbols()[relocation.symbol];
            if (relocation.addend == 0 || !is_place(symbol)) continue;
            SectionListing* s = code(symbol.section);
            const uint64_t at = symbol.value + uint64_t(relocation.addend);
            if (s != nullptr && !s->labels.contains(at)) s->labels[at] = fresh();
        }
    }

    static bool is_place(const Symbol& symbol) {
        return symbol.section != 0 && symbol.type == elf::stt_func;
    }

    std::string fresh() { return ".L_x_" + std::to_string(next_label_++); }

    void name_targets(SectionListing& s) {
        const Bytes code = s.section->bytes;
        for (uint64_t at = 0; at + instruction_bytes <= code.size(); at += instruction_bytes) {
            const sassdec_insn insn = decode_at(arch_, code, at);
            uint64_t target = 0;
            const bool direct = sassdec_branch_target(&insn, &target) != 0;
            if (!direct && !table_base(insn, target)) continue;
            if (target >= code.size()) continue;
            if (!direct) ++next_label_;  // taken, but the place has a name already
            if (!s.labels.contains(target)) s.labels[target] = fresh();
        }
    }

    // BRX and JMX of relocatable files name the place from which their tables count.
    [[nodiscard]] bool table_base(const sassdec_insn& insn, uint64_t& base) const {
        constexpr uint32_t indirect_branch = SASSDEC_GROUP_BRANCH | SASSDEC_GROUP_INDIRECT;
        constexpr uint32_t other = SASSDEC_GROUP_CALL | SASSDEC_GROUP_RETURN;
        if (!module_.is_relocatable() || insn.operand_count == 0) return false;
        if ((insn.groups & (indirect_branch | other)) != indirect_branch) return false;
        const sassdec_operand& offset = insn.operand[insn.operand_count - 1];
        if (offset.kind != SASSDEC_OP_IMM || offset.imm == 0) return false;
        base = insn.pc + instruction_bytes + uint64_t(offset.imm);
        return true;
    }

    // A table's branch has a label too; every entry takes a number, even when its target has a
    // label already.
    void name_tables(SectionListing& s) {
        for (const IndirectBranch& branch : s.tables) {
            const auto name = [&](uint64_t at) {
                const std::string label = fresh();
                s.labels.try_emplace(at, label);
            };
            name(branch.offset);
            for (const uint32_t target : branch.targets) name(target);
        }
    }

    // Ends of functions take numbers in the order of the symbol table, whatever the section: one
    // for each end, even where another function begins and lends its name.
    void name_ends() {
        for (const Function* f : by_symbol()) {
            const auto s = std::ranges::find_if(sections_, [&](const SectionListing& l) {
                return l.section->section == f->section;
            });
            if (s == sections_.end()) continue;
            s->labels.try_emplace(f->section_offset + f->size, fresh());
        }
    }

    [[nodiscard]] std::vector<const Function*> by_symbol() const {
        std::vector<const Function*> found;
        for (const Function& f : module_.functions()) found.push_back(&f);
        std::ranges::stable_sort(found, {}, [](const Function* f) { return f->symbol; });
        return found;
    }

    // What stands for the linker's value: a symbol, or a place in one.
    [[nodiscard]] std::string expression(const Relocation& relocation) {
        const Symbol& symbol = module_.symbols()[relocation.symbol];
        const std::string name = shown(symbol.name);
        if (relocation.addend == 0) return name;
        const SectionListing* s = is_place(symbol) ? code(symbol.section) : nullptr;
        if (s != nullptr) {
            const auto label = s->labels.find(symbol.value + uint64_t(relocation.addend));
            if (label != s->labels.end()) return "(" + name + " + " + label->second + "@srel)";
        }
        char number[32];
        const auto magnitude = static_cast<unsigned long long>(std::llabs(relocation.addend));
        std::snprintf(number, sizeof number, "%s0x%llx", relocation.addend < 0 ? "-" : "",
                      magnitude);
        return "(" + name + " + " + number + ")";
    }

    [[nodiscard]] std::string text_of(const sassdec_insn& insn, const SectionListing& s,
                                      std::span<const Relocation> relocations) {
        char text[1024];
        const int n = options_.exact ? sassdec_format_exact(&insn, text, sizeof text) : -1;
        if (n >= 0) return {text, size_t(n)};
        for (const Relocation& relocation : relocations) {
            const RelocationText how = relocation_text(relocation.type);
            if (how.place == Place::none) continue;
            return text_with(insn, how.place, how.before + expression(relocation) + how.after);
        }
        uint64_t target = 0;
        if (sassdec_branch_target(&insn, &target) != 0) {
            const auto label = s.labels.find(target);
            if (label != s.labels.end())
                return text_with(insn, Place::target, "`(" + label->second + ")");
        }
        if (table_base(insn, target) && target == 0) {
            return text_with(insn, Place::target,
                             "`(((" + shown(s.section->name) + " - .) - 0x10))");
        }
        return plain_text(insn);
    }

    void make_lines(SectionListing& s) {
        const Bytes code = s.section->bytes;
        std::map<uint64_t, const IndirectBranch*> branches;
        for (const IndirectBranch& branch : s.tables) branches[branch.offset] = &branch;
        for (uint64_t at = 0; at + instruction_bytes <= code.size(); at += instruction_bytes) {
            Line line{decode_at(arch_, code, at), {}, {}};
            const auto key = [](const Relocation& r) { return std::pair(r.section, r.offset); };
            const std::pair here(s.section->section, at);
            const auto begin = std::ranges::lower_bound(module_.relocations(), here, {}, key);
            const auto end = std::ranges::upper_bound(module_.relocations(), here, {}, key);
            line.text = text_of(line.insn, s, {begin, end});
            for (const Relocation& relocation : std::span(begin, end)) {
                if (relocation.type != relocates_opcode) continue;
                line.note =
                    "(*\"RELOCATOR OPCODE,YIELD," + std::to_string(relocation.addend) + "\"*)";
            }
            if (const auto found = branches.find(at); found != branches.end()) {
                line.note = "(*\"BRANCH_TARGETS ";
                std::vector<uint32_t> shown;  // each target once, where it comes first
                for (const uint32_t target : found->second->targets) {
                    if (std::ranges::find(shown, target) != shown.end()) continue;
                    line.note += (shown.empty() ? "" : ",") + s.labels[target];
                    shown.push_back(target);
                }
                line.note += "\"*)";
            }
            widest_text_ = std::max(widest_text_, line.text.size() + wide_address(line.insn.pc));
            widest_note_ = std::max(widest_note_, line.note.size());
            s.lines.push_back(std::move(line));
        }
    }

    // A guard stands left of the mnemonics' column, unless it is a uniform predicate.
    static size_t guard_length(const std::string& text) {
        if (!text.starts_with("@P") && !text.starts_with("@!P")) return 0;
        const size_t blank = text.find(' ');
        return blank == std::string::npos ? 0 : blank + 1;
    }

    // By how many columns an address is wider than four digits.
    static size_t wide_address(uint64_t pc) {
        size_t columns = 0;
        for (pc >>= 16U; pc; pc >>= 4U) ++columns;
        return columns;
    }

    static void pad(std::string& line, size_t column) {
        if (line.size() < column) line.append(column - line.size(), ' ');
    }

    void print_section(const SectionListing& s) {
        const std::string name = shown(s.section->name);
        const elf::Section& section = file_.sections[s.section->section];
        print("\n//--------------------- %-25s --------------------------\n", name.c_str());
        print("\t.section\t%s,\"ax\",@progbits\n", name.c_str());
        if (section.info >> 24U != 0)
            print("\t.sectioninfo\t@\"SHI_REGISTERS=%u\"\n", section.info >> 24U);
        print("\t.align\t%llu\n", static_cast<unsigned long long>(section.alignment));
        std::string last_source;
        for (const Line& line : s.lines) {
            print_names(s, line.insn.pc);
            if (options_.source) print_source(s, line.insn.pc, last_source);
            if (is_fused(s, line.insn.pc)) out_ += "\t.fused\n";
            print_line(line);
        }
        if (const auto end = s.labels.find(s.section->bytes.size()); end != s.labels.end()) {
            print("%s:\n", end->second.c_str());
        }
        out_ += '\n';
    }

    // An instruction that is one with the next; the assembler reads the directive.
    [[nodiscard]] bool is_fused(const SectionListing& s, uint64_t at) const {
        return std::any_of(
            module_.kernels().begin(), module_.kernels().end(), [&](const Kernel& kernel) {
                return kernel.section == s.section->section &&
                       std::ranges::find(kernel.fused_offsets, at) != kernel.fused_offsets.end();
            });
    }

    // Symbols at one place stand in the reverse order of the symbol table; the section's own is one
    // of them.
    void print_names(const SectionListing& s, uint64_t at) {
        const auto here = [&](const Function* f) { return f->section_offset == at; };
        const uint32_t own = section_symbol(s.section->section);
        for (const Function* f : s.functions) {
            if (here(f) && f->symbol > own) print_function(s, *f);
        }
        if (at == 0) print("%s:\n", shown(s.section->name).c_str());
        for (const Function* f : s.functions) {
            if (here(f) && f->symbol < own) print_function(s, *f);
        }
        const auto label = s.labels.find(at);
        if (std::ranges::none_of(s.functions, here) && label != s.labels.end())
            print("%s:\n", label->second.c_str());
    }

    // 0: the section has no symbol.
    [[nodiscard]] uint32_t section_symbol(uint32_t section) const {
        for (uint32_t i = 1; i < module_.symbols().size(); ++i) {
            const Symbol& symbol = module_.symbols()[i];
            if (symbol.type == elf::stt_section && symbol.section == section) return i;
        }
        return 0;
    }

    void print_function(const SectionListing& s, const Function& f) {
        const Symbol& symbol = module_.symbols()[f.symbol];
        const std::string name = shown(f.name);
        if (symbol.is_global)
            print("        %-15s %s\n", symbol.is_weak ? ".weak" : ".global", name.c_str());
        print("        %-15s %s,@function\n", ".type", name.c_str());
        const auto end = s.labels.find(f.section_offset + f.size);
        if (end != s.labels.end()) {
            print("        %-15s %s,(%s - %s)\n", ".size", name.c_str(), end->second.c_str(),
                  name.c_str());
        }
        if ((symbol.other & 0x10U) != 0) {
            print("        %-15s %s,@\"STO_CUDA_ENTRY STV_%s\"\n", ".other", name.c_str(),
                  visibility_name(symbol.other));
        }
        print("%s:\n", name.c_str());
    }

    void print_line(const Line& line) {
        char address[32];
        std::snprintf(address, sizeof address, "        /*%04llx*/",
                      static_cast<unsigned long long>(line.insn.pc));
        std::string text = address;
        const size_t wide = wide_address(line.insn.pc);  // columns after the text stay
        const size_t shift = options_.control ? control_text(line.insn.control).size() + 3 : 0;
        if (options_.control) text += " [" + control_text(line.insn.control) + "]";
        pad(text, text_column + shift + wide - guard_length(line.text));
        text += line.text;
        const size_t note_column = text_column + shift + widest_text_ + note_gap;
        if (!line.note.empty()) {
            pad(text, note_column);
            text += line.note + ";";
        } else {
            // nvdisasm's names of special floating values carry a blank of their own.
            for (const char* special : {"INF", "NAN", "-0.0"})
                if (line.text.ends_with(special)) text += ' ';
            text += line.insn.word[1] >> 41U == plain_schedule ? ";" : " ;";
        }
        if (options_.hex) {
            const size_t hex_column = note_column + widest_note_ + 2;
            pad(text, hex_column);
            text += word_text(line.insn.word[0]) + "\n";
            text.append(hex_column, ' ');
            text += word_text(line.insn.word[1]);
        }
        out_ += text + "\n";
    }

    static std::string word_text(uint64_t word) {
        char text[32];
        std::snprintf(text, sizeof text, "/* 0x%016llx */", static_cast<unsigned long long>(word));
        return text;
    }

    // A line table entry is shown where it begins.
    void print_source(const SectionListing& s, uint64_t at, std::string& last) {
        const auto info = module_.lines().find(s.section->code_offset + at);
        if (!info) return;
        std::string key = std::to_string(info->ptx_line);
        if (info->source)
            key += std::string(info->source->file) + std::to_string(info->source->line);
        if (key == last) return;
        last = key;
        if (info->source) {
            print("\t//## File \"%s\", line %u", shown(info->source->file).c_str(),
                  info->source->line);
            for (const SourceLocation& site : info->inlined_at)
                print(" inlined at \"%s\", line %u", shown(site.file).c_str(), site.line);
            out_ += '\n';
        }
        if (info->ptx_line != 0)
            print("\t//## PTX line %u: %s\n", info->ptx_line, shown(info->ptx_text, "\t").c_str());
    }

    void print_symbols() {
        const std::string symbols = undefined_symbols(module_);
        // A blank line ends a section if something follows it.
        if (symbols.empty() && out_.ends_with("\n\n")) out_.pop_back();
        out_ += symbols;
    }

    template <class... Args>
    void print(const char* format, Args... args) {
        const int n = std::snprintf(nullptr, 0, format, args...);
        if (n <= 0) return;
        const size_t at = out_.size();
        out_.resize(at + size_t(n) + 1);
        std::snprintf(out_.data() + at, size_t(n) + 1, format, args...);
        out_.resize(at + size_t(n));
    }

    const Module& module_;
    sassdec_arch arch_;
    ListingOptions options_;
    elf::File file_;
    std::vector<SectionListing> sections_;
    std::vector<Relocation> relocations_;
    std::string out_;
    unsigned next_label_ = 0;
    size_t widest_text_ = 0, widest_note_ = 0;
};

}  // namespace

bool in_section(const Module& module, const CodeSection& section, const std::string& function) {
    return function.empty() || std::ranges::any_of(module.functions(), [&](const Function& f) {
               return f.section == section.section && f.name == function;
           });
}

sassdec_insn decode_at(sassdec_arch arch, Bytes code, uint64_t offset) {
    uint64_t words[2];
    std::memcpy(words, code.data() + offset, sizeof words);
    sassdec_insn insn;
    sassdec_decode(arch, words, offset, &insn);
    return insn;
}

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

Result<std::string> listing(const Module& module, sassdec_arch arch,
                            const ListingOptions& options) {
    return Lister(module, arch, options).run();
}

}  // namespace sassemu::cli
