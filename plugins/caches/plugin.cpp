// SPDX-License-Identifier: Apache-2.0
// The `caches` memory model: accesses, fences and cache operations of a launch driven through the
// machine (machine.hpp). What belongs here: when a store moves on, a load is performed, a client
// looks: the policy. What does not: what those steps do.
//
// Shared memory and mbarriers are the engine's: the pipeline of an SM is in order.
#include <sassemu/plugin.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>

#include "clients.hpp"

namespace caches {

namespace {

enum class Policy : uint8_t { lazy, eager, random, adversarial };

// A load that has been issued and not performed.
struct Held {
    uint64_t token = 0;
    uint32_t lanes = 0;
    uint64_t cta = 0;
    uint32_t sm = 0, warp = 0;
    uint8_t bytes = 0;
    Path path = Path::cached;
    uint64_t address[32];
};

class HostMemory : public Memory {
  public:
    HostMemory(const sassemu_host& host, sassemu_session session)
        : host_(host), session_(session) {}
    bool read(uint64_t address, uint8_t* to, unsigned bytes) override {
        return host_.read(session_, address, to, bytes) == 0;
    }
    void write(uint64_t address, const uint8_t* from, unsigned bytes) override {
        host_.write(session_, address, from, bytes);
    }

  private:
    const sassemu_host& host_;
    sassemu_session session_;
};

Policy policy_named(std::string_view name) {
    if (name == "lazy") return Policy::lazy;
    if (name == "eager") return Policy::eager;
    if (name == "random") return Policy::random;
    if (name == "adversarial") return Policy::adversarial;
    throw std::invalid_argument("option 'policy': '" + std::string(name) +
                                "' is none of lazy, eager, random, adversarial");
}

constexpr const char* level_names[] = {"", "CTA", "SM", "VC", "GPU", "SYS"};

}  // namespace

class Caches : public sassemu::Plugin {
  public:
    static constexpr auto name = "caches";
    static constexpr auto summary =
        "incoherent L1, texture and constant caches, weakly ordered stores and loads, other "
        "clients";
    static constexpr sassemu_option options[] = {
        {"policy", "lazy|eager|random|adversarial",
         "when stores become visible and loads are performed (random)"},
        {"depth", "N", "stores on their way at most (256)"},
        {"ce", "FLAG:VALUE:FROM:TO:BYTES",
         "a copy engine: when the word at FLAG is VALUE, it copies"},
        {"fe", "FLAG:VALUE:FROM:TO:BYTES", "the same by the front end"},
        {"host", "FLAG:VALUE:FROM:TO:BYTES", "the same by the host"},
        {"stats", "0|1", "prints what the barriers cost (0)"}};
    static constexpr uint32_t threading = SASSEMU_SERIAL;
    static constexpr bool defers = true;
    static constexpr uint32_t spaces =
        SASSEMU_SPACE_BIT(SASSEMU_GLOBAL) | SASSEMU_SPACE_BIT(SASSEMU_GENERIC) |
        SASSEMU_SPACE_BIT(SASSEMU_TEXTURE) | SASSEMU_SPACE_BIT(SASSEMU_CONSTANT);

    explicit Caches(const sassemu::Start& start)
        : Plugin(start),
          policy_(policy_named(start.value("policy", "random"))),
          depth_(start.number("depth", 256)),
          stats_(start.number("stats", 0)),
          memory_(host, session) {
        for (const char* key : {"ce", "fe", "host"})
            for (const std::string_view text : start.values(key)) clients_.add(key, text);
        machine_ = Machine(!clients_.empty());
        if (depth_ == 0) throw std::invalid_argument("option 'depth': at least 1");
    }

    // ---- the run

    void launch_begin(sassemu_launch) {
        held_.clear();  // of a launch that faulted
        machine_.invalidate_everything();
        clients_.begin();
        idle_ = 0;
    }
    void launch_end(sassemu_launch) {
        // What nobody waited for arrives in any order, and clients may look in between.
        for (int i = 0; i < 64 && !machine_.done(); ++i) tick();
        while (!machine_.done()) {
            const auto oldest =
                std::ranges::min_element(machine_.stores(), {}, &Machine::Store::id);
            machine_.send_store(memory_, oldest->id, Station::sys);
            look();
        }
        look();
        if (!stats_) return;
        for (unsigned level = 1; level <= 5; ++level) {
            const Sum& s = sums_[level];
            if (s.count)
                print("caches: MEMBAR." + std::string(level_names[level]) + ": " +
                      std::to_string(s.count) + " executed, " + std::to_string(s.hops) + " hops, " +
                      std::to_string(s.drains) + " drains\n");
        }
    }
    void host_access(uint64_t, uint64_t, uint32_t is_write) {
        if (is_write) machine_.invalidate_everything();
    }

