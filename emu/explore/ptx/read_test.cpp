// SPDX-License-Identifier: Apache-2.0
// One line of a litmus file -> Test: placement of threads, locations, aliases, initial values, the
// code with its labels. See docs/litmus.md, section 1.
#include "emu/explore/ptx/read_test.hpp"

#include <algorithm>
#include <set>

#include "emu/explore/litmus/json_text.hpp"

namespace sassemu::explore {
namespace {

using Json = nlohmann::json;

constexpr uint64_t most_bytes = 64 << 20;  // of all locations
constexpr size_t most_registers = 1024;    // of a thread

Error field_error(std::string field, std::string what) {
    return make_error(ErrorCode::input, std::move(field), std::move(what));
}

Result<std::string> text(const Json& object, const char* key, const std::string& absent) {
    const auto it = object.find(key);
    if (it == object.end() || it->is_null()) return absent;
    if (!it->is_string()) return field_error(key, "must be text");
    return it->get<std::string>();
}

Result<int64_t> integer(const Json& object, const char* key, int64_t absent, int64_t least,
                        int64_t most) {
    const auto it = object.find(key);
    if (it == object.end() || it->is_null()) return absent;
    if (!it->is_number_integer()) return field_error(key, "must be a whole number");
    const int64_t v = it->get<int64_t>();
    if (v < least || v > most)
        return field_error(key,
                           "must be from " + std::to_string(least) + " to " + std::to_string(most));
    return v;
}

// Numbers for (gpu, number) pairs: CTAs and clusters of the whole test.
class Places {
  public:
    int32_t operator()(int64_t gpu, int64_t number, int64_t kind = 0) {
        return numbers_
            .emplace(std::tuple{gpu, number, kind}, static_cast<int32_t>(numbers_.size()))
            .first->second;
    }

  private:
    std::map<std::tuple<int64_t, int64_t, int64_t>, int32_t> numbers_;
};

class Reader {
  public:
    Result<Test> read(std::string_view line) {
        SASSEMU_ASSIGN(const Json json, read_json<Json>(line));
        if (!json.is_object()) return field_error({}, "a test is a JSON object");
        SASSEMU_ASSIGN(test_.name, text(json, "name", ""));
        if (test_.name.empty()) return field_error("name", "is missing");
        SASSEMU_ASSIGN(test_.model, text(json, "model", "ptx"));
        SASSEMU_ASSIGN(test_.target, text(json, "target", ""));
        SASSEMU_ASSIGN(test_.error, text(json, "error", ""));
        SASSEMU_ASSIGN(const int64_t bound, integer(json, "bound", 2, 0, 64));
        test_.bound = static_cast<uint32_t>(bound);
        SASSEMU_ASSIGN(test_.verdict, verdict(json, "verdict"));
        SASSEMU_ASSIGN(test_.verdict_relied, verdict(json, "verdict_relied"));
        SASSEMU_TRY(read_options(json));
        SASSEMU_TRY(read_threads(json));
        SASSEMU_TRY(read_locations(json));
        SASSEMU_TRY(read_aliases(json));
        SASSEMU_TRY(declare_the_rest(json));
        SASSEMU_TRY(read_initial(json));
        SASSEMU_TRY(read_code(json));
        if (test_.liveness()) {
            SASSEMU_TRY(check_sizes());
            return std::move(test_);
        }
        SASSEMU_ASSIGN(const std::string condition, text(json, "condition", ""));
        if (condition.empty()) return field_error("condition", "is missing");
        auto tree = read_condition(condition, test_, &condition_at_);
        if (!tree) return std::move(tree).error().within("condition");
        test_.condition = std::move(tree).value();
        SASSEMU_TRY(check_sizes());
        return std::move(test_);
    }
    size_t condition_at() const { return condition_at_; }

  private:
    // What every state of the exploration has.
    Result<void> check_sizes() {
        for (const Thread& t : test_.threads)
            if (t.registers.size() > most_registers)
                return field_error(
                    t.id, "has more than " + std::to_string(most_registers) + " registers");
        uint64_t bytes = 0;
        for (const Location& l : test_.locations) bytes += l.bytes;
        if (bytes > most_bytes)
            return field_error("locations", "are of more than " + std::to_string(most_bytes >> 20) +
                                                " MiB together");
        return {};
    }

