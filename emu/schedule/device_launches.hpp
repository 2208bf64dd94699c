// SPDX-License-Identifier: Apache-2.0
// Grids that kernels launch (dynamic parallelism). A kernel asks the driver for memory of a
// launch's parameters, fills it, and launches; its grid has ended when those that it launched have.
// CUDA promises no kernel that what it launched begins before it ends, so that here they come
// behind it, one after the other in the order in which they were launched, each with its own before
// the next: an order that streams and events of kernels always allow. What is launched into the
// tail stream comes behind all others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emu/gpu.hpp"
#include "emu/memory/device_heap.hpp"
#include "emu/program/code_image.hpp"
#include "emu/schedule/engine.hpp"
#include "emu/schedule/work.hpp"

namespace sassemu {

// What the CTAs of one grid launch; they run side by side.
class ChildGrids {
  public:
    // Whose entry an address is: the module, the kernel and its parameters' bytes. False: nobody's.
    using Find = std::function<bool(uint64_t entry, LaunchRequest& request)>;
    // `blocks`: where parameters lie until their launch has been made.
    ChildGrids(DeviceHeap& blocks, Find find) : blocks_(blocks), find_(std::move(find)) {}

    // The address of its parameters; 0: there is no room. False: `entry` is of no kernel.
    bool prepare(uint64_t entry, const Dim3& grid, const Dim3& block, uint32_t shared,
                 uint64_t& parameters);
    // How many bytes of parameters the launch prepared there takes; none: there is no such one.
    std::optional<size_t> parameter_bytes(uint64_t parameters);
    void launch(uint64_t parameters, std::vector<std::byte> bytes, bool tail, uint64_t cta);
    uint64_t handle();  // of a stream or an event, unlike all others of the grid
    // Those of one CTA in the order in which it launched them, and CTA by CTA, whichever came
    // first: there are none afterwards.
    std::vector<LaunchRequest> take();

  private:
    DeviceHeap& blocks_;
    const Find find_;
    std::mutex mutex_;
    std::unordered_map<uint64_t, LaunchRequest> prepared_;
    std::map<std::pair<bool, uint64_t>, std::vector<LaunchRequest>> launched_;  // by tail, CTA
    uint64_t handles_ = 0;
};

// A grid, and what it launches.
class GridTree final : public Work {
  public:
    struct Grid {
        std::unique_ptr<Engine> engine;
        ChildGrids* children = nullptr;  // lives as long as the engine
    };
    using Make = std::function<Result<Grid>(const LaunchRequest&)>;
    // `limits`: of all of them together.
    GridTree(Grid root, Make make, std::string kernel, const Limits& limits, uint32_t workers)
        : current_(std::move(root)),
          make_(std::move(make)),
          kernel_(std::move(kernel)),
          limits_(limits),
          workers_(workers) {}

    bool begin() override { return current_.engine->begin(); }
    bool take(Turn& turn) override;
    void run(Turn& turn) noexcept override { current_.engine->run(turn); }
    void put(Turn& turn) override { current_.engine->put(turn); }
    bool over() const override { return !current_.engine; }
    LaunchResult finish() override { return std::move(result_); }
    bool settle() override { return current_.engine && current_.engine->settle(); }
    void check_limits() override {
        if (current_.engine) current_.engine->check_limits();
    }
    void end(LaunchStatus status, std::string message) override {
        if (current_.engine) current_.engine->end(status, std::move(message));
    }
    std::string waits() const override { return current_.engine->waits(); }
    uint32_t most_workers() const override { return workers_; }

  private:
    void next();

    Grid current_;  // none: all have ended
    const Make make_;
    const std::string kernel_;  // the first
    const Limits limits_;
    const uint32_t workers_;
    std::vector<LaunchRequest> pending_;  // the last is next
    LaunchResult result_;
    bool first_ = true;  // no grid has ended yet
};

// What the driver provides to kernels for it, under the names that code calls which is linked with
// the device's runtime library (cudadevrt), and those that code calls which is not.
std::vector<DriverFunction> launch_functions();
bool is_launch_function(std::string_view name);

}  // namespace sassemu
