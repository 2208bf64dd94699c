// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: what the debugger reads. Bytes that make a module: its variables, frames and
// callers at every instruction; any bytes as an expression and as a place.
// Run:   debug_fuzz -max_len=40000 -max_total_time=600 corpus/ tests/debug/data/
#include <memory>
#include <string>

#include "emu/debug/expression.hpp"
#include "emu/debug/places.hpp"

using namespace sassemu;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), std::min<size_t>(size, 4096));
    (void)debug::Expression::parse(text);
    debug::Places places;
    auto module = load_module({data, size}, "input");
    if (module) places.add(std::make_shared<const Module>(std::move(*module)));
    (void)places.find(text, {});
    if (!module) return 0;
    const Module* const of = places.modules().front().get();
    const debug::DebugInfo& info = places.info(of);
    for (const Function& f : of->functions()) {
        (void)info.frame(f.name);
        for (uint64_t at = 0; at < f.size; at += 16) {
            (void)places.frames({of, f.code_offset + at});
            const auto row = places.frame_info(of).at(f.code_offset + at);
            if (row && row->return_register >= debug::FrameInfo::registers) __builtin_trap();
            for (const debug::SourceVariable* v : info.visible(f.name, at)) {
                if (!v->type || !v->type->bytes || v->name.empty()) __builtin_trap();
                debug::Value value;
                value.type = v->type;
                value.bytes.resize(std::min<uint64_t>(v->type->bytes, 4096));
                if (value.bytes.size() == v->type->bytes && text_of(value).empty())
                    __builtin_trap();
                (void)info.registers(f.name, "%r1", at);
            }
        }
    }
    (void)places.find("total", {});
    (void)places.find("locals.cu:24", {});
    return 0;
}
