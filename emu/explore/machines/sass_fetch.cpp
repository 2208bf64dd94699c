// SPDX-License-Identifier: Apache-2.0
// See sass_fetch.hpp.
#include "emu/explore/machines/sass_fetch.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "emu/explore/machines/ptx_words.hpp"
#include "emu/explore/machines/test_memory.hpp"
#include "emu/machine/mbarrier.hpp"
#include "emu/memory/perform.hpp"
#include "emu/plugin/shown_event.hpp"
#include "sassdec/ids.h"

namespace sassemu::explore {

namespace {

// Joined to it, an integer stays as it is.
uint64_t neutral(AtomicOp op, AtomicType type) {
    const bool sign = type == AtomicType::s32 || type == AtomicType::s64;
    const uint64_t all =
        type == AtomicType::u32 || type == AtomicType::s32 ? 0xffffffff : ~uint64_t{0};
    if (op == AtomicOp::and_) return all;
    if (op == AtomicOp::min) return sign ? all >> 1 : all;
    if (op == AtomicOp::max) return sign ? all ^ all >> 1 : 0;
    return 0;
}

}  // namespace

SassFetch::SassFetch(const Test& test, bool scoped)
    : test_(test), scoped_(scoped), lanes_(test.sass->lanes()) {
    for (uint32_t t = 0; t < test_.threads.size() && !issues_; ++t) {
        if (!test_.threads[t].sass) continue;
        const SassCode& code = test_.sass->code(test_.sass->thread(t).launch);
        for (uint32_t pc = 0; pc < code.count(); ++pc)
            issues_ |= code.at(pc).decodes &&
                       (code.at(pc).event.is(SASSDEC_KIND_ASYNC) || code.at(pc).tensor);
    }
}

SassState SassFetch::start() const {
    SassState s;
    s.threads.resize(test_.threads.size());
    for (uint32_t t = 0; t < test_.threads.size(); ++t) {
        const Thread& thread = test_.threads[t];
        s.threads[t].started = thread.starts;
        // The stream: launches follow one another by themselves.
        if (!thread.sass) s.threads[t].ended = true;
    }
    return s;
}

void SassFetch::start_registers(uint32_t thread, uint32_t& pc,
                                std::vector<uint64_t>& registers) const {
    pc = test_.sass->entry(test_.sass->thread(thread).launch);
    registers = test_.threads[thread].initial;
    if (registers.empty()) registers.resize(test_.threads[thread].registers.size());
}

void SassFetch::key(const SassState& s, std::string& out) const {
    const auto put = [&](uint64_t v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); };
    const auto list = [&](const std::vector<uint32_t>& all) {
        put(all.size());
        for (const uint32_t v : all) put(v);
    };
    for (const auto& t : s.threads) {
        out += static_cast<char>(t.ended | t.started << 1 | t.has_reduced << 2 | t.triggered << 3);
        put(t.barrier);
        put(uint64_t{t.cluster_arrivals} << 32 | t.cluster_waits);
        for (const auto& [at, v] : t.local) put(uint64_t{at} << 32 | v);
        if (t.has_reduced) put(t.reduced);
        if (scoped_) put(t.passed), put(t.phase);
        if (!issues_) continue;
        put(uint64_t{t.issued} << 32 | t.bulk_scoreboards);
        list(t.open_copies);
        list(t.open_stores);
        list(t.lane_copies);
        put(t.groups.size());
        for (const SassState::Group& g : t.groups) put(g.bulk), list(g.copies);
        put(t.products.size());
        for (const SassState::Issued& p : t.products) put(uint64_t{p.number} << 1 | p.signals);
    }
    // Of shared memory what is not zero: most of it never is.
    for (const auto& [cta, bytes] : s.shared) {
        for (size_t i = 0; i + 8 <= bytes->size(); i += 8) {
            uint64_t v;
            std::memcpy(&v, bytes->data() + i, 8);
            if (v) put(i), put(v);
        }
        put(~static_cast<uint64_t>(cta));
    }
    for (const auto& [which, b] : s.barriers) {
        put(static_cast<uint64_t>(which.first));
        put(which.second);
        for (const SassState::Barrier::Arrival& a : b.arrivals) {
            out += static_cast<char>(a.here | a.predicate << 1);
            if (a.here) put(a.pc);
        }
    }
    for (const auto& [object, phase] : s.phases) put(object), put(phase);
    for (const auto& [group, all] : s.products) {
        put(uint64_t{group.second} << 32 | static_cast<uint32_t>(group.first));
        for (const Product& p : all) {
            put(uint64_t{p.pc} << 32 | p.number);
            put(p.what.a), put(p.what.b), put(p.what.accumulate);
            out += p.issued.to_string();
            if (p.what.form.sparse)
                for (const uint32_t word : p.metadata) put(word);
        }
    }
    for (const CopyAgent& a : s.agents) {
        put(a.id());
        put(uint64_t{a.pc} << 32 | uint64_t{a.written} << 1 | a.has_read);
        list(a.work->after);
        for (const CopyWork::Receiver& r : a.work->receivers) {
            put(r.object);
            for (const CopyWork::Move& m : r.moves) put(m.from), put(m.to), put(m.bytes);
        }
        out.append(a.found.begin(), a.found.end());
    }
    if (issues_) tensor_key(s, out);
}

