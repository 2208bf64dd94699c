// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any text, repeated until it is long, as a .sass file -> a cubin that loads, or
// complaints. Its first byte says how often. Build: cmake --preset fuzz && cmake --build --preset
// fuzz Run: sass_fuzz -max_len=8000 -timeout=20 -max_total_time=600 corpus/ build/fuzz/seeds/sass
#include <cstdint>
#include <string>

#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    constexpr std::size_t longest = 1 << 18;
    const std::string piece(reinterpret_cast<const char*>(data + 1), size - 1);
    std::string text = piece;
    for (unsigned n = data[0] % 8 == 7 ? 1U << data[0] / 8 % 16 : 1; n > 1 && text.size() < longest;
         --n)
        text += piece;
    std::vector<sassemu::sass::Diagnostic> diagnostics;
    const auto module = sassemu::sass::read_sass(text, "", diagnostics);
    if (!module) {
        if (diagnostics.empty()) __builtin_trap();
        for (const auto& d : diagnostics)
            if (d.what.empty() || d.line == 0 || d.column == 0) __builtin_trap();
        return 0;
    }
    const auto loaded = sassemu::load_module(sassemu::sass::write_cubin(*module), "input.cubin");
    if (!loaded) __builtin_trap();
    return 0;
}
