// SPDX-License-Identifier: Apache-2.0
// A memory model in about 100 lines: total store order, as a machine (machine.h). Each thread has a
// queue of stores that others do not see yet; it sees its own. Stores leave in order, one a step,
// and before any atomic, fence or barrier of the thread is done. So the flag is never seen before
// the data, but two threads may both miss the other's store.
//
//   sassemu run plan.json --model ./memory_model.so:depth=8 --seed 7      one run, by a policy
//   sassemu litmus test.sass --model ./memory_model.so                    every state
#include <sassemu/plugin.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

namespace {

struct Store {
    uint64_t turn, address;
    uint8_t bytes, value[16];
};

class StoreQueues : public sassemu::Plugin {
  public:
    static constexpr auto name = "tso", summary = "total store order: a queue of stores per thread";
    static constexpr uint32_t spaces = SASSEMU_SPACE_BIT(SASSEMU_GLOBAL);
    static constexpr bool in_flight = true;  // threads of several launches and GPUs, and of ranks

    struct State {
        std::map<uint64_t, std::deque<Store>> queues;  // by thread; none is empty
        uint64_t turns = 0;
    };

    using Plugin::Plugin;

    State start(std::span<const sassemu_place>) const { return {}; }

    void perform(State& s, sassemu::MemoryBytes memory, const sassemu_operation& o, uint32_t,
                 uint8_t* value) const {
        const auto own = s.queues.find(o.from.thread);
        switch (o.kind) {
            case SASSEMU_OPERATION_LOAD:
                memory.read(o.address, value, o.bytes);
                if (own == s.queues.end()) break;
                for (const Store& store : own->second)  // its own stores, oldest first
                    for (unsigned i = 0; i < o.bytes; ++i)
                        if (const uint64_t at = o.address + i - store.address; at < store.bytes)
                            value[i] = store.value[at];
                break;
            case SASSEMU_OPERATION_STORE: {
                Store store{s.turns++, o.address, o.bytes, {}};
                std::copy_n(value, o.bytes, store.value);
                s.queues[o.from.thread].push_back(store);
                break;
            }
            case SASSEMU_OPERATION_CACHE:
                break;  // there are no caches
            default:    // an atomic, a fence, a barrier
                while (own != s.queues.end() && !own->second.empty()) leave(own->second, memory);
                if (own != s.queues.end()) s.queues.erase(own);
        }
    }

    // A step: the oldest store of one queue leaves.
    std::vector<uint64_t> steps(const State& s) const {
        std::map<uint64_t, uint64_t> by_turn;
        for (const auto& [thread, queue] : s.queues) by_turn[queue.front().turn] = thread;
        std::vector<uint64_t> threads;
        for (const auto& [turn, thread] : by_turn) threads.push_back(thread);
        return threads;
    }
    void take(State& s, sassemu::MemoryBytes memory, uint32_t step) const {
        const auto queue = s.queues.find(steps(s).at(step));
        leave(queue->second, memory);
        if (queue->second.empty()) s.queues.erase(queue);
    }
    uint64_t held(const State& s) const {
        uint64_t sum = 0;
        for (const auto& [thread, queue] : s.queues) sum += queue.size();
        return sum;
    }

    std::string key(const State& s) const {
        std::string text;
        const auto put = [&](const void* from, size_t bytes) {
            text.append(static_cast<const char*>(from), bytes);
        };
        for (const auto& [thread, queue] : s.queues) {
            const uint64_t head[] = {thread, queue.size()};
            put(head, sizeof head);
            for (const Store& store : queue) {
                put(&store.address, sizeof store.address);
                put(&store.bytes, 1);
                put(store.value, store.bytes);
            }
        }
        return text;
    }

  private:
    static void leave(std::deque<Store>& queue, sassemu::MemoryBytes memory) {
        memory.write(queue.front().address, queue.front().value, queue.front().bytes);
        queue.pop_front();
    }
};

}  // namespace

SASSEMU_PLUGIN(StoreQueues)