    Result<Verdict> verdict(const Json& json, const char* key) {
        SASSEMU_ASSIGN(const std::string v, text(json, key, ""));
        if (v.empty()) return Verdict::unstated;
        if (v == "allowed") return Verdict::allowed;
        if (v == "forbidden") return Verdict::forbidden;
        if (v == "error") return Verdict::error;
        return field_error(key, "must be allowed, forbidden or error");
    }

    Result<void> read_options(const Json& json) {
        const auto it = json.find("options");
        if (it == json.end()) return {};
        if (!it->is_object()) return field_error("options", "must be an object");
        for (const auto& [key, value] : it->items())
            test_.options[key] = value.is_string() ? value.get<std::string>() : value.dump();
        return {};
    }

    Result<void> read_threads(const Json& json) {
        const auto it = json.find("threads");
        if (it == json.end() || !it->is_array() || it->empty())
            return field_error("threads", "must be a list of threads");
        if (it->size() > 1024) return field_error("threads", "there are more than 1024");
        std::map<std::pair<int64_t, int64_t>, int64_t> clusters;
        for (const Json& t : *it)
            if (t.is_object() && t.contains("cluster") && t["cluster"].is_number_integer()) {
                SASSEMU_ASSIGN(const int64_t gpu, integer(t, "gpu", 0, 0, 1 << 20));
                SASSEMU_ASSIGN(const int64_t cta, integer(t, "cta", 0, 0, 1 << 20));
                const int64_t c = t["cluster"].get<int64_t>();
                if (!clusters.emplace(std::pair{gpu, cta}, c).second && clusters[{gpu, cta}] != c)
                    return field_error("threads", "one CTA is said to be in two clusters");
            }
        std::set<std::string> ids;
        for (size_t i = 0; i < it->size(); ++i) {
            auto one = read_thread((*it)[i], clusters, i);
            if (!one) return std::move(one).error().within("threads[" + std::to_string(i) + "]");
            if (!ids.insert(one->id).second)
                return field_error("threads", "two are called '" + one->id + "'");
            test_.threads.push_back(std::move(one).value());
        }
        return {};
    }

    Result<Thread> read_thread(const Json& t,
                               const std::map<std::pair<int64_t, int64_t>, int64_t>& clusters,
                               size_t index) {
        if (!t.is_object()) return field_error({}, "must be an object");
        Thread out;
        SASSEMU_ASSIGN(out.id, text(t, "id", ""));
        if (out.id.empty()) return field_error("id", "is missing");
        SASSEMU_ASSIGN(const int64_t gpu, integer(t, "gpu", 0, 0, 1 << 20));
        SASSEMU_ASSIGN(const int64_t cta, integer(t, "cta", 0, 0, 1 << 20));
        SASSEMU_ASSIGN(const int64_t sm, integer(t, "sm", -1, 0, 1 << 20));
        SASSEMU_ASSIGN(const int64_t lanes, integer(t, "lanes", 1, 1, 1024));
        SASSEMU_ASSIGN(const std::string kind, text(t, "kind", "thread"));
        if (kind == "thread")
            out.kind = ThreadKind::thread;
        else if (kind == "host")
            out.kind = ThreadKind::host;
        else if (kind == "ce")
            out.kind = ThreadKind::copy_engine;
        else if (kind == "stream")
            out.kind = ThreadKind::stream;
        else
            return field_error("kind", "must be thread, host, ce or stream");
        if (t.contains("start")) {
            if (!t["start"].is_boolean()) return field_error("start", "must be true or false");
            out.starts = t["start"].get<bool>();
        }
        out.gpu = static_cast<int32_t>(gpu);
        out.lanes = static_cast<uint32_t>(lanes);
        if (out.kind == ThreadKind::thread) {
            out.cta = ctas_(gpu, cta);
            const auto cluster = clusters.find({gpu, cta});
            out.cluster = cluster == clusters.end() ? clusters_(gpu, cta, 1)
                                                    : clusters_(gpu, cluster->second, 0);
            cluster_of_[out.cta] = out.cluster;
        } else {
            out.cta = ctas_(-1, static_cast<int64_t>(index));
            out.cluster = clusters_(-1, static_cast<int64_t>(index));
        }
        out.sm = out.kind == ThreadKind::thread ? ctas_(gpu, sm < 0 ? cta : sm, 2) : out.cta;
        return out;
    }

