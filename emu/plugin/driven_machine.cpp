// SPDX-License-Identifier: Apache-2.0
// See driven_machine.hpp.
#include "emu/plugin/driven_machine.hpp"

#include <algorithm>
#include <cstring>

#include "emu/memory/store_order.hpp"
#include "emu/plugin/driving.hpp"
#include "emu/plugin/hooks.hpp"

namespace sassemu {

using namespace driving;

namespace {

constexpr uint32_t most_tries = 64;  // until what an operation waits for is done at once
constexpr uint32_t most_steps = 1 << 20, in_order = 1 << 12;

}  // namespace

Result<bool> DrivenMachine::Settings::take(std::string_view key, const std::string& value) {
    const auto wrong = [&](std::string what) {
        return make_error(ErrorCode::usage, "option '" + std::string(key) + "'", std::move(what));
    };
    if (key == "policy") {
        constexpr std::pair<std::string_view, Policy> names[] = {
            {"lazy", Policy::lazy},
            {"eager", Policy::eager},
            {"random", Policy::random},
            {"adversarial", Policy::adversarial}};
        const auto* it = std::ranges::find(names, value, [](const auto& n) { return n.first; });
        if (it == std::end(names))
            return wrong("'" + value + "' is none of lazy, eager, random, adversarial");
        policy = it->second;
        return true;
    }
    if (key != "depth") return false;
    try {
        depth = Start::parse(key, value);
    } catch (const std::invalid_argument&) {
        return wrong("'" + value + "' is no number");
    }
    if (depth == 0) return wrong("at least 1");
    return true;
}

std::unique_ptr<DrivenMachine> DrivenMachine::create(const Start& start,
                                                     const sassemu_machine& machine, void* self,
                                                     const Settings& settings) {
    void* state = machine.start(self, nullptr, 0);
    if (!state) return nullptr;
    return std::unique_ptr<DrivenMachine>(new DrivenMachine(start, machine, self, state, settings));
}

DrivenMachine::DrivenMachine(const Start& start, const sassemu_machine& machine, void* self,
                             void* state, const Settings& settings)
    : Plugin(start), machine_(machine), self_(self), state_(state), settings_(settings) {
    bytes_.size = sizeof bytes_;
    bytes_.memory = this;
    bytes_.read = [](void* m, uint64_t address, void* to, uint32_t bytes) {
        const auto& driver = *static_cast<DrivenMachine*>(m);
        if (address & SASSEMU_MACHINE_SHARED) {
            const sassemu_cta cta = driver.shared_of(address);
            return cta ? driver.host.read_shared(cta, address & 0xffffff, to, bytes) : -1;
        }
        return driver.read(address, to, bytes) ? 0 : -1;
    };
    bytes_.write = [](void* m, uint64_t address, const void* from, uint32_t bytes) {
        const auto& driver = *static_cast<DrivenMachine*>(m);
        if (address & SASSEMU_MACHINE_SHARED) {
            const sassemu_cta cta = driver.shared_of(address);
            return cta ? driver.host.write_shared(cta, address & 0xffffff, from, bytes) : -1;
        }
        return driver.write(address, from, bytes) ? 0 : -1;
    };
}

const sassemu_memory_model& DrivenMachine::table() {
    static const sassemu_memory_model own = detail::Roles<DrivenMachine>::model();
    return own;
}

// ---- the run

void DrivenMachine::launch_begin(sassemu_launch l) {
    const AtMachine at_machine(this);
    if (launches_.empty()) {
        held_.clear();  // of a launch that faulted
        waiting_.clear();
        stored_.clear();
        if (scoped()) begin_scoped();
    }
    const sassemu_launch_info i = info(l);
    launches_.push_back({l, i.id % (uint64_t{1} << (64 - cta_bits - thread_bits)), i.gpu,
                         !scoped() || host.module_has_ptx(i.module)});
    if (sassemu::session(session)->hooks->several)
        bytes_.home = [](void* m, uint64_t address) {
            const auto& driver = *static_cast<DrivenMachine*>(m);
            return sassemu::session(driver.session)->hooks->home(address);
        };
    if (machine_.launch) machine_.launch(self_, state_);
    idle_ = 0;
}

void DrivenMachine::launch_end(sassemu_launch l) {
    {
        const AtMachine at_machine(this);
        // Whoever knows of its end.
        if (scoped() && far_) take_all();
        if (scoped() && machine_.launch) machine_.launch(self_, state_);
        if (launches_.size() > 1) {
            send_launch(std::ranges::find(launches_, l, &Launch::handle)->id);
        } else {
            // What nobody waited for arrives in any order, and other clients may look in between.
            for (int i = 0; i < 64 && steps(); ++i) tick();
            take_all();
        }
    }
    std::erase_if(launches_, [&](const Launch& one) { return one.handle == l; });
}

// ---- operations

const DrivenMachine::Placed& DrivenMachine::placed(sassemu_warp w) const {
    Placed& at = placed_[slot_of(w)];
    if (at.warp != w) at = {w, find_place(w), 0, false};
    return at;
}

DrivenMachine::Who DrivenMachine::find_place(sassemu_warp w) const {
    const sassemu_warp_info i = info(w);
    const sassemu_cta_info c = info(i.cta);
    const Launch& launch = *std::ranges::find(launches_, c.launch, &Launch::handle);
    return {launch.id << cta_bits | c.linear,
            c.sm,
            i.index,
            launch.gpu,
            static_cast<uint32_t>(launch.id << 24 ^ c.cluster),
            launch.apart};
}

sassemu_place DrivenMachine::of(const Who& w, unsigned lane) {
    sassemu_place p{};
    p.thread = w.cta << thread_bits | w.warp << 5 | (w.apart ? lane : 0);
    p.gpu = w.gpu;
    p.cta = w.cta;
    p.sm = w.sm;
    p.cluster = w.cluster;
    p.kind = SASSEMU_AGENT_WARP;
    return p;
}

void DrivenMachine::name_thread(sassemu_model_event& e) {
    const uint64_t cta = e.thread >> thread_bits;
    e.launch = cta >> cta_bits;
    e.cta = cta & ((uint64_t{1} << cta_bits) - 1);
    e.warp = static_cast<uint32_t>(e.thread >> 5 & 31);
    e.lane = static_cast<uint32_t>(e.thread & 31);
}

uint32_t DrivenMachine::pick(uint32_t count) {
    if (host.seed(session)) return host.choose(session, count);
    // Without a seed the emulator's choices are always the first; a policy's still vary.
    return draw(count);
}

uint32_t DrivenMachine::draw(uint32_t count) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((random_ >> 33) % count);
}

