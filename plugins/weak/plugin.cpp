// SPDX-License-Identifier: Apache-2.0
// The `weak` memory model as a machine of the SDK (machine.h): reading operations. What they do is
// in machine.cpp and ordering.cpp, and which way is taken its driver decides.
#include <sassemu/plugin.hpp>

#include "machine.hpp"

namespace weak {

namespace {

class DriverMemory : public Memory {
  public:
    explicit DriverMemory(sassemu::MemoryBytes bytes) : bytes_(bytes) {}
    bool read(uint64_t address, uint8_t* to, unsigned bytes) override {
        return bytes_.read(address, to, bytes);
    }
    void write(uint64_t address, const uint8_t* from, unsigned bytes) override {
        bytes_.write(address, from, bytes);
    }

  private:
    sassemu::MemoryBytes bytes_;
};

Who who_of(const sassemu_place& p) {
    return {p.thread, {p.cta, p.cluster, p.gpu, p.kind == SASSEMU_AGENT_HOST}};
}

Reach reach_of(uint32_t scope) {
    switch (scope) {
        case SASSEMU_LEVEL_NONE:
        case SASSEMU_LEVEL_CTA:
        case SASSEMU_LEVEL_SM:
            return cta;
        case SASSEMU_LEVEL_CLUSTER:
            return cluster;
        case SASSEMU_LEVEL_SYS:
            return sys;
        default:
            return gpu;
    }
}

Order order_of(const sassemu_operation& o) {
    Order out;
    out.reach = reach_of(o.scope);
    out.strong = o.ordering != SASSEMU_WEAK;
    out.sc = o.ordering == SASSEMU_SC;
    out.acquires = out.sc || o.ordering == SASSEMU_ACQUIRE || o.ordering == SASSEMU_ACQ_REL;
    out.releases = out.sc || o.ordering == SASSEMU_RELEASE || o.ordering == SASSEMU_ACQ_REL;
    if (o.ordering == SASSEMU_VOLATILE || o.ordering == SASSEMU_MMIO) out.reach = sys;
    return out;
}

Via via_of(uint32_t proxy) {
    switch (proxy) {
        case SASSEMU_VIA_ASYNC:
            return Via::async;
        case SASSEMU_VIA_TENSORMAP:
            return Via::tensormap;
        case SASSEMU_VIA_CONSTANT:
        case SASSEMU_VIA_TEXTURE:
        case SASSEMU_VIA_SURFACE:
            return Via::uncoherent;
        default:
            return Via::generic;
    }
}

Access access_of(const sassemu_operation& o) {
    const Via via = o.flags & SASSEMU_MACHINE_OBJECT ? Via::object : via_of(o.proxy);
    return {who_of(o.from), o.address, o.bytes, via, order_of(o)};
}

Fence fence_of(const sassemu_operation& o) {
    Fence f;
    f.order = order_of(o);
    f.shared_alone = o.restriction == SASSEMU_RESTRICT_SHARED_CTA ||
                     o.restriction == SASSEMU_RESTRICT_SHARED_CLUSTER;
    f.inits_alone = o.restriction == SASSEMU_RESTRICT_MBARRIER_INIT;
    if (o.proxy == o.to_proxy) return f;
    f.to_async = o.to_proxy == SASSEMU_VIA_ASYNC;
    f.to_tensormap = o.to_proxy == SASSEMU_VIA_TENSORMAP;
    const uint32_t global = SASSEMU_SPACE_BIT(SASSEMU_GLOBAL),
                   shared = SASSEMU_SPACE_BIT(SASSEMU_SHARED);
    f.global = !(o.spaces & (global | shared)) || o.spaces & global;
    f.shared = !(o.spaces & (global | shared)) || o.spaces & shared;
    return f;
}

}  // namespace

class Weak : public sassemu::Plugin {
  public:
    static constexpr auto name = "weak";
    static constexpr auto summary =
        "what PTX does not forbid: stores that some observers do not see yet, stale loads, proxies "
        "that see late";
    static constexpr uint32_t threading = SASSEMU_SERIAL;
    static constexpr bool late_loads = true;
    static constexpr bool scoped = true;
    static constexpr bool apart = true;
    static constexpr bool in_flight = true;
    static constexpr bool late_reads = true;
    static constexpr uint32_t spaces =
        SASSEMU_SPACE_BIT(SASSEMU_GLOBAL) | SASSEMU_SPACE_BIT(SASSEMU_SHARED) |
        SASSEMU_SPACE_BIT(SASSEMU_TEXTURE) | SASSEMU_SPACE_BIT(SASSEMU_CONSTANT);

    struct State {
        Machine machine;
    };

    using Plugin::Plugin;

    State start(std::span<const sassemu_place> places) const {
        std::vector<Who> all;
        for (const sassemu_place& p : places) all.push_back(who_of(p));
        return {Machine(std::move(all))};
    }

