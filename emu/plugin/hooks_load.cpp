// SPDX-License-Identifier: Apache-2.0
// Plugins are found, started, and asked what they want to be told.
#include "emu/plugin/driven_machine.hpp"
#include "emu/plugin/hooks.hpp"

namespace sassemu {

namespace {

bool is_built_in(std::string_view model) {
    const std::string_view name = model.substr(0, model.find(':'));
    return name.empty() || name == "flat" || name == "delay" || name == "peer";
}

}  // namespace

Result<std::unique_ptr<Hooks>> Hooks::load(const Options& options, std::string_view model,
                                           uint64_t seed) {
    auto hooks = std::make_unique<Hooks>();
    hooks->on_text_ = options.on_text;
    hooks->write_file_ = options.write_file;
    hooks->seed = seed;
    std::vector<std::string> specs = options.plugins;
    const bool with_model = !is_built_in(model);
    if (with_model) specs.insert(specs.begin(), std::string(model));
    if (specs.empty()) return std::unique_ptr<Hooks>();
    for (size_t i = 0; i < specs.size(); ++i) {
        SASSEMU_ASSIGN(const PluginSpec spec, parse_plugin_spec(specs[i]));
        auto s = std::make_unique<PluginSession>();
        SASSEMU_ASSIGN(s->file, PluginFile::open(spec, options.directories));
        const sassemu_plugin& table = s->table();
        s->name = table.name;
        s->hooks = hooks.get();
        s->is_model = with_model && i == 0;
        const std::string where = "plugin '" + s->name + "'";
        const sassemu_machine* machine = machine_role(table);
        if (s->is_model && !table.model && !machine)
            return make_error(ErrorCode::usage, where, "is no memory model that runs programs",
                              table.consistency
                                  ? "it judges executions: sassemu litmus --model " + s->name
                                  : "give it as --plugin");
        if (!s->is_model && !table.observer && !table.semantics)
            return make_error(ErrorCode::usage, where, "has nothing to do here",
                              table.model || machine
                                  ? "it is a memory model: --model " + s->name
                                  : "it judges executions: sassemu litmus --model " + s->name);
        std::vector<sassemu_setting> settings;
        DrivenMachine::Settings driving;
        for (const auto& [key, value] : spec.options) {
            bool taken = false;
            if (machine) {
                auto result = driving.take(key, value);
                if (!result) return std::move(result).error().within(where);
                taken = *result;
            }
            if (!taken) settings.push_back({key.c_str(), value.c_str()});
        }
        char error[512] = "";
        {
            const InPlugin inside(s->name, "create");
            s->self = table.create(&plugin_host(), handle(s.get()), settings.data(),
                                   settings.size(), error, sizeof error);
        }
        if (!s->self)
            return make_error(ErrorCode::usage, where,
                              error[0] ? std::string(error) : "refuses to start");
        hooks->threading_ = std::min(hooks->threading_, table.threading);
        if (s->is_model) {
            hooks->model_ = s.get();
            if (machine) {
                const InPlugin inside(s->name, "start");
                s->driver = DrivenMachine::create({&plugin_host(), handle(s.get()), nullptr, 0},
                                                  *machine, s->self, driving);
                if (!s->driver) return make_error(ErrorCode::usage, where, "has no first state");
                if (s->driver->scoped()) hooks->scoped_ = s->driver.get();
            }
            const sassemu_memory_model& model = machine ? DrivenMachine::table() : *table.model;
            hooks->model_table_ = &model;
            hooks->model_self_ = machine ? s->driver.get() : s->self;
            hooks->model_spaces_ =
                machine ? machine->spaces | SASSEMU_SPACE_BIT(SASSEMU_GENERIC) : model.spaces;
            hooks->defers_ = machine ? machine->flags & SASSEMU_MACHINE_LATE_LOADS
                                     : model.flags & SASSEMU_MODEL_DEFERS;
            if (model.sync)
                hooks->model_sync_ = ~uint64_t{0} & ~(uint64_t{1} << SASSEMU_SYNC_SCOREBOARD);
            if (model.host_access) hooks->on_host_.push_back(s.get());
        }
        if (const sassemu_observer* o = table.observer) {
            const auto wants = [&](bool wanted, std::vector<PluginSession*>& list) {
                if (wanted) list.push_back(s.get());
            };
            wants(o->access_issue, hooks->on_issue_);
            wants(o->access, hooks->on_access_);
            wants(o->fence, hooks->on_fence_);
            wants(o->cache, hooks->on_cache_);
            wants(o->sync, hooks->on_sync_);
            wants(o->async, hooks->on_async_);
            wants(o->fault, hooks->on_fault_);
            wants(o->allocate, hooks->on_allocate_);
            wants(o->release, hooks->on_release_);
            if (o->host_access && !(s->is_model && hooks->model_table_->host_access))
                hooks->on_host_.push_back(s.get());
            if (SASSEMU_HAS(o, sassemu_observer, records) && o->records) {
                s->slot = static_cast<uint32_t>(hooks->on_records_.size());
                hooks->on_records_.push_back(s.get());
            }
            wants(SASSEMU_HAS(o, sassemu_observer, counts) && o->counts, hooks->on_counts_);
            wants(SASSEMU_HAS(o, sassemu_observer, heap) && o->heap, hooks->on_heap_);
            wants(SASSEMU_HAS(o, sassemu_observer, client) && o->client, hooks->on_client_);
            wants(SASSEMU_HAS(o, sassemu_observer, model) && o->model, hooks->on_model_);
            if (o->access || o->access_issue)
                hooks->observed_spaces_ |= o->spaces ? o->spaces : ~0u;
            if (o->sync) hooks->sync_wanted_ |= ~o->sync_ignored;
        }
        hooks->sessions_.push_back(std::move(s));
    }
    if (hooks->sessions_.size() > 64)
        return make_error(ErrorCode::usage, "--plugin", "more than 64 plugins");
    if (hooks->on_records_.size() > Wanted::most_slots)
        return make_error(
            ErrorCode::usage, "--plugin",
            "more than " + std::to_string(Wanted::most_slots) + " plugins that take records");
    hooks->sync_wanted_ |= hooks->model_sync_;
    hooks->wants_async_ = !hooks->on_async_.empty();
    return hooks;
}

}  // namespace sassemu
