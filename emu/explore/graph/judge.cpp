// SPDX-License-Identifier: Apache-2.0
// Builds the graph that a model judges. See judge.hpp and sdk/include/sassemu/consistency.h.
#include "emu/explore/graph/judge.hpp"

#include <sassemu/plugin.h>

#include <algorithm>

#include "emu/plugin/in_plugin.hpp"

namespace sassemu::explore {
namespace {

// The plugin's model of that name; null: it has none. Without a name its first.
const SassemuConsistencyModel* find(const PluginFile& file, const std::string& name) {
    if (!file.table().consistency) return nullptr;
    const InPlugin inside(file.path(), "consistency");
    size_t count = 0;
    const SassemuConsistencyModel* models = file.table().consistency(&count);
    for (size_t i = 0; i < count; ++i)
        if (name.empty() || name == models[i].name) return &models[i];
    return nullptr;
}

// The plugin at that path or of that name; else the one that has a model of that name (ptx60 is one
// of ptx.so's).
Result<PluginFile> plugin_of(const std::string& name) {
    const bool path = name.find('/') != name.npos || name.ends_with(".so");
    const std::vector<std::string> known = known_plugins({});
    if (path || std::ranges::find(known, name) != known.end())
        return PluginFile::open({name, {}, path}, {});
    for (const std::string& other : known)
        if (auto file = PluginFile::open({other, {}, false}, {}); file && find(*file, name))
            return file;
    return make_error(ErrorCode::usage, "model '" + name + "'", "is unknown",
                      "known are ptx, ptx60, ptx75-proxy, their -liveness forms, nvshmem, "
                      "caches, flat, or a plugin's name or path");
}

}  // namespace

bool Judge::knows(const std::string& name) { return plugin_of(name).ok(); }

Judge::~Judge() {
    if (self_) model_->destroy(self_);
}

Result<std::unique_ptr<Judge>> Judge::open(const std::string& name, const std::string& options) {
    auto out = std::make_unique<Judge>();
    SASSEMU_ASSIGN(out->file_, plugin_of(name));
    if (!out->file_.table().consistency)
        return make_error(ErrorCode::usage, out->file_.path(),
                          "has no consistency role: it cannot judge executions",
                          "an operational model is for `sassemu run --model`");
    out->model_ = find(out->file_, name);
    if (!out->model_) out->model_ = find(out->file_, {});
    if (!out->model_ || out->model_->size < sizeof(SassemuConsistencyModel) ||
        out->model_->abi != SASSEMU_CONSISTENCY_ABI) {
        out->model_ = nullptr;
        return make_error(
            ErrorCode::usage, name,
            "has no consistency model of version " + std::to_string(SASSEMU_CONSISTENCY_ABI));
    }
    char error[256] = "";
    const InPlugin inside(out->file_.path(), "create");
    out->self_ = out->model_->create(options.c_str(), error, sizeof error);
    if (!out->self_) return make_error(ErrorCode::usage, "model '" + name + "'", error);
    return out;
}

Result<Answer> Judge::operator()(const State& s, bool complete, bool relations) const {
    const size_t n = s.events.size();
    std::vector<SassemuEvent> events(n);
    std::vector<SassemuEdge> address, data, control;
    for (uint32_t i = 0; i < n; ++i) {
        const GraphEvent& e = s.events[i];
        events[i] = e.e;
        for (uint32_t b = 0; b < n; ++b) {
            if (e.data[b]) data.push_back({b, i});
            if (e.control[b]) control.push_back({b, i});
        }
    }
    std::vector<SassemuReadsFrom> from;
    for (const Source& source : s.sources)
        if (source.write >= 0)
            from.push_back(
                {static_cast<uint32_t>(source.write), source.read, source.first, source.bytes});
    const auto edges = [](const std::vector<SassemuEdge>& v) {
        return SassemuEdges{v.data(), v.size()};
    };
    SassemuGraph g{};
    g.size = sizeof g;
    g.event_size = sizeof(SassemuEvent);
    g.events = events.data();
    g.event_count = n;
    g.reads_from = from.data();
    g.reads_from_count = from.size();
    g.address = edges(address);
    g.data = edges(data);
    g.control = edges(control);
    g.rmw = edges(s.rmw);
    g.pairing = edges(s.pairing);
    g.spawn = edges(s.spawn);
    g.agent_order = edges(s.agent_order);
    g.completion = edges(s.completion);
    g.chosen = edges(s.chosen);
    g.complete = complete;
    Answer out;
    SassemuVerdict v{};
    v.size = sizeof v;
    if (relations) {
        for (auto* m : {&out.coherence, &out.causality, &out.base}) m->resize(n * n);
        v.coherence = out.coherence.data();
        v.causality = out.causality.data();
        v.base = out.base.data();
    }
    prepare_crash_stack();
    const InPlugin inside(file_.path(), "judge");
    if (model_->judge(self_, &g, &v) != 0)
        return make_error(ErrorCode::internal, std::string("model '") + model_->name + "'",
                          "cannot judge the execution");
    out.consistent = v.consistent != 0;
    out.has_open = v.has_open != 0;
    out.open = v.open;
    v.axiom[sizeof v.axiom - 1] = v.clause[sizeof v.clause - 1] = 0;
    out.axiom = v.axiom;
    out.clause = v.clause;
    out.cycle.assign(v.cycle, v.cycle + std::min<size_t>(v.cycle_count, std::size(v.cycle)));
    return out;
}

}  // namespace sassemu::explore
