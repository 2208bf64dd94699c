// SPDX-License-Identifier: Apache-2.0
// The typed structs that the engine lowers: names and values must match the description.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <typeinfo>

#include "sassdec/visit.hpp"

namespace {
using namespace sassdec;

// What visit() passed, as bytes: one instantiation of visit() serves every test (a visitor per
// struct costs a compiler with sanitizers a quarter of an hour).
struct Seen {
    const std::type_info* type = nullptr;
    alignas(std::max_align_t) std::array<std::byte, 1024> bytes;
};

Seen seen(const sassdec_insn& insn) {
    Seen out;
    EXPECT_TRUE(typed::visit(insn, [&](const auto& s) {
        static_assert(std::is_trivially_copyable_v<std::decay_t<decltype(s)>>);
        static_assert(sizeof s <= sizeof out.bytes);
        out.type = &typeid(s);
        std::memcpy(out.bytes.data(), &s, sizeof s);
    }));
    return out;
}

template <class T>
T as(sassdec_arch arch, std::uint64_t hi, std::uint64_t lo) {
    const std::uint64_t w[2] = {lo, hi};
    sassdec_insn insn;
    EXPECT_EQ(sassdec_decode(arch, w, 0, &insn), SASSDEC_OK);
    const Seen passed = seen(insn);
    T out{};
    EXPECT_TRUE(passed.type != nullptr && *passed.type == typeid(T));
    if (passed.type != nullptr && *passed.type == typeid(T))
        std::memcpy(&out, passed.bytes.data(), sizeof out);
    return out;
}

TEST(Typed, FfmaImmediate) {
    const auto i = as<typed::Ffma>(SASSDEC_SM_90, 0x000fe200000000ff, 0xbf800000061e7823);
    EXPECT_EQ(i.d.index, 30);
    EXPECT_EQ(i.a.kind, typed::SrcKind::Reg);
    EXPECT_EQ(i.a.index, 6);
    EXPECT_EQ(i.b.kind, typed::SrcKind::Imm);
    EXPECT_EQ(i.b.imm, 0xbf800000u);
    EXPECT_EQ(i.c.index, 255);
    EXPECT_EQ(i.rnd, typed::Rounding::RN);
    EXPECT_FALSE(i.sat);
    EXPECT_EQ(i.guard.index, 7);
}

TEST(Typed, ConstantOperandAndNegation) {
    const auto i = as<typed::Ffma>(SASSDEC_SM_89, 0x000fe200000000ff, 0x8000580000047a23);
    EXPECT_EQ(i.b.kind, typed::SrcKind::Const);
    EXPECT_EQ(i.b.bank, 0);
    EXPECT_EQ(i.b.offset, 0x160);
    EXPECT_TRUE(i.b.neg);
    EXPECT_FALSE(i.b.abs);
}

TEST(Typed, DoubleImmediateIsTheWholeNumber) {
    const auto i = as<typed::Dadd>(SASSDEC_SM_90, 0x000fe20000000000, 0x3ff0000008087429);
    EXPECT_EQ(i.b.kind, typed::SrcKind::Imm);
    EXPECT_EQ(i.b.imm, 0x3ff0000000000000u);
    EXPECT_EQ(i.d.width, 2);
}

TEST(Typed, LoadThroughDescriptor) {
    const auto i = as<typed::Ldg>(SASSDEC_SM_90, 0x000ee8000c1efb00, 0xfffffc160a067981);
    EXPECT_TRUE(i.addr.has_desc);
    EXPECT_EQ(i.addr.desc, 22);
    EXPECT_EQ(i.addr.base, 10);
    EXPECT_EQ(i.addr.base_width, 2);
    EXPECT_EQ(i.addr.offset, -4);
    EXPECT_EQ(i.size, typed::MemSize::B64);
    EXPECT_EQ(i.d.width, 2);
    EXPECT_EQ(i.order, typed::MemOrder::STRONG_GPU);
    EXPECT_EQ(i.pd.index, 7);
    EXPECT_EQ(i.pa.index, 7);
}

TEST(Typed, OneEnumAcrossEncodings) {
    // The same ordering has different field values on sm_75 and sm_90.
    const auto turing = as<typed::Ldg>(SASSDEC_SM_75, 0x000ee200001f4900, 0x0000000014177381);
    const auto hopper = as<typed::Ldg>(SASSDEC_SM_90, 0x000ee8000c1ef900, 0x000000160a067981);
    EXPECT_EQ(turing.order, typed::MemOrder::STRONG_GPU);
    EXPECT_EQ(turing.order, hopper.order);
}

TEST(Typed, HiddenCarryPredicatesAreFilled) {
    const auto i = as<typed::Iadd3>(SASSDEC_SM_90, 0x000fe20007fde0ff, 0x0000000500047210);
    EXPECT_EQ(i.pd.index, 6);
    EXPECT_EQ(i.pd2.index, 7);
    const auto x = as<typed::Iadd3>(SASSDEC_SM_90, 0x000fe20002fe84d1, 0x0000000ae1069210);
    EXPECT_EQ(x.pa.index, 5);
    EXPECT_EQ(x.pb.index, 4);
    EXPECT_TRUE(x.guard.neg);
}

TEST(Typed, UndecodableVisitsNothing) {
    const std::uint64_t w[2] = {0, 0};
    sassdec_insn insn;
    sassdec_decode(SASSDEC_SM_90, w, 0, &insn);
    bool called = false;
    EXPECT_FALSE(typed::visit(insn, [&](const auto&) { called = true; }));
    EXPECT_FALSE(called);
}

}  // namespace
