// SPDX-License-Identifier: Apache-2.0
// See explored_machine.hpp.
#include "emu/explore/machines/explored_machine.hpp"

#include <algorithm>
#include <new>

namespace sassemu::explore {
namespace {

// The model `flat`: one memory, every operation performed at once.
const sassemu_machine& flat() {
    static const sassemu_machine table = [] {
        sassemu_machine m{};
        m.size = sizeof m;
        m.spaces = SASSEMU_SPACE_BIT(SASSEMU_GLOBAL);
        static char only_state;
        m.start = [](void*, const sassemu_place*, size_t) -> void* { return &only_state; };
        m.copy = [](void*, const void*) -> void* { return &only_state; };
        m.drop = [](void*, void*) {};
        m.perform = [](void*, void*, const sassemu_bytes* b, const sassemu_operation* o, uint32_t,
                       void* value) {
            if (o->kind == SASSEMU_OPERATION_LOAD) b->read(b->memory, o->address, value, o->bytes);
            if (o->kind == SASSEMU_OPERATION_STORE)
                b->write(b->memory, o->address, value, o->bytes);
        };
        m.steps = [](void*, const void*, uint64_t*, uint32_t) { return uint32_t{0}; };
        m.take = [](void*, void*, const sassemu_bytes*, uint32_t) {};
        m.held = [](void*, const void*) { return uint64_t{0}; };
        m.key = [](void*, const void*, void*, size_t) { return size_t{0}; };
        return m;
    }();
    return table;
}

}  // namespace

Result<std::unique_ptr<ExploredMachine>> ExploredMachine::open(const std::string& model,
                                                               const std::string& options) {
    auto out = std::make_unique<ExploredMachine>();
    out->name_ = model;
    if (model == "flat") {
        out->table_ = &flat();
        return out;
    }
    SASSEMU_ASSIGN(const PluginSpec spec,
                   parse_plugin_spec(model + (options.empty() ? "" : ":" + options)));
    for (const auto& [key, value] : spec.options)
        for (const sassemu_option& o : driver_options)
            if (key == o.key)
                return make_error(ErrorCode::usage, "model '" + model + "'",
                                  "option '" + key + "' is for sassemu run",
                                  "exploration visits what every policy can do");
    SASSEMU_ASSIGN(out->hooks_, Hooks::load({}, model + (options.empty() ? "" : ":" + options), 0));
    out->table_ = out->hooks_->machine();
    if (!out->table_)
        return make_error(ErrorCode::usage, "model '" + model + "'",
                          "is no machine: it cannot be explored",
                          "it is for `sassemu run --model`");
    out->self_ = out->hooks_->machine_self();
    // Its options add clients that access memory by themselves.
    out->sectors_ = spec.name == "caches" && spec.options.empty();
    return out;
}

Result<bool> ExploredMachine::is_one(const std::string& model) {
    if (model == "flat") return true;
    SASSEMU_ASSIGN(const PluginSpec spec, parse_plugin_spec(model));
    auto file = PluginFile::open(spec, {});
    if (!file) return std::move(file).error();
    return machine_role(file->table()) != nullptr;
}

ExploredMachine::State::State(const ExploredMachine& machine,
                              const std::vector<sassemu_place>& places)
    : machine_(&machine), p_(t().start(self(), places.data(), places.size())) {
    if (!p_) throw std::bad_alloc();
}

ExploredMachine::State::State(const State& other)
    : machine_(other.machine_), p_(t().copy(self(), other.p_)) {
    if (!p_) throw std::bad_alloc();
}

uint32_t ExploredMachine::State::ways(const sassemu_bytes& b, const sassemu_operation& o) const {
    return t().ways ? t().ways(self(), p_, &b, &o) : 1;
}

std::vector<uint64_t> ExploredMachine::State::steps() const {
    std::vector<uint64_t> threads(64);
    for (;;) {
        const uint32_t count =
            t().steps(self(), p_, threads.data(), static_cast<uint32_t>(threads.size()));
        const bool all = count <= threads.size();
        threads.resize(count);
        if (all) return threads;
    }
}

void ExploredMachine::State::key(std::string& out) const {
    char near[512];
    const size_t bytes = t().key(self(), p_, near, sizeof near);
    const size_t before = out.size();
    if (bytes <= sizeof near) {
        out.append(near, bytes);
    } else {
        out.resize(before + bytes);
        t().key(self(), p_, out.data() + before, bytes);
    }
    for (int i = 0; i < 4; ++i) out += static_cast<char>(bytes >> 8 * i);  // where it begins
}

}  // namespace sassemu::explore
