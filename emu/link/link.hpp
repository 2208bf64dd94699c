// SPDX-License-Identifier: Apache-2.0
// The link: processes that share a machine, each with a rank, reach each other's memory through
// windows that its owner registers. What belongs here: what the rest of the emulator needs of it.
// What does not: what is in the windows. See docs/machine.md ("The link").
//
// The owner performs an access; nothing outside its windows can be touched. Posted operations (put,
// reduce) to one rank are performed in the order of the calls; drain() returns when they have been.
// On one host, through Unix sockets, a window's memory may be had itself (descriptor()).
//
// Any thread may call. Every call ends: with an Error once the other rank has ended, or no frame
// gets through to it for SessionLimits::give_up.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/link/security.hpp"
#include "emu/link/session.hpp"
#include "emu/link/windows.hpp"
#include "emu/machine/port.hpp"

namespace sassemu::link {

struct LinkOptions {
    uint32_t rank = 0;
    std::vector<std::string> addresses;  // of all ranks, by rank; see address.hpp
    std::string job;                     // what all ranks must have in common
    Security security;                   // of TCP; without it TCP stays on this host
    SessionLimits limits;
    uint32_t most_windows = 4096;
    uint32_t most_connections = 64;              // that have not said who they are
    std::chrono::milliseconds patience{30'000};  // until all ranks are there
};

struct AtomicRequest {
    uint32_t window = 0, bytes = 4;  // 2, 4, 8 or 16
    uint64_t offset = 0;
    AtomicOp op = AtomicOp::add;
    AtomicType type = AtomicType::u32;
    uint64_t operand[2] = {}, swap[2] = {};  // swap: for cas
};
struct Wide128 {
    uint64_t low = 0, high = 0;
};

class Link {
  public:
    static constexpr uint32_t most_ranks = 1024;
    // Listens at the own address and begins to look for the others. An Error: an address or key
    // that cannot be used, or that may not be.
    static Result<std::unique_ptr<Link>> create(LinkOptions options);
    virtual ~Link() = default;

    // All ranks are there, and have come to this point as often as this one.
    virtual Result<void> meet() = 0;

    virtual Result<uint32_t> add_window(const Window& window) = 0;
    // Nobody touches its memory through the link any more when this returns.
    virtual Result<void> remove_window(uint32_t id) = 0;
    struct RemoteWindow {
        uint32_t id = 0;
        Window window;
    };
    // What the other rank has registered so far.
    virtual std::vector<RemoteWindow> windows(uint32_t rank) = 0;
    // The memory of such a window, to be mapped and closed. Unix sockets only.
    virtual Result<int> descriptor(uint32_t rank, uint32_t window) = 0;

    virtual Result<void> put(uint32_t rank, uint32_t window, uint64_t offset,
                             std::span<const std::byte> bytes) = 0;
    virtual Result<void> get(uint32_t rank, uint32_t window, uint64_t offset,
                             std::span<std::byte> bytes) = 0;
    // What was there.
    virtual Result<Wide128> atomic(uint32_t rank, const AtomicRequest& what) = 0;
    // The same, answered later: `then` is called once, perhaps on a thread of the link's, and must
    // not call the link. At most SessionLimits::frame_bytes less 32 bytes.
    using Then = std::function<void(const Session::Answer& answer)>;
    virtual void get_later(uint32_t rank, uint32_t window, uint64_t offset,
                           std::span<std::byte> bytes, Then then) = 0;
    virtual void atomic_later(uint32_t rank, const AtomicRequest& what, Then then) = 0;
    // As get(), by who only looks on: it does not count as something that is on its way.
    virtual Result<void> look(uint32_t rank, uint32_t window, uint64_t offset,
                              std::span<std::byte> bytes) = 0;
    virtual Result<void> reduce(uint32_t rank, const AtomicRequest& what) = 0;
    // All posted operations to the rank have been performed. An Error also: one of them since the
    // last drain touched nothing.
    virtual Result<void> drain(uint32_t rank) = 0;

    // For deadlocks across ranks. `progress` tells whether anything of this process can go on;
    // `stuck` is called once, when nothing can in any rank. Called on a thread of the link's.
    struct Progress {
        bool parked = false;  // nothing can, unless memory changes
        uint64_t epoch = 0;   // changes whenever something has run
        uint64_t looks = 0;   // how often it has looked in this epoch at all that it waits for
    };
    virtual void watch(std::function<Progress()> progress, std::function<void()> stuck) = 0;
    // A rank has failed or left before the work was over: called once for each, on a thread of the
    // link's.
    virtual void on_loss(std::function<void(uint32_t rank, const std::string& why)> lost) = 0;
    // Empty: the rank is there.
    virtual std::string failure(uint32_t rank) = 0;
};

}  // namespace sassemu::link
