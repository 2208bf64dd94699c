// SPDX-License-Identifier: Apache-2.0
// tcgen05 in machine code on a machine. What the tensor core does is an agent of the thread that
// asks for it, a load or store is one of its warp; each reads and writes tensor memory in one step.
// Machines of chips order them as words do: loads by their scoreboard, stores by
// FENCE.VIEW.ASYNC.T, and the tensor core keeps copies and products in front of products in their
// order. Of a scoped machine waits and fences are those of the PTX: nothing is waited for, and an
// agent comes behind what PTX ISA 9.7.16.6 puts in front of it, as docs/litmus.md, section 3, 8
// says. See sass_fetch.hpp.
#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "emu/explore/machines/sass_fetch.hpp"
#include "emu/explore/machines/test_memory.hpp"
#include "emu/machine/tensor_memory.hpp"
#include "emu/machine/warp.hpp"

namespace sassemu::explore {
namespace {

constexpr uint8_t no_scoreboard = 7;

void put(std::string& out, uint64_t v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); }

std::string key_of(const TensorWork& work) {
    std::string out;
    if (const auto* move = std::get_if<async::TensorMove>(&work.what)) {
        put(out, move->from);
        put(out, move->to);
        put(out, static_cast<uint64_t>(work.kind()));
        return out;
    }
    const auto& m = std::get<async::Multiply>(work.what);
    for (const uint64_t v :
         {uint64_t{m.instruction}, m.a, uint64_t{m.a_address}, m.b, uint64_t{m.d},
          uint64_t{m.accumulate}, uint64_t{m.metadata}, uint64_t{m.scales_a}, uint64_t{m.scales_b},
          m.zero_columns, uint64_t{m.scale_d}})
        put(out, v);
    for (const uint32_t v : work.disabled_lanes) put(out, v);
    return out;
}

void add_cell(std::vector<SharedRange>& to, uint32_t offset) {
    if (!to.empty() && to.back().address + to.back().bytes == offset)
        to.back().bytes += 4;
    else
        to.push_back({offset, 4});
}

}  // namespace

// The threads of the thread's warp, in order.
std::vector<uint32_t> SassFetch::warp(uint32_t thread) const {
    const SassThread& self = test_.sass->thread(thread);
    std::vector<uint32_t> out;
    for (uint32_t t = 0; t < test_.threads.size(); ++t)
        if (test_.threads[t].sass && test_.threads[t].cta == test_.threads[thread].cta &&
            test_.sass->thread(t).launch == self.launch &&
            test_.sass->thread(t).thread / 32 == self.thread / 32)
            out.push_back(t);
    std::ranges::sort(out, {}, [&](uint32_t t) { return test_.sass->thread(t).thread; });
    return out;
}

// Issued, by all lanes or some, and not done.
bool SassFetch::pending(const SassState& s, AgentName a) {
    if (std::ranges::find(s.agents, a, &CopyAgent::name) != s.agents.end()) return true;
    return std::ranges::any_of(s.accesses, [&](const auto& of_warp) {
        return std::ranges::find(of_warp.second, a, &SassState::WarpAccess::name) !=
               of_warp.second.end();
    });
}

// Registers come when they are there; on a chip, whatever waits for the scoreboard does, too.
bool SassFetch::waits_for_tensor(const SassState& s, uint32_t thread, const SassInstruction& i) {
    bool found = false;
    const SassCode& code = test_.sass->code(test_.sass->thread(thread).launch);
    for (const SassState::Loading& l : s.threads[thread].loading) {
        const auto is_one = [&](uint32_t r) { return l.to.has(code.registers()[r]); };
        const bool by_scoreboard = !scoped_ && l.scoreboard != no_scoreboard &&
                                   i.insn.control.wait_mask >> l.scoreboard & 1;
        if (!by_scoreboard && std::ranges::none_of(i.reads, is_one) &&
            std::ranges::none_of(i.writes, is_one))
            continue;
        touched_.copies.push_back(l.agent);
        found = true;
    }
    return found;
}

