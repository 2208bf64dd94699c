// What the loader says about committed cubins whose sources are known (tests/module/data/*.cu).
#include "emu/module/module.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "emu/module/describe.hpp"
#include "tests/module/test_data.hpp"

namespace sassemu {
namespace {

using test::kernel_of;
using test::load;

TEST(Arch, NamesAndSuffixes) {
    EXPECT_EQ(parse_arch("sm_90a")->name(), "sm_90a");
    EXPECT_EQ(parse_arch("compute_100f")->name(), "sm_100f");
    EXPECT_EQ(parse_arch("75")->sm, 75);
    for (const char* wrong : {"sm_70", "sm_80a", "sm_90f", "sm_90b", "sm_", "", "sm_90aa", "x90"}) {
        const auto arch = parse_arch(wrong);
        ASSERT_FALSE(arch.ok()) << wrong;
        EXPECT_EQ(arch.error().code, ErrorCode::unsupported);
    }
}

TEST(Arch, BinaryCompatibility) {
    const auto runs = [](const char* code, const char* device) {
        return runs_on(*parse_arch(code), *parse_arch(device));
    };
    EXPECT_TRUE(runs("sm_80", "sm_86"));
    EXPECT_FALSE(runs("sm_86", "sm_80"));
    EXPECT_FALSE(runs("sm_80", "sm_90"));
    EXPECT_TRUE(runs("sm_90a", "sm_90"));
    EXPECT_FALSE(runs("sm_100a", "sm_103"));
    EXPECT_TRUE(runs("sm_100f", "sm_103a"));
    EXPECT_FALSE(runs("sm_100f", "sm_110"));
    EXPECT_TRUE(runs("sm_120", "sm_121"));
}

struct PlainCase {
    const char* arch;
    std::uint32_t param_base;
    std::uint32_t reserved;
};

class Plain : public testing::TestWithParam<PlainCase> {};

TEST_P(Plain, KernelFacts) {
    const auto& [arch, param_base, reserved] = GetParam();
    const Module module = load(std::string("plain.") + arch + ".cubin");
    EXPECT_EQ(module.arch().name(), std::string("sm_") + arch);
    EXPECT_FALSE(module.is_relocatable());
    ASSERT_EQ(module.kernels().size(), 1U);
    const Kernel& kernel = kernel_of(module, "plain");
    EXPECT_EQ(kernel.param_base, param_base);
    EXPECT_EQ(kernel.param_size, 21U);
    ASSERT_EQ(kernel.parameters.size(), 4U);
    const std::uint32_t offsets[] = {0, 8, 16, 20}, sizes[] = {8, 8, 4, 1};
    for (std::uint32_t i = 0; i < 4; ++i) {
        EXPECT_EQ(kernel.parameters[i].ordinal, i);
        EXPECT_EQ(kernel.parameters[i].offset, offsets[i]);
        EXPECT_EQ(kernel.parameters[i].size, sizes[i]);
    }
    EXPECT_EQ(kernel.constant0.size(), param_base + 21);
    EXPECT_EQ(kernel.shared_reserved, reserved);
    EXPECT_EQ(kernel.shared_static, reserved + 512);
    EXPECT_EQ(kernel.barriers, 1U);
    EXPECT_GE(kernel.registers, 8U);
    EXPECT_LE(kernel.registers, 32U);
    EXPECT_FALSE(kernel.max_threads.has_value());
    EXPECT_FALSE(kernel.cluster.has_value());
    EXPECT_EQ(kernel.code_offset, 0U);
    EXPECT_EQ(kernel.code_size, module.code_image_size());
    EXPECT_GE(kernel.exit_offsets.size(), 2U);
    for (const auto offset : kernel.exit_offsets) {
        EXPECT_EQ(offset % 16, 0U);
        EXPECT_LT(offset, kernel.code_size);
    }
    for (const auto& attribute : kernel.attributes) {
        EXPECT_FALSE(attribute.name.empty()) << unsigned{attribute.code};
    }
}

TEST_P(Plain, Variables) {
    const Module module = load(std::string("plain.") + GetParam().arch + ".cubin");
    const Variable* table = module.variable("table");
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->space, Space::constant);
    EXPECT_EQ(table->size, 64U);
    ASSERT_EQ(table->init.size(), 64U);
    const float expected[4] = {1, 2, 3, 4};
    EXPECT_EQ(std::memcmp(table->init.data(), expected, sizeof expected), 0);
    const ConstantBank* bank = module.constant_bank(3, "plain");
    ASSERT_NE(bank, nullptr);
    EXPECT_EQ(bank->section, table->section);

