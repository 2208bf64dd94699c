// SPDX-License-Identifier: Apache-2.0
// Columns of tensor memory: those that a CTA has when it ends, those that are freed without being
// allocated, or while something may still use them. Which are whose is followed by
// plugins/columns; in what order accesses are is in tensor_memory.cpp.
#include <algorithm>
#include <bit>

#include "checker.hpp"

namespace check_sync {

namespace {

constexpr uint32_t lanes_there = 128, bytes_of_lane = 512 * 4;  // tensor memory

}  // namespace

void Checker::change_columns(Warp& w, sassemu_warp handle, sassemu_insn i, uint32_t lanes) {
    const columns::Change change(*this, handle, i, column_operands_);
    const uint32_t insn = meanings_.number(i);
    const auto apply = [&](uint64_t cta) {
        const uint32_t wrong = columns_[cta].apply(change, {i, thread_text(w.threads(), lanes)});
        if (wrong)
            breaks_rule(FindingKind::tensor_memory_misuse, w, lanes, insn, "frees columns",
                        columns::range(wrong) + ", which it frees, are not allocated",
                        "tcgen05.dealloc once for each tcgen05.alloc");
        if (const uint32_t freed = change.frees() & ~wrong)
            free_columns(w, lanes, insn, cta, freed);
    };
    apply(w.place.cta);
    if (!change.of_pair()) return;
    const sassemu_cta cta = ctas_.at(w.place.cta);
    if (const sassemu_cta peer = host.cta_of_rank(cta, info(cta).rank ^ 1))
        apply(numbered(peer).linear);
}

// Whatever used them has to be over, by what is commonly relied on (the text of tcgen05.dealloc
// names no fences). What comes behind it are others' columns, of which nobody knows anything.
void Checker::free_columns(Warp& w, uint32_t lanes, uint32_t insn, uint64_t cta,
                           uint32_t granules) {
    Block* const block = shadow_.shared(tensor_block(cta));
    if (!block) return;
    Touch t{};
    t.warp = &w;
    t.lane = static_cast<uint32_t>(std::countr_zero(lanes));
    for (Group& g : w.groups)
        if (g.lanes >> t.lane & 1) t.group = &g;
    t.write = t.shared = t.tensor = t.frees = true;
    t.owner = cta;
    t.stamp.who = tensor_component(w.id, Tensor::store);
    t.stamp.lanes = 1;
    t.stamp.epoch = w.tensor[static_cast<size_t>(Tensor::store)] + 1;
    t.stamp.insn = insn;
    t.stamp.flags = stamp_async;
    // Who was not waited for where it mattered is not either here: once is enough.
    const auto told = [&](const Stamp& s) {
        return std::any_of(findings_.begin(), findings_.end(), [&](const auto& f) {
            const uint32_t then = f.second.second.insn;
            return f.second.first.insn == s.insn && then && then != insn;
        });
    };
    const auto look = [&](const Stamp& s, bool writes) {
        if (!told(s)) judge(s, writes, 1, t);
    };
    const auto look_at = [&](StampId id, uint32_t of, bool writes) {
        if (id <= settled || passes(id, writes, t)) return;
        Stamp s = shadow_.stamps[id];
        s.lanes = of;
        look(s, writes);
    };
    for (uint32_t lane = 0; lane < lanes_there; ++lane)
        for (uint32_t left = granules; left; left &= left - 1) {
            constexpr uint32_t bytes = columns::columns_of_granule * 4;
            const uint32_t at = lane * bytes_of_lane +
                                static_cast<uint32_t>(std::countr_zero(left)) * bytes,
                           first = shadow_.cell(*block, at, bytes);
            for (uint32_t cell = first; cell < first + (bytes >> block->shift()); ++cell) {
                t.bytes = block->granule();
                t.address = uint64_t{cell} << block->shift();
                look_at(block->write[cell], 1u << block->writer[cell], true);
                const uint32_t readers = block->readers[cell];
                if (readers & own_list) {
                    for (const Stamp& s : shadow_.list(*block, cell)) look(s, false);
                } else {
                    const Readers& set = shadow_.set(readers);
                    for (uint32_t p = 0; p < set.count; ++p)
                        look_at(set.of[p], block->lanes_of(p, cell), false);
                }
                block->write[cell] = nobody;
                if (!block->older.empty()) block->older[cell] = nobody;
                shadow_.clear_readers(*block, cell);
            }
        }
}

void Checker::left_columns(uint64_t cta) {
    const auto here = columns_.find(cta);
    if (here == columns_.end()) return;
    here->second.each_allocated([&](uint32_t left, const columns::Columns::Allocation& by) {
        Finding* const f = new_finding(FindingKind::tensor_memory_leak, meanings_.number(by.insn));
        if (!f) return;
        f->first.action = "allocates columns";
        f->first.thread = by.thread;
        f->first.cta = cta;
        f->missing =
            "no tcgen05.dealloc: " + columns::range(left) + " are allocated when the CTA ends";
        f->repair =
            "tcgen05.dealloc of these columns by a warp of the CTA, behind all that uses them";
    });
    columns_.erase(here);
}

// What the tensor core, a load or a store has met, and ended the launch.
void Checker::columns_fault(const sassemu_fault_info& f, uint32_t insn) {
    const std::string_view kind = f.kind ? f.kind : "", what = f.what ? f.what : "";
    if ((kind != "use-after-free" && kind != "out-of-bounds") ||
        what.find("tensor memory") == what.npos)
        return;
    Finding* const entry = new_finding(FindingKind::tensor_memory_misuse, insn);
    if (!entry) return;
    entry->first.action = "uses columns";
    if (f.warp) entry->first.thread = thread_text(warp_of(f.warp).threads(), f.lanes ? f.lanes : 1);
    entry->missing = what;
    entry->repair = kind == "use-after-free"
                        ? "tcgen05.dealloc behind all that uses the columns"
                        : "addresses within what tcgen05.alloc has given, and within the lanes "
                          "that the warp reaches";
}

}  // namespace check_sync
