// SPDX-License-Identifier: Apache-2.0
// Asynchronous operations: what they will touch is judged when they are issued, by what their
// thread knows then, for they may take place at any time from then on. Their completion tells who
// waits for it, and the values that findings lack.
#include <bit>
#include <cstdio>
#include <cstring>

#include "checker.hpp"

namespace check_sync {

void Checker::async(const sassemu_async& event) {
    if (trial_) trial_->async(event);
    if (undefined_) undefined_->async(event);
    if (event.warp) warp_of(event.warp);
    sassemu_async a = event;
    for (sassemu_location* at : {&a.at, &a.mbarrier})
        if (at->space == SASSEMU_SHARED || at->space == SASSEMU_TENSOR_MEMORY)
            at->owner += static_cast<uint32_t>(first_cta());
    switch (a.step) {
        case SASSEMU_ASYNC_ISSUE:
            issue_copy(a);
            break;
        case SASSEMU_ASYNC_WILL_READ:
        case SASSEMU_ASYNC_WILL_WRITE:
            if (a.proxy == SASSEMU_VIA_TENSORMAP) {
                read_map(warp_of(a.warp), a.lanes, meanings_.number(a.insn), a.at, a.bytes);
                keep_map(a, copies_.at(a.id));
            } else if (meanings_[copies_.at(a.id).insn].is_wgmma())
                touch_wgmma(a, copies_.at(a.id));
            else
                touch_copy(a, copies_.at(a.id));
            break;
        case SASSEMU_ASYNC_COMPLETE:
            complete_copy(a);
            break;
        default:
            break;
    }
}

void Checker::issue_copy(const sassemu_async& a) {
    Warp& w = warp_of(a.warp);
    running(w, a.warp);
    guarded(w, a.lanes, a.agent_kind != SASSEMU_AGENT_LDGSTS || a.group < 0);
    Copy& c = copies_[a.id];
    c.warp = &w;
    c.lanes = a.lanes;
    c.insn = meanings_.number(a.insn);
    if (a.agent_kind == SASSEMU_AGENT_LDGSTS && a.group >= 0) {
        w.copy = &c;  // its accesses follow
        return;
    }
    // Lanes that know the same give the same, and most often they issue one after the other.
    uint32_t alike = a.lanes;
    for (const Group& g : w.groups)
        if (g.lanes & a.lanes) alike |= g.lanes;
    if (w.issue_epoch != w.done() || alike & ~w.issue_lanes) {
        w.issue = order_.issue(w, alike);
        w.issue_epoch = w.done();
        w.issue_lanes = alike;
    }
    c.by = w.issue;
    if (meanings_[c.insn].is_wgmma()) return;
    if (a.agent_kind == SASSEMU_AGENT_TENSOR) issue_tensor(c);
    if (meanings_[c.insn].asks_for_work()) ask_for_work(w, a.lanes, c.insn);
    if (c.awaits.empty() && a.agent_kind != SASSEMU_AGENT_LDGSTS) return;
    const auto object = static_cast<uint32_t>(a.mbarrier.address);
    initialised(mbarrier_at(a.mbarrier.owner, object), w, a.lanes, c.insn, a.mbarrier.owner,
                object);
    if (c.awaits.empty()) await_copies(c);
}

// An arrival closes a group of its own, of all LDGSTS that its lanes have issued.
void Checker::await_copies(Copy& c) {
    c.awaited = c.warp->copying();
    for (uint32_t left = c.lanes; left; left &= left - 1)
        c.awaits.emplace_back(left & -left,
                              ++c.warp->copies[SASSEMU_GROUP_LDGSTS][std::countr_zero(left)]);
}

Checker::Touch Checker::touch_of(Copy& copy, const Copy::Range& r) {
    Touch t{};
    t.warp = copy.warp;
    t.copy = &copy;
    t.lane = r.lane;
    for (Group& g : t.warp->groups)
        if (g.lanes >> t.lane & 1) t.group = &g;
    t.by_letter = meanings_[copy.insn].known;
    t.shared = r.shared;
    t.tensor = r.tensor;
    t.owner = r.owner;
    t.stamp = r.stamp;
    t.id = shadow_.stamps.number(t.stamp);
    return t;
}

// visit(block, first cell, cells) for all of a range.
template <class Visit>
void Checker::each_stretch(Touch& t, const Copy::Range& r, Visit&& visit) {
    for (uint64_t address = r.address; address < r.end;) {
        Block* block = t.tensor   ? &tensor_memory(r.owner)
                       : t.shared ? shadow_.shared(r.owner)
                                  : &shadow_.global(address);
        if (!block) return;
        t.base = t.shared ? 0 : address / Shadow::page * Shadow::page;
        const auto offset = static_cast<uint32_t>(address - t.base);
        const auto now = static_cast<uint32_t>(
            t.shared ? r.end - address
                     : std::min<uint64_t>(r.end - address, Shadow::page - offset));
        const uint32_t cell = shadow_.cell(*block, offset, now);
        if (cell == block->cells()) return;
        visit(*block, cell, now >> block->shift());
        address += now;
    }
}

// One range of a bulk or tensor copy, or one lane's bytes of a store.
void Checker::touch_copy(const sassemu_async& a, Copy& copy) {
    const Warp& w = *copy.warp;
    const Meaning& m = meanings_[copy.insn];
    if (m.says("tcgen05.alloc")) return;  // how the compiler hands columns to the other CTA
    const bool write = a.step == SASSEMU_ASYNC_WILL_WRITE,
               store = m.does(SASSEMU_EFFECT_ASYNC) && m.effect.in_cluster;
    const bool tensor = a.at.space == SASSEMU_TENSOR_MEMORY;
    Copy::Range r{tensor || a.at.space == SASSEMU_SHARED,
                  tensor,
                  a.at.owner,
                  a.at.address,
                  a.at.address + a.bytes,
                  {},
                  static_cast<uint32_t>(std::countr_zero(a.lanes)),
                  {a.mbarrier.owner, static_cast<uint32_t>(a.mbarrier.address)}};
    r.stamp.insn = copy.insn;
    r.stamp.flags = stamp_async | (store ? stamp_generic : 0u);
    if (a.op == SASSEMU_REDUCE)
        r.stamp.flags |= stamp_atomic | stamp_strong | uint32_t{gpu} * stamp_reach;
    if (a.agent_kind == SASSEMU_AGENT_TENSOR) {
        const Tensor kind = m.does(SASSEMU_EFFECT_LOAD)    ? Tensor::load
                            : m.does(SASSEMU_EFFECT_STORE) ? Tensor::store
                                                           : Tensor::work;
        r.stamp.who = tensor_component(w.id, kind);
        r.stamp.lanes = 1;                                   // for all of the warp
        const bool done = kind == Tensor::load && !m.known;  // see tensor_memory.cpp
        r.stamp.epoch = w.tensor[static_cast<size_t>(kind)] + !done;
    } else if (a.agent_kind == SASSEMU_AGENT_WARP) {  // st.bulk: a store of its own
        r.stamp.who = w.threads();
        r.stamp.lanes = 1u << r.lane;
        r.stamp.epoch = w.epoch;
        r.stamp.flags = 0;
    } else if (a.group >= 0) {
        r.stamp.who = write ? w.bulk_writes() : w.bulk_reads();
        r.stamp.lanes = 1u << r.lane;
        r.stamp.epoch = w.copies[SASSEMU_GROUP_BULK][r.lane] + 1;
        if (!write && r.shared) {
            copy.warp->bulk_read[r.lane] = r.stamp.epoch;
            copy.warp->bulk_insn[r.lane] = copy.insn;
        }
    } else {
        Mbarrier& b = mbarrier_at(r.mbarrier.first, r.mbarrier.second);
        r.stamp.who = store ? b.stored() : b.id;
        b.from_afar |= store && r.mbarrier.first != w.place.cta;
        r.stamp.lanes = 1;
        r.stamp.epoch = b.phases;
    }
    Touch t = touch_of(copy, r);
    t.write = write;
    if (a.agent_kind == SASSEMU_AGENT_WARP) {
        t.copy = nullptr;
        copy.warp->used = true;
    }
    if (t.shared && !tensor) remote(*t.warp, a.lanes, copy.insn, t.owner);
    if (write) copy.writes.push_back(r);
    touch_range(t, r);
}

// The copy may read its tensor map until it is over; whoever writes the map again has waited for
// it.
void Checker::keep_map(const sassemu_async& a, Copy& copy) {
    if (a.at.space != SASSEMU_GLOBAL || !a.lanes || !a.bytes) return;
    Warp& w = *copy.warp;
    const auto lane = static_cast<uint32_t>(std::countr_zero(a.lanes));
    const uint32_t group = w.copies[SASSEMU_GROUP_BULK][lane] + 1;
    Copy::Range r{false, false, a.at.owner, a.at.address, a.at.address + a.bytes, {}, lane, {}};
    r.stamp = {w.bulk_reads(), 1u << lane, group, copy.insn & 0xffffff, stamp_async | stamp_map};
    if (a.group < 0) {
        const Mbarrier& b =
            mbarrier_at(a.mbarrier.owner, static_cast<uint32_t>(a.mbarrier.address));
        r.stamp.who = b.id;
        r.stamp.lanes = 1;
        r.stamp.epoch = b.phases;
    }
    Touch t = touch_of(copy, r);
    each_stretch(t, r, [&](Block& b, uint32_t first, uint32_t count) {
        for (uint32_t cell = first; cell < first + count; ++cell)
            add_reader(t, b, cell, t.stamp.lanes);
    });
}

void Checker::touch_range(Touch& t, const Copy::Range& r) {
    each_stretch(t, r, [&](Block& b, uint32_t first, uint32_t count) {
        touch_cells(t, b, first, count, t.stamp.lanes);
    });
}

// The phase that ran when bytes were issued ended without them: who waited for it has not waited
// for them.
void Checker::missed_phase(Copy& copy, Copy::Range& r, uint32_t phase) {
    const Stamp before = r.stamp;
    r.stamp.epoch = phase;
    Touch t = touch_of(copy, r);
    t.write = true;
    each_stretch(t, r, [&](Block& b, uint32_t first, uint32_t count) {
        for (uint32_t cell = first; cell < first + count; ++cell) {
            if (!(shadow_.stamps[b.write[cell]] == before)) continue;
            b.write[cell] = settled;  // only those who have read since are looked at
            visit(t, b, cell, t.stamp.lanes);
        }
    });
}

// An mbarrier object is told of its bytes, or of the LDGSTS that it has waited for.
void Checker::reported(const sassemu_sync& s, Copy& copy, Mbarrier& b) {
    const Warp& by = *copy.warp;
    // The arrival of a commit is an act in the CTA of the object, as bytes that come there are:
    // that the thread may be in the other CTA of a pair asks for no wider scope.
    const Place here{s.owner, by.place.cluster, by.place.gpu};
    for (const auto& [lane, group] : copy.awaits)
        order_.release_copy(here, copy.by, copy.seen, {copy.awaited, lane, group}, copy.insn,
                            b.arriving);
    if (!copy.awaits.empty()) return;
    if (s.expect < 0) b.brought = true;
    for (Copy::Range& r : copy.writes)
        if (r.mbarrier == std::pair{s.owner, s.address} && s.lanes >> r.lane & 1 &&
            r.stamp.epoch != b.phases)
            missed_phase(copy, r, b.phases);
    if (b.told.warp == by.id && b.told.phase == b.phases && b.told.by.same(copy.by))
        return;  // once is enough
    const Component who = meanings_[copy.insn].effect.in_cluster ? b.stored() : b.id;
    order_.release_copy(by.place, copy.by, {}, {who, 1, b.phases}, copy.insn, b.arriving);
    b.told = {by.id, b.phases, copy.by};
}

// The shared memory of a CTA that ends is another's: who reads it last must be waited for.
void Checker::unfinished_copies(const Warp& w) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
        if (w.bulk_read[lane] <= w.bulk_waited[lane]) continue;
        Finding& f = findings_[{FindingKind::async_reuse, true, w.bulk_insn[lane], 0}];
        if (f.count++) continue;
        f.kind = FindingKind::async_reuse;
        f.launch = launch_;
        f.seed = host.seed(session);
        f.kernel = kernel_;
        f.first.insn = w.bulk_insn[lane];
        f.first.action = "reads";
        f.first.proxy = "async";
        f.first.space = "shared";
        f.first.thread = thread_text(w.bulk_reads(), 1u << lane);
        f.first.cta = w.place.cta;
        f.first.cluster = w.place.cluster;
        f.missing = "the CTA ends, and nothing says that the copy has read its shared memory";
        f.repair =
            "cp.async.bulk.commit_group and cp.async.bulk.wait_group.read 0 in the copying "
            "thread before it exits";
    }
}

