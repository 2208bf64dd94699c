// SPDX-License-Identifier: Apache-2.0
// Frames: what is made is read again however it is cut, and what is not a frame is refused before
// anything behind it is believed.
#include "emu/link/frame.hpp"

#include <gtest/gtest.h>

#include <random>

namespace {

using namespace sassemu::link;

Bytes some_bytes(std::mt19937& random, size_t count) {
    Bytes bytes(count);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    return bytes;
}
Bytes sealed(FrameType type, uint64_t number, std::span<const std::byte> body, uint64_t ack = 0) {
    Bytes frame = make_frame(type, number, body);
    seal(frame, ack);
    return frame;
}
// All frames of the bytes, in pieces of at most `piece`; false: refused.
bool read_all(std::span<const std::byte> bytes, uint32_t most, size_t piece,
              std::vector<std::pair<FrameType, Bytes>>& out, std::string* why = nullptr) {
    FrameParser parser(most);
    while (!bytes.empty()) {
        const auto room = parser.room();
        EXPECT_FALSE(room.empty());
        const size_t now = std::min({piece, room.size(), bytes.size()});
        std::copy(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(now), room.begin());
        bytes = bytes.subspan(now);
        parser.filled(now);
        for (;;) {
            const auto frame = parser.next();
            if (!frame) {
                if (why) *why = frame.error().message();
                return false;
            }
            if (!*frame) break;
            out.emplace_back((*frame)->type, Bytes((*frame)->body.begin(), (*frame)->body.end()));
        }
    }
    return true;
}

TEST(Crc, IsTheCastagnoliSum) {  // RFC 3720, B.4
    Bytes zeros(32), ones(32, std::byte{0xff}), up(32);
    for (size_t i = 0; i < 32; ++i) up[i] = static_cast<std::byte>(i);
    EXPECT_EQ(crc32c(0, zeros), 0x8a9136aau);
    EXPECT_EQ(crc32c(0, ones), 0x62a8ab43u);
    EXPECT_EQ(crc32c(0, up), 0x46dd794eu);
    EXPECT_EQ(crc32c(crc32c(0, std::span(up).first(13)), std::span(up).subspan(13)), 0x46dd794eu);
}

TEST(Crc, IsTheSameInWhateverPieces) {
    std::mt19937 random(3);
    for (size_t size : {255u, 511u, 512u, 517u, 767u, 768u, 1025u, 3071u, 3072u, 3073u, 20000u}) {
        const Bytes bytes = some_bytes(random, size);
        uint32_t slow = 0x12345678;
        for (const std::byte& b : bytes) slow = crc32c(slow, {&b, 1});
        EXPECT_EQ(crc32c(0x12345678, bytes), slow) << size;
        EXPECT_EQ(crc32c_by_words(0x12345678, bytes), slow) << size;
    }
}

TEST(Frames, AreReadAgainHoweverTheyAreCut) {
    std::mt19937 random(1);
    for (int round = 0; round < 60; ++round) {
        const uint32_t most = 64 + random() % 5000;
        Bytes stream;
        std::vector<std::pair<FrameType, Bytes>> made, read;
        for (int i = 0; i < 20; ++i) {
            const auto type = static_cast<FrameType>(1 + random() % 11);
            const size_t size = random() % 3 ? random() % 64 : random() % (most + 1);
            made.emplace_back(type, some_bytes(random, i == 7 ? most : size));
            const Bytes frame = sealed(type, i + 1, made.back().second, random());
            stream.insert(stream.end(), frame.begin(), frame.end());
        }
        const size_t piece = round % 3 ? 1 + random() % 7000 : 1 + random() % 5;
        ASSERT_TRUE(read_all(stream, most, piece, read));
        EXPECT_EQ(read, made);
    }
}

// Every bit of a frame counts: with any one of them changed it is refused, or more bytes are
// waited for; it is never taken for what it is not.
TEST(Frames, WithAnyBitChangedAreRefused) {
    std::mt19937 random(2);
    const Bytes good = sealed(FrameType::put, 5, some_bytes(random, 40), 3);
    for (size_t bit = 0; bit < good.size() * 8; ++bit) {
        Bytes bad = good;
        bad[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        std::vector<std::pair<FrameType, Bytes>> read;
        std::string why;
        EXPECT_FALSE(read_all(bad, 4096, bad.size(), read, &why)) << "bit " << bit;
        EXPECT_TRUE(read.empty());
        EXPECT_EQ(why.rfind("frame: ", 0), 0u) << why;
    }
}

TEST(Frames, LargerThanAllowedAreRefusedByTheirHeader) {
    std::vector<std::pair<FrameType, Bytes>> read;
    std::string why;
    const Bytes frame = sealed(FrameType::put, 1, Bytes(4097));
    EXPECT_FALSE(read_all(std::span(frame).first(header_bytes), 4096, 1000, read, &why));
    EXPECT_EQ(why, "frame: its body of 4097 bytes is larger than 4096");
    EXPECT_TRUE(read_all(frame, 4097, 1000, read));
}

TEST(Frames, OfAnotherVersionSayWhich) {
    Bytes frame = sealed(FrameType::put, 1, {});
    frame[4] = std::byte{2};
    std::vector<std::pair<FrameType, Bytes>> read;
    std::string why;
    EXPECT_FALSE(read_all(frame, 4096, 1000, read, &why));
    EXPECT_EQ(why, "frame: it is of version 2, and this program reads version 1");
}

}  // namespace
