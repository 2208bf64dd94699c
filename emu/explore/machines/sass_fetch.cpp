// SPDX-License-Identifier: Apache-2.0
// See sass_fetch.hpp.
#include "emu/explore/machines/sass_fetch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/machine/mbarrier.hpp"
#include "emu/memory/perform.hpp"
#include "emu/plugin/shown_event.hpp"
#include "sassdec/ids.h"

namespace sassemu::explore {

namespace reg = sass_register;

namespace {

constexpr uint32_t ended_pc = ~0u;

}  // namespace

SassState SassFetch::start() const {
    SassState s;
    s.threads.resize(test_.threads.size());
    for (uint32_t t = 0; t < test_.threads.size(); ++t) {
        const Thread& thread = test_.threads[t];
        s.threads[t].started = thread.starts;
        if (!thread.sass) {
            s.threads[t].ended = true;  // the stream: launches follow one another by themselves
            continue;
        }
        auto& bytes = s.shared[thread.cta];
        bytes.resize(test_.sass->launch(test_.sass->thread(t).launch).launch.shared_bytes);
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
    }
    for (const auto& [cta, bytes] : s.shared) out.append(bytes.begin(), bytes.end());
    for (const auto& [which, arrived] : s.barriers) {
        put(static_cast<uint64_t>(which.first) << 32 | which.second);
        for (const bool b : arrived) out += static_cast<char>(b);
    }
}

bool SassFetch::live(uint32_t thread, uint32_t pc, size_t r) const {
    const SassCode& code = test_.sass->code(test_.sass->thread(thread).launch);
    return pc >= code.count() || code.live(pc)[r];
}

bool SassFetch::where(uint32_t thread, const SassCode& code, uint32_t pc, const char* what) {
    refuse(test_.threads[thread].id + ": " + code.place(pc) + ": '" + code.text(pc) + "' " + what);
    return false;
}

SassFetch::What SassFetch::step(SassState& s, uint32_t thread, uint32_t& pc,
                                std::vector<uint64_t>& registers,
                                const std::vector<uint32_t>& awaited, bool drained,
                                std::vector<MemoryOperation>& out) {
    using Kind = SassInstruction::Kind;
    using Call = SassEffects::Call;
    SassState::OfThread& self = s.threads[thread];
    if (self.ended || !self.started || self.barrier >= 0 || !problem_.empty()) return What::blocked;
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
    const SassThread& place = p.thread(thread);
    const auto threads = static_cast<uint32_t>(p.launch(place.launch).launch.block.count());
    const uint32_t exists = low_lanes(std::min(32u, threads - place.thread / 32 * 32));
    if (i.warp && std::popcount(exists) > 1)
        return where(thread, code, pc,
                     "is not explored: it exchanges values between the threads of a warp"),
               What::blocked;
    SassLane& lane = p.lane(thread);
    std::vector<uint64_t> in;
    for (const uint32_t r : i.reads) in.push_back(registers[r]);
    const auto run = [&](uint64_t object) -> const SassEffects& {
        for (size_t k = 0; k < in.size(); ++k)
            lane.set(code.registers()[i.reads[k]], static_cast<uint32_t>(in[k]));
        lane.set_object(object);
        return lane.run(p.op(place.launch, pc));
    };
    const auto write = [&] {
        for (const uint32_t r : i.writes)
            if (code.registers()[r] < reg::reduced) registers[r] = lane.get(code.registers()[r]);
    };
    if (i.kind == Kind::order) {
        if (!drained) return What::blocked;
        run(0);
        return order(code, pc++, in, out);
    }
    SassEffects e = run(0);
    if (i.meets) e.call = Call::warpsync;
    // Of an mbarrier: the first run said which; now it sees the object.
    if (e.call == Call::mbarrier || e.call == Call::mbarrier_test) {
        if (!drained) return What::blocked;
        std::byte* at = shared(s, thread, e.address, false, 8);
        if (!at) return where(thread, code, pc, "reaches no shared memory"), What::blocked;
        uint64_t object = 0;
        std::memcpy(&object, at, 8);
        e = run(object);
        if (e.waited) return What::blocked;
        if (e.call == Call::mbarrier) {
            Mbarrier b = Mbarrier::decode(object);
            if (const char* wrong = b.apply(e.change))
                return where(thread, code, pc, wrong), What::blocked;
            object = b.encode();
            out.emplace_back(SASSEMU_OPERATION_MEET);
        } else {
            object = e.object;
        }
        std::memcpy(at, &object, 8);
        write();
        ++pc;
        return out.empty() ? What::ran : What::operations;
    }
    switch (e.call) {
        case Call::none:
            break;
        case Call::exit:
            if (!drained) return What::blocked;
            self.ended = true;
            pc = ended_pc;
            release(s);
            return What::ran;
        case Call::barrier:
        case Call::warpsync: {
            if (!drained) return What::blocked;
            BarrierRequest r = e.barrier;
            if (r.op >= BarrierOp::reduce_popc)
                return where(thread, code, pc, "is not explored by this model"), What::blocked;
            if (e.call == Call::warpsync) {
                const bool some = i.insn.id == SASSDEC_ID_WARPSYNC;
                r.id = 16 + place.thread / 32;
                r.threads = static_cast<uint32_t>(std::popcount(some ? e.lanes & exists : exists));
            }
            ++pc;
            arrive(s, thread, r);
            release(s);
            out.emplace_back(SASSEMU_OPERATION_MEET);
            return What::operations;
        }
        case Call::cluster_arrive:
            if (!drained) return What::blocked;
            ++self.cluster_arrivals;
            ++pc;
            return What::ran;
        case Call::cluster_wait:
            if (!cluster_passed(s, thread)) return What::blocked;
            ++self.cluster_waits;
            ++pc;
            return What::ran;
        case Call::fault:
            return where(thread, code, pc, e.problem), What::blocked;
        default:
            return where(thread, code, pc, "is not explored by this model"), What::blocked;
    }
    if (i.kind == Kind::control) {
        if (!e.next) return where(thread, code, pc, "leads nowhere"), What::blocked;
        write();
        pc = static_cast<uint32_t>(e.next - code.image().ops());
        return What::ran;
    }
    if (e.accesses.empty() &&
        i.insn.groups & (SASSDEC_GROUP_TENSOR | SASSDEC_GROUP_TEXTURE | SASSDEC_GROUP_ASYNC))
        return where(thread, code, pc, "is not explored by this model"), What::blocked;
    write();
    if (i.elects)
        for (const uint32_t r : i.writes)
            registers[r] = elected(code.registers()[r], lane.lane(), exists);
    for (const Access& a : e.accesses)
        if (access(s, thread, code, pc, a, a.address[lane.lane()], registers, out) == What::blocked)
            return What::blocked;
    ++pc;
    return out.empty() ? What::ran : What::operations;
}

std::byte* SassFetch::shared(SassState& s, uint32_t thread, uint32_t address, bool own,
                             uint64_t bytes) {
    SassProgram::Place place;
    if (!test_.sass->shared(test_, thread, address, own, bytes, place)) return nullptr;
    touched_ = true;
    auto& memory = s.shared[test_.locations[test_.names[place.name].location].cta];
    return reinterpret_cast<std::byte*>(memory.data()) + place.offset;
}

SassFetch::What SassFetch::access(SassState& s, uint32_t thread, const SassCode& code, uint32_t pc,
                                  const Access& a, uint64_t address,
                                  std::vector<uint64_t>& registers,
                                  std::vector<MemoryOperation>& out) {
    if (a.op == AccessOp::prefetch || a.op == AccessOp::cache) return What::ran;
    const auto number = [&](uint32_t row, uint32_t word) {
        const int32_t r = SassLane::register_of_row(row);
        return r < 0 ? -1 : code.number_of(static_cast<uint32_t>(r) + word);
    };
    const auto value = [&](uint32_t row, uint32_t word) -> uint64_t {
        const int32_t r = number(row, word);
        return r < 0 ? test_.sass->lane(thread).row(row + word * row_bytes)
                     : registers[static_cast<size_t>(r)];
    };
    const uint32_t words = std::max(1u, a.bytes / 4u);
    const bool loads = a.op == AccessOp::load, stores = a.op == AccessOp::store;
    const auto high = static_cast<uint32_t>(address >> 32);
    const bool generic = a.space == AccessSpace::generic;
    if (a.space == AccessSpace::local || (generic && high == local_window_high)) {
        if (a.bytes < 4)
            return where(thread, code, pc, "is not explored: less than a word of local memory"),
                   What::blocked;
        for (uint32_t k = 0; k < words; ++k) {
            uint32_t& word = s.threads[thread].local[static_cast<uint32_t>(address) / 4 + k];
            if (stores)
                word = static_cast<uint32_t>(value(a.source[0], k));
            else if (const int32_t r = number(a.destination, k); r >= 0)
                registers[static_cast<size_t>(r)] = word;
        }
        return What::ran;
    }
    if (a.space == AccessSpace::shared || (generic && high == shared_window_high)) {
        std::byte* at = shared(s, thread, static_cast<uint32_t>(address), !generic, a.bytes);
        if (!at || address % a.bytes)
            return where(thread, code, pc, "reaches no shared memory"), What::blocked;
        uint64_t now[2] = {};
        std::memcpy(now, at, a.bytes);
        uint64_t next[2] = {value(a.source[0], 0) | value(a.source[0], 1) << 32,
                            words > 2 ? value(a.source[0], 2) | value(a.source[0], 3) << 32 : 0};
        if (words == 1) next[0] = value(a.source[0], 0);
        if (!loads && !stores)
            next[0] = a.atomic == sassemu::AtomicOp::cas
                          ? (now[0] == next[0] ? value(a.source[1], 0) |
                                                     (words > 1 ? value(a.source[1], 1) << 32 : 0)
                                               : now[0])
                          : atomic_result(a.atomic, a.type, now[0], next[0], 0);
        if (!loads) std::memcpy(at, next, a.bytes);
        if (!stores && a.op != AccessOp::reduce)
            for (uint32_t k = 0; k < words; ++k)
                if (const int32_t r = number(a.destination, k); r >= 0) {
                    uint32_t v = static_cast<uint32_t>(now[k / 2] >> 32 * (k % 2));
                    if (a.sign)
                        v = a.bytes == 1 ? static_cast<uint32_t>(static_cast<int8_t>(v))
                                         : static_cast<uint32_t>(static_cast<int16_t>(v));
                    registers[static_cast<size_t>(r)] = v;
                }
        return What::ran;
    }
    SassProgram::Place place;
    if (!test_.sass->global(address, a.bytes, place) || address % a.bytes)
        return where(thread, code, pc, "reaches memory where no buffer is"), What::blocked;
    if (!loads && !stores && a.bytes != 4 && a.bytes != 8)
        return where(thread, code, pc, "is not explored by this model: an atomic of this width"),
               What::blocked;
    MemoryOperation o(loads    ? SASSEMU_OPERATION_LOAD
                      : stores ? SASSEMU_OPERATION_STORE
                               : SASSEMU_OPERATION_ATOMIC);
    o.what.address = address;
    o.what.bytes = a.bytes;
    o.what.proxy = static_cast<uint8_t>(a.proxy);
    o.what.ordering = static_cast<uint8_t>(a.ordering);
    o.what.scope = static_cast<uint8_t>(a.scope);
    if (loads && a.scope == MemScope::sys) o.what.flags = SASSEMU_ACCESS_CACHE_CV;
    o.sign = a.sign;
    for (uint32_t k = 0; k < words; ++k) {
        if (!stores && a.op != AccessOp::reduce) o.to[k] = number(a.destination, k);
        const auto word = static_cast<uint32_t>(loads ? 0 : value(a.source[0], k));
        std::memcpy(o.value.data() + 4 * k, &word, 4);
    }
    if (o.is(SASSEMU_OPERATION_ATOMIC)) {
        o.atomic = a.atomic;
        o.type = a.type;
        o.swap = value(a.source[1], 0) | (words > 1 ? value(a.source[1], 1) << 32 : 0);
        if (a.ordering == Ordering::weak) o.what.ordering = SASSEMU_RELAXED;
    }
    out.push_back(o);
    return What::operations;
}

// MEMBAR and the operations on caches; the rest of their kind has nothing to wait for here.
SassFetch::What SassFetch::order(const SassCode& code, uint32_t pc, const std::vector<uint64_t>& in,
                                 std::vector<MemoryOperation>& out) {
    const SassInstruction& i = code.at(pc);
    const Event& e = i.event;
    if (e.is(SASSDEC_KIND_FENCE) && e.action != SASSDEC_ACTION_ERROR) {
        const sassemu_fence f = shown_fence(e);
        MemoryOperation o(SASSEMU_OPERATION_FENCE);
        o.what.ordering = f.ordering;
        o.what.scope = f.scope;
        o.what.proxy = f.from_proxy;
        o.what.to_proxy = f.to_proxy;
        out.push_back(o);
        return What::operations;
    }
    if (!e.is(SASSDEC_KIND_CACHE) || e.cache > SASSDEC_CACHE_TEXTURE) return What::ran;
    const sassemu_cache_op c = shown_cache_operation(e);
    MemoryOperation o(SASSEMU_OPERATION_CACHE);
    o.what.cache = c.cache;
    o.what.action = c.action;
    if (const sassdec_operand* at = e.operand(e.address); at && at->kind == SASSDEC_OP_MEM) {
        // A register pair and an offset.
        o.what.has_address = 1;
        o.what.address = static_cast<uint64_t>(static_cast<int64_t>(at->offset));
        for (size_t k = 0; k < i.reads.size(); ++k) {
            const uint32_t r = code.registers()[i.reads[k]];
            if (!(at->flags & SASSDEC_HAS_REG) || at->index == SASSDEC_RZ) continue;
            if (r == at->index) o.what.address += in[k];
            if (at->width > 1 && r == at->index + 1u) o.what.address += in[k] << 32;
        }
    }
    out.push_back(o);
    return What::operations;
}

// Notes the arrival; true when it waits.
bool SassFetch::arrive(SassState& s, uint32_t thread, const BarrierRequest& r) const {
    const int32_t cta = test_.threads[thread].cta;
    const std::pair key{cta, r.id | r.threads << 8};
    auto& arrived = s.barriers[key];
    arrived.resize(test_.threads.size());
    arrived[thread] = true;
    if (r.op == BarrierOp::arrive) return false;
    s.threads[thread].barrier = static_cast<int32_t>(r.id | r.threads << 8);
    return true;
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
        for (auto& t : s.threads)
            if (t.barrier == static_cast<int32_t>(which) &&
                test_.threads[static_cast<size_t>(&t - s.threads.data())].cta == cta)
                t.barrier = -1;
        it = s.barriers.erase(it);
    }
}

}  // namespace sassemu::explore