void Checker::complete_copy(const sassemu_async& a) {
    const auto copy = copies_.find(a.id);
    if (copy == copies_.end()) return;
    for (const Copy::Value& v : copy->second.values) value_at(v.at, v.side->after);
    if (meanings_[copy->second.insn].asks_for_work()) answered(copy->second);
    if (copy->second.warp->copy == &copy->second) copy->second.warp->copy = nullptr;
    copies_.erase(copy);
}

// The run has ended before these were performed.
void Checker::leave_copies() {
    for (auto& [id, copy] : copies_)
        for (const Copy::Value& v : copy.values) v.side->after = "(not performed)";
    copies_.clear();
}

// Bit 64 of an answer says that there is work.
void Checker::answered(const Copy& copy) {
    for (const Copy::Range& r : copy.writes) {
        uint32_t yes = 0;
        const auto cta = ctas_.find(r.owner);
        if (cta != ctas_.end() &&
            !host.read_shared(cta->second, static_cast<uint32_t>(r.address) + 8, &yes, 4) &&
            !(yes & 1))
            no_work_.try_emplace(r.owner, Entry{r.stamp.who, 1, r.stamp.epoch});
    }
}

void Checker::ask_for_work(Warp& w, uint32_t lanes, uint32_t insn) {
    const auto none = no_work_.find(w.place.cta);
    if (none == no_work_.end()) return;
    if (knows(w, lanes, none->second))
        breaks_rule(FindingKind::queue_misuse, w, lanes, insn, "asks for work",
                    "an earlier request of its CTA was answered: none is left",
                    "no clusterlaunchcontrol.try_cancel once query_cancel.is_canceled was false");
}

