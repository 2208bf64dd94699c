// SPDX-License-Identifier: Apache-2.0
// The second pass over a kernel of a .sass file; see kernel_text.hpp.
#include <charconv>
#include <cstdio>

#include "emu/sass/kernel_text.hpp"

namespace sassemu::sass {

namespace {

// Two registers more than the code names: the hardware keeps some for itself (as ptxas counts).
constexpr uint32_t extra_registers = 2, least_registers = 8;

// c[0x0][NAME] and c[0x0][NAME+4] of a parameter -> its offset.
std::string with_parameters(const std::string& text, const PendingKernel& pending, uint32_t base) {
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

int find_label(void* user, const char* name, size_t length, uint64_t* address) {
    const auto& labels = *static_cast<const std::map<std::string, uint64_t, std::less<>>*>(user);
    const auto found = labels.find(std::string_view(name, length));
    if (found == labels.end()) return 0;
    *address = found->second;
    return 1;
}

// Where an instruction of a relocatable cubin's listing names what it will hold, `(table),
// 32@lo((k + .L_x_0@srel)); npos.
size_t name_for_linker(const std::string& text) {
    size_t first = std::string::npos;
    for (const char* start : {"32@lo(", "32@hi(", "fun@", "`("})
        first = std::min(first, text.find(start));
    return first;
}

void check_fused(const PendingKernel& pending, size_t i, Complaints& out) {
    const Statement& s = pending.statements[i];
    const auto guard = [](const std::string& text) {
        return text.starts_with('@') ? text.substr(0, text.find(' ')) : std::string();
    };
    if (i + 1 == pending.statements.size() ||
        guard(s.text) != guard(pending.statements[i + 1].text))
        out.add(s.line, s.column,
                "a fused instruction needs its partner after it, with the same guard");
}

// Registers that the instruction needs to exist: the highest it names, plus one.
uint32_t registers(const sassdec_insn& insn) {
    sassdec_regset read, written;
    sassdec_registers(&insn, &read, &written);
    for (int i = 255; i-- > 0;)
        if ((read.r[i / 64] | written.r[i / 64]) >> (i % 64) & 1)
            return static_cast<uint32_t>(i) + 1;
    return 0;
}

// BAR names a barrier by number, or by a register: then it may be any.
uint32_t named_barriers(const sassdec_insn& insn) {
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
void pad(AssembledKernel& k, sassdec_arch arch) {
    const auto put = [&](const char* text) {
        std::array<uint64_t, 2> word{};
        char line[64];
        std::snprintf(line, sizeof line, text,
                      static_cast<unsigned long long>(16 * k.words.size()));
        if (sassdec_assemble(arch, line, 16 * k.words.size(), nullptr, word.data(), nullptr) ==
            SASSDEC_OK)
            k.words.push_back(word);
    };
    sassdec_insn last;
    sassdec_decode(arch, k.words.back().data(), 16 * (k.words.size() - 1), &last);
    const bool ended =
        (last.groups & SASSDEC_GROUP_BRANCH) || std::string_view(sassdec_mnemonic(&last)) == "NOP";
    if (!ended) put("BRA 0x%llx");  // a listing brings its own end
    while (k.words.size() % 8 != 0) put("NOP");
}

}  // namespace

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

void assemble(PendingKernel& pending, const Arch& target, sassdec_arch arch, Complaints& out) {
    AssembledKernel& k = pending.kernel;
    if (pending.statements.empty())
        return out.add(pending.line, 1, "the kernel '" + k.name + "' has no code",
                       "it needs at least EXIT");
    if (pending.fuse_next)
        return out.add(pending.line, 1, "a .fused directive without an instruction after it");
    pending.labels.try_emplace(k.name, 0);
    uint32_t used = 0, barriers = 0;
    for (size_t i = 0; i < pending.statements.size() && !out.full(); ++i) {
        const Statement& s = pending.statements[i];
        const uint64_t pc = 16 * i;
        std::array<uint64_t, 2> word{};
        if (s.bits) {
            word[1] = std::stoull(s.text.substr(0, 16), nullptr, 16);
            word[0] = std::stoull(s.text.substr(16), nullptr, 16);
        } else {
            const std::string text = with_parameters(s.text, pending, parameter_base(target.sm));
            sassdec_asm_options options{sizeof options, find_label, &pending.labels};
            sassdec_asm_error error;
            if (sassdec_assemble(arch, text.c_str(), pc, &options, word.data(), &error) !=
                SASSDEC_OK) {
                const size_t at = name_for_linker(text);
                if (at != std::string::npos && std::string_view(error.reason) != "unknown label") {
                    out.add(s.line, s.column + static_cast<unsigned>(at),
                            "a name that a linker replaces: a .sass file has no relocations",
                            "write the number, or list the linked cubin; disasm --exact lists a "
                            "relocatable one with the numbers that it holds");
                    continue;
                }
                // Where the file's text was replaced, columns keep their distance from the end.
                const size_t column = error.column + s.written;
                out.add(s.line,
                        s.column + static_cast<unsigned>(
                                       column > text.size() ? column - text.size() - 1 : 0),
                        error.reason);
                continue;
            }
        }
        sassdec_insn insn;
        if (sassdec_decode(arch, word.data(), pc, &insn) == SASSDEC_OK) {
            used = std::max(used, registers(insn));
            barriers = std::max(barriers, named_barriers(insn));
            if (insn.groups & SASSDEC_GROUP_EXIT) k.exits.push_back(static_cast<uint32_t>(pc));
        }
        if (s.fused) {
            k.fused.push_back(static_cast<uint32_t>(pc));
            check_fused(pending, i, out);
        }
        k.words.push_back(word);
    }
    if (k.registers == 0)
        k.registers = std::clamp(used + extra_registers, least_registers, most_registers);
    if (used > k.registers)
        out.add(pending.line, 1,
                "the code of '" + k.name + "' uses " + std::to_string(used) +
                    " registers, .registers says " + std::to_string(k.registers));
    k.barriers = std::max(k.barriers, barriers);
    if (out.none()) pad(k, arch);
}

}  // namespace sassemu::sass
