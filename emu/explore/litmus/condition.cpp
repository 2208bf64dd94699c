// SPDX-License-Identifier: Apache-2.0
// Conditions of litmus tests: text -> tree, and its value. Does not know where values come from.
#include <algorithm>
#include <charconv>
#include <map>

#include "emu/explore/litmus/test.hpp"

namespace sassemu::explore {
namespace {

Condition node(Condition::Kind kind) {
    Condition out;
    out.kind = kind;
    return out;
}

// or := and {|| and}; and := not {&& not}; not := ! not | relation; relation := atom [== atom]
class Parser {
  public:
    Parser(std::string_view text, Test& test) : text_(text), test_(test) {}

    Result<Condition> parse() {
        SASSEMU_ASSIGN(Condition out, any());
        skip();
        if (at_ != text_.size()) return unexpected();
        return out;
    }
    // Where the last word began, or what could not be read.
    size_t at() const { return std::min(word_, text_.size()); }

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
    Error unexpected() {
        skip();
        word_ = at_;
        return input_error("the condition cannot be read from '" +
                           std::string(text_.substr(at_, 20)) + "' on");
    }
    Error too_deep() {
        word_ = at_;
        return input_error("the condition is nested too deeply");
    }

    // One term, or a node of all that `token` joins.
    template <class Term>
    Result<Condition> joined(Condition::Kind kind, std::string_view token, Term&& term) {
        SASSEMU_ASSIGN(Condition first, term());
        if (!take(token)) return first;
        Condition out = node(kind);
        out.terms.push_back(std::move(first));
        do {
            SASSEMU_ASSIGN(Condition next, term());
            out.terms.push_back(std::move(next));
        } while (take(token));
        return out;
    }
    Result<Condition> any() {
        if (++depth_ > deepest) return too_deep();
        SASSEMU_ASSIGN(Condition out, joined(Condition::Kind::or_, "||", [&] { return all(); }));
        --depth_;
        return out;
    }
    Result<Condition> all() {
        return joined(Condition::Kind::and_, "&&", [&] { return negation(); });
    }
    Result<Condition> negation() {
        skip();
        if (text_.substr(at_).starts_with("!") && !text_.substr(at_).starts_with("!=")) {
            ++at_;
            if (++depth_ > deepest) return too_deep();
            Condition out = node(Condition::Kind::not_);
            SASSEMU_ASSIGN(Condition inner, negation());
            out.terms.push_back(std::move(inner));
            --depth_;
            return out;
        }
        return relation();
    }
    Result<Condition> relation() {
        SASSEMU_ASSIGN(Condition left, atom());
        const bool equal = take("=="), unequal = !equal && take("!=");
        if (!equal && !unequal) return left;
        SASSEMU_ASSIGN(Condition right, atom());
        Condition out = node(equal ? Condition::Kind::equal : Condition::Kind::not_equal);
        out.terms.push_back(std::move(left));
        out.terms.push_back(std::move(right));
        return out;
    }
    Result<Condition> atom() {
        if (take("(")) {
            SASSEMU_ASSIGN(Condition inner, any());
            if (!take(")")) return unexpected();
            return inner;
        }
        skip();
        const size_t start = word_ = at_;
        while (at_ < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' ||
                text_[at_] == ':' || text_[at_] == '@' || text_[at_] == '-' || text_[at_] == '$'))
            ++at_;
        const std::string_view word = text_.substr(start, at_ - start);
        if (word.empty()) return unexpected();
        if (word[0] == '-' || (word[0] >= '0' && word[0] <= '9')) return number(word);
        const size_t colon = word.find(':');
        SASSEMU_ASSIGN(Condition out, colon != word.npos ? reg(word, colon) : memory(word));
        out.at = start;
        out.leaf =
            leaves_.try_emplace(out.text, static_cast<uint32_t>(leaves_.size())).first->second;
        return out;
    }

