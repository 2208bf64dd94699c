// SPDX-License-Identifier: Apache-2.0
// The parser behind json_tree.hpp. nlohmann's SAX events carry no positions, but everything between
// two tokens is white space, ',' or ':'. So a cursor that skips those stands at each token's start.
#include "emu/plan/json_tree.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "emu/base/limits.hpp"

namespace sassemu::plan {
namespace {

constexpr size_t max_depth = 64;
constexpr size_t few_members = 8;  // quicker to walk through than to look up
constexpr size_t longest_message = 400;

class TreeBuilder {
  public:
    using number_integer_t = nlohmann::json::number_integer_t;
    using number_unsigned_t = nlohmann::json::number_unsigned_t;
    using number_float_t = nlohmann::json::number_float_t;
    using string_t = nlohmann::json::string_t;
    using binary_t = nlohmann::json::binary_t;

    TreeBuilder(std::string_view text, std::string_view file) : text_(text), file_(file) {}

    bool null() { return scalar(JsonNode::Kind::null, word()); }
    bool boolean(bool value) {
        JsonNode node = start(JsonNode::Kind::boolean);
        node.boolean = value;
        skip_word();
        return add(std::move(node));
    }
    bool number_integer(number_integer_t) { return scalar(JsonNode::Kind::number, word()); }
    bool number_unsigned(number_unsigned_t) { return scalar(JsonNode::Kind::number, word()); }
    bool number_float(number_float_t, const string_t&) {
        return scalar(JsonNode::Kind::number, word());
    }
    bool string(string_t& value) {
        JsonNode node = start(JsonNode::Kind::string);
        node.text = value;
        skip_string();
        return add(std::move(node));
    }
    bool binary(binary_t&) { return false; }  // no JSON text has one
    bool key(string_t& name) {
        skip_separators();
        const Position at = here();
        skip_string();
        open_.back()->members.push_back({name, at, {}});
        return within_limits();
    }
    bool start_object(size_t) { return open(JsonNode::Kind::object); }
    bool start_array(size_t) { return open(JsonNode::Kind::array); }
    bool end_object() {
        const JsonNode::Member* twice = index(*open_.back());
        if (twice != nullptr) {
            return fail(twice->at, "the field '" + twice->name + "' stands twice in one object");
        }
        return close();
    }
    bool end_array() { return close(); }
    bool parse_error(size_t offset, const std::string&, const nlohmann::json::exception& error) {
        // nlohmann's text is "[json.exception...] parse error at line L, column C: reason".
        std::string reason = error.what();
        const size_t cut = reason.find(": ");
        if (cut != std::string::npos) reason.erase(0, cut + 2);
        move_to(offset == 0 ? 0 : std::min(offset - 1, text_.size()));
        return fail(here(), "not valid JSON: " + reason);
    }

    Result<JsonNode> take(bool parsed) {
        if (!parsed || failed_) return std::move(error_);
        return std::move(root_);
    }

  private:
    JsonNode start(JsonNode::Kind kind) {
        skip_separators();
        JsonNode node;
        node.kind = kind;
        node.at = here();
        return node;
    }
    bool scalar(JsonNode::Kind kind, std::string_view written) {
        JsonNode node = start(kind);
        node.text = written;
        skip_word();
        return add(std::move(node));
    }
    bool open(JsonNode::Kind kind) {
        JsonNode node = start(kind);
        if (open_.size() == max_depth) {
            return fail(node.at, "values are nested deeper than 64 levels");
        }
        advance(1);
        open_.push_back(place(std::move(node)));
        return true;
    }
    bool close() {
        skip_separators();
        advance(1);
        open_.pop_back();
        return true;
    }
    bool add(JsonNode node) {
        place(std::move(node));
        return within_limits();
    }
    // A tree takes some hundred bytes for a value of two characters.
    bool within_limits() {
        if (++values_ % 4096 != 0) return true;
        Result<void> checked = process_budget().check(file_);
        if (checked) return true;
        failed_ = true;
        error_ = std::move(checked).error();
        return false;
    }
    // Makes large objects quick to look into. The second of two members with one name, if there
    // is one: the first such in the file.
    static const JsonNode::Member* index(JsonNode& object) {
        const auto& members = object.members;
        std::vector<uint32_t> order(members.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, {},
                                 [&](uint32_t i) -> std::string_view { return members[i].name; });
        const JsonNode::Member* twice = nullptr;
        for (size_t i = 1; i < order.size(); ++i) {
            const JsonNode::Member& later = members[order[i]];
            if (later.name == members[order[i - 1]].name && (twice == nullptr || &later < twice))
                twice = &later;
        }
        if (members.size() > few_members) object.by_name = std::move(order);
        return twice;
    }
    // Stores a finished or opened node in its parent. Pointers in open_ stay valid: a parent gets
    // no further child before its open child is closed.
    JsonNode* place(JsonNode node) {
        if (open_.empty()) {
            root_ = std::move(node);
            return &root_;
        }
        JsonNode& parent = *open_.back();
        if (parent.kind == JsonNode::Kind::array) {
            return &parent.items.emplace_back(std::move(node));
        }
        parent.members.back().value = std::move(node);
        return &parent.members.back().value;
    }

