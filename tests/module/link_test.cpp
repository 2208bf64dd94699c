// SPDX-License-Identifier: Apache-2.0
// Relocations: single types against known words, and whole files against what nvlink made.
#include "emu/module/link.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/module/test_data.hpp"

namespace sassemu {
namespace {

using test::load;

// One 128-bit instruction, written as the two halves that disassemblers print.
struct Word {
    std::uint64_t low = 0, high = 0;
    friend bool operator==(const Word&, const Word&) = default;
};

Word relocate(Word word, std::uint32_t type, RelocationValue value) {
    std::uint8_t bytes[16];
    std::memcpy(bytes, &word, 16);
    const auto result = apply_relocation(bytes, 0, type, value, "test");
    EXPECT_TRUE(result.ok());
    std::memcpy(&word, bytes, 16);
    return word;
}

// Each expected word decodes, with the project's decoder and with the vendor's disassembler, to
// the text in the comment.
TEST(Relocation, InstructionFields) {
    // UMOV UR4, 0x12345678
    EXPECT_EQ(relocate({0x0000000000047882, 0x000fe20000000000}, 0x37, {0x12345678}),
              (Word{0x1234567800047882, 0x000fe20000000000}));
    // MOV R20, low and high half of 0x7fab12345678
    EXPECT_EQ(relocate({0x0000000000147802, 0x000fe40000000f00}, 0x38, {0x7fab12345678}),
              (Word{0x1234567800147802, 0x000fe40000000f00}));
    EXPECT_EQ(relocate({0x0000000000157802, 0x000fe40000000f00}, 0x39, {0x7fab12345678}),
              (Word{0x00007fab00157802, 0x000fe40000000f00}));
    // UMOV UR4, 0x10: 16 bits, the neighbours stay
    EXPECT_EQ(relocate({0xabcd000000047882, 0}, 0x3b, {0x10}), (Word{0xabcd001000047882, 0}));
    // LDS R3, [UR8+0x2dc]
    EXPECT_EQ(relocate({0x00000004ff007388, 0x000fe20000000800}, 0x4a, {0x2dc}),
              (Word{0x0002dc04ff007388, 0x000fe20000000800}));
    // IADD3 R17, R17, c[0x3][0x20], ...
    EXPECT_EQ(relocate({0x0000000011117a10, 0x000fe20007ffe004}, 0x40, {0x20, 3}),
              (Word{0x00c0080011117a10, 0x000fe20007ffe004}));
    // LDC R5, c[0x2][R0+0xc-0x8000]
    EXPECT_EQ(
        relocate({0x0000000000067b82, 0x001e220000000800}, 0x42, {std::uint64_t{0} - 0x7ff4, 2}),
        (Word{0x00a0030000067b82, 0x001e220000000800}));
    // LDCU UR4, c[0x3][0x20]
    EXPECT_EQ(relocate({0x00c00000ff0477ac, 0x000e6e0008000800}, 0x73, {0x20, 3}),
              (Word{0x00c00400ff0477ac, 0x000e6e0008000800}));
    // CALL.ABS.NOINC: sm_75..89 keeps the target in one field, sm_90 and later in two
    EXPECT_EQ(relocate({0x0000000000007943, 0x000fea0003c00000}, 0x3a, {0x7f2a40001230}),
              (Word{0x4000123000007943, 0x000fea0003c07f2a}));
    EXPECT_EQ(relocate({0x0000000000007943, 0x000fea0003c00000}, 0x4b, {0x1230}),
              (Word{0x00000010008c7943, 0x000fea0003c00000}));
}

TEST(Relocation, DataWords) {
    std::uint8_t bytes[8] = {};
    ASSERT_TRUE(apply_relocation(bytes, 0, 0x02, {0x1122334455667788}, "t").ok());
    EXPECT_EQ(bytes[0], 0x88);
    EXPECT_EQ(bytes[7], 0x11);
    std::fill_n(bytes, 8, std::uint8_t{0});
    // Packed initialisers: one relocation per byte.
    for (std::uint32_t i = 0; i < 8; ++i) {
        ASSERT_TRUE(apply_relocation(bytes, i, 0x54 + i, {0x1122334455667788}, "t").ok());
    }
    EXPECT_EQ(bytes[1], 0x77);
    EXPECT_EQ(bytes[6], 0x22);
    // Functions, whole and byte by byte.
    ASSERT_TRUE(apply_relocation(bytes, 0, 0x23, {0x8877665544332211}, "t").ok());
    EXPECT_EQ(bytes[7], 0x88);
    for (std::uint32_t i = 0; i < 8; ++i)
        ASSERT_TRUE(apply_relocation(bytes, i, 0x5c + i, {0x1122334455667788}, "t").ok());
    EXPECT_EQ(bytes[0], 0x88);
    EXPECT_EQ(bytes[7], 0x11);
    // Texture header: texture index in the low 20 bits, sampler index above.
    std::fill_n(bytes, 8, std::uint8_t{0});
    ASSERT_TRUE(apply_relocation(bytes, 4, 0x06, {0x12345}, "t").ok());
    ASSERT_TRUE(apply_relocation(bytes, 4, 0x07, {0x678}, "t").ok());
    EXPECT_EQ(bytes[4], 0x45);
    EXPECT_EQ(bytes[6], 0x81);
    EXPECT_EQ(bytes[7], 0x67);
    ASSERT_TRUE(apply_relocation(bytes, 0, 0x49, {~0ULL}, "t").ok());
    EXPECT_EQ(std::count(bytes, bytes + 8, 0), 8);
}

TEST(Relocation, RefusesWhatDoesNotFit) {
    std::uint8_t bytes[16] = {};
    EXPECT_FALSE(apply_relocation(bytes, 0, 0x37, {0x100000000}, "t").ok());
    EXPECT_FALSE(apply_relocation(bytes, 0, 0x3b, {0x10000}, "t").ok());
    EXPECT_FALSE(apply_relocation(bytes, 0, 0x3a, {0x1002}, "t").ok());  // not a multiple of 4
    EXPECT_FALSE(apply_relocation(bytes, 0, 0x4a, {0x1000000}, "t").ok());
    EXPECT_FALSE(apply_relocation(bytes, 1, 0x37, {0}, "t").ok());  // leaves the section
    EXPECT_FALSE(apply_relocation(bytes, 9, 0x02, {0}, "t").ok());
    EXPECT_FALSE(apply_relocation(bytes, ~0ULL, 0x4c, {0}, "t").ok());
    for (const auto byte : bytes) EXPECT_EQ(byte, 0);
}

TEST(Relocation, UnknownTypesAreNamed) {
    std::uint8_t bytes[16] = {};
    const auto named = apply_relocation(bytes, 0, 0x1f, {0}, "file: section 3");
    ASSERT_FALSE(named.ok());
    EXPECT_EQ(named.error().code, ErrorCode::unsupported);
    EXPECT_EQ(named.error().message(),
              "file: section 3: relocation type 31 (R_CUDA_FUNC_DESC32_23) is not supported");
    const auto number = apply_relocation(bytes, 0, 9999, {0}, "x");
    EXPECT_EQ(number.error().message(), "x: relocation type 9999 is not supported");
}

// The same variable gets the same address in every file.
Placement placement_for(const Module& module) {
    Placement placement;
    placement.code_base = 0x7f0000000000;
    for (const auto& section : module.data_sections()) {
        placement.data_bases.push_back(section.name == ".nv.global" ? 0x7f1000000000
                                                                    : 0x7f2000000000);
    }
    placement.undefined = [](const Symbol& symbol) -> Result<std::uint64_t> {
        return symbol.name == "vprintf" ? Result<std::uint64_t>(0xfff0)
                                        : make_error(ErrorCode::not_found, symbol.name, "unknown");
    };
    return placement;
}

class AgainstNvlink : public testing::TestWithParam<const char*> {};

TEST_P(AgainstNvlink, SameCodeConstantsAndNeeds) {
    const std::string arch = GetParam();
    const Module raw = load("rdc." + arch + ".cubin"), linked = load("linked." + arch + ".cubin");
    ASSERT_TRUE(raw.is_relocatable());
    ASSERT_FALSE(linked.is_relocatable());
    const auto ours = link(raw, placement_for(raw)), theirs = link(linked, placement_for(linked));
    ASSERT_TRUE(ours.ok()) << ours.error().message();
    ASSERT_TRUE(theirs.ok()) << theirs.error().message();
    // Functions keep their order, so code addresses agree too.
    ASSERT_EQ(raw.functions().size(), 4U);
    for (const auto& function : raw.functions()) {
        const auto same = std::ranges::find(linked.functions(), function.name, &Function::name);
        ASSERT_NE(same, linked.functions().end()) << function.name;
        EXPECT_EQ(same->code_offset, function.code_offset);
    }
    EXPECT_EQ(ours->code, theirs->code);
    for (const char* name : {"first", "second"}) {
        const Kernel& a = test::kernel_of(raw, name);
        const Kernel& b = test::kernel_of(linked, name);
        EXPECT_EQ(a.registers, b.registers) << name;
        EXPECT_EQ(a.shared_static, b.shared_static) << name;
        EXPECT_EQ(a.param_base, b.param_base) << name;
    }
    for (const char* name : {"values", "middle", "functions"}) {
        const Variable *a = raw.variable(name), *b = linked.variable(name);
        ASSERT_TRUE(a != nullptr && b != nullptr) << name;
        EXPECT_EQ(a->offset, b->offset) << name;
    }
    ASSERT_EQ(ours->data.size(), theirs->data.size());
    EXPECT_EQ(ours->data, theirs->data);
}

INSTANTIATE_TEST_SUITE_P(Architectures, AgainstNvlink, testing::Values("75", "90a"),
                         [](const auto& info) { return "sm_" + std::string(info.param); });

TEST(Link, PointersInDataReachTheirTargets) {
    const Module module = load("rdc.90a.cubin");
    const Placement placement = placement_for(module);
    const auto image = link(module, placement);
    ASSERT_TRUE(image.ok()) << image.error().message();
    const auto address_of = [&](const char* name) {
        const Variable* variable = module.variable(name);
        for (std::size_t i = 0; i < module.data_sections().size(); ++i) {
            if (module.data_sections()[i].section != variable->section) continue;
            return placement.data_bases[i] + variable->offset;
        }
        return std::uint64_t{0};
    };
    const auto word_at = [&](const char* name, std::uint64_t offset) {
        const Variable* variable = module.variable(name);
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < module.data_sections().size(); ++i) {
            if (module.data_sections()[i].section != variable->section) continue;
            std::memcpy(&word, image->data[i].data() + variable->offset + offset, 8);
        }
        return word;
    };
    EXPECT_EQ(word_at("middle", 0), address_of("values") + 12);
    const auto code_of = [&](const char* name) {
        const auto found = std::ranges::find(module.functions(), name, &Function::name);
        return placement.code_base + found->code_offset;
    };
    EXPECT_EQ(word_at("functions", 0), code_of("_Z11with_sharedi"));
    EXPECT_EQ(word_at("functions", 8), code_of("_Z14plain_functioni"));
}

TEST(Link, ServicesAndPackedPointers) {
    const Module module = load("lines.90a.cubin");
    const auto image = link(module, placement_for(module));
    ASSERT_TRUE(image.ok()) << image.error().message();
    bool seen = false;
    for (const auto& bank : image->banks) {
        if (bank.bank != 4) continue;
        std::uint64_t first = 0;
        std::memcpy(&first, bank.bytes.data(), 8);
        seen = first == 0xfff0;
    }
    EXPECT_TRUE(seen);

    const Module needs = load("needs.90.cubin");
    const Placement placement = placement_for(needs);
    const auto packed_image = link(needs, placement);
    ASSERT_TRUE(packed_image.ok());
    const Variable* packed = needs.variable("packed");
    ASSERT_NE(packed, nullptr);
    std::uint64_t pointer = 0;
    for (std::size_t i = 0; i < needs.data_sections().size(); ++i) {
        if (needs.data_sections()[i].section != packed->section) continue;
        std::memcpy(&pointer, packed_image->data[i].data() + packed->offset + 1, 8);
    }
    EXPECT_EQ(pointer, 0x7f1000000000 + needs.variable("target")->offset + 8);
}

TEST(Link, UnresolvedExternIsNamed) {
    const Module module = load("lines.90a.cubin");
    Placement placement = placement_for(module);
    placement.undefined = nullptr;
    const auto image = link(module, placement);
    ASSERT_FALSE(image.ok());
    EXPECT_NE(image.error().message().find("vprintf"), std::string::npos);
    placement = placement_for(module);
    placement.data_bases.push_back(0);
    EXPECT_EQ(link(module, placement).error().code, ErrorCode::internal);
}

}  // namespace
}  // namespace sassemu
