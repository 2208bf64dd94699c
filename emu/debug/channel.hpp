// SPDX-License-Identifier: Apache-2.0
// Messages between the debugger and the processes that run the program: JSON behind its length, and
// a descriptor where one goes along. What belongs here: moving them. What they say is in
// debuggee.hpp.
#pragma once

#include <optional>
#include <utility>

#include "emu/base/descriptor.hpp"
#include "emu/debug/json.hpp"

namespace sassemu::debug {

// One end of a stream of messages. A copy is another name for the same descriptor's owner: none.
class Channel {
  public:
    Channel() = default;
    explicit Channel(int descriptor) : descriptor_(descriptor) {}
    // Both ends; none where the host has no more descriptors.
    static std::optional<std::pair<Channel, Channel>> pair();

    bool open() const { return descriptor() >= 0; }
    int descriptor() const { return descriptor_.number(); }
    void close() { descriptor_.close(); }
    // False: nobody is at the other end. `passed`, if it is one, goes along, and stays open here.
    bool send(const Json& message, int passed = -1) const;
    // The next message; none: the other end is gone. `passed`: the descriptor that came, or -1.
    std::optional<Json> receive(int* passed = nullptr) const;
    // Whether receive() has something to read now.
    bool ready() const;
    // Whether nobody is at the other end of this descriptor.
    static bool is_gone(int descriptor);

  private:
    Descriptor descriptor_;
};

}  // namespace sassemu::debug
