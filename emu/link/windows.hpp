// SPDX-License-Identifier: Apache-2.0
// The windows of this process: what memory others may touch. What belongs here: registering it, and
// performing what others ask for, which is checked against the window byte by byte. What does not:
// who asks (session.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/link/frame.hpp"

namespace sassemu {
class SeenMemory;  // machine/outside.hpp
}

namespace sassemu::link {

struct Window {
    uint64_t address = 0;  // as all ranks know it
    uint64_t bytes = 0;
    std::byte* host = nullptr;  // of a window of this process
    std::string name;
    bool writable = true;
    int descriptor = -1;  // of this process: whose memory it is (memfd); -1: it is not shared
    bool shared = false;  // of another process: it has such a descriptor
    SeenMemory* seen = nullptr;  // performs what is asked for; null: on the bytes themselves
};

// Any thread may call.
class Windows {
  public:
    explicit Windows(uint32_t most) : most_(most) {}
    // The number of the window, never given twice. The memory stays until remove() has returned.
    Result<uint32_t> add(const Window& window);
    // Returns when nobody is in it any more.
    Result<void> remove(uint32_t id);
    std::vector<std::pair<uint32_t, Window>> all() const;
    // A copy of its descriptor, which the caller closes; -1: there is none.
    int descriptor(uint32_t id) const;

    Status put(uint32_t id, uint64_t offset, std::span<const std::byte> bytes);
    Status get(uint32_t id, uint64_t offset, std::span<std::byte> bytes) const;
    // `old`: what was there.
    Status atomic(const AtomicBody& what, uint64_t old[2]);

  private:
    // Calls f(window) while it stays.
    template <class F>
    Status within(uint32_t id, uint64_t offset, uint64_t bytes, bool write, F&& f) const;

    const uint32_t most_;
    mutable std::shared_mutex mutex_;
    std::map<uint32_t, Window> windows_;
    uint32_t last_ = 0;
};

}  // namespace sassemu::link
