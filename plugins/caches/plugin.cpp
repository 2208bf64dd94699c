// SPDX-License-Identifier: Apache-2.0
// The `caches` memory model as a machine of the SDK (machine.h): what an operation of a thread does
// to the hierarchy of hierarchy.hpp. What belongs here: reading operations. What does not: what the
// steps do (hierarchy.cpp), and which is taken next, which its driver decides.
#include <sassemu/plugin.hpp>

#include <array>
#include <atomic>

#include "clients.hpp"

namespace caches {

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

constexpr const char* level_names[] = {"", "CTA", "SM", "VC", "GPU", "SYS"};

Place place_of(const sassemu_place& p) {
    return {p.thread, p.cta, uint64_t{p.gpu} << 32 | p.sm, p.gpu,
            p.kind == SASSEMU_AGENT_COPY_ENGINE ? Client::copy_engine
            : p.kind == SASSEMU_AGENT_HOST      ? Client::host
                                                : Client::sm};
}

Path path_of(const sassemu_operation& o) {
    if (o.proxy == SASSEMU_VIA_TEXTURE) return Path::texture;
    if (o.proxy == SASSEMU_VIA_CONSTANT) return Path::constant;
    const bool wide = o.scope >= SASSEMU_LEVEL_CLUSTER;
    if (o.ordering != SASSEMU_WEAK && wide) return Path::bypass;
    return o.flags & SASSEMU_ACCESS_CACHE_CV ? Path::around : Path::cached;
}

Station station_of(const sassemu_operation& fence) {
    if (fence.proxy != fence.to_proxy) {  // the asynchronous proxy works on L2
        const bool of_global = !fence.spaces || fence.spaces & SASSEMU_SPACE_BIT(SASSEMU_GLOBAL);
        return of_global ? Station::vc : Station::own;
    }
    switch (fence.scope) {
        case SASSEMU_LEVEL_SM:
            return Station::sm;
        case SASSEMU_LEVEL_VC:
            return Station::vc;
        case SASSEMU_LEVEL_CLUSTER:
        case SASSEMU_LEVEL_GPU:
            return Station::gpu;
        case SASSEMU_LEVEL_SYS:
            return Station::sys;
        default:
            return Station::cta;
    }
}

}  // namespace

class Caches : public sassemu::Plugin, private Watcher {
  public:
    static constexpr auto name = "caches";
    static constexpr auto summary =
        "incoherent L1, texture and constant caches, weakly ordered stores and loads, other "
        "clients";
    static constexpr sassemu_option options[] = {
        {"ce", "FLAG:VALUE:FROM:TO:BYTES",
         "a copy engine: when the word at FLAG is VALUE, it copies"},
        {"fe", "FLAG:VALUE:FROM:TO:BYTES", "the same by the front end"},
        {"host", "FLAG:VALUE:FROM:TO:BYTES", "the same by the host"},
        {"stats", "0|1", "prints what the barriers cost (0)"},
        {"relaxed", "0|1", "writes that were posted to one link pass each other there (0)"}};
    static constexpr uint32_t threading = SASSEMU_SERIAL;
    static constexpr bool late_loads = true;
    static constexpr bool in_flight = true;
    static constexpr uint32_t spaces = SASSEMU_SPACE_BIT(SASSEMU_GLOBAL) |
                                       SASSEMU_SPACE_BIT(SASSEMU_TEXTURE) |
                                       SASSEMU_SPACE_BIT(SASSEMU_CONSTANT);

    struct State {
        Hierarchy hierarchy;
        Clients clients;
    };

    explicit Caches(const sassemu::Start& start)
        : Plugin(start), stats_(start.number("stats", 0)), relaxed_(start.number("relaxed", 0)) {
        for (const char* key : {"ce", "fe", "host"})
            for (const std::string_view text : start.values(key)) clients_.add(key, text);
    }

