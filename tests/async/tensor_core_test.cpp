// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma: every kind, layout and option against the model by element, on numbers whose sums
// are exact; the sums that are not, one by one; and descriptors of all sorts, which must never lead
// out of memory.
#include <algorithm>
#include <map>

#include "emu/schedule/level_choice.hpp"
#include "tests/async/tensor_model.hpp"

namespace sassemu::async::test {
namespace {

std::vector<const LevelTable*> levels() {
    std::vector<const LevelTable*> out;
    for (HostLevel level : {HostLevel::v2, HostLevel::v3, HostLevel::v4})
        if (auto table = choose_level(level)) out.push_back(*table);
    return out;
}

struct Type {
    uint32_t code;  // in the instruction descriptor
    uint32_t bits, bytes;
    int e, m;  // exponent and mantissa; e = 0: an integer, m = 1: with a sign
    uint32_t container_shift = 0;
};
const std::map<TensorKind, std::vector<Type>> types{
    {TensorKind::f16, {{0, 16, 2, 5, 10}, {1, 16, 2, 8, 7}}},
    {TensorKind::tf32, {{2, 32, 4, 8, 23}}},
    {TensorKind::f8f6f4,
     {{0, 8, 1, 4, 3}, {1, 8, 1, 5, 2}, {3, 6, 1, 2, 3}, {4, 6, 1, 3, 2}, {5, 4, 1, 2, 1, 2}}},
    {TensorKind::i8, {{0, 8, 1, 0, 0}, {1, 8, 1, 0, 1}}}};

// Bits of an element that is a small number: sums stay exact.
uint32_t small_element(Random& random, const Type& t) {
    if (t.e == 0 || t.bits < 8) return static_cast<uint32_t>(random()) & ((1u << t.bits) - 1);
    const uint32_t bias = (1u << (t.e - 1)) - 1, sign = coin(random) << (t.e + t.m);
    if (below(random, 5) == 0) return 0;
    return sign | (bias + below(random, 3)) << t.m | (coin(random) << (t.m - 1));
}
double value(uint32_t bits, const Type& t) {
    if (t.e == 0) return t.m ? static_cast<int8_t>(bits) : static_cast<double>(bits);
    return number(bits, t.e, t.m);
}
// To nearest even, of what is in the range of normal numbers, or zero.
uint32_t to_f16(double v) {
    if (v == 0) return 0;
    const uint32_t sign = v < 0 ? 0x8000 : 0;
    int e;
    const double m = std::frexp(std::fabs(v), &e) * 2048;  // 1024 .. 2048
    const auto r = static_cast<uint32_t>(std::nearbyint(m));
    return sign | static_cast<uint32_t>((e - 1 + 15 - 1) * 1024 + static_cast<int>(r));
}

struct Case {
    Multiply m;
    Type a, b;
    Fields fa, fb;
    bool ta = false, tb = false, na = false, nb = false, half = false, saturate = false;
    uint32_t rows = 128, columns = 8, k = 16, lane = 0;
    uint32_t mask[4] = {};

