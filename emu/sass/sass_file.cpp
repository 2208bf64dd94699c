// SPDX-License-Identifier: Apache-2.0
// Text of a .sass file -> AssembledModule: lines, directives, labels, and what follows from the
// code itself (registers, barriers, exits). The language is described in decoder/doc/asm.md. What
// does not belong here: reading an instruction (decoder/), the cubin's layout (cubin_writer.cpp).
#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <string_view>

#include "emu/sass/assembled.hpp"
#include "sassdec/architectures.hpp"
#include "sassdec/sassdec.h"

namespace sassemu::sass {
namespace {

constexpr size_t max_diagnostics = 20;
constexpr uint32_t max_code = 1U << 28U;  // instructions: 4 GiB of code
// Two registers more than the code names: the hardware keeps some for itself (as ptxas counts).
constexpr uint32_t extra_registers = 2, least_registers = 8, most_registers = 255;

bool is_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
}

// Directives of nvdisasm's listing that say nothing new to us.
bool is_listing_directive(std::string_view name) {
    static constexpr std::string_view known[] = {
        ".headerflags", ".elftype", ".sectionflags", ".sectioninfo", ".sectionentsize", ".align",
        ".global",      ".weak",    ".type",         ".size",        ".other",          ".headers"};
    return std::ranges::find(known, name) != std::end(known);
}

struct Statement {
    unsigned line = 0, column = 0;  // of the text's first character
    std::string text;               // one instruction
    size_t written = 0;             // length of what the file has for it
    bool fused = false;             // one with the next
    bool bits = false;              // the text is 32 hex digits
};

// A line cut into words for directives; keeps the column of each.
struct Words {
    struct Word {
        std::string_view text;
        unsigned column;
    };
    std::vector<Word> list;

    explicit Words(std::string_view line, unsigned column) {
        for (size_t i = 0; i < line.size();) {
            if (line[i] == ' ' || line[i] == '\t' || line[i] == ',') {
                ++i;
                continue;
            }
            size_t j = i;
            while (j < line.size() && line[j] != ' ' && line[j] != '\t' && line[j] != ',') ++j;
            list.push_back({line.substr(i, j - i), column + static_cast<unsigned>(i)});
            i = j;
        }
    }
};

std::optional<uint32_t> number(std::string_view text) {
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        text.remove_prefix(2);
        base = 16;
    }
    uint32_t v = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), v, base);
    if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return v;
}

struct PendingKernel {
    AssembledKernel kernel;
    unsigned line = 0;
    std::vector<Statement> statements;
    std::map<std::string, uint64_t, std::less<>> labels;
    std::map<std::string, unsigned, std::less<>> label_lines;
    std::map<std::string, uint32_t, std::less<>> parameters;  // the named ones' offsets
    bool fuse_next = false;
};

class Reader {
  public:
    Reader(const std::string& default_arch, std::vector<Diagnostic>& diagnostics)
        : out_(diagnostics) {
        if (!default_arch.empty()) set_arch(default_arch, 0, 0);
        from_command_line_ = !default_arch.empty();
    }

    std::optional<AssembledModule> run(const std::string& text) {
        size_t at = 0;
        for (line_ = 1; at <= text.size() && out_.size() < max_diagnostics; ++line_) {
            const size_t end = std::min(text.find('\n', at), text.size());
            read_line(std::string_view(text).substr(at, end - at));
            at = end + 1;
        }
        if (in_comment_)
            complain_at(comment_line_, comment_column_, "this comment does not end",
                        "close it with */");
        if (out_.empty() && kernels_.empty())
            complain_at(1, 1, "no kernel in this file", "begin one with .kernel NAME");
        if (out_.empty() && arch_ == SASSDEC_ARCH_UNKNOWN)
            complain_at(1, 1, "no architecture", "add .target sm_90a, or use --arch");
        for (PendingKernel& k : kernels_)
            if (out_.size() < max_diagnostics) finish(k);
        if (!out_.empty()) return std::nullopt;
        AssembledModule module;
        module.arch = name_;
        module.constants = std::move(constants_);
        for (PendingKernel& k : kernels_) module.kernels.push_back(std::move(k.kernel));
        return module;
    }

