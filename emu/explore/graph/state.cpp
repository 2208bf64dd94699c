// SPDX-License-Identifier: Apache-2.0
// Values of an execution under construction, and what a test fixes once for all. See state.hpp.
#include "emu/explore/graph/state.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "emu/explore/sass/program.hpp"
#include "emu/memory/perform.hpp"

namespace sassemu::explore {
namespace {

constexpr int deepest =
    400;  // of a value: a model without No-Thin-Air may let a value depend on itself

uint64_t low(uint64_t v, uint64_t bytes) {
    return bytes >= 8 ? v : v & ((uint64_t{1} << 8 * bytes) - 1);
}

// The registers that an instruction reads, and the one it writes (-1: none).
void registers_of(const Instruction& i, std::vector<uint32_t>& reads, int32_t& writes) {
    writes = i.a.kind == Operand::Kind::reg ? static_cast<int32_t>(i.a.reg) : -1;
    for (const Operand* o : {&i.b, &i.c, &i.d})
        if (o->kind == Operand::Kind::reg) reads.push_back(o->reg);
}

// `wanted`: the registers that the condition asks for at the end.
std::vector<std::vector<bool>> liveness(const Thread& t, const std::vector<bool>& wanted) {
    const size_t n = t.code.size(), regs = t.registers.size();
    std::vector<std::vector<bool>> in(n + 1, std::vector<bool>(regs, false));
    in[n] = wanted;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = n; k-- > 0;) {
            const Instruction& c = t.code[k];
            const bool branches = c.op == Op::branch_if_equal || c.op == Op::branch_if_not_equal;
            std::vector<bool> live = c.op == Op::branch ? in[c.target] : in[k + 1];
            if (branches)
                for (size_t r = 0; r < regs; ++r) live[r] = live[r] || in[c.target][r];
            std::vector<uint32_t> reads;
            int32_t writes = -1;
            registers_of(c, reads, writes);
            if (writes >= 0) live[static_cast<size_t>(writes)] = false;
            for (const uint32_t r : reads) live[r] = true;
            if (live != in[k]) in[k] = std::move(live), changed = true;
        }
    }
    return in;
}

// A value of kind sass, when those that it is made of are known.
std::optional<uint64_t> compute(const State& s, const Value& v, const Program& p, int depth) {
    const SassProgram& sass = *p.test.sass;
    const uint32_t thread = v.b, pc = v.c, launch = sass.thread(thread).launch;
    const SassCode& code = sass.code(launch);
    const SassInstruction& i = code.at(pc);
    const bool address = v.a == Value::address;
    std::vector<uint64_t> in(i.reads.size());
    for (size_t k = 0; k < in.size(); ++k) {
        if (address && i.data[k]) continue;
        const auto known = s.slice((*v.inputs)[k], 0, 8, p, depth + 1);
        if (!known) return std::nullopt;
        in[k] = *known;
    }
    SassLane& lane = sass.lane(thread);
    for (size_t k = 0; k < in.size(); ++k)
        lane.set(code.registers()[i.reads[k]], static_cast<uint32_t>(in[k]));
    const SassEffects& e = lane.run(sass.op(launch, pc));
    if (!address) return lane.get(v.a);
    return e.accesses.empty() ? 0 : e.accesses[0].address[lane.lane()];
}

}  // namespace

uint64_t apply(Op op, uint64_t a, uint64_t b) {
    switch (op) {
        case Op::add:
            return a + b;
        case Op::sub:
            return a - b;
        case Op::mul:
            return a * b;
        case Op::and_:
            return a & b;
        case Op::or_:
            return a | b;
        case Op::xor_:
            return a ^ b;
        case Op::equal:
            return a == b;
        case Op::not_equal:
            return a != b;
        default:
            return a;
    }
}

