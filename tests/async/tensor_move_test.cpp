// SPDX-License-Identifier: Apache-2.0
// tcgen05.cp and tcgen05.shift against the model by element.
#include "tests/async/tensor_model.hpp"

namespace sassemu::async::test {
namespace {

struct Shape {
    TensorShape shape;
    uint32_t rows, words;
    std::vector<uint32_t> (*lanes)(uint32_t row);
};
using Lanes = std::vector<uint32_t>;
const Shape shapes[] = {
    {TensorShape::x128b256, 128, 8, [](uint32_t r) { return Lanes{r}; }},
    {TensorShape::x4b256, 4, 8, [](uint32_t r) { return Lanes{32 * r}; }},
    {TensorShape::x128b128, 128, 4, [](uint32_t r) { return Lanes{r}; }},
    {TensorShape::x64b128_02_13, 64, 4,
     [](uint32_t r) {
         return Lanes{r, r + 64};
     }},
    {TensorShape::x64b128_01_23, 64, 4,
     [](uint32_t r) {
         return r < 32 ? Lanes{r, r + 32} : Lanes{r + 32, r + 64};
     }},
    {TensorShape::x32b128, 32, 4,
     [](uint32_t r) {
         return Lanes{r, r + 32, r + 64, r + 96};
     }},
};
constexpr size_t shared_bytes = 64 * 1024;

struct Copy {
    TensorMove move;
    const Shape* shape;
    Fields from;
    uint32_t bits;  // of an element in shared memory
};
Copy some_copy(Random& random) {
    Copy c;
    c.shape = &shapes[below(random, std::size(shapes))];
    c.move.shape = c.shape->shape;
    c.move.unpack = static_cast<TensorUnpack>(below(random, 3));
    c.bits = c.move.unpack == TensorUnpack::b4 ? 4 : c.move.unpack == TensorUnpack::b6 ? 6 : 8;
    static constexpr uint32_t modes[] = {0, 6, 4, 2, 1};
    c.from.mode = modes[below(random, 5)];
    c.from.base = c.from.mode ? below(random, 8) : 0;
    c.from.start = below(random, 256) * 16;
    c.from.leading = below(random, 2048) * 16, c.from.stride = below(random, 128) * 16;
    const uint32_t lane = c.shape->rows == 4 ? below(random, 32) : 0;
    c.move.to = lane << 16 | below(random, 513 - c.shape->words);
    c.move.from = c.from.word();
    return c;
}

class TensorMoves : public testing::Test {
  protected:
    TensorMoves() : shared(shared_bytes), cells(sizeof(TensorMemory)) {}
    TensorMemory& memory() { return *reinterpret_cast<TensorMemory*>(cells.data()); }
    Fenced shared, cells;
};

TEST_F(TensorMoves, CopiesAreThoseOfTheModel) {
    uint64_t done[6][3] = {};
    for (uint64_t seed = 0; seed < 600; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Random random(seed);
        const Copy c = some_copy(random);
        poison(shared.data(), shared_bytes, {}, random);
        poison(cells.data(), sizeof(TensorMemory), {}, random);
        if (check(c.move, shared_bytes)) continue;
        ++done[static_cast<int>(c.move.shape)][static_cast<int>(c.move.unpack)];
        TensorMemory want = memory();
        std::set<uint64_t> read, written;
        for (uint32_t row = 0; row < c.shape->rows; ++row)
            for (uint32_t i = 0; i < 4 * c.shape->words; ++i) {
                // Element i; of 16 in a row the packed ones begin where the first byte would.
                const uint64_t first = element_at(c.from, false, 1, row, i / 16 * 16);
                uint32_t bits = 0;
                for (uint32_t b = 0; b < c.bits; ++b) {
                    const uint64_t bit = i % 16 * c.bits + b;
                    read.insert(first + bit / 8);
                    bits |= (static_cast<uint32_t>(shared.data()[first + bit / 8]) >> bit % 8 & 1)
                            << b;
                }
                if (c.bits == 4) bits <<= 2;
                for (uint32_t lane : c.shape->lanes(row)) {
                    const uint64_t at = cell_at((c.move.to >> 16) + lane, c.move.to & 0xffff) + i;
                    written.insert(at);
                    reinterpret_cast<uint8_t*>(&want)[at] = static_cast<uint8_t>(bits);
                }
            }
        const Told told(c.move);
        EXPECT_EQ(told.shared, read);
        EXPECT_TRUE(told.read.empty());
        EXPECT_EQ(told.written, written);
        move(c.move, shared.data(), memory());
        ASSERT_EQ(std::memcmp(&memory(), &want, sizeof want), 0)
            << "shape " << static_cast<int>(c.move.shape) << " mode " << c.from.mode << " bits "
            << c.bits;
    }
    for (const auto& shape : done)
        for (uint64_t n : shape) EXPECT_GT(n, 5u);
}

TEST_F(TensorMoves, ShiftsRowsOfAQuarter) {
    for (uint32_t lane : {0, 32, 96})
        for (uint32_t column : {0, 17, 504}) {
            Random random(lane + column);
            poison(cells.data(), sizeof(TensorMemory), {}, random);
            TensorMemory want = memory();
            TensorMove m;
            m.shift = true, m.to = lane << 16 | column;
            ASSERT_EQ(check(m, 0), nullptr);
            std::set<uint64_t> read, written;
            for (uint32_t i = 0; i < 31; ++i)
                for (uint32_t k = 0; k < 8; ++k) {
                    want.cell[lane + i][column + k] = memory().cell[lane + i + 1][column + k];
                    for (uint32_t b = 0; b < 4; ++b) {
                        written.insert(cell_at(lane + i, column + k) + b);
                        read.insert(cell_at(lane + i + 1, column + k) + b);
                    }
                }
            const Told told(m);
            EXPECT_TRUE(told.shared.empty());
            EXPECT_EQ(told.read, read);
            EXPECT_EQ(told.written, written);
            move(m, nullptr, memory());
            EXPECT_EQ(std::memcmp(&memory(), &want, sizeof want), 0);
        }
}

TEST_F(TensorMoves, RefusesWhatIsIllegal) {
    TensorMove m;
    m.from = Fields{0, 128, 256, 0, 0}.word();
    EXPECT_EQ(check(m, shared_bytes), nullptr);
    const uint64_t end = 15 * 256 + 128 + 128;
    EXPECT_EQ(check(m, end), nullptr);
    EXPECT_STREQ(check(m, end - 1), "the matrix that tcgen05.cp copies leaves shared memory");
    m.unpack = TensorUnpack::b6;  // 4 bytes of padding
    EXPECT_EQ(check(m, end - 4), nullptr);
    EXPECT_NE(check(m, end - 5), nullptr);
    m.to = 505;
    EXPECT_STREQ(check(m, shared_bytes), "tcgen05.cp leaves the columns of tensor memory");
    m.to = 1 << 16;
    EXPECT_STREQ(check(m, shared_bytes), "tcgen05.cp leaves the lanes of tensor memory");
    m.shape = TensorShape::x4b256, m.to = 31 << 16;
    EXPECT_EQ(check(m, shared_bytes), nullptr);
    m.to = 32 << 16;
    EXPECT_STREQ(check(m, shared_bytes), "tcgen05.cp leaves the lanes of tensor memory");
    m.to = 0, m.from |= uint64_t{3} << 61;
    EXPECT_STREQ(check(m, shared_bytes), "a matrix descriptor has an invalid swizzle mode");
    m = {};
    m.shift = true, m.to = 16 << 16;
    EXPECT_STREQ(check(m, 0), "tcgen05.shift begins in a lane that 32 does not divide");
    m.to = 128 << 16;
    EXPECT_NE(check(m, 0), nullptr);
    m.to = 505;
    EXPECT_STREQ(check(m, 0), "tcgen05.shift leaves the columns of tensor memory");
}

TEST_F(TensorMoves, NoDescriptorLeadsOutOfMemory) {
    uint64_t passed = 0;
    for (uint64_t seed = 0; seed < 30000; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Random random(seed);
        Copy c = some_copy(random);
        if (coin(random)) c.move.from ^= (random() & 0x3fff3fff) | (random() & 0x3fff) << 32;
        if (below(random, 4) == 0) c.move.from ^= random() & random() & random();
        if (coin(random)) c.move.to ^= 1u << below(random, 32);
        if (below(random, 8) == 0) c.move.to = static_cast<uint32_t>(random());
        c.move.shift = below(random, 8) == 0;
        if (check(c.move, shared_bytes)) continue;
        ++passed;
        bool inside = true;
        touched(
            c.move,
            [](void* self, const Touched& t) {
                *static_cast<bool*>(self) &=
                    t.address + t.bytes <= (t.tensor ? sizeof(TensorMemory) : shared_bytes);
            },
            &inside);
        ASSERT_TRUE(inside);
        move(c.move, shared.data(), memory());
    }
    EXPECT_GT(passed, 3000u);
}

}  // namespace
}  // namespace sassemu::async::test