  private:
    void complain(unsigned column, std::string what, std::string hint = {}) {
        complain_at(line_, column, std::move(what), std::move(hint));
    }
    void complain_at(unsigned line, unsigned column, std::string what, std::string hint = {}) {
        if (out_.size() < max_diagnostics)
            out_.push_back({line, std::max(column, 1U), std::move(what), std::move(hint)});
    }

    void set_arch(std::string_view text, unsigned, unsigned column) {
        const auto parsed = parse_arch(text);
        const sassdec_arch arch = sassdec_arch_from_name(std::string(text).c_str());
        if (!parsed.ok() || arch == SASSDEC_ARCH_UNKNOWN)
            return complain(column, "unknown architecture '" + std::string(text) + "'",
                            sassdec::known_architectures);
        name_ = *parsed;
        arch_ = arch;
    }

    // Comments become blanks, so that columns stay true.
    std::string without_comments(std::string_view line) {
        std::string s(line);
        for (size_t i = 0; i < s.size(); ++i) {
            if (in_comment_) {
                if (s[i] == '*' && i + 1 < s.size() && s[i + 1] == '/') {
                    in_comment_ = false;
                    s[i] = s[i + 1] = ' ';
                    ++i;
                } else {
                    s[i] = ' ';
                }
            } else if (s[i] == '/' && i + 1 < s.size() && s[i + 1] == '*') {
                in_comment_ = true;
                comment_line_ = line_;
                comment_column_ = static_cast<unsigned>(i) + 1;
                s[i] = s[i + 1] = ' ';
                ++i;
            } else if ((s[i] == '/' && i + 1 < s.size() && s[i + 1] == '/') || s[i] == '#') {
                s.resize(i);
                break;
            } else if (s[i] == '(' && s.compare(i, 3, "(*\"") ==
                                          0) {  // nvdisasm's notes: (*"BRANCH_TARGETS ..."*)
                const size_t end = s.find("*)", i);
                if (end == std::string::npos)
                    complain(static_cast<unsigned>(i) + 1, "this note does not end",
                             "close it with *) in its line");
                const size_t last = end == std::string::npos ? s.size() : end + 2;
                std::fill(s.begin() + static_cast<std::ptrdiff_t>(i),
                          s.begin() + static_cast<std::ptrdiff_t>(last), ' ');
            } else if (s[i] == '\t' || s[i] == '\r') {
                s[i] = ' ';
            } else if (s[i] == '\0') {
                complain(static_cast<unsigned>(i) + 1, "a zero byte", "is this a text file?");
                s[i] = ' ';
            }
        }
        return s;
    }

    void read_line(std::string_view raw) {
        const std::string line = without_comments(raw);
        size_t at = 0;
        while (at < line.size()) {
            at = line.find_first_not_of(" ;", at);
            if (at == std::string::npos) return;
            // A label: NAME: at the start of a statement.
            size_t end = at;
            while (end < line.size() && is_name(line[end])) ++end;
            if (end > at && end < line.size() && line[end] == ':') {
                label(line.substr(at, end - at), static_cast<unsigned>(at) + 1);
                at = end + 1;
                continue;
            }
            if (line[at] == '.') {
                directive(std::string_view(line).substr(at), static_cast<unsigned>(at) + 1);
                return;
            }
            const size_t stop = std::min(line.find(';', at), line.size());
            instruction(line.substr(at, stop - at), static_cast<unsigned>(at) + 1);
            at = stop;
        }
    }

    PendingKernel* current(unsigned column) {
        if (kernels_.empty()) {
            if (!outside_)
                complain(column, "this stands outside a kernel", "begin one with .kernel NAME");
            outside_ = true;  // once is enough
            return nullptr;
        }
        return &kernels_.back();
    }