uint64_t apply(AtomicOp op, uint64_t old, uint64_t a, uint64_t bytes) {
    const uint64_t x = low(old, bytes), y = low(a, bytes);
    switch (op) {
        case AtomicOp::add:
            return low(x + y, bytes);
        case AtomicOp::sub:
            return low(x - y, bytes);
        case AtomicOp::increment:
            return x >= y ? 0 : x + 1;
        case AtomicOp::decrement:
            return x == 0 || x > y ? y : x - 1;
        case AtomicOp::and_:
            return x & y;
        case AtomicOp::or_:
            return x | y;
        case AtomicOp::xor_:
            return x ^ y;
        case AtomicOp::min:
            return std::min(x, y);
        case AtomicOp::max:
            return std::max(x, y);
        default:
            return y;
    }
}

std::optional<uint32_t> Program::name_at(uint64_t address, const Test& test) {
    const uint64_t name = address & ~(uint64_t{1} << 62);
    if (!(address >> 62 & 1) || name >= test.names.size()) return std::nullopt;
    return static_cast<uint32_t>(name);
}

Program::Program(const Test& t) : test(t) {
    std::vector<std::set<uint64_t>> marks(t.locations.size());
    image.resize(t.locations.size());
    for (size_t l = 0; l < t.locations.size(); ++l) {
        marks[l] = {0, t.locations[l].bytes};
        image[l].resize(std::max<uint64_t>(t.locations[l].bytes, 8));
    }
    for (const Name& n : t.names) {
        marks[n.location].insert(n.offset);
        marks[n.location].insert(n.offset + n.bytes);
        const uint64_t v = n.initial_address >= 0
                               ? address_of(static_cast<uint32_t>(n.initial_address))
                               : n.initial;
        if (v) std::memcpy(image[n.location].data() + n.offset, &v, std::min<uint64_t>(8, n.bytes));
    }
    if (t.sass)
        for (uint32_t l = 0; l < t.locations.size(); ++l) {
            marks[l] = t.sass->cuts(l);
            image[l] = t.sass->image(l);
        }
    const std::vector<const Condition*> asked =
        t.condition ? leaves(*t.condition) : std::vector<const Condition*>{};
    for (const Thread& thread : t.threads) {
        for (const Instruction& i : thread.code)
            for (const Operand* o : {&i.a, &i.b, &i.c, &i.d}) {
                if (o->kind != Operand::Kind::memory) continue;
                const Name& n = t.names[o->name];
                const uint64_t first = n.offset + o->offset;
                marks[n.location].insert(first);
                if (i.bytes && o->offset + i.bytes <= n.bytes)
                    marks[n.location].insert(first + i.bytes);
            }
        std::vector<bool> wanted(thread.registers.size());
        for (const Condition* c : asked)
            if (c->kind == Condition::Kind::reg && &t.threads[c->thread] == &thread)
                wanted[c->reg] = true;
        live.push_back(liveness(thread, wanted));
        std::vector<bool> heads(thread.code.size() + 1);
        for (size_t k = 0; k < thread.code.size(); ++k) {
            const Instruction& c = thread.code[k];
            const bool branches = c.op == Op::branch || c.op == Op::branch_if_equal ||
                                  c.op == Op::branch_if_not_equal;
            if (branches && c.target <= k) heads[c.target] = true;
        }
        loop_heads.push_back(std::move(heads));
    }
    for (auto& m : marks) cuts.emplace_back(m.begin(), m.end());
}

State::State(const Program& program) {
    const Test& t = program.test;
    values.emplace_back();
    launched.assign(t.threads.size(), -1);
    uint32_t number = 0;
    for (const Thread& thread : t.threads) {
        ThreadState s;
        if (thread.sass) s.pc = t.sass->entry(t.sass->thread(number).launch);
        ++number;
        s.status = thread.starts ? ThreadStatus::running : ThreadStatus::not_started;
        for (const uint64_t v : thread.initial) s.registers.push_back(constant(v));
        threads.push_back(std::move(s));
    }
    for (uint32_t l = 0; l < t.locations.size(); ++l) {
        Event init;
        init.e.kind = SASSEMU_EVENT_WRITE | SASSEMU_EVENT_INIT;
        init.e.thread = init.e.agent = init.e.source = -1;
        init.e.cta = init.e.cluster = init.e.gpu = -2;
        init.e.owner = t.locations[l].cta;
        init.e.space = t.locations[l].space;
        init.e.location = l;
        init.e.alias = ~0u;
        init.e.bytes = t.locations[l].bytes;
        events.push_back(std::move(init));
    }
}