bool SassFetch::live(uint32_t thread, uint32_t pc, size_t r) const {
    const SassCode& code = test_.sass->code(test_.sass->thread(thread).launch);
    return pc >= code.count() || code.live(pc)[r];
}

void SassFetch::note(std::string& where, uint32_t thread, const SassCode& code, uint32_t pc,
                     const std::string& what) const {
    if (where.empty())
        where =
            test_.threads[thread].id + ": " + code.place(pc) + ": '" + code.text(pc) + "' " + what;
}

SassFetch::What SassFetch::refuse_at(const Turn& at, const std::string& what) {
    note(notes_.problem, at.thread, at.code, at.pc, what);
    return What::blocked;
}

SassFetch::What SassFetch::beyond(const Turn& at, const std::string& what) {
    note(notes_.unexplored, at.thread, at.code, at.pc, what);
    touched_.unexplored = true;
    return What::blocked;
}

SassFetch::What SassFetch::step(SassState& s, uint32_t thread, uint32_t& pc,
                                std::vector<uint64_t>& registers,
                                const std::vector<MemoryOperation>& pending,
                                std::vector<MemoryOperation>& out) {
    SassState::OfThread& self = s.threads[thread];
    if (self.ended || !self.started || self.barrier || ends_) return What::blocked;
    if (self.passed) {
        out.push_back(meeting(SASSEMU_OPERATION_WAIT, self.passed, self.phase,
                              SASSEMU_ORDER_ACQUIRE, SASSEMU_SCOPE_CTA));
        self.passed = self.phase = 0;
        return What::operations;
    }
    const SassProgram& p = *test_.sass;
    const SassCode& code = p.code(p.thread(thread).launch);
    if (pc >= code.count() || !code.at(pc).decodes) {
        refuse(test_.threads[thread].id + ": execution ran off the code");
        return What::blocked;
    }
    const SassInstruction& i = code.at(pc);
    if (self.has_reduced) {
        registers[static_cast<size_t>(code.number_of(sass_register::reduced))] = self.reduced;
        registers[static_cast<size_t>(code.number_of(sass_register::reduced_of))] =
            self.reduced != 0;
        self.has_reduced = false;
        self.reduced = 0;
    }
    // A register whose load is pending.
    const auto touches = [&](uint32_t r) {
        return std::ranges::any_of(pending, [&](const MemoryOperation& o) {
            return std::ranges::find(o.to, static_cast<int32_t>(r)) != o.to.end();
        });
    };
    if (i.guard >= 0 && touches(static_cast<uint32_t>(i.guard))) return What::blocked;
    if (std::ranges::any_of(i.reads, touches) || std::ranges::any_of(i.writes, touches))
        return What::blocked;
    if (waits_for_tensor(s, thread, i)) return What::blocked;
    if (touches_products(s, thread, i)) touched_.ranges.push_back({registers_of(thread), 1, true});
    if ((i.once && !p.leads_warp(thread)) ||
        (i.guard >= 0 && (registers[static_cast<size_t>(i.guard)] != 0) == i.guard_negated)) {
        ++pc;
        return What::ran;
    }
    // Some fences leave nothing but a NOP that waits for all that is under way.
    if (i.insn.id == SASSDEC_ID_NOP && i.insn.control.wait_mask && !pending.empty())
        return What::blocked;
    Turn at{s, thread, pc, code, i, registers, out, pending, {}};
    if (i.warp && std::popcount(p.lanes_of_warp(thread)) > 1)
        return beyond(at, "is not explored: it exchanges values between the threads of a warp");
    for (const uint32_t r : i.reads) at.in.push_back(registers[r]);
    if (!tensor_orders(at)) return What::blocked;
    if (scoped_ && !i.orders.empty()) {
        if (!at.drained()) return What::blocked;
        for (const Operation& o : i.orders) {
            if (const auto* f = std::get_if<op::Fence>(&o)) {
                out.push_back(fence_on_machine(*f));
                if (f->order == SASSEMU_ORDER_SC) tell_all(s, thread);
            }
            if (const auto* f = std::get_if<op::ProxyFence>(&o))
                out.push_back(fence_on_machine(*f));
        }
    }
    const What what = i.kind == SassInstruction::Kind::order ? order(at) : call(at);
    // What it stores comes later; then it is past it.
    return what == What::ran && !out.empty() ? What::operations : what;
}