    void begin_kernel(std::string name) {
        const auto [it, fresh] = kernel_lines_.try_emplace(name, line_);
        if (!fresh)
            return complain(1, "there is a kernel '" + name + "' already, at line " +
                                   std::to_string(it->second));
        kernels_.emplace_back();
        kernels_.back().kernel.name = std::move(name);
        kernels_.back().line = line_;
    }

    void label(std::string name, unsigned column) {
        if (name.starts_with(".text.")) {  // a listing's section: its kernel
            const std::string kernel = name.substr(6);
            if (kernels_.empty() || kernels_.back().kernel.name != kernel) begin_kernel(kernel);
            return;
        }
        if (!kernels_.empty() && kernels_.back().kernel.name == name &&
            kernels_.back().statements.empty())
            return;
        PendingKernel* k = current(column);
        if (!k) return;
        if (k->fuse_next)
            complain(column, "a label between the words of a fused barrier",
                     "move it before .fused");
        const auto [it, fresh] = k->labels.try_emplace(name, 16 * k->statements.size());
        if (!fresh)
            return complain(column, "the label '" + name + "' is there already, at line " +
                                        std::to_string(k->label_lines[name]));
        k->label_lines[name] = line_;
    }

    void instruction(std::string text, unsigned column) {
        PendingKernel* k = current(column);
        if (!k) return;
        while (!text.empty() && text.back() == ' ') text.pop_back();
        if (k->statements.size() >= max_code)
            return complain(column, "a kernel of more than 4 GiB");
        std::string expanded(3 * text.size() + 64, '\0');
        const int words = sassdec_expand(text.c_str(), expanded.data(), expanded.size());
        if (words <= 1) {
            const size_t written = text.size();
            k->statements.push_back({line_, column, std::move(text), written, k->fuse_next});
            k->fuse_next = false;
            return;
        }
        if (k->fuse_next) complain(column, ".fused before a fused barrier", "drop the directive");
        expanded.resize(expanded.find('\0'));
        for (size_t at = 0; at <= expanded.size();) {
            const size_t end = std::min(expanded.find('\n', at), expanded.size());
            k->statements.push_back({line_, column, expanded.substr(at, end - at), text.size(),
                                     end != expanded.size()});
            at = end + 1;
        }
    }

    std::optional<uint32_t> value(const Words& words, size_t i, uint32_t limit) {
        if (i >= words.list.size()) {
            complain(words.list[0].column, std::string(words.list[0].text) + " needs a number");
            return std::nullopt;
        }
        const auto v = number(words.list[i].text);
        if (!v || *v > limit) {
            complain(words.list[i].column, "'" + std::string(words.list[i].text) +
                                               "' is no number up to " + std::to_string(limit));
            return std::nullopt;
        }
        return v;
    }

    std::optional<Extent3> extent(const Words& words, uint32_t limit) {
        Extent3 e;
        uint32_t* parts[3] = {&e.x, &e.y, &e.z};
        for (size_t i = 0; i < 3 && (i == 0 || i + 1 < words.list.size()); ++i) {
            const auto v = value(words, i + 1, limit);
            if (!v) return std::nullopt;
            if (*v == 0) {
                complain(words.list[i + 1].column, "a dimension of zero");
                return std::nullopt;
            }
            *parts[i] = *v;
        }
        return e;
    }

    // .constant NAME SIZE: a variable of bank 3, at a multiple of 16
    void constant(const Words& words) {
        const auto size = value(words, 2, 0x10000);
        if (!size) return;
        auto& all = constants_;
        const uint32_t offset =
            all.empty() ? 0 : (all.back().offset + all.back().size + 15) / 16 * 16;
        if (*size == 0 || offset + *size > 0x10000)
            return complain(words.list[2].column, "bank 3 has 1 to 65536 bytes");
        all.push_back({std::string(words.list[1].text), offset, *size});
    }

