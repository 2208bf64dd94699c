// SPDX-License-Identifier: Apache-2.0
// The tensor copies that sm_100 adds (data/tensor_modes.cu), against what the PTX ISA says of them
// in plain loops: four named rows, pixels along W, copies for two CTAs, masked bytes; packed
// elements and the atomicity of swizzles; and what a map is refused for.
#include <cstring>
#include <functional>

#include "emu/async/tensor_map.hpp"
#include "tests/engine/kernel_test.hpp"

namespace sassemu {
namespace {

class TensorModes : public KernelTest {
  protected:
    static constexpr uint32_t untouched = 0x11111111, box_words = 2048;

    void SetUp() override { start("tensor_modes.cubin"); }
    uint64_t in_memory(const TensorMap& m) {
        const auto bytes = m.encode();
        EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().where + " " + bytes.error().what);
        const uint64_t at = buffer(128);
        if (bytes) {
            EXPECT_TRUE(gpu_->write(at, *bytes));
        }
        return at;
    }
    static std::vector<uint32_t> numbers(size_t count) {
        std::vector<uint32_t> out(count);
        for (uint32_t i = 0; i < count; ++i) out[i] = i * 0x9e3779b1 + 1;
        return out;
    }
    uint64_t coordinates(std::vector<int32_t> at) {
        return buffer(std::vector<uint32_t>(at.begin(), at.end()));
    }
    std::vector<uint32_t> gathered(const TensorMap& m, std::vector<int32_t> at, uint32_t bytes) {
        const uint64_t out = buffer(box_words * 4);
        const auto r = launch("rows4", {1, 1, 1}, 1, in_memory(m), coordinates(std::move(at)), out,
                              bytes, uint32_t{0});
        EXPECT_TRUE(r && r->status == LaunchStatus::ok)
            << r->message << (r->fault ? r->fault->report() : "");
        return words(out, box_words);
    }
    // A matrix of 64 words by 12 rows, of which rows of 32 words are taken.
    TensorMap matrix(uint64_t at) {
        TensorMap m;
        m.type = TensorType::u32;
        m.rank = 2;
        m.address = at;
        m.size[0] = 64;
        m.size[1] = 12;
        m.stride[0] = 256;
        m.box[0] = 32;
        return m;
    }
};

TEST_F(TensorModes, FourRowsAreGatheredAndScattered) {
    const std::vector<uint32_t> data = numbers(64 * 12);
    const uint64_t at = buffer(data);
    const std::vector<int32_t> where = {48, 3, -1, 11, 3};
    const auto got = gathered(matrix(at), where, 512);
    std::vector<uint32_t> want(box_words, untouched);
    for (uint32_t row = 0; row < 4; ++row)
        for (uint32_t i = 0; i < 32; ++i) {
            const int32_t r = where[row + 1];
            want[row * 32 + i] = r >= 0 && 48 + i < 64 ? data[r * 64 + 48 + i] : 0;
        }
    EXPECT_EQ(got, want);

    const auto r = launch("rows4", {1, 1, 1}, 1, in_memory(matrix(at)),
                          coordinates({0, 7, 2, 12, 0}), buffer(want), uint32_t{0}, uint32_t{1});
    ASSERT_TRUE(r && r->status == LaunchStatus::ok) << r->message;
    std::vector<uint32_t> after = data;
    for (const auto& [row, to] : {std::pair{0, 7}, {1, 2}, {3, 0}})
        std::copy_n(want.begin() + row * 32, 32, after.begin() + to * 64);
    EXPECT_EQ(words(at, data.size()), after);
    // Rows that follow a coordinate that is none.
    expect_fault(launch("rows4", {1, 1, 1}, 1, in_memory(matrix(at)), coordinates({4, 0, 0, -2, 0}),
                        buffer(want), uint32_t{0}, uint32_t{1}),
                 FaultKind::illegal_instruction, {"coordinate 3 of a store is negative"});
}

TEST_F(TensorModes, PixelsAlongWAndTheHalo) {
    constexpr uint32_t channels = 16, w = 7, h = 3, n = 30;  // 64 bytes of channels
    const std::vector<uint32_t> data = numbers(channels * w * h * n);
    TensorMap m;
    m.type = TensorType::f32;
    m.rank = 4;
    m.address = buffer(data);
    const uint64_t sizes[] = {channels, w, h, n};
    for (uint32_t k = 0; k < 4; ++k) {
        m.size[k] = sizes[k];
        if (k < 3) m.stride[k] = (k ? m.stride[k - 1] : 4) * sizes[k];
    }
    m.image = true;
    m.swizzle = TensorSwizzle::b64;
    m.channels = channels;
    m.pixels = 50;
    for (const bool of128 : {false, true})
        for (const uint32_t step : {1u, 2u})
            for (const int32_t lower : {-1, 0}) {
                m.step[1] = step;
                m.lower[0] = lower;
                const uint32_t halo = 2, offset = 1, main = of128 ? 32 : 50,
                               pixels = of128 ? 4 * (32 + halo) : 50 + halo;
                std::vector<uint32_t> want(4 * box_words, untouched);
                int32_t x = 3;
                uint32_t image = 4, count = 0;
                const auto put = [&](int32_t column) {
                    for (uint32_t c = 0; c < channels; ++c) {
                        const bool inside = column >= 0 && column < int32_t{w} && image < n;
                        const uint32_t at = (count * channels + c) * 4;
                        // 16-byte chunks of 64 bytes, with the number of 128 bytes.
                        want[(at ^ (at >> 7 & 3) << 4) / 4] =
                            inside ? data[((image * h + 1) * w + column) * channels + c] : 0;
                    }
                    ++count;
                };
                while (count < pixels) {
                    put(x + offset);
                    if (count % (main + halo) == main)
                        for (uint32_t k = 1; k <= halo; ++k) put(x + offset + k * step);
                    x += step;
                    if (x >= int32_t{w}) x = lower, ++image;
                }
                const uint64_t out = buffer(16 * box_words);
                const auto r = launch("wide", {1, 1, 1}, 1, in_memory(m), coordinates({0, 3, 1, 4}),
                                      out, pixels * channels * 4, halo, offset, uint32_t{of128});
                ASSERT_TRUE(r && r->status == LaunchStatus::ok)
                    << r->message << (r->fault ? r->fault->report() : "");
                EXPECT_EQ(words(out, 4 * box_words), want)
                    << of128 << " step " << step << " lower " << lower;
            }
}

TEST_F(TensorModes, APairReportsToOneOfItsCtas) {
    const std::vector<uint32_t> data = numbers(256);
    TensorMap m;
    m.type = TensorType::u32;
    m.address = buffer(data);
    m.size[0] = m.box[0] = 256;
    for (uint32_t mask = 1; mask < 16; ++mask)
        for (const uint32_t odd : {0u, 1u}) {
            const uint64_t out = buffer(4 * 257 * 4);
            const auto r =
                launch("pairs", {4, 1, 1}, 4, in_memory(m), out, uint32_t{1024}, mask, odd);
            ASSERT_TRUE(r && r->status == LaunchStatus::ok)
                << r->message << (r->fault ? r->fault->report() : "");
            const auto got = words(out, 4 * 257);
            for (uint32_t rank = 0; rank < 4; ++rank)
                for (uint32_t i = 0; i < 256; ++i)
                    ASSERT_EQ(got[rank * 257 + i], mask >> rank & 1 ? data[i] : untouched);
        }
}

TEST_F(TensorModes, MaskedBytesAreLeftAlone) {
    const uint64_t out = buffer(std::vector<uint32_t>(64, untouched));
    const auto r = launch("masked", {1, 1, 1}, 1, out, uint32_t{0x8421});
    ASSERT_TRUE(r && r->status == LaunchStatus::ok) << r->message;
    const auto got = words(out, 64);
    for (uint32_t i = 0; i < 64; ++i) {
        const uint32_t mask = 0xffu << i % 4 * 8;
        ASSERT_EQ(got[i], (0x01020304 * (i + 1) & mask) | (untouched & ~mask)) << i;
    }
}

TEST_F(TensorModes, ChunksOf32And64BytesChangePlaces) {
    const std::vector<uint32_t> data = numbers(64 * 12);
    TensorMap m = matrix(buffer(data));
    m.swizzle = TensorSwizzle::b128;
    for (const TensorAtom atom : {TensorAtom::b32, TensorAtom::b32_flip, TensorAtom::b64}) {
        m.atom = atom;
        const auto got = gathered(m, {0, 5, 6, 7, 8}, 512);
        for (uint32_t row = 0; row < 4; ++row)
            for (uint32_t i = 0; i < 32; ++i) {
                uint32_t to = i ^ (atom == TensorAtom::b64 ? (row & 1) << 4 : row << 3);
                if (atom == TensorAtom::b32_flip && row & 1) to ^= 2;
                ASSERT_EQ(got[row * 32 + to], data[(5 + row) * 64 + i])
                    << static_cast<int>(atom) << " " << row << " " << i;
            }
    }
}

TEST_F(TensorModes, PackedElementsArePaddedInSharedMemory) {
    const std::vector<uint32_t> data = numbers(64 * 12);
    TensorMap m = matrix(buffer(data));
    m.box[0] = 128;
    for (const TensorType type : {TensorType::b4x16_p64, TensorType::b6x16_p32}) {
        const uint32_t kept = type == TensorType::b4x16_p64 ? 2 : 3;  // words of four
        m.type = type;
        m.size[0] = 256;
        const auto got = gathered(m, {128, 1, 2, 3, 4}, 512);
        for (uint32_t row = 0; row < 4; ++row)
            for (uint32_t i = 0; i < 32; ++i)
                ASSERT_EQ(got[row * 32 + i],
                          i % 4 < kept ? data[(1 + row) * 64 + 8 * kept + i / 4 * kept + i % 4] : 0)
                    << row << " " << i;
    }
    m.type = TensorType::b4x16;
    m.size[0] = 512;
    m.box[0] = 256;
    const auto got = gathered(m, {256, 1, 2, 3, 4}, 512);
    for (uint32_t i = 0; i < 128; ++i)
        ASSERT_EQ(got[i], data[(1 + i / 32) * 64 + 32 + i % 32]) << i;
}

TEST_F(TensorModes, EveryFieldIsReplacedWhereItIsEncoded) {
    TensorMap m;
    m.type = TensorType::tf32;
    m.rank = 5;
    m.address = 0x123456789abcdef0;
    m.swizzle = TensorSwizzle::b128;
    m.atom = TensorAtom::b32;
    m.nan_fill = true;
    std::vector<uint32_t> box = {32, 3, 5, 2, 7}, size = {1000, 65537, 9, 8, 0x80000001},
                          step = {1, 2, 3, 1, 2}, stride;
    for (uint32_t k = 0; k < 5; ++k) {
        m.box[k] = box[k];
        m.size[k] = size[k];
        m.step[k] = step[k];
        if (k == 4) break;
        m.stride[k] = 0xa987654320 + (uint64_t{k} << 36) + 16 * k;
        stride.push_back(static_cast<uint32_t>(m.stride[k]));
        stride.push_back(static_cast<uint32_t>(m.stride[k] >> 32));
    }
    const uint64_t out = buffer(128);
    const auto r = launch("replaced", {1, 1, 1}, 1, out, m.address, buffer(box), buffer(size),
                          buffer(step), buffer(stride));
    ASSERT_TRUE(r && r->status == LaunchStatus::ok) << r->message;
    const auto want = m.encode();
    ASSERT_TRUE(want) << want.error().where << want.error().what;
    const auto got = words(out, 32);
    for (uint32_t k = 0; k < 32; ++k) {
        if (k == 16 || k == 18) continue;  // the driver's notes
        uint32_t word;
        std::memcpy(&word, want->data() + 4 * k, 4);
        EXPECT_EQ(got[k], word) << k;
    }
}

// Which field, and why.
TEST(TensorMaps, AreRefusedByName) {
    TensorMap good;
    good.type = TensorType::f16;
    good.rank = 4;
    good.image = true;
    good.channels = 64;
    good.pixels = 32;
    for (uint32_t k = 0; k < 4; ++k) good.size[k] = 64;
    for (uint32_t k = 0; k < 3; ++k) good.stride[k] = 128 << 6 * k;
    ASSERT_TRUE(good.encode());
    const std::pair<const char*, std::function<void(TensorMap&)>> cases[] = {
        {"rank", [](TensorMap& m) { m.rank = 2; }},
        {"channelsPerPixel", [](TensorMap& m) { m.channels = 60; }},
        {"channelsPerPixel", [](TensorMap& m) { m.swizzle = TensorSwizzle::b64; }},
        {"pixelsPerColumn", [](TensorMap& m) { m.pixels = 1025; }},
        {"pixelBoxLowerCorner[1]", [](TensorMap& m) { m.lower[1] = -129; }},
        {"pixelBoxUpperCorner[0]", [](TensorMap& m) { m.upper[0] = 128; }},
        {"pixelBoxUpperCorner[1]", [](TensorMap& m) { m.upper[1] = -64; }},
        {"elementStrides[3]", [](TensorMap& m) { m.step[3] = 9; }},
        {"swizzleAtomicity", [](TensorMap& m) { m.atom = TensorAtom::b32; }},
        {"globalDim[0]", [](TensorMap& m) { m.type = TensorType::b6x16_p32; }},
        {"globalDim[2]", [](TensorMap& m) { m.size[2] = (uint64_t{1} << 32) + 1; }},
        {"globalAddress", [](TensorMap& m) { m.address = 8; }},
        {"globalAddress",
         [](TensorMap& m) { m.address = 16, m.interleave = TensorInterleave::b32; }},
        {"globalStrides[1]", [](TensorMap& m) { m.stride[1] = 24; }},
        {"globalStrides[2]", [](TensorMap& m) { m.stride[2] = uint64_t{1} << 40; }},
        {"oobFill", [](TensorMap& m) { m.type = TensorType::u16, m.nan_fill = true; }},
        {"channelsPerPixel", [](TensorMap& m) { m.channels = 264; }},
        {"channelsPerPixel",
         [](TensorMap& m) { m.type = TensorType::b4x16_p64, m.size[0] = 128, m.address = 32; }},
        {"pixelsPerColumn", [](TensorMap& m) { m.channels = 256, m.pixels = 1024; }},
    };
    const auto refused = [](const TensorMap& m, const char* field) {
        const auto bytes = m.encode();
        ASSERT_FALSE(bytes) << field;
        EXPECT_EQ(bytes.error().where, std::string("tensor map: ") + field) << bytes.error().what;
        EXPECT_NE(bytes.error().what, "");
    };
    for (const auto& [field, change] : cases) {
        TensorMap m = good;
        change(m);
        refused(m, field);
    }
    TensorMap box;
    box.type = TensorType::f16;
    box.rank = 2;
    box.size[0] = box.size[1] = 512;
    box.stride[0] = 1024;
    box.box[0] = 64;
    ASSERT_TRUE(box.encode());
    const std::pair<const char*, std::function<void(TensorMap&)>> of_boxes[] = {
        {"rank", [](TensorMap& m) { m.rank = 6; }},
        {"boxDim[1]", [](TensorMap& m) { m.box[1] = 257; }},
        {"boxDim[0]", [](TensorMap& m) { m.box[0] = 4; }},
        {"boxDim[0]", [](TensorMap& m) { m.swizzle = TensorSwizzle::b32; }},
        {"boxDim", [](TensorMap& m) { m.type = TensorType::f32, m.box[0] = m.box[1] = 256; }},
        {"interleave", [](TensorMap& m) { m.interleave = TensorInterleave::b16; }},
        {"interleave",
         [](TensorMap& m) {
             m.type = TensorType::b4x16_p64, m.box[0] = 128, m.rank = 3, m.stride[1] = 1024;
             m.interleave = TensorInterleave::b16;
         }},
    };
    for (const auto& [field, change] : of_boxes) {
        TensorMap m = box;
        change(m);
        refused(m, field);
    }
    // What no encoder makes: bits of word 2.
    const std::tuple<const char*, uint32_t, uint32_t> of_words[] = {
        {"rank", 7u << 4, 5u << 4},
        {"elemtype", 15u << 7, 15u << 7},
        {"elemtype", 1u << 16, 1u << 16},
        {"interleave", 3u << 11, 3u << 11},
        {"swizzleAtomicity", 7u << 19, 4u << 19},
        {"swizzle", 1u << 22, 1u << 22}};
    for (const auto& [field, bits, value] : of_words) {
        auto bytes = *box.encode();
        uint32_t word;
        std::memcpy(&word, &bytes[8], 4);
        word = (word & ~bits) | value;
        std::memcpy(&bytes[8], &word, 4);
        const auto m = TensorMap::decode(bytes.data());
        ASSERT_FALSE(m) << field;
        EXPECT_EQ(m.error().where, std::string("tensor map: ") + field) << m.error().what;
    }
    // An image has three dimensions at least, whoever encodes it.
    TensorMap flat = good;
    flat.rank = 2;
    EXPECT_EQ(flat.encode().error().what, "of images is not 3 to 5");
    auto image = *box.encode();
    image[8] |= std::byte{1};
    EXPECT_EQ(TensorMap::decode(image.data()).error().what, "of images is not 3 to 5");
    // Any bytes are a map that is encoded as them, or none.
    uint64_t state = 1;
    uint32_t maps = 0;
    for (uint32_t i = 0; i < 100000; ++i) {
        auto bytes = *good.encode();
        for (uint32_t k = 0; k < 3; ++k) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            bytes[8 + (state >> 33) % 56] ^= static_cast<std::byte>(1u << (state >> 60) % 8);
        }
        const auto m = TensorMap::decode(bytes.data());
        if (!m) {
            EXPECT_NE(m.error().where, "");
            continue;
        }
        ++maps;
        ASSERT_TRUE(m->encode()) << i;
    }
    EXPECT_GT(maps, 1000u);
}

}  // namespace
}  // namespace sassemu
