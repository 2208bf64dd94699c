// SPDX-License-Identifier: Apache-2.0
// Damaged files: whatever happens to the bytes, the loader answers with a Module or one Error.
// The same is fuzzed at length by tests/fuzz/module_fuzz.cpp; this is the quick, repeatable part.
#include <gtest/gtest.h>

#include <random>

#include "emu/module/describe.hpp"
#include "emu/module/line_table.hpp"
#include "emu/module/link.hpp"
#include "tests/module/test_data.hpp"

namespace sassemu {
namespace {

const char* const files[] = {
    "plain.75.cubin",         "plain.90a.cubin",   "plain.120f.cubin",   "lines.75.cubin",
    "lines.cuda118.80.cubin", "rdc.90a.cubin",     "needs.90.cubin",     "texture.90.cubin",
    "plain_none.fatbin",      "plain_size.fatbin", "plain_speed.fatbin", "embed.so",
};

// Loads, and uses everything that loaded. True when it loaded.
bool exercise(Bytes bytes) {
    LoadOptions options;
    options.container = 0;
    const auto module = load_module(bytes, "damaged", options);
    if (!module.ok()) {
        const std::string message = module.error().message();
        EXPECT_TRUE(message.starts_with("damaged")) << message;
        EXPECT_EQ(message.find('\n'), std::string::npos);
        EXPECT_GT(module.error().what.size(), 4U) << message;
        EXPECT_TRUE(exit_code(module.error().code) == 2 || exit_code(module.error().code) == 5);
        return false;
    }
    Placement placement;
    placement.code_base = 0x10000;
    placement.data_bases.assign(module->data_sections().size(), 0x20000);
    placement.undefined = [](const Symbol&) -> Result<std::uint64_t> { return 0x30; };
    const auto image = link(*module, placement);
    if (!image.ok()) {
        EXPECT_FALSE(image.error().what.empty());
    }
    EXPECT_FALSE(describe(*module).empty());
    for (std::uint64_t at = 0; at < module->code_image_size(); at += 16) {
        (void)module->lines().find(at);
        (void)module->function_at(at);
    }
    return true;
}

class Damage : public testing::TestWithParam<const char*> {};

TEST_P(Damage, TheWholeFileLoads) { EXPECT_TRUE(exercise(test::data_bytes(GetParam()))); }

TEST_P(Damage, EveryTruncationIsAnError) {
    const auto bytes = test::data_bytes(GetParam());
    // Trailing bytes of a host file that no section uses may be missing; a cubin's section table
    // lies at the end, and a fatbin's size says how long it is.
    const bool exact = std::string(GetParam()).find(".so") == std::string::npos;
    for (std::size_t size = 0; size < bytes.size(); size += 97) {
        const bool loaded = exercise(Bytes(bytes).first(size));
        if (exact && size + 1024 < bytes.size()) {
            EXPECT_FALSE(loaded) << size;
        }
    }
}

TEST_P(Damage, FlippedBits) {
    const auto original = test::data_bytes(GetParam());
    std::mt19937 random(20240607);
    unsigned refused = 0;
    for (int round = 0; round < 600; ++round) {
        auto bytes = original;
        const unsigned count = 1 + random() % 8;
        for (unsigned i = 0; i < count; ++i) {
            bytes[random() % bytes.size()] ^= static_cast<std::uint8_t>(1U << (random() % 8));
        }
        if (!exercise(bytes)) ++refused;
    }
    EXPECT_GT(refused, 0U);
}

// Damage where it hurts most: header words and tables get extreme values.
TEST_P(Damage, ExtremeWords) {
    const auto original = test::data_bytes(GetParam());
    std::mt19937 random(7);
    const std::uint8_t fills[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    for (int round = 0; round < 600; ++round) {
        auto bytes = original;
        const std::size_t width = std::size_t{1} << (random() % 4);
        const std::size_t at = random() % (bytes.size() - 8) / width * width;
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), width,
                    fills[random() % std::size(fills)]);
        exercise(bytes);
    }
}

INSTANTIATE_TEST_SUITE_P(Files, Damage, testing::ValuesIn(files), [](const auto& info) {
    std::string name = info.param;
    for (char& c : name) {
        if (c == '.') c = '_';
    }
    return name;
});

}  // namespace
}  // namespace sassemu