// Waits and fences. False: it waits.
bool SassFetch::tensor_orders(Turn& at) {
    SassState::OfThread& self = at.s.threads[at.thread];
    const auto stops = [&](bool stores) {
        std::vector<AgentName> all;
        if (stores) all = self.storing;
        for (const SassState::Loading& l : self.loading)
            if (!stores) all.push_back(l.agent);
        if (!scoped_) touched_.copies.insert(touched_.copies.end(), all.begin(), all.end());
        for (const AgentName& a : all)
            if (scoped_) self.finished.add(a, true), self.told.add_over(a);
        return !scoped_ && !all.empty();
    };
    const Event& e = at.i.event;
    if (!scoped_ && e.is(SASSDEC_KIND_FENCE) && e.space == SASSDEC_SPACE_TENSOR && stops(true))
        return false;
    for (const Operation& o : at.i.orders) {
        if (const auto* wait = std::get_if<op::TensorWait>(&o); wait && stops(wait->stores))
            return false;
        const auto* fence = std::get_if<op::TensorFence>(&o);
        if (!fence || !scoped_) continue;
        if (fence->operation == SASSEMU_OPERATION_TENSOR_AFTER) {
            self.acquired.join(self.told);
            continue;
        }
        self.told.join(self.finished);
        for (const uint32_t number : self.cores)
            if (pending(at.s, {at.thread, number})) self.told.add({at.thread, number}, false);
    }
    return true;
}

// What the thread tells through memory may reach anybody.
void SassFetch::tell_all(SassState& s, uint32_t thread) {
    const TensorOrder told = s.threads[thread].told;
    if (told.empty()) return;
    for (SassState::OfThread& t : s.threads) t.told.join(told);
}

// What the thread's next work in tensor memory comes behind.
std::vector<AgentName> SassFetch::behind(const Turn& at, const CellWork& work) const {
    const SassState::OfThread& self = at.s.threads[at.thread];
    std::vector<AgentName> out;
    const auto look = [&](AgentName a, const CellWork& other) {
        if (!work.meets(other)) return;
        // The tensor core's own are pipelined: on a chip it takes them as they come.
        const bool pipelined = work.pipelined_behind(other);
        const bool before = scoped_
                                ? (pipelined && a.first == at.thread) ||
                                      self.finished.has(a, false) || self.acquired.has(a, pipelined)
                                : pipelined;
        if (before) out.push_back(a);
    };
    for (const CopyAgent& a : at.s.agents)
        if (a.work->cells) look(a.name(), *a.work->cells);
    for (const auto& [group, all] : at.s.accesses)
        for (const SassState::WarpAccess& a : all) look(a.name, a.work);
    return out;
}

SassFetch::What SassFetch::tensor(Turn& at, const SassEffects& e) {
    using Call = SassEffects::Call;
    if (e.call == Call::tensor_granules) return tensor_granules(at);
    if (scoped_ && !at.i.ptx_known)
        return beyond(at,
                      "is not explored without its PTX: waits and fences of tcgen05 leave no word");
    if (e.call == Call::tensor_access) return tensor_access(at, e.tensor_access);
    if (e.call == Call::tensor_work) return tensor_work(at, TensorWork(e.tensor_work));
    return tensor_commit(at, e.tensor_commit);
}

// The first run said that it is about granules; now the instruction sees them.
SassFetch::What SassFetch::tensor_granules(Turn& at) {
    const int32_t cta = test_.threads[at.thread].cta;
    touched_.ranges.push_back({granules_of(cta), 4, true});
    uint32_t& used = at.s.granules[cta];
    const SassEffects& e = run(at, used);
    if (e.granules.pair) return beyond(at, "is not explored: tensor memory of two CTAs");
    const auto after = static_cast<uint32_t>(e.object);
    free_columns(at, cta, std::exchange(used, after) & ~after);
    write(at);
    ++at.pc;
    return What::ran;
}

// Who uses columns that nobody has allocated, or that have been freed, does what has no meaning. A
// step that only starts work does not wait for others: so it is looked at as early as can be.
void SassFetch::look_at_columns(const SassState& s, const CellWork& used) {
    const auto at = s.granules.find(used.cta);
    const uint32_t allocated = at == s.granules.end() ? 0 : at->second;
    for (const auto* ranges : {&used.read, &used.written})
        for (const SharedRange& r : *ranges)
            if (granules_in(r) & ~allocated) note_undefined(unallocated_columns);
}