    uint32_t lane_of(uint32_t row) const {
        return lane + (rows == 128 ? row : row / 16 * 32 + row % 16);
    }
    bool off(uint32_t l) const { return m.disabled_lanes && mask[l / 32] >> l % 32 & 1; }
    uint32_t instruction() const {
        const uint32_t d = m.kind == TensorKind::i8 ? 2 : !half;
        return saturate << 3 | d << 4 | a.code << 7 | b.code << 10 | na << 13 | nb << 14 |
               ta << 15 | tb << 16 | columns / 8 << 17 | rows / 16 << 24;
    }
};

constexpr size_t shared_bytes = 160 * 1024, middle = 96 * 1024;

Fields some_fields(Random& random, uint32_t from, uint32_t bytes, bool transposed, bool words) {
    static constexpr uint32_t modes[] = {0, 6, 4, 2, 1};
    Fields f;
    f.mode = words && transposed ? 1 : modes[below(random, transposed ? 4 : 5)];
    f.base = f.mode ? below(random, 8) : 0;
    f.start = from + below(random, 128) * 16;
    // Rarely so that elements lie in the same place.
    const uint32_t most = bytes / 64 / 16;
    f.leading = below(random, most) * 16;
    f.stride = below(random, most) * 16;
    return f;
}

Case some_case(Random& random) {
    Case c;
    c.m.kind = static_cast<TensorKind>(below(random, 4));
    const auto& t = types.at(c.m.kind);
    c.a = t[below(random, t.size())], c.b = t[below(random, t.size())];
    const bool integers = c.m.kind == TensorKind::i8;
    c.k = 32 / c.a.bytes;
    c.rows = coin(random) ? 64 : 128;
    c.m.a_in_tensor_memory = below(random, 3) == 0;
    c.ta = c.a.bits >= 8 && !c.m.a_in_tensor_memory && coin(random);
    c.tb = c.b.bits >= 8 && coin(random);
    c.na = !integers && coin(random), c.nb = !integers && coin(random);
    c.columns = 8 * (1 + below(random, 32));
    if (c.columns > 32 && integers) c.columns = c.columns / 16 * 16;
    if (c.tb && c.b.bytes == 1) c.columns = (c.columns + 15) / 16 * 16;
    c.saturate = integers && coin(random);
    c.half = c.m.kind == TensorKind::f8f6f4
                 ? coin(random)
                 : c.m.kind == TensorKind::f16 && c.a.code == 0 && c.b.code == 0 && coin(random);
    c.m.accumulate = coin(random);
    if (c.m.kind == TensorKind::f16 || c.m.kind == TensorKind::tf32)
        c.m.scale_d = coin(random) ? below(random, 11) : 0;
    c.lane = c.rows == 64 && coin(random) ? 16 : 0;
    c.m.d = c.lane << 16 | below(random, 513 - c.columns);
    c.m.a_address = c.lane << 16 | below(random, 505);
    c.fa = some_fields(random, 0, middle - 4096, c.ta, c.a.bytes == 4);
    c.fb = some_fields(random, middle, shared_bytes - middle - 4096, c.tb, c.b.bytes == 4);
    if (coin(random)) {
        for (uint32_t& w : c.mask)
            w = coin(random) ? static_cast<uint32_t>(random()) : coin(random) ? ~0u : 0;
    }
    c.m.a = c.fa.word(), c.m.b = c.fb.word();
    c.m.instruction = c.instruction();
    return c;
}

// Bits of element (mn, k), and the bytes that hold them.
uint32_t shared_element(const std::byte* shared, const Fields& f, const Type& t, bool transposed,
                        uint32_t mn, uint32_t k, std::set<uint64_t>* bytes) {
    uint64_t at;
    uint32_t bit = 0;
    if (t.bits >= 8) {
        at = element_at(f, transposed, t.bytes, mn, k);
    } else {  // sixteen of them without gaps from where the first would be
        bit = k % 16 * t.bits;
        at = element_at(f, false, 1, mn, k / 16 * 16) + bit / 8;
        bit %= 8;
    }
    uint32_t word = 0;
    const uint32_t last = (bit + t.bits - 1) / 8;
    for (uint32_t i = 0; i <= last; ++i) {
        word |= static_cast<uint32_t>(shared[at + i]) << 8 * i;
        if (bytes) bytes->insert(at + i);
    }
    return word >> bit & static_cast<uint32_t>((uint64_t{1} << t.bits) - 1);
}
uint32_t tensor_element(const TensorMemory& memory, const Case& c, uint32_t row, uint32_t k) {
    const uint32_t each = 4 / c.a.bytes;
    const uint32_t cell = memory.cell[c.lane_of(row)][(c.m.a_address & 0xffff) + k / each];
    return cell >> (8 * c.a.bytes * (k % each) + c.a.container_shift) &
           static_cast<uint32_t>((uint64_t{1} << c.a.bits) - 1);
}

// Fills a part of memory with small elements, all bits of what is no element at random.
void fill(std::byte* from, size_t bytes, const Type& t, Random& random) {
    for (size_t i = 0; i < bytes; i += t.bytes) {
        const uint32_t word =
            t.bits < 8 ? static_cast<uint32_t>(random()) : small_element(random, t);
        std::memcpy(from + i, &word, t.bytes);
    }
}

class TensorCore : public testing::Test {
  protected:
    TensorCore() : shared(shared_bytes), cells(sizeof(TensorMemory)) {}
    TensorMemory& memory() { return *reinterpret_cast<TensorMemory*>(cells.data()); }
    const TensorSide (&one())[2] {
        sides_[0] = {shared.data(), &memory()};
        return sides_;
    }

