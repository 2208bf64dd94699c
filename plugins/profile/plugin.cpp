// SPDX-License-Identifier: Apache-2.0
// The callbacks of `profile`. How often instructions ran, the engine counts; accesses, branches and
// waits come as they happen.
#include <algorithm>
#include <bit>

#include "metrics.hpp"
#include "profile.hpp"

namespace profiling {

namespace {

uint64_t at_most(const sassemu::Start& start, const char* key, uint64_t otherwise, uint64_t most) {
    const uint64_t v = start.number(key, otherwise);
    if (v > most)
        throw std::invalid_argument("option '" + std::string(key) + "': at most " +
                                    std::to_string(most));
    return v;
}

bool is_branch(const sassemu_effect& e) {
    return e.kind == SASSEMU_EFFECT_CONTROL && e.action == SASSEMU_ACTION_BRANCH;
}

}  // namespace

Profiler::Profiler(const sassemu::Start& start)
    : Plugin(start),
      memory_(at_most(start, "memory", 1, 1) != 0),
      top_(at_most(start, "top", 10, 1000000)),
      json_(start.value("json")),
      html_(start.value("html")) {
    for (const std::string_view k : start.values("kernel")) kernels_.emplace_back(k);
}

void Profiler::launch_begin(sassemu_launch l) {
    info_ = info(l);
    const std::string name = info_.kernel;
    if (std::find(met_.begin(), met_.end(), name) == met_.end()) met_.push_back(name);
    now_ = nullptr;
    if (!kernels_.empty() && std::find(kernels_.begin(), kernels_.end(), name) == kernels_.end())
        return;
    for (const auto& k : all_)
        if (k->name == name && k->module == info_.module) now_ = k.get();
    if (!now_) {
        all_.push_back(std::make_unique<Kernel>());
        now_ = all_.back().get();
        now_->name = name;
        now_->arch = host.module_arch(info_.module);
        now_->module = info_.module;
        now_->first = info_;
        now_->at.resize(host.module_code_bytes(info_.module) / 16 + 1);
    }
    ++now_->launches;
}

uint32_t Profiler::select(sassemu_insn i) {
    if (!memory_) return 0;
    const sassemu_effect e = effect(i);
    if (is_branch(e)) return SASSEMU_RECORD;
    const bool memory =
        e.space == SASSEMU_GLOBAL || e.space == SASSEMU_SHARED || e.space == SASSEMU_GENERIC;
    const bool accesses =
        (memory && e.kind >= SASSEMU_EFFECT_LOAD && e.kind <= SASSEMU_EFFECT_REDUCE) ||
        (e.kind == SASSEMU_EFFECT_ASYNC && e.action == SASSEMU_ACTION_COPY);
    return accesses ? SASSEMU_RECORD | SASSEMU_RECORD_ACCESSES : 0;
}

Metrics Profiler::cost(const sassemu_recorded_access& a, const uint64_t* at) const {
    const auto lanes = static_cast<uint32_t>(std::popcount(a.lanes));
    uint32_t space = a.space;
    if (space == SASSEMU_GENERIC)
        space = at[0] >> 32 == info_.shared_window >> 32  ? SASSEMU_SHARED
                : at[0] >> 32 == info_.local_window >> 32 ? SASSEMU_LOCAL
                                                          : SASSEMU_GLOBAL;
    Metrics m;
    m.requests = 1;
    uint32_t ideal = 0;
    if (space == SASSEMU_SHARED) {
        m.passes =
            shared_passes(at, a.lanes, a.flags & SASSEMU_ACCESS_MATRIX ? 16 : a.bytes, ideal);
        m.ideal_passes = ideal;
    } else if (space == SASSEMU_GLOBAL) {
        m.sectors = sectors(at, lanes, a.bytes, ideal);
        m.ideal_sectors = ideal;
    }
    if (a.op == SASSEMU_ATOMIC || a.op == SASSEMU_REDUCE) {
        m.atomics = 1;
        m.contention = contention(at, lanes);
    }
    return m;
}

namespace {

// The last access of an instruction, and what it cost: one whose lanes lie in the same way costs
// the same.
struct Last {
    uint64_t at[32];
    uint32_t lanes = 0, kind = 0;
    Metrics cost;

