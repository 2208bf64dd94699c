// SPDX-License-Identifier: Apache-2.0
// Several GPUs and the host thread at work together: streams, events, copies, memory that all of
// them reach. What belongs here: what a program needs to have many things in flight. One GPU that
// runs one launch after the other needs emu/gpu.hpp only. See docs/machine.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/gpu.hpp"

namespace sassemu {

struct StreamId {
    uint32_t gpu = 0;
    uint32_t index = 0;  // 0: the legacy default stream of the GPU
    bool operator==(const StreamId&) const = default;
};
struct StreamOptions {
    std::string name;           // for reports
    int32_t priority = 0;       // the lower, the earlier: pending CTAs and turns, never a guarantee
    bool non_blocking = false;  // does not wait for the legacy stream, nor that one for it
};
using EventId = uint32_t;
using OperationId = uint64_t;

// As cuStreamWaitValue: v the value in memory, w the one that is given.
enum class ValueTest : uint8_t {
    at_least,   // the difference v - w, taken as signed, is not negative
    equal,      // v == w
    any_bit,    // v & w is not 0
    clear_bit,  // ~(v | w) is not 0
    not_equal,  // v != w; of the host's waits, streams do not have it
};
struct ValueCondition {
    uint64_t address = 0;  // a multiple of `bytes`
    uint32_t bytes = 4;    // 4 or 8
    ValueTest test = ValueTest::at_least;
    uint64_t value = 0;
};
enum class HostAtomic : uint8_t { add, exchange, bit_and, bit_or, bit_xor, min, max, compare };

// One side of a copy: rows `pitch` bytes apart, slices `slice` bytes apart (0: one after the
// other).
struct CopySide {
    uint64_t address = 0;
    uint64_t pitch = 0, slice = 0;
    bool own = false;  // the program's own memory, at its own address, which no GPU reaches
};
struct BoxCopy {
    CopySide to, from;
    uint64_t width = 0, height = 1, depth = 1;  // bytes, rows, slices
};
struct RowFill {
    uint64_t address = 0, pitch = 0;
    uint64_t width = 0, height = 1;   // bytes, rows
    uint32_t value = 0, element = 1;  // of 1, 2 or 4 bytes
};
struct EventTime {
    uint64_t virtual_ns = 0, host_ns = 0;  // of the machine; of the host's steady clock
};

struct Finished {
    LaunchResult result;  // of a copy or another operation: its status and message only
    uint64_t order = 0;   // operations that end earlier have lower numbers
};

// Who works beside the streams and the host, as a network card does, and takes turns with all that
// is in flight. ready() and settle() are asked with the machine's lock held: they must not call the
// machine.
class MachineAgent {
  public:
    virtual ~MachineAgent() = default;
    virtual bool ready() = 0;
    // Some of its work. It may use the machine's memory, and waits for nobody.
    virtual void step() noexcept = 0;
    // Nothing else can run: it may give up holding things back. True: now it is ready.
    virtual bool settle() = 0;
};

// Any thread may call. With GpuOptions::deterministic, a seed, a model or a plugin that wants one
// worker, GPUs run only while a call here waits, and for one turn at every access to memory:
// what happens then depends on nothing but the calls of one host thread.
class Machine {
  public:
    static constexpr uint32_t most_gpus = 1024;
    // 1 to most_gpus GPUs, each with its profile; options.device is not looked at.
    static Result<std::unique_ptr<Machine>> create(GpuOptions options,
                                                   std::vector<DeviceProfile> gpus);
    static Result<std::unique_ptr<Machine>> create(GpuOptions options,
                                                   std::vector<DeviceProfile> gpus,
                                                   std::shared_ptr<class Hooks> hooks,
                                                   const class StateFill& fill,
                                                   class Stepper* stepper = nullptr);
    virtual ~Machine() = default;

    virtual uint32_t gpus() const = 0;
    // Made when it is first asked for. Gpu::launch() is a launch in the legacy stream, waited for.
    virtual Result<Gpu*> gpu(uint32_t index) = 0;
    // Gives the memory of a module of Gpu::load() back. None of its kernels may be in flight.
    virtual Result<void> unload(uint32_t gpu, ModuleId module) = 0;
    // Of launches from now on: bytes of stack per thread, at least.
    virtual void set_stack(uint64_t bytes) = 0;
    // Whether kernels of `from` reach the device memory of `to`. Off at first.
    virtual Result<void> peer_access(uint32_t from, uint32_t to, bool on) = 0;