// And who frees columns that something under way uses. Of a scoped machine what is known to have
// been waited for is over, and all that it came behind.
void SassFetch::free_columns(const Turn& at, int32_t cta, uint32_t freed) {
    CellWork columns;
    columns.cta = cta;
    constexpr uint32_t granule = async::TensorMemory::granule;
    for (; freed; freed &= freed - 1)
        columns.written.push_back(
            {tensor_offset(0, static_cast<uint32_t>(std::countr_zero(freed)) * granule),
             tensor_offset(0, granule)});
    for (const SharedRange& r : columns.written)
        touched_.ranges.push_back({tensor_row_of(cta) + r.address, r.bytes, true});
    std::set<AgentName> over;
    const auto each = [&](auto&& act) {
        for (const CopyAgent& a : at.s.agents)
            if (a.work->cells) act(a.name(), *a.work->cells, a.work->behind);
        for (const auto& [group, all] : at.s.accesses)
            for (const SassState::WarpAccess& a : all) act(a.name, a.work, a.behind);
    };
    for (size_t before = ~size_t{0}; over.size() != before;) {
        before = over.size();
        each([&](AgentName a, const CellWork&, const std::vector<AgentName>& behind) {
            if (at.s.threads[at.thread].told.over(a)) over.insert(a);
            if (over.contains(a)) over.insert(behind.begin(), behind.end());
        });
    }
    each([&](AgentName a, const CellWork& work, const std::vector<AgentName>&) {
        if (columns.meets(work) && !over.contains(a)) note_undefined(unallocated_columns);
    });
}

// A CTA has ended with columns that nobody has freed.
void SassFetch::look_at_leaks(const SassState& s, uint32_t thread) {
    const auto at = s.granules.find(test_.threads[thread].cta);
    if (at == s.granules.end() || !at->second) return;
    for (uint32_t t = 0; t < test_.threads.size(); ++t)
        if (test_.threads[t].cta == at->first && !s.threads[t].ended) return;
    note_undefined(leaked_columns);
}

SassFetch::What SassFetch::tensor_access(Turn& at, const async::TensorAccess& a) {
    const uint32_t number = test_.sass->thread(at.thread).thread, lane = number % 32;
    const uint32_t row = async::tensor_lane(a.address), column = async::tensor_column(a.address);
    if (row / 32 != number / 32 % 4 || row % 16)
        return refuse_at(at, "faults: lanes of tensor memory that its warp does not reach");
    if (column + async::tensor_columns(a) > async::TensorMemory::columns)
        return refuse_at(at, "faults: it reaches columns that tensor memory does not have");
    const std::vector<uint32_t> lanes = warp(at.thread);
    auto& all = at.s.accesses[{test_.threads[at.thread].cta, number / 32}];
    auto p = std::ranges::find_if(all, [&](const auto& x) { return !(x.issued >> lane & 1); });
    if (p == all.end()) {
        SassState::WarpAccess fresh;
        fresh.pc = at.pc;
        fresh.address = a.address;
        fresh.name = {lanes[0], at.s.threads[lanes[0]].issued++};
        fresh.work.cta = test_.threads[at.thread].cta;
        for (uint32_t r = 0; r < async::tensor_rows(a.layout); ++r)
            for (uint32_t c = 0; c < async::tensor_columns(a); ++c)
                add_cell(a.store ? fresh.work.written : fresh.work.read,
                         tensor_offset(row + r, column + c));
        p = all.insert(all.end(), std::move(fresh));
    }
    if (p->pc != at.pc || p->address != a.address)
        return beyond(at, "is not explored: lanes of the warp access tensor memory apart");
    CellWork::Statistic statistic{at.thread, 0, a.statistic, {}, a.halves};
    for (uint32_t r = 0; r < a.registers; ++r) {
        async::TensorPlace place;
        if (!async::tensor_place(a.layout, lane, r, place)) continue;
        // RZ stands for any number of zeros.
        const uint32_t from = a.first == zero_row ? zero_row : a.first + r * row_bytes;
        const int32_t reg = test_.sass->number_of_row(at.thread, from, 0);
        const uint32_t each = a.halves ? 2 : 1;
        const uint32_t to = tensor_offset(row + place.row, column + each * place.word);
        if (!a.store) {
            statistic.offsets.push_back(to);
            if (reg >= 0)
                p->work.loads.push_back({at.thread, static_cast<uint32_t>(reg), to, a.halves});
            continue;
        }
        const auto value = static_cast<uint32_t>(word(at, from, 0));
        p->work.stores.push_back({to, a.halves ? value & 0xffff : value});
        if (a.halves) p->work.stores.push_back({to + tensor_offset(0, 1), value >> 16});
    }
    const bool reduces = a.statistic.type != async::TensorStatistic::none;
    if (const int32_t reg = test_.sass->number_of_row(at.thread, a.statistic.to, 0);
        reduces && reg >= 0 && !statistic.offsets.empty()) {
        statistic.number = static_cast<uint32_t>(reg);
        p->work.statistics.push_back(std::move(statistic));
    }
    for (const AgentName& before : behind(at, p->work))
        if (before != p->name && std::ranges::find(p->behind, before) == p->behind.end())
            p->behind.push_back(before);
    SassState::OfThread& self = at.s.threads[at.thread];
    if (a.store) {
        self.storing.push_back(p->name);
    } else {
        const auto loads = [&](uint32_t row, uint32_t count) {
            const int32_t first = SassLane::register_of_row(row);
            self.loading.push_back(
                {p->name,
                 first < 0 ? RegisterRange{} : RegisterRange{static_cast<uint32_t>(first), count},
                 at.i.insn.control.write_barrier});
        };
        loads(a.first, a.registers);
        if (reduces) loads(a.statistic.to, 1);
    }
    touched_.starts_work(p->work);
    if (!p->issued) look_at_columns(at.s, p->work);
    p->issued |= 1u << lane;
    complete_accesses(at.s, at.thread);
    ++at.pc;
    return What::ran;
}

