// SPDX-License-Identifier: Apache-2.0
// A file descriptor that closes with its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace sassemu {

class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() { close(); }
    // Negative: none.
    int number() const { return number_; }
    // Not closed any more; who asks has it now.
    [[nodiscard]] int release() { return std::exchange(number_, -1); }
    void close() {
        if (number_ >= 0) ::close(number_);
        number_ = -1;
    }

  private:
    int number_ = -1;
};

}  // namespace sassemu
