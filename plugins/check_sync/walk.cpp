// SPDX-License-Identifier: Apache-2.0
// See walk.hpp. Known is what follows from registers that are known by a few forms of integer
// arithmetic, which indices and their comparisons are made of; all else is unknown, or tainted by
// the value. A comparison that is joined with a predicate, and a selection, take the value only
// where the predicate lets them.
#include "walk.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <utility>

#include "code_paths.hpp"

namespace check_sync {

namespace {

bool holds(char compares, bool is_signed, uint32_t a, uint32_t b) {
    const int64_t x = is_signed ? static_cast<int32_t>(a) : int64_t{a},
                  y = is_signed ? static_cast<int32_t>(b) : int64_t{b};
    switch (compares) {
        case 'L':
            return x < y;
        case 'l':
            return x <= y;
        case 'E':
            return x == y;
        case 'N':
            return x != y;
        case 'g':
            return x >= y;
        default:
            return x > y;
    }
}

}  // namespace

struct Walks::State {
    sassemu_warp warp;
    uint32_t lane;
    sassemu_module module;
    std::string_view function;
    uint64_t at;                // offset in the module's code
    std::string_view called{};  // the function that `function` has called, if it is there
    std::array<Value, rows> rows_{};
    std::bitset<rows> changed{}, tainted{};

