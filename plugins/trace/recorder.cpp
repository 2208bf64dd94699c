// SPDX-License-Identifier: Apache-2.0
// The callbacks of `trace`. What the engine has recorded is kept as it comes: runs of instructions.
#include "recorder.hpp"

#include <bit>

#include "encode.hpp"

namespace tracing {

namespace {

constexpr size_t most_records = size_t{1} << 16;  // of a chunk
constexpr size_t chunk_bytes = size_t{4} << 20;   // with values and registers
constexpr size_t most_held = size_t{64} << 20;    // of all open chunks
constexpr size_t worth_giving = size_t{16} << 10;

sassemu::trace::Dim3 dim3(const sassemu_dim3& d) {
    sassemu::trace::Dim3 to;
    to.set_x(d.x);
    to.set_y(d.y);
    to.set_z(d.z);
    return to;
}

unsigned up_to(const sassemu::Start& start, const char* key, unsigned otherwise, unsigned low,
               unsigned high) {
    const uint64_t v = start.number(key, otherwise);
    if (v < low || v > high)
        throw std::invalid_argument("option '" + std::string(key) + "': from " +
                                    std::to_string(low) + " to " + std::to_string(high));
    return static_cast<unsigned>(v);
}

std::string needed_file(const sassemu::Start& start) {
    if (start.value("file").empty())
        throw std::invalid_argument("option 'file' is needed: where the trace goes");
    return std::string(start.value("file"));
}

}  // namespace

bool Recorder::flag(const sassemu::Start& start, const char* key, bool otherwise) const {
    return up_to(start, key, otherwise, 0, 1) != 0;
}

Recorder::Recorder(const sassemu::Start& start)
    : Plugin(start),
      file_(needed_file(start)),
      filter_(start),
      addresses_(flag(start, "addresses", true) || flag(start, "values", false)),
      values_(flag(start, "values", false)),
      registers_(flag(start, "registers", false)),
      events_(flag(start, "events", true)),
      skipped_(flag(start, "skipped", false)),
      writer_(file_, static_cast<int>(up_to(start, "level", 3, 1, 19)),
              up_to(start, "threads", 2, 0, 64)) {
    if (registers_ && skipped_)
        throw std::invalid_argument(
            "option 'skipped': not with registers=1, which nobody reads there");
    define([this](sassemu::trace::Block& b) {
        sassemu::trace::Header& h = *b.mutable_header();
        h.set_version(1);
        h.set_addresses(addresses_);
        h.set_values(values_);
        h.set_registers(registers_);
        h.set_events(events_);
        for (const std::string& word : filter_.words) h.add_filter(word);
    });
}

// ---- what there is

void Recorder::define(std::function<void(sassemu::trace::Block&)> fill) {
    writer_.submit([fill = std::move(fill)](sassemu::trace::Trace& t) { fill(*t.add_block()); },
                   {});
}

void Recorder::define_instructions() {
    const std::lock_guard order(order_);
    if (undefined_.empty()) return;
    define([all = std::exchange(undefined_, {})](sassemu::trace::Block& b) {
        for (const auto& i : all) *b.add_instruction() = i;
    });
}

uint32_t Recorder::select(sassemu_insn i) {
    if (!filter_.insn(*this, i)) return 0;
    sassemu::trace::Instruction text;
    text.set_pc(host.insn_pc(i));
    text.set_function(host.insn_function(i));
    text.set_opcode(host.insn_opcode(i));
    text.set_text(host.insn_text(i));
    sassemu_source s{};
    s.size = sizeof s;
    if (host.insn_source(i, 0, &s) == 0) {
        text.set_file(s.file ? s.file : "");
        text.set_line(s.line);
    }
    const sassemu_effect e = effect(i);
    text.set_effect(e.kind);
    text.set_action(e.action);
    RegisterSets sets;
    uint64_t rows[2][4];
    host.insn_registers(i, rows[0], rows[1]);
    for (const int written : {0, 1})
        for (uint32_t r = 0; r < SASSEMU_RZ; ++r)
            if (rows[written][r / 64] >> r % 64 & 1)
                sets.rows[written].push_back(static_cast<uint8_t>(r));
    for (uint32_t k = 0; k < host.insn_operands(i); ++k) {
        const sassemu_operand o = operand(i, k);
        sassemu::trace::Operand& to = *text.add_operand();
        to.set_kind(o.kind);
        to.set_index(o.index);
        to.set_destination(o.is_destination);
        to.set_value(o.value);
        const auto add = [&](std::vector<uint8_t>(&list)[2], uint32_t index) {
            list[o.is_destination].push_back(static_cast<uint8_t>(index));
        };
        if (o.kind == SASSEMU_OPERAND_PREDICATE && o.index != SASSEMU_PT)
            add(sets.predicates, o.index);
        if (o.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE && o.index != SASSEMU_PT)
            add(sets.predicates, o.index + 8);
        if (o.kind == SASSEMU_OPERAND_UNIFORM_REGISTER) add(sets.uniform, o.index);
    }
    if (registers_) {
        text.mutable_read_register()->Add(sets.rows[0].begin(), sets.rows[0].end());
        text.mutable_read_uniform()->Add(sets.uniform[0].begin(), sets.uniform[0].end());
        text.mutable_read_predicate()->Add(sets.predicates[0].begin(), sets.predicates[0].end());
        text.mutable_written_register()->Add(sets.rows[1].begin(), sets.rows[1].end());
        text.mutable_written_uniform()->Add(sets.uniform[1].begin(), sets.uniform[1].end());
        text.mutable_written_predicate()->Add(sets.predicates[1].begin(), sets.predicates[1].end());
    }
    const uint64_t index = host.insn_code_offset(i) / 16;
    std::vector<uint32_t>& ids = ids_[host.insn_module(i)];
    if (ids.size() <= index) ids.resize(index + 1);
    ids[index] = instructions_;
    text.set_id(instructions_++);
    undefined_.push_back(std::move(text));
    if (registers_) sets_.emplace(i, std::move(sets));
    return SASSEMU_RECORD | (addresses_ ? SASSEMU_RECORD_ACCESSES : 0) |
           (values_ ? SASSEMU_RECORD_VALUES : 0) | (skipped_ ? SASSEMU_RECORD_SKIPPED : 0) |
           (registers_ ? SASSEMU_BEFORE | SASSEMU_AFTER : 0);
}

void Recorder::launch_begin(sassemu_launch l) {
    const sassemu_launch_info& i = info_ = info(l);
    on_ = filter_.launch(i);
    if (!on_) return;
    code_ = &ids_[i.module];
    sassemu::trace::Launch to;
    to.set_id(i.id);
    to.set_kernel(i.kernel ? i.kernel : "");
    to.set_arch(host.module_arch(i.module));
    *to.mutable_grid() = dim3(i.grid);
    *to.mutable_block() = dim3(i.block);
    *to.mutable_cluster() = dim3(i.cluster);
    to.set_registers(i.registers);
    to.set_shared_static(i.shared_static);
    to.set_shared_dynamic(i.shared_dynamic);
    to.set_local(i.local_bytes);
    to.set_gpu(i.gpu);
    to.set_sms(i.sms);
    define([to](sassemu::trace::Block& b) { *b.mutable_launch() = to; });
}

void Recorder::launch_end(sassemu_launch, const char* status) {
    if (!on_) return;
    // CTAs that a fault or a deadlock has left, in an order that does not depend on handles.
    std::vector<CtaState*> left;
    for (const auto& [handle, c] : ctas_) left.push_back(c.get());
    std::sort(left.begin(), left.end(),
              [](auto* a, auto* b) { return a->chunk->cta < b->chunk->cta; });
    for (CtaState* c : left) give(*c);
    ctas_.clear();
    sassemu::trace::LaunchEnd to;
    to.set_id(info_.id);
    to.set_status(status ? status : "");
    to.set_shared_window(info_.shared_window);
    to.set_local_window(info_.local_window);
    define([to](sassemu::trace::Block& b) { *b.mutable_launch_end() = to; });
    on_ = false;
}

void Recorder::host_access(uint64_t address, uint64_t bytes, uint32_t is_write) {
    if (!is_write) return;
    define([=](sassemu::trace::Block& b) {
        b.mutable_copy()->set_address(address);
        b.mutable_copy()->set_bytes(bytes);
    });
}

void Recorder::cta_begin(sassemu_cta handle) {
    const sassemu_cta_info i = info(handle);
    if (!on_ || !filter_.cta.has(i.linear)) return;
    auto c = std::make_unique<CtaState>();
    c->chunk = std::make_unique<Chunk>();
    c->chunk->launch = info_.id;
    c->chunk->cta = i.linear;
    c->warps.resize(i.warps);
    sassemu::trace::Cta to;
    to.set_launch(info_.id);
    to.set_linear(i.linear);
    *to.mutable_id() = dim3(i.id);
    to.set_sm(i.sm);
    to.set_warps(i.warps);
    to.set_cluster(i.cluster);
    to.set_rank(i.rank);
    define([to](sassemu::trace::Block& b) { *b.mutable_cta() = to; });
    const std::lock_guard guard(running_mutex_);
    ctas_[handle] = std::move(c);
}

void Recorder::cta_end(sassemu_cta handle) {
    std::unique_ptr<CtaState> c;
    {
        const std::lock_guard guard(running_mutex_);
        const auto at = ctas_.find(handle);
        if (at == ctas_.end()) return;
        c = std::move(at->second);
        ctas_.erase(at);
    }
    give(*c);
}

// ---- what happens

CtaState* Recorder::find(sassemu_cta c) {
    const std::shared_lock guard(running_mutex_);
    const auto at = ctas_.find(c);
    return at == ctas_.end() ? nullptr : at->second.get();
}

// What open chunks hold together is bounded: the largest of them is what is dear.
void Recorder::count(CtaState& c) {
    const size_t now = c.chunk->bytes();
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
    std::shared_ptr<Chunk> full = std::move(c.chunk);
    c.chunk = std::move(next);
    c.last = nullptr;
    c.last_recorded = false;
    held_ -= c.counted;
    c.counted = 0;
    const Writer::About about{full->launch, full->cta, full->records};
    writer_.submit(
        [this, full](sassemu::trace::Trace& t) {
            encode(*full, values_, registers_, *t.add_block()->mutable_records());
        },
        about);
}

void Recorder::records(const sassemu_records& block) {
    CtaState* const c = on_ ? find(block.cta) : nullptr;
    if (!c) return;
    const sassemu_recorded_access* a = block.access;
    const sassemu_recorded_access* const end = a + block.accesses;
    for (; a != end && a->record == SASSEMU_RECORD_BEFORE; ++a)
        if (c->last_recorded) access(*c, block, *a, c->chunk->records - 1, 0);
    count(*c);
    for (uint32_t k = 0; k < block.records; ++k) {
        if (c->chunk->records >= most_records) count(*c);
        const uint32_t first = c->chunk->records;
        uint32_t skipped = 0;
        const bool some = record(*c, block.record[k], skipped);
        const uint32_t kept = c->chunk->records - first;
        for (; a != end && a->record == k; ++a)
            if (some && a->step - skipped < kept) access(*c, block, *a, first, a->step - skipped);
    }
}

// False: the filters leave all of it out. Else they leave out so many at its beginning.
bool Recorder::record(CtaState& c, const sassemu_record& r, uint32_t& skipped) {
    c.last_recorded = false;
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
    const uint32_t id = (*code_)[r.insn + skipped];
    const auto n = static_cast<uint32_t>(count);
    Run* const last = c.last == &w ? &chunk.runs.back() : nullptr;
    if (last && last->id + last->count == id && last->lanes == r.lanes &&
        last->active == r.active) {
        last->count += n;
    } else {
        if (!last)
            chunk.slices.push_back(
                {r.warp, static_cast<uint32_t>(chunk.runs.size()), w.recorded, r.clock + skipped});
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
    chunk.accesses.push_back(
        {record + step, id, a.lanes, run.lanes, a.op, a.space, a.bytes, a.words, a.result_words});
    chunk.addresses.insert(chunk.addresses.end(), block.address + a.address,
                           block.address + a.address + lanes);
    const uint32_t* const word = block.word + a.word;
    const uint32_t *const result = word + a.words * lanes, *const end =
                                                               result + a.result_words * lanes;
    chunk.values.insert(chunk.values.end(), word, result);
    chunk.results.insert(chunk.results.end(), result, end);
}

// ---- with registers: each record is followed by these two

CtaState* Recorder::recorded_last(const sassemu_warp_info& w) {
    CtaState* const c = on_ ? find(w.cta) : nullptr;
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
    const RegisterSets* const sets = &sets_.at(i);
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
    if (!on_ || !events_ || !handle) return nullptr;
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

void Recorder::finish() {
    const bool whole = writer_.finish([&](const void* bytes, uint64_t count) {
        host.write_file(session, file_.c_str(), bytes, count);
    });
    if (whole) return;
    const std::string message = file_ + ": no trace was written: " + writer_.error();
    sassemu_finding f{};
    f.size = sizeof f;
    f.severity = SASSEMU_ERROR;
    f.kind = "trace-lost";
    f.message = message.c_str();
    host.report(session, &f);
}

}  // namespace tracing

SASSEMU_PLUGIN(tracing::Recorder)
