// SPDX-License-Identifier: Apache-2.0
// Telling: everything of Hooks that is not about single operations (select.cpp, run_hooked.cpp).
// Loading is in hooks_load.cpp.
#include "emu/plugin/hooks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include "emu/base/limits.hpp"
#include "emu/base/text.hpp"
#include "emu/machine/launch_host.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/plugin/driven_machine.hpp"
#include "emu/program/code_image.hpp"
#include "sassdec/ids.h"

namespace sassemu {

namespace {

const char* status_word(LaunchStatus status) {
    switch (status) {
        case LaunchStatus::ok:
            return "ok";
        case LaunchStatus::fault:
            return "fault";
        case LaunchStatus::assert_failed:
            return "assert";
        case LaunchStatus::trap:
            return "trap";
        case LaunchStatus::deadlock:
            return "deadlock";
        case LaunchStatus::limit:
            return "limit";
        case LaunchStatus::unsupported:
            return "unsupported";
        case LaunchStatus::interrupted:
            return "interrupted";
        case LaunchStatus::internal:
            return "internal";
        case LaunchStatus::not_run:
            return "not-run";
    }
    return "internal";
}

}  // namespace

PluginSession::PluginSession() = default;
PluginSession::~PluginSession() = default;

Hooks::~Hooks() {
    for (auto& s : sessions_) {
        s->driver.reset();
        if (s->self) s->call("destroy", nullptr, s->table().destroy);
    }
}

void Hooks::attach(AddressSpace& memory, Chooser& choices) {
    space = &memory;
    chooser = &choices;
}

uint64_t Hooks::findings() const {
    uint64_t sum = 0;
    for (const auto& s : sessions_) sum += s->warnings;
    return sum;
}

void Hooks::finish() {
    for (const auto& s : sessions_)
        if (const auto* o = s->table().observer; o && o->finish)
            s->call("finish", nullptr, o->finish);
}

void Hooks::text(std::string_view line) {
    const std::lock_guard guard(text_mutex_);
    if (on_text_)
        on_text_(line);
    else
        std::fwrite(line.data(), 1, line.size(), stdout);
}

void Hooks::report_json(const char* key, const char* json) {
    const std::lock_guard guard(text_mutex_);
    sections_[key] = json;
}

bool Hooks::write_file(const PluginSession& s, const std::string& path, std::string_view text) {
    Result<void> written =
        write_file_ ? write_file_(path, text)
                    : make_error(ErrorCode::unsupported, path, "plugins write no files here");
    if (written) return true;
    const std::lock_guard guard(text_mutex_);
    write_errors_.push_back(std::move(written).error().within("plugin '" + s.name + "'"));
    return false;
}

void Hooks::report(PluginSession& s, const sassemu_finding& f) {
    const auto place = [](sassemu_insn i) {
        if (!i) return std::string();
        const InstructionText& t = text_of(instruction(i));
        char pc[32];
        std::snprintf(pc, sizeof pc, "+0x%04llx",
                      static_cast<unsigned long long>(plugin_host().insn_pc(i)));
        return "\n    at " + shown(t.function) + pc + ": " + t.text +
               (t.place.empty() ? "" : " (" + shown(t.place) + ")");
    };
    std::string line =
        s.name + ": " + (f.kind ? f.kind : "finding") + ": " + (f.message ? f.message : "");
    if (f.count > 1) line += " (" + std::to_string(f.count) + " times)";
    line += place(f.insn) + place(f.other);
    if (f.detail && *f.detail) line += std::string("\n") + f.detail;
    if (line.back() != '\n') line += '\n';
    text(line);
    const std::lock_guard guard(text_mutex_);
    if (f.severity >= SASSEMU_WARNING) ++s.warnings;
}

void Hooks::instrument(std::shared_ptr<CodeImage> shared) {
    CodeImage& image = *shared;
    auto all = std::make_unique<HookedInstruction[]>(image.count());
    for (uint64_t n = 0; n < image.count(); ++n) {
        all[n].hooks = this;
        all[n].image = &image;
        all[n].index = static_cast<uint32_t>(n);
    }
    HookedInstruction* instructions = all.get();
    images_.push_back(
        {std::move(shared), std::move(all), std::vector<uint64_t>(image.operations())});
    std::vector<uint64_t>& wanted = images_.back().wanted;
    std::fill_n(wanted.begin(), image.count(), counts() ? Wanted::counts : 0);
    for (const auto& s : sessions_)
        if (const auto* o = s->table().observer; o && o->module_load)
            s->call("module_load", nullptr, o->module_load, module_handle(instructions));
    const Module& module = *image.module();
    const sassdec_arch arch = sassdec_arch_from_name(image.options().arch.c_str());
    // The parts of a barrier that are one with it (MEMBAR.lvl.IVALL*) are told with it.
    std::set<uint64_t> fused;
    for (const Kernel& kernel : module.kernels())
        for (const CodeSection& code : module.code_sections())
            if (code.section == kernel.section)
                for (const uint32_t offset : kernel.fused_offsets)
                    fused.insert(code.code_offset + offset);
    for (const CodeSection& section : module.code_sections()) {
        const uint64_t end = section.code_offset + section.bytes.size() / 16 * 16;
        last_group_ = 0;  // a wait is for a commit of its own function
        for (uint64_t offset = section.code_offset; offset < end; offset += 16) {
            // Some milliseconds' work. The launch it is for begins no more: GpuImpl::code().
            if (offset % (1 << 16) == 0 && process_budget().poll() != Budget::Stop::none) return;
            // Lowers the section when it is asked for the first of it. The operations are the
            // image's own memory.
            auto* op = const_cast<Op*>(image.at(image.options().base_address + offset));
            uint64_t word[2];
            sassdec_insn decoded;
            std::memcpy(word, image.words().data() + offset, 16);
            if (!op ||
                sassdec_decode(arch, word, offset - section.code_offset, &decoded) != SASSDEC_OK)
                continue;
            if (fused.contains(offset)) decoded.id = SASSDEC_ID_NOP;
            hook(instructions[offset / 16], decoded, *op, wanted[offset / 16],
                 offset == section.code_offset);
        }
    }
}

void Hooks::launch_begin(HookedLaunch& l, const Kernel& kernel, std::span<const std::byte> params,
                         uint64_t constant_address, bool may_overlap, uint32_t gpu,
                         uint32_t ctas_per_sm) {
    {
        const std::lock_guard guard(launches_mutex_);
        if (launches_.empty()) {
            asyncs_ = 0;
        } else {
            l.first_token = l.id << 56;
            may_overlap = true;
        }
        launches_.push_back(&l);
    }
    last_launch = &l;
    l.kernel = kernel.name;
    l.constant_address = constant_address;
    const auto dim = [](const Dim3& d) { return sassemu_dim3{d.x, d.y, d.z}; };
    sassemu_launch_info& i = l.info = {};
    i.gpu = gpu;
    i.kernel = l.kernel.c_str();
    i.module = module_handle(instructions(*l.code));
    i.grid = dim(l.grid);
    i.block = dim(l.block);
    i.cluster = dim(l.cluster);
    i.registers = kernel.registers;
    i.shared_static = l.shared_bytes - l.dynamic_shared;
    i.shared_dynamic = l.dynamic_shared;
    i.local_bytes = l.local_bytes;
    i.id = l.id;
    i.sms = l.device->sms;
    i.param_bytes = static_cast<uint32_t>(params.size());
    i.params = params.data();
    i.may_overlap = may_overlap;
    i.shared_reserved = kernel.shared_reserved;
    i.shared_behind = l.shared_bytes - l.dynamic_shared - kernel.shared_static;
    i.shared_window = window_base(shared_window_high);
    i.local_window = window_base(local_window_high);
    i.ctas_per_sm = ctas_per_sm;
    i.in_flight = several;
    i.has_model = model_ != nullptr;
    i.threads_per_sm = l.device->resident_threads_per_sm;
    for (const auto& [bank, base] :
         {std::pair{0, Base::bank0}, {2, Base::bank2}, {3, Base::bank3}, {4, Base::bank4}})
        i.constant_bytes[bank] = l.bank_bytes[static_cast<size_t>(base)];
    for (const auto& s : sessions_) {
        if (s->is_model && model_table_->launch_begin)
            ask_model("launch_begin", nullptr, model_table_->launch_begin, handle(&l));
        if (const auto* o = s->table().observer; o && o->launch_begin)
            s->call("launch_begin", nullptr, o->launch_begin, handle(&l));
    }
}

// The variables of a module are device memory; the other banks are the launch's own.
sassemu_location Hooks::constant_location(const Warp& w, uint32_t bank, uint64_t offset,
                                          uint32_t bytes) const {
    if (bank == 3 && offset + bytes <= w.cta->launch->bank_bytes[static_cast<int>(Base::bank3)])
        return {hooked_launch(w).constant_address + offset, SASSEMU_GLOBAL, 0};
    return {offset, SASSEMU_CONSTANT, bank};
}

void Hooks::launch_end(HookedLaunch& l, LaunchStatus status) {
    if (counts()) tell_counts(l);
    for (const auto& s : sessions_) {
        if (s->is_model && model_table_->launch_end)
            ask_model("launch_end", nullptr, model_table_->launch_end, handle(&l));
        if (const auto* o = s->table().observer; o && o->launch_end)
            s->call("launch_end", nullptr, o->launch_end, handle(&l), status_word(status));
    }
    const std::lock_guard guard(launches_mutex_);
    std::erase(launches_, &l);
    last_launch = launches_.empty() ? nullptr : launches_.back();
}

bool Hooks::complete(uint64_t token, uint32_t lanes, const uint32_t* values) {
    const std::lock_guard guard(launches_mutex_);
    return std::ranges::any_of(
        launches_, [&](HookedLaunch* l) { return l->host->complete_with(token, lanes, values); });
}

void Hooks::cta_begin(Cta& c) {
    for (const auto& s : sessions_) {
        if (s->is_model && model_table_->cta_begin)
            ask_model("cta_begin", nullptr, model_table_->cta_begin, handle(&c));
        if (const auto* o = s->table().observer; o && o->cta_begin)
            s->tell("cta_begin", nullptr, &sassemu_observer::cta_begin, handle(&c));
    }
}
void Hooks::cta_end(Cta& c) {
    if (Recording* const r = Recording::current()) r->deliver();  // while there is a CTA
    for (const auto& s : sessions_) {
        if (s->is_model && model_table_->cta_end)
            ask_model("cta_end", nullptr, model_table_->cta_end, handle(&c));
        if (const auto* o = s->table().observer; o && o->cta_end)
            s->call("cta_end", nullptr, o->cta_end, handle(&c));
    }
}

uint64_t Hooks::step(Cta& c, bool idle) {
    if (!model_ || !model_table_->step) return 0;
    return ask_model("step", nullptr, model_table_->step, handle(&c), idle);
}

bool Hooks::idle_step() {
    if (!model_ || !model_table_->step) return false;
    const auto of = [](uint64_t& count) {
        return std::atomic_ref(count).load(std::memory_order_relaxed);
    };
    const uint64_t before = of(epoch_), had = of(completed_);
    const auto moved = [&] { return of(epoch_) != before || of(completed_) != had; };
    // A model may take its time, but not for ever.
    constexpr int patience = 4096;
    for (int i = 0; i < patience && !moved(); ++i) {
        if (!ask_model("step", nullptr, model_table_->step, sassemu_cta{}, 1u)) break;
    }
    if (moved()) return true;
    // Loads of others may have let go what a spin found: it looks once more.
    if (looked_ == before) return false;
    looked_ = before + 1;
    changed();
    return true;
}

void Hooks::allocated(uint64_t address, uint64_t bytes, const std::string& name, bool read_only) {
    sassemu_allocation a{};
    a.size = sizeof a;
    a.read_only = read_only;
    a.address = address;
    a.bytes = bytes;
    a.name = name.c_str();
    a.gpu = home(address);
    for (PluginSession* s : on_allocate_)
        s->call("allocate", nullptr, s->table().observer->allocate, &a);
}

void Hooks::released(uint64_t address) {
    const Extent& e = space->find(address);
    if (e.lo != address || !e.holds(address, 1)) return;  // it will be refused
    sassemu_allocation a{};
    a.size = sizeof a;
    a.address = e.lo;
    a.bytes = e.hi - e.lo;
    a.name = space->name(e.id).c_str();
    a.gpu = home(e);
    for (PluginSession* s : on_release_)
        s->call("release", nullptr, s->table().observer->release, &a);
}

const std::string* Hooks::follows_one() const {
    for (const auto& s : sessions_)
        if ((s->table().abi & 0xffff) < 8 || !(s->table().flags & SASSEMU_PLUGIN_IN_FLIGHT))
            return &s->name;
    return nullptr;
}

int32_t Hooks::home(uint64_t address) const {
    if (far_ && far_->holds(FarMemory::by_host, address, 1)) return far_->home(address);
    if (!space) return SASSEMU_OF_NOBODY;
    const Extent& e = space->find(address);
    return e.holds(address, 1) ? home(e) : SASSEMU_OF_NOBODY;
}

bool Hooks::client_reads(const Client& who, uint64_t address, void* to, uint64_t bytes) {
    return model_ && model_->driver && model_->driver->client_reads(who, address, to, bytes);
}
bool Hooks::client_writes(const Client& who, uint64_t address, const void* from, uint64_t bytes) {
    return model_ && model_->driver && model_->driver->client_writes(who, address, from, bytes);
}
void Hooks::client_changes(const Client& who, uint64_t address, uint32_t bytes,
                           const std::function<void()>& act) {
    if (model_ && model_->driver)
        model_->driver->client_changes(who, address, bytes, act);
    else
        act();
}

void Hooks::reach_by(FarMemory* far) {
    far_ = far;
    if (model_ && model_->driver) model_->driver->reach_by(far);
}

std::string Hooks::needs_one_process() const {
    for (const auto& s : sessions_) {
        if (!s->is_model) return "'" + s->name + "' sees one process";
        if (!s->driver)
            return "the model '" + s->name +
                   "' is no machine (sassemu/machine.h), and has accesses of its own process only";
        if (!s->driver->may_be_apart())
            return "the model '" + s->name +
                   "' says nothing of memory that is elsewhere (SASSEMU_MACHINE_APART), and what "
                   "each thread has seen of all memory no process knows alone";
    }
    return {};
}

void Hooks::client_access(const Client& who, sassemu_op op, uint64_t address, uint64_t bytes,
                          bool waited) {
    const bool write = op != SASSEMU_LOAD;
    if (!on_client_.empty()) {
        sassemu_client_access a{};
        a.size = sizeof a;
        a.op = static_cast<uint8_t>(op);
        a.waited = waited;
        a.kind = who.kind;
        a.gpu = who.gpu;
        a.address = address;
        a.bytes = bytes;
        for (PluginSession* s : on_client_)
            s->call("client", nullptr, s->table().observer->client, &a);
    }
    if (!bytes) return;
    if (write) changed();  // a model that holds nothing leaves the bytes to the caller
    for (PluginSession* s : on_host_) {
        if (s->is_model && model_table_->host_access)
            ask_model("host_access", nullptr, model_table_->host_access, address, bytes, write);
        if (const auto* o = s->table().observer; o && o->host_access)
            s->call("host_access", nullptr, o->host_access, address, bytes, write);
    }
}

void Hooks::heap(Warp& w, uint32_t lane, uint64_t address, uint64_t bytes) {
    sassemu_heap_block b{};
    b.size = sizeof b;
    b.is_release = bytes == 0;
    b.address = address;
    b.bytes = bytes;
    b.warp = handle(&w);
    b.lane = lane;
    for (PluginSession* s : on_heap_) s->tell("heap", nullptr, &sassemu_observer::heap, &b);
}

void Hooks::sync(sassemu_sync& event) {
    event.size = sizeof event;
    const uint64_t bit = uint64_t{1} << event.kind;
    if (model_sync_ & bit) ask_model("sync", event.insn, model_table_->sync, &event);
    for (PluginSession* s : on_sync_)
        if (!(s->table().observer->sync_ignored & bit))
            s->tell("sync", event.insn, &sassemu_observer::sync, &event);
}

void Hooks::async(const sassemu_async& event) {
    const bool since_1_2 = event.step > SASSEMU_ASYNC_COMPLETE;
    for (PluginSession* s : on_async_)
        if (!since_1_2 || (s->table().abi & 0xffff) >= 2)
            s->tell("async", event.insn, &sassemu_observer::async, &event);
}

bool Hooks::model_event(const sassemu_model_event* event) {
    if (!event || on_model_.empty()) return !on_model_.empty();
    sassemu_model_event e = *event;
    e.size = sizeof e;
    if (e.client == SASSEMU_AGENT_WARP && model_->driver) model_->driver->name_thread(e);
    for (PluginSession* s : on_model_) s->tell("model", nullptr, &sassemu_observer::model, &e);
    return true;
}

void Hooks::fault(Warp& w, const Op* op, uint32_t lanes, FaultKind kind, const std::string& what,
                  bool has_address, uint64_t address) {
    if (on_fault_.empty()) return;
    const std::string name(fault_name(kind));
    sassemu_fault_info f{};
    f.size = sizeof f;
    f.lanes = lanes;
    f.kind = name.c_str();
    f.what = what.c_str();
    f.warp = handle(&w);
    f.insn = instruction_of(w, op);
    f.address = address;
    f.has_address = has_address;
    for (PluginSession* s : on_fault_) s->tell("fault", f.insn, &sassemu_observer::fault, &f);
}

Recording* Hooks::take_recording(const Launch& launch) {
    const std::lock_guard guard(recordings_mutex_);
    Recording* r = nullptr;
    if (idle_recordings_.empty()) {
        recordings_.push_back(std::make_unique<Recording>(on_records_));
        idle_recordings_.reserve(recordings_.size());
        r = recordings_.back().get();
    } else {
        r = idle_recordings_.back();
        idle_recordings_.pop_back();
    }
    r->begin(launch, *hooked(*launch.code), counts());
    return r;
}

void Hooks::give_recording(Recording* r) {
    const std::lock_guard guard(recordings_mutex_);
    idle_recordings_.push_back(r);
}

void Hooks::tell_counts(Launch& l) {
    const HookedImage& of = *hooked(*l.code);
    std::vector<sassemu_count> all(of.wanted.size() + 1);
    {
        const std::lock_guard guard(recordings_mutex_);
        for (const auto& r : recordings_) r->add_counts(l, all);
    }
    // Differences become sums; what nobody came to is cut off.
    sassemu_count sum{};
    uint64_t low = all.size(), high = 0;
    for (uint64_t k = 0; k < all.size(); ++k) {
        sum.issued += all[k].issued;
        sum.skipped += all[k].skipped;
        sum.active += all[k].active;
        sum.lanes += all[k].lanes;
        all[k] = sum;
        if (!sum.issued) continue;
        low = std::min(low, k);
        high = k + 1;
    }
    sassemu_counts c{};
    c.size = sizeof c;
    c.module = module_handle(of.instructions.get());
    if (low < high) {
        c.insn = low;
        c.count = high - low;
        c.at = &all[low];
    }
    for (PluginSession* s : on_counts_)
        s->call("counts", nullptr, s->table().observer->counts, handle(&l), &c);
}

sassemu_insn instruction_of(const Warp& w, const Op* op) {
    const CodeImage& code = *w.cta->launch->code;
    const auto index = static_cast<uint64_t>(op - w.ops);
    return index < code.count() ? handle(w.instructions + index) : nullptr;
}

}  // namespace sassemu
