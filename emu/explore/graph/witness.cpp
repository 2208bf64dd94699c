// SPDX-License-Identifier: Apache-2.0
// See witness.hpp.
#include "emu/explore/graph/witness.hpp"

#include "emu/explore/sass/program.hpp"

namespace sassemu::explore {
namespace {

constexpr const char* orders[] = {"weak",    "relaxed", "acquire",  "release",
                                  "acq_rel", "sc",      "volatile", "mmio"};
constexpr const char* scopes[] = {"", ".cta", ".cluster", ".gpu", ".sys"};
constexpr const char* proxies[] = {"",         " async",   " alias",    " tensormap",
                                   " texture", " surface", " constant", " tensor"};

std::string kind_of(const SassemuEvent& e) {
    std::string out;
    const auto add = [&](uint32_t bit, const char* name) {
        if (e.kind & bit) out += (out.empty() ? "" : "+") + std::string(name);
    };
    add(SASSEMU_EVENT_READ, "R");
    add(SASSEMU_EVENT_WRITE, e.kind & SASSEMU_EVENT_INIT ? "init" : "W");
    add(SASSEMU_EVENT_FENCE, "F");
    add(SASSEMU_EVENT_ARRIVE, "arrive");
    add(SASSEMU_EVENT_WAIT, "wait");
    add(SASSEMU_EVENT_PROXY_FENCE, "proxy-fence");
    add(SASSEMU_EVENT_ISSUE, "issue");
    add(SASSEMU_EVENT_COMPLETE, "complete");
    return out.empty() ? "point" : out;
}

class Graph {
  public:
    Graph(const Test& test, const Witness& w) : test_(test), s_(w.state), a_(w.answer), p_(test) {}

    std::string label(uint32_t i) const {
        const GraphEvent& event = s_.events[i];
        const SassemuEvent& e = event.e;
        std::string out = "e" + std::to_string(i) + " " + kind_of(e);
        if (e.thread >= 0 && e.order && e.order < std::size(orders) && e.scope < std::size(scopes))
            out += std::string(" ") + orders[e.order] + scopes[e.scope];
        if (e.bytes) {
            out += " " + test_.locations[e.location].name;
            if (e.first || e.bytes != test_.locations[e.location].bytes)
                out += "[" + std::to_string(e.first) + ":" + std::to_string(e.bytes) + "]";
        }
        if (e.proxy < std::size(proxies)) out += proxies[e.proxy];
        if (e.kind & SASSEMU_EVENT_READ) {
            State copy = s_;
            if (const auto v = copy.evaluate(copy.read_value(i), p_))
                out += " = " + std::to_string(*v);
        } else if (e.kind & SASSEMU_EVENT_WRITE && e.thread >= 0) {
            if (const auto v = s_.evaluate(event.value, p_)) out += " = " + std::to_string(*v);
        }
        return out;
    }

    std::string instruction(uint32_t i) const {
        const SassemuEvent& e = s_.events[i].e;
        if (e.thread < 0 || e.source < 0) return {};
        const Thread& thread = test_.threads[static_cast<size_t>(e.thread)];
        if (thread.sass) {
            const SassCode& words =
                test_.sass->code(test_.sass->thread(static_cast<uint32_t>(e.thread)).launch);
            return words.place(static_cast<uint32_t>(e.source)) + " " +
                   words.text(static_cast<uint32_t>(e.source));
        }
        const auto& code = thread.code;
        return static_cast<size_t>(e.source) < code.size()
                   ? code[static_cast<size_t>(e.source)].text
                   : "";
    }

    // f(relation, from, to) for every edge that is drawn.
    template <class F>
    void edges(F&& f) const {
        for (const Source& source : s_.sources)
            if (source.write >= 0) f("rf", static_cast<uint32_t>(source.write), source.read);
        const size_t n = s_.events.size();
        const auto co = [&](size_t x, size_t y) {
            return !a_.coherence.empty() && a_.coherence[x * n + y];
        };
        for (uint32_t x = 0; x < n; ++x)
            for (uint32_t y = 0; y < n; ++y) {
                if (!co(x, y)) continue;
                bool direct = true;
                for (size_t z = 0; z < n && direct; ++z) direct = !(co(x, z) && co(z, y));
                if (direct) f("co", x, y);
            }
        for (const Source& source : s_.sources)
            for (uint32_t w = 0; w < n; ++w)
                if (source.write >= 0 && w != source.read &&
                    co(static_cast<size_t>(source.write), w) &&
                    s_.events[w].e.first < source.first + source.bytes &&
                    source.first < s_.events[w].e.first + s_.events[w].e.bytes)
                    f("fr", source.read, w);
        const auto all = [&](const char* name, const std::vector<SassemuEdge>& list) {
            for (const SassemuEdge& e : list) f(name, e.from, e.to);
        };
        all("rmw", s_.rmw);
        all("barrier", s_.pairing);
        all("spawn", s_.spawn);
        all("agent", s_.agent_order);
        all("completion", s_.completion);
        all("order", s_.chosen);
        for (uint32_t i = 0; i < n; ++i)
            for (uint32_t b = 0; b < n; ++b)
                if (s_.events[i].data[b]) f("data", b, i);
    }

