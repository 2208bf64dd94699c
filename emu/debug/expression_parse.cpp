// SPDX-License-Identifier: Apache-2.0
// Reading expressions: text to tree. See expression.hpp.
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "emu/debug/expression_node.hpp"

namespace sassemu::debug {
namespace {

using Node = Expression::Node;
using NodeRef = std::unique_ptr<Node>;
constexpr int most_depth = 200, most_stars = 64;
constexpr size_t most_shown = 400;  // of a long text, in errors
constexpr size_t most_nodes = 500;  // a chain of operators is as deep as it is long

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<NodeRef> parse() {
        SASSEMU_ASSIGN(NodeRef node, choice());
        space();
        if (nodes_ > most_nodes) return too_long();
        if (at_ < text_.size()) return unexpected("an operator or the end");
        return node;
    }

  private:
    Error unexpected(const std::string& wanted) {
        const std::string what =
            at_ < text_.size() ? "'" + std::string(text_.substr(at_, 12)) + "'" : "the end";
        return {
            ErrorCode::usage,
            "expression '" + std::string(text_.substr(0, most_shown)) +
                (text_.size() > most_shown ? "...'" : "'"),
            "column " + std::to_string(at_ + 1) + ": " + what + " where " + wanted + " should be",
            ""};
    }
    void space() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    }
    bool take(std::string_view token) {
        space();
        if (!text_.substr(at_).starts_with(token)) return false;
        at_ += token.size();
        return true;
    }
    static bool is_letter(char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    }
    std::string word() {
        space();
        size_t end = at_;
        while (end < text_.size() && is_letter(text_[end])) ++end;
        std::string out(text_.substr(at_, end - at_));
        at_ = end;
        return out;
    }
    NodeRef node(Node::Is is, std::string name, auto... of) {
        ++nodes_;
        auto n = std::make_unique<Node>();
        n->is = is;
        n->name = std::move(name);
        (n->of.push_back(std::move(of)), ...);
        return n;
    }

    Error too_long() const {
        return {ErrorCode::usage, "expression",
                "has more than " + std::to_string(most_nodes) + " operands and operators", ""};
    }

    Result<NodeRef> choice() {
        if (++depth_ > most_depth) return unexpected("something less deeply nested");
        auto result = choice_inside();
        --depth_;
        return result;
    }
    Result<NodeRef> choice_inside() {
        SASSEMU_ASSIGN(NodeRef test, binary(0));
        if (!take("?")) return test;
        SASSEMU_ASSIGN(NodeRef yes, choice());
        if (!take(":")) return unexpected("':'");
        SASSEMU_ASSIGN(NodeRef no, choice());
        return node(Node::Is::choice, "?", std::move(test), std::move(yes), std::move(no));
    }

    // Operators of one level, from the weakest on; longer ones first.
    Result<NodeRef> binary(size_t level) {
        static const std::vector<std::vector<std::string>> levels = {{"||"},
                                                                     {"&&"},
                                                                     {"|"},
                                                                     {"^"},
                                                                     {"&"},
                                                                     {"==", "!="},
                                                                     {"<=", ">=", "<", ">"},
                                                                     {"<<", ">>"},
                                                                     {"+", "-"},
                                                                     {"*", "/", "%"},
                                                                     {"@"}};
        if (level == levels.size()) return unary();
        SASSEMU_ASSIGN(NodeRef left, binary(level + 1));
        for (;;) {
            space();
            std::string found;
            for (const std::string& op : levels[level]) {
                const std::string_view rest = text_.substr(at_);
                // Not the first half of a longer operator.
                const char next = rest.size() > op.size() ? rest[op.size()] : ' ';
                if (!rest.starts_with(op)) continue;
                if (op.size() == 1 && (op == "|" || op == "&" || op == "<" || op == ">") &&
                    (next == op[0]))
                    continue;
                found = op;
                break;
            }
            if (found.empty()) return left;
            at_ += found.size();
            if (nodes_ > most_nodes) return too_long();
            SASSEMU_ASSIGN(NodeRef right, binary(level + 1));
            left = node(Node::Is::binary, found, std::move(left), std::move(right));
        }
    }

    // "(int *)": a type behind an opening parenthesis; null: it is none.
    Result<TypeRef> cast() {
        const size_t begin = at_;
        if (!take("(")) return TypeRef();
        MemorySpace target = MemorySpace::generic;
        if (take("@")) {
            const std::string name = word();
            target = name == "shared"      ? MemorySpace::shared
                     : name == "local"     ? MemorySpace::local
                     : name == "global"    ? MemorySpace::global
                     : name == "constant"  ? MemorySpace::constant
                     : name == "parameter" ? MemorySpace::parameter
                                           : MemorySpace::generic;
        }
        std::string name;
        for (size_t before = at_;;) {
            const std::string part = word();
            if (part == "const" || part == "volatile") {
                before = at_;
                continue;
            }
            const std::string longer = name.empty() ? part : name + " " + part;
            if (part.empty() || (!basic_type(longer) && longer != "long long unsigned")) {
                at_ = before;
                break;
            }
            name = longer;
            before = at_;
        }
        TypeRef type = basic_type(name);
        if (!type) {
            at_ = begin;
            return TypeRef();
        }
        // Each has a name as long as all before it.
        for (int stars = 0; take("*"); ++stars) {
            if (stars == most_stars) return unexpected("a type with fewer '*'");
            type = pointer_to(type, target);
        }
        if (!take(")")) {
            at_ = begin;
            return TypeRef();
        }
        return type;
    }

