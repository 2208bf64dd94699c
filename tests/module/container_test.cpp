// SPDX-License-Identifier: Apache-2.0
// Fatbins and executables: what they hold and which image is chosen.
#include <gtest/gtest.h>

#include <algorithm>

#include "emu/module/describe.hpp"
#include "tests/module/test_data.hpp"

namespace sassemu {
namespace {

using test::data_bytes;
using test::load;
using Compression = ImageInfo::Compression;

struct FatbinCase {
    const char* file;
    Compression compression;
};

class Fatbin : public testing::TestWithParam<FatbinCase> {};

TEST_P(Fatbin, ListsAndUnpacksEveryImage) {
    const auto bytes = data_bytes(GetParam().file);
    const auto images = list_images(bytes, "fat");
    ASSERT_TRUE(images.ok()) << images.error().message();
    ASSERT_EQ(images->size(), 3U);
    EXPECT_EQ((*images)[0].arch.name(), "sm_75");
    EXPECT_EQ((*images)[1].arch.name(), "sm_90a");
    EXPECT_FALSE((*images)[2].is_elf);
    for (const auto& image : *images) EXPECT_EQ(image.compression, GetParam().compression);
    for (const auto& [index, file] : {std::pair{0U, "plain.75.cubin"}, {1U, "plain.90a.cubin"}}) {
        const auto cubin = extract_image(bytes, "fat", 0, index);
        ASSERT_TRUE(cubin.ok()) << cubin.error().message();
        EXPECT_EQ(cubin->size(), (*images)[index].size);
        const auto inner = load_module(*cubin, "inner");
        ASSERT_TRUE(inner.ok()) << inner.error().message();
        const auto same = load(file);
        EXPECT_TRUE(
            std::ranges::equal(inner->code_sections()[0].bytes, same.code_sections()[0].bytes));
    }
    const auto ptx = extract_image(bytes, "fat", 0, 2);
    ASSERT_TRUE(ptx.ok());
    EXPECT_NE(std::string(ptx->begin(), ptx->end()).find(".visible .entry plain"),
              std::string::npos);
}

TEST_P(Fatbin, ChoosesTheImageForTheDevice) {
    const auto arch_for = [&](const char* device) {
        LoadOptions options;
        if (*device != 0) options.arch = *parse_arch(device);
        return load(GetParam().file, options).arch().name();
    };
    EXPECT_EQ(arch_for("sm_75"), "sm_75");
    EXPECT_EQ(arch_for("sm_90"), "sm_90a");
    EXPECT_EQ(arch_for("sm_90a"), "sm_90a");
    EXPECT_EQ(arch_for(""), "sm_90a");
    LoadOptions options;
    options.arch = *parse_arch("sm_89");
    const auto none = load_module_file(test::data_path(GetParam().file), options);
    ASSERT_FALSE(none.ok());
    EXPECT_NE(none.error().message().find("no cubin that runs on sm_89"), std::string::npos);
    EXPECT_NE(none.error().message().find("PTX for sm_80"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Modes, Fatbin,
                         testing::Values(FatbinCase{"plain_none.fatbin", Compression::none},
                                         FatbinCase{"plain_size.fatbin", Compression::zstd},
                                         FatbinCase{"plain_speed.fatbin", Compression::lz4}),
                         [](const auto& info) {
                             return std::to_string(static_cast<int>(info.param.compression));
                         });

TEST(Executable, SeveralContainers) {
    const auto bytes = data_bytes("embed.so");
    const auto images = list_images(bytes, "embed.so");
    ASSERT_TRUE(images.ok()) << images.error().message();
    EXPECT_EQ(images->back().container, 1U);

    const auto ambiguous = load_module(bytes, "embed.so");
    ASSERT_FALSE(ambiguous.ok());
    EXPECT_EQ(ambiguous.error().code, ErrorCode::usage);

    LoadOptions by_kernel;
    by_kernel.kernel = "second";
    EXPECT_TRUE(load("embed.so", by_kernel).kernel("first").ok());
    by_kernel.kernel = "plain";
    EXPECT_TRUE(load("embed.so", by_kernel).kernel("plain").ok());
    by_kernel.kernel = "absent";
    EXPECT_EQ(load_module(bytes, "embed.so", by_kernel).error().code, ErrorCode::not_found);

    LoadOptions by_number;
    by_number.container = 1;
    EXPECT_TRUE(load("embed.so", by_number).is_relocatable());
    by_number.container = 2;
    EXPECT_FALSE(load_module(bytes, "embed.so", by_number).ok());

    LoadOptions old;
    old.arch = *parse_arch("sm_75");  // only the first container has such an image
    EXPECT_EQ(load("embed.so", old).arch().name(), "sm_75");

    const auto all = load_all_modules(bytes, "embed.so");
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(all->size(), 2U);
    EXPECT_EQ(all->front().container(), Container::executable);
}

TEST(Container, WhatIsNoModuleIsSaid) {
    const auto reason = [](const std::vector<std::uint8_t>& bytes) {
        const auto module = load_module(bytes, "file");
        EXPECT_FALSE(module.ok());
        EXPECT_EQ(exit_code(module.error().code), 2);
        return module.error().message();
    };
    EXPECT_EQ(reason({}), "file: the file is empty");
    const std::string ptx = ".version 9.0\n.target sm_90\n";
    EXPECT_NE(reason({ptx.begin(), ptx.end()}).find("ptxas"), std::string::npos);
    EXPECT_NE(reason({0x89, 'P', 'N', 'G'}).find("neither"), std::string::npos);
    auto program = data_bytes("embed.so");
    const std::string name = ".nv_fatbin";
    const auto at = std::search(program.begin(), program.end(), name.begin(), name.end());
    ASSERT_NE(at, program.end());
    at[1] = 'X';
    EXPECT_NE(reason(program).find("without a .nv_fatbin section"), std::string::npos);
    EXPECT_FALSE(load_module_file("/nonexistent/x.cubin").ok());
}

TEST(Container, AnUnknownArchitectureIsNamed) {
    auto bytes = data_bytes("plain.75.cubin");
    bytes[0x31] = 70;
    const auto module = load_module(bytes, "volta.cubin");
    ASSERT_FALSE(module.ok());
    EXPECT_EQ(module.error().code, ErrorCode::unsupported);
    EXPECT_NE(module.error().message().find("volta.cubin: e_flags: architecture sm_70"),
              std::string::npos);
}

TEST(Container, DescribeImages) {
    const auto images = list_images(data_bytes("plain_size.fatbin"), "fat");
    ASSERT_TRUE(images.ok());
    EXPECT_NE(describe(*images).find("image 1: cubin sm_90a, "), std::string::npos);
    EXPECT_NE(describe(*images).find("(zstd, "), std::string::npos);
}

}  // namespace
}  // namespace sassemu
