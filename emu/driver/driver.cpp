// SPDX-License-Identifier: Apache-2.0
// See driver.hpp.
#include "emu/driver/driver.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emu/base/exit_code.hpp"
#include "emu/driver/operation.hpp"
#include "emu/machine/state_fill.hpp"
#include "emu/plugin/hooks.hpp"

namespace sassemu::driver {

thread_local bool thread_streams = false;
thread_local void* caller = nullptr;
thread_local std::vector<CUcontext> context_stack;

namespace {

std::atomic<bool> initialised{false}, forked{false};

CUresult error_of(FaultKind kind) {
    switch (kind) {
        case FaultKind::illegal_instruction:
            return CUDA_ERROR_ILLEGAL_INSTRUCTION;
        case FaultKind::misaligned_address:
            return CUDA_ERROR_MISALIGNED_ADDRESS;
        case FaultKind::out_of_bounds:
        case FaultKind::use_after_free:
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        case FaultKind::stack_overflow:
            return CUDA_ERROR_HARDWARE_STACK_ERROR;
        case FaultKind::invalid_pc:
            return CUDA_ERROR_INVALID_PC;
        case FaultKind::assert_failed:
            return CUDA_ERROR_ASSERT;
        default:
            return CUDA_ERROR_LAUNCH_FAILED;
    }
}

CUresult error_of(const LaunchResult& result) {
    switch (result.status) {
        case LaunchStatus::fault:
            return result.fault ? error_of(result.fault->kind) : CUDA_ERROR_LAUNCH_FAILED;
        case LaunchStatus::assert_failed:
            return CUDA_ERROR_ASSERT;
        case LaunchStatus::deadlock:
        case LaunchStatus::limit:
        case LaunchStatus::interrupted:
            return CUDA_ERROR_LAUNCH_TIMEOUT;
        case LaunchStatus::unsupported:
            return CUDA_ERROR_NOT_SUPPORTED;
        default:
            return CUDA_ERROR_LAUNCH_FAILED;
    }
}

int exit_code_of(LaunchStatus status) {
    switch (status) {
        case LaunchStatus::deadlock:
        case LaunchStatus::limit:
            return exit_with::limit;
        case LaunchStatus::unsupported:
            return exit_with::not_executed;
        case LaunchStatus::interrupted:
            return exit_with::interrupted;
        case LaunchStatus::internal:
            return exit_with::internal;
        default:
            return exit_with::faulted;
    }
}

// A plugin's file appears whole or not at all.
Result<void> write_file(const std::string& path, std::string_view text) {
    const auto failed = [&] {
        return make_error(ErrorCode::system, path,
                          std::string("cannot be written: ") + std::strerror(errno));
    };
    const std::string part = path + "." + std::to_string(::getpid()) + ".part";
    const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return failed();
    bool good = true;
    while (good && !text.empty()) {
        const ssize_t written = ::write(file, text.data(), text.size());
        good = written > 0 || (written < 0 && errno == EINTR);
        if (written > 0) text.remove_prefix(static_cast<size_t>(written));
    }
    good = ::close(file) == 0 && good;
    if (good && ::rename(part.c_str(), path.c_str()) == 0) return {};
    const Error error = failed();
    (void)::unlink(part.c_str());
    return error;
}

void in_child() { forked = initialised.load(); }

// Registered once plugins and TBB are there, so that it comes before anything of theirs ends.
void at_end() {
    if (initialised.exchange(false) && !forked) Driver::get().finish();
}

}  // namespace

void say(const std::string& line) {
    static std::mutex mutex;
    static auto& said = *new std::set<std::string>;
    {
        const std::lock_guard guard(mutex);
        if (said.size() > 200 || !said.insert(line).second) return;
    }
    const std::string text = "sassemu: " + line + "\n";
    std::fwrite(text.data(), 1, text.size(), stderr);
}

CUresult missing(const char* name) {
    say(std::string(name) +
        " is not there: it returns CUDA_ERROR_NOT_SUPPORTED (docs/driver.md lists what is)");
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult ready() { return initialised && !forked ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED; }

Driver& Driver::get() {
    static Driver& driver = *new Driver;  // threads may use it to the very end
    return driver;
}

CUresult Driver::start() {
    std::call_once(once_, [this] {
        Hooks::Options options;
        options.plugins = config.plugins;
        options.directories = config.plugin_path;
        options.on_text = [](std::string_view text) {
            std::fwrite(text.data(), 1, text.size(), stderr);
        };
        options.write_file = write_file;
        GpuOptions gpu = config.options;
        gpu.device = config.devices.front();
        gpu.on_printf = [](std::string_view text) {
            std::fwrite(text.data(), 1, text.size(), stdout);
        };
        auto hooks = Hooks::load(options, gpu.model, gpu.seed);
        if (!hooks) {
            say(hooks.error().message());
            return;
        }
        hooks_ = std::move(*hooks);
        if (hooks_) hooks_->seed = gpu.seed;
        auto machine = Machine::create(std::move(gpu), config.devices, hooks_, StateFill{});
        if (!machine) {
            say(machine.error().message());
            return;
        }
        machine_ = std::move(*machine);
        machine_->on_end([this](StreamId stream, const std::string& what,
                                const LaunchResult& result) { ended(stream, what, result); });
        for (uint32_t i = 0; i < count(); ++i) {
            auto made = machine_->gpu(i);
            if (!made) {
                say(made.error().message());
                return;
            }
            gpus_.push_back(*made);
        }
        if (config.limits.seconds > 0 || config.limits.max_warp_instructions)
            machine_->set_limits(config.limits);
        (void)std::atexit(at_end);
        started_ = CUDA_SUCCESS;
    });
    return started_;
}

void Driver::ended(StreamId stream, const std::string& what, const LaunchResult& result) {
    if (over_) return;
    if (const size_t begin = what.find('\''), end = what.find("')", begin);
        config.stats && what.starts_with("launch ") && begin < end) {
        KernelStats& stats = kernel_stats_[what.substr(begin + 1, end - begin - 1)];
        ++stats.launches;
        stats.warp_instructions += result.stats.warp_instructions;
        stats.seconds += result.stats.seconds;
    }
    if (result.status == LaunchStatus::ok || result.status == LaunchStatus::not_run) return;
    bool first = false;
    contexts.each([&](uint64_t, const std::shared_ptr<Context>& c) {
        if (c->device != stream.gpu) return;
        CUresult none = CUDA_SUCCESS;
        first |= c->error.compare_exchange_strong(none, error_of(result));
    });
    reported(exit_code_of(result.status));
    if (!first) return;
    std::string text =
        result.fault && !result.fault->kernel.empty() ? result.fault->report() : result.message;
    if (!text.empty() && text.back() == '\n') text.pop_back();
    say(what + ":\n" + text);
}

void Driver::finish() {
    if (!machine_) return;
    over_ = true;  // what still runs ends with the program
    started_ = CUDA_ERROR_DEINITIALIZED;
    machine_->interrupt();
    machine_.reset();  // threads that it has would meet the end of TBB
    if (hooks_) hooks_->finish();
    if (hooks_)
        for (const Error& error : hooks_->take_write_errors()) say(error.message());
    if (hooks_ && hooks_->findings()) reported(exit_with::finding);
    std::string text;
    for (const auto& [name, stats] : kernel_stats_)
        text += "kernel " + std::to_string(stats.launches) + " " +
                std::to_string(stats.warp_instructions) + " " + std::to_string(stats.seconds) +
                " " + name + "\n";
    if (config.report.empty()) {
        std::fwrite(text.data(), 1, text.size(), stderr);
        return;
    }
    if (worst_) text += "exit-code " + std::to_string(worst_) + "\n";
    const int file = ::open(config.report.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ::write(file, text.data(), text.size()) < 0)
        say("the report cannot be written to " + config.report);
    if (file >= 0) ::close(file);
}

std::shared_ptr<Context> Driver::make_context(uint32_t device, unsigned flags, bool primary) {
    auto context = std::make_shared<Context>();
    context->device = device;
    context->flags = flags;
    context->primary = primary;
    context->legacy = std::make_shared<Stream>();
    context->legacy->context = context;
    context->legacy->id = {device, 0};
    context->handle = as_handle<CUcontext>(contexts.add(context));
    return context;
}

void Driver::destroy(const std::shared_ptr<Context>& context) {
    (void)machine_->synchronize();
    context->alive = false;
    contexts.take(bits(context->handle));
    std::vector<uint64_t> gone;
    modules.each([&](uint64_t handle, const std::shared_ptr<ModuleObject>& m) {
        if (m->context.lock() == context) gone.push_back(handle);
    });
    for (const uint64_t handle : gone) (void)api::cuModuleUnload(as_handle<CUmodule>(handle));
    std::vector<uint64_t> memory;
    {
        const std::shared_lock guard(ranges_mutex);
        for (const auto& [address, range] : ranges)
            if (range.context.lock() == context) memory.push_back(address);
    }
    for (const uint64_t address : memory) (void)free_memory(address);
}

void Driver::add_range(uint64_t address, Range range) {
    const std::unique_lock guard(ranges_mutex);
    static uint64_t last = 0;
    range.id = ++last;
    if (range.kind == Range::Kind::device) device_bytes_used += range.bytes;
    ranges[address] = std::move(range);
}
bool Driver::find_range(uint64_t address, uint64_t bytes, uint64_t& begin, Range& out) {
    const std::shared_lock guard(ranges_mutex);
    auto at = ranges.upper_bound(address);
    if (at == ranges.begin()) return false;
    --at;
    if (address - at->first >= at->second.bytes || bytes > at->second.bytes - (address - at->first))
        return false;
    begin = at->first;
    out = at->second;
    return true;
}
bool Driver::take_range(uint64_t address, Range& out) {
    const std::unique_lock guard(ranges_mutex);
    const auto at = ranges.find(address);
    if (at == ranges.end()) return false;
    out = std::move(at->second);
    if (out.kind == Range::Kind::device) device_bytes_used -= out.bytes;
    ranges.erase(at);
    return true;
}

CUresult current(std::shared_ptr<Context>& out) {
    if (context_stack.empty() || !context_stack.back()) return CUDA_ERROR_INVALID_CONTEXT;
    out = Driver::get().contexts.find(bits(context_stack.back()));
    if (!out) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return out->error;
}

CUresult find_stream(CUstream handle, const std::shared_ptr<Context>& context,
                     std::shared_ptr<Stream>& out) {
    const bool own = handle == CU_STREAM_PER_THREAD || (!handle && thread_streams);
    if (own) {
        const std::lock_guard guard(context->mutex);
        auto& stream = context->thread_streams[std::this_thread::get_id()];
        if (!stream) {
            const auto id = Driver::get().machine().thread_stream(context->device);
            if (!id) return CUDA_ERROR_OUT_OF_MEMORY;
            stream = std::make_shared<Stream>();
            stream->context = context;
            stream->id = *id;
        }
        out = stream;
        return CUDA_SUCCESS;
    }
    if (!handle || handle == CU_STREAM_LEGACY) {
        out = context->legacy;
        return CUDA_SUCCESS;
    }
    out = Driver::get().streams.find(bits(handle));
    if (!out) return CUDA_ERROR_INVALID_HANDLE;
    const auto owner = out->context.lock();
    if (!owner || !owner->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return owner->error;
}

CUresult refused(const char* function, const Error& error) {
    say(std::string(function) + ": " + error.message());
    switch (error.code) {
        case ErrorCode::unsupported:
            return CUDA_ERROR_NOT_SUPPORTED;
        case ErrorCode::not_found:
            return CUDA_ERROR_NOT_FOUND;
        case ErrorCode::system:
        case ErrorCode::limit:
            return CUDA_ERROR_OUT_OF_MEMORY;
        case ErrorCode::internal:
            return CUDA_ERROR_UNKNOWN;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult waited(const std::shared_ptr<Context>& context, const Result<void>& result) {
    if (!result) {
        CUresult none = CUDA_SUCCESS;
        if (context->error.compare_exchange_strong(none, CUDA_ERROR_LAUNCH_TIMEOUT)) {
            say(result.error().message());
            Driver::get().reported(exit_code_of(LaunchStatus::deadlock));
        }
    }
    return context->error;
}

}  // namespace sassemu::driver

namespace sassemu::driver::api {

CUresult cuInit(unsigned int flags) {
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (forked) return CUDA_ERROR_NOT_INITIALIZED;
    static std::mutex mutex;
    const std::lock_guard guard(mutex);
    if (initialised) return CUDA_SUCCESS;
    Driver& driver = Driver::get();
    driver.config = read_config(std::getenv("SASSEMU_EXEC"));
    if (!driver.config.error.empty()) {
        say(driver.config.error);
        return CUDA_ERROR_NO_DEVICE;
    }
    driver.devices.resize(driver.count());
    pthread_atfork(nullptr, nullptr, in_child);
    initialised = true;
    return CUDA_SUCCESS;
}

}  // namespace sassemu::driver::api
