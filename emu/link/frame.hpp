// SPDX-License-Identifier: Apache-2.0
// Frames, as they go over a connection: a header of 36 bytes and a body. What belongs here: their
// layout (little-endian), making them and reading them out of a stream of bytes that may hold
// anything. What does not: what they ask for (session.hpp), and sockets.
//
//    0  magic "SLNK"            16  acknowledged: frames up to this number have been performed
//    4  version 1               24  bytes of the body
//    5  type                    28  CRC32C of the body
//    6  0 (2 bytes)             32  CRC32C of bytes 0 to 31
//    8  number, from 1; 0: none
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "emu/base/result.hpp"

namespace sassemu::link {

constexpr size_t header_bytes = 36;
constexpr uint32_t wire_version = 1;

enum class FrameType : uint8_t {
    control = 1,  // a Control of sdk/link/link.proto
    acknowledge,  // nothing but the header; has no number
    put,          // PutBody and the bytes
    get,          // GetBody
    got,          // AnswerBody and the bytes
    atomic,       // AtomicBody
    reduce,       // AtomicBody, whose request is 0
    was,          // AnswerBody and the 16 bytes that were there
    drain,        // DrainBody: answered when all before it has been performed
    drained,      // DrainBody
    refused,      // RefusedBody: a put or reduce touched nothing
};
constexpr auto last_frame_type = FrameType::refused;

// How an operation on a window ended.
enum class Status : uint32_t { ok, no_window, outside, read_only, misaligned, no_such_operation };
std::string_view status_text(Status status);  // completes "the operation was refused: "

struct PutBody {
    uint32_t window, zero;
    uint64_t offset;  // bytes into the window
};
struct GetBody {
    uint64_t request;
    uint32_t window, bytes;
    uint64_t offset;
};
struct AtomicBody {
    uint64_t request;
    uint32_t window;
    uint8_t op, type, bytes, zero;  // AtomicOp and AtomicType of machine/port.hpp; 2, 4, 8 or 16
    uint64_t offset;
    uint64_t operand[2], swap[2];  // swap: what is written if the value equals the operand (cas)
};
struct AnswerBody {
    uint64_t request;
    Status status;
    uint32_t zero;
};
struct DrainBody {
    uint64_t request;
};
struct RefusedBody {
    uint64_t number;  // of the frame
    uint32_t window;
    Status status;
};

// Goes on from `crc`, which is 0 at first: crc32c(crc32c(0, a), b) is that of a and b together.
uint32_t crc32c(uint32_t crc, std::span<const std::byte> bytes);
// The same, and copies the bytes to `to`.
uint32_t crc32c_of_copy(uint32_t crc, std::span<const std::byte> bytes, std::byte* to);
// The same on any processor.
uint32_t crc32c_by_words(uint32_t crc, std::span<const std::byte> bytes);

using Bytes = std::vector<std::byte>;
// A frame with its body, which may come in two parts; acknowledged() and the header's sum are
// put in by seal(). `memory`: of a frame that is not needed any more.
Bytes make_frame(FrameType type, uint64_t number, std::span<const std::byte> body,
                 std::span<const std::byte> more = {}, Bytes memory = {});
void seal(Bytes& frame, uint64_t acknowledged);

struct Frame {
    FrameType type = FrameType::control;
    uint64_t number = 0, acknowledged = 0;
    std::span<const std::byte> body;  // until the next call of room()

    // The body's beginning as T; nothing: it is shorter.
    template <class T>
    std::optional<T> as() const {
        if (body.size() < sizeof(T)) return std::nullopt;
        T value;
        std::memcpy(&value, body.data(), sizeof value);
        return value;
    }
};

// Bytes in, frames out. Holds one frame of the largest size and what was read along with it.
class FrameParser {
  public:
    explicit FrameParser(uint32_t most_body_bytes);
    // Where the next bytes are to be put; never empty. next() has been called to the end before.
    std::span<std::byte> room();
    void filled(size_t bytes) { end_ += bytes; }
    // Nothing: more bytes are needed. An Error says which rule the bytes break; nothing more can be
    // read then.
    Result<std::optional<Frame>> next();
    bool inside_frame() const { return begin_ != end_; }

  private:
    const uint32_t most_;
    const size_t capacity_;
    std::unique_ptr<std::byte[]> buffer_;
    size_t begin_ = 0, end_ = 0;
};

}  // namespace sassemu::link
