// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes -> instruction words of one kernel, loaded and run for a while by the
// whole engine. Whatever they do, the launch ends with a result. Input: architecture, options,
// block size / 2, the block's CTAs, then 16-byte words. What two of these have left over says where
// a last jump goes: to every offset up to the end of the code image, the driver's services
// included. tests/fuzz/run_seeds.py makes some. With
// PLUGIN that plugin watches (run_sync_fuzz: check-sync). Build:
// cmake --preset fuzz && cmake --build --preset fuzz Run:   run_fuzz -max_len=1028
// -max_total_time=600 corpus/ build/fuzz/seeds/run
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/sass/assembled.hpp"
#include "emu/schedule/create_gpu.hpp"
#include "sassdec/sassdec.h"

namespace sassemu {
namespace {

constexpr size_t header = 4;

// Registers that words are likely to use as addresses point to memory.
std::optional<sass::AssembledModule> kernel_for(const char* arch) {
    std::vector<sass::Diagnostic> diagnostics;
    auto module = sass::read_sass(
        ".constant table 64\n.kernel k\n.registers 64\n.shared 1024\n.barriers 16\n.param data "
        "8\n.param more 8\n.param to 8\n"
        " LDC.64 R2, c[0x0][data]\n LDC.64 R4, c[0x0][more]\n LDC.64 R8, c[0x0][data]\n S2R R0, "
        "SR_TID.X\n"
        " S2UR UR4, SR_CTAID.X\n MOV R6, 0x40\n MOV R7, R0\n"
        " LDC.64 R10, c[0x0][to]\n ISETP.EQ.AND P6, PT, R10, RZ, PT\n @P6 EXIT\n"
        " RET.REL.NODEC R10 0x0\n EXIT\n",
        arch, diagnostics);
    if (!module || !diagnostics.empty()) __builtin_trap();
    return module;
}

void run(const std::uint8_t* data, std::size_t size) {
    const char* arch = sassdec_arch_name(static_cast<sassdec_arch>(data[0] % SASSDEC_ARCH_COUNT));
    auto assembled = kernel_for(arch);
    auto& words = assembled->kernels[0].words;
    constexpr size_t jump = 5;  // the words behind those of the input
    const size_t without = words.size();
    const std::vector last(words.end() - jump, words.end());
    words.resize(words.size() - jump);
    for (size_t at = header; at + 16 <= size; at += 16) {
        std::memcpy(words.emplace_back().data(), data + at, 16);
    }
    words.insert(words.end(), last.begin(), last.end());
    // The jump's target is relative to its own place, which the input's words have moved.
    const int index = (data[1] >> 5) | (data[3] & ~7);
    const int64_t to = index ? (index - 1 - static_cast<int64_t>(words.size() - without)) * 16 : 0;
    assembled->kernels[0].exits = {static_cast<uint32_t>((words.size() - 3) * 16),
                                   static_cast<uint32_t>((words.size() - 1) * 16)};
    auto module = load_module(sass::write_cubin(*assembled), "input.cubin");
    if (!module) __builtin_trap();

    GpuOptions options;
    options.threads = 1;
    options.reference = data[1] & 1;
    options.checked = data[1] & 2;
    options.deterministic = data[1] & 4;
    options.agents = static_cast<AgentOrder>(data[1] / 8 % 3);
    options.heap_bytes = 4096;
    std::shared_ptr<Hooks> hooks;
#ifdef PLUGIN
    auto loaded = Hooks::load({{PLUGIN}, {}, [](std::string_view) {}}, options.model, 0);
    if (!loaded) __builtin_trap();
    hooks = std::move(*loaded);
#endif
    auto gpu = create_gpu(options, hooks);
    if (!gpu) __builtin_trap();
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    if (!id) __builtin_trap();
    const uint64_t buffers[2] = {*(*gpu)->allocate(4096, "data"), *(*gpu)->allocate(4096, "more")};
    LaunchRequest request;
    request.module = *id;
    request.kernel = "k";
    request.block = {data[2] / 2 + 1u, 1, 1};
    request.grid = {data[3] % 4 + 1u, 1, 1};
    if (data[3] & 4 && request.grid.x != 3)
        request.cluster = {request.grid.x, 1, 1}, request.explicit_cluster = true;
    request.params.resize(24);
    std::memcpy(request.params.data(), buffers, 16);
    std::memcpy(request.params.data() + 16, &to, 8);
    request.limits.max_warp_instructions = 4000;
    request.limits.seconds = 5;
    const auto result = (*gpu)->launch(request);
    if (!result && result.error().message().empty()) __builtin_trap();
    if (result && result->status == LaunchStatus::internal) __builtin_trap();
    if (result && result->fault && result->fault->report().empty()) __builtin_trap();
    if (hooks) hooks->finish();
}

}  // namespace
}  // namespace sassemu

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size >= sassemu::header) sassemu::run(data, size);
    return 0;
}
