// SPDX-License-Identifier: Apache-2.0
// The events of a run that order accesses, one after the other: the beginning and end of launches
// and CTAs, lanes that come together, and whose affair the rest is. Fences are in fences.cpp,
// barriers in barriers.cpp and clusters.cpp, mbarrier objects in mbarriers.cpp, copies in
// copies.cpp, launches in grids.cpp.
#include <algorithm>
#include <bit>
#include <stdexcept>

#include "checker.hpp"

namespace check_sync {

Checker::Checker(const sassemu::Start& start)
    : Plugin(start),
      own_meanings_(std::make_unique<Meanings>(*this)),
      meanings_(*own_meanings_),
      undefined_(std::make_unique<Undefined>(
          start,
          [this](Origin from, sassemu_insn insn, const char* what) {
              used_unwritten(from, insn, what);
          },
          [this](sassemu_cta c, uint32_t address) { return is_written(c, address); })),
      report_(std::make_shared<findings::Report>(*this, name, start)),
      verdict_(start.value("verdict", "both")),
      surfaces_(start.number("surfaces", 0)),
      strong_counts_(start.number("too_strong", 0)) {
    if (verdict_ != "both" && verdict_ != "strict" && verdict_ != "common")
        throw std::invalid_argument("option 'verdict': '" + verdict_ +
                                    "' is none of both, strict and common");
}

void Checker::launch_begin(sassemu_launch l) {
    begin_trial();
    if (trial_) trial_->launch_begin(l);
    const sassemu_launch_info i = info(l);
    Run r;
    r.handle = l;
    r.id = i.id;
    r.kernel = i.kernel ? i.kernel : "";
    r.gpu = i.gpu;
    r.system_shared = i.shared_reserved;
    r.own_shared = i.shared_static + i.shared_dynamic - i.shared_behind;
    for (const Run& other : runs_) r.first_cta = std::max(r.first_cta, other.end_cta);
    r.end_cta = r.first_cta + uint64_t{i.grid.x} * i.grid.y * i.grid.z;
    r.first_name = static_cast<uint32_t>(names_.size());
    modelled_ = i.has_model;
    flight_ = i.in_flight;
    if (flight_) {
        const Past now = past();
        r.known = now.known;
        r.shown = now.shown;
    }
    runs_.push_back(std::move(r));
    if (!flight_) begin_grid(i.may_overlap);
    enter(i.id);
    seeds_.insert(host.seed(session));
}

void Checker::launch_end(sassemu_launch l, const char* status) {
    if (trial_) trial_->launch_end(l, status);
    if (!is_trial_) report_->ran(status);
    const std::string_view end = status ? status : "";
    enter(info(l).id);
    if (undefined_) undefined_->launch_end(l);
    if (end == "ok" || end == "deadlock") report_transactions(end == "deadlock");
    if (end == "deadlock") never_gathered();
    if (flight_) return leave_flight(l);
    while (!unwritten_.empty()) look_at_unwritten(unwritten_.begin()->first);
    origins_.clear();
    unwritten_loads_.resize(1);
    runs_.clear();
    run_ = nullptr;
    warps_.clear();
    recent_.fill({});
    for (auto& flags : flags_) flags.clear();
    gathered_.clear();
    counters_.clear();
    for (auto& maybe : maybe_flags_) maybe.fill(0);
    barriers_.clear();
    warpgroups_.clear();
    cluster_barriers_.clear();
    proxy_fences_.clear();
    mbarriers_.clear();
    pair_allocs_.clear();
    columns_.clear();
    no_work_.clear();
    alike_.clear();
    exited_.clear();
    leave_copies();
    changing_.clear();
    ctas_.clear();
    grid_.running = false;
    look_at_trial();
}

void Checker::cta_begin(sassemu_cta c) {
    if (trial_) trial_->cta_begin(c);
    const sassemu_cta_info i = numbered(c);
    shadow_.add_shared(i.linear, i.shared_bytes);
    ctas_[i.linear] = c;
    for (uint32_t k = 0; k < i.warps; ++k) {
        Warp w;
        w.id = static_cast<uint32_t>(names_.size());
        w.place = {i.linear, i.cluster, run_->gpu};
        w.launch = run_->id;
        w.index = k;
        w.groups.emplace_back();
        w.groups[0].lanes = ~0u;
        names_.push_back({i.linear, i.cluster, i.id, k, 0, {}, run_->gpu});
        if (flight_)
            order_.behind(w, run_->known, run_->shown);
        else
            begin_in_grid(w);
        const sassemu_warp handle = host.cta_warp(c, k);
        warps_.insert_or_assign(handle, std::move(w));
    }
    recent_.fill({});
}

void Checker::cta_end(sassemu_cta c) {
    if (trial_) trial_->cta_end(c);
    const sassemu_cta_info i = numbered(c);
    for (uint32_t k = 0; k < i.warps; ++k) unfinished_copies(warp_of(host.cta_warp(c, k)));
    gathered_.erase(i.linear);
    look_at_unwritten(i.linear);
    if (undefined_) undefined_->cta_end(c);
    origins_.erase(origins_.lower_bound({i.linear, 0, 0}),
                   origins_.lower_bound({i.linear + 1, 0, 0}));
    left_columns(i.linear);
    shadow_.drop_shared(i.linear);
    shadow_.drop_shared(tensor_block(i.linear));
    ctas_.erase(i.linear);
    barriers_.erase(barriers_.lower_bound({i.linear, 0}), barriers_.lower_bound({i.linear + 1, 0}));
    warpgroups_.erase(warpgroups_.lower_bound({i.linear, 0}),
                      warpgroups_.lower_bound({i.linear + 1, 0}));
    for (uint32_t k = 0; k < i.warps; ++k) warps_.erase(host.cta_warp(c, k));
    recent_.fill({});
}

// Which lanes run together now. A path that has split off, or come together with another, shows
// here first.
void Checker::running(Warp& w, sassemu_warp handle) {
    const uint32_t active = host.active(handle);
    if (active == w.last_active || !active) return;
    w.last_active = active;
    const uint32_t one = w.classes[__builtin_ctz(active)];
    uint32_t same = 0;
    for (uint32_t lane = 0; lane < 32; ++lane)
        if (w.classes[lane] == one) same |= 1u << lane;
    if (same == active) return;
    order_.together(w, same | active, false);
    // Lanes of other classes that are not running keep theirs: what they do from now on is not in
    // order with these.
    const uint32_t fresh = ++w.next_class;
    for (uint32_t lane = 0; lane < 32; ++lane)
        if (active >> lane & 1) w.classes[lane] = fresh;
}

// A guard has some of the lanes that run together execute it, most often one for all. What they
// release and learn (`orders`) is the affair of all of them, as where a branch around it has
// brought them apart and together again.
void Checker::guarded(Warp& w, uint32_t lanes, bool orders) {
    const bool some = orders && w.last_active & ~lanes;
    if (some || w.guarded) order_.together(w, w.last_active, false);
    w.guarded = some;
}

uint32_t Checker::select(sassemu_insn i) {
    return of_meaning(i) | (has_wgmma(i) ? uint32_t{SASSEMU_BEFORE} : 0) | undefined_->wanted(i);
}

uint32_t Checker::of_meaning(sassemu_insn i) {
    // The rest of the code is not there yet, so what the instruction means is found out later.
    const sassemu_effect e = effect(i);
    if (columns::changes(e)) return SASSEMU_BEFORE | SASSEMU_AFTER;
    const bool watched = e.kind == SASSEMU_EFFECT_CACHE &&
                         (e.cache == SASSEMU_CACHE_MBARRIER || e.cache == SASSEMU_CACHE_TENSORMAP);
    if (watched || e.kind == SASSEMU_EFFECT_MBARRIER || Meaning::warpsync(e) ||
        (e.kind == SASSEMU_EFFECT_LOAD && e.space == SASSEMU_TEXTURE) ||
        Meaning::packs_barrier(host.insn_opcode(i), host.insn_text(i)))
        return SASSEMU_BEFORE;
    sassemu_intent intent{};
    const std::string_view opcode = host.insn_opcode(i);
    if (opcode == "BRA" &&
        std::string_view(host.insn_text(i)).find("BRA.DIV") != std::string_view::npos)
        return SASSEMU_BEFORE;
    // Behind an atomic its result is there.
    if (e.kind == SASSEMU_EFFECT_ATOMIC || e.kind == SASSEMU_EFFECT_REDUCE ||
        (e.kind == SASSEMU_EFFECT_ASYNC && e.in_cluster))
        return SASSEMU_AFTER;
    const bool of_text = (opcode == "NOP" || opcode.starts_with("VOTE")) &&
                         this->intent(i, intent) && intent.kind != SASSEMU_INTENT_NONE;
    return of_text ? SASSEMU_BEFORE : 0;
}

// PTX that is no instruction of the chip.
void Checker::before(sassemu_warp handle, sassemu_insn i, uint32_t lanes) {
    if (trial_) trial_->before(handle, i, lanes);
    if (!has_wgmma(i) && !shown(i)) return;  // a block of records ends here
    Warp& w = warp_of(handle);
    if (has_wgmma(i) && !follow_wgmma(w, i, lanes)) return;
    running(w, handle);
    const uint32_t insn = meanings_.number(i);
    const Meaning& m = meanings_[insn];
    if (m.is_warpsync()) {
        if (m.aligned) w.gathering[insn] |= lanes;
        return;
    }
    if (m.does(SASSEMU_EFFECT_CACHE) && m.effect.cache == SASSEMU_CACHE_TENSORMAP)
        return order_.tensormap_fence(w, lanes);
    if (m.does(SASSEMU_EFFECT_LOAD)) {
        w.texture = insn;
        return;
    }
    if (m.opcode == "BRA") {  // .DIV: what __syncwarp() is where the warp is whole
        if (!m.known) order_.together(w, lanes, false);
        return;
    }
    if (columns::changes(m.effect)) {
        column_operands_ = columns::operands(*this, handle, i);
        if (m.says("tcgen05.dealloc.cta_group::2")) frees_pair(w, lanes, insn);
        return;
    }
    if (m.opcode.starts_with("LOP3")) return pack_barrier(w, handle, i, lanes);
    if (m.opcode.starts_with("VOTE")) {
        for (uint32_t left = lanes; left && m.counts_for_atomic(); left &= left - 1)
            w.counted[std::countr_zero(left)] = {m.intent.ptx_line, lanes};
        return;
    }
    if (m.opcode != "NOP") {
        w.issued = lanes;
        return;
    }
    if (tensor_text(w, lanes, m)) return;
    if (m.is(SASSEMU_INTENT_FENCE)) {
        stated_fence(w, lanes, m, insn);
    } else if (m.says("bar.warp.sync")) {
        order_.together(w, lanes, true);
    }
}

// Of one instruction; null: there is one already.
Finding* Checker::new_finding(FindingKind kind, uint32_t insn) {
    Finding& f = findings_[{kind, true, insn, 0}];
    if (f.count++) return nullptr;
    f.kind = kind;
    f.launch = launch_;
    f.seed = host.seed(session);
    f.kernel = kernel_;
    f.first.insn = insn;
    return &f;
}

// A rule of an instruction's own, which an order of two accesses is not.
void Checker::breaks_rule(FindingKind kind, const Warp& w, uint32_t lanes, uint32_t insn,
                          const char* action, const std::string& what, const std::string& repair) {
    Finding* const entry = new_finding(kind, insn);
    if (!entry) return;
    Finding& f = *entry;
    f.first.action = action;
    f.first.thread = thread_text(w.threads(), lanes);
    f.first.cta = w.place.cta;
    f.first.cluster = w.place.cluster;
    f.missing = what;
    f.repair = repair;
}

void Checker::sync(const sassemu_sync& event) {
    if (trial_) trial_->sync(event);
    sassemu_sync s = event;
    if (event.warp) warp_of(event.warp);
    const auto numbered_cta = [&] { return numbered(event.cta); };
    if (!event.warp && event.cta) numbered_cta();
    s.owner += static_cast<uint32_t>(first_cta());
    const uint32_t insn = meanings_.number(s.insn);
    const Meaning& m = meanings_[insn];
    Warp* w = nullptr;
    if (s.warp) {
        w = &warp_of(s.warp);
        if (s.kind != SASSEMU_SYNC_WARP) running(*w, s.warp);
        if (s.kind != SASSEMU_SYNC_WARP && !s.agent)
            guarded(*w, m.does(SASSEMU_EFFECT_MBARRIER) ? w->issued : s.lanes, true);
    }
    const auto linear = [&] { return numbered_cta().linear; };
    switch (s.kind) {
        case SASSEMU_SYNC_BARRIER_ARRIVE:
            arrive_at_barrier(*w, s, insn);
            break;
        case SASSEMU_SYNC_BARRIER_COMPLETE:
            complete_barrier(barriers_[{linear(), s.id}], linear());
            break;
        case SASSEMU_SYNC_CLUSTER_ARRIVE: {
            Release how = m.release(SASSEMU_LEVEL_CLUSTER);
            if (m.known) how = {!m.says(".relaxed"), cluster};
            // fence.mbarrier_init becomes no word: where the text is not there, it is.
            if (!m.known) order_.release_fence(*w, s.lanes, cluster, Order::mbarrier_init, insn);
            Weaker as{.reach = how.reach};
            if (weaken(insn, as)) how.releases = false;
            how.reach = as.reach;
            ClusterBarrier& b = cluster_barriers_[w->place.cluster];
            order_.release(*w, s.lanes, how, insn, b.arriving, true);
            order_.next(*w);
            b.arrived[w->id] |= s.lanes;
            order_.barrier_used.try_emplace(insn, Order::level_none);
            if (std::find(b.insns.begin(), b.insns.end(), insn) == b.insns.end())
                b.insns.push_back(insn);
            break;
        }
        case SASSEMU_SYNC_CLUSTER_COMPLETE: {
            ClusterBarrier& b = cluster_barriers_[numbered_cta().cluster];
            b.over = std::move(b.arriving);
            b.arriving = {};
            b.arrived.clear();
            b.meeting = order_.meeting(std::exchange(b.insns, {}));
            if (std::exchange(b.remote, false)) order_.need(b.meeting, Order::level_cluster);
            for (const ClusterBarrier::Waiting& waiting : std::exchange(b.waiting, {}))
                leave(b, waiting.warp, waiting.lanes, waiting.insn);
            break;
        }
        case SASSEMU_SYNC_CLUSTER_WAIT: {
            ClusterBarrier& b = cluster_barriers_[w->place.cluster];
            if (b.arrived[w->id] & s.lanes)
                b.waiting.push_back({s.warp, s.lanes, insn});
            else
                leave(b, s.warp, s.lanes, insn);
            break;
        }
        case SASSEMU_SYNC_WARPGROUP_ARRIVE: {
            Warpgroup& b = warpgroups_[{w->place.cta, w->index / 4}];
            const uint32_t phase = ++b.arrivals[w->id];
            if (phase > b.phases) b.arrived[(b.phases = phase) % 2].clear();
            order_.release(*w, s.lanes, {true, cta}, insn, b.arrived[phase % 2], true);
            order_.next(*w);
            break;
        }
        case SASSEMU_SYNC_WARPGROUP_WAIT: {
            Warpgroup& b = warpgroups_[{w->place.cta, w->index / 4}];
            order_.meet({{w, s.lanes, w->done(), insn}}, b.arrived[b.arrivals[w->id] % 2]);
            order_.next(*w);
            break;
        }
        case SASSEMU_SYNC_WARP: {
            for (auto& [at, lanes] : w->gathering) lanes &= ~s.lanes;
            const bool stated = m.is_warpsync() && !m.collective();
            order_.together(*w, s.lanes, stated);
            const uint32_t fresh = ++w->next_class;
            for (uint32_t lane = 0; lane < 32; ++lane)
                if (s.lanes >> lane & 1) w->classes[lane] = fresh;
            w->last_active = 0;
            break;
        }
        case SASSEMU_SYNC_MBARRIER_INIT:
        case SASSEMU_SYNC_MBARRIER_ARRIVE:
        case SASSEMU_SYNC_MBARRIER_TEST:
        case SASSEMU_SYNC_MBARRIER_INVALIDATE:
            mbarrier(s);
            break;
        case SASSEMU_SYNC_GRID_LAUNCH:
            grid_.triggered = true;
            break;
        case SASSEMU_SYNC_GRID_WAIT:
            wait_for_grid(*w, s.lanes);
            break;
        case SASSEMU_SYNC_GROUP_COMMIT:
            for (uint32_t lanes = s.lanes; lanes; lanes &= lanes - 1)
                ++w->copies[s.id % 3][__builtin_ctz(lanes)];
            break;
        case SASSEMU_SYNC_GROUP_WAIT:
            wait_for_groups(*w, s, s.id % 3);
            // The word for it is the same for both kinds; without the text it may be either.
            if (!m.known && s.id <= SASSEMU_GROUP_BULK) wait_for_groups(*w, s, 1 - s.id);
            order_.merge(*w);
            w->guarded = w->groups.size() > 1;  // what each has waited for is over for all
            break;
        default:
            break;
    }
}

void Checker::allocate(const sassemu_allocation& a) {
    if (trial_) trial_->allocate(a);
    if (runs_.empty()) settle_flight();
    shadow_.discard(a.address, a.bytes);
    const std::string_view what = a.name ? a.name : "";
    // The emulator's own: variables of modules have values, and the heap hands the same bytes out
    // again and again, in an order that is malloc's affair.
    nvshmem_ |= what.starts_with("symmetric heap");
    if (what == "device heap") heap_ = {a.address, a.address + a.bytes};
    if (what.starts_with('.') || what.find(' ') != what.npos)
        shadow_.initialise(a.address, a.bytes);
}

void Checker::fault(const sassemu_fault_info& f) {
    if (trial_) trial_->fault(f);
    const std::string_view kind = f.kind ? f.kind : "";
    const uint32_t insn = meanings_.number(f.insn);
    if (kind.find("barrier") == std::string_view::npos) return columns_fault(f, insn);
    Finding* const entry =
        new_finding(meanings_[insn].does(SASSEMU_EFFECT_MBARRIER) ? FindingKind::mbarrier_protocol
                                                                  : FindingKind::barrier_misuse,
                    insn);
    if (!entry) return;
    entry->first.action = "breaks the rules of the barrier";
    if (f.warp) entry->first.thread = thread_text(warp_of(f.warp).threads(), f.lanes ? f.lanes : 1);
    entry->missing = f.what ? f.what : "";
}

}  // namespace check_sync

SASSEMU_PLUGIN(check_sync::Checker)