// The steps that it needs. In how many ways it can be performed then.
uint32_t DrivenMachine::make_way(const sassemu_operation& o) {
    uint32_t all = 0;
    take_until([&] { return (all = ways(o)) != 0; });
    return all;
}

void DrivenMachine::perform(const sassemu_operation& o, uint8_t* value) {
    uint32_t all = make_way(o);
    if (!all) return give_up("has no way to perform an operation");
    if (tells_others(o)) {
        far_->settle();
        all = ways(o);  // others have been at the machine
    }
    ++performed_;
    writing_ = o.from.cta >> cta_bits;
    machine_.perform(self_, state_, &bytes_, &o, choose_way(o, all), value);
}

uint32_t DrivenMachine::choose_way(const sassemu_operation& o, uint32_t all) {
    if (all <= 1 || settings_.policy == Policy::eager) return 0;
    if (!scoped()) {
        // Copies go rarely: one that stays is what programs stumble over.
        return settings_.policy != Policy::random || pick(16) ? 0 : 1 + pick(all - 1);
    }
    // The host and what is in streams see what there is; others something old.
    if (o.from.kind == SASSEMU_AGENT_HOST || o.from.kind == SASSEMU_AGENT_COPY_ENGINE)
        return outside_ ? draw(all) : 0;
    return settings_.policy == Policy::random ? pick(all) : all - 1;
}

