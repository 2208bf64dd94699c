// SPDX-License-Identifier: Apache-2.0
// The callbacks about what there is (launches, CTAs, allocations, what the host does), and what
// undefined values are for those who follow them.
#include <algorithm>
#include <sassemu/names.hpp>

#include "checker.hpp"

namespace check_mem {

Checker::Checker(const sassemu::Start& start)
    : Follower(start, true, follow::Doubt::clears),
      report_(*this, name, start),
      loads_(start.number("loads", 0) != 0),
      leaks_(start.number("leaks", 1) != 0),
      fp_(start.number("fp", 0) != 0) {
    for (const std::string_view k : start.values("kernel")) kernels_.emplace_back(k);
    for (const std::string_view text : start.values("undefined")) {
        const size_t plus = text.rfind('+');
        const std::string buffer(text.substr(0, plus));
        undefined_[buffer] =
            plus == text.npos ? 0 : sassemu::Start::parse("undefined", text.substr(plus + 1));
    }
}

uint32_t Checker::select(sassemu_insn i) {
    Instruction& at = codes_[host.insn_module(i)].add(*this, i, doubt_);
    at.tag = static_cast<uint8_t>(check_mem::format_of(host.insn_text(i)));
    return SASSEMU_RECORD | SASSEMU_RECORD_ACCESSES | SASSEMU_RECORD_SKIPPED |
           (fp_ || columns::changes(effect(i)) ? SASSEMU_BEFORE | SASSEMU_AFTER : 0);
}

void Checker::launch_begin(sassemu_launch l) {
    Follower::launch_begin(l);
    met_.insert(kernel_);
    selected_ = sassemu::names::selects(kernels_, kernel_);
}

void Checker::launch_end(sassemu_launch l, const char* status) {
    report_.ran(status);
    enter(l);
    if (status && std::string_view(status) == "deadlock")
        for (auto& entry : ctas_) {
            Cta& c = entry.second;
            if (c.launch != l) continue;
            const Watched& watched = this->watched(c);
            const auto waits = [&](sassemu_insn insn, uint32_t warp, uint32_t lanes,
                                   const std::string& where) {
                if (Finding* const f = found(Kind::barrier, insn)) {
                    f->thread =
                        thread_text(c, warp, static_cast<uint32_t>(std::countr_zero(lanes)));
                    f->what = "it waits " + where + " for threads that never come";
                }
            };
            for (const Watched::Waiting& w : watched.waiting)
                waits(w.insn, w.warp, w.lanes, "at barrier " + std::to_string(w.id));
            for (uint32_t k = 0; k < c.warps.size(); ++k)
                for (const auto& [insn, lanes] : watched.warps[k].meeting)
                    waits(insn, k, lanes, "in its warp");
        }
    std::erase_if(watched_, [&](const auto& entry) {
        const auto at = ctas_.find(entry.first);
        return at == ctas_.end() || at->second.launch == l;
    });
    Follower::launch_end(l, status);
}

void Checker::cta_begin(sassemu_cta handle) {
    Follower::cta_begin(handle);
    Watched& w = watched_[handle];
    w = {};
    w.warps.resize(ctas_.at(handle).warps.size());
}

void Checker::cta_end(sassemu_cta handle) {
    Cta* const c = enter(handle);
    if (!c) return;
    if (leaks_) left_columns(*c);
    watched_.erase(handle);
    Follower::cta_end(handle);
}

void Checker::allocate(const sassemu_allocation& a) {
    if (!a.bytes) return;
    Follower::allocate(a);
    Extent& e = extents_.at(a.address);
    buffers_.insert(e.name);
    // What the host does not fill holds zeros that are data: a plan's buffers, variables of
    // modules. Not what malloc() gives.
    if (e.name == heap_name) e.shadow = follow::Shadow(a.bytes, true);
    const uint64_t from = undefined_from(e);
    if (from < a.bytes) e.shadow.mark(from, a.bytes - from, unnamed);
}

uint64_t Checker::undefined_from(const Extent& e) const {
    const auto asked = undefined_.find(e.name);
    return asked == undefined_.end() ? ~uint64_t{0} : asked->second;
}

void Checker::heap(const sassemu_heap_block& b) {
    if (b.is_release) {
        blocks_.erase(b.address);
        return;
    }
    const sassemu_warp_info w = info(b.warp);
    const Cta* const in = enter(w.cta);
    if (!in) return;
    const Cta& c = *in;
    blocks_[b.address] = {b.bytes, info_.id, c.last ? c.last->insn : nullptr,
                          thread_text(c, w.index, b.lane), kernel_};
    if (Extent* const e = extent(b.address))
        e->shadow.mark(b.address - last_extent_.first, b.bytes, unnamed);
}

void Checker::host_access(uint64_t address, uint64_t bytes, uint32_t is_write) {
    Extent* const e = extent(address);
    if (!e || !bytes) return;
    const uint64_t base = last_extent_.first;
    uint64_t at = address - base;
    const uint64_t end = std::min(at + bytes, e->end - base);
    if (in_stream_) {
        const Place p{&e->shadow, at};
        return is_write ? give(streamed_, p, end - at, nullptr)
                        : take(streamed_ = follow::Flow{}, p, address, end - at,
                               "global memory at ", nullptr);
    }
    if (is_write) {
        // What the option names stays undefined, but for what is written before a launch that is
        // not the first.
        const uint64_t to = met_.empty() ? std::min(end, undefined_from(*e)) : end;
        if (to > at) e->shadow.clear(at, to - at);
        return;
    }
    if (fp_) special_output(*e, base, at, end);
    for (uint64_t n; (n = e->shadow.next(at, end)); at += n) {
        Origin from = e->shadow.origin(at);
        if (!from)
            from = birth(
                "host " + std::to_string(base),
                "byte " + std::to_string(at) + " of '" + e->name + "', which nothing has written",
                "", nullptr);
        Finding* const f = found(Kind::output, births_[from].stored, from);
        if (!f) continue;
        f->what = "the host reads " + std::to_string(n) + (n == 1 ? " byte" : " bytes") +
                  " from byte " + std::to_string(at) + " of '" + e->name + "' on";
        f->has_address = true;
        f->address = base + at;
    }
}

void Checker::fault(const sassemu_fault_info& f) {
    const std::string_view kind = f.kind ? f.kind : "", what = f.what ? f.what : "";
    const auto kind_of = [&]() -> int {
        if (what.starts_with("free()")) return static_cast<int>(Kind::invalid_free);
        if (kind == "out-of-bounds" || kind == "cluster-fault")
            return static_cast<int>(Kind::out_of_bounds);
        if (kind == "use-after-free") return static_cast<int>(Kind::use_after_free);
        if (kind == "misaligned-address") return static_cast<int>(Kind::misaligned);
        if (kind == "stack-overflow") return static_cast<int>(Kind::stack_overflow);
        if (kind == "barrier-misuse")
            return static_cast<int>(f.insn && effect(f.insn).kind == SASSEMU_EFFECT_MBARRIER
                                        ? Kind::mbarrier
                                        : Kind::barrier);
        return -1;
    };
    const int k = kind_of();
    if (k < 0) return;
    const sassemu_warp_info w = f.warp ? info(f.warp) : sassemu_warp_info{};
    const Cta* const c = enter(w.cta);
    sassemu_insn insn = f.insn;
    // free() is the driver's: the place is its call.
    if (!insn && c && c->last) insn = c->last->insn;
    Finding* const entry = found(static_cast<Kind>(k), insn);
    if (!entry) return;
    entry->what = what;
    entry->has_address = f.has_address;
    entry->address = f.address;
    if (f.lanes && c)
        entry->thread = thread_text(*c, w.index, static_cast<uint32_t>(std::countr_zero(f.lanes)));
}

void Checker::seen(Cta& c, const sassemu_records& r) {
    Watched& watched = this->watched(c);
    const follow::Code& code = codes_[r.module];
    for (uint32_t k = 0; k < r.records; ++k) {
        const sassemu_record& at = r.record[k];
        const Instruction& last = code[at.insn + at.count - 1];
        if (last.meets && at.lanes && at.warp < watched.warps.size())
            watched.warps[at.warp].meeting.emplace_back(last.insn, at.lanes);
    }
    if (!fp_) return;  // else every instruction is followed by after(), which wants to know
    for (uint32_t k = 0; k < r.accesses; ++k) {
        uint32_t n = r.access[k].address;
        each_lane(r.access[k].lanes, [&](uint32_t lane) {
            watched.accessed.push_back(
                {r.access[k].op, r.access[k].space, r.access[k].bytes, lane, r.address[n++]});
        });
    }
}

Origin Checker::born(const Step& s, uint32_t row, uint32_t lane) {
    const auto number = [&](uint32_t first) { return std::to_string(row - first); };
    const std::string text = row >= follow::uniform_predicate_rows
                                 ? "UP" + number(follow::uniform_predicate_rows)
                             : row >= follow::predicate_rows ? "P" + number(follow::predicate_rows)
                             : row >= follow::uniform_rows   ? "UR" + number(follow::uniform_rows)
                                                             : "R" + number(0);
    char key[64];
    std::snprintf(key, sizeof key, "%p r%u", static_cast<const void*>(s.i.insn), row);
    return birth(key, text + ", which nothing has written", thread_text(s, lane), s.i.insn);
}

Origin Checker::born(const Step& s, uint32_t lane, uint32_t space, uint64_t address,
                     const Place& p) {
    if (space == SASSEMU_GENERIC)
        space = p.shadow == &s.warp.local ? SASSEMU_LOCAL
                : extent(address)         ? SASSEMU_GLOBAL
                                          : SASSEMU_SHARED;
    std::string what;
    if (space == SASSEMU_GLOBAL) {
        const Extent* const e = extent(address);
        what = "global memory at " + findings::hex(address) + ", byte " +
               std::to_string(address - last_extent_.first) + " of '" + e->name + "'";
        if (e->name == heap_name) {
            auto block = blocks_.upper_bound(address);
            if (block != blocks_.begin() && (--block)->first + block->second.bytes > address)
                what = "global memory at " + findings::hex(address) + ", byte " +
                       std::to_string(address - block->first) + " of a block of " +
                       std::to_string(block->second.bytes) + " bytes that malloc() gave to " +
                       block->second.thread;
        }
    } else {
        what = (space == SASSEMU_LOCAL ? "local memory at " : "shared memory at ") +
               findings::hex(space == SASSEMU_LOCAL ? address & 0xffffffff : p.at);
    }
    char key[64];
    std::snprintf(key, sizeof key, "%p %u", static_cast<const void*>(s.i.insn), space);
    const Origin origin =
        birth(key, what + ", which nothing has written", thread_text(s, lane), s.i.insn);
    if (loads_)
        if (Finding* const f = found(Kind::load, s.i.insn, origin)) {
            f->thread = thread_text(s, lane);
            f->has_address = true;
            f->address = address;
        }
    return origin;
}

Origin Checker::born_of_copy(const char* space, uint64_t address, sassemu_insn insn) {
    char key[64];
    std::snprintf(key, sizeof key, "%p async", static_cast<const void*>(insn));
    return birth(
        key, space + findings::hex(address) + ", which nothing has written, and which is copied",
        "", insn);
}

bool Checker::decides(const Step& s, uint32_t row, uint32_t lanes, bool condition) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const Origin from = origin(s, row, lane);
    if (Finding* const f = found(condition ? Kind::condition : Kind::address, s.i.insn, from))
        f->thread = thread_text(s, lane);
    return true;  // said once
}

void Checker::outside(const Step& s, const sassemu_recorded_access& a, const uint64_t* at) {
    const uint64_t end = s.i.table < 5 ? info_.constant_bytes[s.i.table] : 0;
    uint32_t k = 0;
    each_lane(a.lanes, [&](uint32_t lane) {
        const uint64_t address = at[k++];
        if (address + a.bytes <= end) return;
        Finding* const f = found(Kind::out_of_bounds, s.i.insn);
        if (!f) return;
        f->thread = thread_text(s, lane);
        f->has_address = true;
        f->address = address;
        f->what = std::to_string(a.bytes) + " bytes at " + findings::hex(address) +
                  " of constant bank " + std::to_string(s.i.table) + ", which has " +
                  std::to_string(end) + "; it reads zeros there";
    });
}

}  // namespace check_mem

SASSEMU_PLUGIN(check_mem::Checker)
