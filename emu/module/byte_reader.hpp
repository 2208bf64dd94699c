// SPDX-License-Identifier: Apache-2.0
// Bounds-checked little-endian reads from a byte span.
// Belongs here: the one way the loader touches file bytes. Does not belong here: any format.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include "emu/module/module.hpp"

namespace sassemu {

// A sub-span, or nullopt when [offset, offset+size) leaves the bytes.
[[nodiscard]] inline std::optional<Bytes> slice(Bytes bytes, std::uint64_t offset,
                                                std::uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
    return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

template <class T>
[[nodiscard]] std::optional<T> read_at(Bytes bytes, std::uint64_t offset) {
    static_assert(std::is_integral_v<T>);
    const auto part = slice(bytes, offset, sizeof(T));
    if (!part) return std::nullopt;
    std::make_unsigned_t<T> value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value |= static_cast<std::make_unsigned_t<T>>(
            static_cast<std::make_unsigned_t<T>>((*part)[i]) << (8 * i));
    }
    return static_cast<T>(value);
}

// The NUL-terminated text at `offset`, or nullopt when no NUL follows inside the bytes.
[[nodiscard]] inline std::optional<std::string_view> c_string_at(Bytes bytes,
                                                                 std::uint64_t offset) {
    if (offset >= bytes.size()) return std::nullopt;
    const auto* start = reinterpret_cast<const char*>(bytes.data()) + offset;
    const auto* end = static_cast<const char*>(
        std::memchr(start, 0, bytes.size() - static_cast<std::size_t>(offset)));
    if (end == nullptr) return std::nullopt;
    return std::string_view(start, static_cast<std::size_t>(end - start));
}

// A cursor. A read beyond the end sets failed() and yields 0; the caller asks once at the end of
// a record instead of after every field.
class ByteReader {
  public:
    explicit ByteReader(Bytes bytes, std::uint64_t position = 0)
        : bytes_(bytes), position_(position) {
        if (position_ > bytes_.size()) fail();
    }

    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] std::uint64_t position() const { return position_; }
    [[nodiscard]] std::uint64_t remaining() const {
        return failed_ ? 0 : bytes_.size() - position_;
    }
    [[nodiscard]] bool at_end() const { return remaining() == 0; }

    template <class T>
    T take() {
        const auto value = failed_ ? std::nullopt : read_at<T>(bytes_, position_);
        if (!value) {
            fail();
            return 0;
        }
        position_ += sizeof(T);
        return *value;
    }

    Bytes take_bytes(std::uint64_t count) {
        const auto part = failed_ ? std::nullopt : slice(bytes_, position_, count);
        if (!part) {
            fail();
            return {};
        }
        position_ += count;
        return *part;
    }

    std::string_view take_c_string() {
        const auto text = failed_ ? std::nullopt : c_string_at(bytes_, position_);
        if (!text) {
            fail();
            return {};
        }
        position_ += text->size() + 1;
        return *text;
    }

    // Unsigned and signed LEB128 (DWARF 5 section 7.6); bits beyond 64 are dropped.
    std::uint64_t take_uleb() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = take<std::uint8_t>();
            if (failed_) return 0;
            if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
            if ((byte & 0x80U) == 0) return value;
        }
    }
    std::int64_t take_sleb() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;;) {
            const auto byte = take<std::uint8_t>();
            if (failed_) return 0;
            if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
            shift += 7;
            if ((byte & 0x80U) == 0) {
                if (shift < 64 && (byte & 0x40U) != 0) value |= ~std::uint64_t{0} << shift;
                return static_cast<std::int64_t>(value);
            }
        }
    }

    void skip(std::uint64_t count) { (void)take_bytes(count); }
    void fail() {
        failed_ = true;
        position_ = bytes_.size();
    }

  private:
    Bytes bytes_;
    std::uint64_t position_ = 0;
    bool failed_ = false;
};

}  // namespace sassemu
