// SPDX-License-Identifier: Apache-2.0
// A bounded text writer for the printer, and the number formats that nvdisasm uses.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sassdec {

class Text {
  public:
    Text(char* out, std::size_t size) : out_(out), size_(size) {}
    void put(char c) {
        if (length_ + 1 < size_) out_[length_] = c;
        ++length_;
    }
    void put(const char* s) {
        while (*s) put(*s++);
    }
    void put(const char* s, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) put(s[i]);
    }
    void dec(std::uint64_t v) {
        char buf[20];
        int n = 0;
        do buf[n++] = static_cast<char>('0' + v % 10);
        while (v /= 10);
        while (n) put(buf[--n]);
    }
    void hex(std::uint64_t v) {
        put('0');
        put('x');
        int shift = 60;
        while (shift > 0 && !(v >> shift & 15)) shift -= 4;
        for (; shift >= 0; shift -= 4) put("0123456789abcdef"[v >> shift & 15]);
    }
    void signed_hex(std::int64_t v) {
        if (v < 0) put('-');
        hex(v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v));
    }
    void float32(std::uint32_t bits, bool snan = false);  // snan: says SNAN of a signalling NaN
    void float64(std::uint64_t bits);
    void float16(std::uint16_t bits);
    void bfloat16(std::uint16_t bits);
    // Drops a final blank: names of special floats carry one, which only shows inside a line.
    void trim() {
        if (length_ && length_ < size_ && out_[length_ - 1] == ' ') --length_;
    }
    // Terminates the text; its length, or -1 when it did not fit.
    int finish() {
        if (size_ == 0) return -1;
        out_[length_ < size_ ? length_ : size_ - 1] = 0;
        return length_ < size_ ? static_cast<int>(length_) : -1;
    }

  private:
    char* out_;
    std::size_t size_;
    std::size_t length_ = 0;
};

}  // namespace sassdec