template <class Of>
bool DrivenMachine::ready(const Who& who, uint32_t lanes, Of&& of_lane) {
    const auto tries = std::ranges::find(waiting_, who, &std::pair<Who, uint32_t>::first);
    bool now = true;
    for_lanes(lanes, [&](unsigned lane) { now = now && ways(of_lane(lane)); });
    if (!now && (tries == waiting_.end() || tries->second < most_tries || !steps())) {
        if (tries == waiting_.end())
            waiting_.emplace_back(who, 1);
        else
            ++tries->second;
        force_oldest();
        return false;
    }
    if (tries != waiting_.end()) waiting_.erase(tries);
    return true;
}

// The oldest step first. A machine may have one that can always be taken, before what is waited
// for: in the end each has its turn. False: it came to no end.
template <class Enough>
bool DrivenMachine::take_until(Enough&& enough) {
    for (uint32_t n = 0; !enough(); ++n) {
        const uint32_t count = steps();
        if (!count || gave_up_) return false;
        if (n == most_steps) {
            give_up("took " + std::to_string(n) + " steps and waits for more");
            return false;
        }
        take(n < in_order ? 0 : n % count);
    }
    return true;
}

void DrivenMachine::take(uint32_t step) {
    if (far_) {
        std::vector<uint64_t> threads(step + 1);
        machine_.steps(self_, state_, threads.data(), step + 1);
        writing_ = threads[step] >> thread_bits >> cta_bits;
    }
    machine_.take(self_, state_, &bytes_, step);
    // Nothing need be written for somebody else to see more than before.
    if (bytes_.home) host.wake(session);
}

void DrivenMachine::send_launch(uint64_t id) {
    const auto is_its = [id](const Who& w) { return w.cta >> cta_bits == id; };
    std::erase_if(held_, [&](const Held& h) { return is_its(h.who); });  // of one that faulted
    sassemu_operation fence = operation(SASSEMU_OPERATION_FENCE);
    fence.ordering = SASSEMU_ACQ_REL;
    fence.scope = SASSEMU_LEVEL_SYS;
    for (const auto& [key, w] : stored_) {
        if (!machine_.held(self_, state_)) break;
        for (unsigned lane = 0; lane < 32 && is_its(w); ++lane) {
            fence.from = of(w, lane);
            perform(fence, nullptr);
        }
    }
    std::erase_if(stored_, [&](const auto& one) { return is_its(one.second); });
    host.wake(session);
}

void DrivenMachine::take_all() {
    take_until([&] { return !machine_.held(self_, state_); });
}

void DrivenMachine::give_up(const std::string& what) {
    if (gave_up_) return;
    gave_up_ = true;
    const std::string message = "the model's machine " + what;
    sassemu_finding f{};
    f.size = sizeof f;
    f.severity = SASSEMU_ERROR;
    f.kind = "plugin-failure";
    f.message = message.c_str();
    host.report(session, &f);
}

