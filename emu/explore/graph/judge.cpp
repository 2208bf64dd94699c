// SPDX-License-Identifier: Apache-2.0
// Builds the graph that a model judges. See judge.hpp and sdk/include/sassemu/consistency.h.
#include "emu/explore/graph/judge.hpp"

#include <sassemu/plugin.h>

#include <algorithm>
#include <cstddef>

#include "emu/plugin/in_plugin.hpp"

namespace sassemu::explore {
namespace {

// Of before ABI 1.6: one question at a time.
constexpr size_t first_model = offsetof(SassemuConsistencyModel, begin);

// The plugin's model of that name; null: it has none. Without a name its first.
const SassemuConsistencyModel* find(const PluginFile& file, const std::string& name) {
    if (!file.table().consistency) return nullptr;
    const InPlugin inside(file.path(), "consistency");
    size_t count = 0;
    const SassemuConsistencyModel* models = file.table().consistency(&count);
    // As far apart as the plugin knew them.
    const auto* at = reinterpret_cast<const char*>(models);
    for (size_t i = 0; i < count; ++i, at += models->size) {
        const auto* model = reinterpret_cast<const SassemuConsistencyModel*>(at);
        if (name.empty() || name == model->name) return model;
    }
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
    if (!out->model_ || out->model_->size < first_model ||
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

JudgedGraph::JudgedGraph(const Judge& judge, const State& s)
    : judge_(judge),
      rmw_(s.rmw),
      pairing_(s.pairing),
      spawn_(s.spawn),
      agent_order_(s.agent_order),
      completion_(s.completion) {
    for (uint32_t i = 0; i < s.events.size(); ++i) {
        const GraphEvent& e = s.events[i];
        events_.push_back(e.e);
        e.data.each([&](uint32_t b) { data_.push_back({b, i}); });
        e.control.each([&](uint32_t b) { control_.push_back({b, i}); });
    }
    const auto edges = [](const std::vector<SassemuEdge>& v) {
        return SassemuEdges{v.data(), v.size()};
    };
    graph_.size = sizeof graph_;
    graph_.event_size = sizeof(SassemuEvent);
    graph_.events = events_.data();
    graph_.event_count = events_.size();
    graph_.data = edges(data_);
    graph_.control = edges(control_);
    graph_.rmw = edges(rmw_);
    graph_.pairing = edges(pairing_);
    graph_.spawn = edges(spawn_);
    graph_.agent_order = edges(agent_order_);
    graph_.completion = edges(completion_);
    open_.resize(1);
    const SassemuConsistencyModel& m = *judge.model_;
    if (m.size < sizeof m || !m.begin || !m.ask || !m.end) return;
    prepare_crash_stack();
    const InPlugin inside(judge.file_.path(), "begin");
    begun_ = m.begin(judge.self_, &graph_);
}

JudgedGraph::~JudgedGraph() {
    if (!begun_) return;
    const InPlugin inside(judge_.file_.path(), "end");
    judge_.model_->end(begun_);
}

std::array<size_t, 6> JudgedGraph::sizes(const State& s) const {
    return {s.events.size(), s.rmw.size(),         s.pairing.size(),
            s.spawn.size(),  s.agent_order.size(), s.completion.size()};
}

bool JudgedGraph::fits(const State& s) const {
    return sizes(s) == std::array<size_t, 6>{events_.size(),      rmw_.size(),
                                             pairing_.size(),     spawn_.size(),
                                             agent_order_.size(), completion_.size()};
}

bool JudgedGraph::mixed_sizes() {
    if (mixed_sizes_) return *mixed_sizes_;
    const auto partly = [](const SassemuEvent& a, const SassemuEvent& b) {
        return a.thread >= 0 && b.thread >= 0 && a.location == b.location &&
               a.first < b.first + b.bytes && b.first < a.first + a.bytes &&
               (a.first != b.first || a.bytes != b.bytes);
    };
    constexpr uint32_t access = SASSEMU_EVENT_READ | SASSEMU_EVENT_WRITE;
    bool found = false;
    for (const SassemuEvent& a : events_)
        found = found || (a.kind & access && std::ranges::any_of(events_, [&](const auto& b) {
                              return b.kind & access && partly(a, b);
                          }));
    return *(mixed_sizes_ = found);
}

Result<Answer> JudgedGraph::ask(const State& s, int32_t complete, bool relations) {
    const size_t n = events_.size();
    from_.clear();
    for (const Source& source : s.sources)
        if (source.write >= 0)
            from_.push_back(
                {static_cast<uint32_t>(source.write), source.read, source.first, source.bytes});
    const SassemuEdges chosen{s.chosen.data(), s.chosen.size()};
    Answer out;
    SassemuVerdict v{};
    v.size = sizeof v;
    if (relations) {
        for (auto* m : {&out.coherence, &out.causality, &out.base}) m->resize(n * n);
        v.coherence = out.coherence.data();
        v.causality = out.causality.data();
        v.base = out.base.data();
    }
    const SassemuConsistencyModel& m = *judge_.model_;
    int failed = 0;
    for (;;) {
        v.all_open = open_.data();
        v.open_room = open_.size();
        v.open_count = 0;
        prepare_crash_stack();
        const InPlugin inside(judge_.file_.path(), "judge");
        if (begun_) {
            failed = m.ask(begun_, from_.data(), from_.size(), chosen, complete, &v);
        } else {
            graph_.reads_from = from_.data();
            graph_.reads_from_count = from_.size();
            graph_.chosen = chosen;
            graph_.complete = complete != SASSEMU_COMPLETE_NOT;
            failed = m.judge(judge_.self_, &graph_, &v);
        }
        if (failed || !v.consistent || v.open_count <= open_.size()) break;
        open_.resize(v.open_count);
    }
    if (failed)
        return make_error(ErrorCode::internal, std::string("model '") + m.name + "'",
                          "cannot judge the execution");
    out.consistent = v.consistent != 0;
    if (out.consistent) {
        if (complete && v.has_open)
            out.open = v.open_count ? std::vector<SassemuEdge>(
                                          open_.begin(),
                                          open_.begin() + static_cast<std::ptrdiff_t>(v.open_count))
                                    : std::vector<SassemuEdge>{v.open};
        return out;
    }
    v.axiom[sizeof v.axiom - 1] = v.clause[sizeof v.clause - 1] = 0;
    out.axiom = v.axiom;
    out.clause = v.clause;
    out.cycle.assign(v.cycle, v.cycle + std::min<size_t>(v.cycle_count, std::size(v.cycle)));
    return out;
}

}  // namespace sassemu::explore
