// SPDX-License-Identifier: Apache-2.0
// See trust.hpp.
#include "emu/plan/trust.hpp"

#include <cstring>
#include <span>
#include <vector>

#include "emu/module/module.hpp"
#include "emu/plan/sha256.hpp"

namespace sassemu::plan {

void EvidenceCount::add(const Module& module, const Kernel& kernel, const std::string& arch) {
    const sassdec_arch family = sassdec_arch_from_name(arch.c_str());
    std::vector<uint32_t> todo{kernel.section};
    while (!todo.empty()) {
        const uint32_t index = todo.back();
        todo.pop_back();
        const CodeSection* const section = module.code_section(index);
        if (!section || !seen_.emplace(&module, index).second) continue;
        for (uint64_t at = 0; at + 16 <= section->bytes.size(); at += 16) {
            uint64_t word[2];
            std::memcpy(word, section->bytes.data() + at, 16);
            sassdec_insn insn;
            const bool decodes = sassdec_decode(family, word, at, &insn) == SASSDEC_OK;
            ++counts_[static_cast<size_t>(decodes ? evidence_of(insn).kind : EvidenceClass::none)];
        }
        for (const Relocation& r : module.relocations())
            if (r.section == index && r.symbol < module.symbols().size())
                todo.push_back(module.symbols()[r.symbol].section);
    }
}

void RunHash::add(std::string_view key, std::string_view value) {
    lines_ += std::string(key) + " " + std::string(value) + "\n";
}

Result<void> RunHash::add(std::string_view key, ByteSource& bytes) {
    SASSEMU_ASSIGN(const std::string hash, sha256_hex(bytes));
    add(key, hash);
    return {};
}

Result<std::string> RunHash::end() const {
    SpanSource text(std::as_bytes(std::span(lines_)));
    return sha256_hex(text);
}

Result<void> add_inputs(RunHash& hash, const Plan& plan, const RunOptions& options) {
    hash.add("sassemu run", "1");
    hash.add("evidence", evidence_digest());
    hash.add("plan", plan.digest);
    hash.add("seed", std::to_string(options.gpu.seed));
    hash.add("agents", std::to_string(static_cast<int>(options.gpu.agents)));
    hash.add("fill",
             std::to_string(options.fill.word(0)) + " " + std::to_string(options.fill.word(1)));
    hash.add("deterministic", options.gpu.deterministic ? "1" : "0");
    hash.add("model", options.gpu.model);
    const auto add_file = [&](const std::string& name, const Contents& contents) -> Result<void> {
        if (contents.file.empty()) return {};
        SASSEMU_ASSIGN(const auto file, open_byte_source(contents.file));
        return hash.add("file of " + name, *file);
    };
    for (const Buffer& buffer : plan.buffers) SASSEMU_TRY(add_file(buffer.name, buffer.contents));
    for (const Global& global : plan.globals) SASSEMU_TRY(add_file(global.name, global.contents));
    return {};
}

}  // namespace sassemu::plan