void Checker::wait_for_groups(Warp& w, const sassemu_sync& s, uint32_t kind) {
    for (uint32_t left = s.lanes; left; left &= left - 1) {  // each thread waits for its own groups
        const uint32_t lane = left & -left, committed = w.copies[kind][__builtin_ctz(left)];
        if (committed <= s.pending) continue;
        const auto done = [&](Component who) {
            order_.know(w, lane, {who, lane, committed - s.pending}, {true, gpu, false});
        };
        if (kind == SASSEMU_GROUP_LDGSTS) done(w.copying());
        if (kind == SASSEMU_GROUP_BULK) {
            uint32_t& waited = w.bulk_waited[__builtin_ctz(left)];
            waited = std::max(waited, committed - s.pending);
            done(w.bulk_reads());
        }
        if (kind == SASSEMU_GROUP_BULK && !s.read_only) done(w.bulk_writes());
    }
}

// ---- values of findings
// -----------------------------------------------------------------------------------------------------

// The bytes as they are now.
bool Checker::value_at(const Copy::Range& at, std::string& value) {
    uint32_t bits = 0;
    const auto bytes = static_cast<uint32_t>(at.end - at.address);
    if (!at.shared) {
        if (host.read(session, at.address, &bits, bytes)) return false;
    } else {
        const auto block = ctas_.find(at.owner);
        const auto read = at.tensor ? host.read_tensor : host.read_shared;
        if (block == ctas_.end() ||
            read(block->second, static_cast<uint32_t>(at.address), &bits, bytes))
            return false;
    }
    value = hex(bits);
    return true;
}

