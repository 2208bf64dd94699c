// SPDX-License-Identifier: Apache-2.0
// Replays the record of wgmma that an H100 made (README.md): the unit alone on every case, and as
// kernels through the engine. The record itself is held against a model that shares no code with
// the emulator.
#include <gtest/gtest.h>
#include <zstd.h>

#include <fstream>
#include <map>
#include <set>

#include "emu/gpu.hpp"
#include "emu/isa/level.hpp"
#include "emu/schedule/level_choice.hpp"
#include "emulated.hpp"
#include "model.hpp"

namespace warpgroup {
namespace {

using namespace sassemu;

std::string file(const char* name) {
    std::ifstream in(std::string(SASSEMU_SOURCE_DIR "/tests/hardware/warpgroup/") + name,
                     std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
struct Recorded {
    Case c;
    uint32_t hash;
};
const std::map<std::string, std::vector<Recorded>>& record() {
    static const std::map<std::string, std::vector<Recorded>> all = [] {
        std::map<std::string, std::vector<Recorded>> out;
        const std::string bytes = file("record.bin");
        size_t at = 0;
        for (const char* suite : suites)
            for (const Case& c : of_record(suite)) {
                Recorded r{c, 0};
                if (at + 4 <= bytes.size()) std::memcpy(&r.hash, &bytes[at], 4);
                at += 4;
                out[suite].push_back(r);
            }
        EXPECT_EQ(at, bytes.size()) << "record.bin is not of these cases";
        return out;
    }();
    return all;
}
const Operands& operands_of_all() {
    static const Operands o;
    return o;
}
std::string name(const Case& c) {
    static constexpr const char* names[types] = {"f16",  "bf16", "tf32", "e4m3",
                                                 "e5m2", "u8",   "s8",   "b1"};
    const Form& f = c.form;
    return std::string(names[f.a]) + " x " + names[f.b] + (f.half ? " to f16" : "") + ", n " +
           std::to_string(f.n) + (f.registers ? ", A in registers" : "") +
           (f.sparse ? ", sparse" : "");
}
uint32_t hash(const std::vector<uint32_t>& words) {
    return warpgroup::hash(words.data(), words.size());
}

TEST(Warpgroup, TheUnitGivesWhatTheChipGave) {
    for (const HostLevel wanted : {HostLevel::v2, HostLevel::v3, HostLevel::v4}) {
        const auto level = choose_level(wanted);
        if (!level) continue;
        Unit unit(operands_of_all(), (*level)->warpgroup_sums);
        for (const auto& [suite, cases] : record()) {
            const size_t step = wanted == HostLevel::v2 ? 9 : 1;  // scalar
            size_t wrong = 0;
            for (size_t i = 0; i < cases.size(); i += step)
                if (hash(unit.run(cases[i].c)) != cases[i].hash && wrong++ < 3)
                    ADD_FAILURE() << (*level)->name << ", " << suite << " " << i << ": "
                                  << name(cases[i].c);
            EXPECT_EQ(wrong, 0u) << suite;
        }
    }
}

TEST(Warpgroup, TheModelGivesWhatTheChipGave) {
    const Operands& o = operands_of_all();
    Model model(o.a, o.b, o.tables, o.metadata);
    size_t compared = 0;
    for (const auto& [suite, cases] : record())
        for (size_t i = 0; i < cases.size(); i += suite == "floors" ? 3 : 23) {
            if (suite == "anything" && cases[i].c.form.n > 64) continue;
            EXPECT_EQ(hash(model.run(cases[i].c)), cases[i].hash) << suite << " " << i;
            ++compared;
        }
    EXPECT_GT(compared, 400u);
    // The record tells one rule from the next.
    const auto differs = [&](const char* suite, auto&& change) {
        Model other(o.a, o.b, o.tables, o.metadata);
        change(other.rule);
        for (const Recorded& r : record().at(suite))
            if (!r.c.form.integers() && r.c.form.n == 8 && hash(other.run(r.c)) != r.hash)
                return true;
        return false;
    };
    EXPECT_TRUE(differs("sums", [](Sums& s) { s.fraction = 24; }));
    EXPECT_TRUE(differs("sums", [](Sums& s) { s.fraction = 26; }));
    EXPECT_TRUE(differs("sums", [](Sums& s) { s.short_fraction = 12; }));
    EXPECT_TRUE(differs("sums", [](Sums& s) { s.short_fraction = 14; }));
    EXPECT_TRUE(differs("sums", [](Sums& s) { s.short_kept = 14; }));
    EXPECT_TRUE(differs("floors", [](Sums& s) { s.floor = -132; }));
    EXPECT_TRUE(differs("floors", [](Sums& s) { s.floor = -134; }));
    EXPECT_TRUE(differs("floors", [](Sums& s) { s.half_floor = -18; }));
    EXPECT_TRUE(differs("floors", [](Sums& s) { s.half_floor = -23; }));
}

// As kernels: lowering, the warps' meeting, the agents' three orders, and the reference.
TEST(Warpgroup, KernelsGiveWhatTheChipGave) {
    const std::string packed = file("template.cubin.zst");
    std::vector<char> image(ZSTD_getFrameContentSize(packed.data(), packed.size()));
    ASSERT_EQ(ZSTD_decompress(image.data(), image.size(), packed.data(), packed.size()),
              image.size());
    const Operands& o = operands_of_all();
    // One word of each kind of operands and modifiers, in turn on the machines.
    std::vector<Recorded> chosen;
    std::set<std::tuple<int, int, bool, bool, bool, bool>> kinds;
    for (const Recorded& r : record().at("anything")) {
        const Form& f = r.c.form;
        if (f.n > 40 + chosen.size() % 7 * 16) continue;
        if (kinds.insert({f.a, f.b, f.half, f.registers, f.sparse, f.saturate}).second)
            chosen.push_back(r);
    }
    EXPECT_EQ(chosen.size(), 82u);
    for (size_t i = 0; i < record().at("places").size(); i += 7)
        chosen.push_back(record().at("places")[i]);
    for (uint32_t machine = 0; machine < 4; ++machine) {
        GpuOptions options;
        options.agents = machine == 1   ? AgentOrder::lazy
                         : machine == 2 ? AgentOrder::random
                                        : AgentOrder::eager;
        options.seed = 3;
        options.reference = machine == 3;
        auto gpu = Gpu::create(options);
        ASSERT_TRUE(gpu);
        const auto buffer = [&](const std::vector<uint32_t>& words) {
            const uint64_t at = *(*gpu)->allocate(words.size() * 4, "words");
            EXPECT_TRUE((*gpu)->write(at, std::as_bytes(std::span(words))));
            return at;
        };
        uint64_t arguments[6] = {*(*gpu)->allocate(sizeof(Launch), "launch"),
                                 buffer(o.a),
                                 buffer(o.b),
                                 buffer(o.tables),
                                 buffer(o.metadata),
                                 *(*gpu)->allocate(65536, "out")};
        size_t i = machine;
        for (const Recorded& r : chosen) {
            if (i++ % 4) continue;
            SCOPED_TRACE(name(r.c));
            const std::vector<char> patched = with_form(image, r.c.form);
            ASSERT_FALSE(patched.empty());
            auto module =
                load_module({reinterpret_cast<const uint8_t*>(patched.data()), patched.size()},
                            "template.cubin");
            ASSERT_TRUE(module) << module.error().what;
            auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
            ASSERT_TRUE(id);
            Launch launch = r.c.launch;
            launch.out = 0;
            ASSERT_TRUE((*gpu)->write(arguments[0], std::as_bytes(std::span(&launch, 1))));
            LaunchRequest request;
            request.module = *id;
            request.kernel = kernel_of(r.c.form);
            request.block = {128, 1, 1};
            request.dynamic_shared = shared_bytes;
            request.limits.max_warp_instructions = 10'000'000;
            request.params.resize(sizeof arguments);
            std::memcpy(request.params.data(), arguments, sizeof arguments);
            const auto result = (*gpu)->launch(request);
            ASSERT_TRUE(result) << result.error().what;
            ASSERT_EQ(result->status, LaunchStatus::ok)
                << result->message << (result->fault ? result->fault->report() : "");
            std::vector<uint32_t> out(launch.count * 128);
            ASSERT_TRUE((*gpu)->read(arguments[5], std::as_writable_bytes(std::span(out))));
            EXPECT_EQ(hash(out), r.hash) << "machine " << machine;
        }
    }
}

}  // namespace
}  // namespace warpgroup
