// SPDX-License-Identifier: Apache-2.0
// Conditions of litmus tests: text -> tree, and its value. Does not know where values come from.
#include <algorithm>
#include <charconv>
#include <functional>

#include "emu/explore/forms.hpp"

namespace sassemu::explore {
namespace {

using Tree = std::unique_ptr<Condition>;

Tree node(Condition::Kind kind, Tree left = nullptr, Tree right = nullptr) {
    auto out = std::make_unique<Condition>();
    out->kind = kind;
    out->left = std::move(left);
    out->right = std::move(right);
    return out;
}

// or := and {|| and}; and := not {&& not}; not := ! not | relation; relation := atom [== atom]
class Parser {
  public:
    Parser(std::string_view text, Test& test) : text_(text), test_(test) {}

    Result<Tree> parse() {
        SASSEMU_ASSIGN(Tree out, any());
        skip();
        if (at_ != text_.size()) return unexpected();
        return out;
    }

  private:
    static constexpr int deepest = 200;

    void skip() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    }
    bool take(std::string_view token) {
        skip();
        if (!text_.substr(at_).starts_with(token)) return false;
        at_ += token.size();
        return true;
    }
    Error unexpected() const {
        return input_error("the condition cannot be read from '" +
                           std::string(text_.substr(at_, 20)) + "' on");
    }

    Result<Tree> any() {
        if (++depth_ > deepest) return input_error("the condition is nested too deeply");
        SASSEMU_ASSIGN(Tree left, all());
        while (take("||")) {
            SASSEMU_ASSIGN(Tree right, all());
            left = node(Condition::Kind::or_, std::move(left), std::move(right));
        }
        --depth_;
        return left;
    }
    Result<Tree> all() {
        SASSEMU_ASSIGN(Tree left, negation());
        while (take("&&")) {
            SASSEMU_ASSIGN(Tree right, negation());
            left = node(Condition::Kind::and_, std::move(left), std::move(right));
        }
        return left;
    }
    Result<Tree> negation() {
        skip();
        if (text_.substr(at_).starts_with("!") && !text_.substr(at_).starts_with("!=")) {
            ++at_;
            if (++depth_ > deepest) return input_error("the condition is nested too deeply");
            SASSEMU_ASSIGN(Tree inner, negation());
            --depth_;
            return node(Condition::Kind::not_, std::move(inner));
        }
        return relation();
    }
    Result<Tree> relation() {
        SASSEMU_ASSIGN(Tree left, atom());
        const bool equal = take("=="), unequal = !equal && take("!=");
        if (!equal && !unequal) return left;
        SASSEMU_ASSIGN(Tree right, atom());
        return node(equal ? Condition::Kind::equal : Condition::Kind::not_equal, std::move(left),
                    std::move(right));
    }
    Result<Tree> atom() {
        if (take("(")) {
            SASSEMU_ASSIGN(Tree inner, any());
            if (!take(")")) return unexpected();
            return inner;
        }
        skip();
        const size_t start = at_;
        while (at_ < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' ||
                text_[at_] == ':' || text_[at_] == '@' || text_[at_] == '-' || text_[at_] == '$'))
            ++at_;
        const std::string_view word = text_.substr(start, at_ - start);
        if (word.empty()) return unexpected();
        if (word[0] == '-' || (word[0] >= '0' && word[0] <= '9')) return number(word);
        if (const size_t colon = word.find(':'); colon != word.npos) return reg(word, colon);
        return memory(word);
    }