// At most four bytes of each side, before it and after it. What a write other than the second found
// is not kept.
void Checker::values_of(Finding& f, const Stamp& earlier, bool earlier_writes, const Touch& t) {
    const Copy::Range at{t.shared, t.tensor, t.owner, t.address, t.address + std::min(t.bytes, 4u),
                         {},       0,        {}};
    std::string now;
    if (!value_at(at, now)) return;
    f.second.before = now;
    if (earlier.insn) {
        f.first.after = now;
        if (!earlier_writes) f.first.before = now;
        // A copy that is still to come.
        for (auto& [id, copy] : copies_)
            if (earlier_writes && copy.insn == earlier.insn && &copy != t.copy)
                for (const Copy::Range& w : copy.writes)
                    if (w.shared == at.shared && w.tensor == at.tensor && w.owner == at.owner &&
                        w.address <= at.address && at.address < w.end)
                        copy.values.push_back({&f.first, at});
    }
    if (!t.write || t.frees) f.second.after = now;
    if (t.copy) {
        t.copy->values.push_back({&f.second, at});
    } else if (t.stamp.flags & stamp_atomic) {
        changing_.push_back({&f.second, at});
    } else if (t.write) {
        if (std::string v = stored_value(t, static_cast<uint32_t>(at.end - at.address)); !v.empty())
            f.second.after = std::move(v);
    }
}

// What the lane stores, up to four bytes of it; "": that is not known.
std::string Checker::stored_value(const Touch& t, uint32_t bytes) const {
    const uint32_t* values = t.access ? host.values(t.access) : nullptr;
    if (!values) return {};
    const uint64_t offset = t.address - host.locations(t.access)[t.lane].address;
    uint32_t v = values[offset / 4 * 32 + t.lane] >> offset % 4 * 8;
    if (bytes < 4) v &= (1u << bytes * 8) - 1;
    return hex(v);
}

// An atomic is done.
void Checker::after(sassemu_warp w, sassemu_insn i, uint32_t lanes) {
    if (trial_) trial_->after(w, i, lanes);
    if (columns::changes(meanings_[meanings_.number(i)].effect))
        change_columns(warp_of(w), w, i, lanes);
    for (const Copy::Value& v : changing_) value_at(v.at, v.side->after);
    changing_.clear();
}

}  // namespace check_sync