uint32_t State::add(Value v) {
    values.push_back(std::move(v));
    return static_cast<uint32_t>(values.size() - 1);
}

uint32_t State::constant(uint64_t v) {
    if (v == 0) return 0;
    uint32_t& slot = constants[(v * 0x9e3779b97f4a7c15u) >> 57];
    if (slot && values[slot].constant == v) return slot;
    Value out;
    out.constant = v;
    return slot = add(std::move(out));
}
uint32_t State::constant(uint64_t v, const Events& reads) {
    if (reads.none()) return constant(v);
    Value out;
    out.constant = v;
    out.reads = reads;
    return add(std::move(out));
}
uint32_t State::depending(uint32_t value, const Events& reads) {
    if ((reads & ~values[value].reads).none()) return value;
    Value out = values[value];
    out.reads |= reads;
    return add(std::move(out));
}
uint32_t State::part(uint32_t value, uint64_t first, uint64_t bytes, bool sign) {
    Value out;
    out.kind = Value::Kind::part;
    out.a = value;
    out.constant = first;
    out.bytes = bytes;
    out.sign = sign;
    out.reads = values[value].reads;
    return add(std::move(out));
}
uint32_t State::made_of(Value v, uint32_t a, uint32_t b, uint32_t c) {
    v.a = a;
    v.b = b;
    v.c = c;
    v.reads = values[a].reads | values[b].reads | values[c].reads;
    return add(std::move(v));
}
uint32_t State::join(uint32_t low, uint64_t bytes, uint32_t high) {
    Value out;
    out.kind = Value::Kind::join;
    out.bytes = bytes;
    return made_of(std::move(out), low, high);
}
uint32_t State::select(uint32_t condition, uint32_t yes, uint32_t no) {
    Value out;
    out.kind = Value::Kind::select;
    return made_of(std::move(out), condition, yes, no);
}

uint32_t State::read_value(uint32_t event) {
    Value out;
    out.kind = Value::Kind::read;
    out.a = event;
    out.reads.set(event);
    return add(std::move(out));
}

uint32_t State::arithmetic(Op op, uint32_t a, uint32_t b) {
    const Value &x = values[a], &y = values[b];
    if (x.kind == Value::Kind::constant && y.kind == Value::Kind::constant)
        return constant(apply(op, x.constant, y.constant), x.reads | y.reads);
    Value out;
    out.kind = Value::Kind::arithmetic;
    out.op = op;
    return made_of(std::move(out), a, b);
}

std::optional<uint64_t> State::piece(const Source& s, uint64_t first, uint64_t bytes,
                                     const Program& p, int depth) const {
    if (s.write < 0) return std::nullopt;
    const Event& w = events[static_cast<size_t>(s.write)];
    if (w.e.kind & SASSEMU_EVENT_INIT) {
        uint64_t v = 0;
        const auto& image = p.image[w.e.location];
        if (first < image.size())
            std::memcpy(&v, image.data() + first,
                        std::min<uint64_t>({8, bytes, image.size() - first}));
        return low(v, bytes);
    }
    return slice(w.value, first - w.e.first, bytes, p, depth + 1);
}