    Result<Tree> number(std::string_view word) {
        Tree out = node(Condition::Kind::constant);
        int64_t negative = 0;
        const char *begin = word.data(), *end = begin + word.size();
        const bool hex = word.starts_with("0x");
        const auto r = word[0] == '-'
                           ? std::from_chars(begin, end, negative)
                           : std::from_chars(begin + (hex ? 2 : 0), end, out->value, hex ? 16 : 10);
        if (r.ec != std::errc{} || r.ptr != end)
            return input_error("'" + std::string(word) + "' is no number");
        if (negative) out->value = static_cast<uint64_t>(negative);
        return out;
    }
    Result<Tree> reg(std::string_view word, size_t colon) {
        Tree out = node(Condition::Kind::reg);
        out->text = std::string(word);
        for (out->thread = 0; out->thread < test_.threads.size(); ++out->thread)
            if (test_.threads[out->thread].id == word.substr(0, colon)) {
                out->reg = register_of(test_.threads[out->thread], word.substr(colon + 1));
                return out;
            }
        return input_error("the condition names '" + std::string(word) +
                           "', and there is no such thread");
    }
    Result<Tree> memory(std::string_view word) {
        Tree out = node(Condition::Kind::memory);
        std::string_view name = word;
        if (const size_t at = word.find('@'); at != word.npos) {
            name = word.substr(0, at);
            const std::string_view pe = word.substr(at + 1);
            if (std::from_chars(pe.data(), pe.data() + pe.size(), out->pe).ec != std::errc{} ||
                out->pe < 0)
                return input_error("'" + std::string(word) + "' names no PE");
        }
        out->name = find_name(test_, name);
        if (out->name == test_.names.size())
            return input_error("the condition names '" + std::string(word) +
                               "', which is neither a register nor a location");
        const size_t start = at_;
        if (take("[")) {
            const size_t close = text_.find(']', at_);
            if (close == text_.npos) return unexpected();
            const char *p = text_.data() + at_, *end = text_.data() + close;
            auto r = std::from_chars(p, end, out->first);
            if (r.ec == std::errc{} && r.ptr == end) {
                out->bytes = test_.names[out->name].element;
                if (out->first >= test_.names[out->name].bytes)
                    return input_error("the part of '" + std::string(word) +
                                       "' lies outside of it");
                out->first *= out->bytes;
            } else {
                if (r.ec != std::errc{} || *r.ptr != ':')
                    return input_error("a part of memory is written x[first:bytes] or x[element]");
                r = std::from_chars(r.ptr + 1, end, out->bytes);
                if (r.ec != std::errc{} || r.ptr != end || !out->bytes)
                    return input_error("a part of memory is written x[first:bytes] or x[element]");
            }
            const uint64_t whole = test_.names[out->name].bytes;
            if (out->first >= whole || out->bytes > whole - out->first)
                return input_error("the part of '" + std::string(word) + "' lies outside of it");
            at_ = close + 1;
        }
        out->text = std::string(word) + std::string(text_.substr(start, at_ - start));
        return out;
    }

    std::string_view text_;
    Test& test_;
    size_t at_ = 0;
    int depth_ = 0;
};

void collect(const Condition& c, std::vector<const Condition*>& out) {
    if (c.kind == Condition::Kind::reg || c.kind == Condition::Kind::memory) {
        for (const Condition* o : out)
            if (o->text == c.text) return;
        out.push_back(&c);
    }
    if (c.left) collect(*c.left, out);
    if (c.right) collect(*c.right, out);
}

}  // namespace

Result<Tree> read_condition(std::string_view text, Test& test) {
    return Parser(text, test).parse();
}

std::vector<const Condition*> leaves(const Condition& condition) {
    std::vector<const Condition*> out;
    collect(condition, out);
    return out;
}

bool holds(const Condition& condition, const std::vector<uint64_t>& values) {
    const std::vector<const Condition*> names = leaves(condition);
    const std::function<uint64_t(const Condition&)> value = [&](const Condition& c) -> uint64_t {
        using Kind = Condition::Kind;
        switch (c.kind) {
            case Kind::constant:
                return c.value;
            case Kind::reg:
            case Kind::memory:
                for (size_t i = 0; i < names.size(); ++i)
                    if (names[i]->text == c.text) return values[i];
                return 0;
            case Kind::equal:
                return value(*c.left) == value(*c.right);
            case Kind::not_equal:
                return value(*c.left) != value(*c.right);
            case Kind::and_:
                return value(*c.left) && value(*c.right);
            case Kind::or_:
                return value(*c.left) || value(*c.right);
            case Kind::not_:
                return !value(*c.left);
        }
        return 0;
    };
    return value(condition) != 0;
}

}  // namespace sassemu::explore