    void fill_all(const Case& c, Random& random) {
        fill(shared.data(), middle, c.a, random);
        fill(shared.data() + middle, shared_bytes - middle, c.b, random);
        for (auto& lane : memory().cell)
            for (uint32_t& cell : lane) cell = some_accumulator(c, random);
        if (!c.m.a_in_tensor_memory) return;
        for (uint32_t row = 0; row < c.rows; ++row)
            for (uint32_t i = 0; i < 8; ++i) {
                uint32_t& cell = memory().cell[c.lane_of(row)][(c.m.a_address & 0xffff) + i];
                cell = 0;
                for (uint32_t e = 0; e < 4 / c.a.bytes; ++e)
                    cell |= (c.a.bits < 8 ? static_cast<uint32_t>(random()) & 0xff
                                          : small_element(random, c.a))
                            << 8 * c.a.bytes * e;
            }
    }
    // Exact where D is scaled; of f16 the upper half is nothing.
    static uint32_t some_accumulator(const Case& c, Random& random) {
        if (c.m.kind == TensorKind::i8)
            return coin(random) ? static_cast<uint32_t>(random()) : below(random, 1000) - 500u;
        const double v = (static_cast<int>(below(random, 61)) - 30) *
                         std::ldexp(1, static_cast<int>(c.m.scale_d));
        if (c.half) return to_f16(v) | static_cast<uint32_t>(random()) << 16;
        const auto f = static_cast<float>(v);
        uint32_t bits;
        std::memcpy(&bits, &f, 4);
        return bits;
    }
    // D as it should be, over what there is.
    TensorMemory expected(const Case& c, std::set<uint64_t>* bytes) {
        TensorMemory out = memory();
        std::vector<double> a(c.rows * c.k), b(c.columns * c.k);
        for (uint32_t row = 0; row < c.rows; ++row)
            for (uint32_t k = 0; k < c.k; ++k) {
                const uint32_t bits =
                    c.m.a_in_tensor_memory
                        ? tensor_element(memory(), c, row, k)
                        : shared_element(shared.data(), c.fa, c.a, c.ta, row, k, bytes);
                a[row * c.k + k] = value(bits, c.a) * (c.na ? -1 : 1);
            }
        for (uint32_t n = 0; n < c.columns; ++n)
            for (uint32_t k = 0; k < c.k; ++k)
                b[n * c.k + k] =
                    value(shared_element(shared.data(), c.fb, c.b, c.tb, n, k, bytes), c.b) *
                    (c.nb ? -1 : 1);
        for (uint32_t row = 0; row < c.rows; ++row) {
            const uint32_t lane = c.lane_of(row);
            if (c.off(lane)) continue;
            for (uint32_t n = 0; n < c.columns; ++n) {
                uint32_t& cell = out.cell[lane][(c.m.d & 0xffff) + n];
                double sum = 0;
                for (uint32_t k = 0; k < c.k; ++k) sum += a[row * c.k + k] * b[n * c.k + k];
                cell = result(c, sum, cell);
            }
        }
        return out;
    }
    static uint32_t result(const Case& c, double sum, uint32_t d) {
        if (c.m.kind == TensorKind::i8) {
            if (c.m.accumulate) sum += static_cast<int32_t>(d);
            if (c.saturate) sum = std::clamp(sum, -2147483648.0, 2147483647.0);
            return static_cast<uint32_t>(static_cast<int64_t>(sum));
        }
        float f;
        std::memcpy(&f, &d, 4);
        if (c.m.accumulate)
            sum +=
                std::ldexp(c.half ? number(d & 0xffff, 5, 10) : f, -static_cast<int>(c.m.scale_d));
        if (c.half) return to_f16(sum);
        f = static_cast<float>(sum + 0.0);
        EXPECT_EQ(f, sum) << "the test's numbers are not exact";
        uint32_t bits;
        std::memcpy(&bits, &f, 4);
        return bits & 0x7fffffff ? bits : 0;
    }
    bool overlap(const Case& c) const {
        const uint32_t a = c.m.a_address & 0xffff, d = c.m.d & 0xffff;
        return c.m.a_in_tensor_memory && a < d + c.columns && d < a + 8;
    }