    Result<Condition> number(std::string_view word) {
        Condition out = node(Condition::Kind::constant);
        int64_t negative = 0;
        const char *begin = word.data(), *end = begin + word.size();
        const bool hex = word.starts_with("0x");
        const auto r = word[0] == '-'
                           ? std::from_chars(begin, end, negative)
                           : std::from_chars(begin + (hex ? 2 : 0), end, out.value, hex ? 16 : 10);
        if (r.ec != std::errc{} || r.ptr != end)
            return input_error("'" + std::string(word) + "' is no number");
        if (negative) out.value = static_cast<uint64_t>(negative);
        return out;
    }
    Result<Condition> reg(std::string_view word, size_t colon) {
        Condition out = node(Condition::Kind::reg);
        out.text = std::string(word);
        out.thread = threads_.find(test_.threads, word.substr(0, colon),
                                   [](const Thread& t) -> const std::string& { return t.id; });
        if (out.thread < test_.threads.size()) {
            out.reg = register_of(test_.threads[out.thread], word.substr(colon + 1));
            return out;
        }
        return input_error("the condition names '" + std::string(word) +
                           "', and there is no such thread");
    }
    Result<Condition> memory(std::string_view word) {
        Condition out = node(Condition::Kind::memory);
        std::string_view name = word;
        if (const size_t at = word.find('@'); at != word.npos) {
            name = word.substr(0, at);
            const std::string_view pe = word.substr(at + 1);
            if (std::from_chars(pe.data(), pe.data() + pe.size(), out.pe).ec != std::errc{} ||
                out.pe < 0)
                return input_error("'" + std::string(word) + "' names no PE");
        }
        out.name = find_name(test_, name);
        if (out.name == test_.names.size())
            return input_error("the condition names '" + std::string(word) +
                               "', which is neither a register nor a location");
        const size_t start = at_;
        if (take("[")) {
            const size_t close = text_.find(']', at_);
            if (close == text_.npos) return unexpected();
            const char *p = text_.data() + at_, *end = text_.data() + close;
            auto r = std::from_chars(p, end, out.first);
            if (r.ec == std::errc{} && r.ptr == end) {
                out.bytes = test_.names[out.name].element;
                if (out.first >= test_.names[out.name].bytes)
                    return input_error("the part of '" + std::string(word) +
                                       "' lies outside of it");
                out.first *= out.bytes;
            } else {
                if (r.ec != std::errc{} || *r.ptr != ':')
                    return input_error("a part of memory is written x[first:bytes] or x[element]");
                r = std::from_chars(r.ptr + 1, end, out.bytes);
                if (r.ec != std::errc{} || r.ptr != end || !out.bytes)
                    return input_error("a part of memory is written x[first:bytes] or x[element]");
            }
            const uint64_t whole = test_.names[out.name].bytes;
            if (out.first >= whole || out.bytes > whole - out.first)
                return input_error("the part of '" + std::string(word) + "' lies outside of it");
            at_ = close + 1;
        }
        out.text = std::string(word) + std::string(text_.substr(start, at_ - start));
        return out;
    }

    std::string_view text_;
    Test& test_;
    size_t at_ = 0, word_ = 0;
    int depth_ = 0;
    TextIndex threads_;
    std::map<std::string, uint32_t> leaves_;
};

void collect(const Condition& c, std::vector<const Condition*>& out) {
    const bool is_leaf = c.kind == Condition::Kind::reg || c.kind == Condition::Kind::memory;
    if (is_leaf && c.leaf == out.size()) out.push_back(&c);
    for (const Condition& term : c.terms) collect(term, out);
}

uint64_t value_of(const Condition& c, const std::vector<uint64_t>& values) {
    using Kind = Condition::Kind;
    const auto value = [&](const Condition& term) { return value_of(term, values); };
    switch (c.kind) {
        case Kind::constant:
            return c.value;
        case Kind::reg:
        case Kind::memory:
            return values[c.leaf];
        case Kind::equal:
            return value(c.terms[0]) == value(c.terms[1]);
        case Kind::not_equal:
            return value(c.terms[0]) != value(c.terms[1]);
        case Kind::and_:
            return std::ranges::all_of(c.terms, value);
        case Kind::or_:
            return std::ranges::any_of(c.terms, value);
        case Kind::not_:
            return !value(c.terms[0]);
    }
    return 0;
}

}  // namespace

Result<Condition> read_condition(std::string_view text, Test& test, size_t* error_at) {
    Parser parser(text, test);
    auto out = parser.parse();
    if (!out && error_at) *error_at = parser.at();
    return out;
}

std::vector<const Condition*> leaves(const Condition& condition) {
    std::vector<const Condition*> out;
    collect(condition, out);
    return out;
}

bool holds(const Condition& condition, const std::vector<uint64_t>& values) {
    return value_of(condition, values) != 0;
}

}  // namespace sassemu::explore