    uint64_t step(sassemu_cta, uint32_t idle) {
        idle_ = idle ? idle_ + 1 : 0;
        // Nothing is held back for ever: somebody may spin on it and never be idle.
        if (++steps_ % 64 == 0 && !machine_.done()) force_store();
        const size_t before = held_.size() + machine_.stores().size();
        switch (policy_) {
            case Policy::eager:
                look();
                break;
            case Policy::lazy:
                look();
                if (idle_ > 2) force();
                break;
            case Policy::random:
                for (uint32_t n = pick(4); n > 0; --n) tick();
                if (idle_ > 1 && held_.size() + machine_.stores().size() == before) force();
                break;
            case Policy::adversarial:
                tick();
                // It gives in late: others may still come and be deceived.
                if (idle_ > 24 || (idle_ > 2 && !held_.empty())) force();
                break;
        }
        const size_t left = held_.size() + machine_.stores().size();
        // A stale copy is evicted in the end, so a path that spins on it is not stuck for good.
        return left || !idle ? left : machine_.stale(memory_);
    }

    // ---- accesses

    int issue(const sassemu_access& a) {
        if (policy_ == Policy::random && !(a.flags & SASSEMU_ACCESS_IMMEDIATE) && pick(16) == 0)
            return SASSEMU_RETRY;
        const sassemu_location* where = host.locations(&a);
        if (!where) return SASSEMU_DONE;  // the engine reports the fault
        const Who who = place(a.warp);
        uint32_t global = 0;
        for (uint32_t rest = a.lanes; rest; rest &= rest - 1) {
            const int lane = std::countr_zero(rest);
            if (where[lane].space == SASSEMU_GLOBAL) global |= 1u << lane;
        }
        if (!global) return SASSEMU_DONE;
        finish_same(who, where, global, a.bytes);
        if (policy_ == Policy::random && pick(4) == 0) tick();
        switch (a.op) {
            case SASSEMU_LOAD:
                return load(a, who, where, global);
            case SASSEMU_STORE:
                return store(a, who, where, global);
            default:
                for (uint32_t rest = global; rest; rest &= rest - 1) {
                    const int lane = std::countr_zero(rest);
                    machine_.before_atomic(memory_, of(who, lane), where[lane].address, a.bytes);
                }
                return SASSEMU_DONE;
        }
    }

    int model_fence(const sassemu_fence& f) {
        const Who who = place(f.warp);
        perform_lanes(who, f.lanes);
        Station level = Station::cta;
        switch (f.scope) {
            case SASSEMU_LEVEL_SM:
                level = Station::sm;
                break;
            case SASSEMU_LEVEL_VC:
                level = Station::vc;
                break;
            case SASSEMU_LEVEL_CLUSTER:
            case SASSEMU_LEVEL_GPU:
                level = Station::gpu;
                break;
            case SASSEMU_LEVEL_SYS:
                level = Station::sys;
                break;
            default:
                break;
        }
        // The asynchronous proxy works on L2.
        const bool proxy = f.from_proxy != f.to_proxy;
        if (proxy) level = Station::vc;
        Sum& sum = sums_[static_cast<size_t>(level)];
        for (uint32_t rest = f.lanes; rest; rest &= rest - 1) {
            const Cost cost = machine_.membar(memory_, of(who, std::countr_zero(rest)), level,
                                              f.invalidate_data != 0, f.invalidate_texture != 0);
            sum.drains += cost.drains;
            if (rest == f.lanes) sum.hops += cost.hops;
        }
        ++sum.count;
        if (policy_ == Policy::adversarial || policy_ == Policy::eager) look();
        return SASSEMU_DONE;
    }