    void declare(std::string name, Location location) {
        Name n;
        n.text = name;
        n.location = static_cast<uint32_t>(test_.locations.size());
        n.alias = aliases_++;
        n.bytes = location.bytes;
        location.name = std::move(name);
        test_.locations.push_back(std::move(location));
        test_.names.push_back(std::move(n));
    }

    Result<void> read_locations(const Json& json) {
        const auto it = json.find("locations");
        if (it == json.end()) return {};
        if (!it->is_object()) return field_error("locations", "must be an object");
        for (const bool parts : {false, true})
            for (const auto& [name, value] : it->items()) {
                if (!value.is_object())
                    return field_error("locations." + name, "must be an object");
                if (value.contains("of") != parts) continue;
                auto done = parts ? read_part(name, value) : read_location(name, value);
                if (!done) return std::move(done).error().within("locations." + name);
            }
        return {};
    }

    Result<void> read_location(const std::string& name, const Json& value) {
        Location out;
        SASSEMU_ASSIGN(const std::string space, text(value, "space", "global"));
        SASSEMU_ASSIGN(const std::string kind, text(value, "kind", "data"));
        if (kind == "data")
            out.kind = LocationKind::data;
        else if (kind == "mbarrier")
            out.kind = LocationKind::mbarrier;
        else if (kind == "tensormap")
            out.kind = LocationKind::tensor_map;
        else
            return field_error("kind", "must be data, mbarrier or tensormap");
        const int64_t usual = out.kind == LocationKind::mbarrier     ? 8
                              : out.kind == LocationKind::tensor_map ? 128
                                                                     : 4;
        SASSEMU_ASSIGN(const int64_t bytes, integer(value, "size", usual, 1, 1 << 20));
        SASSEMU_ASSIGN(const int64_t gpu, integer(value, "gpu", 0, 0, 1 << 20));
        SASSEMU_ASSIGN(const int64_t cta, integer(value, "cta", 0, 0, 1 << 20));
        SASSEMU_ASSIGN(out.count, integer(value, "count", -1, 1, 1 << 20));
        out.bytes = static_cast<uint64_t>(bytes);
        out.gpu = static_cast<int32_t>(gpu);
        if (const auto home = value.find("home"); home != value.end() && *home == "host") {
            out.home = SASSEMU_OF_HOST;
        } else if (home != value.end()) {
            SASSEMU_ASSIGN(const int64_t of, integer(value, "home", 0, 0, 1 << 20));
            out.home = static_cast<int32_t>(of);
        }
        out.symmetric = value.value("symmetric", Json(false)) == Json(true);
        if (space == "shared::cta" || space == "tmem") {
            out.space = space == "tmem" ? SASSEMU_SPACE_TENSOR : SASSEMU_SPACE_SHARED_CTA;
            out.cta = ctas_(gpu, cta);
            const auto cluster = cluster_of_.find(out.cta);
            out.cluster = cluster == cluster_of_.end() ? clusters_(gpu, cta, 1) : cluster->second;
        } else if (space != "global") {
            return field_error("space", "must be global, shared::cta or tmem");
        }
        declare(name, std::move(out));
        return {};
    }

    Result<void> read_part(const std::string& name, const Json& value) {
        SASSEMU_ASSIGN(const std::string of, text(value, "of", ""));
        const uint32_t whole = find_name(test_, of);
        if (whole == test_.names.size())
            return field_error("of", "there is no location '" + of + "'");
        const uint64_t most = test_.names[whole].bytes;
        SASSEMU_ASSIGN(const int64_t offset,
                       integer(value, "offset", 0, 0, static_cast<int64_t>(most) - 1));
        SASSEMU_ASSIGN(const int64_t bytes,
                       integer(value, "size", 4, 1, static_cast<int64_t>(most) - offset));
        Name out = test_.names[whole];
        out.text = name;
        out.offset += static_cast<uint64_t>(offset);
        out.bytes = static_cast<uint64_t>(bytes);
        test_.names.push_back(std::move(out));
        return {};
    }