const SassEffects& SassFetch::run(const Turn& at, uint64_t object) const {
    SassLane& placed = lane(at.thread);
    for (const uint32_t r : at.i.writes)
        placed.set(at.code.registers()[r], static_cast<uint32_t>(at.registers[r]));
    return test_.sass->run(placed, at.thread, at.pc, at.in, object);
}

// What the handler left in the registers that it writes.
void SassFetch::write(const Turn& at) const {
    const SassLane& placed = lane(at.thread);
    for (const uint32_t r : at.i.writes)
        if (const uint32_t index = at.code.registers()[r]; index < sass_register::reduced)
            at.registers[r] = placed.get(index);
}

SassFetch::What SassFetch::call(Turn& at) {
    using Call = SassEffects::Call;
    SassState::OfThread& self = at.s.threads[at.thread];
    const SassEffects& e = run(at);
    const uint32_t exists = test_.sass->lanes_of_warp(at.thread);
    if (at.i.meets) return warpsync(at, exists);
    if (at.i.event.is(SASSDEC_KIND_BARRIER, SASSDEC_ACTION_RESULT)) return result_of_barrier(at);
    switch (e.call) {
        case Call::none:
            return plain(at, e);
        case Call::mbarrier:
        case Call::mbarrier_test:
            return mbarrier(at, e.address);
        case Call::exit:
            if (!at.drained()) return What::blocked;
            self.ended = true;
            at.pc = ended_pc;
            complete_accesses(at.s, at.thread);
            look_at_leaks(at.s, at.thread);
            release(at.s);
            return What::ran;
        case Call::barrier:
            return barrier(at, e.barrier);
        case Call::warpsync: {
            const bool some = at.i.insn.id == SASSDEC_ID_WARPSYNC ||
                              at.i.insn.id == SASSDEC_ID_WARPSYNCCOLLECTIVE;
            return warpsync(at, some ? e.lanes & exists : exists);
        }
        case Call::cluster_arrive:
            return cluster(at, true);
        case Call::cluster_wait:
            return cluster(at, false);
        case Call::launch_dependents:
            self.triggered = true;
            ++at.pc;
            return What::ran;
        case Call::grid_wait:
            ++at.pc;
            if (!test_.sass->overlaps(test_.sass->thread(at.thread).launch)) return What::ran;
            at.out.emplace_back(SASSEMU_OPERATION_MEET).of_grids = true;
            return What::operations;
        case Call::product:
            return product(at, e.product);
        case Call::product_wait:
            return product_wait(at, e.left);
        case Call::product_fence:
            return ++at.pc, What::ran;
        case Call::tensor_granules:
        case Call::tensor_access:
        case Call::tensor_work:
        case Call::tensor_commit:
            return tensor(at, e);
        case Call::fault:
            return e.unexplored ? beyond(at, e.problem) : refuse_at(at, e.problem);
        default:
            return async(at, e);
    }
}

