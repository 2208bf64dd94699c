// SPDX-License-Identifier: Apache-2.0
// Tensor memory, and what tcgen05 does to it: the order of PTX ISA 9.7.16.6 ("tcgen05 Memory
// Consistency Model"), as plugins/ptx/tensor_memory.cpp has it for executions. Nothing of chapter 8
// orders it but what waits for it:
//   - a load is done at wait::ld, a store at wait::st, work of the tensor core at the mbarrier that
//   its commit arrives on;
//   - work of one thread is in order among itself where the text names the pair (an mma behind any
//   work, a shift behind an
//     mma, a copy .4x256b behind a shift);
//   - by the letter, what is done is handed on by fence::before_thread_sync (a commit is one) and
//   taken by
//     fence::after_thread_sync, with any path of synchronisation between them. Commonly relied on:
//     causality order.
// Without the PTX text wait::ld and the fences cannot be seen: loads count as done, for the chip's
// scoreboard waits for them.
#include "checker.hpp"

namespace check_sync {

namespace {

// What the tensor core does in the order in which one thread asks for it: the pairs that the text
// names.
bool pipelined(std::string_view first, std::string_view then) {
    const auto is = [](std::string_view opcode, std::string_view part) {
        return opcode.find(part) != std::string_view::npos;
    };
    return is(then, "MMA") || (is(first, "MMA") && is(then, "SHIFT")) ||
           (is(first, "SHIFT") && is(then, ".4dp256bit"));
}

}  // namespace

Block& Checker::tensor_memory(uint64_t cta) {
    constexpr uint32_t bytes = 128 * 512 * 4;  // lanes x columns
    if (Block* block = shadow_.shared(tensor_block(cta))) return *block;
    shadow_.add_shared(tensor_block(cta), bytes);
    return *shadow_.shared(tensor_block(cta));
}

void Checker::issue_tensor(Copy& c) {
    Warp& w = *c.warp;
    const Meaning& m = meanings_[c.insn];
    if (m.does(SASSEMU_EFFECT_ASYNC, SASSEMU_ACTION_COMMIT)) {
        c.awaited = tensor_component(w.id, Tensor::work);
        c.awaits.emplace_back(1, ++w.tensor[static_cast<size_t>(Tensor::work)]);
        order_.tensor_before_sync(w, c.lanes);  // it is one
        c.seen = order_.commit(w, c.lanes);
    } else if (m.does(SASSEMU_EFFECT_STORE)) {
        order_.tensor_issued(w, c.lanes, Tensor::store);
    } else if (m.does(SASSEMU_EFFECT_LOAD)) {
        m.known ? order_.tensor_issued(w, c.lanes, Tensor::load)
                : order_.tensor_done(w, c.lanes, Tensor::load);
    } else {
        order_.tensor_work(w, c.lanes);
    }
}

// PTX that is no instruction of the chip. False: none of these.
bool Checker::tensor_text(Warp& w, uint32_t lanes, const Meaning& m) {
    if (m.says("tcgen05.wait::ld"))
        order_.tensor_done(w, lanes, Tensor::load);
    else if (m.says("fence::before_thread_sync"))
        order_.tensor_before_sync(w, lanes);
    else if (m.says("fence::after_thread_sync"))
        order_.tensor_after_sync(w, lanes);
    else
        return false;
    return true;
}

std::optional<Checker::Wrong> Checker::check_tensor(const Stamp& earlier, bool earlier_writes,
                                                    const Touch& t) const {
    const Group& g = *t.group;
    const Tensor was = tensor_kind(earlier.who), is = tensor_kind(t.stamp.who);
    const uint32_t warp = tensor_warp(earlier.who);
    const bool own = warp == t.warp->id, both_work = was == Tensor::work && is == Tensor::work;
    const auto covers = [&](const View& v, Tensor kind) {
        return v.covers(tensor_component(warp, kind), earlier.lanes, earlier.epoch);
    };
    const auto knows = [&](Rule rule) { return covers(g.now[rule], was); };
    bool common = knows(for_shared), letter;
    if (both_work && pipelined(meanings_[earlier.insn].opcode, meanings_[t.stamp.insn].opcode)) {
        // In order as they are asked for: done when it was issued, where threads synchronise
        // between the two.
        letter = own || covers(g.tensor, Tensor::fenced_issue) || covers(g.tensor, was);
        common |= letter || covers(g.now[for_shared], Tensor::issue);
    } else if (was == Tensor::work) {
        letter = covers(g.tensor, was);
        common |= letter || (own && both_work);  // one pipe
    } else {
        letter = covers(g.tensor, fenced(was)) || (own && common);
        common |= letter;
    }
    if (letter || (common && !t.by_letter)) return {};
    if (common) return Wrong{FindingKind::no_memory_order, false};
    if (was == Tensor::work) return Wrong{why(earlier, earlier_writes, t), true};
    if (!knows(executed)) return Wrong{FindingKind::data_race, true};
    if (knows(release_given) || knows(acquire_given))
        return Wrong{why(earlier, earlier_writes, t), true};
    return Wrong{was == Tensor::store ? FindingKind::missing_proxy_fence : FindingKind::async_reuse,
                 true};
}

void Checker::describe_tensor(Finding& f, const Stamp& earlier, const Touch& t) const {
    f.clause =
        "PTX ISA, \"tcgen05 Memory Consistency Model\" (9.7.16.6): canonical synchronisation "
        "patterns";
    if (!earlier.insn) return;
    const std::string place = host.insn_place(meanings_[earlier.insn].insn);
    const std::string after = place.empty() ? "the first access" : place;
    switch (f.kind) {
        case FindingKind::missing_proxy_fence:
            f.missing = "no tcgen05.wait::st waits for the store to tensor memory";
            f.repair =
                "tcgen05.wait::st.sync.aligned after " + after + ", before the threads synchronise";
            break;
        case FindingKind::async_reuse:
            if (tensor_kind(earlier.who) == Tensor::load) {
                f.missing = "no tcgen05.wait::ld waits for the load from tensor memory";
                f.repair = "tcgen05.wait::ld.sync.aligned after " + after;
                break;
            }
            [[fallthrough]];
        case FindingKind::data_race:
            if (tensor_kind(earlier.who) == Tensor::work) {
                f.missing = "the second access does not wait for the tensor core";
                f.repair = "tcgen05.commit after " + after +
                           ", and a wait for its mbarrier before the second access";
            }
            break;
        case FindingKind::no_memory_order:
            if (!f.common && tensor_warp(earlier.who) == t.warp->id &&
                tensor_kind(t.stamp.who) == Tensor::work) {
                f.missing =
                    "the text does not name this pair among those that are in order by themselves";
                f.repair = "tcgen05.commit after " + after + ", and a wait for its mbarrier";
            } else if (!f.common) {
                f.missing =
                    "tcgen05.fence::before_thread_sync before the threads synchronise, "
                    "tcgen05.fence::after_thread_sync behind it";
                f.repair = "tcgen05.fence::after_thread_sync before the second access" +
                           std::string(tensor_kind(earlier.who) == Tensor::work
                                           ? ""
                                           : ", tcgen05.fence::before_thread_sync after " + after);
            }
            break;
        default:
            break;
    }
}

void Order::tensor_issued(Warp& w, uint32_t lanes, Tensor kind) {
    const View one(std::vector<Entry>{
        {tensor_component(w.id, kind), 1, w.tensor[static_cast<size_t>(kind)] + 1}});
    each(w, lanes, [&](Group& g) {
        g.now[executed] = joiner_(g.now[executed], one);
        g.changes = ++versions_;
    });
}

void Order::tensor_work(Warp& w, uint32_t lanes) {
    const uint32_t epoch = w.tensor[static_cast<size_t>(Tensor::work)] + 1;
    if (std::exchange(w.tensor[static_cast<size_t>(Tensor::issue)], epoch) == epoch)
        return;  // once is enough
    know(w, lanes, {tensor_component(w.id, Tensor::issue), 1, epoch}, {true, gpu, false});
}

void Order::tensor_done(Warp& w, uint32_t lanes, Tensor kind) {
    know(w, lanes, {tensor_component(w.id, kind), 1, ++w.tensor[static_cast<size_t>(kind)]},
         {true, gpu, false});
}

void Order::tensor_before_sync(Warp& w, uint32_t lanes) {
    for (const Tensor kind : {Tensor::load, Tensor::store, Tensor::issue}) {
        const uint32_t epoch = w.tensor[static_cast<size_t>(kind)];
        if (!epoch) continue;
        const View one(std::vector<Entry>{{tensor_component(w.id, fenced(kind)), 1, epoch}});
        each(w, lanes, [&](Group& g) { g.now[executed] = joiner_(g.now[executed], one); });
    }
    each(w, lanes, [&](Group& g) { g.changes = ++versions_; });
}

void Order::tensor_after_sync(Warp& w, uint32_t lanes) {
    each(w, lanes, [&](Group& g) {
        g.tensor = g.now[executed];
        g.changes = ++versions_;
    });
}

}  // namespace check_sync