// Of the thread's warp: those that all lanes have issued, but for those that have ended.
void SassFetch::complete_accesses(SassState& s, uint32_t thread) const {
    const SassThread& self = test_.sass->thread(thread);
    const auto at = s.accesses.find({test_.threads[thread].cta, self.thread / 32});
    if (at == s.accesses.end()) return;
    uint32_t missing = 0;
    for (const uint32_t t : warp(thread))
        if (!s.threads[t].ended) missing |= 1u << test_.sass->thread(t).thread % 32;
    auto& all = at->second;
    while (!all.empty() && !(missing & ~all.front().issued)) {
        SassState::WarpAccess& p = all.front();
        CopyAgent a;
        std::tie(a.thread, a.number) = p.name;
        a.pc = p.pc;
        CopyWork work;
        work.receivers.emplace_back();
        work.behind = std::move(p.behind);
        for (const CellWork::Store& store : p.work.stores)
            put(p.work.key, uint64_t{store.offset} << 32 | store.value);
        work.cells = std::make_shared<const CellWork>(std::move(p.work));
        begin(s, std::move(a), std::move(work));
        all.erase(all.begin());
    }
    if (all.empty()) s.accesses.erase(at);
}

SassFetch::What SassFetch::tensor_work(Turn& at, const TensorWork& asked) {
    const uint32_t launch = test_.sass->thread(at.thread).launch;
    if (const std::string why = refusal(asked, test_.sass->launch(launch).launch); !why.empty())
        return why.starts_with("faults") ? refuse_at(at, why) : beyond(at, why);
    const TensorRanges ranges = ranges_of(asked);
    const int32_t cta = test_.threads[at.thread].cta;
    CellWork cells;
    cells.cta = cta;
    cells.launch = launch;
    cells.read = ranges.read;
    cells.written = ranges.written;
    cells.key = key_of(asked);
    cells.core.push_back(asked);
    look_at_columns(at.s, cells);
    CopyWork work;
    work.behind = behind(at, cells);
    work.cells = std::make_shared<const CellWork>(std::move(cells));
    auto& moves = work.receivers.emplace_back().moves;
    for (const SharedRange& r : ranges.shared)
        moves.push_back({TestMemory::of_shared(cta) | r.address, 0, r.bytes});
    SassState::OfThread& self = at.s.threads[at.thread];
    const uint32_t number = self.issued;
    const What what = issue(at, std::move(work));
    if (what != What::blocked) self.cores.push_back(number);
    return what;
}

// An arrival behind all that the thread has asked of the tensor core.
SassFetch::What SassFetch::tensor_commit(Turn& at, const async::TensorCommit& c) {
    CopyWork work;
    work.after = at.s.threads[at.thread].cores;
    work.after_reads = scoped_;
    for (uint32_t rest = c.multicast ? c.ranks : 1; rest; rest &= rest - 1) {
        const auto rank = static_cast<uint32_t>(std::countr_zero(rest));
        const uint32_t address = c.multicast ? rank << 24 | (c.mbarrier & 0xffffff) : c.mbarrier;
        Place place;
        if (!test_.sass->shared(test_, at.thread, address, false, 8, place))
            return refuse_at(at, "faults: it reaches no shared memory");
        CopyWork::Receiver& r = work.receivers.emplace_back();
        r.object = TestMemory::of_shared(test_.locations[test_.names[place.name].location].cta) |
                   place.offset;
        r.change.arrivals = 1;
    }
    return issue(at, std::move(work));
}

