// SPDX-License-Identifier: Apache-2.0
// Atomics against a model that runs the lanes one after the other on plain values: every operator
// and type, on global, generic and shared memory, with and without collisions, at every host level.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/isa/harness.hpp"

namespace sassemu::test {
namespace {

enum Kind { u32, s32, u64, s64, f32, f64 };
enum Do { add, min, max, inc, dec, and_, or_, xor_, exch, cas };

uint64_t model(Do what, Kind kind, uint64_t old, uint64_t v, uint64_t swap) {
    if (kind == f32) {
        float a, b;
        const uint32_t x = static_cast<uint32_t>(old), y = static_cast<uint32_t>(v);
        std::memcpy(&a, &x, 4);
        std::memcpy(&b, &y, 4);
        a += b;
        uint32_t r;
        std::memcpy(&r, &a, 4);
        return r;
    }
    if (kind == f64) {
        double a, b;
        std::memcpy(&a, &old, 8);
        std::memcpy(&b, &v, 8);
        a += b;
        std::memcpy(&old, &a, 8);
        return old;
    }
    const bool wide = kind == u64 || kind == s64;
    const uint64_t mask = wide ? ~uint64_t{0} : 0xffffffffu;
    const auto sign = [&](uint64_t x) {
        return wide ? static_cast<int64_t>(x) : static_cast<int64_t>(static_cast<int32_t>(x));
    };
    const bool is_signed = kind == s32 || kind == s64;
    const bool less = is_signed ? sign(v) < sign(old) : v < old;
    switch (what) {
        case add:
            return (old + v) & mask;
        case min:
            return less ? v : old;
        case max:
            return less || v == old ? old : v;
        case inc:
            return old >= v ? 0 : old + 1;
        case dec:
            return old == 0 || old > v ? v : old - 1;
        case and_:
            return old & v;
        case or_:
            return old | v;
        case xor_:
            return old ^ v;
        case exch:
            return v;
        case cas:
            return old == v ? swap : old;
    }
    return old;
}

class Atomics : public ::testing::TestWithParam<const LevelTable*> {};

struct Case {
    const char* arch;
    Word word;
    Do what;
    Kind kind;
    bool shared = false, returns = true, reports = false, window = false;
};

// R4(:R5) address, R8.. operand (or comparand), R12.. new value, R16.. result.
void try_one(const LevelTable* level, const Case& c, int cells, uint32_t active, Lowering how,
             std::mt19937& rng) {
    Machine m(level);
    const bool wide = c.kind == u64 || c.kind == s64 || c.kind == f64;
    const uint32_t bytes = wide ? 8 : 4;
    uint64_t base = 0;
    std::byte* host = c.shared ? m.shared() : m.allocate(4096, base);
    if (c.window) {
        host = m.shared();
        base = window_base(shared_window_high);
    }
    uint64_t cell[64], at[32], v[32], swap[32], result[32];
    const auto value = [&]() -> uint64_t {
        if (c.kind == f32) {
            const float f = static_cast<float>(rng() % 1000) - 300.0f;
            uint32_t r;
            std::memcpy(&r, &f, 4);
            return r;
        }
        if (c.kind == f64) {
            const double f = static_cast<double>(rng() % 100000) - 300.25;
            uint64_t r;
            std::memcpy(&r, &f, 8);
            return r;
        }
        // Few distinct values, so that comparisons hit.
        const uint64_t x = c.what == cas ? rng() % 3 : uint64_t{rng()} << 32 | rng();
        return wide ? x : x & 0xffffffffu;
    };
    for (int i = 0; i < 64; ++i) {
        cell[i] = value();
        std::memcpy(host + i * bytes, &cell[i], bytes);
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
        at[lane] = rng() % static_cast<unsigned>(cells);
        v[lane] = value();
        swap[lane] = value();
        m.set64(4, lane, base + at[lane] * bytes);
        if (c.shared) m.r(5, lane) = rng();
        m.set64(8, lane, v[lane]);
        if (!wide) m.r(9, lane) = rng();
        m.set64(12, lane, swap[lane]);
        m.set64(16, lane, 0xa5a5a5a55a5a5a5aull);
        result[lane] = 0xa5a5a5a55a5a5a5aull;
    }
    bool changed = false;
    uint32_t swapped = 0;
    uint64_t before[64];
    std::copy(cell, cell + 64, before);
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (!(active >> lane & 1)) continue;
        const uint64_t old = cell[at[lane]];
        cell[at[lane]] = model(c.what, c.kind, old, v[lane], swap[lane]);
        if (old == v[lane]) swapped |= 1u << lane;
        uint64_t r = c.reports ? old == v[lane] : old;
        if (c.returns) result[lane] = wide ? r : (result[lane] >> 32 << 32) | r;
    }
    changed = !std::equal(cell, cell + 64, before);
    ASSERT_EQ(m.step(c.arch, c.word, active, how), Outcome::ok)
        << m.sass << ": " << (m.fault() ? m.fault()->what : m.rejection);
    for (int i = 0; i < 64; ++i) {
        uint64_t got = 0;
        std::memcpy(&got, host + i * bytes, bytes);
        ASSERT_EQ(got, cell[i]) << m.sass << " cell " << i;
    }
    for (unsigned lane = 0; lane < 32; ++lane)
        ASSERT_EQ(m.r64(16, lane), result[lane]) << m.sass << " lane " << lane;
    if (changed) {
        EXPECT_GT(m.w.effects, 0u) << m.sass;
    }
}

void sweep(const LevelTable* level, const Case& c) {
    std::mt19937 rng(7);
    for (int cells : {1, 3, 60})
        for (uint32_t active : {~0u, 0x00010000u, 0x7ffe1235u})
            for (Lowering how : {Lowering::plain, Lowering::reference})
                for (int round = 0; round < 1; ++round) {
                    try_one(level, c, cells, active, how, rng);
                    if (::testing::Test::HasFatalFailure()) return;
                }
}

// Operator 90:87, type 75:73 (sm_90), 76:73 (sm_80).
TEST_P(Atomics, GlobalIntegers) {
    for (const char* arch : {"sm_80", "sm_90a"})
        for (int op = 0; op < 9; ++op)
            for (auto [type, kind] : {std::pair{0, u32}, {1, s32}, {2, u64}, {5, s64}}) {
                const bool counts = op == inc || op == dec;
                if (counts && kind != u32) continue;
                if (kind == s64 && op != min && op != max) continue;  // illegal on an H200
                const bool v90 = arch[3] == '9';
                Word w("000ea200081ee1c400000008041079a8");
                w.set(90, 87, static_cast<unsigned>(op));
                if (v90)
                    w.set(75, 73, kind == s64 ? 3u : static_cast<unsigned>(type));
                else
                    w.set(76, 73, static_cast<unsigned>(type));
                Case c{arch, w, static_cast<Do>(op), kind};
                sweep(GetParam(), c);
                c.word.set(11, 0, 0x98a);  // ATOM
                sweep(GetParam(), c);
                if (kind == u32) {
                    c.window = true;
                    sweep(GetParam(), c);
                }
                if (HasFatalFailure()) return;
            }
}

TEST_P(Atomics, GlobalFloats) {
    for (auto [type, kind] : {std::pair{3, f32}, {6, f64}}) {
        Word w("000ea200080ee1c400000008041079a8");
        w.set(90, 87, 0).set(76, 73, static_cast<unsigned>(type));
        sweep(GetParam(), {"sm_80", w, add, kind});
    }
}

TEST_P(Atomics, Reductions) {
    for (int op = 0; op < 8; ++op) {
        Word w = Word("0001e2000c10e184000000080400798e");
        w.set(89, 87, static_cast<unsigned>(op));
        Case c{"sm_90a", w, static_cast<Do>(op), u32};
        c.returns = false;
        sweep(GetParam(), c);
        c.arch = "sm_80";
        sweep(GetParam(), c);
        if (HasFatalFailure()) return;
    }
}

TEST_P(Atomics, GlobalCompareAndSwap) {
    for (auto [type, kind] : {std::pair{0u, u32}, {2u, u64}})
        for (unsigned opcode : {0x3a9u, 0x38bu}) {
            Word w("001ee200001ee10c0000000804107000");
            w.set(11, 0, opcode).set(75, 73, type).set(71, 64, 12);
            sweep(GetParam(), {"sm_90a", w, cas, kind});
            sweep(GetParam(), {"sm_75", w, cas, kind});
        }
}

TEST_P(Atomics, Shared) {
    for (int op = 0; op < 9; ++op)
        for (auto [type, kind] : {std::pair{0u, u32}, {1u, s32}, {2u, u64}}) {
            if (kind != u32 && (op == inc || op == dec)) continue;
            Word w("000e640000000000000000080410738c");
            w.set(90, 87, static_cast<unsigned>(op)).set(75, 73, type);
            Case c{"sm_90a", w, static_cast<Do>(op), kind};
            c.shared = true;
            sweep(GetParam(), c);
            if (HasFatalFailure()) return;
        }
}

TEST_P(Atomics, SharedCompareAndSwap) {
    for (auto [type, kind] : {std::pair{0u, u32}, {2u, u64}})
        for (unsigned mode : {0u, 1u, 3u}) {
            Word w = Word("000e64000180000c000000080410738d");
            w.set(88, 87, mode).set(75, 73, type);
            Case c{"sm_80", w, cas, kind};
            c.shared = true;
            c.reports = mode != 0;
            sweep(GetParam(), c);
            if (HasFatalFailure()) return;
        }
}

TEST_P(Atomics, PopcInc) {
    for (Lowering how : {Lowering::plain, Lowering::reference}) {
        Machine m(GetParam());
        for (unsigned lane = 0; lane < 32; ++lane) m.r(4, lane) = 4 * (lane % 5);
        Word w("000fe4000d80003f0000000004ff7f8c");
        w.set(75, 73, 0).set(79, 78, 0).set(69, 64, 63);
        ASSERT_EQ(m.step("sm_90a", w, 0xfffffffeu, how), Outcome::ok) << m.sass << m.rejection;
        const uint32_t counts[5] = {6, 7, 6, 6, 6};
        for (int i = 0; i < 5; ++i) {
            uint32_t got;
            std::memcpy(&got, m.shared() + 4 * i, 4);
            EXPECT_EQ(got, counts[i]) << m.sass << " " << i;
        }
    }
}

// With a predicate, only global lanes act; the others are told apart.
TEST_P(Atomics, GenericPredicate) {
    for (Lowering how : {Lowering::plain, Lowering::reference}) {
        Machine m(GetParam());
        uint64_t base;
        std::byte* host = m.allocate(256, base);
        for (unsigned lane = 0; lane < 32; ++lane) {
            m.set64(4, lane,
                    lane % 3 ? base + lane * 4 : window_base(shared_window_high) + lane * 4);
            m.r(8, lane) = 0x3c003c00;  // 1.0, 1.0
        }
        m.p(0) = 0xffff0000u;
        Word w = Word("000ea4000810e9c4000000080410798a");
        ASSERT_EQ(m.step("sm_80", w, 0x0fffffffu, how), Outcome::ok) << m.sass << m.rejection;
        uint32_t expect = 0xf0000000u;
        for (unsigned lane = 0; lane < 28; ++lane)
            if (lane % 3) expect |= 1u << lane;
        EXPECT_EQ(m.p(0), expect) << m.sass;
        for (unsigned lane = 0; lane < 28; ++lane) {
            uint32_t g, s;
            std::memcpy(&g, host + 4 * lane, 4);
            std::memcpy(&s, m.shared() + 4 * lane, 4);
            EXPECT_EQ(g, lane % 3 ? 0x3c003c00u : 0u);
            EXPECT_EQ(s, 0u);
        }
    }
}

// What the L2 of an H200 made of every pair of eight values: red.global.add; row = old value,
// column = added.
TEST(AtomicSums, SpecialValuesAsOnTheChip) {
    struct Table {
        AtomicType type;
        uint64_t values[8];
        uint64_t sums[8][8];
    };
    const Table tables[] = {
        {AtomicType::f64,
         {0x7ff8000000001234, 0xfff8000000005678, 0x7ff4000000000abc, 0xfff4000000000def,
          0x7ff0000000000000, 0xfff0000000000000, 0x3ff0000000000000, 0x0000000000000001},
         {{0x7ff8000000001234, 0xfff8000000005678, 0x7ff4000000000abc, 0xfff4000000000def,
           0x7ff8000000001234, 0x7ff8000000001234, 0x7ff8000000001234, 0x7ff8000000001234},
          {0x7ff8000000001234, 0xfff8000000005678, 0x7ff4000000000abc, 0xfff4000000000def,
           0xfff8000000005678, 0xfff8000000005678, 0xfff8000000005678, 0xfff8000000005678},
          {0x7ff8000000001234, 0xfff8000000005678, 0x7ff4000000000abc, 0xfff4000000000def,
           0x7ff4000000000abc, 0x7ff4000000000abc, 0x7ff4000000000abc, 0x7ff4000000000abc},
          {0x7ff8000000001234, 0xfff8000000005678, 0x7ff4000000000abc, 0xfff4000000000def,
           0xfff4000000000def, 0xfff4000000000def, 0xfff4000000000def, 0xfff4000000000def},
          {0x7ff8000000001234, 0xfff8000000005678, 0x7ff4000000000abc, 0xfff4000000000def,
           0x7ff0000000000000, 0xfff8000000000000, 0x7ff0000000000000, 0x7ff0000000000000},
          {0x7ff8000000001234, 0xfff8000000005678, 0x7ff4000000000abc, 0xfff4000000000def,
           0xfff8000000000000, 0xfff0000000000000, 0xfff0000000000000, 0xfff0000000000000},
          {0x7ff8000000001234, 0xfff8000000005678, 0x7ff4000000000abc, 0xfff4000000000def,
           0x7ff0000000000000, 0xfff0000000000000, 0x4000000000000000, 0x3ff0000000000000},
          {0x7ff8000000001234, 0xfff8000000005678, 0x7ff4000000000abc, 0xfff4000000000def,
           0x7ff0000000000000, 0xfff0000000000000, 0x3ff0000000000000, 0x0000000000000002}}},
        {AtomicType::f32,
         {0x7fc01234, 0xffc05678, 0x7fa00abc, 0xffa00def, 0x7f800000, 0xff800000, 1, 0x80000003},
         {{0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff,
           0x7fffffff},
          {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff,
           0x7fffffff},
          {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff,
           0x7fffffff},
          {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff,
           0x7fffffff},
          {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7f800000, 0x7fffffff, 0x7f800000,
           0x7f800000},
          {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0xff800000, 0xff800000,
           0xff800000},
          {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7f800000, 0xff800000, 0x00000000,
           0x00000000},
          {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7f800000, 0xff800000, 0x00000000,
           0x80000000}}},
        {AtomicType::f16x2,
         {0x7e017e01, 0xfe01fe02, 0x7d017d01, 0xfd017d02, 0x7c007c00, 0xfc00fc00, 0x00010001,
          0x80038000},
         {{0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff,
           0x7fff7fff},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff,
           0x7fff7fff},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff,
           0x7fff7fff},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff,
           0x7fff7fff},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7c007c00, 0x7fff7fff, 0x7c007c00,
           0x7c007c00},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0xfc00fc00, 0xfc00fc00,
           0xfc00fc00},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7c007c00, 0xfc00fc00, 0x00020002,
           0x80020001},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7c007c00, 0xfc00fc00, 0x80020001,
           0x80068000}}},
        {AtomicType::bf16x2,
         {0x7fc17fc1, 0xffc1ffc2, 0x7fa17fa1, 0xffa17fa2, 0x7f807f80, 0xff80ff80, 0x00010001,
          0x80038000},
         {{0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff,
           0x7fff7fff},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff,
           0x7fff7fff},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff,
           0x7fff7fff},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff,
           0x7fff7fff},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7f807f80, 0x7fff7fff, 0x7f807f80,
           0x7f807f80},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0xff80ff80, 0xff80ff80,
           0xff80ff80},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7f807f80, 0xff80ff80, 0x00020002,
           0x80020001},
          {0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7f807f80, 0xff80ff80, 0x80020001,
           0x80068000}}},
    };
    for (const Table& t : tables)
        for (int i = 0; i < 8; ++i)
            for (int k = 0; k < 8; ++k)
                EXPECT_EQ(atomic_result(AtomicOp::add, t.type, t.values[i], t.values[k], 0),
                          t.sums[i][k])
                    << std::hex << t.values[i] << " + " << t.values[k];
}

INSTANTIATE_TEST_SUITE_P(Levels, Atomics, ::testing::ValuesIn(levels()),
                         [](const auto& i) { return std::string(i.param->name); });

}  // namespace
}  // namespace sassemu::test