    Result<void> read_aliases(const Json& json) {
        const auto it = json.find("aliases");
        if (it == json.end()) return {};
        if (!it->is_array()) return field_error("aliases", "must be a list");
        for (size_t i = 0; i < it->size(); ++i) {
            const std::string field = "aliases[" + std::to_string(i) + "]";
            const Json& a = (*it)[i];
            if (!a.is_object()) return field_error(field, "must be an object");
            SASSEMU_ASSIGN(const std::string name, text(a, "addr", ""));
            SASSEMU_ASSIGN(const std::string of, text(a, "of", ""));
            SASSEMU_ASSIGN(const std::string proxy, text(a, "proxy", "generic"));
            if (name.empty() || of.empty()) return field_error(field, "needs addr and of");
            if (find_name(test_, name) != test_.names.size())
                return field_error(field, "'" + name + "' is declared twice");
            if (find_name(test_, of) == test_.names.size()) declare(of, {});
            Name out = test_.names[find_name(test_, of)];
            out.text = name;
            if (proxy == "generic")
                out.alias = aliases_++;
            else if (proxy == "texture")
                out.proxy = SASSEMU_PROXY_TEXTURE;
            else if (proxy == "surface")
                out.proxy = SASSEMU_PROXY_SURFACE;
            else if (proxy == "constant")
                out.proxy = SASSEMU_PROXY_CONSTANT;
            else
                return field_error(field,
                                   "the proxy must be generic, texture, surface or constant");
            test_.names.push_back(std::move(out));
        }
        return {};
    }