    Fenced shared, cells;

  private:
    TensorSide sides_[2];
};

TEST_F(TensorCore, ProductsAreThoseOfTheModel) {
    const auto all = levels();
    std::map<std::string, int> seen;
    for (uint64_t seed = 0; seed < 600; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Random random(seed);
        Case c = some_case(random);
        if (c.m.accumulate && overlap(c)) continue;
        if (coin(random)) c.m.disabled_lanes = c.mask;
        fill_all(c, random);
        if (const char* why = check(c.m, 100, shared_bytes)) {
            ASSERT_STREQ(why, "a matrix of the tensor core leaves shared memory");
            ++seen["outside"];
            continue;
        }
        ++seen[std::to_string(static_cast<int>(c.m.kind)) + (c.ta ? " ta" : "") +
               (c.tb ? " tb" : "")];
        const TensorMemory want = expected(c, nullptr);
        multiply(c.m, one(), 100, all[seed % all.size()]->matrix_sums);
        for (uint32_t lane = 0; lane < 128; ++lane)
            for (uint32_t column = 0; column < 512; ++column)
                ASSERT_EQ(memory().cell[lane][column], want.cell[lane][column])
                    << "lane " << lane << " column " << column << " instruction " << std::hex
                    << c.m.instruction << " kind " << static_cast<int>(c.m.kind) << " modes "
                    << c.fa.mode << c.fb.mode;
    }
    for (const char* what :
         {"0", "0 ta", "0 tb", "0 ta tb", "1", "1 ta tb", "2", "2 ta tb", "3", "3 ta tb"})
        EXPECT_GT(seen[what], 3) << what;
    EXPECT_LT(seen["outside"], 300);
}

// What is told is what the model reads and writes; and what is not told may hold anything.
TEST_F(TensorCore, TouchesWhatItTells) {
    const auto all = levels();
    for (uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Random random(seed);
        Case c = some_case(random);
        c.m.disabled_lanes = c.mask;
        fill_all(c, random);
        if (check(c.m, 100, shared_bytes)) continue;
        std::set<uint64_t> bytes, read, written;
        if (!(c.m.accumulate && overlap(c))) expected(c, &bytes);
        for (uint32_t row = 0; row < c.rows; ++row) {
            const uint32_t lane = c.lane_of(row);
            for (uint32_t i = 0; i < 32 && c.m.a_in_tensor_memory; ++i)
                read.insert(cell_at(lane, c.m.a_address & 0xffff) + i);
            for (uint32_t i = 0; i < 4 * c.columns && !c.off(lane); ++i) {
                written.insert(cell_at(lane, c.m.d & 0xffff) + i);
                if (c.m.accumulate) read.insert(cell_at(lane, c.m.d & 0xffff) + i);
            }
        }
        const Told told(c.m);
        if (!bytes.empty()) {
            EXPECT_EQ(told.shared, bytes);
        }
        EXPECT_EQ(told.read, read);
        EXPECT_EQ(told.written, written);

        const TensorMemory before = memory();
        multiply(c.m, one(), 100, all[0]->matrix_sums);
        const TensorMemory first = memory();
        memory() = before;
        poison(shared.data(), shared_bytes, told.shared, random);
        poison(cells.data(), sizeof(TensorMemory), told.read, random);
        const TensorMemory poisoned = memory();
        multiply(c.m, one(), 100, all[0]->matrix_sums);
        const auto byte = [](const TensorMemory& m, uint64_t at) {
            return reinterpret_cast<const std::byte*>(&m)[at];
        };
        for (uint64_t at = 0; at < sizeof(TensorMemory); ++at)
            ASSERT_EQ(byte(memory(), at), written.count(at) ? byte(first, at) : byte(poisoned, at))
                << at;
    }
}

// Any bits, infinities and NaN among them: the levels agree.
TEST_F(TensorCore, LevelsAgree) {
    const auto all = levels();
    for (uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Random random(seed);
        Case c = some_case(random);
        if (c.m.scale_d) c.m.scale_d = below(random, 16);
        const bool rare = coin(random);
        for (size_t i = 0; i < shared_bytes; ++i)
            shared.data()[i] = static_cast<std::byte>(rare ? random() & 0xbf : random());
        poison(cells.data(), sizeof(TensorMemory), {}, random);
        if (check(c.m, 100, shared_bytes)) continue;
        const TensorMemory before = memory();
        multiply(c.m, one(), 100, all[0]->matrix_sums);
        const TensorMemory want = memory();
        for (const LevelTable* level : all) {
            memory() = before;
            multiply(c.m, one(), 100, level->matrix_sums);
            EXPECT_EQ(std::memcmp(&memory(), &want, sizeof want), 0) << level->name;
        }
    }
}

// One fused step with 25 bits below the largest term, rounded towards zero; f16 to nearest even;
// the accumulator of a scaled D is not rounded before.
TEST_F(TensorCore, SumsAreFusedSteps) {
    struct Sum {
        uint32_t a0, a, c;  // f16 elements k = 0 and the others; B is one
        bool half;
        uint32_t scale, want;
    };
    const Sum sums[] = {
        {0x3c00, 0, 0xb3000000, false, 0, 0x3f7fffff},  // 1 - 2^-25
        {0x3c00, 0, 0xb2800000, false, 0, 0x3f800000},  // 1 - 2^-26 is cut
        {0x3c00, 0, 0xb3800000, false, 1, 0x3f7fffff},  // 1 - 2^-24 / 2
        {0x4000, 0x0001, 0, false, 0, 0x40000003},      // 2 + 15 * 2^-24: no term alone would show
        {0x3c00, 0, 0x1000, true, 0, 0x3c00},           // 1 + 2^-11: a tie, to even
        {0x3c01, 0, 0x1000, true, 0, 0x3c02},           // 1 + 3 * 2^-11
        {0x3c00, 0, 0x1401, true, 1, 0x3c01},           // 1 + 2^-11 + 2^-21, of a D that is halved
        {0x0001, 0, 0x0001, true, 1, 0x0002},           // 1.5 * 2^-24
        {0, 0, 0x0003, true, 1, 0x0002},                // 1.5 * 2^-24, of D alone
        {0, 0, 0x00000001, false, 1, 0},                // 2^-150
        {0x7c00, 0, 0x3f800000, false, 0, 0x7f800000},
        {0x7c00, 0, 0xff800000, false, 0, 0x7fffffff},
    };
    for (const LevelTable* level : levels())
        for (const Sum& s : sums) {
            Case c;
            c.m.kind = TensorKind::f16;
            c.a = c.b = types.at(TensorKind::f16)[0];
            c.fa = {0, 128, 256, 0, 0}, c.fb = {middle, 128, 256, 0, 0};
            c.half = s.half;
            c.m.accumulate = true;
            c.m.scale_d = s.scale;
            c.m.a = c.fa.word(), c.m.b = c.fb.word(), c.m.instruction = c.instruction();
            for (uint32_t row = 0; row < 128; ++row)
                for (uint32_t k = 0; k < 16; ++k) {
                    const auto a = static_cast<uint16_t>(k ? s.a : s.a0), one = uint16_t{0x3c00};
                    std::memcpy(shared.data() + element_at(c.fa, false, 2, row, k), &a, 2);
                    if (row < 8)
                        std::memcpy(shared.data() + element_at(c.fb, false, 2, row, k), &one, 2);
                }
            for (auto& lane : memory().cell) lane[0] = s.c;
            ASSERT_EQ(check(c.m, 100, shared_bytes), nullptr);
            multiply(c.m, one(), 100, level->matrix_sums);
            EXPECT_EQ(memory().cell[77][0], s.want)
                << level->name << " of " << std::hex << s.a0 << ' ' << s.a << ' ' << s.c;
        }
}

TEST_F(TensorCore, RefusesWhatIsIllegal) {
    Case legal;
    legal.m.kind = TensorKind::f16;
    legal.a = legal.b = types.at(TensorKind::f16)[0];
    legal.fa = {0, 128, 256, 0, 0}, legal.fb = {middle, 128, 256, 0, 0};
    const auto why = [&](auto&& change) -> std::string {
        Multiply m = legal.m;
        m.a = legal.fa.word(), m.b = legal.fb.word(), m.instruction = legal.instruction();
        change(m);
        const char* text = check(m, 100, shared_bytes);
        return text ? text : "";
    };
    EXPECT_EQ(why([](Multiply&) {}), "");
    const uint32_t m_bits = 31u << 24, n_bits = 63u << 17;
    EXPECT_NE(why([](Multiply& m) { m.instruction |= 8; }).find("saturates"), std::string::npos);
    for (uint32_t bit : {6, 23, 29})
        EXPECT_NE(why([&](Multiply& m) { m.instruction |= 1u << bit; }).find("reserved"),
                  std::string::npos)
            << bit;
    EXPECT_NE(why([](Multiply& m) { m.instruction |= 2 << 7; }).find("type of A"),
              std::string::npos);
    EXPECT_NE(why([](Multiply& m) { m.instruction |= 7 << 10; }).find("type of B"),
              std::string::npos);
    EXPECT_NE(why([](Multiply& m) { m.instruction ^= 3 << 4; }).find("type of D"),
              std::string::npos);
    EXPECT_NE(why([](Multiply& m) {
                  m.instruction = (m.instruction & ~(3u << 4)) | 1 << 7;
              }).find("type of D"),
              std::string::npos);
    EXPECT_NE(why([&](Multiply& m) {
                  m.instruction = (m.instruction & ~m_bits) | 16u << 24;
              }).find("cta_group::2"),
              std::string::npos);
    EXPECT_NE(why([&](Multiply& m) {
                  m.instruction = (m.instruction & ~m_bits) | 6u << 24;
              }).find("invalid M"),
              std::string::npos);
    EXPECT_NE(why([&](Multiply& m) { m.instruction &= ~n_bits; }).find("invalid N"),
              std::string::npos);
    EXPECT_NE(why([&](Multiply& m) { m.instruction |= n_bits; }).find("invalid N"),
              std::string::npos);
    EXPECT_NE(why([](Multiply& m) { m.scale_d = 16; }).find("scaled"), std::string::npos);
    EXPECT_NE(why([](Multiply& m) { m.d = 505; }).find("columns"), std::string::npos);
    EXPECT_NE(why([](Multiply& m) { m.d = 16 << 16; }).find("lane"), std::string::npos);
    EXPECT_NE(
        why([](Multiply& m) { m.a_in_tensor_memory = true, m.a_address = 505; }).find("columns"),
        std::string::npos);
    EXPECT_NE(
        why([](Multiply& m) { m.a_in_tensor_memory = true, m.a_address = 16 << 16; }).find("lanes"),
        std::string::npos);
    EXPECT_NE(why([](Multiply& m) {
                  m.a_in_tensor_memory = true, m.instruction |= 1 << 15;
              }).find("transposed"),
              std::string::npos);
    for (uint32_t bit : {14, 15, 30, 31})
        EXPECT_NE(why([&](Multiply& m) { m.b |= uint64_t{1} << bit; }).find("reserved"),
                  std::string::npos)
            << bit;
    for (uint32_t bit : {46, 47, 48})
        EXPECT_NE(why([&](Multiply& m) { m.a ^= uint64_t{1} << bit; }).find("48..46"),
                  std::string::npos)
            << bit;
    EXPECT_NE(why([](Multiply& m) { m.a |= uint64_t{1} << 52; }).find("absolute"),
              std::string::npos);
    for (uint32_t bit = 53; bit < 61; ++bit)
        EXPECT_NE(why([&](Multiply& m) { m.a |= uint64_t{1} << bit; }).find("60..53"),
                  std::string::npos)
            << bit;
    for (uint64_t mode : {3, 5, 7})
        EXPECT_NE(why([&](Multiply& m) { m.a |= mode << 61; }).find("swizzle mode"),
                  std::string::npos)
            << mode;
    EXPECT_NE(why([](Multiply& m) {
                  m.a |= uint64_t{1} << 61, m.instruction |= 1 << 15;
              }).find("chunks of 32"),
              std::string::npos);
    // The last byte of A decides.
    const uint64_t end = 15 * 256 + 128 + 128;
    Multiply m = legal.m;
    m.a = legal.fa.word(), m.b = Fields{0, 128, 256, 0, 0}.word(),
    m.instruction = legal.instruction();
    EXPECT_EQ(check(m, 100, end), nullptr);
    EXPECT_STREQ(check(m, 100, end - 1), "a matrix of the tensor core leaves shared memory");
}

// Whatever the descriptors are: what passes stays in memory, which ends at pages that fault.
TEST_F(TensorCore, NoDescriptorLeadsOutOfMemory) {
    const auto steps = levels().back()->matrix_sums;
    uint64_t passed = 0;
    for (uint64_t seed = 0; seed < 30000; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Random random(seed);
        Case c = some_case(random);
        if (coin(random)) c.m.a ^= random() & random() & random();
        if (coin(random)) c.m.b ^= (random() & 0x3fff3fff) | (random() & 0x3fff) << 32;
        if (coin(random)) c.m.instruction ^= 1u << below(random, 32);
        if (coin(random)) c.m.d ^= 1u << below(random, 32);
        if (coin(random)) c.m.a_address ^= 1u << below(random, 32);
        if (below(random, 8) == 0) c.m.kind = static_cast<TensorKind>(below(random, 4));
        if (below(random, 8) == 0)
            c.m.a = random(), c.m.b = random(), c.m.instruction = static_cast<uint32_t>(random());
        if (check(c.m, 100, shared_bytes)) continue;
        ++passed;
        struct Inside {
            bool all = true;
        } inside;
        touched(
            c.m,
            [](void* self, const Touched& t) {
                const uint64_t most = t.tensor ? sizeof(TensorMemory) : shared_bytes;
                static_cast<Inside*>(self)->all &= t.address + t.bytes <= most;
            },
            &inside);
        ASSERT_TRUE(inside.all);
        if (passed % 8 == 0) multiply(c.m, one(), 100, steps);
    }
    EXPECT_GT(passed, 2000u);
}

}  // namespace
}  // namespace sassemu::async::test
