// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any text -> word or reason, on every architecture, and as a .sass file.
// Build: cmake --preset fuzz && cmake --build --preset fuzz
// Run:   assemble_fuzz -max_len=400 -max_total_time=600 corpus/
#include <cstdint>
#include <string>

#include "emu/sass/assembled.hpp"
#include "sassdec/sassdec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto arch = static_cast<sassdec_arch>(data[0] % SASSDEC_ARCH_COUNT);
    const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
    std::uint64_t word[2];
    sassdec_asm_error error;
    if (sassdec_assemble(arch, text.c_str(), 0x100, nullptr, word, &error) == SASSDEC_OK) {
        // Whatever assembles decodes, and its own text assembles again.
        sassdec_insn insn;
        if (sassdec_decode(arch, word, 0x100, &insn) != SASSDEC_OK) __builtin_trap();
        char exact[1024];
        std::uint64_t again[2];
        if (sassdec_format_exact(&insn, exact, sizeof exact) > 0 &&
            (sassdec_assemble(arch, exact, 0x100, nullptr, again, nullptr) != SASSDEC_OK ||
             again[0] != word[0] || again[1] != word[1]))
            __builtin_trap();
    } else if (error.reason[0] == 0 || error.column == 0) {
        __builtin_trap();
    }
    std::vector<sassemu::sass::Diagnostic> diagnostics;
    const auto module = sassemu::sass::read_sass(text, sassdec_arch_name(arch), diagnostics);
    if (module && sassemu::sass::write_cubin(*module).empty()) __builtin_trap();
    if (!module && diagnostics.empty()) __builtin_trap();
    for (const auto& d : diagnostics)
        if (d.what.empty() || d.line == 0 || d.column == 0) __builtin_trap();
    return 0;
}
