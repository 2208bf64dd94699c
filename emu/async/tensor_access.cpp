// SPDX-License-Identifier: Apache-2.0
// What warps do with tensor memory themselves: allocation, loads and stores. Faults are those of
// programs that the PTX ISA gives no meaning ("tcgen05.ld", "tcgen05.alloc").
#include <string>
#include <vector>

#include "emu/async/agents.hpp"
#include "emu/async/tensor_statistic.hpp"
#include "emu/machine/launch_host.hpp"
#include "emu/plugin/async_events.hpp"

namespace sassemu::async {

namespace {

std::string range(uint32_t first, uint32_t count) {
    return std::to_string(first) + " to " + std::to_string(first + count - 1);
}

// visit(place in bytes, cells) for the cells of each row.
template <class Visit>
void each_row(const TensorAccess& a, TensorMemory& memory, Visit&& visit) {
    const uint32_t first = tensor_lane(a.address), column = tensor_column(a.address);
    for (uint32_t row = 0; row < tensor_rows(a.layout); ++row)
        visit(tensor_bytes(first + row, column),
              reinterpret_cast<const std::byte*>(&memory.cell[first + row][column]));
}

void perform(Warp& w, uint32_t lanes, const TensorAccess& a, TensorMemory& memory) {
    const uint32_t first = tensor_lane(a.address), column = tensor_column(a.address);
    for (uint32_t r = 0; r < a.registers; ++r) {
        // RZ stands for any number of zeros.
        uint32_t* registers = w.row(a.first == zero_row ? zero_row : a.first + r * row_bytes);
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
            TensorPlace at;
            if (!tensor_place(a.layout, lane, r, at)) continue;
            uint32_t* cell = &memory.cell[first + at.row][column + (a.halves ? 2 : 1) * at.word];
            uint32_t& value = registers[lane];
            if (a.store && a.halves)
                cell[0] = value & 0xffff, cell[1] = value >> 16;
            else if (a.store)
                cell[0] = value;
            else
                value = a.halves ? (cell[0] & 0xffff) | cell[1] << 16 : cell[0];
        }
    }
    if (a.statistic.type == TensorStatistic::none) return;
    std::vector<uint32_t> loaded(a.registers);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        TensorPlace at;
        if (!tensor_place(a.layout, lane, 0, at)) continue;
        for (uint32_t r = 0; r < a.registers; ++r) loaded[r] = w.row(a.first + r * row_bytes)[lane];
        w.row(a.statistic.to)[lane] = statistic(a.statistic, loaded);
    }
}

}  // namespace

Cta* peer_of(const Cta& cta) {
    const uint32_t rank = cta.rank ^ 1;
    return rank < cta.cluster->size ? cta.cluster->cta[rank] : nullptr;
}

CtaTensorMemory& tensor_of(Cta& cta) {
    if (!cta.tensor) cta.tensor = std::make_unique<CtaTensorMemory>(*cta.launch->fill);
    return *cta.tensor;
}