    static uint32_t kind_of(const sassemu_recorded_access& a) {
        return a.op | a.space << 8 | a.bytes << 16;
    }
    bool same(const sassemu_recorded_access& a, const uint64_t* other, uint32_t count) const {
        if (a.lanes != lanes || kind_of(a) != kind || (at[0] ^ other[0]) >> 32) return false;
        uint64_t differs = (at[0] - other[0]) % (banks * bank_bytes);
        for (uint32_t k = 1; k < count; ++k) differs |= (at[k] - at[0]) ^ (other[k] - other[0]);
        return differs == 0;
    }
};

}  // namespace

void Profiler::records(const sassemu_records& r) {
    if (!now_) return;
    thread_local std::vector<Last> last;
    thread_local std::pair<const Profiler*, uint64_t> last_of;
    if (last_of != std::pair<const Profiler*, uint64_t>(this, info_.id)) last.clear();
    last_of = {this, info_.id};
    if (last.size() < now_->at.size()) last.resize(now_->at.size());
    const std::lock_guard guard(mutex_);
    for (uint32_t k = 0; k < r.accesses; ++k) {
        const sassemu_recorded_access& a = r.access[k];
        // Nothing that this plugin asks for comes between an instruction and its accesses.
        if (a.record == SASSEMU_RECORD_BEFORE) continue;
        const uint32_t insn = r.record[a.record].insn + a.step;
        const uint64_t* const at = r.address + a.address;
        const auto lanes = static_cast<uint32_t>(std::popcount(a.lanes));
        Last& known = last[insn];
        if (!known.same(a, at, lanes)) {
            known.cost = cost(a, at);
            known.lanes = a.lanes;
            known.kind = Last::kind_of(a);
            std::copy_n(at, lanes, known.at);
        }
        Metrics& to = now_->at[insn];
        const Metrics& one = known.cost;
        to.requests += one.requests;
        to.passes += one.passes;
        to.ideal_passes += one.ideal_passes;
        to.sectors += one.sectors;
        to.ideal_sectors += one.ideal_sectors;
        to.atomics += one.atomics;
        to.contention += one.contention;
    }
    for (uint32_t k = 0; k < r.records; ++k) {
        const sassemu_record& one = r.record[k];
        // Only branches differ between lanes and active lanes without an access that says so.
        if (one.lanes != one.active)
            for (uint32_t n = 0; n < one.count; ++n) ++now_->at[one.insn + n].diverged;
    }
}

void Profiler::sync(const sassemu_sync& s) {
    if (!now_) return;
    const std::lock_guard guard(mutex_);
    if (s.kind == SASSEMU_SYNC_MBARRIER_TEST) {
        if (s.insn && (s.lanes & ~s.passed)) ++now_->at[index(s.insn)].failed;
    } else if (s.kind == SASSEMU_SYNC_BARRIER_ARRIVE) {
        if (s.waits && s.insn)
            arrivals_[s.cta].push_back({index(s.insn), s.id, info(s.warp).clock});
    } else {
        const auto at = arrivals_.find(s.cta);
        if (at == arrivals_.end()) return;
        const uint64_t clock = info(host.cta_warp(s.cta, 0)).clock;
        std::erase_if(at->second, [&](const Arrival& a) {
            if (a.barrier != s.id) return false;
            Metrics& to = now_->at[a.insn];
            ++to.waits;
            to.waited += clock - a.clock;
            return true;
        });
    }
}

void Profiler::cta_end(sassemu_cta c) {
    const std::lock_guard guard(mutex_);
    arrivals_.erase(c);
}

void Profiler::counts(sassemu_launch, const sassemu_counts& c) {
    arrivals_.clear();
    if (!now_) return;
    for (uint64_t k = 0; k < c.count; ++k) {
        sassemu_count& to = now_->at[c.insn + k].count;
        to.issued += c.at[k].issued;
        to.skipped += c.at[k].skipped;
        to.active += c.at[k].active;
        to.lanes += c.at[k].lanes;
    }
}

}  // namespace profiling

SASSEMU_PLUGIN(profiling::Profiler)