void SassFetch::act(SassState& s, const CopyAgent& a,
                    const std::function<std::vector<uint64_t>&(uint32_t thread)>& registers) const {
    const CellWork& work = *a.work->cells;
    auto& row = s.tensor[work.cta];
    if (!row) row = std::make_shared<SassState::TensorRow>();
    const auto word = [&](uint32_t offset, bool halves) {
        uint32_t cell[2] = {};
        for (uint32_t k = 0; k < (halves ? 2u : 1u); ++k)
            std::memcpy(&cell[k], row->bytes.data() + offset + k * tensor_offset(0, 1), 4);
        return halves ? (cell[0] & 0xffff) | cell[1] << 16 : cell[0];
    };
    for (const CellWork::Load& load : work.loads)
        registers(load.thread)[load.number] = word(load.offset, load.halves);
    for (const CellWork::Statistic& x : work.statistics) {
        std::vector<uint32_t> loaded;
        for (const uint32_t offset : x.offsets) loaded.push_back(word(offset, x.halves));
        registers(x.thread)[x.number] = async::statistic(x.how, loaded);
    }
    if (!work.written.empty()) {
        const auto next = std::make_shared<SassState::TensorRow>(*row);
        for (const CellWork::Store& store : work.stores)
            std::memcpy(next->bytes.data() + store.offset, &store.value, 4);
        for (const TensorWork& core : work.core) {
            const PreparedLaunch& launch = test_.sass->launch(work.launch);
            perform(launch, core, shared_as_read(launch, a).data(), next->bytes);
        }
        next->key.clear();
        for (size_t i = 0; i < next->bytes.size(); i += 8) {
            uint64_t v;
            std::memcpy(&v, next->bytes.data() + i, 8);
            if (v) put(next->key, i), put(next->key, v);
        }
        row = next;
    }
    // It is in order with what comes later.
    const AgentName name = a.name();
    for (SassState::OfThread& t : s.threads) {
        std::erase_if(t.loading, [&](const auto& l) { return l.agent == name; });
        std::erase(t.storing, name);
        t.finished.forget(name);
        t.told.forget(name);
        t.acquired.forget(name);
    }
    for (auto& [which, b] : s.barriers) b.told.forget(name);
    for (auto& [object, told] : s.told) told.now.forget(name), told.over.forget(name);
    for (auto& [cluster, told] : s.cluster_told) told.forget(name);
}

void SassFetch::tensor_key(const SassState& s, std::string& out) const {
    const auto add = [&](uint64_t v) { put(out, v); };
    const auto name = [&](AgentName a) { add(uint64_t{a.first} << 32 | a.second); };
    for (const SassState::OfThread& t : s.threads) {
        add(t.loading.size());
        for (const SassState::Loading& l : t.loading) name(l.agent);
        add(t.storing.size());
        for (const AgentName& a : t.storing) name(a);
        add(t.cores.size());
        for (const uint32_t number : t.cores) add(number);
        if (!scoped_) continue;
        for (const TensorOrder* o : {&t.finished, &t.told, &t.acquired}) o->key(add);
    }
    for (const auto& [cta, row] : s.tensor) add(static_cast<uint64_t>(cta)), out += row->key;
    for (const auto& [cta, used] : s.granules) add(static_cast<uint64_t>(cta) << 32 | used);
    const auto behind = [&](const std::vector<AgentName>& all) {
        for (const AgentName& a : all)
            if (pending(s, a)) name(a);
        add(~uint64_t{0});
    };
    for (const auto& [group, all] : s.accesses)
        for (const SassState::WarpAccess& a : all) {
            name(a.name);
            add(uint64_t{a.pc} << 32 | a.issued);
            for (const CellWork::Store& store : a.work.stores)
                add(uint64_t{store.offset} << 32 | store.value);
            behind(a.behind);
        }
    for (const CopyAgent& a : s.agents) {
        if (!a.work->cells) continue;
        out += a.work->cells->key;
        behind(a.work->behind);
    }
    if (!scoped_) return;
    for (const auto& [which, b] : s.barriers) b.told.key(add);
    for (const auto& [object, told] : s.told) add(object), told.now.key(add), told.over.key(add);
    for (const auto& [cluster, told] : s.cluster_told) told.key(add);
}

}  // namespace sassemu::explore
