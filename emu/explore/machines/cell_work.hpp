// SPDX-License-Identifier: Apache-2.0
// What an agent does in the tensor memory of a CTA on a machine: a product or copy of its tensor
// core, or a load or store of a warp, whose lanes are one agent. What does not belong here: when
// (copy_steps.cpp), and who asks for it (fetch_tensor.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sassemu/machine.h>

#include "emu/explore/sass/tensor_work.hpp"

namespace sassemu::explore {

// Names an agent: its thread, and the how manieth it is of that.
using AgentName = std::pair<uint32_t, uint32_t>;

struct CellWork {
    struct Load {
        uint32_t thread = 0, number = 0;  // the register, of the test's
        uint32_t offset = 0;              // in the row of bytes that tensor memory is
        bool halves = false;              // the lower ones of two columns
    };
    struct Store {
        uint32_t offset = 0, value = 0;
    };
    struct Statistic {  // of loads of the thread
        uint32_t thread = 0, number = 0;
        async::TensorStatistic how;
        std::vector<uint32_t> offsets;
        bool halves = false;
    };
    int32_t cta = 0;
    std::vector<TensorWork> core;  // one, or none
    uint32_t launch = 0;           // of the core's
    std::vector<Load> loads;
    std::vector<Store> stores;
    std::vector<Statistic> statistics;
    std::vector<SharedRange> read, written;  // of the row
    std::string key;                         // what tells it from others

    // The tensor core takes the other one first, if that has been asked for first.
    bool pipelined_behind(const CellWork& other) const {
        return !core.empty() && !other.core.empty() &&
               pipelined(other.core[0].kind(), core[0].kind());
    }
    // Of what the other does, too, and one of them writes it.
    bool meets(const CellWork& other) const {
        const auto any = [](const std::vector<SharedRange>& a, const std::vector<SharedRange>& b) {
            for (const SharedRange& x : a)
                for (const SharedRange& y : b)
                    if (x.address < y.address + y.bytes && y.address < x.address + x.bytes)
                        return true;
            return false;
        };
        return cta == other.cta && (any(written, other.written) || any(written, other.read) ||
                                    any(read, other.written));
    }
};

// Among what steps touch: the tensor memory of a CTA, and which of its columns are allocated.
inline uint64_t tensor_row_of(int32_t cta) {
    return SASSEMU_MACHINE_SHARED | uint64_t{1} << 59 | static_cast<uint64_t>(cta + 1) << 24;
}
inline uint64_t granules_of(int32_t cta) { return tensor_row_of(cta) | tensor_memory_bytes; }

// Of a scoped machine: which work in tensor memory that is not done yet comes before what follows,
// by the paths of PTX ISA 9.7.16.6. What is done needs no order.
class TensorOrder {
  public:
    bool empty() const { return known_.empty(); }
    // `done`: as far as others are concerned; else issued, which is enough for what is pipelined.
    void add(AgentName a, bool done) { known_[a] |= done ? is_done | is_issued : is_issued; }
    // Somebody has waited for it, and no fence has said so: enough to free what it used.
    void add_over(AgentName a) { known_[a] |= is_over; }
    void join(const TensorOrder& other) {
        for (const auto& [a, how] : other.known_) known_[a] |= how;
    }
    void forget(AgentName a) { known_.erase(a); }
    void clear() { known_.clear(); }
    bool has(AgentName a, bool pipelined) const {
        const auto at = known_.find(a);
        return at != known_.end() && at->second & (pipelined ? is_issued : is_done);
    }
    bool over(AgentName a) const {
        const auto at = known_.find(a);
        return at != known_.end() && at->second & (is_done | is_over);
    }
    template <class Put>
    void key(Put&& put) const {
        put(known_.size());
        for (const auto& [a, how] : known_) put(uint64_t{a.first} << 32 | a.second), put(how);
    }

  private:
    static constexpr uint8_t is_issued = 1, is_done = 2, is_over = 4;
    std::map<AgentName, uint8_t> known_;
};

}  // namespace sassemu::explore
