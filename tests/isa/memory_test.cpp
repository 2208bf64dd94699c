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
        case line: return first + lane * bytes;
        case same: return first;
        case reversed: return first + (31 - lane) * bytes;
        default: return rng() % (room / bytes) * bytes;
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
        case AccessSpace::global: host = m.allocate(room, base); break;
        case AccessSpace::shared: host = m.shared(); break;
        case AccessSpace::local: host = m.local(), interleaved = true; break;
        default: host = m.bank(0); break;
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
        for (unsigned lane = 0; lane < 32; ++lane)  // the highest of colliding lanes wins
            if (active >> lane & 1)
                for (uint32_t byte = 0; byte < bytes; ++byte)
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

INSTANTIATE_TEST_SUITE_P(Levels, Memory, ::testing::ValuesIn(levels()),
                         [](const auto& i) { return std::string(i.param->name); });

}  // namespace
}  // namespace sassemu::test
