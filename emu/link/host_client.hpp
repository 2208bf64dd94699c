// SPDX-License-Identifier: Apache-2.0
// A host process as its service knows it, and the memory that such processes may use. What belongs
// here: requests for memory, checked byte by byte. What does not: when they are done
// (host_service.cpp).
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emu/link/host_connection.hpp"
#include "emu/machine/outside.hpp"
#include "emu/plan/plan.hpp"
#include "sdk/host/include/sassemu_host/host.h"

namespace sassemu::link {

struct Answer {
    sassemu_wire_answer head{};
    std::vector<std::byte> payload;
    int descriptor = -1;
};
int status_of(const Error& error);

struct HostClient {
    using Clock = std::chrono::steady_clock;
    explicit HostClient(Descriptor socket)
        : connection(std::move(socket)), process(connection.process()) {}

    HostConnection connection;
    const int process;  // pid
    uint32_t number = 0;
    // `answered`: it has waited, and the answer is still to be sent.
    enum class State : uint8_t { greeting, idle, asked, waiting, answered } state = State::greeting;
    bool hold = false;                 // launches wait for it
    bool gone = false;                 // its connection has ended
    std::atomic<bool> reaches{false};  // it has memory mapped
    Clock::time_point came = Clock::now(), heard = came;
    HostConnection::Request request{};  // while asked
    // While waiting; no condition: for the end of the launches.
    std::optional<ValueCondition> condition;
    std::optional<Clock::time_point> until;
    std::string waits_at;
    Result<bool> met = false;  // the last look

    std::string name() const {
        return "host process " + std::to_string(number) + " (pid " + std::to_string(process) + ")";
    }
    bool may_act() const {
        if (gone || state == State::greeting) return false;
        return state != State::waiting || until || reaches;
    }
    Clock::time_point deadline(Clock::duration hello_within) const {
        if (state == State::greeting) return came + hello_within;
        return state == State::waiting && until ? *until : Clock::time_point::max();
    }
    void send(const sassemu_wire_answer& head, std::span<const std::byte> payload,
              int descriptor = -1);
    void fail(int status, const std::string& why);
};

// The buffers of the plan, and what processes have registered. Not for several threads at once.
class HostWindows {
  public:
    Result<void> add(OutsideMemory& memory, const plan::Buffer& buffer, uint32_t gpu,
                     uint64_t address, bool direct);
    // Whether the bytes themselves may be had.
    bool direct() const { return direct_; }
    // What a request asks for that is no wait.
    Result<Answer> perform(Machine& machine, OutsideMemory& memory, HostClient& client);
    // Nothing: it does not wait for a value.
    Result<std::optional<ValueCondition>> condition(const sassemu_wire_request& request);
    std::string place(const sassemu_wire_request& request) const;
    void release_all(Machine& machine, uint32_t owner);

  private:
    static constexpr size_t most_registered = 256;
    struct One {
        std::string name;
        uint32_t kind = 0, gpu = 0;
        uint64_t address = 0, bytes = 0;
        Descriptor memory;   // its bytes
        uint32_t owner = 0;  // the process that registered it; 0: the plan
        bool gone = false;
    };
    Result<One*> find(uint32_t id);
    // Where it is for kernels.
    Result<uint64_t> bytes_at(uint32_t id, uint64_t offset, uint64_t bytes);
    Answer list(uint64_t from) const;
    Result<Answer> map(HostClient& client);
    Result<Answer> register_memory(Machine& machine, OutsideMemory& memory, HostClient& client);
    Result<Answer> unregister(Machine& machine, HostClient& client);

    std::vector<One> all_;  // by id, from 1
    bool direct_ = false;
};

}  // namespace sassemu::link