    // .param [NAME] SIZE [at OFFSET]
    void parameter(PendingKernel& pending, const Words& words) {
        AssembledKernel& k = pending.kernel;
        KernelParameter p;
        size_t i = 1;
        if (i < words.list.size() && !number(words.list[i].text)) p.name = words.list[i++].text;
        const auto size = value(words, i, 32764);
        if (!size) return;
        if (*size == 0) return complain(words.list[i].column, "a parameter of no bytes");
        p.size = *size;
        uint32_t alignment = 1;
        while (alignment < 8 && p.size % (2 * alignment) == 0) alignment *= 2;
        p.offset = (k.parameter_bytes + alignment - 1) / alignment * alignment;
        if (i + 1 < words.list.size()) {
            if (words.list[i + 1].text != "at")
                return complain(words.list[i + 1].column, "expected 'at' and an offset");
            const auto offset = value(words, i + 2, 32764);
            if (!offset) return;
            p.offset = *offset;
        }
        if (p.offset + p.size > 32764)
            return complain(words.list[i].column, "more than 32764 bytes of parameters");
        if (!p.name.empty() && !pending.parameters.try_emplace(p.name, p.offset).second)
            return complain(words.list[1].column, "there is a parameter '" + p.name + "' already");
        k.parameter_bytes = std::max(k.parameter_bytes, p.offset + p.size);
        k.parameters.push_back(std::move(p));
    }

    // .word 0x<32 hex digits>: an instruction as bits.
    void word(PendingKernel& k, const Words& words) {
        std::string_view text = words.list.size() == 2 ? words.list[1].text : std::string_view();
        if (text.starts_with("0x")) text.remove_prefix(2);
        if (text.size() != 32 || !std::ranges::all_of(text, [](char c) {
                return std::isxdigit(static_cast<unsigned char>(c));
            }))
            return complain(words.list[0].column, ".word needs 32 hex digits",
                            "bits 127 to 0 of one instruction");
        k.statements.push_back(
            {line_, words.list[0].column, std::string(text), 0, k.fuse_next, true});
        k.fuse_next = false;
    }

    void directive(std::string_view line, unsigned column) {
        const Words words(line, column);
        const std::string_view name = words.list[0].text;
        if (name == ".target" || name == ".arch") {
            if (words.list.size() != 2)
                return complain(column, std::string(name) + " needs an architecture",
                                "e.g. .target sm_90a");
            if (!from_command_line_) set_arch(words.list[1].text, line_, words.list[1].column);
            return;
        }
        if (name == ".kernel") {
            if (words.list.size() != 2 || !std::ranges::all_of(words.list[1].text, is_name))
                return complain(column, ".kernel needs a name");
            return begin_kernel(std::string(words.list[1].text));
        }
        if (name == ".constant") return constant(words);
        if (name == ".section") {  // of a listing
            if (words.list.size() > 1 && words.list[1].text.starts_with(".text."))
                label(std::string(words.list[1].text), column);
            return;
        }
        if (is_listing_directive(name)) return;
        PendingKernel* pending = current(column);
        if (!pending) return;
        AssembledKernel& k = pending->kernel;
        const auto set = [&](uint32_t& field, uint32_t limit) {
            if (const auto v = value(words, 1, limit)) field = *v;
        };
        if (name == ".registers") return set(k.registers, most_registers);
        if (name == ".shared") return set(k.shared, 256 * 1024);
        if (name == ".local") return set(k.local, 512 * 1024);
        if (name == ".barriers") return set(k.barriers, 16);
        if (name == ".param") return parameter(*pending, words);
        if (name == ".max_threads") return void(k.max_threads = extent(words, 1024));
        if (name == ".required_threads") return void(k.required_threads = extent(words, 1024));
        if (name == ".cluster") return void(k.cluster = extent(words, 16));
        if (name == ".word") return word(*pending, words);
        if (name == ".max_registers") {
            if (const auto v = value(words, 1, most_registers)) k.max_registers = v;
            return;
        }
        if (name == ".fused") {
            pending->fuse_next = true;
            return;
        }
        complain(column, "unknown directive '" + std::string(name) + "'",
                 ".target .constant .kernel .registers .shared .local .barriers .param "
                 ".max_threads .required_threads .max_registers .cluster .word .fused");
    }

