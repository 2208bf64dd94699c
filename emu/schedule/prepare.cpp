// SPDX-License-Identifier: Apache-2.0
// What a CTA begins with. Its memory is that of a CTA before it, and what that one left must not
// show: registers and shared memory are cleared, local memory where something was written.
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/base/limits.hpp"
#include "emu/machine/dimensions.hpp"
#include "emu/machine/local_memory.hpp"
#include "emu/machine/mbarrier.hpp"
#include "emu/machine/stepper.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/schedule/engine.hpp"

namespace sassemu {

namespace {

// The local memory of a warp, which is what nobody has written but for what its LocalWritten says,
// becomes that again.
void clear_local(const Warp& w, uint32_t bytes, const StateFill& fill) {
    LocalWritten& written = local_written(w);
    for (uint64_t todo = written.chunks; todo; todo &= todo - 1) {
        const uint64_t begin = static_cast<uint64_t>(std::countr_zero(todo)) << written.shift;
        const uint64_t end = std::min<uint64_t>(begin + (1u << written.shift), bytes);
        fill.apply(w.local + begin * 32, (end - begin) * 32, begin * 8);
    }
    written.chunks = 0;
}

// Registers and predicates; those that are always 0 or true stay. A uniform predicate is the same
// for all lanes.
// What the code that the driver puts in front of such a kernel leaves there for tcgen05.alloc and
// its like, by what ptxas 13.0 makes of them: nothing is allocated, the permit is there, and in a
// pair the CTA of even rank allocates first (an mbarrier, and the parity that each waits for).
void begin_tensor_partition(const Cta& cta) {
    constexpr uint32_t bytes = 32, barrier = 8, parity = 16;
    std::byte* const at = cta.shared + cta.launch->tensor_partition;
    std::memset(at, 0, bytes);
    const uint64_t object = Mbarrier{.pending = 1, .expected = 1}.encode();
    const uint32_t first = cta.rank % 2 == 0;
    std::memcpy(at + barrier, &object, sizeof object);
    std::memcpy(at + parity, &first, sizeof first);
}

void fill_registers(Warp& w, uint32_t registers, const StateFill& fill) {
    fill.apply(w.row(register_row(0)), uint64_t{registers} * row_bytes);
    fill.apply(w.uniform, uniform_zero);
    for (uint32_t i = 0; i < 16; ++i)
        if (i % 8 != 7) w.p[i] = i < 8 ? fill.word(i) : -(fill.word(i) & 1);
}

// A size that is known makes `rep stos` of a memset, which takes longer than the call.
void clear(void* at, size_t bytes) {
    asm("" : "+r"(bytes));
    std::memset(at, 0, bytes);
}

}  // namespace

bool Arena::renew(uint64_t bytes) {
    release();
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return false;
    at_ = static_cast<std::byte*>(at);
    bytes_ = bytes;
    return true;
}

void Arena::release() {
    if (at_) munmap(at_, bytes_);
    at_ = nullptr;
    bytes_ = 0;
}

bool Engine::prepare(CtaSlot& slot) {
    const auto size = static_cast<uint32_t>(launch_.cluster.count());
    slot.cluster.size = size;
    slot.cluster.open = false;
    slot.cluster.told = {};
    slot.agents.begin(settings_.agents, chooser_, level_.matrix_sums, level_.warpgroup_sums);
    while (slot.others.size() + 1 > size) slot.others.pop_back();
    while (slot.others.size() + 1 < size) slot.others.push_back(std::make_unique<CtaSlot>());
    for (uint32_t r = 0; r < size; ++r) {
        CtaSlot& member = r ? *slot.others[r - 1] : slot;
        member.cta.cluster = &slot.cluster;
        slot.cluster.cta[r] = &member.cta;
        if (!prepare_cta(member, r)) return false;
    }
    slot.fresh = false;
    if (launch_.hooks)
        for (uint32_t r = 0; r < size; ++r) tell_cta(*slot.cluster.cta[r], true);
    if (settings_.stepper)
        for (uint32_t r = 0; r < size; ++r) settings_.stepper->cta_begin(*slot.cluster.cta[r]);
    return true;
}

bool Engine::prepare_cta(CtaSlot& slot, uint32_t rank) {
    Cta& cta = slot.cta;
    const uint32_t threads = static_cast<uint32_t>(launch_.block.count());
    const uint32_t warps = (threads + 31) / 32;
    const uint64_t rows_bytes = uint64_t{launch_.rows} * row_bytes;
    const uint64_t shared_bytes = (uint64_t{launch_.shared_bytes} + 127) / 64 * 64;
    const uint64_t local_stride = sizeof(LocalWritten) + uint64_t{launch_.local_bytes} * 32;
    const uint64_t bytes =
        (warps * (sizeof(Warp) + rows_bytes + local_stride) + shared_bytes + 4095) / 4096 * 4096;
    const StateFill& fill = *launch_.fill;
    const bool zeros = fill.zeros();
    bool untouched = false;
    if (slot.arena.bytes() < bytes || slot.arena.bytes() > 4 * bytes) {
        slot.local_warps = 0;
        if (!slot.arena.renew(bytes)) {
            end(LaunchStatus::limit,
                "kernel '" + kernel_ + "': the host has no " + std::to_string(bytes) +
                    " bytes for the state of a CTA; fewer threads keep fewer "
                    "CTAs at a time, a smaller stack limit makes them smaller");
            return false;
        }
        untouched = zeros;
        if (!zeros) {
            // What is touched bit by bit is noticed in time (Budget); this is touched at once.
            const auto room = process_budget().room_for(bytes, "kernel '" + kernel_ + "'");
            if (!room) {
                end(LaunchStatus::limit, room.error().message());
                return false;
            }
        }
    }
    if (slot.local_bytes != launch_.local_bytes) slot.local_warps = 0;
    if (cta.tensor) cta.tensor->begin();
    if (cta.warpgroups) *cta.warpgroups = {};
    slot.watches.clear();
    slot.in_flight.clear();
    slot.preempted.clear();
    slot.preempted_free.clear();
    slot.quiet_slices = 0;

    // First the local memory, which stays clear where nobody writes.
    std::byte* const local = slot.arena.get() + sizeof(LocalWritten);
    std::byte* at = slot.arena.get() + warps * local_stride;
    cta.launch = &launch_;
    const Dim3& per = launch_.cluster;
    cta.rank = rank;
    cta.id = first_cta(launch_.grid, per, cta.cluster->index);
    cta.id.x += rank % per.x;
    cta.id.y += rank / per.x % per.y;
    cta.id.z += rank / per.x / per.y;
    cta.linear =
        cta.id.x + uint64_t{launch_.grid.x} * (cta.id.y + uint64_t{launch_.grid.y} * cta.id.z);
    cta.warp_count = warps;
    cta.threads = cta.live_threads = threads;
    cta.shared_bytes = launch_.shared_bytes;
    cta.sm = cta.linear % launch_.device->sms;
    cta.warps = reinterpret_cast<Warp*>(at);
    at += warps * sizeof(Warp);
    cta.shared = at + warps * rows_bytes;
    std::memset(at, 0, warps * rows_bytes + shared_bytes);
    if (!zeros) fill.apply(cta.shared, shared_bytes);
    if (launch_.tensor_partition) begin_tensor_partition(cta);
    cta.last = Extent{};
    slot.removals = launch_.space->removals();
    cta.next_warp = 0;
    cta.triggered = false;
    cta.registers.begin(launch_.warp_registers);
    cta.sequence = cta.slices = cta.virtual_time = 0;
    cta.stopped_at.reset();
    // One whose last phase has ended is clear.
    for (; cta.barriers_open; cta.barriers_open &= cta.barriers_open - 1)
        cta.barrier[std::countr_zero(cta.barriers_open)] = Barrier{};
    for (uint32_t i = 0; i < warps; ++i)
        cta.cluster_arrived[i] = cta.cluster_owed[i] = cta.barrier_result[i] =
            cta.barrier_expected[i] = 0;

    for (uint32_t i = 0; i < warps; ++i) {
        Warp& w = cta.warps[i];
        // Everything but the paths beyond the first and the convergence barriers, which are written
        // before they are read.
        w.rows = at + i * rows_bytes;
        for (int k = 0; k < 8; ++k) w.base[k] = launch_.base[k];
        w.base[static_cast<int>(Base::rows)] = w.rows;
        w.base[static_cast<int>(Base::uniform)] = reinterpret_cast<std::byte*>(w.uniform);
        std::fill(std::begin(w.p), std::end(w.p), 0u);
        w.p[7] = w.p[15] = ~0u;
        w.barrier_op = 0;
        w.exists = low_lanes(std::min(32u, threads - i * 32));
        w.active = w.live = w.exists;
        w.issued = w.quantum_end = w.thread_instructions = w.guard_false = w.effects = 0;
        w.cta = &cta;
        w.watch = nullptr;
        w.resume = nullptr;
        w.ops = launch_.code->ops();
        w.instructions = instructions_;
        w.stop = Stop::none;
        w.index = static_cast<uint8_t>(i);
        w.paths_used = 1;
        w.current = 0;
        w.local = local + i * local_stride;
        if (i >= slot.local_warps) {
            if (!untouched) fill.apply(w.local, uint64_t{launch_.local_bytes} * 32);
            local_written(w) = {0, LocalWritten::shift_for(launch_.local_bytes)};
        } else if (local_written(w).chunks) {
            clear_local(w, launch_.local_bytes, fill);
        }
        std::fill(std::begin(w.pending), std::end(w.pending), 0u);
        w.in_flight = 0;
        w.path_clock = 0;
        w.convergence = Convergence{};
        clear(w.uniform, sizeof w.uniform);
        if (!zeros) fill_registers(w, launch_.registers, fill);
        w.paths[0] = Path{};
        w.paths[0].pc = entry_;
        w.paths[0].lanes = w.exists;
    }
    slot.local_bytes = launch_.local_bytes;
    slot.local_warps = warps;
    return true;
}

}  // namespace sassemu