    Result<NodeRef> unary() {
        if (++depth_ > most_depth) return unexpected("something less deeply nested");
        auto result = unary_inside();
        --depth_;
        return result;
    }
    Result<NodeRef> unary_inside() {
        for (const char* op : {"-", "!", "~", "*", "&", "+"}) {
            if (!take(op)) continue;
            SASSEMU_ASSIGN(NodeRef of, unary());
            return node(Node::Is::unary, op, std::move(of));
        }
        space();
        if (at_ < text_.size() && text_[at_] == '(') {
            SASSEMU_ASSIGN(TypeRef type, cast());
            if (type) {
                SASSEMU_ASSIGN(NodeRef of, unary());
                NodeRef n = node(Node::Is::cast, "", std::move(of));
                n->type = std::move(type);
                return n;
            }
        }
        return postfix();
    }

    Result<NodeRef> postfix() {
        SASSEMU_ASSIGN(NodeRef n, primary());
        for (;;) {
            if (nodes_ > most_nodes) return too_long();
            if (take("[")) {
                SASSEMU_ASSIGN(NodeRef index, choice());
                if (!take("]")) return unexpected("']'");
                n = node(Node::Is::index, "[]", std::move(n), std::move(index));
            } else if (take("->")) {
                n = node(Node::Is::arrow, word(), std::move(n));
                if (n->name.empty()) return unexpected("a member");
            } else if (take(".")) {
                n = node(Node::Is::member, word(), std::move(n));
                if (n->name.empty()) return unexpected("a member");
            } else {
                return n;
            }
        }
    }

    Result<NodeRef> primary() {
        space();
        if (take("(")) {
            SASSEMU_ASSIGN(NodeRef n, choice());
            if (!take(")")) return unexpected("')'");
            return n;
        }
        if (take("$")) {
            std::string name = word();
            // A register as something else than an unsigned word.
            if (at_ + 1 < text_.size() && text_[at_] == '.') {
                const size_t dot = at_++;
                const std::string suffix = word();
                if (suffix == "64" || suffix == "f" || suffix == "d" || suffix == "s" ||
                    suffix == "u")
                    name += "." + suffix;
                else
                    at_ = dot;
            }
            if (name.empty()) return unexpected("a register");
            return node(Node::Is::special, name);
        }
        if (at_ >= text_.size()) return unexpected("a value");
        if (std::isdigit(static_cast<unsigned char>(text_[at_])) ||
            (text_[at_] == '.' && at_ + 1 < text_.size() &&
             std::isdigit(static_cast<unsigned char>(text_[at_ + 1]))))
            return number();
        const bool global = take("::");
        std::string name = (global ? "::" : "") + word();
        if (name.size() == (global ? 2 : 0)) return unexpected("a value");
        while (text_.substr(at_).starts_with("::") && at_ + 2 < text_.size() &&
               is_letter(text_[at_ + 2])) {  // in a namespace
            at_ += 2;
            name += "::" + word();
        }
        if (name == "c" && take("[")) {
            SASSEMU_ASSIGN(NodeRef bank, choice());
            if (take("]")) {
                if (take("[")) {
                    SASSEMU_ASSIGN(NodeRef offset, choice());
                    if (!take("]")) return unexpected("']'");
                    return node(Node::Is::constant, "c", std::move(bank), std::move(offset));
                }
                return node(Node::Is::index, "[]", node(Node::Is::variable, name), std::move(bank));
            }
            return unexpected("']'");
        }
        return node(Node::Is::variable, name);
    }

    Result<NodeRef> number() {
        NodeRef n = node(Node::Is::number, "");
        const char* const begin = text_.data() + at_;
        const char* const end = text_.data() + text_.size();
        uint64_t whole = 0;
        const bool hex = text_.substr(at_).starts_with("0x") || text_.substr(at_).starts_with("0X");
        const auto read = std::from_chars(hex ? begin + 2 : begin, end, whole, hex ? 16 : 10);
        const char* stop = read.ptr;
        if (!hex && stop < end && (*stop == '.' || *stop == 'e' || *stop == 'E')) {
            // What a number may consist of, and no more of a long text.
            const std::string rest(
                text_.substr(at_, text_.find_first_not_of("0123456789.eE+-", at_) - at_));
            char* after = nullptr;
            const double v = std::strtod(rest.c_str(), &after);
            at_ += static_cast<size_t>(after - rest.c_str());
            const bool single = at_ < text_.size() && (text_[at_] == 'f' || text_[at_] == 'F');
            if (single) ++at_;
            n->value = Value::of_real(v, single ? 4 : 8);
        } else {
            if (read.ec != std::errc()) return unexpected("a number of at most 64 bits");
            at_ += static_cast<size_t>(stop - begin);
            bool is_unsigned = false, is_long = false;
            while (at_ < text_.size() && std::strchr("uUlL", text_[at_])) {
                is_unsigned |= (text_[at_] | 32) == 'u';
                is_long |= (text_[at_] | 32) == 'l';
                ++at_;
            }
            const bool wide = is_long || whole > (is_unsigned || hex ? UINT32_MAX : INT32_MAX);
            n->value = Value::of_integer(
                static_cast<int64_t>(whole), wide ? 8 : 4,
                !is_unsigned && whole <= (wide ? uint64_t{INT64_MAX} : uint64_t{INT32_MAX}));
        }
        if (at_ < text_.size() && is_letter(text_[at_])) return unexpected("the number's end");
        return n;
    }

    std::string_view text_;
    size_t at_ = 0;
    int depth_ = 0;
    size_t nodes_ = 0;
};

}  // namespace

Result<Expression> Expression::parse(std::string_view text) {
    Expression e;
    e.text_ = text;
    SASSEMU_ASSIGN(e.root_, Parser(text).parse());
    return e;
}

}  // namespace sassemu::debug