    // c[0x0][NAME] and c[0x0][NAME+4] of a parameter -> its offset.
    static std::string with_parameters(const std::string& text, const PendingKernel& pending,
                                       uint32_t base) {
        std::string out;
        size_t done = 0;
        for (size_t at; (at = text.find('[', done)) != std::string::npos;) {
            out.append(text, done, at + 1 - done);
            done = at + 1;
            const size_t close = std::min(text.find(']', done), text.size());
            std::string_view name = std::string_view(text).substr(done, close - done);
            std::optional<uint32_t> more = 0;
            auto found = pending.parameters.find(name);
            const size_t plus = name.find('+');
            if (found == pending.parameters.end() && plus != name.npos) {
                more = number(name.substr(plus + 1));
                found = pending.parameters.find(name.substr(0, plus));
            }
            if (found == pending.parameters.end() || !more) continue;
            char hex[16];
            std::snprintf(hex, sizeof hex, "0x%x", base + found->second + *more);
            out += hex;
            done = close;
        }
        return out.append(text, done);
    }

    static int find_label(void* user, const char* name, size_t length, uint64_t* address) {
        const auto& labels =
            *static_cast<const std::map<std::string, uint64_t, std::less<>>*>(user);
        const auto found = labels.find(std::string_view(name, length));
        if (found == labels.end()) return 0;
        *address = found->second;
        return 1;
    }

    // Where an instruction of a relocatable cubin's listing names what it will hold, `(table),
    // 32@lo((k + .L_x_0@srel)); npos.
    static size_t name_for_linker(const std::string& text) {
        size_t first = std::string::npos;
        for (const char* start : {"32@lo(", "32@hi(", "fun@", "`("})
            first = std::min(first, text.find(start));
        return first;
    }

    void finish(PendingKernel& pending) {
        AssembledKernel& k = pending.kernel;
        if (pending.statements.empty())
            return complain_at(pending.line, 1, "the kernel '" + k.name + "' has no code",
                               "it needs at least EXIT");
        if (pending.fuse_next)
            return complain_at(pending.line, 1,
                               "a .fused directive without an instruction after it");
        pending.labels.try_emplace(k.name, 0);
        uint32_t used = 0, barriers = 0;
        for (size_t i = 0; i < pending.statements.size() && out_.size() < max_diagnostics; ++i) {
            const Statement& s = pending.statements[i];
            const uint64_t pc = 16 * i;
            std::array<uint64_t, 2> word{};
            if (s.bits) {
                word[1] = std::stoull(s.text.substr(0, 16), nullptr, 16);
                word[0] = std::stoull(s.text.substr(16), nullptr, 16);
            } else {
                const std::string text = with_parameters(s.text, pending, parameter_base(name_.sm));
                sassdec_asm_options options{sizeof options, find_label, &pending.labels};
                sassdec_asm_error error;
                if (sassdec_assemble(arch_, text.c_str(), pc, &options, word.data(), &error) !=
                    SASSDEC_OK) {
                    const size_t at = name_for_linker(text);
                    if (at != std::string::npos &&
                        std::string_view(error.reason) != "unknown label") {
                        complain_at(
                            s.line, s.column + static_cast<unsigned>(at),
                            "a name that a linker replaces: a .sass file has no relocations",
                            "write the number, or list the linked cubin; disasm --exact lists a "
                            "relocatable one with the numbers that it holds");
                        continue;
                    }
                    // Where the file's text was replaced, columns keep their distance from the end.
                    const size_t column = error.column + s.written;
                    complain_at(s.line,
                                s.column + static_cast<unsigned>(
                                               column > text.size() ? column - text.size() - 1 : 0),
                                error.reason);
                    continue;
                }
            }
            sassdec_insn insn;
            if (sassdec_decode(arch_, word.data(), pc, &insn) == SASSDEC_OK) {
                used = std::max(used, registers(insn));
                barriers = std::max(barriers, named_barriers(insn));
                if (insn.groups & SASSDEC_GROUP_EXIT) k.exits.push_back(static_cast<uint32_t>(pc));
            }
            if (s.fused) {
                k.fused.push_back(static_cast<uint32_t>(pc));
                check_fused(pending, i);
            }
            k.words.push_back(word);
        }
        if (k.registers == 0)
            k.registers = std::clamp(used + extra_registers, least_registers, most_registers);
        if (used > k.registers)
            complain_at(pending.line, 1,
                        "the code of '" + k.name + "' uses " + std::to_string(used) +
                            " registers, .registers says " + std::to_string(k.registers));
        k.barriers = std::max(k.barriers, barriers);
        pad(k);
    }

