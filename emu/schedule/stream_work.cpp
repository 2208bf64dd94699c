// SPDX-License-Identifier: Apache-2.0
// See stream_work.hpp.
#include "emu/schedule/stream_work.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
#include <vector>

#include "emu/machine/outside.hpp"
#include "emu/memory/device_heap.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/plugin/hooks.hpp"

namespace sassemu {

namespace {

// Bytes that a copy moves in a turn.
constexpr uint64_t copied_at_once = 64 << 10;

class StreamWork : public Work {
  public:
    bool over() const override { return over_ && !busy_; }
    LaunchResult finish() override { return std::move(result_); }
    void end(LaunchStatus status, std::string message) override {
        if (over_) return;
        over_ = true;
        result_.status = status;
        result_.message = std::move(message);
    }

  protected:
    // Where no memory is, or none is any more: it was freed, or its rank is lost.
    void fault(AddressSpace& space, const char* what, uint64_t address) {
        gone(std::string(what) + ": " + space.describe(address),
             was_freed(space.find(address), address) ? FaultKind::use_after_free
                                                     : FaultKind::out_of_bounds);
    }
    void gone(std::string what, FaultKind kind = FaultKind::use_after_free) {
        if (over_) return;
        result_.fault.emplace().kind = kind;
        result_.fault->what = what;
        end(LaunchStatus::fault, std::move(what));
    }
    bool over_ = false, busy_ = false;
    LaunchResult result_;
};

class Copy final : public StreamWork {
  public:
    Copy(StreamMemory memory, Hooks* hooks, uint32_t gpu, uint64_t to, uint64_t from,
         uint64_t bytes)
        : memory_(memory),
          hooks_(hooks),
          who_{SASSEMU_AGENT_COPY_ENGINE, gpu},
          to_(to),
          from_(from),
          bytes_(bytes) {}
    bool take(Turn&) override {
        if (over_ || busy_) return false;
        return busy_ = true;
    }
    void run(Turn&) noexcept override {
        const uint64_t now = std::min(copied_at_once, bytes_ - done_);
        if (memory_.far_at(from_, bytes_) || memory_.far_at(to_, bytes_)) return run_far(now);
        host_.hold();
        const Extent from = host_.find(from_ + done_), to = host_.find(to_ + done_);
        missing_ = !from.holds(from_ + done_, now) ? from_ + done_
                   : !to.holds(to_ + done_, now)   ? to_ + done_
                                                   : 0;
        std::byte piece[4096];
        for (uint64_t at = 0; at < now && !missing_; at += sizeof piece) {
            const uint64_t count = std::min<uint64_t>(sizeof piece, now - at);
            const uint64_t source = from_ + done_ + at, target = to_ + done_ + at;
            if (!hooks_ || !hooks_->client_reads(who_, source, piece, count))
                host::read(piece, from.host + (source - from.lo), count);
            if (!hooks_ || !hooks_->client_writes(who_, target, piece, count))
                host::write(to.host + (target - to.lo), piece, count);
        }
        host_.let_go();
        moved_ = now;
    }
    void put(Turn&) override {
        busy_ = false;
        if (!lost_) return gone("copy: " + lost_.error().message());
        if (missing_) return fault(host_, "copy", missing_);
        done_ += moved_;
        if (done_ < bytes_ || over_) return;
        over_ = true;
        host::fence();
        if (!hooks_) return;
        hooks_->client_access(who_, SASSEMU_LOAD, from_, bytes_);
        hooks_->client_access(who_, SASSEMU_STORE, to_, bytes_);
    }
    std::string waits() const override { return "copies\n"; }

  private:
    // One side at least is another process's; what is here is found anew each time.
    void run_far(uint64_t now) {
        std::vector<std::byte> piece(now);
        const uint64_t from = from_ + done_, to = to_ + done_;
        lost_ = memory_.far_at(from, now)
                    ? memory_.far->read(from, piece)
                    : here(from, now, [&](const std::byte* at) {
                          if (!hooks_ || !hooks_->client_reads(who_, from, piece.data(), now))
                              host::read(piece.data(), at, now);
                      });
        if (lost_)
            lost_ = memory_.far_at(to, now)
                        ? memory_.far->put(to, piece)
                        : here(to, now, [&](std::byte* at) {
                              if (!hooks_ || !hooks_->client_writes(who_, to, piece.data(), now))
                                  host::write(at, piece.data(), now);
                          });
        if (lost_ && done_ + now == bytes_ && memory_.far_at(to, now))
            lost_ = memory_.far->drain({memory_.far->rank_of(to)});
        moved_ = now;
    }
    template <class F>
    Result<void> here(uint64_t address, uint64_t bytes, F&& act) {
        host_.hold();
        const Extent e = host_.find(address);
        const bool there = e.holds(address, bytes);
        if (there) act(e.host + (address - e.lo));
        host_.let_go();
        if (there) return {};
        return Error{ErrorCode::input, "", host_.describe(address), ""};
    }