    // ---- memory. Addresses of all GPUs and of the host are one space; no two allocations overlap.
    // Memory of the host that all GPUs reach (pinned and mapped, or managed).
    virtual Result<uint64_t> allocate_host(uint64_t bytes, std::string name,
                                           uint64_t address = 0) = 0;
    // Memory of a GPU that all GPUs reach, whatever peer_access() says.
    virtual Result<uint64_t> allocate_shared(uint32_t gpu, uint64_t bytes, std::string name,
                                             uint64_t address = 0) = 0;
    // A multicast object, as of cuMulticastCreate with memory bound: addresses that all GPUs reach
    // and that stand for `bytes` at each of `members`. multimem.st and multimem.red of a kernel go
    // to all of them, whatever peer_access() says, multimem.ld_reduce combines them. Nothing else
    // can be done there, by kernels or by the host.
    virtual Result<uint64_t> allocate_multicast(const std::vector<uint64_t>& members,
                                                uint64_t bytes, std::string name,
                                                uint64_t address = 0) = 0;
    // Memory that the program has, at its own address, which all GPUs reach from now on. The byte
    // behind its last page may be read.
    virtual Result<uint64_t> adopt_host(std::byte* at, uint64_t bytes, std::string name) = 0;
    // Of any kind. Who uses it in a kernel meanwhile gets a fault from its next turn on.
    virtual Result<void> release(uint64_t address) = 0;
    // By the host, while anything may be in flight. An aligned 8 bytes are read or written at once;
    // each call is ordered after those before it and before those behind it, for all GPUs.
    virtual Result<void> write(uint64_t address, std::span<const std::byte> bytes) = 0;
    virtual Result<void> read(uint64_t address, std::span<std::byte> bytes) = 0;
    // Of 4 or 8 bytes, aligned; what was there. `compare`: what must be there for
    // HostAtomic::compare.
    virtual Result<uint64_t> atomic(uint64_t address, uint32_t bytes, HostAtomic op, uint64_t value,
                                    uint64_t compare = 0) = 0;
    // The host thread waits. An Error of code `limit` with a report: nothing can ever change it.
    virtual Result<void> wait_until(const ValueCondition& condition) = 0;
    // The same for anything that GPUs, agents and other threads change. `what` completes "the host
    // waits ..."; `met` is asked with the machine's lock held and must not call the machine.
    virtual Result<void> wait_until(std::string what, std::function<bool()> met) = 0;
    // Where the host's own loads and stores (std::atomic_ref) find memory of allocate_host().
    virtual Result<std::byte*> host_pointer(uint64_t address, uint64_t bytes) = 0;

    // ---- streams. What is put into one runs in its order; streams wait for each other by events
    // and by the legacy stream's rule only.
    virtual Result<StreamId> create_stream(uint32_t gpu, StreamOptions options) = 0;
    // The default stream of the calling thread on that GPU.
    virtual Result<StreamId> thread_stream(uint32_t gpu) = 0;
    // Errors as of Gpu::launch(); how it ended is told by result().
    virtual Result<OperationId> launch(StreamId stream, const LaunchRequest& request) = 0;
    virtual Result<OperationId> copy(StreamId stream, uint64_t to, uint64_t from,
                                     uint64_t bytes) = 0;
    virtual Result<OperationId> copy(StreamId stream, const BoxCopy& box) = 0;
    virtual Result<OperationId> fill(StreamId stream, const RowFill& rows) = 0;
    // In the order of the stream a 4- or 8-byte store, behind a fence of system scope.
    virtual Result<OperationId> write_value(StreamId stream, uint64_t address, uint32_t bytes,
                                            uint64_t value) = 0;
    virtual Result<OperationId> wait_value(StreamId stream, const ValueCondition& condition) = 0;
    // A function of the host's. It may wait for what is in flight, unless GPUs run only while the
    // host waits (above).
    virtual Result<OperationId> call(StreamId stream, std::function<void()> function) = 0;
    // As call(), not before `ready` says so. `what` completes "waits ..."; `ready` is as `met` of
    // wait_until().
    virtual Result<OperationId> call_when(StreamId stream, std::string what,
                                          std::function<bool()> ready,
                                          std::function<void()> function) = 0;
    // Takes turns from now on, until it is removed, which waits for the end of its turn.
    virtual void add_agent(MachineAgent& agent) = 0;
    virtual void remove_agent(MachineAgent& agent) = 0;
    virtual EventId create_event() = 0;
    virtual Result<void> record(EventId event, StreamId stream) = 0;
    // As record(); when it is reached, `when` is set, which must live so long.
    virtual Result<void> record(EventId event, StreamId stream,
                                std::shared_ptr<EventTime> when) = 0;
    // What is put into the stream from now on waits for the last record; none: does not wait.
    virtual Result<void> wait_event(StreamId stream, EventId event) = 0;

    // ---- the host waits. Errors as of wait_until().
    virtual Result<void> synchronize() = 0;
    virtual Result<void> synchronize(StreamId stream) = 0;
    virtual Result<void> synchronize(EventId event) = 0;
    virtual Result<bool> done(EventId event) = 0;
    // Waits; of each operation once.
    virtual Result<Finished> result(OperationId operation) = 0;
    // Until so much virtual time has passed: a nanosecond for each warp instruction that is issued,
    // and at once where nothing can run.
    virtual Result<void> sleep(uint64_t nanoseconds) = 0;
    // A thread that may act while others wait: as long as one of these does not wait, no deadlock
    // is declared.
    virtual void attach_thread() = 0;
    virtual void detach_thread() = 0;

    // Nothing is in flight, and nothing waits in a stream.
    virtual bool idle() = 0;
    virtual bool idle(StreamId stream) = 0;
    // Asked with the machine's lock held when a launch, copy or other operation has ended; it must
    // not call the machine. From then on results are not kept for result().
    virtual void on_end(
        std::function<void(StreamId stream, const std::string& what, const LaunchResult&)>
            ended) = 0;
    // Of all that is put into streams from now on together; seconds from now.
    virtual void set_limits(const Limits& limits) = 0;
    // What is in flight ends (status `interrupted`). Safe from a signal handler.
    virtual void interrupt() noexcept = 0;
};

}  // namespace sassemu
