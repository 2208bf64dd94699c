// SPDX-License-Identifier: Apache-2.0
// Fuzzer: a kernel of cubins/ with some of its words changed, launched by its own plan in
// one of the ways that a plan can be run: threads, lowerings, orders of agents, models, checkers,
// tracers, the debugger. Whatever the words do, a report or one line comes of it, in time. The
// input chooses plan, architecture, way and changes. Run: modes_fuzz --random 100000
#include <elf.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "debugged.hpp"
#include "emu/base/exit_code.hpp"
#include "emu/base/limits.hpp"
#include "emu/plan/report.hpp"
#include "emu/plan/run_plan.hpp"

namespace sassemu {
namespace {

using debug::fuzz::Choices;
namespace fs = std::filesystem;

// The first of a busy machine, which may let it wait: the instructions are few. The second of its
// processor time.
constexpr double seconds = 600;
constexpr time_t processor_seconds = 60;
constexpr uint64_t memory = uint64_t{1} << 30, warp_instructions = 20000;

struct Way {
    const char* name;
    void (*set)(plan::RunOptions&);
};
constexpr std::array<Way, 17> ways{{
    {"plain", [](plan::RunOptions&) {}},
    {"2 threads", [](plan::RunOptions& o) { o.gpu.threads = 2; }},
    {"8 threads", [](plan::RunOptions& o) { o.gpu.threads = 8; }},
    {"deterministic", [](plan::RunOptions& o) { o.gpu.deterministic = true; }},
    {"reference", [](plan::RunOptions& o) { o.gpu.reference = true; }},
    {"lazy agents", [](plan::RunOptions& o) { o.gpu.agents = AgentOrder::lazy; }},
    {"random agents", [](plan::RunOptions& o) { o.gpu.agents = AgentOrder::random; }},
    {"fill", [](plan::RunOptions& o) { o.fill = *StateFill::parse("random:7"); }},
    {"caches", [](plan::RunOptions& o) { o.gpu.model = "caches"; }},
    {"adversarial caches", [](plan::RunOptions& o) { o.gpu.model = "caches:policy=adversarial"; }},
    {"weak", [](plan::RunOptions& o) { o.gpu.model = "weak"; }},
    {"check-sync", [](plan::RunOptions& o) { o.plugins = {"check-sync"}; }},
    {"check-mem", [](plan::RunOptions& o) { o.plugins = {"check-mem"}; }},
    {"trace", [](plan::RunOptions& o) { o.plugins = {"trace:file=/dev/null"}; }},
    {"profile", [](plan::RunOptions& o) { o.plugins = {"profile"}; }},
    {"fidelity",
     [](plan::RunOptions& o) {
         o.plugins = {"fidelity"};
         o.hash = o.evidence = true;
     }},
    {"debug", nullptr},
}};

// Plans that one process runs in little time: one module for each architecture, small buffers.
std::vector<plan::Plan> small_plans() {
    std::vector<plan::Plan> all;
    std::vector<fs::path> files;
    for (const auto& folder : fs::directory_iterator(SASSEMU_SOURCE_DIR "/cubins"))
        if (fs::exists(folder.path() / "plan.json")) files.push_back(folder.path() / "plan.json");
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
        auto first = plan::read_plan_file(file.string());
        if (!first || first->in_flight || first->modules.size() != 1) continue;
        uint64_t bytes = 0;
        for (const plan::Buffer& buffer : first->buffers) bytes += buffer.bytes;
        if (bytes > 1 << 20) continue;
        for (const std::string& arch :
             first->archs.empty() ? std::vector<std::string>{""} : first->archs)
            if (auto one = plan::read_plan_file(file.string(), arch))
                all.push_back(std::move(*one));
    }
    if (all.empty()) std::abort();
    return all;
}

// The instruction words of all kernels and functions of a cubin.
std::vector<std::span<char>> words_of(std::string& file) {
    std::vector<std::span<char>> all;
    Elf64_Ehdr header;
    if (file.size() < sizeof header) return all;
    std::memcpy(&header, file.data(), sizeof header);
    const auto section = [&](size_t k) {
        Elf64_Shdr s;
        std::memcpy(&s, file.data() + header.e_shoff + k * sizeof s, sizeof s);
        return s;
    };
    for (size_t k = 0; k < header.e_shnum; ++k) {
        const Elf64_Shdr s = section(k);
        if (s.sh_type != SHT_PROGBITS || !(s.sh_flags & SHF_EXECINSTR)) continue;
        for (uint64_t at = 0; at + 16 <= s.sh_size; at += 16)
            all.emplace_back(file.data() + s.sh_offset + at, 16);
    }
    return all;
}

void change(Choices& c, const std::vector<std::span<char>>& words) {
    const auto any = [&] { return words[(c.of(256) << 8 | c.of(256)) % words.size()]; };
    const auto at = any();
    const auto bits = [&](uint32_t first, uint32_t count) {  // a field of the word
        for (uint32_t n = first; n < first + count; ++n)
            at[n / 8] = static_cast<char>((at[n / 8] & ~(1 << n % 8)) | c.of(2) << n % 8);
    };
    switch (c.of(9)) {
        case 0:
            at[c.of(16)] ^= static_cast<char>(1 << c.of(8));
            break;
        case 1:
            bits(12, 4);  // the guard
            break;
        case 2:
            bits(16 + 8 * c.of(2), 8);  // registers
            break;
        case 3:
            bits(32, 32);  // an immediate, a target or an offset
            break;
        case 4:
            bits(72, 33);  // modifiers
            break;
        case 5:
            bits(0, 12);  // the opcode
            break;
        case 6:  // of this kernel, at another place
            std::ranges::copy(any(), at.begin());
            break;
        case 7:
            std::ranges::swap_ranges(any(), at);
            break;
        default:
            bits(0, 105);
    }
}

void trap_if_internal(const Result<void>& result) {
    if (!result && (result.error().message().empty() || exit_code(result.error().code) == 7))
        __builtin_trap();
}

void debugged(const plan::Plan& plan, const plan::RunOptions& options) {
    auto session = debug::Session::start(plan, options, {.checkpoints = 2});
    // Not even the first instruction is a result; that the process is gone is none.
    if (!session) {
        if (session.error().code == ErrorCode::system || session.error().message().empty())
            __builtin_trap();
        return;
    }
    for (int stops = 0; stops < 8 && !(*session)->ended(); ++stops) {
        const auto done = (*session)->forward();
        if (!done && done.error().code == ErrorCode::system) __builtin_trap();
        trap_if_internal(done);
        if (!done) return;
    }
}

void run(Choices c) {
    static const std::vector<plan::Plan> plans = small_plans();
    plan::Plan plan = plans[(c.of(256) << 8 | c.of(256)) % plans.size()];
    const Way& way = ways[c.of(ways.size())];
    std::ifstream in(plan.modules[0], std::ios::binary);
    std::string file(std::istreambuf_iterator<char>(in), {});
    const auto words = words_of(file);
    if (words.empty()) return;
    for (uint32_t changes = 1 + c.of(6); changes; --changes) change(c, words);
    static const int module = ::memfd_create("module", MFD_CLOEXEC);
    if (::ftruncate(module, 0) != 0 ||
        ::pwrite(module, file.data(), file.size(), 0) != static_cast<ssize_t>(file.size()))
        std::abort();
    plan.modules[0] = "/proc/self/fd/" + std::to_string(module);

    Budget& budget = process_budget();
    budget.reset();
    budget.set_memory_limit(budget.resident() + memory);
    budget.set_time_limit(seconds);
    budget.begin_work();
    // Who does not heed the limits is what this looks for.
    const Watchdog watchdog(budget, [](Budget::Stop) { __builtin_trap(); });
    const itimerval most{{}, {processor_seconds, 0}};  // ends in SIGPROF
    ::setitimer(ITIMER_PROF, &most, nullptr);
    plan::RunOptions options;
    options.gpu.threads = 1;
    options.gpu.seed = c.of(256);
    options.max_warp_instructions = warp_instructions;
    options.on_stdout = options.on_plugin_text = [](std::string_view) {};
    if (!way.set) return debugged(plan, options);
    way.set(options);
    const auto report = plan::run_plan(plan, options);
    if (!report) {
        if (report.error().message().empty() || exit_code(report.error().code) == 7)
            __builtin_trap();
        return;
    }
    if (report->exit_code() == 7 || plan::report_text(*report).empty()) __builtin_trap();
}

}  // namespace
}  // namespace sassemu

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    sassemu::run({data, size});
    return 0;
}
