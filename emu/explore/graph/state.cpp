// SPDX-License-Identifier: Apache-2.0
// Values of an execution under construction, and what a test fixes once for all. See state.hpp.
#include "emu/explore/graph/state.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <span>

#include "emu/async/reduction.hpp"
#include "emu/async/tensor_statistic.hpp"
#include "emu/explore/sass/program.hpp"
#include "emu/memory/perform.hpp"

namespace sassemu::explore {
namespace {

constexpr int deepest =
    400;  // of a value: a model without No-Thin-Air may let a value depend on itself

uint64_t low(uint64_t v, uint64_t bytes) {
    return bytes >= 8 ? v : v & ((uint64_t{1} << 8 * bytes) - 1);
}

// `wanted`: the registers that the condition asks for at the end.
std::vector<std::vector<bool>> liveness(const Thread& t, const std::vector<bool>& wanted) {
    const size_t n = t.code.size(), regs = t.registers.size();
    std::vector<std::vector<bool>> in(n + 1, std::vector<bool>(regs, false));
    in[n] = wanted;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = n; k-- > 0;) {
            const Operation& o = t.code[k].what;
            const auto* branch = std::get_if<op::Branch>(&o);
            std::vector<bool> live = branch && !branch->if_equal ? in[branch->target] : in[k + 1];
            if (branch)
                for (size_t r = 0; r < regs; ++r) live[r] = live[r] || in[branch->target][r];
            for_operands(
                o, Overloaded{[&](Register to) { live[to.number] = false; }, [](const auto&) {}});
            for_operands(o, Overloaded{[&](const Argument& from) {
                                           if (const auto* r = std::get_if<Register>(&from))
                                               live[r->number] = true;
                                       },
                                       [](const auto&) {}});
            if (live != in[k]) in[k] = std::move(live), changed = true;
        }
    }
    return in;
}

// A value of kind sass, when those that it is made of are known.
std::optional<uint64_t> compute(const State& s, const Value& v, const Program& p, int depth) {
    const SassProgram& sass = *p.test.sass;
    const uint32_t thread = v.b, pc = v.c;
    const SassInstruction& i = sass.code(sass.thread(thread).launch).at(pc);
    const bool address = v.a == Value::address;
    std::vector<uint64_t> in(i.reads.size());
    for (size_t k = 0; k < in.size(); ++k) {
        if (address && i.data[k]) continue;
        const auto known = s.slice((*v.inputs)[k], 0, 8, p, depth + 1);
        if (!known) return std::nullopt;
        in[k] = *known;
    }
    const SassEffects& e = sass.run(thread, pc, in);
    const SassLane& lane = sass.lane(thread);
    if (!address) return lane.get(v.a);
    return e.accesses.empty() ? 0 : e.accesses[0].address[lane.lane()];
}

// Bytes [first, first + bytes) of what a bulk reduction makes, element by element.
std::optional<uint64_t> reduce(const State& s, const Value& v, uint64_t first, uint64_t bytes,
                               const Program& p, int depth) {
    const uint64_t each = async::step_bytes(v.type), begin = first / each * each;
    std::array<uint64_t, 2> now{}, with{};
    const uint64_t end = std::min(first + bytes, v.bytes);
    for (uint64_t k = 0; begin + 8 * k < end; ++k) {
        const uint64_t at = begin + 8 * k, count = std::min<uint64_t>(8, v.bytes - at);
        const auto a = s.slice(v.a, at, count, p, depth + 1);
        if (!a) return std::nullopt;
        const auto b = s.slice(v.b, v.constant + at, count, p, depth + 1);
        if (!b) return std::nullopt;
        now[k] = *a;
        with[k] = *b;
    }
    async::reduce_words(std::as_writable_bytes(std::span(now)).data(),
                        std::as_bytes(std::span(with)).data(), sizeof now, v.atomic, v.type);
    const uint64_t shift = 8 * (first - begin);
    return low(shift ? now[0] >> shift | now[1] << (64 - shift) : now[0], bytes);
}

// Ranges of memory as their values have them; false: not all are known.
bool fill(const State& s, const std::vector<std::pair<SharedRange, uint32_t>>& ranges,
          std::vector<std::byte>& memory, const Program& p, int depth) {
    for (const auto& [range, value] : ranges)
        for (uint32_t k = 0; k < range.bytes; k += 8) {
            const uint32_t count = std::min(8u, range.bytes - k);
            const auto known = s.slice(value, k, count, p, depth + 1);
            if (!known) return false;
            std::memcpy(memory.data() + range.address + k, &*known, count);
        }
    return true;
}

// Tensor memory after work of the tensor core; empty: not all that it has read is known.
std::vector<std::byte> perform(const State& s, const GraphTensorWork& g, const Program& p,
                               int depth) {
    const PreparedLaunch& launch = p.test.sass->launch(g.launch);
    std::vector<std::byte> shared(launch.launch.shared_bytes), tensor(tensor_memory_bytes);
    if (!fill(s, g.shared, shared, p, depth) || !fill(s, g.tensor, tensor, p, depth)) return {};
    sassemu::explore::perform(launch, g.work, shared.data(), tensor);
    return tensor;
}

