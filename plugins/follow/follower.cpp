// SPDX-License-Identifier: Apache-2.0
// Goes through what ran, a straight run at a time. Where nothing that a run reads is marked,
// neither is anything that it writes: then that is all. Else it is gone through step by step.
#include "follow/follower.hpp"

#include <algorithm>

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
    recycle(c);
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
    const auto spare = std::find_if(spare_.begin(), spare_.end(),
                                    [&](const auto& warps) { return warps.size() == i.warps; });
    if (spare != spare_.end()) {
        c.warps = std::move(*spare);
        spare_.erase(spare);
    } else {
        c.warps = std::vector<Warp>(i.warps);
    }
    for (Warp& w : c.warps) {
        w.registers.reset(fresh_);
        w.joins.clear();
        w.local = Shadow(32 * info_.local_bytes, fresh_);
        w.local_bytes = info_.local_bytes;
    }
}

void Follower::recycle(Cta& c) {
    constexpr size_t most = 64;
    if (!c.warps.empty() && spare_.size() < most) spare_.push_back(std::move(c.warps));
}

void Follower::cta_end(sassemu_cta handle) {
    const auto at = ctas_.find(handle);
    if (at == ctas_.end()) return;
    recycle(at->second);
    ctas_.erase(at);
}

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
    for (; a != end && a->record == SASSEMU_RECORD_BEFORE; ++a) {
        if (!c.last) continue;
        const Step s{c, *c.last_warp, c.last_index, *c.last, a->lanes, a->lanes};
        if (!c.last->makes && !(a->op != SASSEMU_LOAD && has_marked_data(s)) &&
            quick(c, *c.last_warp, *c.last, *a, r.address + a->address))
            continue;
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
    c.last_warp = &w;
    c.last_index = record.warp;
    c.last = &code[record.insn + record.count - 1];
    if (!w.joins.empty()) return pass_joins(c, w, code, r, record, a, end);
    if (!code.run(record.insn, record.count, record.lanes != 0).breaks) {
        pass(c, w, code, r, record, 0, record.count, a, end);
        return;
    }
    // What lies between accesses may be as before; they are not.
    for (uint32_t k = 0; k < record.count;) {
        const uint32_t access = a == end ? record.count : a->step;
        if (k < access) pass(c, w, code, r, record, k, access, a, a);
        if (access < record.count) a = pass(c, w, code, r, record, access, access + 1, a, end);
        k = access + 1;
    }
}

void Follower::pass_joins(Cta& c, Warp& w, Code& code, const sassemu_records& r,
                          const sassemu_record& record, const sassemu_recorded_access* a,
                          const sassemu_recorded_access* end) {
    const auto concerns = [&](const Join& join, uint32_t step) {
        return join.at == record.insn + step && record.active >> join.lane & 1;
    };
    for (uint32_t k = 0; k < record.count;) {
        std::erase_if(w.joins, [&](const Join& join) {
            if (!concerns(join, k)) return false;
            for (const auto& [row, bits] : join.rows)
                w.registers.mark(row, join.lane, w.registers.bits(row, join.lane) | bits,
                                 join.origin);
            for (const auto& [local, address] : join.bytes)
                if (local)
                    w.local.mark(join.lane * w.local_bytes + address, 1, join.origin);
                else
                    c.shared.mark(address, 1, join.origin);
            return true;
        });
        uint32_t next = k + 1;
        while (next < record.count &&
               std::none_of(w.joins.begin(), w.joins.end(),
                            [&](const Join& join) { return concerns(join, next); }))
            ++next;
        a = pass(c, w, code, r, record, k, next, a, end);
        k = next;
    }
}

const sassemu_recorded_access* Follower::pass(Cta& c, Warp& w, Code& code, const sassemu_records& r,
                                              const sassemu_record& record, uint32_t first,
                                              uint32_t last, const sassemu_recorded_access* a,
                                              const sassemu_recorded_access* end) {
    const bool part = last - first < record.count;
    const auto* behind = a;
    while (behind != end && behind->step < last) ++behind;
    Run& run = code.run(record.insn + first, last - first, record.lanes != 0, part);
    if (!run.makes && !(run.reads_tensor && c.tensor) &&
        !w.registers.touches(run.exposed, record.active)) {
        while (a != behind && quick(c, w, code[record.insn + a->step], *a, r.address + a->address))
            ++a;
        const uint32_t done = a == behind ? last : a->step;
        if (done == last) {
            w.registers.clear(run.writes, record.lanes);
            return behind;
        }
        if (done > first)
            w.registers.clear(code.run(record.insn + first, done - first, true, true).writes,
                              record.lanes);
        first = done;
        repeatable_ = false;
    } else if (repeat(c, w, code, r, record, a, behind, run)) {
        return behind;
    }
    decided_.clear();
    for (uint32_t k = first; k < last; ++k) {
        const sassemu_recorded_access* const its = a;
        while (a != behind && a->step == k) ++a;
        step({c, w, record.warp, code[record.insn + k], record.lanes, record.active}, its, a, r);
    }
    if (repeatable_)
        remember(w, record, run);
    else if (doubt_ == Doubt::marks)
        run.breaks = true;
    return behind;
}

bool Follower::repeat(Cta& c, Warp& w, Code& code, const sassemu_records& r,
                      const sassemu_record& record, const sassemu_recorded_access* a,
                      const sassemu_recorded_access* end, Run& run) {
    before_.clear();
    repeatable_ = doubt_ == Doubt::marks && !run.reads_tensor;
    if (!repeatable_) return false;
    // Of rows that not all lanes write the other lanes' marks count, too.
    RowSet rows = run.exposed;
    if (record.lanes != ~0u)
        for (size_t k = 0; k < rows.size(); ++k) rows[k] |= run.results[k];
    w.registers.each_marked(rows, ~0u, [&](uint32_t row) {
        repeatable_ = w.registers.row(row, details_, before_.emplace_back()) && repeatable_;
    });
    if (!repeatable_) return false;
    const auto known =
        std::find_if(run.passages.begin(), run.passages.end(), [&](const Passage& p) {
            return p.lanes == record.lanes && p.active == record.active && p.before == before_;
        });
    if (known == run.passages.end()) return false;
    for (; a != end; ++a)
        if (!quick(c, w, code[record.insn + a->step], *a, r.address + a->address)) return false;
    w.registers.clear(run.results, ~0u);
    for (const Registers::Row& row : known->after) w.registers.set(row);
    for (uint64_t* const count : known->decisions) ++*count;
    return true;
}

void Follower::remember(Warp& w, const sassemu_record& record, Run& run) {
    std::vector<Registers::Row> after;
    bool told = true;
    w.registers.each_marked(run.results, ~0u, [&](uint32_t row) {
        told = w.registers.row(row, details_, after.emplace_back()) && told;
    });
    if (!told) return;
    Passage passage{record.lanes, record.active, before_, std::move(after), decided_};
    constexpr size_t most = 16;
    if (run.passages.size() < most)
        run.passages.push_back(std::move(passage));
    else
        run.passages[run.oldest++ % most] = std::move(passage);
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
