// SPDX-License-Identifier: Apache-2.0
// Loads and stores against a model that knows only "lane l touches these bytes": every space, size,
// address pattern and mask, at every host level, plain and through the port.
#include <gtest/gtest.h>

#include <random>

#include "tests/isa/harness.hpp"

namespace sassemu::test {
namespace {

constexpr uint32_t sizes[7] = {1, 1, 2, 2, 4, 8, 16};

struct Form {
    const char* name;
    const char* arch;
    const char* word;  // LDG: d R8, address R4 (pair). STG: address R4, data R8.
    AccessSpace space;
    bool store;
};

// Size field 75:73, d 23:16, base 31:24, offset 63:40.
const Form forms[] = {
    {"LDG sm_90", "sm_90a", "000ea2000c1e19000000000404087981", AccessSpace::global, false},
    {"LDG sm_75", "sm_75", "000ee200001ee9000000000004087381", AccessSpace::global, false},
    {"LDG sm_80", "sm_80", "000ea2000c1e19000000000404087981", AccessSpace::global, false},
    {"STG sm_90", "sm_90a", "0001e4000c1019040000000804007986", AccessSpace::global, true},
    {"STG sm_75", "sm_75", "0101e8000010e9000000000804007386", AccessSpace::global, true},
    {"LD sm_90", "sm_90a", "000ea2000c1019000000000404087980", AccessSpace::generic, false},
    {"ST sm_90", "sm_90a", "0001e4000c1019040000000804007985", AccessSpace::generic, true},
    {"LDS sm_90", "sm_90a", "000e6200000008000000000004087984", AccessSpace::shared, false},
    {"LDS sm_75", "sm_75", "000e6200000008000000000004087984", AccessSpace::shared, false},
    {"STS sm_90", "sm_90a", "0001e400000008000000000804007388", AccessSpace::shared, true},
    {"LDL sm_90", "sm_90a", "000ea800001008000000000004087983", AccessSpace::local, false},
    {"STL sm_90", "sm_90a", "0001e800001008000000000804007387", AccessSpace::local, true},
    {"LDC sm_90", "sm_90a", "000e620000000800000000000408 7b82", AccessSpace::constant, false},
};

class Memory : public ::testing::TestWithParam<const LevelTable*> {};

Word word_of(const Form& f, unsigned size) {
    std::string text = f.word;
    std::erase(text, ' ');
    Word w(text.c_str());
    w.set(75, 73, size);
    return w;
}

enum Shape { line, same, reversed, scattered, shape_count };

uint64_t offset_of(Shape shape, unsigned lane, uint32_t bytes, uint64_t first, uint64_t room,
                   std::mt19937& rng) {
    switch (shape) {
        case line:
            return first + lane * bytes;
        case same:
            return first;
        case reversed:
            return first + (31 - lane) * bytes;
        default:
            return rng() % (room / bytes) * bytes;
    }
}

// One random access; the expected bytes and registers come from the byte model here.
void try_one(const LevelTable* level, const Form& f, unsigned size, Shape shape, uint32_t active,
             Lowering lowering, bool window, std::mt19937& rng) {
    Machine m(level);
    constexpr uint64_t room = 4096;
    uint64_t base = 0;
    std::byte* host = nullptr;
    bool interleaved = false;
    AccessSpace space = f.space;
    if (space == AccessSpace::generic) space = window ? AccessSpace::shared : AccessSpace::global;
    switch (space) {
        case AccessSpace::global:
            host = m.allocate(room, base);
            break;
        case AccessSpace::shared:
            host = m.shared();
            break;
        case AccessSpace::local:
            host = m.local(), interleaved = true;
            break;
        default:
            host = m.bank(0);
            break;
    }
    if (f.space == AccessSpace::generic && window) base = window_base(shared_window_high);
    const uint32_t bytes = sizes[size];
    const size_t total = interleaved ? room * 32 : room;
    for (size_t i = 0; i < total; ++i) host[i] = static_cast<std::byte>(rng());
    std::vector<std::byte> before(host, host + total);
    for (unsigned reg = 0; reg < 16; ++reg)
        for (unsigned lane = 0; lane < 32; ++lane) m.r(reg, lane) = rng();
    const int32_t shift = static_cast<int32_t>(rng() % 5) * 16 - 32;
    const uint64_t first = rng() % (room / 2 / bytes) * bytes;
    uint64_t at[32];
    for (unsigned lane = 0; lane < 32; ++lane) {
        at[lane] = offset_of(shape, lane, bytes, first, room, rng);
        m.set64(4, lane, base + at[lane] - static_cast<int64_t>(shift));
        if (f.space == AccessSpace::shared || f.space == AccessSpace::local ||
            f.space == AccessSpace::constant)
            m.r(5, lane) = rng();  // only a 32-bit register is an address there
    }
    uint32_t rows[16][32];
    for (unsigned reg = 0; reg < 16; ++reg)
        for (unsigned lane = 0; lane < 32; ++lane) rows[reg][lane] = m.r(reg, lane);
    Word word = word_of(f, size);
    if (f.space == AccessSpace::constant)
        word.set(53, 38, static_cast<uint32_t>(shift) & 0xffff);
    else
        word.set(63, 40, static_cast<uint32_t>(shift) & 0xffffff);

    ASSERT_EQ(m.step(f.arch, word, active, lowering), Outcome::ok)
        << f.name << " " << m.sass << " " << (m.fault() ? m.fault()->what : m.rejection);

    const auto place = [&](unsigned lane, uint64_t byte) -> size_t {
        const uint64_t o = at[lane] + byte;
        return interleaved ? (o >> 2) * 128 + lane * 4 + (o & 3) : o;
    };
    if (f.store) {
        // In parts of 128 bytes, the lowest lane of a part last.
        const unsigned part = bytes <= 4 ? 32 : 128 / bytes;
        for (unsigned first = 0; first < 32; first += part)
            for (unsigned lane = first + part; lane-- > first;)
                for (uint32_t byte = 0; byte < bytes && active >> lane & 1; ++byte)
                    before[place(lane, byte)] =
                        static_cast<std::byte>(rows[8 + byte / 4][lane] >> (byte % 4 * 8));
        EXPECT_GT(m.w.effects, 0u);
    } else {
        for (unsigned lane = 0; lane < 32; ++lane) {
            if (!(active >> lane & 1)) continue;
            for (uint32_t k = 0; k < (bytes + 3) / 4; ++k) {
                uint32_t v = 0;
                for (uint32_t byte = 0; byte < std::min(bytes, 4u); ++byte)
                    v |= static_cast<uint32_t>(before[place(lane, k * 4 + byte)]) << (8 * byte);
                if (size == 1) v = static_cast<uint32_t>(static_cast<int8_t>(v));
                if (size == 3) v = static_cast<uint32_t>(static_cast<int16_t>(v));
                rows[8 + k][lane] = v;
            }
        }
        EXPECT_EQ(m.w.effects, 0u);
    }
    for (size_t i = 0; i < total; ++i)
        ASSERT_EQ(host[i], before[i]) << f.name << " " << m.sass << " byte " << i;
    for (unsigned reg = 0; reg < 16; ++reg)
        for (unsigned lane = 0; lane < 32; ++lane)
            ASSERT_EQ(m.r(reg, lane), rows[reg][lane])
                << f.name << " " << m.sass << " R" << reg << " lane " << lane << " shape " << shape
                << " active " << std::hex << active;
}

TEST_P(Memory, AgainstByteModel) {
    std::mt19937 rng(1);
    const uint32_t masks[] = {~0u, 1u, 0x80000000u, 0x0000ffffu, 0xfffffffeu, 0x5a5a1234u};
    for (const Form& f : forms)
        for (unsigned size = 0; size < 7; ++size) {
            if (f.space == AccessSpace::constant && size == 6) continue;
            for (int shape = 0; shape < shape_count; ++shape)
                for (uint32_t active : masks)
                    for (Lowering how : {Lowering::plain, Lowering::reference}) {
                        try_one(GetParam(), f, size, static_cast<Shape>(shape), active, how, false,
                                rng);
                        if (f.space == AccessSpace::generic)
                            try_one(GetParam(), f, size, static_cast<Shape>(shape), active, how,
                                    true, rng);
                        if (HasFatalFailure()) return;
                    }
        }
}

TEST_P(Memory, FaultsNameTheLane) {
    std::mt19937 rng(3);
    for (const Form& f : forms) {
        if (f.space == AccessSpace::constant) continue;
        for (unsigned size : {2u, 4u, 6u})
            for (bool misaligned : {false, true}) {
                Machine m(GetParam());
                uint64_t base = 0;
                const uint64_t room = f.space == AccessSpace::shared  ? m.cta().shared_bytes
                                      : f.space == AccessSpace::local ? m.launch().local_bytes
                                                                      : 4000;
                std::byte* host = nullptr;
                if (f.space == AccessSpace::global || f.space == AccessSpace::generic)
                    host = m.allocate(room, base);
                const uint32_t bytes = sizes[size];
                for (unsigned lane = 0; lane < 32; ++lane) {
                    m.set64(4, lane, base + room - (32 - lane) * bytes);
                    m.r(8, lane) = 0x12345678;
                }
                m.r(1, 30) = 0;
                // Lane 30 lies past the end, or is off by one.
                m.set64(4, 30, misaligned ? base + 1 : base + (room / bytes) * bytes);
                ASSERT_EQ(m.step(f.arch, word_of(f, size)), Outcome::fault) << f.name << m.sass;
                EXPECT_EQ(m.fault()->lanes, 1u << 30) << m.sass;
                EXPECT_EQ(m.fault()->kind,
                          misaligned ? FaultKind::misaligned_address : FaultKind::out_of_bounds)
                    << m.sass;
                // A stack that is used up is told by its pointer.
                m.r(1, 30) = ~0u;
                ASSERT_EQ(m.step(f.arch, word_of(f, size)), Outcome::fault) << m.sass;
                EXPECT_EQ(m.fault()->kind, misaligned ? FaultKind::misaligned_address
                                           : f.space == AccessSpace::local
                                               ? FaultKind::stack_overflow
                                               : FaultKind::out_of_bounds)
                    << m.sass;
                m.r(1, 30) = 0;
                for (uint64_t i = 0; host && f.store && i < room; ++i)
                    ASSERT_EQ(host[i], std::byte{0});
                EXPECT_EQ(m.r(8, 3), 0x12345678u);
                // The same lane switched off: no fault.
                EXPECT_EQ(m.step(f.arch, word_of(f, size), ~(1u << 30)), Outcome::ok) << m.sass;
            }
    }
}

TEST_P(Memory, LoadsUnderAFalsePredicateOperandGiveZeros) {
    Machine m(GetParam());
    uint64_t base = 0;
    std::byte* host = m.allocate(4096, base);
    for (unsigned i = 0; i < 64; ++i) reinterpret_cast<uint32_t*>(host)[i] = 0xaa000000 + i;
    for (unsigned lane = 0; lane < 32; ++lane) {
        m.set64(4, lane, lane % 2 ? base + lane * 8 : 1);  // the others have no valid address
        m.set64(8, lane, ~uint64_t{0});
    }
    m.p(2) = 0xaaaaaaaa;
    // LDG.E.64 R8, desc[UR6][R4.64], P2
    ASSERT_EQ(m.step("sm_90", Word("03f21e000c1e1b050000000604087981")), Outcome::ok)
        << m.rejection;
    for (unsigned lane = 0; lane < 32; ++lane)
        EXPECT_EQ(m.r64(8, lane), lane % 2 ? 0xaa000001aa000000 + lane * 0x0000000200000002 : 0);
}

TEST_P(Memory, ConstantsOutsideTheBankAreZero) {
    const Form& ldc = forms[std::size(forms) - 1];
    for (unsigned size : {0u, 2u, 4u, 5u}) {  // LDC has no 128 bits: nvdisasm prints .INVALID6
        const uint32_t bytes = sizes[size];
        Machine m(GetParam());
        std::byte* bank = m.bank(0);
        m.launch().bank_bytes[static_cast<int>(Base::bank0)] = 1024;
        std::memset(bank, 0x11, 4096);
        for (unsigned lane = 0; lane < 32; ++lane)
            m.r(4, lane) = lane % 4 == 0 ? 1024 - bytes : lane % 4 == 1 ? 1024 : 0u - lane * 64;
        m.step(ldc.arch, word_of(ldc, size), ~0u);
        for (unsigned lane = 0; lane < 32; ++lane)
            EXPECT_EQ(m.r(8, lane) & 0xff, lane % 4 == 0 ? 0x11u : 0u) << m.sass << lane;
    }
}

TEST_P(Memory, ReadOnlyMemoryIsNotWritten) {
    for (unsigned opcode : {0x986u, 0x985u}) {
        Machine m(GetParam());
        uint64_t base = 0;
        m.allocate(4096, base, Extent::read_only);
        for (unsigned lane = 0; lane < 32; ++lane) m.set64(4, lane, base + lane * 4);
        Word w("0001e4000c1019040000000804007986");
        w.set(11, 0, opcode);
        EXPECT_EQ(m.step("sm_90a", w), Outcome::fault) << m.sass;
        EXPECT_EQ(m.step("sm_90a", Word("000ea2000c1e19000000000404087981")), Outcome::ok);
    }
}

TEST_P(Memory, LanesInSeveralAllocations) {
    Machine m(GetParam());
    uint64_t a = 0, b = 0;
    std::byte* pa = m.allocate(256, a);
    std::byte* pb = m.allocate(256, b);
    for (unsigned lane = 0; lane < 32; ++lane) {
        m.set64(4, lane, (lane & 1 ? a : b) + lane * 4);
        const uint32_t v = lane * 77 + 1;
        std::memcpy((lane & 1 ? pa : pb) + lane * 4, &v, 4);
    }
    ASSERT_EQ(m.step("sm_90a", Word("000ea2000c1e19000000000404087981")), Outcome::ok);
    for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(m.r(8, lane), lane * 77 + 1);
}

TEST_P(Memory, UniformRegistersAddToTheAddress) {
    Machine m(GetParam());
    uint64_t base = 0;
    std::byte* host = m.allocate(4096, base);
    m.ur(8) = static_cast<uint32_t>(base + 64);
    m.ur(9) = static_cast<uint32_t>((base + 64) >> 32);
    for (unsigned lane = 0; lane < 32; ++lane) {
        m.set64(4, lane, lane * 4 - 64ull);  // negative: the sum is modulo 2^64
        std::memcpy(host + lane * 4, &lane, 4);
    }
    Word w("000ea2000c1e19000000000804087981");
    w.set(76, 76, 0);
    ASSERT_EQ(m.step("sm_90a", w), Outcome::ok) << m.sass << m.rejection;
    for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(m.r(8, lane), lane) << m.sass;
    // [R4.U32+UR8] of sm_75: the register is 32 bits wide.
    for (unsigned lane = 0; lane < 32; ++lane) m.set64(4, lane, lane * 4 | ~0ull << 32);
    m.ur(8) = static_cast<uint32_t>(base);
    Word old("000ea200081ee9000000000804087981");
    ASSERT_EQ(m.step("sm_75", old), Outcome::ok) << m.sass << m.rejection;
    EXPECT_NE(m.sass.find("R4.U32+UR8"), std::string::npos) << m.sass;
    for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(m.r(8, lane), lane) << m.sass;
    // Shared: scaled register plus uniform register.
    m.ur(8) = 128;
    for (unsigned lane = 0; lane < 32; ++lane) {
        m.r(4, lane) = 31 - lane;
        std::memcpy(m.shared() + 128 + lane * 4, &lane, 4);
    }
    Word lds("000e6200080048000000000804087984");
    ASSERT_EQ(m.step("sm_90a", lds), Outcome::ok) << m.sass << m.rejection;
    for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(m.r(8, lane), 31 - lane) << m.sass;
}

TEST_P(Memory, WatchedIterationsNoteWhatTheyRead) {
    Machine m(GetParam());
    uint64_t base = 0;
    std::byte* host = m.allocate(4096, base);
    for (unsigned lane = 0; lane < 32; ++lane) m.set64(4, lane, base + 8);
    Watch* anything = reinterpret_cast<Watch*>(&m);
    m.w.watch = anything;
    ASSERT_EQ(m.step("sm_90a", Word("000ea2000c1e19000000000404087981"), 0x10u), Outcome::ok);
    ASSERT_EQ(m.watched.size(), 1u);
    EXPECT_EQ(m.watched[0].first, host + 8);
    m.w.watch = nullptr;
}

// cp.async: lanes without the predicate write zeros; ZFILL takes the bytes to leave out from the
// low bits of the address.
TEST_P(Memory, CopyToShared) {
    std::mt19937 rng(5);
    for (Lowering how : {Lowering::plain, Lowering::reference})
        for (unsigned size : {4u, 5u, 6u})
            for (int zfill = 0; zfill < 2; ++zfill)
                for (uint32_t active : {~0u, 0x0ff00ff0u})
                    for (int shape = 0; shape < 2; ++shape) {
                        Machine m(GetParam());
                        const uint32_t bytes = sizes[size];
                        uint64_t base = 0;
                        std::byte* host = m.allocate(4096, base);
                        for (int i = 0; i < 4096; ++i) {
                            host[i] = static_cast<std::byte>(rng());
                            m.shared()[i] = std::byte{0xee};
                        }
                        const uint32_t chosen = shape ? rng() : ~0u;
                        m.p(1) = chosen;
                        std::vector<std::byte> expect(m.shared(), m.shared() + 4096);
                        for (unsigned lane = 0; lane < 32; ++lane) {
                            const uint32_t to = lane * bytes;
                            const uint32_t from = (shape ? rng() % 64 : lane) * bytes;
                            const uint32_t miss = zfill && shape ? rng() % bytes : 0;
                            m.r(9, lane) = to;
                            m.set64(4, lane, base + from + miss);
                            if (!(active >> lane & 1)) continue;
                            for (uint32_t i = 0; i < bytes; ++i)
                                expect[to + i] = (chosen >> lane & 1) && i < bytes - miss
                                                     ? host[from + i]
                                                     : std::byte{0};
                        }
                        Word w = Word("0003e40008901c460000000004097fae");
                        w.set(75, 73, size).set(82, 82, static_cast<unsigned>(zfill));
                        ASSERT_EQ(m.step("sm_80", w, active, how), Outcome::ok)
                            << m.sass << m.rejection;
                        ASSERT_TRUE(std::equal(expect.begin(), expect.end(), m.shared()))
                            << m.sass << " shape " << shape << " " << std::hex << active;
                    }
}

TEST_P(Memory, SpaceQueries) {
    Machine m(GetParam());
    for (unsigned lane = 0; lane < 32; ++lane)
        m.set64(4, lane,
                window_base(lane % 3 == 0   ? shared_window_high
                            : lane % 3 == 1 ? local_window_high
                                            : 0x7f00) +
                    lane);
    for (unsigned space = 0; space < 3; ++space) {
        Word w = Word("000e2400000005000000000004ff73aa");
        w.set(74, 73, space);
        m.p(0) = 0x80000000u;
        ASSERT_EQ(m.step("sm_80", w, 0x7fffffffu), Outcome::ok) << m.sass << m.rejection;
        uint32_t expect = 0x80000000u;
        for (unsigned lane = 0; lane < 31; ++lane)
            if (lane % 3 == (space == 2 ? 0u : space == 1 ? 1u : 2u)) expect |= 1u << lane;
        EXPECT_EQ(m.p(0), expect) << m.sass;
    }
}

TEST_P(Memory, FencesReachTheModel) {
    Machine m(GetParam());
    ASSERT_EQ(m.step("sm_90a", Word("000fec00000020000000000000007992"), ~0u, Lowering::checked),
              Outcome::ok);
    ASSERT_EQ(m.fences.size(), 1u) << m.sass;
    EXPECT_EQ(m.fences[0].ordering, Ordering::sc);
    EXPECT_EQ(m.fences[0].scope, MemScope::gpu);
    ASSERT_EQ(m.step("sm_90a", Word("000fec00000020000000000000007992")), Outcome::ok);
    EXPECT_EQ(m.fences.size(), 1u);  // the flat model has no use for it
}

INSTANTIATE_TEST_SUITE_P(Levels, Memory, ::testing::ValuesIn(levels()),
                         [](const auto& i) { return std::string(i.param->name); });

}  // namespace
}  // namespace sassemu::test
