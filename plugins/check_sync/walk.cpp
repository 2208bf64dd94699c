// SPDX-License-Identifier: Apache-2.0
// See walk.hpp. Known is what follows from registers that are known by a few forms of integer
// arithmetic, which indices and their comparisons are made of; all else is unknown, or tainted by
// the value. A comparison that is joined with a predicate, and a selection, take the value only
// where the predicate lets them.
#include "walk.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <initializer_list>
#include <unordered_set>
#include <utility>

namespace check_sync {

namespace {

// Rows: R, UR, P, UP.
constexpr uint32_t uniform_rows = 256, predicate_rows = 512, rows = 528, no_row = ~0u;

bool is(std::string_view word, std::initializer_list<std::string_view> all) {
    return std::find(all.begin(), all.end(), word) != all.end();
}

std::vector<std::string_view> parts_of(std::string_view name) {  // ISETP.LT.AND
    std::vector<std::string_view> parts;
    for (size_t at = 0; at <= name.size();) {
        const size_t dot = std::min(name.find('.', at), name.size());
        parts.push_back(name.substr(at, dot - at));
        at = dot + 1;
    }
    return parts;
}

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
    uint64_t at;  // offset in the module's code
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
    const auto [known, fresh] = reads_.try_emplace({host.module_insn(s.module, s.at), row}, true);
    if (!fresh) return known->second;
    std::vector<uint64_t> open{s.at};
    std::unordered_set<uint64_t> seen;
    while (!open.empty()) {
        const uint64_t at = open.back();
        open.pop_back();
        if (!seen.insert(at).second) continue;
        const sassemu_insn insn =
            at < host.module_code_bytes(s.module) ? host.module_insn(s.module, at) : nullptr;
        if (!insn || host.insn_function(insn) != s.function) return true;
        const Op& o = op(insn);
        const bool guarded = o.guard >= 0;
        if (std::find(o.reads.begin(), o.reads.end(), row) != o.reads.end() ||
            (guarded && row == predicate_rows + static_cast<uint32_t>(o.guard)) ||
            o.does == Does::bails || (o.does == Does::branches && !o.has_target))
            return true;
        if (o.does == Does::branches) open.push_back(o.target);
        const bool goes_on = o.does == Does::branches ? guarded || o.forks : o.does != Does::ends;
        const bool writes = std::find(o.results.begin(), o.results.end(), row) != o.results.end();
        if (guarded || (goes_on && !writes)) open.push_back(at + 16);
    }
    return known->second = false;
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
        const sassemu_insn insn =
            s.at < host.module_code_bytes(s.module) ? host.module_insn(s.module, s.at) : nullptr;
        if (!insn || host.insn_function(insn) != s.function) return false;
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

const Walks::Op& Walks::op(sassemu_insn insn) {
    const auto known = ops_.find(insn);
    return known != ops_.end() ? known->second : ops_.emplace(insn, read(insn)).first->second;
}

Walks::Op Walks::read(sassemu_insn insn) const {
    const sassemu_host& host = plugin_.host;
    Op o;
    sassemu_register_set sets[2]{};
    for (auto& set : sets) set.size = sizeof set;
    host.insn_register_sets(insn, &sets[0], &sets[1]);
    std::string_view text = host.insn_text(insn);
    if (text.starts_with('@')) {
        const size_t p = text.find('P');
        o.guard_inverted = text[1] == '!';
        if (text[p + 1] != 'T') o.guard = text[p + 1] - '0' + (text[p - 1] == 'U' ? 8 : 0);
        if (text[p + 1] == 'T' && o.guard_inverted) o.does = Does::bails;
        text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
    }
    for (const bool writes : {false, true}) {
        auto& all = writes ? o.results : o.reads;
        for (uint32_t r = 0; r < 255; ++r) {
            if (sets[writes].r[r / 64] >> r % 64 & 1) all.push_back(r);
            if (sets[writes].ur[r / 64] >> r % 64 & 1) all.push_back(uniform_rows + r);
        }
        for (uint32_t p = 0; p < 16; ++p) {
            const uint32_t bits = uint32_t{sets[writes].p} | uint32_t{sets[writes].up} << 8;
            if (bits >> p & 1 && (writes || static_cast<int>(p) != o.guard))
                all.push_back(predicate_rows + p);
        }
    }
    for (uint32_t k = 0; k < host.insn_operands(insn); ++k) {
        const sassemu_operand operand = plugin_.operand(insn, k);
        if (!operand.is_destination) {
            o.sources.push_back(operand);
            continue;
        }
        uint32_t row = no_row;
        if (operand.kind == SASSEMU_OPERAND_REGISTER && operand.index != SASSEMU_RZ)
            row = operand.index;
        if (operand.kind == SASSEMU_OPERAND_PREDICATE && operand.index != SASSEMU_PT)
            row = predicate_rows + operand.index;
        if (operand.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE && operand.index != SASSEMU_PT)
            row = predicate_rows + 8 + operand.index;
        if (operand.kind == SASSEMU_OPERAND_UNIFORM_REGISTER)
            row = uniform_rows + (operand.index & 255);
        o.named.push_back(row);
    }
    const sassemu_effect e = plugin_.effect(insn);
    o.has_effect = e.kind != SASSEMU_EFFECT_NONE;
    const std::string_view name = text.substr(0, text.find_first_of(" ;"));
    if (e.kind == SASSEMU_EFFECT_CONTROL) {
        const uint64_t start = host.insn_code_offset(insn) - host.insn_pc(insn);
        if (e.action == SASSEMU_ACTION_BRANCH && (name == "BRA" || name.starts_with("BRA."))) {
            o.does = Does::branches;
            o.forks = name != "BRA" && name != "BRA.U";
            for (const sassemu_operand& operand : o.sources) {
                if (operand.kind == SASSEMU_OPERAND_IMMEDIATE) {
                    o.target = start + static_cast<uint64_t>(operand.value);
                    o.has_target = true;
                } else if (operand.kind != SASSEMU_OPERAND_PREDICATE ||
                           operand.index != SASSEMU_PT || operand.inverted) {
                    o.forks = true;
                }
            }
        } else if (name == "EXIT") {
            o.does = Does::ends;
        } else if (e.action != SASSEMU_ACTION_ALLOCATE) {
            o.does = Does::bails;
        }
        return o;
    }
    // Which predicates these read and write, their mask says.
    const auto masked = [&](std::vector<uint32_t>& to, uint64_t mask) {
        for (uint32_t p = 0; p < 7; ++p)
            if (mask >> p & 1) to.push_back(predicate_rows + p);
    };
    if (name.starts_with("UR2UP") || name.starts_with("UP2UR")) o.does = Does::bails;
    if (name == "P2R") masked(o.reads, ~uint64_t{0});
    if (name == "R2P" && o.does != Does::bails) {
        const bool given = o.sources.size() == 3 && o.sources[1].kind == SASSEMU_OPERAND_REGISTER &&
                           o.sources[2].kind == SASSEMU_OPERAND_IMMEDIATE;
        masked(o.results, given ? static_cast<uint64_t>(o.sources[2].value) : ~uint64_t{0});
        if (!given) return o;
        const size_t byte = text.find(".B");
        sassemu_operand shift{};
        shift.kind = SASSEMU_OPERAND_IMMEDIATE;
        shift.value = byte == text.npos ? 0 : 8 * (text[byte + 2] - '0');
        o.sources = {o.sources[1], shift, o.sources[1]};
        o.form = Form::shift;
        o.right = true;
        o.is_signed = false;
        return o;
    }
    if (o.does != Does::bails) classify(o, name);
    return o;
}

// The forms that are computed. What is none of them passes the value on if it stays in its lane.
void Walks::classify(Op& o, std::string_view name) const {
    const std::vector<std::string_view> parts = parts_of(name);
    const std::string_view opcode = parts[0];
    const auto only = [&](std::initializer_list<std::string_view> allowed) {
        return std::all_of(parts.begin() + 1, parts.end(),
                           [&](std::string_view part) { return is(part, allowed); });
    };
    const auto says = [&](std::string_view part) {
        return std::find(parts.begin() + 1, parts.end(), part) != parts.end();
    };
    const size_t n = o.sources.size();
    const auto predicates = static_cast<size_t>(
        std::count_if(o.sources.begin(), o.sources.end(), [](const sassemu_operand& x) {
            return x.kind == SASSEMU_OPERAND_PREDICATE ||
                   x.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE;
        }));
    o.is_signed = !says("U32");
    // An asynchronous product may change registers later; what waits for it is met before they are
    // used.
    if (opcode == "WARPGROUP" || opcode.ends_with("GMMA") || opcode.starts_with("UTC") ||
        opcode == "LDTM") {
        o.does = Does::bails;
        return;
    }
    if (o.has_effect) return;
    if (opcode == "SEL" && only({}) && n == 3 && predicates == 1) {
        o.does = Does::selects;
    } else if (is(opcode, {"ISETP", "FSETP", "DSETP"}) && n >= 3 && predicates >= 1) {
        o.does = Does::compares;
        for (const std::string_view part : parts) {
            if (is(part, {"AND", "OR", "XOR"}))
                o.joins = part == "AND" ? '&' : part == "OR" ? '|' : '^';
            if (opcode != "ISETP" ||
                !only({"LT", "LE", "EQ", "NE", "GE", "GT", "U32", "S32", "AND", "OR", "XOR"}))
                continue;
            if (is(part, {"LT", "LE", "EQ", "NE", "GE", "GT"}))
                o.compares = part == "LT"   ? 'L'
                             : part == "LE" ? 'l'
                             : part == "EQ" ? 'E'
                             : part == "NE" ? 'N'
                             : part == "GE" ? 'g'
                                            : 'G';
        }
        if (!o.joins) o.does = Does::computes;
    } else if (opcode == "PLOP3" && n == 5 && predicates == 3 &&
               o.sources[4].kind == SASSEMU_OPERAND_IMMEDIATE) {
        o.does = Does::combines;
    } else if (opcode == "MOV" && predicates == 0 &&
               (n == 1 || (n == 2 && o.sources[1].kind == SASSEMU_OPERAND_IMMEDIATE &&
                           o.sources[1].value == 0xf))) {  // all bytes
        o.sources.resize(1);
        o.form = Form::add;
    } else if (predicates == 0 && is(opcode, {"IADD3", "IADD", "VIADD"}) && only({}) &&
               (n == 2 || n == 3)) {
        o.form = Form::add;
    } else if (predicates == 0 && opcode == "IMAD" && n == 3 &&
               only({"MOV", "IADD", "SHL", "U32"})) {
        o.form = Form::multiply;
    } else if (predicates == 0 && opcode == "LEA" && n == 3 && only({})) {
        o.form = Form::shift_add;
    } else if (predicates == 0 && opcode == "SHF" && n == 3 &&
               ((says("L") && only({"L", "U32"}) && o.sources[2].index == SASSEMU_RZ) ||
                (says("R") && says("HI") && only({"R", "U32", "S32", "HI"}) &&
                 o.sources[0].index == SASSEMU_RZ))) {
        o.form = Form::shift;
        o.right = says("R");
    } else if (predicates == 1 && n == 3 && is(opcode, {"IMNMX", "VIMNMX"}) &&
               only({"U32", "S32"})) {
        o.form = Form::minmax;
    } else if (predicates == 1 && n == 4 && opcode == "VIADDMNMX" && only({"U32"})) {
        o.form = Form::add_minmax;
    } else if (predicates == 1 && n == 5 && opcode == "LOP3" && only({"LUT"}) &&
               o.sources[3].kind == SASSEMU_OPERAND_IMMEDIATE) {
        o.form = Form::logic;
    } else if (!is(opcode, {"MOV",   "IMAD",   "IADD3", "IADD",  "VIADD", "LEA",   "SHF",
                            "IMNMX", "VIMNMX", "LOP3",  "PRMT",  "SEL",   "FSEL",  "FADD",
                            "FMUL",  "FFMA",   "FMNMX", "DADD",  "DMUL",  "DFMA",  "ISETP",
                            "FSETP", "DSETP",  "PLOP3", "I2F",   "I2I",   "F2F",   "F2I",
                            "I2FP",  "SGXT",   "BMSK",  "POPC",  "FLO",   "LOP",   "SHL",
                            "SHR",   "IABS",   "MUFU",  "HADD2", "HMUL2", "HFMA2", "VIADDMNMX"})) {
        o.does = Does::crosses;  // perhaps
    }
}

}  // namespace check_sync
