// SPDX-License-Identifier: Apache-2.0
// Evaluating expressions. See expression.hpp; reading them is in expression_parse.cpp.
#include <algorithm>

#include "emu/debug/expression_node.hpp"
#include "emu/debug/view.hpp"

namespace sassemu::debug {

using Kind = Type::Kind;

namespace {

using Node = Expression::Node;

Error wrong(const std::string& what) { return {ErrorCode::usage, "expression", what, ""}; }

Result<Value> convert(const Value& v, const TypeRef& type) {
    if (!type->is_scalar()) {
        if (type->kind == Kind::none) return wrong("a value cannot become '" + type->name + "'");
        return wrong("a cast to '" + type->name + "' is not possible");
    }
    if (!v.type->is_scalar()) {
        // An array stands for the address of its first element.
        if (v.type->kind == Kind::array && v.place && v.place->kind == ValuePlace::Kind::memory &&
            type->kind == Kind::pointer) {
            Value out = Value::of_integer(static_cast<int64_t>(v.place->address), 8, false);
            out.type = type->space == MemorySpace::generic && v.place->space != MemorySpace::generic
                           ? pointer_to(type->of, v.place->space)
                           : type;
            return out;
        }
        return wrong("'" + v.type->name + "' cannot become '" + type->name + "'");
    }
    Value out;
    if (type->kind == Kind::real) {
        out = Value::of_real(v.real(), type->bytes == 8 ? 8 : 4);
        if (type->bytes == 2) return wrong("a cast to 'half' is not possible");
    } else {
        const int64_t bits = type->kind == Kind::boolean ? v.is_true() : v.integer();
        out = Value::of_integer(bits, 8, false);
        out.bytes.resize(type->bytes);
    }
    out.type = type;
    return out;
}

Result<Value> dereference(const View& view, const Value& pointer, int64_t index) {
    if (pointer.type->kind != Kind::pointer || !pointer.type->of->bytes)
        return wrong("'" + pointer.type->name +
                     "' points to nothing that has a size; cast it: "
                     "*(int *)...");
    const TypeRef& to = pointer.type->of;
    return view.load(to, {ValuePlace::Kind::memory, pointer.type->space,
                          pointer.bits() + static_cast<uint64_t>(index) * to->bytes});
}

Value decayed(const Value& v) {
    if (v.type->kind != Kind::array || !v.place || v.place->kind != ValuePlace::Kind::memory)
        return v;
    Value out = Value::of_integer(static_cast<int64_t>(v.place->address), 8, false);
    out.type = pointer_to(v.type->of, v.place->space);
    return out;
}

Result<Value> part_of(const View& view, const Value& whole, const TypeRef& type, uint64_t offset) {
    if (whole.place && whole.place->kind == ValuePlace::Kind::memory) {
        ValuePlace at = *whole.place;
        at.address += offset;
        return view.load(type, at);
    }
    if (offset > whole.bytes.size() || type->bytes > whole.bytes.size() - offset)
        return wrong("there is no such element");
    Value v;
    v.type = type;
    v.bytes.assign(whole.bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                   whole.bytes.begin() + static_cast<std::ptrdiff_t>(offset + type->bytes));
    return v;
}

Result<Value> arithmetic(const std::string& op, const Value& a, const Value& b) {
    const bool compares = op == "==" || op == "!=" || op[0] == '<' || op[0] == '>';
    const bool shifts = op == "<<" || op == ">>";
    if (a.type->kind == Kind::real || b.type->kind == Kind::real) {
        const double x = a.real(), y = b.real();
        if (compares && !shifts)
            return Value::of_integer(op == "=="   ? x == y
                                     : op == "!=" ? x != y
                                     : op == "<"  ? x < y
                                     : op == "<=" ? x <= y
                                     : op == ">"  ? x > y
                                                  : x >= y,
                                     4);
        const unsigned bytes =
            a.bytes.size() <= 4 && b.bytes.size() <= 4 &&
                    (a.type->kind == b.type->kind || !a.type->is_integer() || !b.type->is_integer())
                ? 4
                : 8;
        if (op == "+") return Value::of_real(x + y, bytes);
        if (op == "-") return Value::of_real(x - y, bytes);
        if (op == "*") return Value::of_real(x * y, bytes);
        if (op == "/") return Value::of_real(x / y, bytes);
        return wrong("'" + op + "' of floating-point values");
    }
    const size_t width = std::max({size_t{4}, a.bytes.size(), shifts ? size_t{0} : b.bytes.size()});
    const auto is_wide_unsigned = [&](const Value& v) {
        return v.bytes.size() == width && !v.type->is_signed();
    };
    const bool is_signed = !is_wide_unsigned(a) && (shifts || !is_wide_unsigned(b));
    const int64_t x = a.integer(), y = b.integer();
    const auto ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
    const auto cut = [&](uint64_t v) { return width == 4 ? v & 0xffffffffu : v; };
    if (compares && !shifts) {
        const bool less = is_signed ? x < y : cut(ux) < cut(uy);
        const bool same = cut(ux) == cut(uy);
        return Value::of_integer(op == "=="   ? same
                                 : op == "!=" ? !same
                                 : op == "<"  ? less
                                 : op == "<=" ? less || same
                                 : op == ">"  ? !less && !same
                                              : !less,
                                 4);
    }
    uint64_t v = 0;
    if ((op == "/" || op == "%") && !cut(uy)) return wrong("division by zero");
    if (op == "+") v = ux + uy;
    if (op == "-") v = ux - uy;
    if (op == "*") v = ux * uy;
    if (op == "/")
        v = is_signed && y == -1 ? 0 - ux
            : is_signed          ? static_cast<uint64_t>(x / y)
                                 : cut(ux) / cut(uy);
    if (op == "%")
        v = is_signed && y == -1 ? 0 : is_signed ? static_cast<uint64_t>(x % y) : cut(ux) % cut(uy);
    if (op == "&") v = ux & uy;
    if (op == "|") v = ux | uy;
    if (op == "^") v = ux ^ uy;
    if (op == "<<") v = uy >= width * 8 ? 0 : ux << uy;
    if (op == ">>")
        v = uy >= width * 8 ? 0 : is_signed ? static_cast<uint64_t>(x >> uy) : cut(ux) >> uy;
    return Value::of_integer(static_cast<int64_t>(v), static_cast<unsigned>(width), is_signed);
}

Result<Value> evaluate_node(const View& view, const Node& n);

Result<Value> evaluate_binary(const View& view, const Node& n) {
    SASSEMU_ASSIGN(Value left, evaluate_node(view, *n.of[0]));
    if (n.name == "&&" || n.name == "||") {
        const bool ends = left.is_true() == (n.name == "||");
        if (ends) return Value::of_integer(left.is_true(), 4);
        SASSEMU_ASSIGN(const Value right, evaluate_node(view, *n.of[1]));
        return Value::of_integer(right.is_true(), 4);
    }
    SASSEMU_ASSIGN(Value right, evaluate_node(view, *n.of[1]));
    if (n.name == "@") {
        const int64_t count = right.integer();
        if (!left.place || left.place->kind != ValuePlace::Kind::memory || count <= 0)
            return wrong("@ wants something in memory on its left, and a count");
        constexpr uint64_t most_elements = 1 << 20, most_bytes = 1 << 30;  // of a type's size
        if (static_cast<uint64_t>(count) > most_elements || left.type->bytes > most_bytes)
            return wrong("too many elements");
        return view.load(array_of(left.type, static_cast<uint64_t>(count)), *left.place);
    }
    left = decayed(left);
    right = decayed(right);
    if (!left.type->is_scalar() || !right.type->is_scalar())
        return wrong("'" + n.name + "' of '" + left.type->name + "' and '" + right.type->name +
                     "'");
    const bool adds = n.name == "+" || n.name == "-";
    if (adds && left.type->kind == Kind::pointer && right.type->is_integer()) {
        const auto step = static_cast<int64_t>(std::max<uint64_t>(1, left.type->of->bytes));
        const int64_t by = right.integer() * step;
        Value out = Value::of_integer(left.integer() + (n.name == "+" ? by : -by), 8, false);
        out.type = left.type;
        return out;
    }
    return arithmetic(n.name, left, right);
}

Result<Value> evaluate_unary(const View& view, const Node& n) {
    SASSEMU_ASSIGN(Value v, evaluate_node(view, *n.of[0]));
    if (n.name == "&") {
        if (!v.place || v.place->kind != ValuePlace::Kind::memory)
            return wrong("it has no address");
        Value out = Value::of_integer(static_cast<int64_t>(v.place->address), 8, false);
        out.type = pointer_to(v.type, v.place->space);
        return out;
    }
    v = decayed(v);
    if (n.name == "*") return dereference(view, v, 0);
    if (!v.type->is_scalar()) return wrong("'" + n.name + "' of '" + v.type->name + "'");
    if (n.name == "!") return Value::of_integer(!v.is_true(), 4);
    if (n.name == "+") return v;
    if (n.name == "-") {
        if (v.type->kind == Kind::real)
            return Value::of_real(-v.real(), v.bytes.size() == 8 ? 8 : 4);
        return arithmetic("-", Value::of_integer(0, 4), v);
    }
    if (v.type->kind == Kind::real) return wrong("'~' of a floating-point value");
    return arithmetic(
        "^", v, Value::of_integer(-1, static_cast<unsigned>(std::max<size_t>(4, v.bytes.size()))));
}

Result<Value> member_of(const View& view, const Value& whole, const std::string& name) {
    if (whole.type->kind != Kind::structure)
        return wrong("'" + whole.type->name + "' has no members");
    for (const Member& m : whole.type->members)
        if (m.name == name) return part_of(view, whole, m.type, m.offset);
    return wrong("'" + whole.type->name + "' has no member '" + name + "'");
}

Result<Value> evaluate_node(const View& view, const Node& n) {
    using Is = Node::Is;
    switch (n.is) {
        case Is::number:
            return n.value;
        case Is::special:
            return view.special(n.name);
        case Is::variable: {
            // A register is understood without its dollar sign too.
            auto v = view.variable(n.name);
            if (v) return v;
            if (auto as_register = view.special(n.name); as_register && as_register->place)
                return as_register;
            return v;
        }
        case Is::constant: {
            SASSEMU_ASSIGN(const Value bank, evaluate_node(view, *n.of[0]));
            SASSEMU_ASSIGN(const Value offset, evaluate_node(view, *n.of[1]));
            return view.constant(bank.bits(), offset.bits());
        }
        case Is::unary:
            return evaluate_unary(view, n);
        case Is::binary:
            return evaluate_binary(view, n);
        case Is::choice: {
            SASSEMU_ASSIGN(const Value test, evaluate_node(view, *n.of[0]));
            return evaluate_node(view, *n.of[test.is_true() ? 1 : 2]);
        }
        case Is::cast: {
            SASSEMU_ASSIGN(const Value v, evaluate_node(view, *n.of[0]));
            return convert(v, n.type);
        }
        case Is::index: {
            SASSEMU_ASSIGN(const Value whole, evaluate_node(view, *n.of[0]));
            SASSEMU_ASSIGN(const Value index, evaluate_node(view, *n.of[1]));
            if (!index.type->is_integer()) return wrong("an index must be an integer");
            if (whole.type->kind == Kind::array)
                return part_of(view, whole, whole.type->of,
                               static_cast<uint64_t>(index.integer()) * whole.type->of->bytes);
            return dereference(view, whole, index.integer());
        }
        case Is::member: {
            SASSEMU_ASSIGN(const Value whole, evaluate_node(view, *n.of[0]));
            return member_of(view, whole, n.name);
        }
        case Is::arrow: {
            SASSEMU_ASSIGN(const Value pointer, evaluate_node(view, *n.of[0]));
            SASSEMU_ASSIGN(const Value whole, dereference(view, decayed(pointer), 0));
            return member_of(view, whole, n.name);
        }
    }
    return wrong("not understood");
}

bool registers_of(const Node& n, std::vector<std::string>& names) {
    if (n.is == Node::Is::constant) return true;
    if (n.is == Node::Is::special) {
        if (n.name == "clock" || n.name == "position" || n.name == "pc" || n.name == "active" ||
            n.name.starts_with("B"))
            return false;
        names.push_back(n.name);
    }
    if (n.is == Node::Is::variable) {
        const bool who = n.name == "threadIdx" || n.name == "blockIdx" || n.name == "blockDim" ||
                         n.name == "gridDim";
        if (!who) return false;
    }
    if (n.is == Node::Is::arrow || n.is == Node::Is::index ||
        (n.is == Node::Is::unary && n.name == "*"))
        return false;
    for (const auto& kid : n.of)
        if (!registers_of(*kid, names)) return false;
    return true;
}

}  // namespace

Expression::Expression() = default;
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

Result<Value> Expression::evaluate(const View& view) const { return evaluate_node(view, *root_); }

bool Expression::only_registers(std::vector<std::string>& names) const {
    return registers_of(*root_, names);
}

}  // namespace sassemu::debug