    const StreamMemory memory_;
    AddressSpace& host_ = memory_.host;
    Hooks* const hooks_;
    const Client who_;
    const uint64_t to_, from_, bytes_;
    Result<void> lost_;
    uint64_t done_ = 0, moved_ = 0, missing_ = 0;
};

class WriteValue final : public StreamWork {
  public:
    WriteValue(StreamMemory memory, Hooks* hooks, uint32_t gpu, uint64_t address, uint32_t bytes,
               uint64_t value)
        : memory_(memory),
          hooks_(hooks),
          who_{SASSEMU_AGENT_COPY_ENGINE, gpu},
          address_(address),
          value_(value),
          bytes_(bytes) {}
    bool take(Turn&) override {
        if (over_ || busy_) return false;
        if (memory_.far_at(address_, bytes_)) return busy_ = true;
        const Extent& e = host_.find(address_);
        if (!e.holds(address_, bytes_)) {
            fault(host_, "write of a value", address_);
            return false;
        }
        host::fence();
        if (!hooks_ || !hooks_->client_writes(who_, address_, &value_, bytes_))
            host::store_bytes(e.host + (address_ - e.lo), bytes_, value_);
        over_ = true;
        if (hooks_) hooks_->client_access(who_, SASSEMU_STORE, address_, bytes_);
        return false;
    }
    // Of another process.
    void run(Turn&) noexcept override {
        sent_ = memory_.put_far(address_, std::as_bytes(std::span(&value_, 1)).first(bytes_));
    }
    void put(Turn&) override {
        busy_ = false;
        if (!sent_) gone("write of a value: " + sent_.error().message());
        over_ = true;
    }
    std::string waits() const override { return "writes a value\n"; }

  private:
    const StreamMemory memory_;
    AddressSpace& host_ = memory_.host;
    Result<void> sent_;
    Hooks* const hooks_;
    const Client who_;
    const uint64_t address_, value_;
    const uint32_t bytes_;
};

class WaitValue final : public StreamWork {
  public:
    WaitValue(StreamMemory memory, Hooks* hooks, uint32_t gpu, const ValueCondition& condition)
        : memory_(memory),
          hooks_(hooks),
          who_{SASSEMU_AGENT_COPY_ENGINE, gpu},
          condition_(condition) {}
    bool take(Turn&) override {
        if (over_ || busy_) return false;
        if (!memory_.copy && memory_.far_at(condition_.address, condition_.bytes))
            return busy_ = true;
        const auto met = holds(memory_, condition_, hooks_, who_);
        if (!met && memory_.copy)
            gone(met.error().message());
        else if (!met)
            fault(memory_.host, "wait for a value", condition_.address);
        else
            over_ = *met;
        if (over_ && met && hooks_)
            hooks_->client_access(who_, SASSEMU_LOAD, condition_.address, condition_.bytes, true);
        return false;
    }
    // Of another process: from here on there is a copy.
    void run(Turn&) noexcept override {
        const auto copy = memory_.far->watch(condition_.address, condition_.bytes);
        if (copy)
            memory_.copy = *copy;
        else
            failed_ = copy.error().message();
    }
    void put(Turn&) override {
        busy_ = false;
        if (!failed_.empty()) gone("wait for a value: " + failed_);
    }
    std::string waits() const override {
        return "waits until " + text_of(memory_, condition_) + "\n";
    }

  private:
    StreamMemory memory_;
    std::string failed_;
    Hooks* const hooks_;
    const Client who_;
    const ValueCondition condition_;
};

class Call final : public StreamWork {
  public:
    Call(std::function<void()> function, std::function<bool()> ready, std::string what)
        : function_(std::move(function)), ready_(std::move(ready)), what_(std::move(what)) {}
    bool take(Turn&) override {
        if (over_ || busy_ || (ready_ && !ready_())) return false;
        return busy_ = true;
    }
    void run(Turn&) noexcept override {
        try {
            function_();
        } catch (...) {
            threw_ = true;
        }
    }
    void put(Turn&) override {
        busy_ = false;
        if (threw_) end(LaunchStatus::internal, "the host's function threw an exception");
        over_ = true;
    }
    bool waits_for_others() const override { return true; }
    std::string waits() const override {
        return ready_ ? "waits " + what_ + "\n" : "calls a function of the host's\n";
    }