const Op* tensor_access(Warp& w, const Op* op, uint32_t lanes, const TensorAccess& a) {
    CtaTensorMemory& tensor = tensor_of(*w.cta);
    const uint32_t row = tensor_lane(a.address), rows = tensor_rows(a.layout),
                   own = w.index % 4 * 32;
    const uint32_t column = tensor_column(a.address), columns = tensor_columns(a);
    const auto fault = [&](FaultKind kind, std::string what) {
        return launch_host(w).fault(w, op, lanes, kind, std::move(what), true, a.address);
    };
    if (row < own || row + rows > own + 32)
        return fault(FaultKind::out_of_bounds,
                     "lanes " + range(row, rows) + " of tensor memory: warp " +
                         std::to_string(w.index) + " reaches lanes " + range(own, 32));
    if (row % 16)
        return fault(
            FaultKind::misaligned_address,
            "lanes " + range(row, rows) + " of tensor memory: the first must be a multiple of 16");
    const bool exist = column + columns <= TensorMemory::columns;
    if (const uint32_t lost = exist ? granules_of(column, columns) & ~tensor.used() : ~0u)
        return lost & ~tensor.freed()
                   ? fault(FaultKind::out_of_bounds, "columns " + range(column, columns) +
                                                         " of tensor memory are not allocated")
                   : fault(FaultKind::use_after_free, "columns " + range(column, columns) +
                                                          " of tensor memory have been freed");
    TensorMemory& memory = tensor.cells();
    uint64_t id = 0;
    if (w.instructions) {
        events::AsyncIssue issue(w, op, lanes, SASSEMU_AGENT_TENSOR, -1);
        each_row(a, memory, [&](uint64_t at, const std::byte*) {
            const sassemu_location place = events::tensor_location(*w.cta, at);
            a.store ? issue.will_write(place, columns * 4) : issue.will_read(place, columns * 4);
        });
        id = issue.id();
    }
    events::AsyncOperation agent(w, op, lanes, SASSEMU_AGENT_TENSOR, id);
    if (agent)
        each_row(a, memory, [&](uint64_t at, const std::byte* cells) {
            const sassemu_location place = events::tensor_location(*w.cta, at);
            a.store ? agent.write(place, cells, columns * 4)
                    : static_cast<void>(agent.read(place, cells, columns * 4));
        });
    if (a.store)
        ++w.effects;
    else if (w.watch)
        each_row(a, memory, [&](uint64_t, const std::byte* cells) {
            services(w).watch(w, cells, columns * 4);
        });
    perform(w, lanes, a, memory);
    return op + 1;
}

// tcgen05.alloc waits until there are columns, in a loop around an instruction that finds some or
// none. It is told once that there are none; then it waits here, for NANOSLEEP in that loop hides
// that it spins.
const Op* tensor_granules(Warp& w, const Op* op, uint32_t lanes, GranuleRequest& r) {
    const bool fresh = !w.cta->tensor;
    CtaTensorMemory& tensor = tensor_of(*w.cta);
    Cta* const peer = peer_of(*w.cta);
    if (r.pair && (!peer || !peer->live_threads))
        return launch_host(w).fault(w, op, lanes, FaultKind::cluster,
                                    "tensor memory of two CTAs: the cluster has no other CTA to "
                                    "this one's pair, or it has exited",
                                    false, 0);
    if (r.pair && fresh) tensor.see_peer(tensor_of(*peer).used());
    const uint32_t before = tensor.used(), other = r.pair ? tensor_of(*peer).used() : 0;
    uint32_t after = before;
    if (w.watch) services(w).watch(w, tensor.watched(), r.pair ? 8 : 4);
    r.result = before;
    switch (r.kind) {
        case GranuleRequest::find_and_set: {
            if (r.operand - 1 >= TensorMemory::granules)
                return launch_host(w).fault(
                    w, op, lanes, FaultKind::other,
                    "an allocation of " +
                        std::to_string(uint64_t{r.operand} * TensorMemory::granule) +
                        " columns of tensor memory, which has 32 to 512 to give",
                    false, 0);
            r.result = CtaTensorMemory::find(before | other, r.operand, r.aligned);
            r.done = r.result < TensorMemory::granules;
            r.waits = !r.done && tensor.refuse(w.index);
            if (r.waits) return launch_host(w).park(w, op, tensor.watched(), r.pair ? 8 : 4);
            if (r.done) after |= ((1u << r.operand) - 1) << r.result;
            break;
        }
        case GranuleRequest::and_:
            after &= r.operand;
            break;
        case GranuleRequest::or_:
            after |= r.operand;
            break;
        case GranuleRequest::compare_and_swap:
            r.done = before == r.operand;
            if (r.done) after = r.next;
            break;
    }
    const auto set = [&](Cta& cta, uint32_t granules) {
        if (tensor_of(cta).used() == granules) return;
        tensor_of(cta).set_used(granules);
        if (Cta* const beside = peer_of(cta); beside && beside->tensor)
            beside->tensor->see_peer(granules);
        ++w.effects;
    };
    set(*w.cta, after);
    if (r.pair) set(*peer, (other & ~(before & ~after)) | (after & ~before));
    return op + 1;
}

}  // namespace sassemu::async