    int model_cache(const sassemu_cache_op& c) {
        const Who who = place(c.warp);
        const bool data = c.cache == SASSEMU_CACHE_DATA || c.cache == SASSEMU_CACHE_UNIFIED;
        const bool texture = c.cache == SASSEMU_CACHE_TEXTURE || c.cache == SASSEMU_CACHE_UNIFIED;
        const bool constant = c.cache == SASSEMU_CACHE_CONSTANT;
        const auto each_address = [&](auto&& act) {
            for (uint32_t rest = c.has_address ? c.lanes : 0; rest; rest &= rest - 1)
                act(c.address[std::countr_zero(rest)]);
        };
        switch (c.action) {
            case SASSEMU_CACHE_INVALIDATE:
            case SASSEMU_CACHE_RESET:
                each_address([&](uint64_t a) {  // a line of 128 bytes
                    for (uint64_t s = a / 128 * 128; s < a / 128 * 128 + 128;
                         s += Machine::sector_bytes) {
                        if (data) machine_.invalidate(who.sm, s);
                        if (constant) machine_.invalidate_constant(who.sm, s);
                    }
                });
                if (texture) machine_.invalidate_texture(who.sm);
                break;
            case SASSEMU_CACHE_INVALIDATE_ALL:
            case SASSEMU_CACHE_INVALIDATE_ALL_PRIVATE:
                if (data) machine_.invalidate_data(who.sm);
                if (texture) machine_.invalidate_texture(who.sm);
                if (constant) machine_.invalidate_constants(who.sm);
                break;
            case SASSEMU_CACHE_WRITE_BACK:
                each_address([&](uint64_t a) { machine_.send_line(memory_, who.sm, a); });
                break;
            case SASSEMU_CACHE_WRITE_BACK_ALL:
                machine_.send_sm(memory_, who.sm, Station::vc);
                break;
            case SASSEMU_CACHE_PREFETCH:
                if (data) each_address([&](uint64_t a) { machine_.prefetch(memory_, who.sm, a); });
                break;
            default:
                break;
        }
        host.wake(session);
        return SASSEMU_DONE;
    }

    void model_sync(const sassemu_sync& e) {
        if (!e.warp || e.agent)
            return;  // an agent's report says nothing of the thread that started it
        const Who who = place(e.warp);
        switch (e.kind) {
            // These order the accesses of their threads for the CTA.
            case SASSEMU_SYNC_BARRIER_ARRIVE:
            case SASSEMU_SYNC_MBARRIER_ARRIVE:
            case SASSEMU_SYNC_WARP:
                perform_lanes(who, e.lanes);
                for (uint32_t rest = e.lanes; rest; rest &= rest - 1)
                    machine_.send(memory_, of(who, std::countr_zero(rest)), Station::cta);
                break;
            case SASSEMU_SYNC_CLUSTER_ARRIVE:
            case SASSEMU_SYNC_EXIT:
                perform_lanes(who, e.lanes);
                break;
            default:
                break;
        }
    }

  private:
    struct Who {
        uint64_t cta = 0;
        uint32_t sm = 0, warp = 0;
    };
    struct Sum {
        uint64_t count = 0, hops = 0, drains = 0;
    };

    Who place(sassemu_warp w) const {
        const sassemu_warp_info i = info(w);
        const sassemu_cta_info c = info(i.cta);
        return {c.linear, c.sm, i.index};
    }
    static Place of(const Who& w, int lane) {
        return {w.cta << 16 | w.warp << 5 | static_cast<uint32_t>(lane), w.cta, w.sm};
    }

    uint32_t pick(uint32_t count) {
        if (host.seed(session)) return host.choose(session, count);
        // Without a seed the emulator's choices are always the first; this model's still vary.
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<uint32_t>((state_ >> 33) % count);
    }

    static Path path_of(const sassemu_access& a) {
        if (a.proxy == SASSEMU_VIA_TEXTURE) return Path::texture;
        if (a.proxy == SASSEMU_VIA_CONSTANT) return Path::constant;
        const bool wide = a.scope >= SASSEMU_LEVEL_CLUSTER;
        return (a.flags & SASSEMU_ACCESS_CACHE_CV) || (a.ordering != SASSEMU_WEAK && wide)
                   ? Path::bypass
                   : Path::cached;
    }