    uint32_t ways(const State& s, sassemu::MemoryBytes bytes, const sassemu_operation& o) const {
        const bool elsewhere = is_elsewhere(bytes, o);
        if (s.machine.posted() && has_to_send(s.machine, o, elsewhere)) return 0;
        if (elsewhere) return 1;
        switch (o.kind) {
            case SASSEMU_OPERATION_LOAD:
                return s.machine.ways(access_of(o));
            case SASSEMU_OPERATION_STORE:
                return s.machine.ways_to_store(access_of(o));
            case SASSEMU_OPERATION_ATOMIC:  // a comparison may fail, and write nothing
                return o.atomic && o.atomic != SASSEMU_ATOMIC_COMPARE_EXCHANGE && !o.early
                           ? s.machine.ways_to_modify(access_of(o))
                           : 1;
            case SASSEMU_OPERATION_PASS_ON:
                return s.machine.ways_to_pass_on(o.other);
            default:
                return 1;
        }
    }

    void perform(State& s, sassemu::MemoryBytes bytes, const sassemu_operation& o, uint32_t way,
                 uint8_t* value) const {
        DriverMemory memory(bytes);
        if (!bytes.has_elsewhere()) return perform_here(s.machine, memory, o, way, value);
        const Who who = who_of(o.from);
        const Order order = order_of(o);
        s.machine.begins(who, order);
        if (!is_elsewhere(bytes, o))
            perform_here(s.machine, memory, o, way, value);
        else if (o.kind == SASSEMU_OPERATION_LOAD)
            s.machine.load_elsewhere(memory, access_of(o), value);
        else if (o.kind == SASSEMU_OPERATION_STORE)
            s.machine.store_elsewhere(access_of(o), value);
        else
            s.machine.change_elsewhere(access_of(o));
        s.machine.ends(who, order);
    }

    std::vector<uint64_t> steps(const State& s) const {
        std::vector<uint64_t> threads;
        for (const size_t i : s.machine.sendable()) threads.push_back(s.machine.sender(i));
        return threads;
    }
    void take(State& s, sassemu::MemoryBytes bytes, uint32_t step) const {
        DriverMemory memory(bytes);
        s.machine.send(memory, s.machine.sendable().at(step));
    }
    uint64_t held(const State& s) const { return s.machine.posted(); }
    void launch(State& s) const { s.machine.forget_values(); }
    uint64_t settle(State& s, sassemu::MemoryBytes, bool count_only) const {
        return s.machine.settle(count_only);
    }
    bool plain(const State& s, const sassemu_operation& o, uint64_t bytes, uint32_t lanes) const {
        return s.machine.plain(access_of(o), bytes, lanes);
    }
    std::string key(const State& s) const { return s.machine.key(); }

  private:
    static bool is_elsewhere(sassemu::MemoryBytes bytes, const sassemu_operation& o) {
        return o.kind <= SASSEMU_OPERATION_ATOMIC && !(o.address & SASSEMU_MACHINE_SHARED) &&
               bytes.elsewhere(o.address);
    }
    static bool has_to_send(const Machine& machine, const sassemu_operation& o, bool elsewhere) {
        if (o.from.kind != SASSEMU_AGENT_WARP) return false;
        if (o.kind <= SASSEMU_OPERATION_ATOMIC) return machine.waits(access_of(o), elsewhere);
        // Other proxies reach memory past what waits here.
        return machine.waits(order_of(o)) ||
               (o.kind == SASSEMU_OPERATION_FENCE && o.proxy != o.to_proxy);
    }
    static void perform_here(Machine& machine, Memory& memory, const sassemu_operation& o,
                             uint32_t way, uint8_t* value) {
        switch (o.kind) {
            case SASSEMU_OPERATION_LOAD:
                machine.load(memory, access_of(o), way, value);
                break;
            case SASSEMU_OPERATION_STORE:
                machine.store(memory, access_of(o), value, way);
                break;
            case SASSEMU_OPERATION_ATOMIC:
                machine.before_change(memory, access_of(o), o.ordering != SASSEMU_WEAK,
                                      o.early != 0, way);
                break;
            case SASSEMU_OPERATION_FENCE:
                machine.fence(who_of(o.from), fence_of(o));
                break;
            case SASSEMU_OPERATION_ARRIVE:
                machine.arrive(who_of(o.from), o.address, o.other, order_of(o));
                break;
            case SASSEMU_OPERATION_WAIT:
                machine.wait(who_of(o.from), o.address, o.other, order_of(o));
                break;
            case SASSEMU_OPERATION_ISSUE:
                machine.issue(who_of(o.from), o.other);
                break;
            case SASSEMU_OPERATION_OBSERVE:
                machine.observe(who_of(o.from), o.other);
                break;
            case SASSEMU_OPERATION_LEAVE_OPEN:
                machine.leave_open(access_of(o), o.other);
                break;
            case SASSEMU_OPERATION_PASS_ON:
                machine.pass_on(memory, access_of(o), o.other, way);
                break;
            default:
                break;
        }
    }
};

}  // namespace weak

SASSEMU_PLUGIN(weak::Weak)
