// SPDX-License-Identifier: Apache-2.0
// The callbacks of `trace` about what there is: instructions, launches, CTAs, memory, and what
// happens beside the warps. What warps do is in recorder_cta.cpp.
#include "recorder.hpp"

#include <algorithm>

#include "findings/report.hpp"

namespace tracing {

namespace {

constexpr int most_outside = 4096;        // events of a block
constexpr size_t most_client_value = 64;  // bytes

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
    LoadResult result;
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
        if (o.kind == SASSEMU_OPERAND_REGISTER && o.is_destination && !result.words)
            result = {static_cast<uint8_t>(o.index), static_cast<uint8_t>((e.bytes + 3) / 4)};
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
    {
        const std::lock_guard order(order_);
        const std::lock_guard guard(running_mutex_);
        std::vector<uint32_t>& ids = ids_[host.insn_module(i)];
        if (ids.empty())
            ids.resize(host.module_code_bytes(host.insn_module(i)) / 16 + 1, not_recorded);
        ids[index] = instructions_;
        if (values_ && e.kind == SASSEMU_EFFECT_LOAD && result.row != SASSEMU_RZ)
            loads_[i] = result;
        if (registers_) sets_.emplace(i, std::move(sets));
        text.set_id(instructions_++);
        undefined_.push_back(std::move(text));
    }
    return SASSEMU_RECORD | (addresses_ ? SASSEMU_RECORD_ACCESSES : 0) |
           (values_ ? SASSEMU_RECORD_VALUES : 0) | (skipped_ ? SASSEMU_RECORD_SKIPPED : 0) |
           (registers_ ? SASSEMU_BEFORE | SASSEMU_AFTER : 0);
}

void Recorder::launch_begin(sassemu_launch l) {
    const sassemu_launch_info i = info(l);
    launched_ = true;
    if (!filter_.kernels().empty()) {
        const std::lock_guard guard(running_mutex_);
        met_.insert(i.kernel ? i.kernel : "");
    }
    if (!filter_.launch(i)) return;
    give_outside();
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
    to.set_time(time_);
    to.set_timed(i.in_flight || i.has_model);
    to.set_in_flight(i.in_flight);
    define([to](sassemu::trace::Block& b) { *b.mutable_launch() = to; });
    auto state = std::make_unique<LaunchState>();
    state->info = i;
    state->timed = to.timed();
    const std::lock_guard guard(running_mutex_);
    state->ids = &ids_[i.module];
    launches_[l] = std::move(state);
}

void Recorder::launch_end(sassemu_launch l, const char* status) {
    // CTAs that a fault or a deadlock has left, in an order that does not depend on handles.
    std::vector<std::unique_ptr<CtaState>> left;
    std::unique_ptr<LaunchState> state;
    {
        const std::lock_guard guard(running_mutex_);
        const auto at = launches_.find(l);
        if (at == launches_.end()) return;
        state = std::move(at->second);
        launches_.erase(at);
        for (auto c = ctas_.begin(); c != ctas_.end();) {
            const bool its = c->second->launch == state.get();
            if (its) left.push_back(std::move(c->second));
            c = its ? ctas_.erase(c) : std::next(c);
        }
    }
    std::sort(left.begin(), left.end(),
              [](const auto& a, const auto& b) { return a->chunk->cta < b->chunk->cta; });
    for (const auto& c : left) give(*c);
    give_outside();
    sassemu::trace::LaunchEnd to;
    to.set_id(state->info.id);
    to.set_status(status ? status : "");
    to.set_shared_window(state->info.shared_window);
    to.set_local_window(state->info.local_window);
    to.set_time(time_);
    define([to](sassemu::trace::Block& b) { *b.mutable_launch_end() = to; });
}

// ---- beside the warps

template <class Fill>
void Recorder::outside(Fill&& fill) {
    if (!events_) return;
    bool full = false;
    {
        const std::lock_guard guard(outside_mutex_);
        fill(outside_);
        full = outside_.client_size() + outside_.model_size() >= most_outside;
    }
    if (full) give_outside();
}

void Recorder::give_outside() {
    sassemu::trace::Outside all;
    {
        const std::lock_guard guard(outside_mutex_);
        all.Swap(&outside_);
    }
    if (!all.client_size() && !all.model_size()) return;
    define([all = std::move(all)](sassemu::trace::Block& b) { *b.mutable_outside() = all; });
}

void Recorder::client(const sassemu_client_access& a) {
    outside([&](sassemu::trace::Outside& o) {
        sassemu::trace::Client& to = *o.add_client();
        to.set_time(time_);
        to.set_kind(a.kind);
        to.set_gpu(a.gpu);
        to.set_op(a.op);
        to.set_waited(a.waited);
        to.set_address(a.address);
        to.set_bytes(a.bytes);
        char value[most_client_value];
        if (values_ && a.bytes && a.bytes <= sizeof value &&
            host.read(session, a.address, value, a.bytes) == 0)
            to.set_value(value, a.bytes);
    });
}

void Recorder::model(const sassemu_model_event& e) {
    outside([&](sassemu::trace::Outside& o) {
        sassemu::trace::ModelEvent& to = *o.add_model();
        to.set_time(time_);
        to.set_kind(e.kind);
        to.set_where(e.where ? e.where : "");
        to.set_address(e.address);
        to.set_bytes(e.bytes);
        to.set_gpu(e.gpu);
        to.set_client(e.client);
        to.set_launch(e.launch);
        to.set_cta(e.cta);
        to.set_warp(e.warp);
        to.set_lane(e.lane);
    });
}

void Recorder::allocation(const sassemu_allocation& a, bool released) {
    sassemu::trace::Allocation to;
    to.set_time(time_);
    to.set_address(a.address);
    to.set_bytes(a.bytes);
    to.set_name(a.name ? a.name : "");
    to.set_gpu(a.gpu);
    to.set_released(released);
    define([to](sassemu::trace::Block& b) { *b.mutable_allocation() = to; });
}
void Recorder::allocate(const sassemu_allocation& a) { allocation(a, false); }
void Recorder::release(const sassemu_allocation& a) { allocation(a, true); }

void Recorder::host_access(uint64_t address, uint64_t bytes, uint32_t is_write) {
    if (!is_write) return;
    define([=](sassemu::trace::Block& b) {
        b.mutable_copy()->set_address(address);
        b.mutable_copy()->set_bytes(bytes);
    });
}

void Recorder::cta_begin(sassemu_cta handle) {
    const sassemu_cta_info i = info(handle);
    if (!filter_.cta.has(i.linear)) return;
    auto c = std::make_unique<CtaState>();
    {
        const std::shared_lock guard(running_mutex_);
        const auto at = launches_.find(i.launch);
        if (at == launches_.end()) return;
        c->launch = at->second.get();
    }
    c->chunk = std::make_unique<Chunk>();
    c->chunk->launch = c->launch->info.id;
    c->chunk->cta = i.linear;
    c->chunk->timed = c->launch->timed;
    c->warps.resize(i.warps);
    sassemu::trace::Cta to;
    to.set_launch(c->chunk->launch);
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

// Filters that leave out everything are slips, as a rule.
void Recorder::report_filters() {
    findings::report_unknown_kernels(*this, filter_.kernels(), met_);
    for (const std::string& kernel : filter_.kernels())
        if (std::none_of(met_.begin(), met_.end(),
                         [&](const auto& name) { return sassemu::names::means(name, kernel); }))
            return;  // that says it all
    const bool no_code = instructions_ == 0 && filter_.chooses_code();
    if (!no_code && (kept_ || filter_.words.empty() || !launched_)) return;
    std::string message = no_code ? "no instruction of the code is what these filters want:"
                                  : "nothing that was executed is what these filters want:";
    for (const std::string& word : filter_.words) message += " " + word;
    if (no_code && filter_.needs_lines())
        message += "; source lines are in cubins that were compiled with -lineinfo";
    findings::report(*this, SASSEMU_WARNING, "nothing-to-record", message);
}

void Recorder::finish() {
    report_filters();
    give_outside();
    const bool whole = writer_.finish([&](const void* bytes, uint64_t count) {
        host.write_file(session, file_.c_str(), bytes, count);
    });
    if (!whole)
        findings::report(*this, SASSEMU_ERROR, "trace-lost",
                         file_ + ": no trace was written: " + writer_.error());
}

}  // namespace tracing

SASSEMU_PLUGIN(tracing::Recorder)
