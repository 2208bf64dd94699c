// SPDX-License-Identifier: Apache-2.0
// Which memory of this process somebody has touched since it was mapped: what nobody has is zeros,
// and costs nothing until somebody looks. Nothing else belongs here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace sassemu {

class PageMap {
  public:
    PageMap();  // opens a file: later the process may be allowed to open nothing
    PageMap(const PageMap&) = delete;
    PageMap& operator=(const PageMap&) = delete;
    ~PageMap();
    // The first pages of [begin, begin + bytes), of a private mapping without a file, that are in
    // memory or swapped out, cut to that range: offsets of their begin and end, both `bytes` if
    // there are none. All of it where the host does not tell.
    std::pair<uint64_t, uint64_t> touched(const std::byte* begin, uint64_t bytes) const;

  private:
    int descriptor_, process_;
};

// A Gpu that knows it of its buffers: the same for a range of one allocation.
class TouchedMemory {
  public:
    virtual ~TouchedMemory() = default;
    virtual std::pair<uint64_t, uint64_t> touched(uint64_t address, uint64_t bytes) = 0;
};

}  // namespace sassemu
