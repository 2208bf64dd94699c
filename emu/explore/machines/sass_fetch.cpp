// SPDX-License-Identifier: Apache-2.0
// See sass_fetch.hpp.
#include "emu/explore/machines/sass_fetch.hpp"

#include <algorithm>
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

constexpr uint32_t ended_pc = ~0u;

// Barriers of scoped machines, by kind, CTA or cluster, and number.
uint64_t barrier_object(int32_t cta, uint32_t which) {
    return uint64_t{5} << 40 | static_cast<uint64_t>(cta) << 8 | (which & 0xff);
}
uint64_t cluster_object(int32_t cluster) {
    return uint64_t{6} << 40 | static_cast<uint32_t>(cluster);
}
uint64_t mbarrier_object(int32_t cta, uint64_t offset) {
    return uint64_t{7} << 40 | static_cast<uint64_t>(cta) << 24 | offset;
}

}  // namespace

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
    for (const auto& t : s.threads) {
        out += static_cast<char>(t.ended | t.started << 1);
        put(static_cast<uint64_t>(t.barrier));
        put(uint64_t{t.cluster_arrivals} << 32 | t.cluster_waits);
        for (const auto& [at, v] : t.local) put(uint64_t{at} << 32 | v);
        if (scoped_) put(t.passed), put(t.phase);
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
    for (const auto& [which, arrived] : s.barriers) {
        put(static_cast<uint64_t>(which.first) << 32 | which.second);
        for (const bool b : arrived) out += static_cast<char>(b);
    }
    for (const auto& [object, phase] : s.phases) put(object), put(phase);
}

bool SassFetch::live(uint32_t thread, uint32_t pc, size_t r) const {
    const SassCode& code = test_.sass->code(test_.sass->thread(thread).launch);
    return pc >= code.count() || code.live(pc)[r];
}

SassFetch::What SassFetch::refuse_at(const Turn& at, const char* what) {
    refuse(test_.threads[at.thread].id + ": " + at.code.place(at.pc) + ": '" + at.code.text(at.pc) +
           "' " + what);
    return What::blocked;
}

SassFetch::What SassFetch::step(SassState& s, uint32_t thread, uint32_t& pc,
                                std::vector<uint64_t>& registers,
                                const std::vector<uint32_t>& awaited, bool drained,
                                std::vector<MemoryOperation>& out) {
    SassState::OfThread& self = s.threads[thread];
    if (self.ended || !self.started || self.barrier >= 0 || !problem_.empty()) return What::blocked;
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
    const auto touches = [&](uint32_t r) { return std::ranges::find(awaited, r) != awaited.end(); };
    if (i.guard >= 0 && touches(static_cast<uint32_t>(i.guard))) return What::blocked;
    if (std::ranges::any_of(i.reads, touches) || std::ranges::any_of(i.writes, touches))
        return What::blocked;
    if (i.guard >= 0 && (registers[static_cast<size_t>(i.guard)] != 0) == i.guard_negated) {
        ++pc;
        return What::ran;
    }
    // Some fences leave nothing but a NOP that waits for all that is under way.
    if (i.insn.id == SASSDEC_ID_NOP && i.insn.control.wait_mask && !drained) return What::blocked;
    Turn at{s, thread, pc, code, i, registers, out, drained, {}};
    if (i.warp && std::popcount(p.lanes_of_warp(thread)) > 1)
        return refuse_at(at, "is not explored: it exchanges values between the threads of a warp");
    for (const uint32_t r : i.reads) at.in.push_back(registers[r]);
    if (scoped_ && !i.orders.empty()) {
        if (!drained) return What::blocked;
        for (const Operation& o : i.orders) {
            if (const auto* f = std::get_if<op::Fence>(&o)) out.push_back(fence_on_machine(*f));
            if (const auto* f = std::get_if<op::ProxyFence>(&o))
                out.push_back(fence_on_machine(*f));
        }
    }
    const What what = i.kind == SassInstruction::Kind::order ? order(at) : call(at);
    // What it stores comes later; then it is past it.
    return what == What::ran && !out.empty() ? What::operations : what;
}

// What the handler left in the registers that it writes.
void SassFetch::write(const Turn& at) const {
    const SassLane& lane = test_.sass->lane(at.thread);
    for (const uint32_t r : at.i.writes)
        if (const uint32_t index = at.code.registers()[r]; index < sass_register::reduced)
            at.registers[r] = lane.get(index);
}

