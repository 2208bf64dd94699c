// SPDX-License-Identifier: Apache-2.0
// See world.hpp: heaps, teams, state. The operations are in operations.cpp.
#include "emu/nvshmem/world.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sassemu::nvshmem {
namespace {

constexpr uint32_t ring_slots = 256;
static_assert(SASSEMU_NVSHMEM_TEAMS * sizeof(sassemu_nvshmem_meeting) <= SASSEMU_NVSHMEM_RESERVED);
static_assert(Machine::most_gpus <= 1 << std::size(sassemu_nvshmem_meeting{}.arrived));

Error wrong(std::string what, std::string hint = "") {
    return Error{ErrorCode::usage, "nvshmem", std::move(what), std::move(hint)};
}

}  // namespace

Result<std::unique_ptr<World>> World::create(Machine& machine, const Options& options) {
    std::unique_ptr<World> world(new World(machine, options));
    SASSEMU_TRY(world->make());
    return world;
}

World::~World() {
    delivery_.reset();
    for (const auto* list : {&heaps_, &windows_, &rings_})
        for (const uint64_t at : *list) (void)machine_.release(at);
}

Result<void> World::make() {
    const uint32_t pes = options_.pes;
    if (!pes || pes > machine_.gpus())
        return wrong(std::to_string(pes) + " PEs need a GPU each, and there are " +
                     std::to_string(machine_.gpus()));
    if (options_.node && pes % options_.node)
        return wrong(std::to_string(pes) + " PEs are no whole number of nodes of " +
                     std::to_string(options_.node));
    if (options_.heap_bytes > uint64_t{1} << 40)
        return wrong("a heap of " + std::to_string(options_.heap_bytes) + " bytes is too large");
    const uint64_t bytes = SASSEMU_NVSHMEM_RESERVED + options_.heap_bytes;
    bool proxied = false;
    for (uint32_t pe = 0; pe < pes; ++pe) {
        SASSEMU_ASSIGN(
            heaps_.emplace_back(),
            machine_.allocate_shared(pe, bytes, "symmetric heap of PE " + std::to_string(pe)));
        SASSEMU_ASSIGN(heads_.emplace_back(),
                       machine_.host_pointer(heaps_[pe], SASSEMU_NVSHMEM_RESERVED));
        proxied |= !direct(0, pe);
    }
    std::vector<Delivery::Place> places;
    for (uint32_t pe = 0; pe < pes; ++pe) {
        std::vector<uint64_t> windows(pes);
        for (uint32_t other = 0; other < pes; ++other)
            if (direct(pe, other)) windows[other] = heaps_[other];
        SASSEMU_ASSIGN(
            windows_.emplace_back(),
            machine_.allocate_host(pes * sizeof(uint64_t), "windows of PE " + std::to_string(pe)));
        SASSEMU_TRY(machine_.write(windows_[pe], std::as_bytes(std::span(windows))));
        if (!proxied) continue;
        SASSEMU_ASSIGN(rings_.emplace_back(),
                       machine_.allocate_host(sizeof(sassemu_nvshmem_ring) +
                                                  ring_slots * sizeof(sassemu_nvshmem_request),
                                              "requests of PE " + std::to_string(pe)));
        places.push_back({heaps_[pe], rings_[pe]});
    }
    called_.resize(pes);
    if (proxied)
        delivery_ = std::make_unique<Delivery>(
            machine_, std::move(places), ring_slots,
            Delivery::Options{options_.order, options_.seed,
                              options_.infiniband || options_.node != 0});
    return {};
}

bool World::direct(uint32_t pe, uint32_t other) const {
    if (pe == other) return true;
    return !options_.proxy && (!options_.node || pe / options_.node == other / options_.node);
}

sassemu_nvshmem_device_state World::state(uint32_t pe) const {
    sassemu_nvshmem_device_state s{};
    s.version = SASSEMU_NVSHMEM_STATE_VERSION;
    s.my_pe = static_cast<int32_t>(pe);
    s.n_pes = static_cast<int32_t>(pes());
    s.ring_slots = ring_slots;
    s.heap = heaps_[pe];
    s.heap_bytes = SASSEMU_NVSHMEM_RESERVED + options_.heap_bytes;
    s.windows = windows_[pe];
    s.ring = rings_.empty() ? 0 : rings_[pe];
    const auto all = s.n_pes, node = options_.node ? static_cast<int32_t>(options_.node) : all;
    const int32_t first = s.my_pe / node * node, place = s.my_pe - first;
    s.team[SASSEMU_NVSHMEM_WORLD] = {0, 1, all, s.my_pe};
    s.team[SASSEMU_NVSHMEM_SHARED] = s.team[SASSEMU_NVSHMEM_NODE] = {first, 1, node, place};
    s.team[SASSEMU_NVSHMEM_SAME_PLACE] = {place, node, all / node, s.my_pe / node};
    return s;
}

std::optional<sassemu_nvshmem_team_info> World::team(uint32_t pe, int32_t team) const {
    if (team < 0 || team >= SASSEMU_NVSHMEM_TEAMS) return std::nullopt;
    return state(pe).team[team];
}

uint64_t World::pointer(uint32_t pe, uint64_t address, uint32_t other) const {
    if (other >= pes() || !direct(pe, other)) return 0;
    const auto at = offset(pe, address, 0);
    return at ? heaps_[other] + *at : 0;
}

