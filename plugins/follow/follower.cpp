// SPDX-License-Identifier: Apache-2.0
// Goes through what ran, a straight run at a time. Where nothing that a run reads is marked,
// neither is anything that it writes: then that is all. Else it is gone through step by step.
#include "follow/follower.hpp"

namespace follow {

void Follower::enter(sassemu_launch l) {
    if (l == launch_) return;
    launch_ = l;
    info_ = info(l);
    kernel_ = info_.kernel;
}

Cta* Follower::enter(sassemu_cta c) {
    const auto at = ctas_.find(c);
    if (at == ctas_.end()) return nullptr;
    enter(at->second.launch);
    return &at->second;
}

Cta* Follower::by_linear(uint64_t linear) {
    for (auto& [handle, c] : ctas_)
        if (c.linear == linear && c.launch == launch_) return &c;
    return nullptr;
}

void Follower::launch_begin(sassemu_launch l) {
    launch_ = nullptr;  // handles are used again
    enter(l);
    ++in_flight_;
}

void Follower::launch_end(sassemu_launch l, const char*) {
    std::erase_if(ctas_, [&](const auto& entry) { return entry.second.launch == l; });
    launch_ = nullptr;
    if (!--in_flight_) flows_.clear();
}

void Follower::cta_begin(sassemu_cta handle) {
    const sassemu_cta_info i = info(handle);
    enter(i.launch);
    Cta& c = ctas_[handle];
    c = {};
    c.handle = handle;
    c.launch = i.launch;
    c.serial = begun_++;
    c.id = i.id;
    c.linear = i.linear;
    c.rank = i.rank;
    c.shared = Shadow(i.shared_bytes, fresh_);
    // What the system keeps at the start or at the end is no data.
    c.shared.clear(0, info_.shared_reserved);
    c.shared.clear(i.shared_bytes - info_.shared_behind, info_.shared_behind);
    for (uint32_t k = 0; k < i.warps; ++k)
        c.warps.push_back(
            {Registers(fresh_), Shadow(32 * info_.local_bytes, fresh_), info_.local_bytes});
}

void Follower::cta_end(sassemu_cta handle) { ctas_.erase(handle); }

void Follower::allocate(const sassemu_allocation& a) {
    if (!a.bytes) return;
    last_extent_ = {};
    Extent& e = extents_[a.address];
    e = {};
    e.end = a.address + a.bytes;
    e.name = a.name ? a.name : "";
    e.shadow = Shadow(a.bytes, false);
}

void Follower::release(const sassemu_allocation& a) {
    last_extent_ = {};
    extents_.erase(a.address);
}

void Follower::records(const sassemu_records& r) {
    Cta* const in = enter(r.cta);
    if (!in) return;
    Cta& c = *in;
    Code& code = codes_[r.module];
    const sassemu_recorded_access* a = r.access;
    const sassemu_recorded_access* const end = a + r.accesses;
    seen(c, r);
    for (; a != end && a->record == SASSEMU_RECORD_BEFORE; ++a)
        if (c.last &&
            (c.last->makes || !quick(c, *c.last_warp, *c.last, *a, r.address + a->address))) {
            const Step s{c, *c.last_warp, c.last_index, *c.last, a->lanes, a->lanes};
            brought(s);
            access(s, *a, r.address + a->address);
        }
    for (uint32_t k = 0; k < r.records; ++k) {
        const sassemu_recorded_access* const first = a;
        while (a != end && a->record == k) ++a;
        execute(c, code, r, r.record[k], first, a);
    }
}

void Follower::execute(Cta& c, Code& code, const sassemu_records& r, const sassemu_record& record,
                       const sassemu_recorded_access* a, const sassemu_recorded_access* end) {
    if (record.warp >= c.warps.size()) return;
    Warp& w = c.warps[record.warp];
    Run& all = code.run(record.insn, record.count, record.lanes != 0);
    c.last_warp = &w;
    c.last_index = record.warp;
    c.last = &code[record.insn + record.count - 1];
    uint32_t done = 0;
    if (!all.makes && !(all.reads_tensor && c.tensor) &&
        !w.registers.touches(all.exposed, record.active)) {
        for (;; ++a) {
            if (a == end) return w.registers.clear(all.writes, record.lanes);
            if (!quick(c, w, code[record.insn + a->step], *a, r.address + a->address)) break;
        }
        done = a->step;
        if (done) w.registers.clear(code.run(record.insn, done, true).writes, record.lanes);
        repeatable_ = false;
    } else if (repeat(c, w, code, r, record, a, end, all)) {
        return;
    }
    for (uint32_t k = done; k < record.count; ++k) {
        const sassemu_recorded_access* const first = a;
        while (a != end && a->step == k) ++a;
        step({c, w, record.warp, code[record.insn + k], record.lanes, record.active}, first, a, r);
    }
    if (repeatable_) remember(w, record, all);
}

bool Follower::repeat(Cta& c, Warp& w, Code& code, const sassemu_records& r,
                      const sassemu_record& record, const sassemu_recorded_access* a,
                      const sassemu_recorded_access* end, Run& run) {
    before_.clear();
    repeatable_ = doubt_ == Doubt::marks && record.lanes && !run.reads_tensor;
    if (!repeatable_) return false;
    bool plain = true;
    w.registers.each_marked(run.exposed, record.active, [&](uint32_t row) {
        plain = plain && w.registers.is_plain(row);
        before_.push_back(
            {row, w.registers.lanes(row) & record.active, w.registers.origin(row, 0)});
    });
    repeatable_ = plain;
    const Passage& last = run.last;
    if (!plain || !last.known || last.lanes != record.lanes || last.active != record.active ||
        last.before != before_)
        return false;
    for (; a != end; ++a)
        if (!quick(c, w, code[record.insn + a->step], *a, r.address + a->address)) return false;
    w.registers.clear(run.writes, record.lanes);
    for (const Passage::Row& row : last.after) w.registers.mark_all(row.row, row.lanes, row.origin);
    return true;
}

void Follower::remember(const Warp& w, const sassemu_record& record, Run& run) {
    bool plain = true;
    std::vector<Passage::Row> after;
    w.registers.each_marked(run.writes, record.lanes, [&](uint32_t row) {
        plain = plain && w.registers.is_plain(row);
        after.push_back({row, w.registers.lanes(row) & record.lanes, w.registers.origin(row, 0)});
    });
    run.last = {record.lanes, record.active, plain, before_, std::move(after)};
}

// What is read by a copy: its marked bytes, born here if nobody knows where.
void Follower::take(Flow& f, Place p, uint64_t address, uint64_t bytes, const char* space,
                    sassemu_insn insn) {
    if (f.given) f = {};
    const uint64_t begin = p.at, end = p.at + bytes;
    for (uint64_t n; (n = p.shadow->next(p.at, end)); p.at += n) {
        Origin from = p.shadow->origin(p.at);
        if (!from) from = born_of_copy(space, address + (p.at - begin), insn);
        f.marked.push_back({f.bytes + (p.at - begin), n, from});
    }
    f.bytes += bytes;
}

// Bytes keep their marks on the way where as many are written as were read just before. `adds`: to
// what is there.
void Follower::give(Flow& f, Place p, uint64_t bytes, sassemu_insn insn, bool adds) {
    if (!adds) p.shadow->clear(p.at, bytes);
    const Origin made = insn ? instruction(insn).makes : unnamed;
    if (made || (f.bytes != bytes && doubt_ == Doubt::marks)) {
        Origin all = made;
        for (const Flow::Part& part : f.marked) all = join(all, part.origin);
        if (all && adds)
            for (uint64_t at = p.at, n; (n = p.shadow->next(at, p.at + bytes)); at += n)
                all = join(all, p.shadow->origin(at));
        if (all) p.shadow->mark(p.at, bytes, all);
        if (all) stored(all, insn);
    } else if (f.bytes == bytes) {
        for (const Flow::Part& part : f.marked) {
            p.shadow->mark(p.at + part.at, part.bytes, part.origin);
            stored(part.origin, insn);
        }
    }
    f.given = true;
}

void Follower::async(const sassemu_async& a) {
    if (a.step == SASSEMU_ASYNC_COMPLETE) flows_.erase(a.id);
    if (a.step != SASSEMU_ASYNC_READ && a.step != SASSEMU_ASYNC_WRITE) return;
    Place p;
    if (a.warp) enter(info(a.warp).cta);
    const bool shared = a.at.space == SASSEMU_SHARED;
    if (shared) {
        if (Cta* const owner = by_linear(a.at.owner)) p = {&owner->shared, a.at.address};
    } else if (a.at.space == SASSEMU_GLOBAL) {
        if (Extent* const e = extent(a.at.address))
            p = {&e->shadow, a.at.address - last_extent_.first};
    }
    if (!p.shadow || a.proxy == SASSEMU_VIA_TENSORMAP) return;
    const bool adds = a.op == SASSEMU_REDUCE;
    if (a.step == SASSEMU_ASYNC_READ)
        take(flows_[a.id], p, a.at.address, a.bytes,
             shared ? "shared memory at " : "global memory at ", a.insn);
    else if (!adds || doubt_ == Doubt::marks)
        give(flows_[a.id], p, a.bytes, a.insn, adds);
}

}  // namespace follow