    State start(std::span<const sassemu_place> places) const {
        std::vector<Place> all;
        for (const sassemu_place& p : places) all.push_back(place_of(p));
        const bool known = !all.empty() && clients_.empty();
        State s{known ? Hierarchy(all) : Hierarchy(!clients_.empty()), clients_};
        if (relaxed_) s.hierarchy.relax_links();
        return s;
    }

    // A load that hits a stale copy might as well find that it has been evicted.
    uint32_t ways(const State& s, sassemu::MemoryBytes bytes, const sassemu_operation& o) const {
        if (o.kind != SASSEMU_OPERATION_LOAD) return 1;
        DriverMemory memory(bytes);
        return s.hierarchy.hits_stale(memory, place_of(o.from), o.address, o.bytes, path_of(o)) ? 2
                                                                                                : 1;
    }

    void perform(State& s, sassemu::MemoryBytes bytes, const sassemu_operation& o, uint32_t way,
                 uint8_t* value) const {
        DriverMemory memory(bytes);
        const Place who = place_of(o.from);
        Link link = 0;
        if (bytes.has_homes() && o.kind <= SASSEMU_OPERATION_ATOMIC) {
            link = link_between(who, bytes.home(o.address), bytes.elsewhere(o.address));
            s.hierarchy.follow_everybody();
        }
        switch (o.kind) {
            case SASSEMU_OPERATION_LOAD:
                if (way) s.hierarchy.evict(who, o.address, o.bytes, path_of(o));
                s.hierarchy.load(memory, who, o.address, o.bytes, path_of(o), value, link);
                break;
            case SASSEMU_OPERATION_STORE:
                s.hierarchy.store(who, o.address, o.bytes, value, link);
                break;
            case SASSEMU_OPERATION_ATOMIC:
                s.hierarchy.before_atomic(memory, who, o.address, o.bytes, link);
                break;
            case SASSEMU_OPERATION_FENCE:
                fence(s, memory, who, o);
                break;
            case SASSEMU_OPERATION_CACHE:
                cache(s, memory, who, o);
                break;
            case SASSEMU_OPERATION_MEET:  // orders the accesses of its threads for the CTA
                s.hierarchy.send(memory, who, Station::cta);
                break;
        }
        s.clients.look(s.hierarchy, memory);
    }

    std::vector<uint64_t> steps(const State& s) const {
        std::vector<uint64_t> threads;
        for (const uint32_t i : s.hierarchy.ready())
            threads.push_back(s.hierarchy.stores()[i].from.thread);
        return threads;
    }
    void take(State& s, sassemu::MemoryBytes bytes, uint32_t step) const {
        DriverMemory memory(bytes);
        s.hierarchy.advance(memory, s.hierarchy.stores()[s.hierarchy.ready().at(step)].id);
        s.clients.look(s.hierarchy, memory);
    }

    uint64_t held(const State& s) const { return s.hierarchy.stores().size(); }
    void launch(State& s) const {
        s.hierarchy.watch(host.model_event(session, nullptr) ? this : nullptr);
        s.hierarchy.invalidate_everything();
        s.clients.begin();
    }
    uint64_t settle(State& s, sassemu::MemoryBytes bytes, bool count_only) const {
        DriverMemory memory(bytes);
        const uint64_t stale = s.hierarchy.stale(memory);
        if (stale && !count_only) s.hierarchy.invalidate_everything();
        return stale;
    }
    std::string key(const State& s) const { return s.hierarchy.key() + s.clients.key(); }

    void launch_end(sassemu_launch, const char*) {
        for (unsigned level = 1; stats_ && level <= 5; ++level) {
            const Sum& sum = sums_[level];
            if (sum.count)
                print("caches: MEMBAR." + std::string(level_names[level]) + ": " +
                      std::to_string(sum.count) + " executed, " + std::to_string(sum.hops) +
                      " hops, " + std::to_string(sum.drains) + " drains\n");
        }
    }

