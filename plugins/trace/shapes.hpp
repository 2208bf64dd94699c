// SPDX-License-Identifier: Apache-2.0
// How the addresses of an access lie, against the access before by the same instruction: most
// differ in where they begin only. trace.proto (Records.access_form) has the forms.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace tracing {

class Shapes {
  public:
    // The form of an access by this instruction; its numbers are put behind the others.
    uint8_t add(uint32_t id, const uint64_t* address, uint32_t lanes,
                std::vector<int64_t>& numbers);
    size_t bytes() const { return all_.size() * sizeof(Shape); }

  private:
    struct Shape {
        uint64_t begin = 0;  // of the last access
        uint32_t lanes = 0;
        uint64_t address[32];  // of the last one that did not lie as the one before
    };
    static constexpr uint32_t in_page = 64;
    std::vector<std::unique_ptr<std::array<uint32_t, in_page>>> pages_;  // by id: index + 1
    std::vector<Shape> all_;
};

}  // namespace tracing
