// SPDX-License-Identifier: Apache-2.0
// Several launches in flight, on several GPUs, and what the host and streams do beside them. What a
// launch did stays as it is when it ends: who has waited for it knows of it, and launches that
// begin then. The host is a thread of its own: each of its accesses is strong, of scope sys, an
// acquire where it reads and a release where it writes.
#include <algorithm>

#include "checker.hpp"

namespace check_sync {

namespace {

// A host's access of more than this is to data: nobody waits for a word of it.
constexpr uint64_t most_flag_bytes = 64;

}  // namespace

// What follows is about this launch.
void Checker::enter(uint64_t launch) {
    const auto run =
        std::find_if(runs_.begin(), runs_.end(), [&](const Run& r) { return r.id == launch; });
    if (run == runs_.end()) return;
    run_ = &*run;
    launch_ = launch;
    kernel_ = run->kernel;
    system_shared_ = run->system_shared;
    own_shared_ = run->own_shared;
}

sassemu_cta_info Checker::numbered(sassemu_cta c) {
    sassemu_cta_info i = info(c);
    if (runs_.size() > 1 || !run_) enter(info(i.launch).id);
    i.linear += first_cta();
    i.cluster += first_cta();
    return i;
}

const sassemu_location* Checker::located(const sassemu_access& a) {
    const sassemu_location* at = host.locations(&a);
    if (!at || !first_cta()) return at;
    std::copy_n(at, 32, located_);
    for (sassemu_location& l : located_)
        if (l.space == SASSEMU_SHARED) l.owner += static_cast<uint32_t>(first_cta());
    return located_;
}

// What whoever begins now, or has waited now, comes behind: all that has ended, and of what clients
// have done what `client` is not.
Checker::Past Checker::past(const Warp* client) {
    if (over_.empty() && !ended_.empty()) {
        std::vector<Entry> shown;
        for (const Entry& e : ended_)
            for (const bool shared : {false, true})
                shown.push_back({in_space(e.who, shared), e.lanes, e.epoch});
        over_ = View(ended_);
        over_shown_ = View(std::move(shown));
    }
    View known = over_;
    for (const Warp* other : {&host_, &streams_}) {
        if (!other->id || other == client) continue;
        known = View::joined(known, other->groups[0].now[for_global]);
        known = View::joined(known, View({{other->threads(), 1, other->done()}}));
    }
    return {known, over_shown_};
}

void Checker::leave_flight(sassemu_launch l) {
    const auto run =
        std::find_if(runs_.begin(), runs_.end(), [&](const Run& r) { return r.handle == l; });
    const uint64_t first = run->first_cta, end = run->end_cta, id = run->id;
    const auto of_run = [&](uint64_t cta) { return cta >= first && cta < end; };
    for (uint32_t name = run->first_name; name < names_.size(); ++name)
        if (of_run(names_[name].cta) && names_[name].gpu < of_streams)
            for (Component who = name * 4; who < name * 4 + 4; ++who)
                ended_.push_back({who, ~0u, ~0u});
    std::sort(ended_.begin(), ended_.end(),
              [](const Entry& a, const Entry& b) { return a.who < b.who; });
    ended_.erase(std::unique(ended_.begin(), ended_.end()), ended_.end());
    over_ = over_shown_ = {};
    std::erase_if(warps_, [&](const auto& w) { return w.second.launch == id; });
    recent_.fill({});
    std::erase_if(flags_[1], [&](const auto& f) { return of_run(f.first >> 32); });
    const auto of_key = [&](const auto& one) { return of_run(one.first.first); };
    std::erase_if(barriers_, of_key);
    std::erase_if(warpgroups_, of_key);
    std::erase_if(mbarriers_, of_key);
    for (auto* by_cta : {&gathered_})
        std::erase_if(*by_cta, [&](const auto& one) { return of_run(one.first); });
    std::erase_if(cluster_barriers_, [&](const auto& one) { return of_run(one.first); });
    std::erase_if(ctas_, [&](const auto& one) { return of_run(one.first); });
    run_ = nullptr;
    runs_.erase(run);
    changing_.clear();
    if (!runs_.empty()) return enter(runs_.front().id);
    leave_copies();
    counters_.clear();
    origins_.clear();
    unwritten_loads_.resize(1);
    look_at_trial();
}

// Nothing is in flight, and the host has waited for all of it.
void Checker::settle_flight() {
    if (names_.size() == 1 || !flight_) return;
    names_.assign(1, ThreadName{});
    shadow_.forget();
    for (auto& flags : flags_) flags.clear();
    for (auto& maybe : maybe_flags_) maybe.fill(0);
    gathered_.clear();
    proxy_fences_.clear();
    ended_.clear();
    arrived_.clear();
    over_ = over_shown_ = {};
    host_ = streams_ = {};
    grid_ = {};
}

Warp& Checker::client_thread(bool host) {
    Warp& w = host ? host_ : streams_;
    if (w.id) return w;
    const uint32_t gpu = host ? of_host : of_streams;
    w.id = static_cast<uint32_t>(names_.size());
    w.place = {~uint64_t{0} - !host, ~uint64_t{0} - !host, gpu};
    w.groups.emplace_back();
    w.groups[0].lanes = ~0u;
    names_.push_back({w.place.cta, w.place.cluster, {}, 0, 0, {}, gpu});
    const Past now = past(&w);
    order_.behind(w, now.known, now.shown);
    return w;
}

void Checker::client(const sassemu_client_access& c) {
    if (trial_) trial_->client(c);
    const bool writes = c.op != SASSEMU_LOAD;
    if (!flight_ || (runs_.empty() && names_.size() == 1)) {
        settle_grids();  // the host has waited for them
        if (writes && c.bytes) shadow_.initialise(c.address, c.bytes);
        return;
    }
    Warp& w = client_thread(c.kind == SASSEMU_AGENT_HOST);
    if (c.kind != SASSEMU_AGENT_HOST || !c.bytes) {
        const Past now = past(&w);
        order_.behind(w, now.known, now.shown);
    }
    if (!c.bytes) {
        if (runs_.empty()) settle_flight();
        return;
    }
    shadow_.collect();
    w.used = true;
    for (uint64_t at = c.address, end = at + c.bytes; at < end;) {
        uint32_t size = 4;
        while (at % size || size > end - at) size /= 2;
        touch_client(w, c, at, size);
        at += size;
    }
    if (c.bytes > most_flag_bytes) return;
    bool released = false;
    for (uint64_t word = c.address / 4 * 4; word < c.address + c.bytes; word += 4) {
        const auto flag = writes ? flags_[0].try_emplace(word).first : flags_[0].find(word);
        if (flag == flags_[0].end()) continue;
        Flag& f = flag->second;
        if (c.op != SASSEMU_STORE) {
            if (nvshmem_) arrived(f.channel, word);
            order_.acquire(w, 1, {true, sys, false}, f.channel, 0);
            f.lanes_of(w.id, {true, sys, false}) |= 1;
        }
        if (!writes) continue;
        if (c.op == SASSEMU_STORE) f.channel.clear();
        f.readers.clear();
        f.gathered = {};
        uint64_t bit = 0;
        uint64_t& bits = flag_bit(false, word, bit);
        bits |= bit;
        order_.release(w, 1, {true, sys}, 0, f.channel);
        released = true;
    }
    if (released) order_.next(w);
}

void Checker::touch_client(Warp& w, const sassemu_client_access& c, uint64_t address,
                           uint32_t bytes) {
    Touch t{};
    t.warp = &w;
    t.group = &w.groups[0];
    t.write = c.op != SASSEMU_LOAD;
    t.by_letter = true;
    t.stamp.who = w.threads();
    t.stamp.epoch = w.epoch;
    t.stamp.flags = stamp_strong | uint32_t{sys} * stamp_reach |
                    (c.op == SASSEMU_ATOMIC ? uint32_t{stamp_atomic} : 0u);
    sassemu_location at[32]{};
    at[0].address = address;
    at[0].space = SASSEMU_GLOBAL;
    touch(t, 1, at, bytes);
}

}  // namespace check_sync
