// SPDX-License-Identifier: Apache-2.0
// Compares the emulator's unit with a GPU (sm_90a) over cases that no record holds.
//   verify TEMPLATE SEED WORDS CASES      WORDS words of each kind of sum, CASES operands of each
#include <atomic>
#include <chrono>
#include <thread>

#include "emu/isa/level.hpp"
#include "emu/schedule/level_choice.hpp"
#include "emulated.hpp"
#include "machine.hpp"

int main(int argc, char** argv) {
    using namespace warpgroup;
    if (argc != 5) return 2;
    Machine machine(argv[1]);
    const Operands operands;
    const auto level = sassemu::choose_level(sassemu::HostLevel::automatic);
    if (!level) return 1;
    const std::vector<Case> cases =
        anything(std::strtoull(argv[2], nullptr, 0), static_cast<uint32_t>(std::atoi(argv[3])),
                 static_cast<uint32_t>(std::atoi(argv[4])));
    const size_t most = 16384;  // cases at a time
    std::atomic<uint64_t> outputs{0}, wrong{0};
    std::atomic<int> shown{0};
    double gpu = 0, host = 0;
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const auto seconds = [](auto d) { return std::chrono::duration<double>(d).count(); };
    for (size_t first = 0; first < cases.size(); first += most) {
        const std::vector<Case> some(
            cases.begin() + static_cast<std::ptrdiff_t>(first),
            cases.begin() + static_cast<std::ptrdiff_t>(std::min(first + most, cases.size())));
        const auto begin = now();
        const std::vector<uint32_t> results = machine.run(some);
        gpu += seconds(now() - begin);
        std::vector<size_t> at(some.size());
        for (size_t i = 1; i < some.size(); ++i)
            at[i] = at[i - 1] + size_t{some[i - 1].launch.count} * 128;
        std::atomic<size_t> next{0};
        std::vector<std::thread> threads;
        const auto middle = now();
        for (unsigned t = 0; t < std::thread::hardware_concurrency(); ++t)
            threads.emplace_back([&] {
                Unit unit(operands, (*level)->warpgroup_sums);
                for (size_t i; (i = next++) < some.size();) {
                    const Case& c = some[i];
                    const std::vector<uint32_t> mine = unit.run(c);
                    uint64_t bad = mine.empty();
                    for (size_t k = 0; k < mine.size(); ++k) bad += mine[k] != results[at[i] + k];
                    outputs += uint64_t{64} * c.form.n;
                    wrong += bad;
                    if (bad && shown++ < 20)
                        std::printf("case %zu: a %d b %d half %d n %u rs %d sparse %d\n", first + i,
                                    c.form.a, c.form.b, c.form.half, c.form.n, c.form.registers,
                                    c.form.sparse);
                }
            });
        for (std::thread& t : threads) t.join();
        host += seconds(now() - middle);
    }
    std::printf(
        "seed %s: %zu cases, %llu outputs, %llu words differ (level %s; GPU %.1f s, host %.1f s)\n",
        argv[2], cases.size(), static_cast<unsigned long long>(outputs),
        static_cast<unsigned long long>(wrong), (*level)->name, gpu, host);
    return wrong != 0;
}
