// SPDX-License-Identifier: Apache-2.0
// A program with a thread pool of its own, on which launches run: the emulator starts no thread.
//
//     lent_arena cubins/saxpy/sm_90.cubin
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"

namespace {

constexpr int threads = 4, count = 1 << 20;

// The program's pool: four threads, of which TBB makes what there are not.
class Pool {
  public:
    ~Pool() {
        arena_.execute([&] { jobs_.wait(); });
    }
    void run(std::function<void()> job) {
        ++ran_;
        arena_.execute([&] { jobs_.run(std::move(job)); });
    }
    int ran() const { return ran_; }

  private:
    oneapi::tbb::task_arena arena_{threads};
    oneapi::tbb::task_group jobs_;
    std::atomic<int> ran_{0};
};

template <class T>
T have(sassemu::Result<T> result) {
    if (result) return std::move(result).value();
    std::fprintf(stderr, "%s\n", result.error().message().c_str());
    std::exit(1);
}
void have(const sassemu::Result<void>& result) {
    if (result) return;
    std::fprintf(stderr, "%s\n", result.error().message().c_str());
    std::exit(1);
}

template <class T>
void append(std::vector<std::byte>& block, T value) {
    block.resize((block.size() + sizeof value - 1) / sizeof value * sizeof value);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
    block.insert(block.end(), bytes, bytes + sizeof value);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return std::fprintf(stderr, "usage: lent_arena SAXPY.cubin\n"), 2;
    Pool pool;  // it lives longer than the GPU
    sassemu::GpuOptions options;
    options.threads = threads;
    options.spawn = [&](std::function<void()> job) { pool.run(std::move(job)); };
    const auto gpu = have(sassemu::Gpu::create(options));

    const auto module = have(
        gpu->load(std::make_shared<sassemu::Module>(have(sassemu::load_module_file(argv[1])))));
    const std::vector<float> ones(count, 1.0f);
    const auto x = have(gpu->allocate(4 * count, "x")), y = have(gpu->allocate(4 * count, "y"));
    have(gpu->write(x, std::as_bytes(std::span(ones))));
    have(gpu->write(y, std::as_bytes(std::span(ones))));

    sassemu::LaunchRequest request;
    request.module = module;
    request.kernel = "saxpy";
    request.grid = {count / 256, 1, 1};
    request.block = {256, 1, 1};
    append(request.params, 1.5f);
    append(request.params, x);
    append(request.params, y);
    append(request.params, int32_t{count});
    const sassemu::LaunchResult result = have(gpu->launch(request));

    std::vector<float> out(count);
    have(gpu->read(y, std::as_writable_bytes(std::span(out))));
    for (const float value : out)
        if (value != 2.5f) return std::fprintf(stderr, "wrong: %g\n", value), 1;
    std::printf("%llu warp instructions, %d jobs ran in the program's pool\n",
                static_cast<unsigned long long>(result.stats.warp_instructions), pool.ran());
    return 0;
}