int DrivenMachine::issue(const sassemu_access& a) {
    const AtMachine at_machine(this);
    if (scoped()) return issue_scoped(a);
    const bool immediate = a.flags & SASSEMU_ACCESS_IMMEDIATE;
    if (settings_.policy == Policy::random && !immediate && pick(16) == 0) return SASSEMU_RETRY;
    const sassemu_location* where = host.locations(&a);
    if (!where) return SASSEMU_DONE;  // the engine reports the fault
    const Who who = place(a.warp);
    uint32_t global = 0;
    for_lanes(a.lanes, [&](unsigned lane) {
        if (where[lane].space == SASSEMU_GLOBAL) global |= 1u << lane;
    });
    if (!global) return SASSEMU_DONE;
    uint64_t address[32];
    for_lanes(global, [&](unsigned lane) { address[lane] = where[lane].address; });
    finish_same(who, address, global, a.bytes);
    if (settings_.policy == Policy::random && pick(4) == 0) tick();
    sassemu_operation what = operation(a.op == SASSEMU_LOAD    ? SASSEMU_OPERATION_LOAD
                                       : a.op == SASSEMU_STORE ? SASSEMU_OPERATION_STORE
                                                               : SASSEMU_OPERATION_ATOMIC);
    what.proxy = a.proxy;
    what.ordering = a.ordering;
    what.scope = a.scope;
    what.flags = a.flags & SASSEMU_ACCESS_CACHE_CV;
    what.bytes = a.bytes;
    if (a.bytes > most_bytes || a.op == SASSEMU_PREFETCH) return SASSEMU_DONE;
    if (a.op == SASSEMU_LOAD) return load(a, who, where, global, what);
    // A store some of whose lanes end in a window is the engine's, at once and for everybody.
    if (a.op == SASSEMU_STORE && global == a.lanes) return store(a, who, where, global, what);
    what.kind = SASSEMU_OPERATION_ATOMIC;
    const auto of_lane = [&](unsigned lane) -> const sassemu_operation& {
        what.address = where[lane].address;
        what.from = of(who, lane);
        return what;
    };
    if (!ready(who, global, of_lane)) return SASSEMU_RETRY;
    remember(who);
    for_lanes(global, [&](unsigned lane) { perform(of_lane(lane), nullptr); });
    return SASSEMU_DONE;
}

int DrivenMachine::load(const sassemu_access& a, const Who& who, const sassemu_location* where,
                        uint32_t global, sassemu_operation what) {
    if (global == a.lanes && held_.size() < settings_.depth && defer(a)) {
        Held& h = held_.emplace_back();
        h.who = who;
        h.token = a.token;
        h.lanes = a.lanes;
        h.what = what;
        for (unsigned lane = 0; lane < 32; ++lane) h.address[lane] = where[lane].address;
        return SASSEMU_PENDING;
    }
    const auto of_lane = [&](unsigned lane) -> const sassemu_operation& {
        what.address = where[lane].address;
        what.from = of(who, lane);
        return what;
    };
    const Fetched fetched(*this);
    if (const std::string why = fetch(who, what, host.addresses(&a), global); !why.empty()) {
        lost(a, global, why);
        return SASSEMU_SUPPLIED;
    }
    if (!ready(who, global, of_lane)) return SASSEMU_RETRY;
    uint32_t rows[4][32] = {};
    for_lanes(a.lanes, [&](unsigned lane) {
        uint8_t value[most_bytes] = {};
        if (global >> lane & 1)
            perform(of_lane(lane), value);
        else
            load_elsewhere(a, where[lane], lane, value);
        put(rows, lane, value, a.bytes);
    });
    host.supply(&a, a.lanes, rows[0]);
    return SASSEMU_SUPPLIED;
}

// A lane of a generic load that does not end in global memory.
void DrivenMachine::load_elsewhere(const sassemu_access& a, const sassemu_location& where,
                                   unsigned lane, uint8_t* value) const {
    const auto at = static_cast<uint32_t>(where.address);
    if (where.space == SASSEMU_SHARED) {
        host.read_shared(owner(a.warp, where.owner), at, value, a.bytes);
    } else if (where.space == SASSEMU_LOCAL) {
        host.read_local(a.warp, lane, at, value, a.bytes);
    } else {
        for (uint32_t k = 0; k < (a.bytes + 3u) / 4; ++k) {
            const uint32_t v = host.constant(a.warp, where.owner, at + 4 * k);
            std::memcpy(value + 4 * k, &v, 4);
        }
    }
}

sassemu_cta DrivenMachine::owner(sassemu_warp w, uint64_t linear) const {
    const sassemu_cta own = info(w).cta;
    for (uint32_t rank = 0;; ++rank) {
        const sassemu_cta c = host.cta_of_rank(own, rank);
        if (!c) return own;
        if (info(c).linear == linear) return c;
    }
}

