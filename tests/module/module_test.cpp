// SPDX-License-Identifier: Apache-2.0
// What the loader says about committed cubins whose sources are known (tests/module/data/*.cu).
#include "emu/module/module.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "emu/module/attributes.hpp"
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
    // A relocatable file of an old toolkit, with .rel and .rela side by side.
    const Module first = load("rdc.cuda118.80.cubin");
    EXPECT_EQ(kernel_of(first, "lines").registers, 24U);
    EXPECT_EQ(kernel_of(first, "lines").min_stack_size, 8U);
}

// The bit of e_flags that means the suffix a, on a chip without such a name.
TEST(Module, NoSuffixThatDoesNotExist) {
    for (const auto& [name, arch] : {std::pair{"lines.cuda118.80.cubin", "sm_80"},
                                     std::pair{"lines.cuda123.90a.cubin", "sm_90a"}}) {
        std::vector<std::uint8_t> bytes = test::data_bytes(name);
        ASSERT_EQ(bytes[7], 0x33) << "the older layout";
        bytes[49] |= 8;
        const auto module = load_module(bytes, name);
        ASSERT_TRUE(module.ok()) << module.error().message();
        EXPECT_EQ(module->arch().name(), arch);
        EXPECT_TRUE(parse_arch(module->arch().name()).ok());
    }
}