std::optional<uint64_t> State::slice(uint32_t value, uint64_t first, uint64_t bytes,
                                     const Program& p, int depth) const {
    if (depth > deepest) {
        p.too_deep = true;
        return std::nullopt;
    }
    const Value& v = values[value];
    const auto part = [&](uint64_t whole) {
        return first >= 8 ? 0 : low(whole >> 8 * first, bytes);
    };
    switch (v.kind) {
        case Value::Kind::constant:
            return part(v.constant);
        case Value::Kind::read: {
            const Event& r = events[v.a];
            const uint64_t begin = r.e.first + first,
                           end = std::min(begin + bytes, r.e.first + r.e.bytes);
            uint64_t out = 0;
            for (uint32_t i = 0; i < r.pieces; ++i) {
                const Source& s = sources[r.first_piece + i];
                const uint64_t from = std::max(begin, s.first),
                               to = std::min(end, s.first + s.bytes);
                if (from >= to) continue;
                const auto got = piece(s, from, std::min<uint64_t>(8, to - from), p, depth);
                if (!got) return std::nullopt;
                if (from - begin < 8) out |= *got << 8 * (from - begin);
            }
            return low(out, bytes);
        }
        case Value::Kind::arithmetic:
        case Value::Kind::atomic:
        case Value::Kind::sass_atomic: {
            if (v.known) return part(v.result);
            const auto a = slice(v.a, 0, 8, p, depth + 1);
            if (!a) return std::nullopt;
            const auto b = slice(v.b, 0, 8, p, depth + 1);
            if (!b) return std::nullopt;
            v.result = v.kind == Value::Kind::arithmetic ? apply(v.op, *a, *b)
                       : v.kind == Value::Kind::atomic
                           ? apply(v.atomic, *a, *b, v.bytes)
                           : low(atomic_result(static_cast<sassemu::AtomicOp>(v.operation),
                                               static_cast<AtomicType>(v.type), *a, *b, 0),
                                 v.bytes);
            v.known = true;
            return part(v.result);
        }
        case Value::Kind::nonzero: {
            const auto a = slice(v.a, 0, 8, p, depth + 1);
            if (!a) return std::nullopt;
            return part(*a != 0);
        }
        case Value::Kind::select: {  // a ? b : c, of registers
            if (v.known) return part(v.result);
            const auto a = slice(v.a, 0, 8, p, depth + 1);
            if (!a) return std::nullopt;
            const auto chosen = slice(*a ? v.b : v.c, 0, 8, p, depth + 1);
            if (!chosen) return std::nullopt;
            v.result = *chosen;
            v.known = true;
            return part(v.result);
        }
        case Value::Kind::part: {
            const auto a = slice(v.a, v.constant, v.bytes, p, depth + 1);
            if (!a) return std::nullopt;
            // To 32 bits, as loads extend.
            const uint64_t top = uint64_t{1} << (8 * std::min<uint64_t>(v.bytes, 8) - 1);
            return part(v.sign && v.bytes < 4 && *a & top ? (*a | ~(2 * top - 1)) & 0xffffffff
                                                          : *a);
        }
        case Value::Kind::join: {
            uint64_t out = 0, done = 0;
            if (first < v.bytes) {
                done = std::min(bytes, v.bytes - first);
                const auto a = slice(v.a, first, done, p, depth + 1);
                if (!a) return std::nullopt;
                out = *a;
            }
            if (done < bytes && done < 8) {
                const auto b = slice(v.b, first + done - v.bytes, bytes - done, p, depth + 1);
                if (!b) return std::nullopt;
                out |= *b << 8 * done;
            }
            return low(out, bytes);
        }
        case Value::Kind::sass: {
            if (!v.known) {
                const auto now = compute(*this, v, p, depth);
                if (!now) return std::nullopt;
                v.result = *now;
                v.known = true;
            }
            return part(v.result);
        }
    }
    return std::nullopt;
}

bool State::assumptions_hold(const Program& p) const {
    return std::all_of(assumptions.begin(), assumptions.end(), [&](const Assumption& a) {
        const auto v = evaluate(a.value, p);
        return !v || (*v != 0) == a.truth;
    });
}

}  // namespace sassemu::explore