SassFetch::What SassFetch::call(Turn& at) {
    using Call = SassEffects::Call;
    SassState::OfThread& self = at.s.threads[at.thread];
    SassEffects e = test_.sass->run(at.thread, at.pc, at.in);
    if (at.i.meets) e.call = Call::warpsync;
    switch (e.call) {
        case Call::none:
            return plain(at, e);
        case Call::mbarrier:
        case Call::mbarrier_test:
            return at.drained ? mbarrier(at, e.address) : What::blocked;
        case Call::exit:
            if (!at.drained) return What::blocked;
            self.ended = true;
            at.pc = ended_pc;
            release(at.s);
            return What::ran;
        case Call::barrier:
        case Call::warpsync: {
            if (!at.drained) return What::blocked;
            BarrierRequest r = e.barrier;
            if (r.op >= BarrierOp::reduce_popc)
                return refuse_at(at, "is not explored by this model");
            if (e.call == Call::warpsync) {
                const uint32_t exists = test_.sass->lanes_of_warp(at.thread);
                const bool some = at.i.insn.id == SASSDEC_ID_WARPSYNC;
                r.id = 16 + test_.sass->thread(at.thread).thread / 32;
                r.threads = static_cast<uint32_t>(std::popcount(some ? e.lanes & exists : exists));
            }
            ++at.pc;
            const uint64_t object = barrier_object(test_.threads[at.thread].cta, r.id);
            if (scoped_)
                at.out.push_back(meeting(SASSEMU_OPERATION_ARRIVE, object, at.s.phases[object],
                                         SASSEMU_ORDER_RELEASE, SASSEMU_SCOPE_CTA));
            else
                at.out.emplace_back(SASSEMU_OPERATION_MEET);
            arrive(at.s, at.thread, r);
            release(at.s);
            return What::operations;
        }
        case Call::cluster_arrive: {
            if (!at.drained) return What::blocked;
            const bool releases = at.i.ptx_known && at.i.intent.kind == IntentKind::barrier &&
                                  at.i.intent.ordering == Ordering::release;
            if (scoped_)
                at.out.push_back(meeting(
                    SASSEMU_OPERATION_ARRIVE, cluster_object(test_.threads[at.thread].cluster),
                    self.cluster_arrivals, releases ? SASSEMU_ORDER_RELEASE : SASSEMU_ORDER_RELAXED,
                    SASSEMU_SCOPE_CLUSTER));
            ++self.cluster_arrivals;
            ++at.pc;
            return What::ran;
        }
        case Call::cluster_wait:
            if ((scoped_ && !at.drained) || !cluster_passed(at.s, at.thread)) return What::blocked;
            if (scoped_)
                at.out.push_back(meeting(
                    SASSEMU_OPERATION_WAIT, cluster_object(test_.threads[at.thread].cluster),
                    self.cluster_waits, SASSEMU_ORDER_ACQUIRE, SASSEMU_SCOPE_CLUSTER));
            ++self.cluster_waits;
            ++at.pc;
            return What::ran;
        case Call::fault:
            return refuse_at(at, e.problem);
        default:
            return refuse_at(at, "is not explored by this model");
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
        return refuse_at(at, "is not explored by this model");
    write(at);
    const uint32_t lane = test_.sass->thread(at.thread).thread % 32;
    if (at.i.elects)
        for (const uint32_t r : at.i.writes)
            at.registers[r] =
                elected(at.code.registers()[r], lane, test_.sass->lanes_of_warp(at.thread));
    for (const Access& a : e.accesses)
        if (access(at, a, a.address[lane]) == What::blocked) return What::blocked;
    ++at.pc;
    return What::ran;
}

// The first run said which object; now the instruction sees it.
SassFetch::What SassFetch::mbarrier(Turn& at, uint32_t address) {
    std::byte* object = shared(at, address, false, 8);
    if (!object) return refuse_at(at, "reaches no shared memory");
    uint64_t now = 0;
    std::memcpy(&now, object, 8);
    const SassEffects& e = test_.sass->run(at.thread, at.pc, at.in, now);
    if (e.waited) return What::blocked;
    const SassInstruction& i = at.i;
    const bool meant = i.ptx_known && i.intent.kind == IntentKind::mbarrier;
    const uint32_t scope = meant && i.intent.scope != MemScope::none ? scope_of(i.intent.scope)
                                                                     : uint32_t{SASSEMU_SCOPE_CTA};
    const bool relaxed = meant && i.intent.ordering == Ordering::relaxed;
    Place place;
    test_.sass->shared(test_, at.thread, address, false, 8, place);
    const uint64_t number =
        mbarrier_object(test_.locations[test_.names[place.name].location].cta, place.offset);
    if (e.call == SassEffects::Call::mbarrier) {
        Mbarrier b = Mbarrier::decode(now);
        const uint32_t before = b.phase;
        if (const char* wrong = b.apply(e.change)) return refuse_at(at, wrong);
        now = b.encode();
        if (!scoped_) {
            at.out.emplace_back(SASSEMU_OPERATION_MEET);
        } else {
            if (e.change.arrivals || e.change.drops)
                at.out.push_back(meeting(SASSEMU_OPERATION_ARRIVE, number, at.s.phases[number],
                                         relaxed ? SASSEMU_ORDER_RELAXED : SASSEMU_ORDER_RELEASE,
                                         scope));
            at.s.phases[number] += b.phase != before;
        }
    } else {
        now = e.object;
    }
    std::memcpy(object, &now, 8);
    write(at);
    if (scoped_ && i.event.is(SASSDEC_KIND_MBARRIER, SASSDEC_ACTION_TEST) &&
        std::ranges::any_of(i.writes, [&](uint32_t r) { return at.registers[r] != 0; }) &&
        at.s.phases[number])
        at.out.push_back(meeting(SASSEMU_OPERATION_WAIT, number, at.s.phases[number] - 1,
                                 relaxed ? SASSEMU_ORDER_RELAXED : SASSEMU_ORDER_ACQUIRE, scope));
    ++at.pc;
    return What::ran;
}

std::byte* SassFetch::shared(Turn& at, uint32_t address, bool own, uint64_t bytes) {
    Place place;
    if (!test_.sass->shared(test_, at.thread, address, own, bytes, place)) return nullptr;
    touched_ = true;
    auto& memory = unshare(at.s, test_.locations[test_.names[place.name].location].cta);
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
    if (memory.use_count() > 1) memory = std::make_shared<std::vector<uint8_t>>(*memory);
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
    return r < 0 ? test_.sass->lane(at.thread).row(row + k * row_bytes)
                 : at.registers[static_cast<size_t>(r)];
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
    if (a.bytes < 4) return refuse_at(at, "is not explored: less than a word of local memory");
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
        return refuse_at(at, "is not explored by this model: an atomic of this width");
    MemoryOperation o(loads    ? SASSEMU_OPERATION_LOAD
                      : stores ? SASSEMU_OPERATION_STORE
                               : SASSEMU_OPERATION_ATOMIC);
    o.what.address = address;
    o.what.bytes = a.bytes;
    o.what.proxy = static_cast<uint8_t>(a.proxy);
    const bool intended = scoped_ && at.i.ptx_known && at.i.intent.kind == IntentKind::access;
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
    at.out.push_back(o);
    return What::ran;
}

// MEMBAR and the operations on caches; the rest of their kind has nothing to wait for here.
SassFetch::What SassFetch::order(Turn& at) {
    if (!at.drained) return What::blocked;
    test_.sass->run(at.thread, at.pc, at.in);
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

// Notes the arrival.
void SassFetch::arrive(SassState& s, uint32_t thread, const BarrierRequest& r) const {
    const int32_t cta = test_.threads[thread].cta;
    const std::pair key{cta, r.id | r.threads << 8};
    auto& arrived = s.barriers[key];
    arrived.resize(test_.threads.size());
    arrived[thread] = true;
    if (r.op != BarrierOp::arrive)
        s.threads[thread].barrier = static_cast<int32_t>(r.id | r.threads << 8);
}

// Every thread of the cluster has arrived once more than this one has waited, or has ended.
bool SassFetch::cluster_passed(const SassState& s, uint32_t thread) const {
    for (uint32_t t = 0; t < test_.threads.size(); ++t)
        if (test_.threads[t].sass && test_.threads[t].cluster == test_.threads[thread].cluster &&
            !s.threads[t].ended && s.threads[t].cluster_arrivals <= s.threads[thread].cluster_waits)
            return false;
    return true;
}

// Releases the threads at barriers that are complete now.
void SassFetch::release(SassState& s) const {
    for (auto it = s.barriers.begin(); it != s.barriers.end();) {
        const int32_t cta = it->first.first;
        const uint32_t which = it->first.second;
        const uint32_t wanted = which >> 8;
        uint32_t here = 0, missing = 0, warps = 0;
        const auto each = [&](auto&& f) {
            for (uint32_t t = 0; t < test_.threads.size(); ++t)
                if (test_.threads[t].cta == cta && test_.threads[t].sass)
                    f(t, (which & 0xff) < 16 ? test_.threads[t].lanes : 1,
                      1u << test_.sass->thread(t).thread / 32);
        };
        each([&](uint32_t t, uint32_t lanes, uint32_t warp) {
            if (it->second[t])
                here += lanes, warps |= warp;
            else if (!s.threads[t].ended)
                ++missing;
        });
        // Lanes that have ended arrive with their warp.
        each([&](uint32_t t, uint32_t lanes, uint32_t warp) {
            if (!it->second[t] && s.threads[t].ended && warps & warp) here += lanes;
        });
        if (wanted ? here < wanted : missing > 0) {
            ++it;
            continue;
        }
        const uint64_t object = barrier_object(cta, which);
        for (auto& t : s.threads) {
            if (t.barrier != static_cast<int32_t>(which) ||
                test_.threads[static_cast<size_t>(&t - s.threads.data())].cta != cta)
                continue;
            t.barrier = -1;
            if (scoped_) t.passed = object, t.phase = s.phases[object];
        }
        if (scoped_) ++s.phases[object];
        it = s.barriers.erase(it);
    }
}

}  // namespace sassemu::explore
