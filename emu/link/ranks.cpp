// SPDX-License-Identifier: Apache-2.0
// See ranks.hpp.
#include "emu/link/ranks.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "emu/base/descriptor_message.hpp"
#include "emu/link/far_memory.hpp"
#include "emu/machine.hpp"
#include "emu/machine/outside.hpp"

namespace sassemu::link {

namespace {

struct Buffer {
    uint32_t owner;
    uint64_t address, bytes;
    std::string name;
    int memory;  // of this rank's own
};

class RanksOfPlan final : public plan::Ranks {
  public:
    RanksOfPlan(std::unique_ptr<Link> link, uint32_t rank, uint32_t ranks, uint32_t gpus,
                bool messages)
        : link_(std::move(link)), rank_(rank), ranks_(ranks), gpus_(gpus) {
        if (messages) far_ = std::make_unique<FarWindows>(*link_);
    }
    ~RanksOfPlan() override {
        if (far_) far_->leave();
        link_.reset();  // calls nobody any more
        for (const Buffer& buffer : buffers_)
            if (buffer.memory >= 0) ::close(buffer.memory);
    }

    uint32_t rank_of(uint32_t gpu) const override {
        return static_cast<uint32_t>(uint64_t{gpu} * ranks_ / gpus_);
    }
    uint32_t rank() const override { return rank_; }
    uint32_t ranks() const override { return ranks_; }

    Result<void> add(Machine& machine, uint32_t owner, uint64_t address, uint64_t bytes,
                     const std::string& name) override {
        Buffer buffer{owner, address, bytes, name, -1};
        if (far_) outside(machine).reach_by(far_.get());
        if (owner == rank_ && far_) {
            SASSEMU_ASSIGN(std::byte * host, outside(machine).share(address));
            SASSEMU_ASSIGN(const uint32_t window,
                           link_->add_window({address, bytes, host, name, true, -1, false,
                                              outside(machine).seen()}));
            windows_.push_back(window);
            return {};
        }
        if (owner == rank_) {
            buffer.memory = ::memfd_create("sassemu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
            if (buffer.memory < 0)
                return Error{ErrorCode::system, "buffer '" + name + "'",
                             std::string("no memory to share: ") + std::strerror(errno), ""};
        }
        buffers_.push_back(buffer);
        if (owner != rank_) return {};
        SASSEMU_ASSIGN(std::byte * host, outside(machine).back(address, buffer.memory));
        // Nobody who has it can take bytes away.
        ::fcntl(buffer.memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
        SASSEMU_ASSIGN(const uint32_t window, link_->add_window({address, bytes, host, name, true,
                                                                 buffer.memory, false, nullptr}));
        windows_.push_back(window);
        return {};
    }

    Result<void> begin(Machine& machine) override {
        OutsideMemory& memory = outside(machine);
        if (far_) SASSEMU_TRY(far_->start());
        SASSEMU_TRY(link_->meet());
        for (const Buffer& buffer : buffers_)
            if (buffer.owner != rank_) SASSEMU_TRY(map(memory, buffer));
        memory.outside_may_act(true);
        if (far_) far_->begin(memory);
        link_->watch(
            [this, &memory] {
                if (ended_) return Link::Progress{true, 0, ~uint64_t{0}};
                if (far_) return far_->progress();
                const OutsideMemory::Progress now = memory.progress();
                return Link::Progress{now.parked, now.epoch, now.looks};
            },
            [&memory] { memory.outside_may_act(false); });
        // What a lost rank held is gone: who touches it gets a fault.
        link_->on_loss([this, &machine](uint32_t rank, const std::string&) {
            if (ended_) return;
            if (far_) return far_->lose(rank);
            for (const Buffer& buffer : buffers_)
                if (buffer.owner == rank) (void)machine.release(buffer.address);
        });
        return {};
    }

    Result<void> end() override {
        ended_ = true;
        return link_->meet();
    }
    void leave() override {
        link_->on_loss({});
        link_->watch({}, {});
        if (far_) far_->leave();
        // Others may still look at what the machine is about to take away.
        for (const uint32_t window : windows_) (void)link_->remove_window(window);
        windows_.clear();
    }

  private:
    static OutsideMemory& outside(Machine& machine) {
        return dynamic_cast<OutsideMemory&>(machine);
    }

    Result<void> map(OutsideMemory& memory, const Buffer& buffer) {
        const auto all = link_->windows(buffer.owner);
        const auto found = std::ranges::find_if(all, [&](const Link::RemoteWindow& one) {
            return one.window.address == buffer.address && one.window.bytes == buffer.bytes;
        });
        if (found == all.end())
            return Error{ErrorCode::input, "buffer '" + buffer.name + "'",
                         "rank " + std::to_string(buffer.owner) + " has it elsewhere or not at all",
                         "all ranks must run the same plan with the same modules"};
        if (far_) {
            SASSEMU_ASSIGN(OutsideMemory::Given given, memory.give_away(buffer.address));
            far_->add(buffer.owner, *found, std::move(given));
            return {};
        }
        SASSEMU_ASSIGN(const int descriptor, link_->descriptor(buffer.owner, found->id));
        Result<std::byte*> mapped = Error{ErrorCode::input, "buffer '" + buffer.name + "'",
                                          "its memory might shrink while it is used", ""};
        if (is_sealed(descriptor)) mapped = memory.back(buffer.address, descriptor);
        ::close(descriptor);
        if (!mapped) return mapped.error();
        return {};
    }

    std::unique_ptr<FarWindows> far_;  // null: memory is shared
    std::unique_ptr<Link> link_;
    std::vector<uint32_t> windows_;  // of this rank
    const uint32_t rank_, ranks_, gpus_;
    std::vector<Buffer> buffers_;
    std::atomic<bool> ended_{false};
};

}  // namespace

Result<std::unique_ptr<plan::Ranks>> make_ranks(LinkOptions options, uint32_t gpus, bool messages) {
    const auto ranks = static_cast<uint32_t>(options.addresses.size());
    const uint32_t rank = options.rank;
    if (ranks > gpus)
        return Error{ErrorCode::usage, "--ranks",
                     std::to_string(ranks) + " ranks for the plan's " + std::to_string(gpus) +
                         (gpus == 1 ? " GPU" : " GPUs"),
                     "each rank needs a GPU"};
    messages |= !std::ranges::all_of(
        options.addresses, [](const std::string& address) { return address.starts_with("unix:"); });
    SASSEMU_ASSIGN(std::unique_ptr<Link> link, Link::create(std::move(options)));
    return std::unique_ptr<plan::Ranks>(
        std::make_unique<RanksOfPlan>(std::move(link), rank, ranks, gpus, messages));
}

}  // namespace sassemu::link