  private:
    void tell(sassemu_model_event_kind kind, const Place& of, uint64_t address, uint32_t bytes,
              const char* where) const {
        sassemu_model_event e{};
        e.size = sizeof e;
        e.kind = kind;
        e.where = where;
        e.address = address;
        e.bytes = bytes;
        e.gpu = of.gpu;
        e.thread = of.thread;
        e.client = of.client == Client::host          ? SASSEMU_AGENT_HOST
                   : of.client == Client::copy_engine ? SASSEMU_AGENT_COPY_ENGINE
                                                      : SASSEMU_AGENT_WARP;
        host.model_event(session, &e);
    }
    void moved(const Place& from, uint64_t address, unsigned bytes, Station at) const override {
        static constexpr const char* names[] = {
            "its thread", "its CTA", "its SM", "its GPU (L2)", "other clients of its GPU",
            "the system"};
        tell(SASSEMU_MODEL_MOVED, from, address, bytes, names[static_cast<size_t>(at)]);
    }
    void evicted(const Place& of, uint64_t address) const override {
        tell(SASSEMU_MODEL_EVICTED, of, address, Hierarchy::sector_bytes, "a cache of its SM");
    }

    struct Sum {
        std::atomic<uint64_t> count{0}, hops{0}, drains{0};
    };

    void fence(State& s, Memory& memory, const Place& who, const sassemu_operation& o) const {
        const Station level = station_of(o);
        const Cost cost = s.hierarchy.membar(memory, who, level, o.invalidate_data != 0,
                                             o.invalidate_texture != 0);
        if (!stats_) return;
        Sum& sum = sums_[static_cast<size_t>(level)];
        ++sum.count;
        sum.hops += cost.hops;
        sum.drains += cost.drains;
    }

    static void cache(State& s, Memory& memory, const Place& who, const sassemu_operation& o) {
        const bool data = o.cache == SASSEMU_CACHE_DATA || o.cache == SASSEMU_CACHE_UNIFIED;
        const bool texture = o.cache == SASSEMU_CACHE_TEXTURE || o.cache == SASSEMU_CACHE_UNIFIED;
        const bool constant = o.cache == SASSEMU_CACHE_CONSTANT;
        if (who.client != Client::sm) return;
        Hierarchy& hierarchy = s.hierarchy;
        switch (o.action) {
            case SASSEMU_CACHE_INVALIDATE:
            case SASSEMU_CACHE_RESET:
                if (o.has_address) {  // a line of 128 bytes
                    const uint64_t line = o.address / 128 * 128;
                    for (uint64_t a = line; a < line + 128; a += Hierarchy::sector_bytes) {
                        if (data) hierarchy.invalidate(who.sm, a);
                        if (constant) hierarchy.invalidate_constant(who.sm, a);
                    }
                }
                if (texture) hierarchy.invalidate_texture(who.sm);
                break;
            case SASSEMU_CACHE_INVALIDATE_ALL:
            case SASSEMU_CACHE_INVALIDATE_ALL_PRIVATE:
                if (data) hierarchy.invalidate_data(who.sm);
                if (texture) hierarchy.invalidate_texture(who.sm);
                if (constant) hierarchy.invalidate_constants(who.sm);
                break;
            case SASSEMU_CACHE_WRITE_BACK:
                if (o.has_address) hierarchy.send_line(memory, who.sm, o.address);
                break;
            case SASSEMU_CACHE_WRITE_BACK_ALL:
                hierarchy.send_sm(memory, who.sm, Station::vc);
                break;
            case SASSEMU_CACHE_PREFETCH:
                if (data && o.has_address) hierarchy.prefetch(memory, who, o.address);
                break;
            default:
                break;
        }
    }

    uint64_t stats_, relaxed_;
    Clients clients_;
    mutable std::array<Sum, 6> sums_;
};

}  // namespace caches

SASSEMU_PLUGIN(caches::Caches)