Result<bool> World::bind(uint32_t pe, ModuleId module) {
    if (pe >= pes()) return false;
    SASSEMU_ASSIGN(Gpu * gpu, machine_.gpu(pe));
    const auto symbol = gpu->symbol(module, SASSEMU_NVSHMEM_STATE_NAME);
    if (!symbol) return false;
    const sassemu_nvshmem_device_state s = state(pe);
    if (symbol->bytes != sizeof s)
        return Error{ErrorCode::input, SASSEMU_NVSHMEM_STATE_NAME,
                     "has " + std::to_string(symbol->bytes) + " bytes, not " +
                         std::to_string(sizeof s) + ": the kernel was built with another nvshmem.h",
                     "build it again with this one's headers"};
    SASSEMU_TRY(gpu->write(symbol->address, std::as_bytes(std::span(&s, 1))));
    return true;
}

Result<uint64_t> World::offset(uint32_t pe, uint64_t address, uint64_t bytes) const {
    const uint64_t at = address - heaps_[pe], all = SASSEMU_NVSHMEM_RESERVED + options_.heap_bytes;
    if (at <= all && bytes <= all - at) return at;
    return Error{
        ErrorCode::input, "nvshmem",
        std::to_string(bytes) + " bytes are not in the symmetric heap of PE " + std::to_string(pe),
        "memory of nvshmem_malloc"};
}

Result<uint64_t> World::allocate(uint32_t pe, uint64_t bytes, uint64_t align) {
    if (!bytes || !std::has_single_bit(align))
        return wrong(
            std::to_string(bytes) + " bytes aligned to " + std::to_string(align) + " cannot be had",
            "at least one, aligned to a power of two");
    const std::lock_guard lock(mutex_);
    const size_t number = called_[pe];
    if (number == calls_.size()) {
        uint64_t at = SASSEMU_NVSHMEM_RESERVED;
        const uint64_t end = SASSEMU_NVSHMEM_RESERVED + options_.heap_bytes;
        const auto aligned = [&] { return (at + align - 1) & ~(align - 1); };
        for (const auto& [begin, after] : taken_) {
            if (aligned() + bytes <= begin) break;
            at = after;
        }
        if (aligned() > end || bytes > end - aligned())
            return Error{ErrorCode::limit, "nvshmem",
                         "the symmetric heap of " + std::to_string(options_.heap_bytes) +
                             " bytes has no room for " + std::to_string(bytes) + " more",
                         "make it larger"};
        at = aligned();
        taken_.emplace(at, at + bytes);
        calls_.push_back({bytes, align, at});
    }
    const Call& call = calls_[number];
    if (call.bytes != bytes || call.align != align)
        return wrong("call " + std::to_string(number + 1) + " for symmetric memory: PE " +
                         std::to_string(pe) + " asks for " + std::to_string(bytes) +
                         " bytes, another PE for " + std::to_string(call.bytes),
                     "all PEs allocate the same in the same order");
    ++called_[pe];
    return heaps_[pe] + call.offset;
}

Result<void> World::release(uint32_t pe, uint64_t address) {
    const std::lock_guard lock(mutex_);
    const uint64_t at = address - heaps_[pe];
    const size_t number = called_[pe];
    if (number == calls_.size()) {
        if (!taken_.erase(at)) return wrong("what is freed is no symmetric memory in use");
        calls_.push_back({0, 0, at});
    }
    if (calls_[number].bytes || calls_[number].offset != at)
        return wrong("PE " + std::to_string(pe) + " frees what another PE does not free");
    ++called_[pe];
    return {};
}

std::function<uint64_t()> World::word(uint64_t address, uint32_t bytes) {
    const auto at = machine_.host_pointer(address, bytes);
    if (!at) return [] { return uint64_t{0}; };
    return [at = *at, bytes]() -> uint64_t {
        switch (bytes) {
            case 1:
                return __atomic_load_n(reinterpret_cast<const uint8_t*>(at), __ATOMIC_SEQ_CST);
            case 2:
                return __atomic_load_n(reinterpret_cast<const uint16_t*>(at), __ATOMIC_SEQ_CST);
            case 4:
                return __atomic_load_n(reinterpret_cast<const uint32_t*>(at), __ATOMIC_SEQ_CST);
            default:
                return __atomic_load_n(reinterpret_cast<const uint64_t*>(at), __ATOMIC_SEQ_CST);
        }
    };
}

void World::note(const Result<void>& result) {
    const std::lock_guard lock(mutex_);
    if (!result && failed_) failed_ = result;
}
Result<void> World::failed() {
    if (delivery_) note(delivery_->failed());
    const std::lock_guard lock(mutex_);
    return failed_;
}

Result<void> World::run(Steps steps) {
    for (Step& step : steps) {
        if (step.ready) SASSEMU_TRY(machine_.wait_until(step.waits, step.ready));
        if (step.act) SASSEMU_TRY(step.act());
    }
    return {};
}

Result<void> World::finish() {
    if (delivery_) {
        delivery_->take_requests();
        SASSEMU_TRY(run(wait("for what is on its way between PEs", delivery_->all_done())));
    }
    return failed();
}

Result<void> World::put_into(StreamId stream, Steps steps) {
    for (Step& step : steps) {
        auto act = [this, act = std::move(step.act)] {
            if (act) note(act());
        };
        SASSEMU_ASSIGN(
            const OperationId operation,
            machine_.call_when(stream, step.waits, std::move(step.ready), std::move(act)));
        (void)operation;
    }
    return {};
}

}  // namespace sassemu::nvshmem
