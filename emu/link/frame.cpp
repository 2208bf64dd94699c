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

Error bad_frame(std::string what) { return Error{ErrorCode::input, "frame", std::move(what), ""}; }

}  // namespace

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
    const size_t bytes = body.size() + more.size();
    frame.resize(header_bytes + bytes);
    std::byte* const to = frame.data() + header_bytes;
    const uint32_t sum = crc32c_of_copy(crc32c_of_copy(0, body, to), more, to + body.size());
    const Header header{
        magic, wire_version, static_cast<uint8_t>(type), 0, number, 0, static_cast<uint32_t>(bytes),
        sum};
    std::memcpy(frame.data(), &header, sizeof header);
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