// Registers, jumps and accesses.
SassFetch::What SassFetch::plain(Turn& at, const SassEffects& e) {
    if (at.i.kind == SassInstruction::Kind::control) {
        if (!e.next) return refuse_at(at, "leads nowhere");
        write(at);
        at.pc = static_cast<uint32_t>(e.next - at.code.image().ops());
        return What::ran;
    }
    if (e.accesses.empty() &&
        at.i.insn.groups & (SASSDEC_GROUP_TENSOR | SASSDEC_GROUP_TEXTURE | SASSDEC_GROUP_ASYNC))
        return beyond(at, "is not explored by this model");
    if (at.i.kind == SassInstruction::Kind::other && !e.accesses.empty() &&
        e.accesses[0].proxy == Proxy::tensormap)
        return acquire_map(at, e.accesses[0].address[test_.sass->thread(at.thread).thread % 32]);
    write(at);
    const uint32_t lane = test_.sass->thread(at.thread).thread % 32;
    if (at.i.elects)
        for (const uint32_t r : at.i.writes)
            at.registers[r] =
                elected(at.code.registers()[r], lane, test_.sass->lanes_of_warp(at.thread));
    for (const Access& a : e.accesses) {
        const auto members = test_.sass->members(a.address[lane]);
        const What what =
            members ? at_members(at, a, *members, e.combine) : access(at, a, a.address[lane]);
        if (what == What::blocked) return What::blocked;
    }
    ++at.pc;
    return What::ran;
}

std::byte* SassFetch::shared(Turn& at, uint32_t address, bool own, uint64_t bytes) {
    Place place;
    if (!test_.sass->shared(test_, at.thread, address, own, bytes, place)) return nullptr;
    const int32_t cta = test_.locations[test_.names[place.name].location].cta;
    touched_.ranges.push_back(
        {TestMemory::of_shared(cta) | place.offset, bytes, !at.i.event.is(SASSDEC_KIND_LOAD)});
    auto& memory = unshare(at.s, cta);
    return reinterpret_cast<std::byte*>(memory.data()) + place.offset;
}

std::vector<uint8_t>& SassFetch::unshare(SassState& s, int32_t cta) const {
    auto& memory = s.shared[cta];
    if (!memory) {
        uint64_t bytes = 0;
        for (uint32_t t = 0; t < test_.threads.size(); ++t)
            if (test_.threads[t].sass && test_.threads[t].cta == cta)
                bytes = test_.sass->launch(test_.sass->thread(t).launch).launch.shared_bytes;
        memory = std::make_shared<std::vector<uint8_t>>((bytes + 7) / 8 * 8);
    }
    if (memory.use_count() > 1) {
        memory = std::make_shared<std::vector<uint8_t>>(*memory);
    } else {
        // Another thread may have copied it just now, and left it: that comes first.
        std::atomic_thread_fence(std::memory_order_acquire);
    }
    return *memory;
}

std::byte* SassFetch::shared_bytes(SassState& s, uint64_t address, uint64_t bytes) const {
    const auto cta = static_cast<int32_t>((address & ~SASSEMU_MACHINE_SHARED) >> 24) - 1;
    std::vector<uint8_t>& memory = unshare(s, cta);
    const uint64_t offset = address & 0xffffff;
    if (offset + bytes > memory.size()) return nullptr;
    return reinterpret_cast<std::byte*>(memory.data()) + offset;
}

// A word of the registers behind a row.
uint64_t SassFetch::word(const Turn& at, uint32_t row, uint32_t k) const {
    const int32_t r = test_.sass->number_of_row(at.thread, row, k);
    return r < 0 ? lane(at.thread).row(row + k * row_bytes) : at.registers[static_cast<size_t>(r)];
}

SassFetch::What SassFetch::access(Turn& at, const Access& a, uint64_t address) {
    if (a.op == AccessOp::prefetch || a.op == AccessOp::cache) return What::ran;
    const uint64_t window = a.space == AccessSpace::generic ? address >> 32 : 0;
    if (a.space == AccessSpace::local || window == local_window_high)
        return local(at, a, static_cast<uint32_t>(address));
    if (a.space == AccessSpace::shared || window == shared_window_high)
        return near(at, a, static_cast<uint32_t>(address), window != shared_window_high);
    return far(at, a, address);
}

