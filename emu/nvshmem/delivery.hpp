// SPDX-License-Identifier: Apache-2.0
// What is on its way between PEs that do not reach each other's memory: the proxy takes requests of
// kernels and of the host, and delivers them in any order that NVSHMEM's rules allow. The rules are
// those of docs/litmus.md, section 6 (plugins/nvshmem has them as a machine for exploration):
//
// (a) what a thread issued before its fence arrives at a PE before what it issues behind it for
// that
//     PE; never a get, nor the value that a nbi atomic fetches;
// (b) operations of a thread on the same bytes arrive in order;
// quiet waits for all of that, for the calling thread and its side only.
//
// What does not belong here: the API, heaps, teams (world.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "emu/machine.hpp"
#include "sassemu_nvshmem/state.h"

namespace sassemu::nvshmem {

// Bytes that are moved at a time.
inline constexpr uint64_t piece = 1 << 20;

// Who issued something: threads of a kernel, a thread of the host, or a stream.
struct Issuer {
    enum class Side : uint8_t { device, host, stream };
    uint32_t pe = 0;
    Side side = Side::host;
    uint64_t group = 0;  // device: the launch; host: the thread; stream: its number
    uint32_t cta = 0, first = 0, threads = 1;
    bool on_gpu() const { return side != Side::host; }
    bool overlaps(const Issuer& o) const {
        return pe == o.pe && side == o.side && group == o.group && cta == o.cta &&
               first < o.first + o.threads && o.first < first + threads;
    }
};

// Memory on the issuer's side: of the machine, or of the host's program.
struct Local {
    uint64_t address = 0;
    std::byte* host = nullptr;
    bool nowhere() const { return !address && !host; }
};

struct Transfer {
    uint32_t operation = SASSEMU_NVSHMEM_PUT;
    Issuer from;
    uint32_t to = 0;      // the PE
    uint64_t remote = 0;  // bytes from the start of its heap
    uint64_t bytes = 0;
    Local local;                      // a put's source, where a get's or fetched bytes go
    bool nbi = false;                 // local is read or written at any time up to the end
    uint64_t value = 0, compare = 0;  // of an atomic
    bool fetches = false;
    std::function<void(uint64_t)> done;  // once it has arrived: the value that was there
    std::vector<std::byte> data;         // what the source had, or what a get has read

    enum class Stage : uint8_t { issued, read } stage = Stage::issued;
    uint64_t number = 0, behind = 0;  // behind: those with this number arrive first
    uint32_t fences = 0;              // of its issuer, since
    bool moving = false;
    // Changes nothing at the other PE (any more).
    bool is_get() const { return operation == SASSEMU_NVSHMEM_GET; }
};

class Delivery final : public MachineAgent {
  public:
    struct Options {
        AgentOrder order = AgentOrder::eager;  // lazy: as late as can be, the last first
        uint64_t seed = 0;
        bool infiniband =
            false;  // a write is seen by PEs other than its target at a time of its own
    };
    struct Place {  // of a PE
        uint64_t heap = 0, ring = 0;
    };
    Delivery(Machine& machine, std::vector<Place> places, uint32_t ring_slots, Options options);
    ~Delivery() override;

    // By the host's side. `signal` behind the transfer: a word, or none.
    Result<void> issue(Transfer transfer);
    Result<void> issue(Transfer transfer, Transfer signal);
    void fence(const Issuer& from);
    // Whether all is done that matches and was issued before now; of a stream: all of its PE's GPU.
    std::function<bool()> quiet(const Issuer& from);
    std::function<bool()> all_done();
    // What the PE reads from now on is as new as what it has met the others with.
    void met(uint32_t pe);
    // Takes what kernels have asked for.
    void take_requests();
    // The first failure, or nothing.
    Result<void> failed();

    // An atomic of a transfer, there.
    static Result<uint64_t> change(Machine& machine, uint64_t address, const Transfer& t);

    bool ready() override;
    void step() noexcept override;
    bool settle() override;

  private:
    struct Waiter {  // a quiet of a kernel's
        Issuer from;
        uint64_t last;
        uint64_t slot;
    };
    struct Spread {
        uint32_t viewer, owner;
        uint64_t offset;
        std::vector<std::byte> before;
    };
    using Held = std::shared_ptr<Transfer>;

    sassemu_nvshmem_request* slot(uint32_t pe, uint64_t ticket) const;
    bool asked(uint32_t pe) const;
    void take(uint32_t pe);
    Result<void> take(uint32_t pe, uint64_t ticket);
    Result<void> check(const Transfer& t) const;
    Result<void> read_source(Transfer& t);
    void add(Transfer t, std::vector<Held>& to);
    bool may_arrive(size_t index) const;
    bool quiet_by(const Issuer& from, uint64_t last) const;
    Held choose();
    Result<void> move(Transfer& t, bool& over);
    Result<uint64_t> change(const Transfer& t);
    Result<void> write(const Transfer& t);
    Result<void> read(const Transfer& t, std::vector<std::byte>& to);
    Result<void> to_local(const Transfer& t, std::span<const std::byte> bytes);
    void answer(uint64_t slot, uint64_t result);
    void answer_waiters();
    void spread(const Transfer& t, std::vector<std::byte> before);
    void spread_on();
    uint64_t random(uint64_t below);
    void note(const Result<void>& result);

    Machine& machine_;
    const std::vector<Place> places_;
    std::vector<sassemu_nvshmem_ring*> rings_;
    const uint32_t slots_;
    const Options options_;
    std::vector<uint64_t> tickets_;  // of each ring, the next; with taking_
    std::mutex taking_;              // one takes requests
    mutable std::mutex mutex_;       // short: no call into the machine under it
    std::vector<Held> flying_;       // in the order of their issue
    std::vector<Waiter> waiters_;
    std::vector<Spread> spreads_;
    uint64_t number_ = 0, random_ = 0;
    uint32_t hold_ = 0;    // asked so often before the next step
    bool forced_ = false;  // lazy: the next step is due
    Result<void> failed_;
};

}  // namespace sassemu::nvshmem