    const Test& test_;
    const State& s_;
    const Answer& a_;
    const Program p_;
};

std::string quoted(const std::string& s) {
    std::string out;
    for (const char c : s) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

}  // namespace

std::string witness_text(const Test& test, const Report& report) {
    if (!report.witness) return {};
    const Graph g(test, *report.witness);
    std::string out = "witness of " + test.name + ":";
    for (size_t i = 0; i < report.witness->values.size(); ++i)
        out += " " + report.names[i] + "=" + std::to_string(report.witness->values[i]);
    out += "\n";
    const size_t n = g.s_.events.size();
    for (uint32_t i = 0; i < n; ++i)
        if (g.s_.events[i].e.thread < 0) out += "  " + g.label(i) + "\n";
    for (size_t t = 0; t < test.threads.size(); ++t) {
        out += "  " + test.threads[t].id;
        switch (g.s_.threads[t].status) {
            case ThreadStatus::spinning:
                out += " (spins)";
                break;
            case ThreadStatus::at_barrier:
            case ThreadStatus::at_cluster:
                out += " (waits at a barrier)";
                break;
            default:
                break;
        }
        out += ":\n";
        for (uint32_t i = 0; i < n; ++i)
            if (g.s_.events[i].e.thread == static_cast<int32_t>(t)) {
                const bool agent = g.s_.events[i].e.agent >= 0;
                out += std::string(agent ? "      | " : "    ") + g.label(i);
                out += "    " + g.instruction(i) + "\n";
            }
    }
    g.edges([&](const char* name, uint32_t from, uint32_t to) {
        out += "  e" + std::to_string(from) + " --" + name + "--> e" + std::to_string(to) + "\n";
    });
    return out;
}

std::string witness_graphviz(const Test& test, const Report& report) {
    if (!report.witness) return {};
    const Graph g(test, *report.witness);
    std::string out =
        "digraph \"" + quoted(test.name) + "\" {\n  node [shape=box, fontname=monospace];\n";
    const size_t n = g.s_.events.size();
    for (uint32_t i = 0; i < n; ++i)
        if (g.s_.events[i].e.thread < 0)
            out += "  e" + std::to_string(i) + " [label=\"" + quoted(g.label(i)) + "\"];\n";
    for (size_t t = 0; t < test.threads.size(); ++t) {
        out += "  subgraph cluster_" + std::to_string(t) + " {\n    label=\"" +
               quoted(test.threads[t].id) + "\";\n";
        std::string last;
        for (uint32_t i = 0; i < n; ++i) {
            if (g.s_.events[i].e.thread != static_cast<int32_t>(t)) continue;
            const std::string id = "e" + std::to_string(i);
            out += "    " + id + " [label=\"" + quoted(g.label(i)) + "\\n" +
                   quoted(g.instruction(i)) + "\"];\n";
            if (g.s_.events[i].e.agent >= 0) continue;
            if (!last.empty()) out += "    " + last + " -> " + id + " [label=po];\n";
            last = id;
        }
        out += "  }\n";
    }
    g.edges([&](const std::string& name, uint32_t from, uint32_t to) {
        const char* colour = name == "rf"        ? "red"
                             : name == "co"      ? "blue"
                             : name == "fr"      ? "orange"
                             : name == "barrier" ? "darkgreen"
                                                 : "grey40";
        out += "  e" + std::to_string(from) + " -> e" + std::to_string(to) + " [label=\"" + name +
               "\", color=" + colour + ", constraint=false];\n";
    });
    return out + "}\n";
}

}  // namespace sassemu::explore
