// SPDX-License-Identifier: Apache-2.0
// See sass_fetch.hpp.
#include "emu/explore/sass_fetch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/async/mbarrier.hpp"
#include "emu/memory/perform.hpp"
#include "sassdec/ids.h"

namespace sassemu::explore {

namespace reg = sass_register;

namespace {

constexpr uint32_t most_cells = 4096;
constexpr uint32_t ended_pc = ~0u;

}  // namespace

SassFetch::SassFetch(const Test& test) : test_(test) {
    for (uint32_t l = 0; l < test.locations.size(); ++l) {
        first_.push_back(cells());
        if (test.locations[l].space != SASSEMU_SPACE_GLOBAL) continue;
        const auto& image = test.sass->image(l);
        for (uint64_t at = 0; at < test.locations[l].bytes; at += 4) {
            uint32_t v = 0;
            std::memcpy(&v, image.data() + at, std::min<uint64_t>(4, image.size() - at));
            initial_.push_back(v);
            if (cells() > most_cells) {
                refuse("more than " + std::to_string(4 * most_cells) + " bytes of global memory");
                return;
            }
        }
    }
}

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
                                std::vector<Instruction>& out, std::vector<uint64_t>& values) {
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
        return order(code, pc++, in, out, values);
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
        } else {
            object = e.object;
        }
        std::memcpy(at, &object, 8);
        write();
        ++pc;
        return What::ran;
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
            return What::ran;
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
        if (access(s, thread, code, pc, a, a.address[lane.lane()], registers, out, values) ==
            What::blocked)
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
                                  std::vector<uint64_t>& registers, std::vector<Instruction>& out,
                                  std::vector<uint64_t>& values) {
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
    if (a.bytes < 4 || (!loads && !stores && (a.bytes != 4 || a.type != AtomicType::u32)))
        if (!(a.bytes == 4 && a.type == AtomicType::s32))
            return where(thread, code, pc,
                         "is not explored by this model: it takes words of 32 bits"),
                   What::blocked;
    const Name& name = test_.names[place.name];
    const bool wide = a.scope == MemScope::cluster || a.scope == MemScope::vc ||
                      a.scope == MemScope::gpu || a.scope == MemScope::sys;
    for (uint32_t k = 0; k < words; ++k) {
        Instruction op;
        op.op = explore::Op::sass;
        op.b.value = cell_of(name.location, name.offset + place.offset + 4 * k);
        op.form = loads ? a.proxy == Proxy::texture ? "TLD" : "LD" : stores ? "ST" : "ATOM";
        op.reads_only = wide && a.ordering != Ordering::weak;  // past L1
        if (!stores && a.op != AccessOp::reduce)
            if (const int32_t r = number(a.destination, k); r >= 0) {
                op.a.kind = Operand::Kind::reg;
                op.a.reg = static_cast<uint32_t>(r);
            }
        if (op.form == "ATOM") {
            op.instance = static_cast<int32_t>(a.atomic) | static_cast<int32_t>(a.type) << 8;
            op.d.value = value(a.source[1], 0);
        }
        op.text = code.text(pc);
        values.push_back(loads ? 0 : value(a.source[0], k));
        out.push_back(std::move(op));
    }
    return What::operations;
}

// MEMBAR and the operations on caches; the rest of their kind has nothing to wait for here.
SassFetch::What SassFetch::order(const SassCode& code, uint32_t pc, const std::vector<uint64_t>& in,
                                 std::vector<Instruction>& out, std::vector<uint64_t>& values) {
    const SassInstruction& i = code.at(pc);
    const Event& e = i.event;
    Instruction op;
    op.op = explore::Op::sass;
    op.text = code.text(pc);
    const auto emit = [&] {
        out.push_back(op);
        values.push_back(0);
        return What::operations;
    };
    if (e.is(SASSDEC_KIND_FENCE) && e.action != SASSDEC_ACTION_ERROR) {
        op.form = "MEMBAR";
        op.scope = e.action != SASSDEC_ACTION_PLAIN ? 2
                   : e.scope == SASSDEC_SCOPE_SYS   ? 4
                   : e.scope == SASSDEC_SCOPE_GPU   ? 3
                   : e.scope == SASSDEC_SCOPE_VC    ? 2
                                                    : 1;
        return emit();
    }
    const bool texture = e.is(SASSDEC_KIND_CACHE) && e.cache == SASSDEC_CACHE_TEXTURE;
    if (!texture && !e.acts_on_data()) return What::ran;
    op.form = texture ? "CCTLT" : "CCTL";
    if (e.action == SASSDEC_ACTION_INVALIDATE_ALL ||
        e.action == SASSDEC_ACTION_INVALIDATE_ALL_PRIVATE)
        return emit();
    if (const sassdec_operand* at = e.operand(e.address);
        at && e.action == SASSDEC_ACTION_INVALIDATE) {
        // Of a line: its address is a register pair and an offset, as the text has them.
        auto address = static_cast<uint64_t>(static_cast<int64_t>(at->offset));
        for (size_t k = 0; k < i.reads.size(); ++k) {
            const uint32_t r = code.registers()[i.reads[k]];
            if (!(at->flags & SASSDEC_HAS_REG) || at->index == SASSDEC_RZ) continue;
            if (r == at->index) address += in[k];
            if (at->width > 1 && r == at->index + 1u) address += in[k] << 32;
        }
        const uint64_t line = address / 128 * 128;
        for (uint64_t a = line; a < line + 128; a += 4) {
            SassProgram::Place place;
            if (!test_.sass->global(a, 4, place)) continue;
            op.group = true;
            op.b.value = cell_of(test_.names[place.name].location,
                                 test_.names[place.name].offset + place.offset);
            emit();
        }
        return out.empty() ? What::ran : What::operations;
    }
    return What::ran;
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

// Lets go whom barriers kept that are complete now.
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
