// SPDX-License-Identifier: Apache-2.0
// The container of a trace file: its first and last frame, and blocks as zstd frames. Written by
// plugins/trace, read by reader.cpp. Not installed.
#pragma once

#include <zstd.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include <sassemu/trace.pb.h>

namespace sassemu::trace {

// Skippable frames: magic number, size of what follows (both 32 bits, little-endian).
inline constexpr uint32_t first_magic = 0x184D2A57, last_magic = 0x184D2A58;
inline constexpr char file_mark[] = "sassemu trace 1\n", end_mark[] = "sastrace";
inline constexpr size_t mark_bytes = sizeof file_mark - 1, end_mark_bytes = sizeof end_mark - 1;
inline constexpr size_t frame_head = 8, end_bytes = 8 + end_mark_bytes;
inline constexpr size_t most_block_bytes = size_t{1} << 28;  // more is no block of ours
inline constexpr size_t most_records = size_t{1} << 22;      // of a block

inline void put(std::string& to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> 8 * i);
}
inline uint64_t get(const char* from, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= uint64_t{static_cast<unsigned char>(from[i])} << 8 * i;
    return value;
}
inline std::string skippable(uint32_t magic, const std::string& content) {
    std::string frame;
    put(frame, magic, 4);
    put(frame, content.size(), 4);
    return frame + content;
}
inline std::string first_frame() { return skippable(first_magic, file_mark); }
// At the end, so that it is found from there: where the frame begins, and the mark.
inline std::string last_frame(const Index& index, uint64_t at) {
    std::string content = index.SerializeAsString();
    put(content, at, 8);
    return skippable(last_magic, content + end_mark);
}

inline std::string compressed(const std::string& bytes, int level, ZSTD_CCtx* context) {
    std::string frame(ZSTD_compressBound(bytes.size()), '\0');
    const size_t size =
        ZSTD_compressCCtx(context, frame.data(), frame.size(), bytes.data(), bytes.size(), level);
    if (ZSTD_isError(size)) throw std::runtime_error(ZSTD_getErrorName(size));
    frame.resize(size);
    return frame;
}

}  // namespace sassemu::trace