// A register of a product, when all that it is made of is known: A of its warp, C of itself.
std::optional<uint64_t> multiply(const State& s, const Value& v, const Program& p, int depth) {
    const GraphProduct& g = *s.products[v.c];
    const SassProgram& sass = *p.test.sass;
    const PreparedLaunch& launch = sass.launch(sass.thread(g.threads[0]).launch);
    Product product = g.product;
    std::vector<std::byte> shared(launch.launch.shared_bytes);
    if (!fill(s, g.shared, shared, p, depth)) return std::nullopt;
    bool open = false;
    const auto number = [&](uint32_t value) {
        const auto known = s.slice(value, 0, 4, p, depth + 1);
        open |= !known;
        return static_cast<uint32_t>(known.value_or(0));
    };
    const RegisterRange a = operands_of(product.what)[0], c = operands_of(product.what)[1];
    const RegisterRange to = results_of(product.what);
    for (uint32_t t = v.a / 32 * 32; t < v.a / 32 * 32 + 32; ++t)
        if (product.what.form.sparse) product.metadata[t] = number(g.metadata[t]);
    uint32_t out = 0;
    sassemu::explore::multiply(
        launch, product, shared.data(),
        [&](uint32_t t, uint32_t index) {
            if (t / 32 != v.a / 32) return 0u;
            if (a.has(index)) return number(g.a[t * a.count + index - a.first]);
            const bool own = t == v.a && index - c.first == v.b;
            return own ? number(g.c[t * c.count + v.b]) : 0u;
        },
        [&](uint32_t t, uint32_t index, uint32_t value) {
            if (t == v.a && index - to.first == v.b) out = value;
        });
    return open ? std::nullopt : std::optional<uint64_t>(out);
}

}  // namespace

uint64_t apply(Arithmetic how, uint64_t a, uint64_t b) {
    switch (how) {
        case Arithmetic::add:
            return a + b;
        case Arithmetic::sub:
            return a - b;
        case Arithmetic::mul:
            return a * b;
        case Arithmetic::and_:
            return a & b;
        case Arithmetic::or_:
            return a | b;
        case Arithmetic::xor_:
            return a ^ b;
        case Arithmetic::equal:
            return a == b;
        case Arithmetic::not_equal:
            return a != b;
    }
    return a;
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
        for (const Statement& i : thread.code)
            for_operands(i.what, Overloaded{[&](const Place& place) {
                                                const Name& n = t.names[place.name];
                                                const uint64_t first = n.offset + place.offset;
                                                marks[n.location].insert(first);
                                                if (place.offset + place.bytes <= n.bytes)
                                                    marks[n.location].insert(first + place.bytes);
                                            },
                                            [](const auto&) {}});
        std::vector<bool> wanted(thread.registers.size());
        for (const Condition* c : asked)
            if (c->kind == Condition::Kind::reg && &t.threads[c->thread] == &thread)
                wanted[c->reg] = true;
        live.push_back(liveness(thread, wanted));
        std::vector<bool> heads(thread.code.size() + 1);
        for (size_t k = 0; k < thread.code.size(); ++k) {
            const auto* branch = std::get_if<op::Branch>(&thread.code[k].what);
            if (branch && branch->target <= k) heads[branch->target] = true;
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
        GraphEvent init;
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
    if (reads.within(values[value].reads)) return value;
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

uint32_t State::arithmetic(Arithmetic how, uint32_t a, uint32_t b) {
    const Value &x = values[a], &y = values[b];
    if (x.kind == Value::Kind::constant && y.kind == Value::Kind::constant)
        return constant(apply(how, x.constant, y.constant), x.reads | y.reads);
    Value out;
    out.kind = Value::Kind::arithmetic;
    out.how = how;
    return made_of(std::move(out), a, b);
}

std::optional<uint64_t> State::piece(const Source& s, uint64_t first, uint64_t bytes,
                                     const Program& p, int depth) const {
    if (s.write < 0) return std::nullopt;
    const GraphEvent& w = events[static_cast<size_t>(s.write)];
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
            const GraphEvent& r = events[v.a];
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
        case Value::Kind::atomic: {
            if (v.known) return part(v.result);
            const auto a = slice(v.a, 0, 8, p, depth + 1);
            if (!a) return std::nullopt;
            const auto b = slice(v.b, 0, 8, p, depth + 1);
            if (!b) return std::nullopt;
            v.result =
                v.kind == Value::Kind::arithmetic
                    ? apply(v.how, *a, *b)
                    : low(atomic_result(v.atomic, v.type, low(*a, v.bytes), low(*b, v.bytes), 0),
                          v.bytes);
            v.known = true;
            return part(v.result);
        }
        case Value::Kind::select: {
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
        case Value::Kind::elements:
            return reduce(*this, v, first, bytes, p, depth);
        case Value::Kind::tensor: {
            const std::vector<std::byte> now = perform(*this, *tensor_work[v.c], p, depth);
            if (now.empty()) return std::nullopt;
            uint64_t out = 0;
            std::memcpy(&out, now.data() + v.constant + first, std::min<uint64_t>(8, bytes));
            return out;
        }
        case Value::Kind::loaded: {
            if (v.known) return part(v.result);
            std::vector<uint32_t> words;
            for (const uint32_t input : *v.inputs) {
                const auto word = slice(input, 0, 4, p, depth + 1);
                if (!word) return std::nullopt;
                words.push_back(static_cast<uint32_t>(*word));
            }
            v.result = async::statistic(tensor_loads[v.c], words);
            v.known = true;
            return part(v.result);
        }
        case Value::Kind::product:
        case Value::Kind::sass: {
            if (!v.known) {
                const auto now = v.kind == Value::Kind::product ? multiply(*this, v, p, depth)
                                                                : compute(*this, v, p, depth);
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