    void check_fused(const PendingKernel& pending, size_t i) {
        const Statement& s = pending.statements[i];
        const auto guard = [](const std::string& text) {
            return text.starts_with('@') ? text.substr(0, text.find(' ')) : std::string();
        };
        if (i + 1 == pending.statements.size() ||
            guard(s.text) != guard(pending.statements[i + 1].text))
            complain_at(s.line, s.column,
                        "a fused instruction needs its partner after it, with the same guard");
    }

    // Registers that the instruction needs to exist: the highest it names, plus one.
    static uint32_t registers(const sassdec_insn& insn) {
        sassdec_regset read, written;
        sassdec_registers(&insn, &read, &written);
        for (int i = 255; i-- > 0;)
            if ((read.r[i / 64] | written.r[i / 64]) >> (i % 64) & 1)
                return static_cast<uint32_t>(i) + 1;
        return 0;
    }

    // BAR names a barrier by number, or by a register: then it may be any.
    static uint32_t named_barriers(const sassdec_insn& insn) {
        if (std::string_view(sassdec_mnemonic(&insn)) != "BAR" &&
            !std::string_view(sassdec_mnemonic(&insn)).starts_with("BAR."))
            return 0;
        for (unsigned i = 0; i < insn.operand_count; ++i) {
            const sassdec_operand& o = insn.operand[i];
            if (o.flags & SASSDEC_HIDDEN) continue;
            if (o.kind == SASSDEC_OP_IMM)
                return static_cast<uint32_t>(std::clamp<int64_t>(o.imm + 1, 1, 16));
            if (o.kind == SASSDEC_OP_REG) return 16;
        }
        return 1;
    }

    // The end of a kernel as compilers leave it: a branch to itself, then NOPs up to the next 128
    // bytes. The fetch unit reads ahead of the last instruction.
    void pad(AssembledKernel& k) {
        if (!out_.empty()) return;
        const auto put = [&](const char* text) {
            std::array<uint64_t, 2> word{};
            char line[64];
            std::snprintf(line, sizeof line, text,
                          static_cast<unsigned long long>(16 * k.words.size()));
            if (sassdec_assemble(arch_, line, 16 * k.words.size(), nullptr, word.data(), nullptr) ==
                SASSDEC_OK)
                k.words.push_back(word);
        };
        sassdec_insn last;
        sassdec_decode(arch_, k.words.back().data(), 16 * (k.words.size() - 1), &last);
        const bool ended = (last.groups & SASSDEC_GROUP_BRANCH) ||
                           std::string_view(sassdec_mnemonic(&last)) == "NOP";
        if (!ended) put("BRA 0x%llx");  // a listing brings its own end
        while (k.words.size() % 8 != 0) put("NOP");
    }

    std::vector<Diagnostic>& out_;
    std::vector<PendingKernel> kernels_;
    std::map<std::string, unsigned, std::less<>> kernel_lines_;
    std::vector<ConstantVariable> constants_;
    sassdec_arch arch_ = SASSDEC_ARCH_UNKNOWN;
    Arch name_;
    bool from_command_line_ = false, in_comment_ = false, outside_ = false;
    unsigned line_ = 0, comment_line_ = 0, comment_column_ = 0;
};

}  // namespace

std::optional<AssembledModule> read_sass(const std::string& text, const std::string& default_arch,
                                         std::vector<Diagnostic>& diagnostics) {
    return Reader(default_arch, diagnostics).run(text);
}

}  // namespace sassemu::sass