    const Variable* counter = module.variable("counter");
    ASSERT_NE(counter, nullptr);
    ASSERT_EQ(counter->init.size(), 4U);
    EXPECT_EQ(counter->init[0], 7U);
    EXPECT_FALSE(counter->is_managed);

    const Variable* scratch = module.variable("scratch");
    ASSERT_NE(scratch, nullptr);
    EXPECT_EQ(scratch->size, 256U);
    EXPECT_TRUE(scratch->init.empty());
    const DataSection* section = module.data_section(scratch->section);
    ASSERT_NE(section, nullptr);
    EXPECT_TRUE(section->init.empty());
    EXPECT_LE(scratch->offset + scratch->size, section->size);
    EXPECT_EQ(module.variable("nothing"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    AllArchitectures, Plain,
    testing::Values(PlainCase{"75", 0x160, 0}, PlainCase{"80", 0x160, 0}, PlainCase{"86", 0x160, 0},
                    PlainCase{"87", 0x160, 0}, PlainCase{"88", 0x160, 0}, PlainCase{"89", 0x160, 0},
                    PlainCase{"90", 0x210, 1024}, PlainCase{"90a", 0x210, 1024},
                    PlainCase{"100", 0x380, 1024}, PlainCase{"100f", 0x380, 1024},
                    PlainCase{"103a", 0x380, 1024}, PlainCase{"110", 0x380, 1024},
                    PlainCase{"120", 0x380, 1024}, PlainCase{"120f", 0x380, 1024},
                    PlainCase{"121a", 0x380, 1024}),
    [](const auto& info) { return std::string("sm_") + info.param.arch; });

TEST(Module, OlderElfLayouts) {
    const Module old = load("lines.cuda118.80.cubin");
    EXPECT_EQ(old.arch().name(), "sm_80");
    EXPECT_EQ(old.elf_abi_version(), 7U);
    EXPECT_EQ(kernel_of(old, "lines").registers, 24U);
    EXPECT_EQ(kernel_of(old, "lines").param_base, 0x160U);
    EXPECT_EQ(load("lines.cuda123.90a.cubin").arch().name(), "sm_90a");
    const Module relocatable = load("rdc.cuda123.90a.cubin");
    EXPECT_TRUE(relocatable.is_relocatable());
    EXPECT_EQ(relocatable.arch().name(), "sm_90a");
    EXPECT_EQ(relocatable.kernels().size(), 1U);
}

TEST(Module, ServicesAndLocalFunctions) {
    const Module module = load("lines.90a.cubin");
    const Kernel& kernel = kernel_of(module, "lines");
    ASSERT_EQ(kernel.externs.size(), 1U);
    const Symbol& service = module.symbols()[kernel.externs[0]];
    EXPECT_EQ(service.name, "vprintf");
    EXPECT_EQ(service.kind, SymbolKind::undefined_function);
    EXPECT_EQ(kernel.syscall_offsets.size(), 1U);
    EXPECT_EQ(kernel.frame_size, 8U);
    // The device function lies inside the kernel's section: the innermost symbol wins.
    const auto local = std::ranges::find_if(
        module.functions(), [](const Function& function) { return !function.is_kernel; });
    ASSERT_NE(local, module.functions().end());
    EXPECT_EQ(local->name, "$lines$_Z9factoriali");
    ASSERT_NE(module.function_at(local->code_offset), nullptr);
    EXPECT_EQ(module.function_at(local->code_offset)->name, local->name);
    EXPECT_EQ(module.function_at(local->code_offset - 16)->name, "lines");
    EXPECT_EQ(module.function_at(0)->name, "lines");
    EXPECT_EQ(module.function_at(module.code_image_size() + 16), nullptr);
}

TEST(Module, LaunchNeeds) {
    const Module module = load("needs.90.cubin");
    EXPECT_EQ(kernel_of(module, "barriers").barriers, 8U);
    EXPECT_EQ(kernel_of(module, "barriers").max_threads, (Extent3{256, 1, 1}));
    const Kernel& cluster = kernel_of(module, "cluster");
    EXPECT_EQ(cluster.cluster, (Extent3{4, 2, 1}));
    EXPECT_TRUE(cluster.explicit_cluster);
    EXPECT_EQ(kernel_of(module, "ranked").max_cluster_rank, 8U);
    EXPECT_FALSE(kernel_of(module, "ranked").cluster.has_value());
    const Kernel& huge = kernel_of(module, "huge");
    ASSERT_EQ(huge.parameters.size(), 3U);
    EXPECT_EQ(huge.parameters[0].size, 8000U);
    EXPECT_EQ(huge.parameters[1].size, 1U);
    EXPECT_EQ(huge.parameters[2].offset, 8008U);
    EXPECT_EQ(huge.parameters[2].size, 8U);
    ASSERT_NE(module.variable("managed"), nullptr);
    EXPECT_TRUE(module.variable("managed")->is_managed);
    // Above 4 KiB of parameters sm_75 moves them behind bank 0's compiler constants.
    EXPECT_EQ(kernel_of(load("needs.75.cubin"), "huge").param_base, 6784U);
}

TEST(Module, TextureReferences) {
    const Module module = load("texture.90.cubin");
    ASSERT_EQ(module.texture_references().size(), 2U);
    EXPECT_EQ(module.texture_references()[0].name, "mytex");
    EXPECT_EQ(module.texture_references()[0].kind, TextureReference::Kind::texture);
    EXPECT_EQ(module.texture_references()[1].kind, TextureReference::Kind::surface);
    const Kernel& kernel = kernel_of(module, "textured");
    EXPECT_EQ(kernel.required_threads, (Extent3{64, 2, 1}));
    EXPECT_EQ(kernel.constant0.size(), 0x210U + 8 + 8);  // two header words behind the parameters
}

TEST(Module, UnknownKernelNamesTheOthers) {
    const auto kernel = load("needs.90.cubin").kernel("absent");
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().code, ErrorCode::not_found);
    EXPECT_NE(kernel.error().message().find("barriers"), std::string::npos);
}

TEST(Module, CopiesShareTheirBytes) {
    Module copy = load("plain.75.cubin");
    const std::uint8_t* bytes = nullptr;
    {
        const Module original = load("plain.90a.cubin");
        copy = original;
        bytes = original.elf().data();
    }
    EXPECT_EQ(copy.elf().data(), bytes);
    EXPECT_EQ(kernel_of(copy, "plain").param_base, 0x210U);
}

TEST(Describe, TextAndJson) {
    const Module module = load("needs.90.cubin");
    const std::string text = describe(module);
    EXPECT_NE(text.find("cubin for sm_90\n"), std::string::npos);
    EXPECT_NE(text.find("cluster: 4x2x1 (set by the kernel)"), std::string::npos);
    EXPECT_NE(text.find("parameters: 8016 bytes at c[0x0][0x210]"), std::string::npos);
    EXPECT_NE(text.find("managed managed: 4 bytes, initialised"), std::string::npos);
    const auto json = describe_json(module);
    EXPECT_EQ(json["arch"], "sm_90");
    EXPECT_EQ(json["kernels"].size(), 4U);
    for (const auto& kernel : json["kernels"]) {
        if (kernel["name"] != "cluster") continue;
        EXPECT_EQ(kernel["cluster"], (nlohmann::json{4, 2, 1}));
        EXPECT_EQ(kernel["paramBase"], 0x210);
    }
}

TEST(Describe, UnknownAttributesAreReportedWithTheirNumber) {
    auto bytes = test::data_bytes("plain.90a.cubin");
    // EIATTR_SPARSE_MMA_MASK (fmt 3, 0x50, value 0) of the kernel becomes number 0xee.
    const std::vector<std::uint8_t> record = {3, 0x50, 0, 0};
    const auto at = std::ranges::search(bytes, record);
    ASSERT_FALSE(at.empty());
    at.begin()[1] = 0xee;
    const auto module = load_module(bytes, "changed.cubin");
    ASSERT_TRUE(module.ok()) << module.error().message();
    ASSERT_EQ(module->notes().size(), 1U);
    EXPECT_NE(module->notes()[0].find("238"), std::string::npos);
    EXPECT_NE(describe(*module).find("attribute of unknown number 238"), std::string::npos);
}

}  // namespace
}  // namespace sassemu
