// SPDX-License-Identifier: Apache-2.0
// The statement, as text and as a member of the run's report.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "fidelity.hpp"
#include "findings/findings.hpp"

namespace fidelity {

namespace {

constexpr size_t most_places = 8;  // of branches that are listed one by one

struct Class {
    uint32_t kind;
    const char *key, *text;
};
constexpr Class classes[] = {
    {SASSEMU_EVIDENCE_MEASURED, "measured", "measured on a chip"},
    {SASSEMU_EVIDENCE_VECTORS, "vectors", "published vectors"},
    {SASSEMU_EVIDENCE_SPECIFICATION, "specification", "specification"},
    {SASSEMU_EVIDENCE_ASSUMED, "assumed", "assumed"},
    {SASSEMU_EVIDENCE_NONE, "none", "not in the table"},
};

std::string padded(std::string text, size_t width) {
    if (text.size() < width) text.insert(0, width - text.size(), ' ');
    return text;
}

std::string share(uint64_t part, uint64_t all) {
    char text[32];
    std::snprintf(text, sizeof text, "%6.2f %%",
                  all ? 100 * static_cast<double>(part) / static_cast<double>(all) : 0.0);
    return text;
}

}  // namespace

void Fidelity::tell() {
    using Json = nlohmann::ordered_json;
    struct Reached {  // of a behaviour
        std::map<std::string, Output> outputs;
        std::map<sassemu_insn, uint64_t> branches;
    };
    std::map<uint32_t, Reached> reached;
    for (const auto& [key, output] : outputs_)
        for (const uint32_t number : sets_[key.second]) {
            const auto [at, fresh] = reached[number].outputs.try_emplace(key.first, output);
            if (fresh) continue;
            // What the host has read counts, where it has read anything.
            Output& o = at->second;
            if (output.is_read == o.is_read)
                o = {std::min(o.first, output.first), o.counted, o.bytes + output.bytes, o.is_read};
            else if (output.is_read)
                o = output;
        }
    for (const auto& [key, count] : decisions_)
        for (const uint32_t number : sets_[key.second])
            reached[number].branches[key.first] += count;
    for (uint32_t k = 0; k < behaviours_.size(); ++k) {
        const Behaviour& b = behaviours_[k];
        if (b.assumed() && b.decides && b.executed)
            reached[k].branches[b.places.front()] += b.executed;
    }

    uint64_t all = 0;
    for (const Behaviour& b : behaviours_) all += b.executed;
    std::string text = "fidelity: what the behaviour of the executed instructions rests on\n";
    Json json{{"classes", Json::object()}, {"assumed", Json::array()}};
    for (const Class& c : classes) {
        uint64_t executed = 0, threads = 0, names = 0;
        for (const Behaviour& b : behaviours_) {
            if (b.kind != c.kind || !b.executed) continue;
            executed += b.executed;
            threads += b.threads;
            ++names;
        }
        json["classes"][c.key] = {
            {"warpInstructions", executed}, {"threadInstructions", threads}, {"names", names}};
        if (c.kind == SASSEMU_EVIDENCE_NONE && !names) continue;
        text += "    " + std::string(c.text) + std::string(20 - std::string(c.text).size(), ' ') +
                padded(std::to_string(executed), 14) + " warp instructions " +
                share(executed, all) + ", of " + std::to_string(names) +
                (names == 1 ? " name\n" : " names\n");
    }
    std::vector<uint32_t> order;
    for (uint32_t k = 0; k < behaviours_.size(); ++k)
        if (behaviours_[k].assumed() && behaviours_[k].executed) order.push_back(k);
    std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
        return std::pair(!reached.contains(a), behaviours_[a].name) <
               std::pair(!reached.contains(b), behaviours_[b].name);
    });
    bool any = false;
    for (const uint32_t number : order) {
        const Behaviour& b = behaviours_[number];
        const Reached& to = reached[number];
        any |= !to.outputs.empty() || !to.branches.empty();
        text += "assumed: " + b.name + ": " + b.about + (b.source.empty() ? "" : ": ") + b.source +
                "\n    " + std::to_string(b.executed) +
                " executed, first place: " + findings::place_text(*this, b.places.front()) + "\n";
        Json one{{"instruction", b.name},
                 {"behaviour", b.about},
                 {"source", b.source},
                 {"warpInstructions", b.executed},
                 {"threadInstructions", b.threads},
                 {"first", findings::place_json(*this, b.places.front())},
                 {"results", Json::array()},
                 {"branches", Json::array()}};
        for (const auto& [buffer, o] : to.outputs) {
            text += "    reached " + std::to_string(o.bytes) + (o.bytes == 1 ? " byte" : " bytes") +
                    " of '" + buffer + "' from byte " + std::to_string(o.first) + " on, " +
                    (o.is_read ? "which the host has read\n" : "left there\n");
            one["results"].push_back({{"buffer", buffer},
                                      {"firstByte", o.first},
                                      {"bytes", o.bytes},
                                      {"read", o.is_read}});
        }
        size_t told = 0;
        for (const auto& [insn, count] : to.branches) {
            if (told++ == most_places) break;
            text += "    decided what is executed: " + findings::place_text(*this, insn) + " (" +
                    std::to_string(count) + (count == 1 ? " time)\n" : " times)\n");
            Json place{{"times", count}};
            place.update(findings::place_json(*this, insn));
            one["branches"].push_back(std::move(place));
        }
        if (to.branches.size() > most_places)
            text += "    and " + std::to_string(to.branches.size() - most_places) +
                    " more such places\n";
        one["branchPlaces"] = to.branches.size();
        if (to.outputs.empty() && to.branches.empty())
            text += "    reached no result and no branch\n";
        json["assumed"].push_back(std::move(one));
    }
    json["restsOnAssumptions"] = any;
    text += any ? "Results or branches rest on what is assumed.\n"
                : "No result and no branch rests on what is assumed.\n";
    print(text);
    host.report_json(session, name,
                     json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace fidelity