    Position here() const { return {line_, static_cast<uint32_t>(cursor_ - line_start_ + 1)}; }
    void advance(size_t count) { move_to(cursor_ + count); }
    void move_to(size_t offset) {
        if (offset < cursor_) {
            cursor_ = line_start_ = 0;
            line_ = 1;
        }
        for (; cursor_ < offset && cursor_ < text_.size(); ++cursor_) {
            if (text_[cursor_] == '\n') {
                ++line_;
                line_start_ = cursor_ + 1;
            }
        }
    }
    void skip_separators() {
        // A byte order mark is accepted by nlohmann, at the very start only.
        if (cursor_ == 0 && text_.starts_with("\xEF\xBB\xBF")) advance(3);
        const size_t next = text_.find_first_not_of(" \t\r\n,:", cursor_);
        move_to(next == std::string_view::npos ? text_.size() : next);
    }
    std::string_view word() {
        skip_separators();
        const size_t end = text_.find_first_of(" \t\r\n,:]}", cursor_);
        return text_.substr(cursor_, end == std::string_view::npos ? end : end - cursor_);
    }
    void skip_word() { advance(word().size()); }
    void skip_string() {
        size_t at = cursor_ + 1;
        while (at < text_.size() && text_[at] != '"') at += text_[at] == '\\' ? 2 : 1;
        move_to(at + 1);
    }
    bool fail(Position at, std::string what) {
        failed_ = true;
        if (what.size() > longest_message) what.replace(longest_message, what.npos, "...");
        error_ = make_error(ErrorCode::input,
                            file_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column),
                            std::move(what));
        return false;
    }

    std::string_view text_;
    std::string file_;
    size_t cursor_ = 0, line_start_ = 0;
    uint32_t line_ = 1;
    JsonNode root_;
    std::vector<JsonNode*> open_;
    size_t values_ = 0;
    bool failed_ = false;
    Error error_ = make_error(ErrorCode::internal, "json", "parsing stopped without a reason");
};

}  // namespace

const JsonNode* JsonNode::member(std::string_view name) const {
    const auto value_if = [&](const Member& candidate) -> const JsonNode* {
        return candidate.name == name ? &candidate.value : nullptr;
    };
    if (by_name.empty()) {
        for (const Member& candidate : members) {
            if (const JsonNode* value = value_if(candidate)) return value;
        }
        return nullptr;
    }
    const auto found = std::ranges::lower_bound(
        by_name, name, {}, [&](uint32_t i) -> std::string_view { return members[i].name; });
    return found == by_name.end() ? nullptr : value_if(members[*found]);
}

std::string_view kind_name(JsonNode::Kind kind) {
    switch (kind) {
        case JsonNode::Kind::null:
            return "null";
        case JsonNode::Kind::boolean:
            return "a boolean";
        case JsonNode::Kind::number:
            return "a number";
        case JsonNode::Kind::string:
            return "a string";
        case JsonNode::Kind::array:
            return "an array";
        case JsonNode::Kind::object:
            return "an object";
    }
    return "a value";
}

Result<JsonNode> parse_json(std::string_view text, std::string_view file) {
    TreeBuilder builder(text, file);
    const bool parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
    return builder.take(parsed);
}

}  // namespace sassemu::plan