    // Names that only appear in `init` and in the code are four bytes of global memory.
    Result<void> declare_the_rest(const Json& json) {
        const auto mention = [&](std::string_view name) {
            while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
            size_t end = 0;
            while (end < name.size() &&
                   (std::isalnum(static_cast<unsigned char>(name[end])) || name[end] == '_'))
                ++end;
            name = name.substr(0, end);
            if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return;
            if (find_name(test_, name) == test_.names.size()) declare(std::string(name), {});
        };
        if (const auto init = json.find("init"); init != json.end()) {
            if (!init->is_object()) return field_error("init", "must be an object");
            for (const auto& [key, value] : init->items()) {
                if (key.find(':') == key.npos) mention(key);
                if (value.is_string() && value.get<std::string>().starts_with("&"))
                    mention(value.get<std::string>().substr(1));
            }
        }
        if (const auto condition = json.find("condition");
            !test_.liveness() && condition != json.end() && condition->is_string()) {
            const std::string line = condition->get<std::string>();
            for (size_t i = 0; i < line.size();) {
                size_t end = i;
                while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) ||
                                             line[end] == '_' || line[end] == ':'))
                    ++end;
                const std::string_view word = std::string_view(line).substr(i, end - i);
                if (word.find(':') == word.npos) mention(word);
                if (end < line.size() && line[end] == '@') ++end;
                while (end < line.size() && i + word.size() + 1 == end &&
                       std::isdigit(static_cast<unsigned char>(line[end])))
                    ++end;
                if (end < line.size() && line[end] == '[')
                    end = std::min(line.find(']', end), line.size());
                i = std::max(end, i + 1);
            }
        }
        for (const Json& t : json["threads"]) {
            const auto ops = t.find("ops");
            if (ops == t.end() || !ops->is_array()) continue;
            for (const Json& op : *ops) {
                if (!op.is_string()) continue;
                const std::string line = op.get<std::string>();
                for (size_t i = line.find_first_of("[&"); i != line.npos;
                     i = line.find_first_of("[&", i + 1))
                    mention(std::string_view(line).substr(i + 1));
            }
        }
        if (test_.names.size() > 4096)
            return field_error("threads", "there are more than 4096 locations");
        return {};
    }

    Result<void> read_initial(const Json& json) {
        const auto init = json.find("init");
        if (init == json.end()) return {};
        for (const auto& [key, value] : init->items()) {
            const std::string field = "init." + key;
            uint64_t number = 0;
            int32_t address = -1;
            if (value.is_number_unsigned())
                number = value.get<uint64_t>();
            else if (value.is_number_integer())
                number = static_cast<uint64_t>(value.get<int64_t>());
            else if (value.is_string() && value.get<std::string>().starts_with("&"))
                address =
                    static_cast<int32_t>(find_name(test_, value.get<std::string>().substr(1)));
            else
                return field_error(field, "must be a whole number or \"&location\"");
            if (address == static_cast<int32_t>(test_.names.size()))
                return field_error(field, "names no location");
            if (const size_t colon = key.find(':'); colon != key.npos) {
                const auto thread = std::find_if(
                    test_.threads.begin(), test_.threads.end(),
                    [&, &name = key](const Thread& t) { return t.id == name.substr(0, colon); });
                if (thread == test_.threads.end())
                    return field_error(field, "there is no such thread");
                if (address >= 0) return field_error(field, "a register holds a number");
                thread->initial[register_of(*thread, key.substr(colon + 1))] = number;
                continue;
            }
            const size_t at = key.find('@');
            const uint32_t name = find_name(test_, key.substr(0, at));
            if (name == test_.names.size()) return field_error(field, "there is no such location");
            if (at == key.npos) {
                test_.names[name].initial = number;
                test_.names[name].initial_address = address;
                continue;
            }
            test_.initial_at[{name, std::atoi(key.c_str() + at + 1)}] = number;
        }
        return {};
    }

    Result<void> read_code(const Json& json) {
        for (size_t i = 0; i < test_.threads.size(); ++i) {
            const Json& t = json["threads"][i];
            const std::string field = "threads[" + std::to_string(i) + "].ops";
            const auto ops = t.find("ops");
            if (ops == t.end() || !ops->is_array())
                return field_error(field, "must be a list of operations");
            if (ops->size() > 4096) return field_error(field, "there are more than 4096");
            std::map<std::string, uint32_t> labels;
            std::vector<uint32_t> numbers;
            Thread& thread = test_.threads[i];
            for (size_t k = 0; k < ops->size(); ++k) {
                const Json& op = (*ops)[k];
                if (!op.is_string())
                    return field_error(field + "[" + std::to_string(k) + "]", "must be text");
                std::string line = op.get<std::string>();
                while (!line.empty() && line.back() == ' ') line.pop_back();
                if (line.ends_with(':') && line.find_first_of(" []") == line.npos) {
                    line.pop_back();
                    if (!labels.emplace(line, thread.code.size()).second)
                        return field_error(field + "[" + std::to_string(k) + "]",
                                           "the label '" + line + "' is there twice");
                    continue;
                }
                const std::string where = thread.id + " op " + std::to_string(k);
                auto instruction = read_statement(line, test_, thread);
                if (!instruction) return std::move(instruction).error().within(where);
                thread.code.push_back(std::move(instruction).value());
                numbers.push_back(static_cast<uint32_t>(k));
            }
            for (size_t k = 0; k < thread.code.size(); ++k) {
                auto* branch = std::get_if<op::Branch>(&thread.code[k].what);
                if (!branch) continue;
                const auto label = labels.find(branch->label);
                if (label == labels.end())
                    return field_error(thread.id + " op " + std::to_string(numbers[k]),
                                       "there is no label '" + branch->label + "'");
                branch->target = label->second;
            }
        }
        return {};
    }

    Test test_;
    size_t condition_at_ = std::string::npos;
    Places ctas_, clusters_;
    std::map<int32_t, int32_t> cluster_of_;
    uint32_t aliases_ = 0;
};

}  // namespace

Result<Test> read_test(std::string_view json, size_t* condition_at) {
    Reader reader;
    auto out = reader.read(json);
    if (condition_at) *condition_at = reader.condition_at();
    return out;
}

}  // namespace sassemu::explore