SassFetch::What SassFetch::local(Turn& at, const Access& a, uint32_t address) {
    if (a.bytes < 4) return beyond(at, "is not explored: less than a word of local memory");
    for (uint32_t k = 0; 4 * k < a.bytes; ++k) {
        uint32_t& memory = at.s.threads[at.thread].local[address / 4 + k];
        if (a.op == AccessOp::store)
            memory = static_cast<uint32_t>(word(at, a.source[0], k));
        else if (const int32_t r = test_.sass->number_of_row(at.thread, a.destination, k); r >= 0)
            at.registers[static_cast<size_t>(r)] = memory;
    }
    return What::ran;
}

// Shared memory, at once.
SassFetch::What SassFetch::near(Turn& at, const Access& a, uint32_t address, bool own) {
    if (scoped_) {
        Place place;
        if (!test_.sass->shared(test_, at.thread, address, own, a.bytes, place) ||
            address % a.bytes)
            return refuse_at(at, "reaches no shared memory");
        const int32_t cta = test_.locations[test_.names[place.name].location].cta;
        return operate(at, a, TestMemory::of_shared(cta) | place.offset);
    }
    std::byte* memory = shared(at, address, own, a.bytes);
    if (!memory || address % a.bytes) return refuse_at(at, "reaches no shared memory");
    const bool stores = a.op == AccessOp::store;
    const auto pair = [&](uint32_t row, uint32_t k) {
        return word(at, row, k) | (a.bytes > 4 ? word(at, row, k + 1) << 32 : 0);
    };
    uint64_t now[2] = {}, next[2] = {pair(a.source[0], 0), 0};
    std::memcpy(now, memory, a.bytes);
    if (a.bytes > 8) next[1] = pair(a.source[0], 2);
    if (a.op != AccessOp::load) {
        if (!stores)
            next[0] = atomic_result(a.atomic, a.type, now[0], next[0],
                                    a.atomic == AtomicOp::cas ? pair(a.source[1], 0) : 0);
        std::memcpy(memory, next, a.bytes);
    }
    if (stores || a.op == AccessOp::reduce) return What::ran;
    for (uint32_t k = 0; 4 * k < a.bytes; ++k)
        if (const int32_t r = test_.sass->number_of_row(at.thread, a.destination, k); r >= 0)
            at.registers[static_cast<size_t>(r)] =
                extended(static_cast<uint32_t>(now[k / 2] >> 32 * (k % 2)), a.sign, a.bytes);
    return What::ran;
}

// Global memory: the machine performs it.
SassFetch::What SassFetch::far(Turn& at, const Access& a, uint64_t address) {
    Place place;
    if (!test_.sass->global(address, a.bytes, place) || address % a.bytes)
        return refuse_at(at, "reaches memory where no buffer is");
    return operate(at, a, address);
}

SassFetch::What SassFetch::operate(Turn& at, const Access& a, uint64_t address) {
    const bool loads = a.op == AccessOp::load, stores = a.op == AccessOp::store;
    if (!loads && !stores && a.bytes != 4 && a.bytes != 8)
        return beyond(at, "is not explored by this model: an atomic of this width");
    MemoryOperation o(loads    ? SASSEMU_OPERATION_LOAD
                      : stores ? SASSEMU_OPERATION_STORE
                               : SASSEMU_OPERATION_ATOMIC);
    o.what.address = address;
    o.what.bytes = a.bytes;
    o.what.proxy = static_cast<uint8_t>(a.proxy);
    // The objects of sm_80 are words that loads wait for.
    const bool intended = scoped_ && at.i.ptx_known &&
                          (at.i.intent.kind == IntentKind::access ||
                           (at.i.intent.kind == IntentKind::mbarrier && !stores));
    // Of a word without its PTX as it says. Runs take words for shared memory for strong ones
    // (order_of_access()); here that hides what is independent, and states are tenfold.
    o.what.ordering = static_cast<uint8_t>(intended ? at.i.intent.ordering : a.ordering);
    o.what.scope = static_cast<uint8_t>(intended ? at.i.intent.scope : a.scope);
    o.blocks =
        scoped_ && (o.what.ordering == SASSEMU_ACQUIRE || o.what.ordering == SASSEMU_ACQ_REL);
    if (loads && a.scope == MemScope::sys) o.what.flags = SASSEMU_ACCESS_CACHE_CV;
    o.sign = a.sign;
    for (uint32_t k = 0; k < std::max(1u, a.bytes / 4u); ++k) {
        if (!stores && a.op != AccessOp::reduce)
            o.to[k] = test_.sass->number_of_row(at.thread, a.destination, k);
        const auto stored = static_cast<uint32_t>(loads ? 0 : word(at, a.source[0], k));
        std::memcpy(o.value.data() + 4 * k, &stored, 4);
    }
    if (o.is(SASSEMU_OPERATION_ATOMIC)) {
        o.atomic = a.atomic;
        o.what.atomic = static_cast<uint8_t>(a.atomic);
        o.type = a.type;
        o.swap = word(at, a.source[1], 0) | (a.bytes > 4 ? word(at, a.source[1], 1) << 32 : 0);
        if (a.ordering == Ordering::weak) o.what.ordering = SASSEMU_RELAXED;
    }
    // Whoever reads it may be told by it.
    if (!loads && o.what.ordering != SASSEMU_WEAK) tell_all(at.s, at.thread);
    at.out.push_back(o);
    return What::ran;
}

