// SPDX-License-Identifier: Apache-2.0
// Text of a .sass file -> AssembledModule: lines, directives, labels; their code is assembled in
// assemble_kernel.cpp. The language is described in decoder/doc/asm.md. What
// does not belong here: reading an instruction (decoder/), the cubin's layout (cubin_writer.cpp).
#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "emu/sass/kernel_text.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu::sass {
namespace {

constexpr uint32_t max_code = 1U << 28U;  // instructions: 4 GiB of code

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

class Reader {
  public:
    Reader(const std::string& default_arch, std::vector<Diagnostic>& diagnostics)
        : out_(diagnostics) {
        if (!default_arch.empty()) set_arch(default_arch, 0, 0);
        from_command_line_ = !default_arch.empty();
    }

    std::optional<AssembledModule> run(const std::string& text) {
        size_t at = 0;
        for (line_ = 1; at <= text.size() && !out_.full(); ++line_) {
            const size_t end = std::min(text.find('\n', at), text.size());
            read_line(std::string_view(text).substr(at, end - at));
            at = end + 1;
        }
        if (in_comment_)
            out_.add(comment_line_, comment_column_, "this comment does not end",
                     "close it with */");
        if (out_.none() && kernels_.empty())
            out_.add(1, 1, "no kernel in this file", "begin one with .kernel NAME");
        const bool known = arch_ != SASSDEC_ARCH_UNKNOWN;
        if (!known && !named_)
            out_.add(1, 1, "no architecture", "add .target sm_90a, or use --arch");
        for (PendingKernel& k : kernels_)
            if (known && !out_.full()) assemble(k, name_, arch_, out_);
        if (!out_.none()) return std::nullopt;
        AssembledModule module;
        module.arch = name_;
        module.constants = std::move(constants_);
        for (PendingKernel& k : kernels_) module.kernels.push_back(std::move(k.kernel));
        return module;
    }

  private:
    void complain(unsigned column, std::string what, std::string hint = {}) {
        out_.add(line_, column, std::move(what), std::move(hint));
    }

    void set_arch(std::string_view text, unsigned, unsigned column) {
        named_ = true;  // if it is wrong, that is said
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

    Complaints out_;
    std::vector<PendingKernel> kernels_;
    std::map<std::string, unsigned, std::less<>> kernel_lines_;
    std::vector<ConstantVariable> constants_;
    sassdec_arch arch_ = SASSDEC_ARCH_UNKNOWN;
    Arch name_;
    bool named_ = false, from_command_line_ = false, in_comment_ = false, outside_ = false;
    unsigned line_ = 0, comment_line_ = 0, comment_column_ = 0;
};

}  // namespace

std::optional<AssembledModule> read_sass(const std::string& text, const std::string& default_arch,
                                         std::vector<Diagnostic>& diagnostics) {
    return Reader(default_arch, diagnostics).run(text);
}

}  // namespace sassemu::sass