// A kernel that only returns uses no register.
TEST(Module, NoRegistersAtAll) {
    std::vector<std::uint8_t> bytes = test::data_bytes("plain.90.cubin");
    // EIATTR_REGCOUNT: format 4, code 0x2f, eight bytes, symbol, registers.
    unsigned found = 0;
    for (std::size_t at = 0; at + 12 <= bytes.size(); at += 4)
        if (bytes[at] == 4 && bytes[at + 1] == 0x2f && bytes[at + 2] == 8 && bytes[at + 3] == 0) {
            bytes[at + 8] = 0;
            ++found;
        }
    ASSERT_GT(found, 0u);
    const auto module = load_module(bytes, "none.cubin");
    ASSERT_TRUE(module.ok()) << module.error().message();
    for (const Kernel& kernel : module->kernels()) EXPECT_EQ(kernel.registers, 0u) << kernel.name;
    for (std::size_t at = 0; at + 12 <= bytes.size(); at += 4)
        if (bytes[at] == 4 && bytes[at + 1] == 0x2f && bytes[at + 2] == 8 && bytes[at + 3] == 0) {
            bytes[at + 8] = 1;
            bytes[at + 9] = 1;
        }
    EXPECT_FALSE(load_module(bytes, "257.cubin").ok());
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

TEST(Module, InstructionsTheCompilerPointsOut) {
    for (const char* file : {"needs.75.cubin", "needs.90.cubin"}) {
        const Module module = load(file);
        const Kernel& kernel = kernel_of(module, "branches");
        ASSERT_FALSE(kernel.indirect_branches.empty()) << file;
        for (const auto& branch : kernel.indirect_branches) {
            EXPECT_LT(branch.offset, kernel.code_size);
            EXPECT_GE(branch.targets.size(), 2U);
            for (const auto target : branch.targets) {
                EXPECT_EQ(target % 16, 0U);
                EXPECT_LT(target, kernel.code_size);
            }
        }
        EXPECT_GE(kernel.constant2.size(), 4 * kernel.indirect_branches[0].targets.size());
    }
    EXPECT_TRUE(kernel_of(load("needs.75.cubin"), "branches").uses_ctaid_z);
    EXPECT_FALSE(kernel_of(load("needs.75.cubin"), "barriers").uses_ctaid_z);
}

// Records by hand: number, payload words.
Kernel kernel_with(std::uint8_t code, std::vector<std::uint32_t> words) {
    std::vector<std::uint8_t> bytes = {4, code, static_cast<std::uint8_t>(4 * words.size()), 0};
    for (const auto word : words) {
        for (int i = 0; i < 4; ++i) bytes.push_back((word >> (8 * i)) & 0xff);
    }
    Kernel kernel;
    auto attributes = parse_attributes(bytes, "t", true);
    EXPECT_TRUE(attributes.ok());
    kernel.attributes = *attributes;
    EXPECT_TRUE(apply_kernel_attributes(kernel, 100, "t").ok());
    kernel.attributes.clear();  // their payloads point into `bytes`
    return kernel;
}

TEST(Attributes, Lists) {
    const std::vector<std::uint32_t> list = {0x10, 0x40};
    EXPECT_EQ(kernel_with(0x28, list).coop_group_offsets, list);
    EXPECT_EQ(kernel_with(0x29, list).coop_group_mask_registers, list);
    EXPECT_EQ(kernel_with(0x31, list).warp_wide_offsets, list);
    EXPECT_EQ(kernel_with(0x46, list).syscall_offsets, list);
    EXPECT_EQ(kernel_with(0x1c, list).exit_offsets, list);
    EXPECT_EQ(kernel_with(0x0f, list).externs, list);
    EXPECT_EQ(kernel_with(0x1e, {96}).crs_stack_size, 96U);
    EXPECT_TRUE(kernel_with(0x5b, {}).blocks_are_clusters);
    const Kernel branches = kernel_with(0x34, {0x50, 0, 2, 0x60, 0x80, 0x90, 0, 1, 0xa0});
    ASSERT_EQ(branches.indirect_branches.size(), 2U);
    EXPECT_EQ(branches.indirect_branches[0].offset, 0x50U);
    EXPECT_EQ(branches.indirect_branches[0].targets, (std::vector<std::uint32_t>{0x60, 0x80}));
    EXPECT_EQ(branches.indirect_branches[1].targets, (std::vector<std::uint32_t>{0xa0}));
    // Both forms of a parameter record: ordinal 2 at offset 16, 40 bytes.
    for (const auto& kernel : {kernel_with(0x17, {0, 0x00100002, 40U << 18U | 0x1f000}),
                               kernel_with(0x45, {0, 0x00100002, 0x05000000 | 40U})}) {
        ASSERT_EQ(kernel.parameters.size(), 1U);
        EXPECT_EQ(kernel.parameters[0].ordinal, 2U);
        EXPECT_EQ(kernel.parameters[0].offset, 16U);
        EXPECT_EQ(kernel.parameters[0].size, 40U);
    }
}

TEST(Attributes, MalformedRecordsAreErrors) {
    const auto fails = [](std::vector<std::uint8_t> bytes) {
        auto attributes = parse_attributes(bytes, "t", true);
        if (!attributes.ok()) return true;
        Kernel kernel;
        kernel.attributes = *attributes;
        return !apply_kernel_attributes(kernel, 1, "t").ok();
    };
    EXPECT_TRUE(fails({4, 0x1c, 8, 0, 1, 2, 3, 4}));  // payload longer than the section
    EXPECT_TRUE(fails({4, 0x1c, 3, 0, 1, 2, 3}));     // no whole words
    EXPECT_TRUE(fails({7, 0x1c, 0, 0}));              // unknown format
    EXPECT_TRUE(fails({4, 0x05, 4, 0, 1, 0, 0, 0}));  // an extent needs three words
    EXPECT_TRUE(fails({4, 0x0a, 4, 0, 1, 0, 0, 0}));  // PARAM_CBANK needs eight bytes
    EXPECT_TRUE(fails({4, 0x0f, 4, 0, 1, 0, 0, 0}));  // symbol 1 of 1
    EXPECT_TRUE(fails({4, 0x3d, 12, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}));  // 1 x 0 x 1
    EXPECT_TRUE(fails({4, 0x34, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0}));  // nine targets
    EXPECT_TRUE(fails({3}));
    EXPECT_FALSE(fails({}));
    EXPECT_FALSE(fails({1, 0x3e, 0, 0, 3, 0x1b, 0xff, 0}));
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
    EXPECT_EQ(json["kernels"].size(), 5U);
    for (const auto& kernel : json["kernels"]) {
        if (kernel["name"] != "cluster") continue;
        EXPECT_EQ(kernel["cluster"], (nlohmann::json{4, 2, 1}));
        EXPECT_EQ(kernel["paramBase"], 0x210);
    }
}

TEST(Describe, JsonOfEverythingElse) {
    const auto lines = describe_json(load("lines.90a.cubin"));
    EXPECT_EQ(lines["kernels"][0]["externs"], nlohmann::json{"vprintf"});
    EXPECT_EQ(lines["functions"][0]["name"], "$lines$_Z9factoriali");
    EXPECT_EQ(lines["sourceLines"], true);
    EXPECT_EQ(lines["ptxLines"], true);
    const auto texture = describe_json(load("texture.90.cubin"));
    EXPECT_EQ(texture["textureReferences"][1]["kind"], "surface");
    EXPECT_EQ(texture["kernels"][0]["requiredThreads"], (nlohmann::json{64, 2, 1}));
    EXPECT_EQ(describe_json(load("rdc.90a.cubin"))["relocatable"], true);
    const auto images = list_images(test::data_bytes("plain_speed.fatbin"), "fat");
    ASSERT_TRUE(images.ok());
    EXPECT_EQ(describe_json(*images)[1]["arch"], "sm_90a");
    EXPECT_EQ(describe_json(*images)[1]["compression"], "lz4");
    EXPECT_EQ(describe_json(*images)[2]["kind"], "ptx");
}

TEST(Describe, UnknownAttributesAreReportedWithTheirNumber) {
    auto bytes = test::data_bytes("plain.90a.cubin");
    // EIATTR_SPARSE_MMA_MASK (fmt 3, 0x50, value 0) of the kernel becomes number 0xee.
    const std::vector<std::uint8_t> record = {3, 0x50, 0, 0};
    const auto at = std::search(bytes.begin(), bytes.end(), record.begin(), record.end());
    ASSERT_NE(at, bytes.end());
    at[1] = 0xee;
    const auto module = load_module(bytes, "changed.cubin");
    ASSERT_TRUE(module.ok()) << module.error().message();
    ASSERT_EQ(module->notes().size(), 1U);
    EXPECT_NE(module->notes()[0].find("238"), std::string::npos);
    EXPECT_NE(describe(*module).find("attribute of unknown number 238"), std::string::npos);
}

}  // namespace
}  // namespace sassemu