// A multicast object: an access to memory of each member. What they hold is joined to what leaves
// it as it is.
SassFetch::What SassFetch::at_members(Turn& at, const Access& a,
                                      const std::vector<uint64_t>& members,
                                      const std::optional<LoadReduce>& combine) {
    if (a.op != AccessOp::store && a.op != AccessOp::reduce && !combine)
        return refuse_at(at, "reaches a multicast object, which takes multimem instructions only");
    for (const uint64_t member : members) {
        if (const What what = far(at, a, member); what != What::ran) return what;
        if (!combine) continue;
        MemoryOperation& o = at.out.back();
        o.joins = true;
        o.atomic = combine->op;
        o.type = static_cast<AtomicType>(combine->type);
        const uint64_t none = neutral(o.atomic, o.type);
        for (size_t k = 0; k < o.to.size(); ++k)
            if (o.to[k] >= 0)
                at.registers[static_cast<size_t>(o.to[k])] = none >> 32 * (k % 2) & 0xffffffff;
    }
    return What::ran;
}

// MEMBAR and the operations on caches; the rest of their kind has nothing to wait for here.
SassFetch::What SassFetch::order(Turn& at) {
    if (!at.drained()) return What::blocked;
    run(at);
    ++at.pc;
    if (scoped_) return What::ran;  // step() has shown it
    const Event& e = at.i.event;
    if (e.is(SASSDEC_KIND_FENCE) && e.action != SASSDEC_ACTION_ERROR) {
        const sassemu_fence f = shown_fence(e);
        MemoryOperation o(SASSEMU_OPERATION_FENCE);
        o.what.ordering = f.ordering;
        o.what.scope = f.scope;
        o.what.proxy = f.from_proxy;
        o.what.to_proxy = f.to_proxy;
        o.what.spaces = static_cast<uint8_t>(f.spaces);
        at.out.push_back(o);
    } else if (e.is(SASSDEC_KIND_CACHE) && e.cache <= SASSDEC_CACHE_TEXTURE) {
        const sassemu_cache_op c = shown_cache_operation(e);
        MemoryOperation o(SASSEMU_OPERATION_CACHE);
        o.what.cache = c.cache;
        o.what.action = c.action;
        if (const sassdec_operand* to = e.operand(e.address); to && to->kind == SASSDEC_OP_MEM) {
            // A register pair and an offset.
            o.what.has_address = 1;
            o.what.address = static_cast<uint64_t>(static_cast<int64_t>(to->offset));
            for (size_t k = 0; k < at.in.size(); ++k) {
                const uint32_t r = at.code.registers()[at.i.reads[k]];
                if (!(to->flags & SASSDEC_HAS_REG) || to->index == SASSDEC_RZ) continue;
                if (r == to->index) o.what.address += at.in[k];
                if (to->width > 1 && r == to->index + 1u) o.what.address += at.in[k] << 32;
            }
        }
        at.out.push_back(o);
    }
    return What::ran;
}

}  // namespace sassemu::explore