    Value get(const sassemu_host& host, uint32_t row) const {
        if (changed[row]) return rows_[row];
        if (row >= predicate_rows)
            return {Value::known, host.predicate(warp, row - predicate_rows) >> lane & 1};
        if (row >= uniform_rows) {
            const uint32_t* const u = host.uniform(warp, row - uniform_rows);
            return u ? Value{Value::known, *u} : Value{};
        }
        const uint32_t* const r = host.row(warp, row);
        return r ? Value{Value::known, r[lane]} : Value{};
    }
    void set(uint32_t row, Value v) {
        changed[row] = true;
        rows_[row] = v;
        tainted[row] = v.kind == Value::tainted;
    }
};

bool Walks::drops(sassemu_warp warp, uint32_t lane, sassemu_insn insn, uint32_t reg) {
    const sassemu_host& host = plugin_.host;
    State s{warp, lane, host.insn_module(insn), host.insn_function(insn),
            host.insn_code_offset(insn) + 16};
    for (const uint32_t row : op(insn).results) s.set(row, {});
    s.set(reg, {Value::tainted, 0});
    left_ = std::min(most_steps_of_one, steps_left_);
    const uint32_t had = left_;
    std::vector<State> open{std::move(s)};
    bool dropped = true;
    while (dropped && !open.empty()) {
        State next = std::move(open.back());
        open.pop_back();
        dropped = walk(std::move(next), open);
    }
    steps_left_ -= had - left_;
    return dropped;
}

// Whether some path of the code from here on reads the row before it is written.
bool Walks::may_read(const State& s, uint32_t row) {
    const sassemu_host& host = plugin_.host;
    const auto [known, fresh] =
        reads_.try_emplace({host.module_insn(s.module, s.at), s.function, row}, true);
    if (!fresh) return known->second;
    CodePaths paths(s.at);
    std::vector<std::string_view> called{s.called};
    for (uint64_t at; paths.next(at);) {
        const sassemu_insn insn = instruction_at(host, s.module, at);
        if (!insn) return true;
        const std::string_view in = host.insn_function(insn);
        if (in != s.function && std::find(called.begin(), called.end(), in) == called.end())
            return true;
        const Op& o = op(insn);
        const bool guarded = o.guard >= 0;
        if (o.does == Does::returns) {
            const auto to = returns_.find({insn, s.function});
            if (to == returns_.end() || to->second.empty()) return true;
            for (const uint64_t back : to->second) paths.add(back);
        } else if (o.does == Does::calls) {
            find_returns(o.target, s);
            called.emplace_back(host.insn_function(host.module_insn(s.module, o.target)));
            paths.add(o.target);
        }
        if (std::find(o.reads.begin(), o.reads.end(), row) != o.reads.end() ||
            (guarded && row == predicate_rows + static_cast<uint32_t>(o.guard)) ||
            o.does == Does::bails || (o.does == Does::branches && !o.has_target))
            return true;
        if (o.does == Does::branches) paths.add(o.target);
        const bool writes = std::find(o.results.begin(), o.results.end(), row) != o.results.end();
        if (o.goes_on() && (guarded || !writes)) paths.add(at + 16);
    }
    return known->second = false;
}

// Where the function at `entry` may return to when s.function calls it: what the latter's code
// moves to the register that it returns by. Nowhere where that cannot be told.
void Walks::find_returns(uint64_t entry, const State& s) {
    const sassemu_host& host = plugin_.host;
    if (!returns_.try_emplace({host.module_insn(s.module, entry), s.function}).second) return;
    CodePaths paths(entry);
    std::vector<sassemu_insn> ends;
    for (uint64_t at; paths.next(at);) {
        const sassemu_insn insn = instruction_at(host, s.module, at);
        if (!insn) return;
        const Op& o = op(insn);
        if (o.does == Does::calls || o.does == Does::bails) return;
        if (o.does == Does::returns) ends.push_back(insn);
        if (o.does == Does::branches && !o.has_target) return;
        if (o.does == Does::branches) paths.add(o.target);
        if (o.goes_on()) paths.add(at + 16);
    }
    if (ends.empty()) return;
    const uint32_t by = op(ends[0]).reads[0];
    const uint64_t counts_from = op(ends[0]).target;
    for (const sassemu_insn end : ends)
        if (op(end).reads[0] != by || op(end).target != counts_from) return;
    std::vector<uint64_t> to;
    for (uint64_t at = 0; at < host.module_code_bytes(s.module); at += 16) {
        const sassemu_insn insn = host.module_insn(s.module, at);
        const bool in = paths.seen(at);
        if (!insn || (!in && host.insn_function(insn) != s.function)) continue;
        const Op& o = op(insn);
        if (std::find(o.results.begin(), o.results.end(), by) == o.results.end()) continue;
        if (in) return;
        if (o.does != Does::computes || o.has_effect || !o.reads.empty()) continue;
        const Value v = result(s, o);
        const uint64_t place = counts_from + v.bits;
        if (v.kind == Value::known && v.bits % 16 == 0 && place < host.module_code_bytes(s.module))
            to.push_back(place);
    }
    for (const sassemu_insn end : ends) returns_[{end, s.function}] = to;
}

void Walks::forget_dead(State& s) {
    for (uint32_t row = 0; row < rows; ++row)
        if (s.tainted[row] && !may_read(s, row)) s.set(row, {});
}

// One path; others that begin on it become open ones.
bool Walks::walk(State s, std::vector<State>& open) {
    const sassemu_host& host = plugin_.host;
    forget_dead(s);
    while (s.tainted.any()) {
        if (!left_) return false;
        --left_;
        const sassemu_insn insn = instruction_at(host, s.module, s.at);
        if (!insn || host.insn_function(insn) != (s.called.empty() ? s.function : s.called))
            return false;
        const Op& o = op(insn);
        s.at += 16;
        Value guard{Value::known, 1};
        if (o.guard >= 0) {
            guard = s.get(host, predicate_rows + static_cast<uint32_t>(o.guard));
            guard.bits ^= o.guard_inverted;
        }
        if (guard.kind == Value::known && !guard.bits) continue;
        const bool reads_it = std::any_of(o.reads.begin(), o.reads.end(),
                                          [&](uint32_t row) { return s.tainted[row]; });
        const bool matters = o.has_effect || o.does == Does::crosses;
        if (matters && (reads_it || guard.kind == Value::tainted)) return false;
        switch (o.does) {
            case Does::bails:
                return false;
            case Does::ends:
                if (guard.kind == Value::known) return true;
                continue;
            case Does::branches: {
                if (!o.has_target) return false;
                if (guard.kind != Value::known || o.forks) {
                    if (open.size() == most_open) return false;
                    open.push_back(s);
                    open.back().at = o.target;
                } else {
                    s.at = o.target;
                }
                forget_dead(s);
                continue;
            }
            case Does::calls:
                if (guard.kind != Value::known || !s.called.empty()) return false;
                find_returns(o.target, s);
                s.at = o.target;
                s.called = host.insn_function(host.module_insn(s.module, s.at));
                continue;
            case Does::returns: {
                const Value low = s.get(host, o.reads[0]), high = s.get(host, o.reads[1]);
                if (guard.kind != Value::known || s.called.empty() || low.kind != Value::known ||
                    high.kind != Value::known)
                    return false;
                s.at = o.target + (low.bits | uint64_t{high.bits} << 32);
                s.called = {};
                continue;
            }
            default:
                break;
        }
        if (guard.kind == Value::known) {
            perform(s, o);
            continue;
        }
        // It is executed, or it is not.
        State other = s;
        perform(other, o);
        for (const uint32_t row : o.results) {
            const Value a = s.get(host, row), b = other.get(host, row);
            const bool taints = guard.kind == Value::tainted || a.kind == Value::tainted ||
                                b.kind == Value::tainted;
            const bool alike = a.kind == Value::known && b.kind == Value::known && a.bits == b.bits;
            s.set(row, taints ? Value{Value::tainted, 0} : alike ? a : Value{});
        }
    }
    return true;
}

Walks::Value Walks::source(const State& s, const sassemu_operand& o) const {
    Value v;
    switch (o.kind) {
        case SASSEMU_OPERAND_REGISTER:
            v = o.index == SASSEMU_RZ ? Value{Value::known, 0} : s.get(plugin_.host, o.index);
            break;
        case SASSEMU_OPERAND_PREDICATE:
        case SASSEMU_OPERAND_UNIFORM_PREDICATE:
            v = o.index == SASSEMU_PT
                    ? Value{Value::known, 1}
                    : s.get(plugin_.host,
                            predicate_rows + o.index +
                                (o.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE ? 8 : 0));
            v.bits ^= o.inverted;
            return v;
        case SASSEMU_OPERAND_UNIFORM_REGISTER:
            v = s.get(plugin_.host, uniform_rows + (o.index & 255));
            break;
        case SASSEMU_OPERAND_IMMEDIATE:
            v = {Value::known, static_cast<uint32_t>(o.value)};
            break;
        case SASSEMU_OPERAND_CONSTANT:
            if (!o.has_uniform)
                v = {Value::known,
                     plugin_.host.constant(s.warp, o.bank, static_cast<uint32_t>(o.value))};
            break;
        default:
            return {};
    }
    if (o.absolute) v.kind = std::max(v.kind, Value::unknown);
    if (o.inverted && o.kind != SASSEMU_OPERAND_IMMEDIATE) v.bits = ~v.bits;
    if (o.negated && o.kind != SASSEMU_OPERAND_IMMEDIATE) v.bits = 0u - v.bits;
    return v;
}

// Of all sources together.
Walks::Value Walks::result(const State& s, const Op& o) const {
    std::array<Value, 5> v;
    Value::Kind worst = Value::known;
    for (size_t k = 0; k < o.sources.size(); ++k) {
        const Value one = source(s, o.sources[k]);
        if (k < v.size()) v[k] = one;
        worst = std::max(worst, one.kind);
    }
    for (const uint32_t row : o.reads)  // all words of a wide operand
        if (s.tainted[row]) worst = Value::tainted;
    if (worst == Value::known && o.form == Form::other) worst = Value::unknown;
    if (worst != Value::known) return {worst, 0};
    const auto least = [&](uint32_t a, uint32_t b, const Value& min) {
        return holds('L', o.is_signed, a, b) == (min.bits != 0) ? a : b;
    };
    switch (o.form) {
        case Form::add:
            return {worst, v[0].bits + v[1].bits + v[2].bits};
        case Form::multiply:
            return {worst, v[0].bits * v[1].bits + v[2].bits};
        case Form::shift_add:
            return {worst, (v[0].bits << (v[2].bits & 31)) + v[1].bits};
        case Form::shift: {
            const uint32_t by = v[1].bits;
            if (by > 31) return {};
            if (!o.right) return {worst, v[0].bits << by};
            return {worst, o.is_signed
                               ? static_cast<uint32_t>(static_cast<int32_t>(v[2].bits) >> by)
                               : v[2].bits >> by};
        }
        case Form::minmax:
            return {worst, least(v[0].bits, v[1].bits, v[2])};
        case Form::add_minmax:
            return {worst, least(v[0].bits + v[1].bits, v[2].bits, v[3])};
        case Form::logic: {
            uint32_t bits = 0;
            for (uint32_t k = 0; k < 32; ++k) {
                const uint32_t in =
                    (v[0].bits >> k & 1) << 2 | (v[1].bits >> k & 1) << 1 | (v[2].bits >> k & 1);
                bits |= (v[3].bits >> in & 1) << k;
            }
            return {worst, bits};
        }
        case Form::predicates: {  // P2R
            uint32_t bits = 0;
            for (uint32_t p = 0; p < 7; ++p) {
                if (!(v[1].bits >> p & 1)) continue;
                const Value one = s.get(plugin_.host, predicate_rows + p);
                if (one.kind != Value::known) return {};
                bits |= one.bits << p;
            }
            const uint32_t by = v[2].bits;
            return {worst, (v[0].bits & ~((v[1].bits & 0xff) << by)) | bits << by};
        }
        case Form::other:
            break;
    }
    return {};
}

void Walks::perform(State& s, const Op& o) const {
    const auto give = [&](size_t k, Value v) {
        if (k < o.named.size() && o.named[k] != no_row) s.set(o.named[k], v);
    };
    switch (o.does) {
        case Does::selects: {
            const Value which = source(s, o.sources[2]);
            const Value a = source(s, o.sources[0]), b = source(s, o.sources[1]);
            Value v = which.bits ? a : b;
            if (which.kind != Value::known) v = {std::max({which.kind, a.kind, b.kind}), 0};
            return give(0, v);
        }
        case Does::compares: {
            Value with{Value::known, 1}, compared;
            std::vector<Value> v;
            bool has_with = false;
            Value::Kind worst = Value::known;
            for (const sassemu_operand& operand : o.sources) {
                const Value one = source(s, operand);
                const bool predicate = operand.kind == SASSEMU_OPERAND_PREDICATE ||
                                       operand.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE;
                if (predicate && !std::exchange(has_with, true)) {
                    with = one;
                    continue;
                }
                v.push_back(one);
                worst = std::max(worst, one.kind);
            }
            for (const uint32_t row : o.reads)  // of wide operands
                if (row < predicate_rows && s.tainted[row]) worst = Value::tainted;
            compared.kind = worst;
            if (worst == Value::known) {
                if (o.compares && v.size() >= 2)
                    compared.bits = holds(o.compares, o.is_signed, v[0].bits, v[1].bits);
                else
                    compared.kind = Value::unknown;
            }
            for (const bool first : {true, false}) {
                Value c = compared;
                if (!first) c.bits ^= 1;
                const auto is_known = [](const Value& x, uint32_t bits) {
                    return x.kind == Value::known && x.bits == bits;
                };
                Value joined;
                if (o.joins == '&' && (is_known(c, 0) || is_known(with, 0)))
                    joined = {Value::known, 0};
                else if (o.joins == '|' && (is_known(c, 1) || is_known(with, 1)))
                    joined = {Value::known, 1};
                else
                    joined = {std::max(c.kind, with.kind), o.joins == '&'   ? c.bits & with.bits
                                                           : o.joins == '|' ? c.bits | with.bits
                                                                            : c.bits ^ with.bits};
                give(first ? 0 : 1, joined);
            }
            return;
        }
        case Does::combines: {  // PLOP3: three predicates, two tables
            std::array<Value, 3> in;
            for (size_t k = 0; k < 3; ++k) in[k] = source(s, o.sources[k]);
            Value::Kind worst = Value::known;
            for (const Value& v : in) worst = std::max(worst, v.kind);
            for (size_t table = 0; table < 2; ++table) {
                uint32_t seen = 0;
                for (uint32_t k = 0; k < 8; ++k) {
                    const auto fits = [&](size_t n, uint32_t bit) {
                        return in[n].kind != Value::known || in[n].bits == bit;
                    };
                    if (fits(0, k >> 2 & 1) && fits(1, k >> 1 & 1) && fits(2, k & 1))
                        seen |= 1u << (static_cast<uint32_t>(o.sources[3 + table].value) >> k & 1);
                }
                give(table, seen == 3 ? Value{worst, 0} : Value{Value::known, seen >> 1});
            }
            return;
        }
        default:
            break;
    }
    // What comes from memory and from other lanes has nothing of the value.
    const Value v = o.has_effect || o.does == Does::crosses ? Value{} : result(s, o);
    const auto main = std::find_if(o.named.begin(), o.named.end(),
                                   [](uint32_t row) { return row < uniform_rows; });
    for (const uint32_t row : o.results) {
        const bool is_main = main != o.named.end() && row == *main;
        Value given = v;
        if (v.kind == Value::known && o.form == Form::logic && row >= predicate_rows)
            given.bits = v.bits || source(s, o.sources.back()).bits;  // whether any bit is set
        else if (v.kind == Value::known && o.form == Form::shift && row >= predicate_rows)
            given.bits = v.bits >> (row - predicate_rows) & 1;  // R2P
        else if (v.kind == Value::known && !is_main)
            given = {};
        s.set(row, given);
    }
}

}  // namespace check_sync