int DrivenMachine::store(const sassemu_access& a, const Who& who, const sassemu_location* where,
                         uint32_t global, sassemu_operation what) {
    remember(who);
    const uint32_t* rows = host.values(&a);
    for_storing_lanes(global, a.bytes, [&](unsigned lane) {
        uint8_t value[most_bytes];
        for (unsigned k = 0; k < (a.bytes + 3u) / 4; ++k)
            std::memcpy(value + 4 * k, &rows[k * 32 + lane], 4);
        what.address = where[lane].address;
        what.from = of(who, lane);
        perform(what, value);
    });
    stored();
    return SASSEMU_SUPPLIED;
}

void DrivenMachine::stored() {
    take_until([&] { return machine_.held(self_, state_) <= settings_.depth; });
    if (settings_.policy == Policy::eager) take_all();
    if (settings_.policy == Policy::adversarial) tick();
}

int DrivenMachine::model_fence(const sassemu_fence& f) {
    if (scoped()) return SASSEMU_DONE;  // see order()
    const AtMachine at_machine(this);
    const Who who = place(f.warp);
    finish_lanes(who, f.lanes);
    sassemu_operation what = operation(SASSEMU_OPERATION_FENCE);
    what.ordering = f.ordering;
    what.scope = f.scope;
    what.proxy = f.from_proxy;
    what.to_proxy = f.to_proxy;
    what.spaces = static_cast<uint8_t>(f.spaces);
    what.invalidate_data = f.invalidate_data;
    what.invalidate_texture = f.invalidate_texture;
    const auto of_lane = [&](unsigned lane) -> const sassemu_operation& {
        what.from = of(who, lane);
        return what;
    };
    if (!ready(who, f.lanes, of_lane)) return SASSEMU_RETRY;
    for_lanes(f.lanes, [&](unsigned lane) { perform(of_lane(lane), nullptr); });
    return SASSEMU_DONE;
}

int DrivenMachine::model_cache(const sassemu_cache_op& c) {
    if (scoped()) return SASSEMU_DONE;
    const AtMachine at_machine(this);
    const Who who = place(c.warp);
    finish_lanes(who, c.lanes);
    sassemu_operation what = operation(SASSEMU_OPERATION_CACHE);
    what.cache = c.cache;
    what.action = c.action;
    what.has_address = c.has_address;
    // Whether somebody else may see more behind it: what is dropped may be as memory is. A loop
    // that acquires would otherwise keep all others from waiting.
    const bool matters = machine_.held(self_, state_) ||
                         (machine_.settle && machine_.settle(self_, state_, &bytes_, 1));
    for_lanes(c.lanes, [&](unsigned lane) {
        if (c.has_address) what.address = c.address[lane];
        what.from = of(who, lane);
        perform(what, nullptr);
    });
    if (matters) host.wake(session);
    return SASSEMU_DONE;
}

void DrivenMachine::model_sync(const sassemu_sync& e) {
    const AtMachine at_machine(this);
    if (scoped()) return sync_scoped(e);
    if (!e.warp || e.agent) return;  // an agent's report says nothing of who started it
    const Who who = place(e.warp);
    switch (e.kind) {
        // These order the accesses of their threads for the CTA.
        case SASSEMU_SYNC_BARRIER_ARRIVE:
        case SASSEMU_SYNC_MBARRIER_ARRIVE:
        case SASSEMU_SYNC_WARPGROUP_ARRIVE:
        case SASSEMU_SYNC_WARP: {
            finish_lanes(who, e.lanes);
            sassemu_operation what = operation(SASSEMU_OPERATION_MEET);
            for_lanes(e.lanes, [&](unsigned lane) {
                what.from = of(who, lane);
                perform(what, nullptr);
            });
            break;
        }
        case SASSEMU_SYNC_CLUSTER_ARRIVE:
        case SASSEMU_SYNC_EXIT:
            finish_lanes(who, e.lanes);
            break;
        default:
            break;
    }
}

}  // namespace sassemu
