// SPDX-License-Identifier: Apache-2.0
// The callbacks of `trace` about what CTAs do. What the engine has recorded is kept as it comes:
// runs of instructions.
#include <bit>

#include "encode.hpp"
#include "recorder.hpp"

namespace tracing {

namespace {

constexpr size_t most_records = size_t{1} << 16;  // of a chunk
constexpr size_t chunk_bytes = size_t{4} << 20;   // with values and registers
constexpr size_t most_held = size_t{64} << 20;    // of all open chunks
constexpr size_t worth_giving = size_t{16} << 10;

}  // namespace

CtaState* Recorder::find(sassemu_cta c) {
    const std::shared_lock guard(running_mutex_);
    const auto at = ctas_.find(c);
    return at == ctas_.end() ? nullptr : at->second.get();
}

// What open chunks hold together is bounded: the largest of them is what is dear.
void Recorder::count(CtaState& c) {
    const size_t now = c.chunk->bytes() + c.shapes.bytes();
    const size_t held = held_ += now - c.counted;
    c.counted = now;
    if (c.chunk->records >= most_records || now >= chunk_bytes ||
        (held > most_held && now >= worth_giving))
        give(c);
}

void Recorder::give(CtaState& c) {
    if (c.chunk->empty()) return;
    define_instructions();
    auto next = std::make_unique<Chunk>();
    next->launch = c.chunk->launch;
    next->cta = c.chunk->cta;
    next->timed = c.chunk->timed;
    std::shared_ptr<Chunk> full = std::move(c.chunk);
    c.chunk = std::move(next);
    c.shapes = {};  // a block stands for itself
    c.last = nullptr;
    c.last_recorded = false;
    held_ -= c.counted;
    c.counted = 0;
    if (full->records) kept_ = true;
    const Writer::About about{full->launch, full->cta, full->records};
    writer_.submit(
        [this, full](sassemu::trace::Trace& t) {
            encode(*full, values_, registers_, *t.add_block()->mutable_records());
        },
        about);
}

void Recorder::records(const sassemu_records& block) {
    uint64_t all = 0;
    for (uint32_t k = 0; k < block.records; ++k) all += block.record[k].count;
    uint64_t time = time_.fetch_add(all, std::memory_order_relaxed);
    CtaState* const c = find(block.cta);
    if (!c) return;
    const sassemu_recorded_access* a = block.access;
    const sassemu_recorded_access* const end = a + block.accesses;
    for (; a != end && a->record == SASSEMU_RECORD_BEFORE; ++a)
        if (c->last_recorded) access(*c, block, *a, c->chunk->records - 1, 0);
    count(*c);
    for (uint32_t k = 0; k < block.records; time += block.record[k++].count) {
        if (c->chunk->records >= most_records) count(*c);
        const uint32_t first = c->chunk->records;
        uint32_t skipped = 0;
        const bool some = record(*c, block.record[k], time, skipped);
        const uint32_t kept = c->chunk->records - first;
        for (; a != end && a->record == k; ++a)
            if (some && a->step - skipped < kept) access(*c, block, *a, first, a->step - skipped);
    }
}

// False: the filters leave all of it out. Else they leave out so many at its beginning.
bool Recorder::record(CtaState& c, const sassemu_record& r, uint64_t time, uint32_t& skipped) {
    c.last_recorded = false;
    if (c.launch->timed && std::exchange(c.next_time, time + r.count) != time) c.last = nullptr;
    if (!filter_.warp.has(r.warp)) return false;
    WarpState& w = c.warps[r.warp];
    const uint64_t begin = std::max(w.number, filter_.window.low), end = w.number + r.count;
    skipped = static_cast<uint32_t>(begin - w.number);
    const bool some = begin < end && begin <= filter_.window.high;
    const uint64_t count = some ? std::min(end - begin - 1, filter_.window.high - begin) + 1 : 0;
    c.last_recorded = count && begin + count == end;
    w.number = end;
    if (!count) {
        c.last = nullptr;  // the next record begins a slice
        return false;
    }
    Chunk& chunk = *c.chunk;
    const uint32_t id = (*c.launch->ids)[r.insn + skipped];
    const auto n = static_cast<uint32_t>(count);
    Run* const last = c.last == &w ? &chunk.runs.back() : nullptr;
    if (last && last->id + last->count == id && last->lanes == r.lanes &&
        last->active == r.active) {
        last->count += n;
    } else {
        if (!last)
            chunk.slices.push_back({r.warp, static_cast<uint32_t>(chunk.runs.size()), w.recorded,
                                    r.clock + skipped, time + skipped});
        chunk.runs.push_back({id, n, r.lanes, r.active});
    }
    c.last = c.last_recorded ? &w : nullptr;
    w.recorded += n;
    chunk.records += n;
    if (registers_) chunk.has_after.resize(chunk.records);
    return true;
}

void Recorder::access(CtaState& c, const sassemu_records& block, const sassemu_recorded_access& a,
                      uint32_t record, uint32_t step) {
    Chunk& chunk = *c.chunk;
    const Run& run = chunk.runs.back();
    // The run may have begun before this record.
    const uint32_t id = run.id + run.count - (chunk.records - record) + step;
    const auto lanes = static_cast<uint32_t>(std::popcount(a.lanes));
    const uint8_t form = c.shapes.add(id, block.address + a.address, lanes, chunk.addresses);
    chunk.accesses.push_back(
        {record + step, a.lanes, run.lanes, a.op, a.space, a.bytes, a.words, a.result_words, form});
    if (!values_) return;
    const uint32_t* const word = block.word + a.word;
    const uint32_t *const result = word + a.words * lanes, *const end =
                                                               result + a.result_words * lanes;
    chunk.values.insert(chunk.values.end(), word, result);
    chunk.results.insert(chunk.results.end(), result, end);
}

// ---- with registers: each record is followed by these two

CtaState* Recorder::recorded_last(const sassemu_warp_info& w) {
    CtaState* const c = find(w.cta);
    return c && c->last_recorded && c->last == &c->warps[w.index] ? c : nullptr;
}

void Recorder::before(sassemu_warp w, sassemu_insn insn, uint32_t lanes) {
    if (CtaState* const c = recorded_last(info(w))) take(w, insn, lanes, false, c->chunk->before);
}

void Recorder::after(sassemu_warp w, sassemu_insn insn, uint32_t lanes) {
    CtaState* const c = recorded_last(info(w));
    if (!c) return;
    c->chunk->has_after.back() = 1;
    take(w, insn, lanes, true, c->chunk->after);
}

void Recorder::take(sassemu_warp w, sassemu_insn i, uint32_t lanes, bool written,
                    std::vector<uint32_t>& to) {
    const RegisterSets* sets = nullptr;
    {
        const std::shared_lock guard(running_mutex_);
        sets = &sets_.at(i);
    }
    for (const uint8_t r : sets->rows[written]) {
        const uint32_t* const row = host.row(w, r);
        for (uint32_t rest = lanes; rest; rest &= rest - 1)
            to.push_back(row ? row[std::countr_zero(rest)] : 0);
    }
    for (const uint8_t r : sets->uniform[written]) {
        const uint32_t* const value = host.uniform(w, r);
        to.push_back(value ? *value : 0);
    }
    for (const uint8_t p : sets->predicates[written]) to.push_back(host.predicate(w, p));
}

sassemu::trace::Event* Recorder::event(sassemu_cta handle) {
    if (!events_ || !handle) return nullptr;
    CtaState* const c = find(handle);
    if (!c) return nullptr;
    Chunk& chunk = *c->chunk;
    sassemu::trace::Event& e = chunk.events.emplace_back();
    e.set_records(chunk.records);
    return &e;
}

void Recorder::sync(const sassemu_sync& s) {
    // What warps do is recorded with their instructions.
    const uint32_t warp = s.warp ? info(s.warp).index : 0;
    if (s.warp && !filter_.warp.has(warp)) return;
    if (s.kind == SASSEMU_SYNC_LOAD_RETURN) return loaded(s, warp);
    sassemu::trace::Event* const e = event(s.cta);
    if (!e) return;
    sassemu::trace::Sync& to = *e->mutable_sync();
    to.set_kind(s.kind);
    to.set_warp(s.warp ? warp + 1 : 0);
    to.set_lanes(s.lanes);
    to.set_id(s.id);
    to.set_address(s.address);
    to.set_owner(s.owner);
    to.set_phase(s.phase);
    to.set_phase_after(s.phase_after);
    to.set_passed(s.passed);
    to.set_pending(s.pending);
    to.set_arrivals(s.arrivals);
    to.set_expect(s.expect);
    to.set_transactions(s.transactions);
    to.set_waits(s.waits);
    to.set_parity(s.parity);
    to.set_agent(s.agent);
}

void Recorder::loaded(const sassemu_sync& s, uint32_t warp) {
    const CtaState* const c = find(s.cta);
    const uint64_t index = host.insn_code_offset(s.insn) / 16;
    if (!c || index >= c->launch->ids->size()) return;
    const uint32_t id = (*c->launch->ids)[index];
    sassemu::trace::Event* const e = id == not_recorded ? nullptr : event(s.cta);
    if (!e) return;
    sassemu::trace::Loaded& to = *e->mutable_loaded();
    to.set_instruction(id);
    to.set_warp(warp);
    to.set_lanes(s.lanes);
    if (!values_) return;
    LoadResult where;
    {
        const std::shared_lock guard(running_mutex_);
        const auto at = loads_.find(s.insn);
        if (at != loads_.end()) where = at->second;
    }
    for (uint32_t rest = s.lanes; rest && where.row != SASSEMU_RZ; rest &= rest - 1)
        for (uint32_t k = 0; k < where.words; ++k) {
            const uint32_t* const row = host.row(s.warp, where.row + k);
            to.add_value(row ? row[std::countr_zero(rest)] : 0);
        }
}

void Recorder::async(const sassemu_async& a) {
    if (!a.warp || a.step == SASSEMU_ASYNC_WILL_READ || a.step == SASSEMU_ASYNC_WILL_WRITE) return;
    const sassemu_warp_info w = info(a.warp);
    if (!filter_.warp.has(w.index)) return;
    sassemu::trace::Event* const e = event(w.cta);
    if (!e) return;
    sassemu::trace::Async& to = *e->mutable_async();
    to.set_step(a.step);
    to.set_agent_kind(a.agent_kind);
    to.set_id(a.id);
    to.set_warp(w.index);
    to.set_lanes(a.lanes);
    to.set_proxy(a.proxy);
    if (a.step == SASSEMU_ASYNC_ISSUE && a.group < 0 && a.mbarrier.space == SASSEMU_SHARED) {
        to.set_mbarrier(static_cast<uint32_t>(a.mbarrier.address) + 1);
        to.set_mbarrier_owner(a.mbarrier.owner);
    }
    if (a.step != SASSEMU_ASYNC_READ && a.step != SASSEMU_ASYNC_WRITE) return;
    to.set_space(a.at.space);
    to.set_address(a.at.address);
    to.set_owner(a.at.owner);
    to.set_bytes(a.bytes);
}

void Recorder::fault(const sassemu_fault_info& f) {
    if (!f.warp) return;
    const sassemu_warp_info w = info(f.warp);
    if (!filter_.warp.has(w.index)) return;
    sassemu::trace::Event* const e = event(w.cta);
    if (!e) return;
    sassemu::trace::Fault& to = *e->mutable_fault();
    to.set_kind(f.kind ? f.kind : "");
    to.set_what(f.what ? f.what : "");
    to.set_warp(w.index);
    to.set_lanes(f.lanes);
}

}  // namespace tracing
