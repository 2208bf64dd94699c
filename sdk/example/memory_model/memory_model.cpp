// SPDX-License-Identifier: Apache-2.0
// A memory model in under 150 lines: total store order. Each thread has a queue of stores that
// others do not see yet; it sees its own. Stores leave in order, whenever the model likes, and
// before any atomic, fence or barrier of the thread is done. So the flag is never seen before the
// data, but two threads may both miss the other's store.
//
//   sassemu run plan.json --model ./memory_model.so:depth=8 --seed 7
#include <sassemu/plugin.hpp>

#include <bit>
#include <cstring>
#include <deque>
#include <map>

namespace {

struct Store {
    uint64_t address;
    uint8_t bytes, value[16];
};

class StoreQueues : public sassemu::Plugin {
  public:
    static constexpr auto name = "tso", summary = "total store order: a queue of stores per thread";
    static constexpr sassemu_option options[] = {
        {"depth", "N", "stores that a thread may have in its queue (8)"}};
    // Shared and local memory stay the engine's. Generic accesses are shown because they may end in
    // global memory.
    static constexpr uint32_t spaces =
        SASSEMU_SPACE_BIT(SASSEMU_GLOBAL) | SASSEMU_SPACE_BIT(SASSEMU_GENERIC);

    explicit StoreQueues(const sassemu::Start& start)
        : Plugin(start), depth_(start.number("depth", 8)) {
        if (depth_ == 0) throw std::invalid_argument("option 'depth': at least 1");
    }

    int issue(const sassemu_access& a) {
        const sassemu_location* where = host.locations(&a);
        if (!where) return SASSEMU_DONE;  // a bad address: the engine reports it
        const uint64_t warp = warp_key(a.warp);
        bool all_global = true;
        for_lanes(a.lanes,
                  [&](unsigned lane) { all_global &= where[lane].space == SASSEMU_GLOBAL; });
        if (a.op == SASSEMU_STORE && all_global) {
            const uint32_t* rows = host.values(&a);
            for_lanes(a.lanes, [&](unsigned lane) {
                Store s{where[lane].address, a.bytes, {}};
                for (unsigned k = 0; k < (a.bytes + 3u) / 4; ++k)
                    std::memcpy(s.value + 4 * k, &rows[k * 32 + lane], 4);
                auto& queue = queues_[warp + lane];
                queue.push_back(s);
                if (queue.size() > depth_) leave(queue);
            });
            return SASSEMU_SUPPLIED;
        }
        if (a.op == SASSEMU_LOAD && all_global) {
            uint32_t rows[4][32] = {};
            for_lanes(a.lanes, [&](unsigned lane) {
                uint8_t value[16] = {};
                host.read(session, where[lane].address, value, a.bytes);
                if (const auto queue = queues_.find(warp + lane); queue != queues_.end())
                    for (const Store& s : queue->second)  // its own stores, oldest first
                        for (unsigned i = 0; i < a.bytes; ++i)
                            if (const uint64_t at = where[lane].address + i - s.address;
                                at < s.bytes)
                                value[i] = s.value[at];
                for (unsigned k = 0; k < (a.bytes + 3u) / 4; ++k)
                    std::memcpy(&rows[k][lane], value + 4 * k, 4);
            });
            host.supply(&a, a.lanes, rows[0]);
            return SASSEMU_SUPPLIED;
        }
        empty(warp, a.lanes);  // atomics, and generic accesses that end elsewhere
        return SASSEMU_DONE;
    }

    int model_fence(const sassemu_fence& f) {
        empty(warp_key(f.warp), f.lanes);
        return SASSEMU_DONE;
    }
    void model_sync(const sassemu_sync& e) {
        if (e.warp &&
            (e.kind == SASSEMU_SYNC_BARRIER_ARRIVE || e.kind == SASSEMU_SYNC_MBARRIER_ARRIVE ||
             e.kind == SASSEMU_SYNC_CLUSTER_ARRIVE || e.kind == SASSEMU_SYNC_WARP))
            empty(warp_key(e.warp), e.lanes);
    }

    // Between slices: now and then one store leaves; always when nobody could run on otherwise.
    uint64_t step(sassemu_cta, uint32_t idle) {
        if (!queues_.empty() && (idle || host.choose(session, 4) == 0)) {
            auto queue = std::next(queues_.begin(),
                                   host.choose(session, static_cast<uint32_t>(queues_.size())));
            leave(queue->second);
            if (queue->second.empty()) queues_.erase(queue);
        }
        return queues_.size();
    }
    void launch_end(sassemu_launch) {
        for (auto& [thread, queue] : queues_)
            while (!queue.empty()) leave(queue);
        queues_.clear();
    }

  private:
    template <class F>
    static void for_lanes(uint32_t lanes, F&& act) {
        for (; lanes; lanes &= lanes - 1) act(static_cast<unsigned>(std::countr_zero(lanes)));
    }
    uint64_t warp_key(sassemu_warp w) const {
        const sassemu_warp_info i = info(w);
        return info(i.cta).linear << 16 | i.index << 5;
    }
    void leave(std::deque<Store>& queue) {
        host.write(session, queue.front().address, queue.front().value, queue.front().bytes);
        queue.pop_front();
    }
    void empty(uint64_t warp, uint32_t lanes) {
        for_lanes(lanes, [&](unsigned lane) {
            const auto queue = queues_.find(warp + lane);
            if (queue == queues_.end()) return;
            while (!queue->second.empty()) leave(queue->second);
            queues_.erase(queue);
        });
    }

    uint64_t depth_;
    std::map<uint64_t, std::deque<Store>> queues_;  // by thread
};

}  // namespace

SASSEMU_PLUGIN(StoreQueues)
