// SPDX-License-Identifier: Apache-2.0
// A GPU with plugins and one kernel from a .sass text, for the tests of the SDK.
#pragma once

#include <gtest/gtest.h>

#include <span>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/sass/assembled.hpp"
#include "emu/schedule/create_gpu.hpp"

namespace sassemu {

inline std::string own(const std::string& name) { return SASSEMU_TEST_PLUGINS "/" + name + ".so"; }

class Machine {
  public:
    Machine(const std::string& text, std::vector<std::string> plugins,
            const std::string& model = "flat", GpuOptions options = {}) {
        Hooks::Options load;
        load.plugins = std::move(plugins);
        load.on_text = [this](std::string_view t) { out += t; };
        options.model = model;
        auto hooks = Hooks::load(load, model, options.seed);
        EXPECT_TRUE(hooks.ok()) << (hooks.ok() ? "" : hooks.error().message());
        if (!hooks.ok()) return;
        hooks_ = std::move(*hooks);
        auto gpu = create_gpu(options, hooks_);
        EXPECT_TRUE(gpu.ok());
        gpu_ = std::move(*gpu);
        std::vector<sass::Diagnostic> diagnostics;
        const auto assembled = sass::read_sass(text, {}, diagnostics);
        for (const auto& d : diagnostics)
            ADD_FAILURE() << "line " << d.line << ": " << d.what << "; " << d.hint;
        auto module = load_module(sass::write_cubin(*assembled), "test.sass");
        EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().message());
        module_ = std::make_shared<const Module>(std::move(*module));
        id_ = *gpu_->load(module_);
    }
    uint64_t buffer(uint64_t bytes = 4096) { return *gpu_->allocate(bytes, "buffer"); }
    uint32_t get(uint64_t at) {
        uint32_t v = 0;
        EXPECT_TRUE(gpu_->read(at, std::as_writable_bytes(std::span(&v, 1))).ok());
        return v;
    }
    void set(uint64_t at, uint32_t v) {
        EXPECT_TRUE(gpu_->write(at, std::as_bytes(std::span(&v, 1))).ok());
    }
    LaunchResult run(uint32_t grid, uint32_t block, const std::vector<uint64_t>& arguments,
                     uint64_t most_instructions = 0) {
        LaunchRequest r;
        r.module = id_;
        r.kernel = module_->kernels().front().name;
        r.grid = {grid, 1, 1};
        r.block = {block, 1, 1};
        r.limits.seconds = 60;
        r.limits.max_warp_instructions = most_instructions;
        const auto bytes = std::as_bytes(std::span(arguments));
        r.params.assign(bytes.begin(), bytes.end());
        auto result = gpu_->launch(r);
        EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message());
        return result.ok() ? *result : LaunchResult{};
    }
    Hooks& hooks() { return *hooks_; }
    // Lines of the output that begin so.
    std::string lines(std::string_view begin) const {
        std::string found;
        for (size_t at = 0; at < out.size();) {
            const size_t end = out.find('\n', at);
            const std::string_view line(out.data() + at, end - at);
            if (line.starts_with(begin)) found += std::string(line) + "\n";
            at = end + 1;
        }
        return found;
    }
    std::string out;

  private:
    std::shared_ptr<Hooks> hooks_;
    std::unique_ptr<Gpu> gpu_;
    std::shared_ptr<const Module> module_;
    ModuleId id_ = 0;
};

}  // namespace sassemu
