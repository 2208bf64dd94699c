// SPDX-License-Identifier: Apache-2.0
// NVSHMEM's processing elements on a machine: PE i is GPU i. Symmetric heaps, the state that device
// code finds, and what the host and streams do. An operation is a list of steps, so that the same
// list can be done by a host thread, which waits, and by a stream. What does not belong here: the
// order of deliveries (delivery.hpp), the names of the API (host_api.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/machine.hpp"
#include "emu/nvshmem/delivery.hpp"

namespace sassemu::nvshmem {

struct Options {
    uint32_t pes = 1;
    uint64_t heap_bytes = 1 << 20;  // of each PE, for the user
    // PEs of a node reach each other's heaps (NVLink); all others are reached by the proxy
    // (InfiniBand). 0: all are of one node.
    uint32_t node = 0;
    bool proxy = false;       // nobody is reached directly, also not within a node
    bool infiniband = false;  // deliveries are visible at their target only; with nodes always
    AgentOrder order = AgentOrder::eager;
    uint64_t seed = 0;
};

struct Step {
    std::string waits;            // "for ...", where there is a `ready`
    std::function<bool()> ready;  // none: at once
    std::function<Result<void>()> act;
};
using Steps = std::vector<Step>;

// A place on another PE, by the caller's own address of it.
struct Remote {
    uint32_t pe = 0;
    uint64_t address = 0;
};
struct Signal {
    uint64_t address = 0, value = 0;
    uint32_t operation = 0;  // SASSEMU_NVSHMEM_ADD or SWAP; 0: there is none
};
struct Atomic {
    uint32_t operation = SASSEMU_NVSHMEM_ADD, bytes = 4;
    uint64_t value = 0, compare = 0;
    Local fetched{};   // where the value goes that was there; nowhere: not wanted
    bool nbi = false;  // fetched is written at any time up to quiet
};

// How elements are reduced: into the first.
using Combine = std::function<void(std::byte* into, const std::byte* other, uint64_t count)>;

class World {
  public:
    // The machine's GPUs 0 to pes - 1 belong to it from now on, and it must go before the machine.
    static Result<std::unique_ptr<World>> create(Machine& machine, const Options& options);
    ~World();

    Machine& machine() const { return machine_; }
    uint32_t pes() const { return options_.pes; }
    uint64_t heap(uint32_t pe) const { return heaps_[pe]; }
    // Nothing: there is no such team.
    std::optional<sassemu_nvshmem_team_info> team(uint32_t pe, int32_t team) const;
    // The other PE's copy of what `address` is for this one; 0: it is not reached directly.
    uint64_t pointer(uint32_t pe, uint64_t address, uint32_t other) const;

    // Writes the state into the module, where it has a variable for it; false: it has none.
    Result<bool> bind(uint32_t pe, ModuleId module);

    // Symmetric memory: each PE calls with the same sequence of arguments, and gets the same place
    // in its heap. Zeros at first. An Error: no room, or another PE has called with other ones.
    Result<uint64_t> allocate(uint32_t pe, uint64_t bytes, uint64_t align = 256);
    Result<void> release(uint32_t pe, uint64_t address);

    // ---- what a PE can do
    Steps put(Issuer from, Remote dest, Local source, uint64_t bytes, bool nbi, Signal signal = {});
    Steps get(Issuer from, Local dest, Remote source, uint64_t bytes, bool nbi);
    Steps atomic(Issuer from, Remote dest, Atomic atomic);
    Steps fence(Issuer from);
    Steps quiet(Issuer from);
    // Until met(); it may look at the PE's own heap by word().
    Steps wait(std::string what, std::function<bool()> met);
    Steps sync(Issuer from, int32_t team);
    Steps barrier(Issuer from, int32_t team);
    Steps broadcast(Issuer from, int32_t team, uint64_t dest, uint64_t source, uint64_t bytes,
                    int32_t root);
    Steps fcollect(Issuer from, int32_t team, uint64_t dest, uint64_t source, uint64_t bytes);
    Steps alltoall(Issuer from, int32_t team, uint64_t dest, uint64_t source, uint64_t bytes);
    Steps reduce(Issuer from, int32_t team, uint64_t dest, uint64_t source, uint64_t count,
                 uint64_t element_bytes, Combine combine);

    // By the calling host thread.
    Result<void> run(Steps steps);
    // In the order of the stream, which is the PE's. What fails there is told by failed().
    Result<void> put_into(StreamId stream, Steps steps);
    // The host waits until nothing is on its way. The first failure of all, if there is one.
    Result<void> finish();
    Result<void> failed();

    // 1 to 8 bytes of memory, as it is now.
    std::function<uint64_t()> word(uint64_t address, uint32_t bytes);

  private:
    World(Machine& machine, const Options& options) : machine_(machine), options_(options) {}
    Result<void> make();
    Result<uint64_t> offset(uint32_t pe, uint64_t address, uint64_t bytes) const;
    Result<void> check_team(const Issuer& from, int32_t team) const;
    bool direct(uint32_t pe, uint32_t other) const;
    Result<void> copy(Local to, Local from, uint64_t bytes);
    Result<void> change(const Issuer& from, Remote dest, uint32_t operation, uint64_t value);
    Result<void> put_now(const Issuer& from, Remote dest, Local source, uint64_t bytes, bool nbi,
                         Signal signal);
    Result<std::function<bool()>> get_now(const Issuer& from, Local dest, Remote source,
                                          uint64_t bytes, bool nbi);
    void note(const Result<void>& result);
    sassemu_nvshmem_device_state state(uint32_t pe) const;

    // Who has allocated what, in the order of the calls: PEs repeat each other.
    struct Call {
        uint64_t bytes, align, offset;  // a release: bytes is 0
    };

    Machine& machine_;
    const Options options_;
    std::vector<uint64_t> heaps_, windows_, rings_;
    std::vector<std::byte*> heads_;  // of heaps, where the host finds the meetings
    std::mutex mutex_;
    std::vector<Call> calls_;
    std::vector<size_t> called_;          // by each PE
    std::map<uint64_t, uint64_t> taken_;  // offset -> end
    Result<void> failed_;
    std::unique_ptr<Delivery> delivery_;  // null: everybody is reached directly
};

}  // namespace sassemu::nvshmem
