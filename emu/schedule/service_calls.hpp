// SPDX-License-Identifier: Apache-2.0
// The functions that the driver provides to kernels: vprintf, malloc, free, __assertfail. They
// follow the device ABI: arguments from R4 on, 64-bit ones in even pairs, result in R4, return
// address in R20:R21 (read off what nvcc 13.0 emits for a call through c[0x4]).
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "emu/memory/device_heap.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu {

class ServiceCalls {
  public:
    DeviceHeap& heap() { return heap_; }

    void print(uint64_t cta, std::string text);
    // Hands everything printed to `sink`, ordered by CTA and then by time.
    void flush(const std::function<void(std::string_view)>& sink);

    // The services a module may call, for CodeImage and for the linker.
    static const std::vector<Service>& table();

  private:
    DeviceHeap heap_;
    std::mutex mutex_;
    std::map<uint64_t, std::string> output_;
};

}  // namespace sassemu
