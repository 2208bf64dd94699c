// SPDX-License-Identifier: Apache-2.0
// The device heap (malloc and free of kernels), a range of global memory. Its extent holds no bytes
// (Extent::holds() is false), so that every access comes to heap_bytes(), which knows the blocks:
// byte by byte what malloc() has given, and what free() has taken back. A block is known as freed
// until its bytes are given out again; before that, blocks wait in a queue of a quarter of the
// heap, the oldest first, as long as others can be found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "emu/machine/state_fill.hpp"
#include "emu/memory/address_space.hpp"

namespace sassemu {

// Of Extent::flags.
constexpr uint32_t heap_extent = 16;

// The host's bytes of [address, address + bytes) of an extent of any kind; nullptr: not there. In
// the heap an access lies in one block. It may be any size; locks nothing.
std::byte* bytes_of(const Extent& extent, uint64_t address, uint64_t bytes);
// Why not: freed by the host, or by free().
bool was_freed(const Extent& extent, uint64_t address);
// For messages: where in which block.
std::string describe_heap(const Extent& extent, uint64_t address);
// All of the heap: what bytes an extent covers, accessible or not.
uint64_t heap_size(const Extent& extent);

class DeviceHeap {
  public:
    ~DeviceHeap();
    // Makes an allocation of the space the heap. Once.
    Result<void> begin(const Extent& extent, uint64_t bytes, const StateFill& fill);
    uint64_t allocate(uint64_t bytes);  // 0: no room
    bool release(uint64_t address);     // false: not an allocation; 0 is fine
    // An allocation outside of the heap that release() takes once, as if it were a block. Its bytes
    // stay accessible.
    void adopt(uint64_t address);

  private:
    uint64_t take(uint64_t size);
    bool reuse_oldest();
    void mark(uint64_t address, uint64_t bytes);

    const Extent* extent_ = nullptr;
    StateFill fill_;
    uint64_t bytes_ = 0, fresh_ = 0;  // from fresh_ on nothing has been given out yet
    std::byte* table_ = nullptr;
    std::mutex mutex_;
    std::map<uint64_t, uint64_t> free_;  // start -> bytes, the gap behind a block included
    std::map<uint64_t, uint64_t> used_;
    std::set<uint64_t> adopted_;
    std::deque<std::pair<uint64_t, uint64_t>> freed_;  // and not to be given out yet
    uint64_t waiting_ = 0;                             // bytes of them
};

}  // namespace sassemu
