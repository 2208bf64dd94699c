// Builds the graph that a model judges. See judge.hpp and sdk/include/sassemu/consistency.h.
#include "emu/explore/judge.hpp"

#include <dlfcn.h>
#include <sassemu/plugin.h>

extern "C" const SassemuConsistencyModel* sassemu_ptx_consistency_models(size_t* count);

namespace sassemu::explore {
namespace {

const SassemuConsistencyModel* find(const SassemuConsistencyModel* models, size_t count,
                                    const std::string& name) {
    for (size_t i = 0; i < count; ++i)
        if (name.empty() || name == models[i].name) return &models[i];
    return nullptr;
}

}  // namespace

Judge::~Judge() {
    if (self_) model_->destroy(self_);
    if (library_) dlclose(library_);
}

Result<std::unique_ptr<Judge>> Judge::open(const std::string& name, const std::string& options) {
    auto out = std::make_unique<Judge>();
    size_t count = 0;
    if (name.find('/') != name.npos || name.ends_with(".so")) {
        out->library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!out->library_) return make_error(ErrorCode::not_found, name, dlerror());
        const auto entry =
            reinterpret_cast<sassemu_entry>(dlsym(out->library_, SASSEMU_ENTRY_NAME));
        if (!entry)
            return make_error(ErrorCode::input, name, "is no plugin: it lacks " SASSEMU_ENTRY_NAME);
        const sassemu_plugin* plugin = entry();
        if (!plugin || plugin->abi >> 16 != SASSEMU_ABI_MAJOR)
            return make_error(ErrorCode::input, name,
                              "is built for another version of the plugin ABI");
        if (!SASSEMU_HAS(plugin, sassemu_plugin, consistency) || !plugin->consistency)
            return make_error(ErrorCode::input, name, "has no consistency role");
        const SassemuConsistencyModel* models = plugin->consistency(&count);
        out->model_ = find(models, count, {});
    } else {
        const SassemuConsistencyModel* models = sassemu_ptx_consistency_models(&count);
        out->model_ = find(models, count, name);
        if (!out->model_)
            return make_error(ErrorCode::not_found, "model '" + name + "'", "is unknown",
                              "known are ptx, ptx60, ptx75-proxy, their -liveness forms, nvshmem, "
                              "caches, or a plugin's path");
    }
    if (!out->model_ || out->model_->size < sizeof(SassemuConsistencyModel) ||
        out->model_->abi != SASSEMU_CONSISTENCY_ABI) {
        out->model_ = nullptr;
        return make_error(
            ErrorCode::input, name,
            "has no consistency model of version " + std::to_string(SASSEMU_CONSISTENCY_ABI));
    }
    char error[256] = "";
    out->self_ = out->model_->create(options.c_str(), error, sizeof error);
    if (!out->self_) return make_error(ErrorCode::usage, "model '" + name + "'", error);
    return out;
}

Result<Answer> Judge::operator()(const State& s, bool complete, bool relations) const {
    const size_t n = s.events.size();
    std::vector<SassemuEvent> events(n);
    std::vector<SassemuEdge> address, data, control;
    for (uint32_t i = 0; i < n; ++i) {
        const Event& e = s.events[i];
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
