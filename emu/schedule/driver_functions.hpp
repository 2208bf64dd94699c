// SPDX-License-Identifier: Apache-2.0
// The functions that the driver provides to kernels: vprintf, malloc, free, __assertfail, the
// copies of sm_120 (driver_copies.cpp), launches (device_launches.cpp). How they are called:
// driver_call.hpp.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emu/memory/device_heap.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu {

class DriverFunctions {
  public:
    DeviceHeap& heap() { return heap_; }
    DeviceHeap& parameters() { return parameters_; }  // of launches that kernels make

    // The services a module may call, for CodeImage and for the linker.
    static const std::vector<DriverFunction>& table();
    // Why kernels that call the function are refused when they are launched, while others of the
    // module run; unset: they are not.
    struct Refusal {
        std::string brief, why, hint;  // brief: for a list that names the function
    };
    static std::optional<Refusal> refusal(const Module& module, const Symbol& symbol);

  private:
    DeviceHeap heap_, parameters_;
};

// What one launch prints, handed to `sink` ordered by CTA and then by time: the text of the first
// CTA that has not ended goes there at once, so that no more is kept than others print meanwhile.
class PrintedText {
  public:
    using Sink = std::function<void(std::string_view)>;
    // `prints`: its kernel may print, and the engine has to say which CTAs have ended.
    PrintedText(const Sink& sink, bool prints) : prints(prints), sink_(sink) {}
    const bool prints;
    void print(uint64_t cta, std::string text);
    void ended(uint64_t cta);
    // Hands on all that is kept: the launch is over, or others of its chain run.
    void flush();

  private:
    const Sink& sink_;
    std::mutex mutex_;
    uint64_t turn_ = 0;         // the first CTA that has not ended
    std::set<uint64_t> ended_;  // beyond it
    std::map<uint64_t, std::string> kept_;
};

}  // namespace sassemu
