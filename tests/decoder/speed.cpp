// decoder_speed: instructions per second decoded into structs and printed, one thread.
#include <chrono>
#include <cstdio>

#include "rows.hpp"

int main() {
    const auto rows = read_rows(SASSDEC_TEST_DATA "/own.tsv");
    using Clock = std::chrono::steady_clock;
    const auto rate = [&](auto&& work) {
        unsigned long done = 0;
        const auto begin = Clock::now();
        double seconds = 0;
        do {
            for (const Row& row : rows) work(row);
            done += rows.size();
            seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        } while (seconds < 1.0);
        return static_cast<double>(done) / seconds / 1e6;
    };
    unsigned long sum = 0;
    sassdec_insn insn;
    char text[300];
    const double decode = rate([&](const Row& r) { sum += sassdec_decode(r.arch, r.word, r.pc, &insn) + insn.operand[0].index; });
    const double print = rate([&](const Row& r) {
        sassdec_decode(r.arch, r.word, r.pc, &insn);
        sum += static_cast<unsigned long>(sassdec_format(&insn, nullptr, text, sizeof text));
    });
    std::printf("decode %.2f M/s, decode and print %.2f M/s (check %lu)\n", decode, print, sum);
    return rows.empty();
}
