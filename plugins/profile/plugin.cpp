// SPDX-License-Identifier: Apache-2.0
// The callbacks of `profile`. How often instructions ran, the engine counts; accesses, branches and
// waits come as they happen.
#include <algorithm>
#include <atomic>
#include <bit>
#include <sassemu/names.hpp>

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

// Numbers of launches, of all profilers of the process.
std::atomic<uint64_t> rounds{1};

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
    for (const std::string_view name : start.values("directory")) {
        std::string why;
        auto folder = sassemu::sources::Folder::open(std::string(name), why);
        if (!folder)
            throw std::invalid_argument("option 'directory': " + std::string(name) + ": " + why);
        folders_.push_back(std::move(*folder));
    }
}

namespace {

// The last access of an instruction, and what it cost: one whose lanes lie in the same way costs
// the same.
struct Last {
    uint64_t at[32];
    uint32_t lanes = 0, kind = 0;
    Cost cost;

    static uint32_t kind_of(const sassemu_recorded_access& a) {
        return a.op | a.space << 8 | a.bytes << 16;
    }
    // By how much all addresses may move: banks are alike, and so are sectors.
    static uint64_t period(const sassemu_recorded_access& a) {
        if (a.space == SASSEMU_SHARED)
            return a.flags & SASSEMU_ACCESS_MATRIX
                       ? 16
                       : std::bit_ceil(std::max<uint32_t>(a.bytes, bank_bytes));
        return a.space == SASSEMU_GLOBAL ? sector_bytes : banks * bank_bytes;
    }
    bool same(const sassemu_recorded_access& a, const uint64_t* other, uint32_t count) const {
        if (a.lanes != lanes || kind_of(a) != kind || (at[0] ^ other[0]) >> 32) return false;
        // Powers of two.
        uint64_t differs = (at[0] - other[0]) & (period(a) - 1);
        for (uint32_t k = 1; k < count; ++k) differs |= (at[k] - at[0]) ^ (other[k] - other[0]);
        return differs == 0;
    }
};

}  // namespace

// What one worker has counted of a launch; added up when that has ended.
struct Profiler::Tally {
    std::vector<Last> last;  // by index in the module
    std::vector<Cost> cost;
};

struct Profiler::Running {
    Kernel* kernel;
    sassemu_launch_info info;
    bool clustered;
    uint64_t round;  // which no other launch has
    std::map<std::thread::id, std::unique_ptr<Tally>> tallies;
};

Profiler::~Profiler() = default;

Profiler::Running* Profiler::running(sassemu_launch l) {
    const std::lock_guard guard(mutex_);
    const auto at = running_.find(l);
    return at == running_.end() ? nullptr : at->second.get();
}

Profiler::Tally& Profiler::tally(Running& of) {
    thread_local uint64_t round = 0;
    thread_local Tally* mine = nullptr;
    if (mine && of.round == round) return *mine;
    const std::lock_guard guard(mutex_);
    std::unique_ptr<Tally>& here = of.tallies[std::this_thread::get_id()];
    if (!here) here = std::make_unique<Tally>();
    here->last.resize(of.kernel->at.size());
    here->cost.resize(of.kernel->at.size());
    round = of.round;
    mine = here.get();
    return *mine;
}

void Profiler::launch_begin(sassemu_launch l) {
    const sassemu_launch_info info = this->info(l);
    const std::string name = info.kernel;
    const std::lock_guard guard(mutex_);
    if (std::find(met_.begin(), met_.end(), name) == met_.end()) met_.push_back(name);
    if (!sassemu::names::selects(kernels_, name)) return;
    Kernel* now = nullptr;
    for (const auto& k : all_)
        if (k->name == name && k->module == info.module) now = k.get();
    if (!now) {
        now = all_.emplace_back(std::make_unique<Kernel>()).get();
        now->name = name;
        now->arch = host.module_arch(info.module);
        now->module = info.module;
        now->first = info;
        now->at.resize(host.module_code_bytes(info.module) / 16 + 1);
        now->trait.resize(now->at.size());
        for (size_t n = 0; memory_ && n < now->at.size(); ++n)
            if (const sassemu_insn i = host.module_insn(info.module, n * 16))
                now->trait[n] = trait_of(i);
    }
    ++now->launches;
    running_[l] = std::make_unique<Running>(Running{
        now, info, uint64_t{info.cluster.x} * info.cluster.y * info.cluster.z > 1, rounds++, {}});
}