    bool defer(const sassemu_access& a) {
        if (a.flags & (SASSEMU_ACCESS_IMMEDIATE | SASSEMU_ACCESS_LDGSTS)) return false;
        switch (policy_) {
            case Policy::eager:
                return false;
            case Policy::lazy:
                return true;
            case Policy::random:
                return pick(2) != 0;
            case Policy::adversarial:
                return pick(4) != 0;
        }
        return false;
    }

    int load(const sassemu_access& a, const Who& who, const sassemu_location* where,
             uint32_t global) {
        const Path path = path_of(a);
        if (global == a.lanes && held_.size() < depth_ && defer(a)) {
            Held& h = held_.emplace_back();
            h.token = a.token;
            h.lanes = a.lanes;
            h.cta = who.cta;
            h.sm = who.sm;
            h.warp = who.warp;
            h.bytes = a.bytes;
            h.path = path;
            for (int lane = 0; lane < 32; ++lane) h.address[lane] = where[lane].address;
            return SASSEMU_PENDING;
        }
        uint32_t rows[4][32] = {};
        for (uint32_t rest = a.lanes; rest; rest &= rest - 1) {
            const int lane = std::countr_zero(rest);
            uint8_t value[16] = {};
            const uint64_t at = where[lane].address;
            if (global >> lane & 1) {
                machine_.load(memory_, of(who, lane), at, a.bytes, path, value);
            } else if (where[lane].space == SASSEMU_SHARED) {
                host.read_shared(owner(a.warp, where[lane].owner), static_cast<uint32_t>(at), value,
                                 a.bytes);
            } else if (where[lane].space == SASSEMU_LOCAL) {
                host.read_local(a.warp, static_cast<uint32_t>(lane), static_cast<uint32_t>(at),
                                value, a.bytes);
            } else {
                for (uint32_t k = 0; k < (a.bytes + 3u) / 4; ++k) {
                    const uint32_t v =
                        host.constant(a.warp, where[lane].owner, static_cast<uint32_t>(at) + 4 * k);
                    std::memcpy(value + 4 * k, &v, 4);
                }
            }
            for (uint32_t k = 0; k < (a.bytes + 3u) / 4; ++k)
                std::memcpy(&rows[k][lane], value + 4 * k, 4);
        }
        host.supply(&a, a.lanes, rows[0]);
        return SASSEMU_SUPPLIED;
    }

    sassemu_cta owner(sassemu_warp w, uint32_t linear) const {
        const sassemu_cta own = info(w).cta;
        for (uint32_t rank = 0;; ++rank) {
            const sassemu_cta c = host.cta_of_rank(own, rank);
            if (!c) return own;
            if (info(c).linear == linear) return c;
        }
    }

    int store(const sassemu_access& a, const Who& who, const sassemu_location* where,
              uint32_t global) {
        if (global !=
            a.lanes) {  // some lanes in a window: the engine stores them all, at once and in L2
            for (uint32_t rest = global; rest; rest &= rest - 1) {
                const int lane = std::countr_zero(rest);
                machine_.before_atomic(memory_, of(who, lane), where[lane].address, a.bytes);
            }
            return SASSEMU_DONE;
        }
        const uint32_t* rows = host.values(&a);
        for (uint32_t rest = a.lanes; rest; rest &= rest - 1) {
            const int lane = std::countr_zero(rest);
            uint8_t value[16];
            for (uint32_t k = 0; k < (a.bytes + 3u) / 4; ++k)
                std::memcpy(value + 4 * k, &rows[k * 32 + lane], 4);
            machine_.store(of(who, lane), where[lane].address, a.bytes, value);
        }
        while (machine_.stores().size() > depth_) force_store();
        if (policy_ == Policy::eager) machine_.send_all(memory_, Station::sys);
        if (policy_ == Policy::adversarial) tick();
        if (policy_ == Policy::eager) look();
        return SASSEMU_SUPPLIED;
    }

    // ---- loads that wait

