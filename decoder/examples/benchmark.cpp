// SPDX-License-Identifier: Apache-2.0
// Instructions per second of one thread: decoded into structs, printed, assembled; and what
// starting costs. Usage: benchmark FILE, with lines `ARCH TAB word in 32 hex digits TAB ...`
// (tests/decoder/data/own.tsv is one). Times are of the process's own CPU clock, so that a busy
// machine blurs them less.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "sassdec/sassdec.h"
#include "tables.hpp"

namespace {

struct Sample {
    sassdec_arch arch;
    std::uint64_t word[2];
    std::string text;
};

std::vector<Sample> read(const char* path) {
    std::vector<Sample> samples;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        const std::size_t tab = line.find('\t');
        if (tab == std::string::npos || line.size() < tab + 33) continue;
        Sample s;
        s.arch = sassdec_arch_from_name(line.substr(0, tab).c_str());
        s.word[1] = std::strtoull(line.substr(tab + 1, 16).c_str(), nullptr, 16);
        s.word[0] = std::strtoull(line.substr(tab + 17, 16).c_str(), nullptr, 16);
        sassdec_insn insn;
        char text[512];
        if (sassdec_decode(s.arch, s.word, 0, &insn) != SASSDEC_OK) continue;
        sassdec_format(&insn, nullptr, text, sizeof text);
        s.text = text;
        samples.push_back(std::move(s));
    }
    return samples;
}

template <class Work>
double millions_per_second(const std::vector<Sample>& samples, Work&& work) {
    double best = 0;
    for (int round = 0; round < 5; ++round) {
        std::size_t done = 0;
        const std::clock_t begin = std::clock();
        std::clock_t now = begin;
        for (; now - begin < CLOCKS_PER_SEC / 4; now = std::clock()) {
            for (const Sample& s : samples) work(s);
            done += samples.size();
        }
        const double rate =
            static_cast<double>(done) / (static_cast<double>(now - begin) / CLOCKS_PER_SEC) / 1e6;
        if (rate > best) best = rate;
    }
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();  // the first use pays for whatever starting costs
    const std::uint64_t exit_word[2] = {0x000000000000794d, 0x000fea0003800000};
    sassdec_insn insn;
    char text[512];
    std::uint64_t sum = sassdec_decode(SASSDEC_SM_90, exit_word, 0, &insn);
    sum += static_cast<std::uint64_t>(sassdec_format(&insn, nullptr, text, sizeof text));
    const double start = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();

    const std::vector<Sample> samples = argc == 2 ? read(argv[1]) : std::vector<Sample>{};
    if (samples.empty()) {
        std::fputs("usage: benchmark FILE, with lines ARCH TAB word\n", stderr);
        return 2;
    }
    const double decode = millions_per_second(samples, [&](const Sample& s) {
        sum += sassdec_decode(s.arch, s.word, 0, &insn) + insn.operand[0].index;
    });
    const double print = millions_per_second(samples, [&](const Sample& s) {
        sassdec_decode(s.arch, s.word, 0, &insn);
        sum += static_cast<std::uint64_t>(sassdec_format(&insn, nullptr, text, sizeof text));
    });
    const double assemble = millions_per_second(samples, [&](const Sample& s) {
        std::uint64_t word[2];
        sum += sassdec_assemble(s.arch, s.text.c_str(), 0, nullptr, word, nullptr);
    });
    std::printf(
        "decode %.1f M/s, decode and print %.2f M/s, assemble %.2f M/s; first use %.1f us, tables "
        "%.2f MiB (check %llu)\n",
        decode, print, assemble, start, static_cast<double>(sassdec::tables::bytes) / (1 << 20),
        static_cast<unsigned long long>(sum));
    return 0;
}
