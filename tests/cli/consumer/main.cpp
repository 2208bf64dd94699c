// SPDX-License-Identifier: Apache-2.0
// Uses each installed library once: decoder, engine, plans.
#include <cstdio>

#include "emu/gpu.hpp"
#include "emu/plan/report.hpp"
#include "sassdec/sassdec.h"

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const uint64_t exit_word[2] = {0x000000000000794d, 0x000fea0003800000};
    sassdec_insn insn;
    if (sassdec_decode(sassdec_arch_from_name("sm_90"), exit_word, 0, &insn) != SASSDEC_OK)
        return 1;
    char text[64];
    sassdec_format(&insn, nullptr, text, sizeof text);
    std::puts(text);

    auto gpu = sassemu::Gpu::create({});
    if (!gpu || !(*gpu)->allocate(64, "buffer")) return 1;

    const auto plan = sassemu::plan::read_plan_file(argv[1]);
    if (!plan) return 1;
    const auto report = sassemu::plan::run_plan(*plan, {});
    if (!report) return 1;
    std::fputs(sassemu::plan::report_text(*report).c_str(), stdout);
    return report->exit_code();
}
