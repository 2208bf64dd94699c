// Tensor memory, and what tcgen05 does to it: the order of PTX ISA 9.7.16.6 ("tcgen05 Memory Consistency Model"), as
// plugins/ptx/tensor_memory.cpp has it for executions. Nothing of chapter 8 orders it but what waits for it:
//   - a load is done at wait::ld, a store at wait::st, work of the tensor core at the mbarrier that its commit arrives on;
//   - work of one thread is in order among itself where the text names the pair (an mma behind an mma or a copy);
//   - by the letter, what is done is handed on by fence::before_thread_sync (a commit is one) and taken by
//     fence::after_thread_sync, with any path of synchronisation between them. Commonly relied on: causality order.
// Without the PTX text wait::ld and the fences cannot be seen: loads count as done, for the chip's scoreboard waits for them.
#include "checker.hpp"

namespace check_sync {

Block& Checker::tensor_memory(uint64_t cta) {
    constexpr uint32_t bytes = 128 * 512 * 4;  // lanes x columns
    if (Block* block = shadow_.shared(tensor_block(cta))) return *block;
    shadow_.add_shared(tensor_block(cta), bytes);
    return *shadow_.shared(tensor_block(cta));
}

void Checker::issue_tensor(Copy& c) {
    Warp& w = *c.warp;
    const Meaning& m = meanings_[c.insn];
    if (m.opcode.starts_with("UTCBAR")) {
        c.awaited = tensor_component(w.id, Tensor::work);
        c.awaits.emplace_back(1, ++w.tensor[static_cast<size_t>(Tensor::work)]);
    } else if (m.opcode.starts_with("STTM")) {
        order_.tensor_issued(w, c.lanes, Tensor::store);
    } else if (m.opcode.starts_with("LDTM")) {
        m.known ? order_.tensor_issued(w, c.lanes, Tensor::load) : order_.tensor_done(w, c.lanes, Tensor::load);
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

std::optional<Checker::Wrong> Checker::check_tensor(const Stamp& earlier, bool earlier_writes, const Touch& t) const {
    const Group& g = *t.group;
    const Tensor was = tensor_kind(earlier.who), is = tensor_kind(t.stamp.who);
    const bool own = tensor_warp(earlier.who) == t.warp->id;
    const auto knows = [&](const View& v) { return v.covers(earlier.who, earlier.lanes, earlier.epoch); };
    bool letter;
    if (was == Tensor::work) {
        if (own && is == Tensor::work)  // one pipe; the text names the pairs that end in an mma
            return meanings_[t.stamp.insn].opcode.find("MMA") != std::string_view::npos ? std::nullopt : std::optional(Wrong{Kind::no_memory_order, false});
        letter = knows(g.tensor);
    } else {
        const Component handed_on = tensor_component(tensor_warp(earlier.who), was == Tensor::load ? Tensor::fenced_load : Tensor::fenced_store);
        letter = g.tensor.covers(handed_on, earlier.lanes, earlier.epoch) || (own && knows(g.now[for_shared]));
    }
    if (letter || (knows(g.now[for_shared]) && !t.by_letter)) return {};
    if (knows(g.now[for_shared])) return Wrong{Kind::no_memory_order, false};
    if (was == Tensor::work) return Wrong{why(earlier, earlier_writes, t), true};
    if (!knows(g.now[executed])) return Wrong{Kind::data_race, true};
    if (knows(g.now[release_given]) || knows(g.now[acquire_given])) return Wrong{why(earlier, earlier_writes, t), true};
    return Wrong{was == Tensor::store ? Kind::missing_proxy_fence : Kind::async_reuse, true};
}

void Checker::describe_tensor(Finding& f, const Stamp& earlier, const Touch& t) const {
    f.clause = "PTX ISA, \"tcgen05 Memory Consistency Model\" (9.7.16.6): canonical synchronisation patterns";
    if (!earlier.insn) return;
    const std::string place = host.insn_place(meanings_[earlier.insn].insn);
    const std::string after = place.empty() ? "the first access" : place;
    switch (f.kind) {
        case Kind::missing_proxy_fence:
            f.missing = "no tcgen05.wait::st waits for the store to tensor memory";
            f.repair = "tcgen05.wait::st.sync.aligned after " + after + ", before the threads synchronise";
            break;
        case Kind::async_reuse:
            if (tensor_kind(earlier.who) == Tensor::load) {
                f.missing = "no tcgen05.wait::ld waits for the load from tensor memory";
                f.repair = "tcgen05.wait::ld.sync.aligned after " + after;
                break;
            }
            [[fallthrough]];
        case Kind::data_race:
            if (tensor_kind(earlier.who) == Tensor::work) {
                f.missing = "the second access does not wait for the tensor core";
                f.repair = "tcgen05.commit after " + after + ", and a wait for its mbarrier before the second access";
            }
            break;
        case Kind::no_memory_order:
            if (!f.common && tensor_warp(earlier.who) == t.warp->id && tensor_kind(t.stamp.who) == Tensor::work) {
                f.missing = "the text does not name this pair among those that are in order by themselves";
                f.repair = "tcgen05.commit after " + after + ", and a wait for its mbarrier";
            } else if (!f.common) {
                f.missing = "tcgen05.fence::before_thread_sync before the threads synchronise, tcgen05.fence::after_thread_sync behind it";
                f.repair = "tcgen05.fence::after_thread_sync before the second access" +
                           std::string(tensor_kind(earlier.who) == Tensor::work ? "" : ", tcgen05.fence::before_thread_sync after " + after);
            }
            break;
        default: break;
    }
}

void Order::tensor_issued(Warp& w, uint32_t lanes, Tensor kind) {
    const View one(std::vector<Entry>{{tensor_component(w.id, kind), 1, w.tensor[static_cast<size_t>(kind)] + 1}});
    each(w, lanes, [&](Group& g) {
        g.now[executed] = joiner_(g.now[executed], one);
        g.changes = ++versions_;
    });
}

void Order::tensor_done(Warp& w, uint32_t lanes, Tensor kind) {
    know(w, lanes, {tensor_component(w.id, kind), 1, ++w.tensor[static_cast<size_t>(kind)]}, {true, gpu, false});
}

void Order::tensor_before_sync(Warp& w, uint32_t lanes) {
    const auto done = [&](Tensor kind, Tensor fenced) {
        const uint32_t waits = w.tensor[static_cast<size_t>(kind)];
        if (!waits) return;
        const View one(std::vector<Entry>{{tensor_component(w.id, fenced), 1, waits}});
        each(w, lanes, [&](Group& g) { g.now[executed] = joiner_(g.now[executed], one); });
    };
    done(Tensor::load, Tensor::fenced_load);
    done(Tensor::store, Tensor::fenced_store);
    each(w, lanes, [&](Group& g) { g.changes = ++versions_; });
}

void Order::tensor_after_sync(Warp& w, uint32_t lanes) {
    each(w, lanes, [&](Group& g) {
        g.tensor = g.now[executed];
        g.changes = ++versions_;
    });
}

}  // namespace check_sync
