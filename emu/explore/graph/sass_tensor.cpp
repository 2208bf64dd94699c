// SPDX-License-Identifier: Apache-2.0
// tcgen05 in machine code. Loads and stores of tensor memory are agents of each thread, work of the
// tensor core is one of the thread that asks for it; the laws are in tensor.cpp. What leaves a word
// alone, waits and fences, is known from the PTX. See sass_turn.hpp.
#include "emu/explore/graph/sass_turn.hpp"
#include "emu/machine/tensor_memory.hpp"

namespace sassemu::explore {
namespace {

uint32_t operation_of(const TensorWork& work) {
    switch (work.kind()) {
        case TensorWork::Kind::product:
            return SASSEMU_OPERATION_TENSOR_MMA;
        case TensorWork::Kind::shift:
            return SASSEMU_OPERATION_TENSOR_SHIFT;
        case TensorWork::Kind::copy_4x256b:
            return SASSEMU_OPERATION_TENSOR_COPY_4X256B;
        case TensorWork::Kind::copy:
            break;
    }
    return SASSEMU_OPERATION_TENSOR_COPY;
}

}  // namespace

Step SassTurn::tensor(const SassEffects& e) {
    using Call = SassEffects::Call;
    if (e.call == Call::tensor_granules) return tensor_granules(e);
    if (!i_.ptx_known)
        return beyond("is not explored without its PTX: waits and fences of tcgen05 leave no word");
    const size_t before = s_.events.size();
    const Step step = e.call == Call::tensor_access ? tensor_access(e.tensor_access)
                      : e.call == Call::tensor_work ? tensor_work(e.tensor_work)
                                                    : tensor_commit(e.tensor_commit);
    for (size_t k = before; k < s_.events.size(); ++k) s_.events[k].data |= input_reads_;
    return step;
}

// Which columns are whose is no memory of the model's while one thread of a CTA says so. Of several
// it is a word that each of them changes as an atomic operation without order does.
Step SassTurn::tensor_granules(const SassEffects& e) {
    if (Place word; sass_.granules(me_.cta, word)) return share_granules(e.granules, word);
    const auto [found, fresh] = s_.granules.try_emplace(me_.cta, State::Granules{0, thread_});
    if (!fresh && found->second.thread != thread_) {
        test_.sass->share_granules(me_.cta);
        return Step::stop;
    }
    const auto after = static_cast<uint32_t>(e.object);
    const uint32_t before = std::exchange(found->second.used, after);
    s_.granule_changes.push_back({add_event(0), me_.cta, s_.constant(before), s_.constant(after)});
    write(input_reads_ | guard_reads_);
    return Step::past;
}

Step SassTurn::share_granules(const async::GranuleRequest& r, const Place& word) {
    // It waits for what it finds, as for an address that it has to know (guessed_place: the value).
    if (self_.guessed_place < 0) {
        const uint32_t read =
            add_ordered(SASSEMU_EVENT_READ, SASSEMU_ORDER_RELAXED, SASSEMU_SCOPE_CTA);
        event(read).operation = SASSEMU_OPERATION_REDUCTION;  // it acquires nothing
        place(read, word);
        self_.guessed_place = add_read(read);
    }
    const auto before = static_cast<uint32_t>(self_.guessed_place);
    const auto found = s_.evaluate(before, p_);
    if (!found) return wait_or_guess(before, 0);
    const SassEffects& e = sass_.run(thread_, pc_, in_, *found);
    const Events reads = input_reads_ | guard_reads_ | s_.values[before].reads;
    this->write(reads);
    const bool may_fail = r.kind == async::GranuleRequest::find_and_set ||
                          r.kind == async::GranuleRequest::compare_and_swap;
    if (may_fail && !e.granules.done) return Step::past;
    const uint32_t after = s_.constant(e.object, reads);
    const uint32_t write =
        add_ordered(SASSEMU_EVENT_WRITE, SASSEMU_ORDER_RELAXED, SASSEMU_SCOPE_CTA);
    place(write, word);
    set_value(write, after);
    s_.rmw.push_back({s_.values[before].a, write});
    s_.granule_changes.push_back({write, me_.cta, before, after});
    return Step::past;
}

bool SassTurn::find_tensor(uint32_t offset, uint32_t bytes, Place& out) {
    if (sass_.tensor(test_, thread_, offset, bytes, out)) return true;
    refuse("faults: it reaches columns that tensor memory does not have");
    return false;
}

Step SassTurn::tensor_access(const async::TensorAccess& a) {
    const uint32_t row = async::tensor_lane(a.address), column = async::tensor_column(a.address);
    if (row / 32 != at_.thread / 32 % 4 || row % 16)
        return refuse("faults: lanes of tensor memory that its warp does not reach");
    Agent agent = issue();
    std::vector<uint32_t> loaded;
    for (uint32_t r = 0; r < a.registers; ++r) {
        async::TensorPlace at;
        if (!async::tensor_place(a.layout, lane_, r, at)) continue;
        const uint32_t each = a.halves ? 2 : 1;
        // RZ stands for any number of zeros.
        const uint32_t from = a.first == zero_row ? zero_row : a.first + r * row_bytes;
        const int32_t number = sass_.number_of_row(thread_, from, 0);
        uint32_t value = a.store ? data(from, 4) : 0;
        for (uint32_t k = 0; k < each; ++k) {
            Place cell;
            if (!find_tensor(tensor_offset(row + at.row, column + each * at.word + k), 4, cell))
                return Step::stop;
            // Accesses of one instruction are in no order.
            Agent one = agent;
            if (a.store) {
                agent_write(one, cell, SASSEMU_PROXY_TENSOR,
                            a.halves ? s_.part(value, 2 * k, 2, false) : value);
            } else {
                const uint32_t read = agent_read(one, cell, SASSEMU_PROXY_TENSOR);
                value = k ? s_.join(value, 2, read) : read;
            }
            agent.index = one.index;
            const uint32_t event = one.events.back();
            (a.store ? self_.tensor_stores : self_.tensor_loads).push_back(event);
            this->event(event).operation =
                a.store ? SASSEMU_OPERATION_TENSOR_STORE : SASSEMU_OPERATION_TENSOR_LOAD;
        }
        if (a.store) continue;
        loaded.push_back(s_.part(value, 0, 4, false));
        if (number >= 0)
            reg(static_cast<uint32_t>(number)) =
                s_.depending(loaded.back(), guard_reads_ | input_reads_);
    }
    if (a.statistic.type != async::TensorStatistic::none && !loaded.empty())
        reduce_loaded(a.statistic, std::move(loaded));
    event(agent.issue).operation =
        a.store ? SASSEMU_OPERATION_TENSOR_STORE : SASSEMU_OPERATION_TENSOR_LOAD;
    return Step::past;
}

// tcgen05.ld.red
void SassTurn::reduce_loaded(const async::TensorStatistic& how, std::vector<uint32_t> loaded) {
    const int32_t number = sass_.number_of_row(thread_, how.to, 0);
    if (number < 0) return;
    Value v;
    v.kind = Value::Kind::loaded;
    v.c = static_cast<uint32_t>(s_.tensor_loads.size());
    s_.tensor_loads.push_back(how);
    v.reads = guard_reads_ | input_reads_;
    for (const uint32_t one : loaded) v.reads |= s_.values[one].reads;
    v.inputs = std::make_shared<const std::vector<uint32_t>>(std::move(loaded));
    reg(static_cast<uint32_t>(number)) = s_.add(std::move(v));
}

Step SassTurn::tensor_work(const TensorWork& work) {
    if (const std::string why = refusal(work, sass_.launch(at_.launch).launch); !why.empty())
        return why.starts_with("faults") ? refuse(why) : beyond(why);
    const TensorRanges ranges = ranges_of(work);
    Agent agent = issue();
    const auto done = std::make_shared<GraphTensorWork>();
    done->work = work;
    done->launch = at_.launch;
    Place at;
    for (const SharedRange& r : ranges.shared) {
        if (!find(true, true, r.address, r.bytes, 1, at)) return Step::stop;
        done->shared.emplace_back(r, agent_read(agent, at, SASSEMU_PROXY_ASYNC));
    }
    for (const SharedRange& r : ranges.read) {
        if (!find_tensor(r.address, r.bytes, at)) return Step::stop;
        done->tensor.emplace_back(r, agent_read(agent, at, SASSEMU_PROXY_TENSOR));
    }
    Value v;
    v.kind = Value::Kind::tensor;
    v.c = static_cast<uint32_t>(s_.tensor_work.size());
    s_.tensor_work.push_back(done);
    v.reads = input_reads_ | guard_reads_;
    for (const uint32_t read : agent.events) v.reads.set(read);
    for (const SharedRange& r : ranges.written) {
        if (!find_tensor(r.address, r.bytes, at)) return Step::stop;
        v.constant = r.address;
        agent_write(agent, at, SASSEMU_PROXY_TENSOR, s_.add(v));
    }
    mark(agent, operation_of(work));
    self_.tensor_products.insert(self_.tensor_products.end(), agent.events.begin(),
                                 agent.events.end());
    return Step::past;
}

Step SassTurn::tensor_commit(const async::TensorCommit& c) {
    for (uint32_t rest = c.multicast ? c.ranks : 1; rest; rest &= rest - 1) {
        const auto rank = static_cast<uint32_t>(std::countr_zero(rest));
        op::TensorCommit o;
        if (!object(c.multicast ? rank << 24 | (c.mbarrier & 0xffffff) : c.mbarrier, o.mbarrier))
            return Step::stop;
        perform(o);
    }
    return Step::past;
}

}  // namespace sassemu::explore