void Profiler::launch_end(sassemu_launch l, const char*) {
    const std::lock_guard guard(mutex_);
    const auto at = running_.find(l);
    if (at == running_.end()) return;
    std::vector<Metrics>& sum = at->second->kernel->at;
    for (const auto& [thread, one] : at->second->tallies)
        for (size_t n = 0; n < one->cost.size(); ++n) sum[n].add(one->cost[n]);
    running_.erase(at);
    if (!running_.empty()) return;
    arrivals_.clear();  // of a launch that failed
    halves_.clear();
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

Trait Profiler::trait_of(sassemu_insn i) const {
    const std::string_view opcode = host.insn_opcode(i);
    Trait t;
    t.copies = opcode == "LDGSTS";
    const sassemu_effect e = effect(i);
    t.wide =
        e.bytes == sector_bytes && e.kind >= SASSEMU_EFFECT_LOAD && e.kind <= SASSEMU_EFFECT_STORE;
    if (opcode.starts_with("ATOM")) {
        const std::string_view text = host.insn_text(i);
        t.twice = text.find(".CAS") != std::string_view::npos;
        t.once = text.find(".CAST") != std::string_view::npos;
        t.counts = text.find(".POPC") != std::string_view::npos;
    } else if (opcode.ends_with("GMMA")) {
        // 64 rows and N columns of 32 bytes each; the rows may lie in registers.
        const std::string_view text = host.insn_text(i);
        const size_t shape = text.find(".64x"), operand = text.find(", ");
        if (shape == std::string_view::npos || operand == std::string_view::npos) return t;
        const uint64_t columns = std::strtoull(text.data() + shape + 4, nullptr, 10);
        t.operands = static_cast<uint16_t>(columns / 4);
        if (text.substr(operand + 2).starts_with("gdesc")) t.operands += 16;
    }
    return t;
}

Cost Profiler::cost(const Running& of, const sassemu_recorded_access& a, const uint64_t* at,
                    Trait trait, uint32_t rank) {
    const auto lanes = static_cast<uint32_t>(std::popcount(a.lanes));
    const bool atomic = a.op == SASSEMU_ATOMIC || a.op == SASSEMU_REDUCE;
    Cost m;
    m.requests = 1;
    if (atomic) {
        m.atomics = 1;
        m.contention = contention(at, lanes);
    }
    // Where each lane's address leads. Shared memory of other CTAs has no banks here.
    uint64_t shared[32], global[32];
    uint32_t to_shared = 0, n_shared = 0, n_global = 0;
    const uint64_t* shared_at = at;
    if (a.space == SASSEMU_SHARED) {
        to_shared = a.lanes;
    } else if (a.space == SASSEMU_GLOBAL) {
        std::copy_n(at, n_global = lanes, global);
    } else if (a.space == SASSEMU_GENERIC) {
        uint32_t k = 0;
        for (uint32_t rest = a.lanes; rest; rest &= rest - 1, ++k) {
            const uint64_t window = at[k] >> 32;
            if (window == of.info.shared_window >> 32) {
                if (of.clustered && (at[k] >> 24 & 0xff) != rank) continue;
                to_shared |= rest & -rest;
                shared[n_shared++] = at[k];
            } else if (window != of.info.local_window >> 32) {
                global[n_global++] = at[k];
            }
        }
        shared_at = shared;
    }
    uint32_t ideal = 0;
    if (to_shared) {
        const bool matrix = a.flags & SASSEMU_ACCESS_MATRIX;
        const Sharing sharing = atomic && !trait.counts           ? Sharing::none
                                : a.op == SASSEMU_LOAD && !matrix ? Sharing::load
                                                                  : Sharing::words;
        const uint32_t times = trait.twice ? 2 : 1;
        m.passes =
            times * shared_passes(shared_at, to_shared, matrix ? 16 : a.bytes, sharing, ideal);
        m.ideal_passes = times * ideal;
        if (trait.once) m.passes = m.ideal_passes;
    }
    if (n_global) {
        if (trait.wide)
            for (uint32_t n = 0; n < n_global; ++n) global[n] -= global[n] % sector_bytes;
        m.sectors = sectors(global, n_global, trait.wide ? sector_bytes : a.bytes, ideal);
        m.ideal_sectors = ideal;
    }
    return m;
}

// The load of an LDGSTS tells which banks the bytes come from.
Profiler::Half::Half(const sassemu_recorded_access& a, const uint64_t* addresses, uint32_t at)
    : insn(at), lanes(a.lanes) {
    std::copy_n(addresses + a.address, std::popcount(a.lanes), from);
}

Cost Profiler::cost_of_copy(const sassemu_recorded_access& store, const uint64_t* at,
                            const Half& load) {
    Cost m;
    m.requests = 1;
    uint32_t ideal = 0;
    m.passes = copy_passes(at, load.from, store.lanes, load.lanes, store.bytes, ideal);
    m.ideal_passes = ideal;
    return m;
}

void Profiler::records(const sassemu_records& r) {
    const sassemu_cta_info cta = info(r.cta);
    Running* const of = running(cta.launch);
    if (!of) return;
    Tally& mine = tally(*of);
    for (uint32_t k = 0; k < r.accesses; ++k) {
        const sassemu_recorded_access& a = r.access[k];
        const uint64_t* const at = r.address + a.address;
        const auto lanes = static_cast<uint32_t>(std::popcount(a.lanes));
        // A block may end between the halves of a copy; nothing else that this plugin asks for
        // comes between an instruction and its accesses.
        const bool behind = a.record == SASSEMU_RECORD_BEFORE;
        Half load;
        if (behind && !take_half(r.cta, load)) continue;
        const uint32_t insn = behind ? load.insn : r.record[a.record].insn + a.step;
        const Trait trait = of->kernel->trait[insn];
        // The parts of an access of 256 bits are one request, of whole sectors.
        const bool follows =
            !behind && k && r.access[k - 1].record == a.record && r.access[k - 1].step == a.step;
        if (trait.wide && (behind || follows)) continue;
        Last& known = mine.last[insn];
        if (trait.copies && a.space == SASSEMU_SHARED) {
            if (follows) load = Half(r.access[k - 1], r.address, insn);
            known.cost = cost_of_copy(a, at, load);
            known.lanes = 0;
        } else if ((of->clustered && a.space == SASSEMU_GENERIC) || !known.same(a, at, lanes)) {
            known.cost = cost(*of, a, at, trait, cta.rank);
            known.lanes = a.lanes;
            known.kind = Last::kind_of(a);
            std::copy_n(at, lanes, known.at);
        }
        if (trait.copies && a.space == SASSEMU_GLOBAL && k + 1 == r.accesses) {
            const std::lock_guard guard(mutex_);
            halves_[r.cta] = Half(a, r.address, insn);
        }
        mine.cost[insn].add(known.cost);
    }
    for (uint32_t k = 0; k < r.records; ++k) {
        const sassemu_record& one = r.record[k];
        // Only branches differ between lanes and active lanes without an access that says so.
        if (one.lanes != one.active)
            for (uint32_t n = 0; n < one.count; ++n) ++mine.cost[one.insn + n].diverged;
    }
}

bool Profiler::take_half(sassemu_cta c, Half& half) {
    const std::lock_guard guard(mutex_);
    const auto at = halves_.find(c);
    if (at == halves_.end()) return false;
    half = at->second;
    halves_.erase(at);
    return true;
}

void Profiler::sync(const sassemu_sync& s) {
    Running* const of = running(s.cta);
    if (!of) return;
    std::vector<Metrics>& sum = of->kernel->at;
    const std::lock_guard guard(mutex_);
    if (s.kind == SASSEMU_SYNC_MBARRIER_TEST) {
        if (s.insn && (s.lanes & ~s.passed)) ++sum[index(s.insn)].failed;
    } else if (s.kind == SASSEMU_SYNC_BARRIER_ARRIVE) {
        if (s.waits && s.insn)
            arrivals_[s.cta].push_back({index(s.insn), s.id, info(s.warp).clock});
    } else {
        const auto at = arrivals_.find(s.cta);
        if (at == arrivals_.end()) return;
        const uint64_t clock = info(host.cta_warp(s.cta, 0)).clock;
        std::erase_if(at->second, [&](const Arrival& a) {
            if (a.barrier != s.id) return false;
            Metrics& to = sum[a.insn];
            ++to.waits;
            to.waited += clock - a.clock;
            return true;
        });
    }
}

void Profiler::cta_end(sassemu_cta c) {
    const std::lock_guard guard(mutex_);
    arrivals_.erase(c);
    halves_.erase(c);
}

void Profiler::counts(sassemu_launch l, const sassemu_counts& c) {
    Running* const of = running(l);
    if (!of) return;
    const std::lock_guard guard(mutex_);
    for (uint64_t k = 0; k < c.count; ++k) {
        Metrics& m = of->kernel->at[c.insn + k];
        sassemu_count& to = m.count;
        to.issued += c.at[k].issued;
        to.skipped += c.at[k].skipped;
        to.active += c.at[k].active;
        to.lanes += c.at[k].lanes;
        if (const uint32_t operands = of->kernel->trait[c.insn + k].operands) {
            m.requests = to.issued - to.skipped;
            m.passes = m.ideal_passes = m.requests * operands / 4;
        }
    }
}

}  // namespace profiling

SASSEMU_PLUGIN(profiling::Profiler)
