// SPDX-License-Identifier: Apache-2.0
// wgmma in machine code: a warpgroup meets at each, which orders nothing, and its last thread
// starts one agent for all of them. What products compute is said in sass/products.hpp; the laws of
// wgmma are in tensor.cpp. See sass_turn.hpp.
#include <algorithm>

#include "emu/explore/graph/sass_turn.hpp"

namespace sassemu::explore {

Step SassTurn::undefined_registers() {
    s_.undefined = "wgmma registers";
    s_.undefined_at = static_cast<int32_t>(add_event(0));
    return Step::stop;
}

// Whether the instruction has a meaning beside the products that its thread has not waited for.
bool SassTurn::meets_products() {
    if (i_.warpgroup) return false;
    for (const uint32_t r : i_.writes)
        if (const uint32_t index = code_.registers()[r]; index < self_.written.size())
            self_.written.set(index);
    return std::ranges::any_of(self_.products, [&](const ThreadState::Multiplied& p) {
        return touches(code_, i_, p.product);
    });
}

// The same of a product, which follows others on its accumulator, and its registers by wgmma.fence.
bool SassTurn::meets_products(const async::WarpgroupMultiply& m) const {
    const RegisterRange to = results_of(m);
    const RegisterRange a = operands_of(m)[0], c = operands_of(m)[1];
    for (uint32_t r = 0; r < self_.written.size(); ++r)
        if (self_.written[r] && (to.has(r) || a.has(r) || c.has(r))) return true;
    return std::ranges::any_of(self_.products, [&](const ThreadState::Multiplied& p) {
        const RegisterRange before = results_of(p.product), left = operands_of(p.product)[0];
        return before.meets(a) || left.meets(to) || (before.meets(to) && !before.same(to));
    });
}

Step SassTurn::product(const SassEffects& e) {
    const async::WarpgroupMultiply& m = e.product;
    const uint64_t group = at_.thread / threads_of_warpgroup;
    std::vector<uint32_t> threads;
    for (uint32_t t = 0; t < test_.threads.size(); ++t)
        if (test_.threads[t].sass && test_.threads[t].cta == me_.cta &&
            sass_.thread(t).launch == at_.launch &&
            sass_.thread(t).thread / threads_of_warpgroup == group &&
            s_.threads[t].status != ThreadStatus::ended)
            threads.push_back(t);
    if (threads.size() != threads_of_warpgroup)
        return refuse("faults: wgmma by a warpgroup that is not complete");
    if (const char* why = async::check(m, sass_.launch(at_.launch).launch.shared_bytes))
        return refuse(std::string("faults: ") + why);
    if (meets_products(m)) return undefined_registers();

    constexpr uint64_t number = uint64_t{1} << 62;  // of barriers: behind all others
    const std::array<uint64_t, 3> key = {static_cast<uint64_t>(me_.cta), number + group,
                                         self_.barriers[number]++};
    BarrierInstance& met = s_.barriers[key];
    GraphProduct& p = s_.gathered[key];
    if (!met.lanes) p.product.pc = pc_, p.product.what = m;
    if (const char* why = p.product.differs(pc_, m)) return refuse(why);
    const uint32_t lane = at_.thread % threads_of_warpgroup;
    p.threads[lane] = thread_;
    p.reads |= input_reads_ | guard_reads_;
    p.spawned_by[lane] = last_wgmma_fence();
    const auto keep = [&](std::vector<uint32_t>& all, RegisterRange r) {
        all.resize(size_t{threads_of_warpgroup} * r.count);
        for (uint32_t k = 0; k < r.count; ++k) {
            const uint32_t value = reg(static_cast<uint32_t>(code_.number_of(r.first + k)));
            all[size_t{lane} * r.count + k] = value;
            p.reads |= s_.values[value].reads;
        }
    };
    const RegisterRange a = operands_of(m)[0], c = operands_of(m)[1];
    keep(p.a, a);
    keep(p.c, c);
    if (m.form.sparse && !m.form.empty) p.metadata[lane] = data(m.metadata, 4);
    if (++met.lanes == threads_of_warpgroup) {
        met.complete = true;
        const auto done = std::make_shared<GraphProduct>(std::move(p));
        s_.gathered.erase(key);
        multiply(*done);
        distribute(done);
    }
    return wait_at(key, {});
}

// The agent, and what it reads.
void SassTurn::multiply(GraphProduct& p) {
    Agent agent = issue();
    const size_t spawned = s_.spawn.size();
    for (const SharedRange& r : shared_operands(p.product.what)) {
        Place at;
        if (!find(true, true, r.address, r.bytes, 1, at)) return;
        p.shared.emplace_back(r, agent_read(agent, at, SASSEMU_PROXY_ASYNC));
    }
    s_.spawn.resize(spawned);
    for (const uint32_t read : agent.events) {
        p.reads.set(read);
        s_.events[read].data |= input_reads_;
        for (const int32_t from : p.spawned_by)
            if (from >= 0) s_.spawn.push_back({static_cast<uint32_t>(from), read});
    }
    p.events = agent.events;
}

// To every thread of the warpgroup its registers, and what it can wait for.
void SassTurn::distribute(const std::shared_ptr<const GraphProduct>& p) {
    const async::WarpgroupMultiply& m = p->product.what;
    const RegisterRange to = results_of(m);
    s_.products.push_back(p);
    for (uint32_t lane = 0; lane < threads_of_warpgroup; ++lane) {
        ThreadState& t = s_.threads[p->threads[lane]];
        for (uint32_t k = 0; k < to.count; ++k) {
            Value v;
            v.kind = Value::Kind::product;
            v.a = lane;
            v.b = k;
            v.c = static_cast<uint32_t>(s_.products.size() - 1);
            v.reads = p->reads;
            t.registers[static_cast<size_t>(code_.number_of(to.first + k))] = s_.add(std::move(v));
        }
        ThreadState::Groups& g = t.groups[static_cast<size_t>(GroupKind::wgmmas)];
        t.products.push_back({g.committed.size(), m});
        g.open.insert(g.open.end(), p->events.begin(), p->events.end());
        if (!m.form.signals) continue;
        g.committed.push_back(std::move(g.open));
        g.open.clear();
    }
}

Step SassTurn::product_wait(uint32_t left) {
    const size_t committed = groups(GroupKind::wgmmas).committed.size();
    std::erase_if(self_.products,
                  [&](const ThreadState::Multiplied& p) { return p.group + left < committed; });
    return perform(op::GroupWait{GroupKind::wgmmas, left});
}

Step SassTurn::product_fence() {
    self_.written.reset();
    return perform(op::WgmmaFence{});
}

}  // namespace sassemu::explore
