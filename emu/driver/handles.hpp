// SPDX-License-Identifier: Apache-2.0
// Handles: what programs hold in place of pointers. A handle says its kind, its slot and the
// slot's generation, so that one that is stale, of another kind or of nobody is told from a good
// one.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace sassemu::driver {

template <class T>
class Handles {
  public:
    explicit Handles(uint8_t kind) : kind_(kind) {}
    uint64_t add(std::shared_ptr<T> object) {
        const std::unique_lock guard(mutex_);
        uint32_t index;
        if (free_.empty()) {
            index = static_cast<uint32_t>(slots_.size());
            slots_.emplace_back();
        } else {
            index = free_.back();
            free_.pop_back();
        }
        Slot& slot = slots_[index];
        slot.object = std::move(object);
        slot.generation = (slot.generation + 1) & 0x7fffff;
        return value(index, slot.generation);
    }
    std::shared_ptr<T> find(uint64_t handle) const {
        const std::shared_lock guard(mutex_);
        const uint32_t index = index_of(handle);
        return index < slots_.size() && value(index, slots_[index].generation) == handle
                   ? slots_[index].object
                   : nullptr;
    }
    // The object that had it; null: none.
    std::shared_ptr<T> take(uint64_t handle) {
        const std::unique_lock guard(mutex_);
        const uint32_t index = index_of(handle);
        if (index >= slots_.size() || value(index, slots_[index].generation) != handle) return {};
        std::shared_ptr<T> object = std::move(slots_[index].object);
        if (object) free_.push_back(index);
        return object;
    }
    template <class F>
    void each(F&& f) const {
        const std::shared_lock guard(mutex_);
        for (uint32_t i = 0; i < slots_.size(); ++i)
            if (slots_[i].object) f(value(i, slots_[i].generation), slots_[i].object);
    }

  private:
    struct Slot {
        std::shared_ptr<T> object;
        uint32_t generation = 0;
    };
    uint64_t value(uint32_t index, uint32_t generation) const {
        return uint64_t{kind_} << 56 | uint64_t{generation} << 32 | (uint64_t{index} + 1) << 4;
    }
    static uint32_t index_of(uint64_t handle) {
        return static_cast<uint32_t>((handle & 0xffffffff) >> 4) - 1;
    }
    const uint8_t kind_;
    mutable std::shared_mutex mutex_;
    std::vector<Slot> slots_;
    std::vector<uint32_t> free_;
};

template <class H>
uint64_t bits(H handle) {
    return reinterpret_cast<uint64_t>(handle);
}
template <class H>
H as_handle(uint64_t value) {
    return reinterpret_cast<H>(value);
}

}  // namespace sassemu::driver