    void perform(size_t index, uint32_t lanes) {
        Held& h = held_[index];
        lanes &= h.lanes;
        const Held now = h;
        h.lanes &= ~lanes;
        if (!h.lanes) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
        uint32_t rows[4][32] = {};
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            const int lane = std::countr_zero(rest);
            uint8_t value[16] = {};
            machine_.load(memory_, of({now.cta, now.sm, now.warp}, lane), now.address[lane],
                          now.bytes, now.path, value);
            for (uint32_t k = 0; k < (now.bytes + 3u) / 4; ++k)
                std::memcpy(&rows[k][lane], value + 4 * k, 4);
        }
        host.complete(session, now.token, lanes, rows[0]);
    }
    static bool same(const Held& h, const Who& who) {
        return h.cta == who.cta && h.warp == who.warp;
    }

    // In program order: one thread's accesses to the same bytes.
    void finish_same(const Who& who, const sassemu_location* where, uint32_t lanes,
                     unsigned bytes) {
        for (size_t i = 0; i < held_.size();) {
            const Held& h = held_[i];
            uint32_t both = same(h, who) ? h.lanes & lanes : 0;
            for (uint32_t rest = both; rest; rest &= rest - 1) {
                const int lane = std::countr_zero(rest);
                if (h.address[lane] >= where[lane].address + bytes ||
                    where[lane].address >= h.address[lane] + h.bytes)
                    both &= ~(1u << lane);
            }
            const size_t count = held_.size();
            if (both) perform(i, both);
            if (held_.size() == count) ++i;
        }
    }
    void perform_lanes(const Who& who, uint32_t lanes) {
        for (size_t i = 0; i < held_.size();) {
            const size_t count = held_.size();
            if (same(held_[i], who) && held_[i].lanes & lanes) perform(i, lanes);
            if (held_.size() == count) ++i;
        }
    }

    // ---- what happens by itself

    void tick() {
        look();
        if (policy_ == Policy::adversarial) {
            // The first store of each thread is held back; those after it overtake it.
            const auto& stores = machine_.stores();
            uint64_t newest = 0;
            for (const Machine::Store& s : stores) {
                const bool second = std::ranges::any_of(stores, [&](const Machine::Store& other) {
                    return other.from.thread == s.from.thread && other.id < s.id &&
                           !other.overlaps(s.address, s.bytes);
                });
                if (second) newest = std::max(newest, s.id);
            }
            if (newest) machine_.send_store(memory_, newest, Station::sys);
            look();
            return;
        }
        const size_t loads = held_.size(), stores = machine_.stores().size(),
                     sectors = machine_.sectors();
        // Sectors go rarely: a copy that stays is what programs stumble over.
        const size_t evictions = sectors && pick(16) == 0 ? 1 : 0;
        const size_t all = 4 * (loads + stores) + evictions;
        if (!all) return;
        size_t chosen = pick(static_cast<uint32_t>(all));
        if (chosen < 4 * loads) {
            Held& h = held_[chosen / 4];
            const uint32_t some = pick(2) ? h.lanes : h.lanes & 0x55555555u;
            perform(chosen / 4, some ? some : h.lanes);
        } else if (chosen < 4 * (loads + stores)) {
            const Machine::Store& s = machine_.stores()[chosen / 4 - loads];
            machine_.send_store(memory_, s.id,
                                static_cast<Station>(static_cast<uint8_t>(s.at) + 1 + pick(3)));
        } else {
            machine_.evict(pick(static_cast<uint32_t>(sectors)));
            host.wake(session);
        }
        look();
    }

    // Somebody waits for what is held back.
    void force() {
        idle_ = 0;
        if (!held_.empty())
            perform(policy_ == Policy::adversarial ? pick(static_cast<uint32_t>(held_.size())) : 0,
                    ~0u);
        else if (!machine_.done())
            force_store();
        else if (machine_.stale(memory_)) {  // perhaps it spins on a stale copy: L1 has a capacity
            machine_.invalidate_everything();
            host.wake(session);
        }
        look();
    }
    void force_store() {
        const auto oldest = std::ranges::min_element(machine_.stores(), {}, &Machine::Store::id);
        machine_.send_store(memory_, oldest->id, Station::sys);
    }

    void look() { clients_.look(machine_, memory_); }

    Policy policy_;
    uint64_t depth_, stats_;
    HostMemory memory_;
    Machine machine_;
    std::deque<Held> held_;
    Clients clients_;
    Sum sums_[6];
    uint64_t state_ = 1, idle_ = 0, steps_ = 0;
};

}  // namespace caches

SASSEMU_PLUGIN(caches::Caches)
