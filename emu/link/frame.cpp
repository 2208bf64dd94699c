// SPDX-License-Identifier: Apache-2.0
// See frame.hpp.
#include "emu/link/frame.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

namespace sassemu::link {

namespace {

static_assert(std::endian::native == std::endian::little, "frames are little-endian");
constexpr uint32_t magic = 0x4b4e4c53;  // "SLNK"

struct Header {
    uint32_t magic;
    uint8_t version, type;
    uint16_t zero;
    uint64_t number, acknowledged;
    uint32_t bytes, body_sum;
};
static_assert(sizeof(Header) + sizeof(uint32_t) == header_bytes);

#ifdef __SSE4_2__
constexpr size_t strand = 1024;
// The sum of something, once `strand` zero bytes have followed it: a matrix over bits, by bytes.
struct Shift {
    uint32_t of[4][256];
    Shift() {
        uint32_t matrix[32], square[32];  // what becomes of each bit; at first behind one zero bit
        matrix[0] = 0x82f63b78u;
        for (uint32_t i = 1; i < 32; ++i) matrix[i] = 1u << (i - 1);
        const auto times = [&](uint32_t v) {
            uint32_t sum = 0;
            for (uint32_t i = 0; i < 32; ++i) sum ^= v >> i & 1 ? matrix[i] : 0;
            return sum;
        };
        for (size_t bits = 1; bits < 8 * strand; bits *= 2) {
            for (uint32_t i = 0; i < 32; ++i) square[i] = times(matrix[i]);
            std::copy(std::begin(square), std::end(square), std::begin(matrix));
        }
        for (uint32_t k = 0; k < 4; ++k)
            for (uint32_t b = 0; b < 256; ++b) of[k][b] = times(b << 8 * k);
    }
    uint32_t operator()(uint32_t v) const {
        return of[0][v & 0xff] ^ of[1][v >> 8 & 0xff] ^ of[2][v >> 16 & 0xff] ^ of[3][v >> 24];
    }
};
uint64_t word_at(const std::byte* at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}
#else
constexpr auto table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t v = i;
        for (int k = 0; k < 8; ++k) v = v >> 1 ^ (v & 1 ? 0x82f63b78u : 0);
        t[i] = v;
    }
    return t;
}();
#endif

Error bad_frame(std::string what) { return Error{ErrorCode::input, "frame", std::move(what), ""}; }

}  // namespace

uint32_t crc32c(uint32_t crc, std::span<const std::byte> bytes) {
    crc = ~crc;
    const std::byte* at = bytes.data();
    size_t left = bytes.size();
#ifdef __SSE4_2__
    uint64_t wide = crc;
    // The instruction takes three cycles, and there can be one in each: three sums at a time.
    for (; left >= 3 * strand; at += 3 * strand, left -= 3 * strand) {
        static const Shift shift;
        uint64_t second = 0, third = 0;
        for (size_t i = 0; i < strand; i += 8) {
            wide = __builtin_ia32_crc32di(wide, word_at(at + i));
            second = __builtin_ia32_crc32di(second, word_at(at + strand + i));
            third = __builtin_ia32_crc32di(third, word_at(at + 2 * strand + i));
        }
        wide = shift(static_cast<uint32_t>(wide)) ^ second;
        wide = shift(static_cast<uint32_t>(wide)) ^ third;
    }
    for (; left >= 8; at += 8, left -= 8) wide = __builtin_ia32_crc32di(wide, word_at(at));
    crc = static_cast<uint32_t>(wide);
    for (; left; ++at, --left) crc = __builtin_ia32_crc32qi(crc, static_cast<uint8_t>(*at));
#else
    for (; left; ++at, --left) crc = crc >> 8 ^ table[(crc ^ static_cast<uint8_t>(*at)) & 0xff];
#endif
    return ~crc;
}

std::string_view status_text(Status status) {
    switch (status) {
        case Status::ok:
            return "it was not";
        case Status::no_window:
            return "the window is not registered (any more)";
        case Status::outside:
            return "it reaches outside the window";
        case Status::read_only:
            return "the window is read-only";
        case Status::misaligned:
            return "the address is not a multiple of the operation's size";
        case Status::no_such_operation:
            return "there is no such atomic operation";
    }
    return "for a reason that this version does not know";
}

Bytes make_frame(FrameType type, uint64_t number, std::span<const std::byte> body,
                 std::span<const std::byte> more, Bytes frame) {
    const Header header{magic,
                        wire_version,
                        static_cast<uint8_t>(type),
                        0,
                        number,
                        0,
                        static_cast<uint32_t>(body.size() + more.size()),
                        crc32c(crc32c(0, body), more)};
    std::array<std::byte, header_bytes> front{};
    std::memcpy(front.data(), &header, sizeof header);
    frame.reserve(header_bytes + body.size() + more.size());
    frame.assign(front.begin(), front.end());
    frame.insert(frame.end(), body.begin(), body.end());
    frame.insert(frame.end(), more.begin(), more.end());
    return frame;
}

void seal(Bytes& frame, uint64_t acknowledged) {
    std::memcpy(frame.data() + offsetof(Header, acknowledged), &acknowledged, sizeof acknowledged);
    const uint32_t sum = crc32c(0, std::span(frame).first(sizeof(Header)));
    std::memcpy(frame.data() + sizeof(Header), &sum, sizeof sum);
}

FrameParser::FrameParser(uint32_t most_body_bytes)
    : most_(most_body_bytes),
      capacity_(4 * (header_bytes + size_t{most_body_bytes})),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(capacity_)) {}

std::span<std::byte> FrameParser::room() {
    if (begin_ == end_) {
        begin_ = end_ = 0;
    } else if (capacity_ - begin_ < header_bytes + size_t{most_}) {
        // What is left is less than a frame, so it fits in front of where it lies.
        std::copy(buffer_.get() + begin_, buffer_.get() + end_, buffer_.get());
        end_ -= begin_;
        begin_ = 0;
    }
    return {buffer_.get() + end_, capacity_ - end_};
}

Result<std::optional<Frame>> FrameParser::next() {
    const std::span<const std::byte> there(buffer_.get() + begin_, end_ - begin_);
    if (there.size() < header_bytes) return std::optional<Frame>();
    Header header;
    std::memcpy(&header, there.data(), sizeof header);
    uint32_t sum;
    std::memcpy(&sum, there.data() + sizeof header, sizeof sum);
    if (header.magic != magic) return bad_frame("it does not begin with the link's mark");
    if (header.version != wire_version)
        return bad_frame("it is of version " + std::to_string(header.version) +
                         ", and this program reads version " + std::to_string(wire_version));
    if (sum != crc32c(0, there.first(sizeof header)))
        return bad_frame("the sum of its header is wrong: bytes were changed on the way");
    if (header.type < 1 || header.type > static_cast<uint8_t>(last_frame_type) || header.zero)
        return bad_frame("there is no type " + std::to_string(header.type));
    if (header.bytes > most_)
        return bad_frame("its body of " + std::to_string(header.bytes) + " bytes is larger than " +
                         std::to_string(most_));
    if (there.size() < header_bytes + header.bytes) return std::optional<Frame>();
    const auto body = there.subspan(header_bytes, header.bytes);
    if (header.body_sum != crc32c(0, body))
        return bad_frame("the sum of its body is wrong: bytes were changed on the way");
    begin_ += header_bytes + header.bytes;
    return std::optional(
        Frame{static_cast<FrameType>(header.type), header.number, header.acknowledged, body});
}

}  // namespace sassemu::link
