// SPDX-License-Identifier: Apache-2.0
// What is stronger than it need be: the fences and barriers of which nothing that was observed had
// need, and trials of what would do in their place. A trial is a second checker that follows the
// same run with those weakened: where it finds nothing more, they were not needed there.
#include <algorithm>

#include "checker.hpp"

namespace check_sync {

Checker::Checker(const Checker& of, std::map<uint32_t, Weaker> weaker)
    : Plugin(of),
      meanings_(of.meanings_),
      verdict_(of.verdict_),
      surfaces_(of.surfaces_),
      weaker_(std::move(weaker)),
      is_trial_(true),
      heap_(of.heap_) {}

// Whether nothing is left of it; else `as` is no stronger than what would do.
bool Checker::weaken(uint32_t insn, Weaker& as) const {
    if (weaker_.empty()) return false;
    const auto found = weaker_.find(insn);
    if (found == weaker_.end()) return false;
    const Weaker& to = found->second;
    as.without_sc |= to.without_sc;
    as.release_only |= to.release_only;
    as.within_warp |= to.within_warp;
    as.reach = std::min(as.reach, to.reach);
    return to.gone;
}

// Before a run: all that is listed and neither proved nor refused, as many at once as may pass.
void Checker::begin_trial() {
    if (is_trial_ || seeds_.contains(host.seed(session))) return;
    end_trial();
    if (seeds_.size() < enough_seeds / 2) return;
    std::map<uint32_t, Weaker> weaker;
    for (const TooStrong& s : trials_.candidates) {
        const std::string& line = meanings_[s.insn].line;
        if (trials_.refused.contains(line)) continue;
        if (!trials_.proved.contains(line)) {
            if (trials_.running.size() == trials_.batch) continue;
            trials_.running.insert(line);
        }
        for (const uint32_t insn : s.insns) weaker[insn] = s.weaker;
    }
    if (!weaker.empty()) trial_.reset(new Checker(*this, std::move(weaker)));
}

void Checker::look_at_trial() {
    if (is_trial_) return;
    if (trial_)
        for (const auto& [key, f] : trial_->findings_)
            trials_.failed |= !findings_.contains(key) && f.kind != FindingKind::uninitialised_read;
    if (seeds_.size() >= enough_seeds / 2) trials_.candidates = too_strong();
}

// Behind a run. What failed together is tried again, fewer at a time.
void Checker::end_trial() {
    if (!trial_) return;
    trial_.reset();
    Trials& t = trials_;
    if (!std::exchange(t.failed, false)) {
        for (const std::string& line : t.running) t.proved.try_emplace(line, 0);
        for (auto& [line, runs] : t.proved) ++runs;
        t.batch = ~size_t{0};
    } else if (t.running.size() == 1) {
        t.refused.insert(*t.running.begin());
    } else {
        t.batch = std::max<size_t>(1, (t.running.empty() ? t.proved.size() : t.running.size()) / 2);
        if (t.running.empty()) t.proved.clear();
    }
    t.running.clear();
}

std::vector<TooStrong> Checker::too_strong() const {
    static const char* const reach_names[] = {"cta", "cluster", "gpu", "sys"};
    static const char* const level_names[] = {"warp", "cta"};
    std::vector<TooStrong> all;
    const auto add = [&](const std::vector<uint32_t>& insns, uint32_t insn, const char* what,
                         const std::string& would_do, const Weaker& weaker) {
        const Meaning& m = meanings_[insn];
        TooStrong s;
        s.insn = insn;
        s.insns = insns;
        s.weaker = weaker;
        s.what = what;
        s.is = m.known && !m.ptx.empty() ? std::string(m.ptx) : host.insn_text(m.insn);
        s.would_do = would_do;
        all.push_back(s);
    };
    // A line of the source may be several instructions (a loop that is unrolled; MEMBAR and
    // CCTL.IVALL): it is as needed as the one most needed.
    struct Use {
        int released = -1, acquired = -1;
        bool sc = false, by_sc = false;
        uint32_t fence = 0, cache = 0;
        std::vector<uint32_t> insns;
    };
    std::map<std::string, Use> fences;
    for (const auto* used : {&order_.release_used, &order_.acquire_used})
        for (const auto& [insn, level] : *used) {
            const Meaning& m = meanings_[insn];
            if (order_.proxy_used.contains(insn)) continue;
            Use& u = fences[m.line];
            int& most = used == &order_.release_used ? u.released : u.acquired;
            most = std::max(most, level);
            u.insns.push_back(insn);
            u.sc |= m.is(SASSEMU_INTENT_FENCE) ? m.intent.ordering == SASSEMU_SC
                                               : m.effect.ordering == SASSEMU_SC;
            u.by_sc |= order_.sc_used.contains(insn);
            if (m.does(SASSEMU_EFFECT_FENCE)) u.fence = insn;
            if (m.does(SASSEMU_EFFECT_CACHE)) u.cache = insn;
        }
    for (const auto& [line, u] : fences) {
        const Meaning& m = meanings_[u.fence ? u.fence : u.cache];
        const int level = std::max(u.released, u.acquired);
        if (!u.fence) {
            if (!u.cache || u.acquired > static_cast<int>(cta) || u.sc) continue;
            const bool none = u.acquired < 0;
            add(u.insns, u.cache, m.known ? "fence" : "cache invalidation",
                none ? "none" : reach_names[cta], {.gone = none, .reach = cta});
            continue;
        }
        const uint32_t scope = m.is(SASSEMU_INTENT_FENCE) ? m.intent.scope : m.effect.scope;
        const bool narrower = level >= 0 && level < static_cast<int>(reach_of(scope));
        const auto reach = static_cast<Reach>(std::max(level, 0));
        if (u.sc && u.by_sc) {
            if (narrower && level >= static_cast<int>(gpu))
                add(u.insns, u.fence, "fence", reach_names[level], {.reach = reach});
        } else if (level < 0) {
            add(u.insns, u.fence, "fence", "none", {.gone = true});
        } else if (u.sc) {
            add(u.insns, u.fence, "fence", "acq_rel." + std::string(reach_names[level]),
                {.without_sc = true, .reach = reach});
        } else if (narrower) {
            add(u.insns, u.fence, "fence", reach_names[level], {.reach = reach});
        } else if (m.known && u.cache && u.acquired < 0 && m.intent.ordering == SASSEMU_ACQ_REL) {
            add(u.insns, u.fence, "fence", "release", {.release_only = true});
        }
    }
    const auto lines_of = [&](const std::map<uint32_t, int>& used) {
        std::map<std::string, std::pair<int, std::vector<uint32_t>>> lines;
        for (const auto& [insn, level] : used) {
            auto& [most, insns] =
                lines.try_emplace(meanings_[insn].line, -1, std::vector<uint32_t>{}).first->second;
            most = std::max(most, level);
            insns.push_back(insn);
        }
        return lines;
    };
    for (const auto& [line, use] : lines_of(order_.proxy_used))
        if (use.first < 0)
            add(use.second, use.second.front(), "proxy fence", "none", {.gone = true});
    for (const auto& [line, use] : lines_of(order_.barrier_used)) {
        const auto& [level, insns] = use;
        const bool of_cluster = !meanings_[insns.front()].is_cta_barrier();
        if (level > (of_cluster ? Order::level_cta : Order::level_warp)) continue;
        add(insns, insns.front(), of_cluster ? "cluster barrier" : "barrier",
            level < 0 ? "none" : level_names[level],
            {.gone = level < 0, .within_warp = level == Order::level_warp, .reach = cta});
    }
    return all;
}

// A fence.sc between a strong store and a strong load of another word may be what keeps two threads
// from both missing the other's store.
void Order::strong_store(Warp& w, uint64_t key) {
    w.stores.many |= std::exchange(w.stores.any, true) && w.stores.key != key;
    w.stores.key = key;
}

void Order::strong_load(Warp& w, uint64_t key) {
    if (w.stores.fences.empty() || (!w.stores.many && w.stores.key == key)) return;
    sc_used.insert(w.stores.fences.begin(), w.stores.fences.end());
    w.stores.fences.clear();
}

}  // namespace check_sync
