// SPDX-License-Identifier: Apache-2.0
// The callbacks about what there is: launches, CTAs, allocations, what the host does.
#include <algorithm>

#include "checker.hpp"

namespace check_mem {

Checker::Checker(const sassemu::Start& start)
    : Plugin(start),
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
    codes_[host.insn_module(i)].add(*this, i);
    return SASSEMU_RECORD | SASSEMU_RECORD_ACCESSES | SASSEMU_RECORD_SKIPPED |
           (fp_ || allocates_tensor_memory(i) ? SASSEMU_BEFORE | SASSEMU_AFTER : 0);
}

void Checker::enter(sassemu_launch l) {
    if (l == launch_) return;
    launch_ = l;
    info_ = info(l);
    kernel_ = info_.kernel;
}

Cta* Checker::enter(sassemu_cta c) {
    const auto at = ctas_.find(c);
    if (at == ctas_.end()) return nullptr;
    enter(at->second.launch);
    return &at->second;
}

void Checker::launch_begin(sassemu_launch l) {
    launch_ = nullptr;  // handles are used again
    enter(l);
    met_.insert(kernel_);
    ++in_flight_;
}

void Checker::launch_end(sassemu_launch l, const char* status) {
    enter(l);
    if (status && std::string_view(status) == "deadlock")
        for (auto& entry : ctas_) {
            Cta& c = entry.second;
            if (c.launch != l) continue;
            const auto waits = [&](sassemu_insn insn, uint32_t warp, uint32_t lanes,
                                   const std::string& where) {
                if (Finding* const f = found(Kind::barrier, insn)) {
                    f->thread =
                        thread_text(c, warp, static_cast<uint32_t>(std::countr_zero(lanes)));
                    f->what = "it waits " + where + " for threads that never come";
                }
            };
            for (const Cta::Waiting& w : c.waiting)
                waits(w.insn, w.warp, w.lanes, "at barrier " + std::to_string(w.id));
            for (uint32_t k = 0; k < c.warps.size(); ++k)
                for (const auto& [insn, lanes] : c.warps[k].meeting)
                    waits(insn, k, lanes, "in its warp");
        }
    std::erase_if(ctas_, [&](const auto& entry) { return entry.second.launch == l; });
    launch_ = nullptr;
    if (!--in_flight_) flows_.clear();
}

void Checker::cta_begin(sassemu_cta handle) {
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
    c.shared = Shadow(i.shared_bytes, false);
    // What the system keeps at the start or at the end is no data.
    c.shared.define(0, info_.shared_reserved);
    c.shared.define(i.shared_bytes - info_.shared_behind, info_.shared_behind);
    c.warps.resize(i.warps);
    for (Warp& w : c.warps) {
        w.local_bytes = info_.local_bytes;
        w.local = Shadow(32 * w.local_bytes, false);
    }
}

void Checker::cta_end(sassemu_cta handle) {
    Cta* const c = enter(handle);
    if (!c) return;
    if (leaks_) left_granules(*c);
    ctas_.erase(handle);
}

void Checker::allocate(const sassemu_allocation& a) {
    if (!a.bytes) return;
    last_extent_ = {};
    Extent& e = extents_[a.address];
    e = {};
    e.end = a.address + a.bytes;
    e.name = a.name ? a.name : "";
    e.is_heap = e.name == "device heap";
    buffers_.insert(e.name);
    // What the host does not fill holds zeros that are data: a plan's buffers, variables of
    // modules. Not what malloc() gives.
    const auto asked = undefined_.find(e.name);
    if (asked != undefined_.end()) e.undefined_from = std::min(asked->second, a.bytes);
    e.shadow = Shadow(a.bytes, !e.is_heap);
    if (asked != undefined_.end())
        e.shadow.undefine(e.undefined_from, a.bytes - e.undefined_from, never_written);
}

void Checker::release(const sassemu_allocation& a) {
    last_extent_ = {};
    extents_.erase(a.address);
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
        e->shadow.undefine(b.address - last_extent_.first, b.bytes, never_written);
}

void Checker::host_access(uint64_t address, uint64_t bytes, uint32_t is_write) {
    Extent* const e = extent(address);
    if (!e || !bytes) return;
    const uint64_t base = last_extent_.first;
    uint64_t at = address - base;
    const uint64_t end = std::min(at + bytes, e->end - base);
    if (in_stream_) {
        const Place p{&e->shadow, at};
        return is_write
                   ? give(streamed_, p, end - at, nullptr)
                   : take(streamed_ = Flow{}, p, address, end - at, "global memory at ", nullptr);
    }
    if (is_write) {
        // What the option names stays undefined, but for what is written before a launch that is
        // not the first.
        const uint64_t to = met_.empty() ? std::min(end, e->undefined_from) : end;
        if (to > at) e->shadow.define(at, to - at);
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

}  // namespace check_mem

SASSEMU_PLUGIN(check_mem::Checker)
