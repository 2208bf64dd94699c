// SPDX-License-Identifier: Apache-2.0
// The events of async_events.hpp, filled in.
#include "emu/plugin/async_events.hpp"

#include <bit>

#include "emu/plugin/driven_machine.hpp"

namespace sassemu::events {

namespace {

sassemu_async async_event(Warp& w, const Op* op, uint32_t lanes, uint32_t kind, uint64_t id) {
    sassemu_async e{};
    e.size = sizeof e;
    e.agent_kind = kind;
    const bool generic = kind == SASSEMU_AGENT_LDGSTS || kind == SASSEMU_AGENT_WARP;
    e.proxy = generic ? SASSEMU_VIA_GENERIC : SASSEMU_VIA_ASYNC;
    e.id = id;
    e.lanes = lanes;
    e.warp = handle(&w);
    e.insn = instruction_of(w, op);
    e.group = -1;
    return e;
}

// One step; `e` has what all steps of the operation have in common.
void tell(Hooks& h, sassemu_async e, uint32_t step, uint32_t proxy, uint32_t op = 0,
          const sassemu_location& at = {}, uint64_t bytes = 0, const std::byte* before = nullptr,
          const std::byte* data = nullptr) {
    if (!h.wants_async()) return;
    e.step = step;
    e.proxy = proxy;
    e.op = op;
    e.at = at;
    e.bytes = bytes;
    e.before = before;
    e.data = data;
    h.async(e);
}

uint32_t write_op(bool reduce) { return reduce ? SASSEMU_REDUCE : SASSEMU_STORE; }

}  // namespace

sassemu_location shared_location(const Cta& cta, uint32_t address) {
    const Cluster& cluster = *cta.cluster;
    const uint32_t rank = address >> 24;
    return {address & 0xffffff, SASSEMU_SHARED,
            static_cast<uint32_t>(rank < cluster.size ? cluster.cta[rank]->linear : cta.linear)};
}

sassemu_location tensor_location(const Cta& cta, uint64_t address) {
    return {address, SASSEMU_TENSOR_MEMORY, static_cast<uint32_t>(cta.linear)};
}

AsyncIssue::AsyncIssue(Warp& w, const Op* op, uint32_t lanes, sassemu_agent_kind kind,
                       int32_t group, uint32_t mbarrier)
    : hooks_(*w.cta->launch->hooks),
      cta_(*w.cta),
      event_(async_event(w, op, lanes, kind, hooks_.next_async())) {
    event_.group = group;
    if (group < 0 && mbarrier != nobody) reports_to(mbarrier);
    if (DrivenMachine* const driver = hooks_.scoped())
        driver->agent_issued(handle(&w), lanes, event_.id, kind, group);
    tell(hooks_, event_, SASSEMU_ASYNC_ISSUE, event_.proxy);
}
void AsyncIssue::also_by(Warp& w) {
    if (DrivenMachine* const driver = hooks_.scoped())
        driver->agent_issued(handle(&w), ~0u, event_.id, event_.agent_kind, event_.group);
}
void AsyncIssue::will_read(const sassemu_location& at, uint64_t bytes, uint32_t proxy) {
    tell(hooks_, event_, SASSEMU_ASYNC_WILL_READ, proxy, SASSEMU_LOAD, at, bytes);
}
void AsyncIssue::will_write(const sassemu_location& at, uint64_t bytes, bool reduce) {
    tell(hooks_, event_, SASSEMU_ASYNC_WILL_WRITE, event_.proxy, write_op(reduce), at, bytes);
}

thread_local uint64_t AsyncOperation::current_ = 0;

AsyncOperation::AsyncOperation(Warp& w, const Op* op, uint32_t lanes, sassemu_agent_kind kind,
                               uint64_t id)
    : warp_(w), hooks_(id ? w.cta->launch->hooks : nullptr) {
    if (!hooks_) return;
    current_ = id;
    event_ = async_event(w, op, lanes, kind, id);
}
AsyncOperation::~AsyncOperation() {
    if (!hooks_) return;
    if (DrivenMachine* const driver = hooks_->scoped()) driver->agent_landed();
    tell(*hooks_, event_, SASSEMU_ASYNC_COMPLETE, event_.proxy);
    current_ = 0;
}
const std::byte* AsyncOperation::read(const sassemu_location& at, const std::byte* bytes,
                                      uint64_t count, uint32_t proxy) {
    if (DrivenMachine* const driver = hooks_->scoped())
        bytes = driver->agent_reads(handle(&warp_), event_.id, at, bytes, count, proxy);
    tell(*hooks_, event_, SASSEMU_ASYNC_READ, proxy, SASSEMU_LOAD, at, count, nullptr, bytes);
    return bytes;
}
void AsyncOperation::write(const sassemu_location& at, const std::byte* bytes, uint64_t count,
                           bool reduce) {
    if (DrivenMachine* const driver = hooks_->scoped()) {
        if (event_.agent_kind == SASSEMU_AGENT_WARP)
            driver->thread_writes(handle(&warp_),
                                  static_cast<uint32_t>(std::countr_zero(event_.lanes)), at, count);
        else
            driver->agent_writes(handle(&warp_), event_.id, at, count, SASSEMU_VIA_ASYNC, reduce);
    }
    tell(*hooks_, event_, SASSEMU_ASYNC_WRITE, event_.proxy, write_op(reduce), at, count, bytes);
}

const std::byte* copy_reads(Warp& w, uint64_t address, const std::byte* bytes, uint64_t count) {
    Hooks* const hooks = w.cta->launch->hooks;
    DrivenMachine* const driver = hooks ? hooks->scoped() : nullptr;
    return driver ? driver->agent_reads(handle(&w), AsyncOperation::current(),
                                        global_location(address), bytes, count, SASSEMU_VIA_GENERIC)
                  : bytes;
}
void copy_writes(Warp& w, uint32_t address, uint64_t count) {
    Hooks* const hooks = w.cta->launch->hooks;
    if (DrivenMachine* const driver = hooks ? hooks->scoped() : nullptr)
        driver->agent_writes(handle(&w), AsyncOperation::current(),
                             shared_location(*w.cta, w.cta->rank << 24 | address), count,
                             SASSEMU_VIA_GENERIC, false);
}

}  // namespace sassemu::events
