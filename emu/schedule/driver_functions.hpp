// SPDX-License-Identifier: Apache-2.0
// The functions that the driver provides to kernels: vprintf, malloc, free, __assertfail. They
// follow the device ABI: arguments from R4 on, 64-bit ones in even pairs, result in R4, return
// address in R20:R21 (read off what nvcc 13.0 emits for a call through c[0x4]).
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "emu/memory/device_heap.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu {

class DriverFunctions {
  public:
    DeviceHeap& heap() { return heap_; }

    // Text is handed to `sink` ordered by CTA and then by time. `in_turn`: that of the first CTA
    // which has not ended goes there at once, so that no more is kept than others print meanwhile;
    // the engine then says which CTAs have ended. Otherwise all is kept until the end.
    void begin_output(std::function<void(std::string_view)> sink, bool in_turn);
    void print(uint64_t cta, std::string text);
    void ended(uint64_t cta);
    bool in_turn() const { return in_turn_; }
    void end_output();  // hands on what is left; may be called for each of several launches

    // The services a module may call, for CodeImage and for the linker.
    static const std::vector<DriverFunction>& table();

  private:
    DeviceHeap heap_;
    std::mutex mutex_;
    std::function<void(std::string_view)> sink_;
    bool in_turn_ = false;
    uint64_t turn_ = 0;         // the first CTA that has not ended
    std::set<uint64_t> ended_;  // beyond it
    std::map<uint64_t, std::string> output_;
};

}  // namespace sassemu