  private:
    const std::function<void()> function_;
    const std::function<bool()> ready_;
    const std::string what_;
    bool threw_ = false;
};

class AgentWork final : public StreamWork {
  public:
    AgentWork(MachineAgent& agent, OutsideAgent* outside) : agent_(agent), outside_(outside) {}
    bool take(Turn&) override { return !busy_ && (busy_ = agent_.ready()); }
    void run(Turn&) noexcept override { agent_.step(); }
    void put(Turn&) override { busy_ = false; }
    bool over() const override { return !busy_; }  // whether it may go
    bool settle() override { return !busy_ && agent_.settle(); }
    bool may_act() const override { return outside_ && outside_->may_act(); }
    std::string waits() const override { return outside_ ? outside_->waits() : ""; }

  private:
    MachineAgent& agent_;
    OutsideAgent* const outside_;
};

}  // namespace

FarMemory* StreamMemory::far_at(uint64_t address, uint64_t bytes) const {
    return far && far->holds(FarMemory::by_host, address, bytes) ? far : nullptr;
}
Result<void> StreamMemory::put_far(uint64_t address, std::span<const std::byte> bytes) const {
    const std::set<uint32_t> rank{far->rank_of(address)};
    SASSEMU_TRY(far->drain(rank));
    SASSEMU_TRY(far->put(address, bytes));
    return far->drain(rank);
}

std::unique_ptr<Work> copy_work(StreamMemory memory, Hooks* hooks, uint32_t gpu, uint64_t to,
                                uint64_t from, uint64_t bytes) {
    return std::make_unique<Copy>(memory, hooks, gpu, to, from, bytes);
}
std::unique_ptr<Work> write_value_work(StreamMemory memory, Hooks* hooks, uint32_t gpu,
                                       uint64_t address, uint32_t bytes, uint64_t value) {
    return std::make_unique<WriteValue>(memory, hooks, gpu, address, bytes, value);
}
std::unique_ptr<Work> wait_value_work(StreamMemory memory, Hooks* hooks, uint32_t gpu,
                                      const ValueCondition& condition) {
    return std::make_unique<WaitValue>(memory, hooks, gpu, condition);
}
std::unique_ptr<Work> call_work(std::function<void()> function, std::function<bool()> ready,
                                std::string what) {
    return std::make_unique<Call>(std::move(function), std::move(ready), std::move(what));
}
std::unique_ptr<Work> agent_work(MachineAgent& agent, OutsideAgent* outside) {
    return std::make_unique<AgentWork>(agent, outside);
}

Result<bool> holds(const StreamMemory& memory, const ValueCondition& c, Hooks* hooks,
                   const Client& who) {
    AddressSpace& host = memory.host;
    uint64_t v = 0;
    if (memory.copy) {
        v = host::load_bytes(memory.copy, c.bytes);
        if (memory.far->gone(c.address))
            return Error{ErrorCode::system, "wait for a value",
                         "its rank is lost: " + host.describe(c.address), ""};
    } else {
        host.hold();
        const Extent& e = host.find(c.address);
        const bool there = e.holds(c.address, c.bytes);
        if (there && (!hooks || !hooks->client_reads(who, c.address, &v, c.bytes)))
            v = host::load_bytes(e.host + (c.address - e.lo), c.bytes);
        host.let_go();
        if (!there)
            return Error{ErrorCode::input, "wait for a value", host.describe(c.address), ""};
    }
    host::fence();
    const uint64_t all = c.bytes == 8 ? ~uint64_t{0} : 0xffffffffu, w = c.value & all;
    switch (c.test) {
        case ValueTest::at_least:
            return !((v - w) >> (c.bytes * 8 - 1) & 1);
        case ValueTest::equal:
            return v == w;
        case ValueTest::any_bit:
            return (v & w) != 0;
        case ValueTest::clear_bit:
            return (~(v | w) & all) != 0;
        case ValueTest::not_equal:
            return v != w;
    }
    return false;
}

std::string text_of(const StreamMemory& memory, const ValueCondition& c) {
    static constexpr const char* tests[] = {">=", "==", "has a bit of", "lacks a bit outside",
                                            "!="};
    const AddressSpace& host = memory.host;
    const Extent& e = host.find(c.address);
    std::string now = "freed";
    if (memory.copy)
        now = std::to_string(host::load_bytes(memory.copy, c.bytes));
    else if (e.holds(c.address, c.bytes))
        now = std::to_string(host::load_bytes(e.host + (c.address - e.lo), c.bytes));
    return "the value (" + now + ") " + tests[static_cast<size_t>(c.test)] + " " +
           std::to_string(c.value) + ": " + host.describe(c.address);
}

}  // namespace sassemu
