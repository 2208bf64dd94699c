// SPDX-License-Identifier: Apache-2.0
// See device_launches.hpp. How the functions take their arguments was read off what nvcc 13.0 emits
// for <<<>>>, streams and events in kernels; it is the same for sm_75 to sm_120.
#include "emu/schedule/device_launches.hpp"

#include <algorithm>
#include <optional>
#include <sassemu/names.hpp>
#include <utility>

#include "emu/plugin/hooks.hpp"
#include "emu/schedule/driver_call.hpp"
#include "emu/schedule/launch_stats.hpp"

namespace sassemu {

bool ChildGrids::prepare(uint64_t entry, const Dim3& grid, const Dim3& block, uint32_t shared,
                         uint64_t& parameters) {
    LaunchRequest request;
    if (!find_(entry, request)) return false;
    request.grid = grid;
    request.block = block;
    request.dynamic_shared = shared;
    parameters = blocks_.allocate(std::max<size_t>(request.params.size(), 1));
    if (!parameters) return true;
    const std::lock_guard guard(mutex_);
    prepared_[parameters] = std::move(request);
    return true;
}

std::optional<size_t> ChildGrids::parameter_bytes(uint64_t parameters) {
    const std::lock_guard guard(mutex_);
    const auto found = prepared_.find(parameters);
    if (found == prepared_.end()) return std::nullopt;
    return found->second.params.size();
}

// Streams that have a number of CUDA's; handle() gives others.
constexpr uint64_t tail_stream = 3, first_created = 0x10000;

void ChildGrids::launch(uint64_t parameters, std::vector<std::byte> bytes, bool tail,
                        uint64_t cta) {
    const std::lock_guard guard(mutex_);
    auto found = prepared_.extract(parameters);
    if (!found) return;
    found.mapped().params = std::move(bytes);
    launched_[{tail, cta}].push_back(std::move(found.mapped()));
    blocks_.release(parameters);
}

uint64_t ChildGrids::handle() {
    const std::lock_guard guard(mutex_);
    return first_created + handles_++;
}

std::vector<LaunchRequest> ChildGrids::take() {
    const std::lock_guard guard(mutex_);
    // What was prepared and not launched is nobody's any more.
    for (const auto& [parameters, request] : std::exchange(prepared_, {}))
        blocks_.release(parameters);
    std::vector<LaunchRequest> all;
    for (auto& [of, launches] : std::exchange(launched_, {}))
        std::ranges::move(launches, std::back_inserter(all));
    return all;
}

bool GridTree::take(Turn& turn) {
    while (current_.engine) {
        if (current_.engine->take(turn)) return true;
        if (!current_.engine->over()) return false;
        next();
    }
    return false;
}

// The grid has ended.
void GridTree::next() {
    LaunchResult ended = current_.engine->finish();
    std::vector<LaunchRequest> children = current_.children->take();
    current_ = {};
    LaunchStats& all = result_.stats;
    add_stats(all, ended.stats);
    result_.status = ended.status;
    result_.fault = std::move(ended.fault);
    result_.message = std::move(ended.message);
    if (!std::exchange(first_, false) && result_.status == LaunchStatus::limit)
        result_.message += ", what was left for those that '" + kernel_ + "' launches";
    if (result_.status != LaunchStatus::ok) return;
    pending_.insert(pending_.end(), std::make_move_iterator(children.rbegin()),
                    std::make_move_iterator(children.rend()));
    if (pending_.empty()) return;
    LaunchRequest request = std::move(pending_.back());
    pending_.pop_back();
    const auto fail = [&](LaunchStatus status, const std::string& why) {
        result_.status = status;
        result_.message =
            "kernel '" + kernel_ + "' launches '" + names::demangled(request.kernel) + "': " + why;
    };
    if (limits_.max_warp_instructions) {
        if (all.warp_instructions >= limits_.max_warp_instructions)
            return fail(LaunchStatus::limit, "the limit of " +
                                                 std::to_string(limits_.max_warp_instructions) +
                                                 " warp instructions is reached");
        request.limits.max_warp_instructions =
            limits_.max_warp_instructions - all.warp_instructions;
    }
    if (limits_.seconds > 0) {
        if (all.seconds >= limits_.seconds)
            return fail(LaunchStatus::limit, "the time limit is reached");
        request.limits.seconds = limits_.seconds - all.seconds;
    }
    auto made = make_(request);
    if (!made) return fail(LaunchStatus::unsupported, made.error().message());
    current_ = std::move(*made);
    current_.engine->begin();
}

namespace {

void answer(Warp& w, uint32_t lane, uint64_t value) {
    w.row(register_row(4))[lane] = static_cast<uint32_t>(value);
    w.row(register_row(5))[lane] = static_cast<uint32_t>(value >> 32);
}

template <class F>
const Op* each_caller(const Op* op, Warp& w, uint32_t lanes, F&& act) {
    return each_lane(op, w, lanes, [&](uint32_t lane) {
        const char* const wrong = act(lane);
        return wrong ? engine(w).fault(w, op, 1u << lane, FaultKind::other, wrong, true,
                                       argument64(w, 4, lane))
                     : op + 1;
    });
}

// void* (kernel, dim3 grid, dim3 block, unsigned shared)
const Op* call_parameter_buffer(const Op* op, Warp& w, uint32_t lanes) {
    return each_caller(op, w, lanes, [&](uint32_t lane) -> const char* {
        const auto three = [&](uint32_t reg) {
            return Dim3{argument(w, reg, lane), argument(w, reg + 1, lane),
                        argument(w, reg + 2, lane)};
        };
        uint64_t at = 0;
        if (!engine(w).children()->prepare(argument64(w, 4, lane), three(6), three(9),
                                           argument(w, 12, lane), at))
            return "it launches a kernel at an address where none begins";
        if (Hooks* const hooks = engine(w).hooks(); hooks && at)
            hooks->heap(w, lane, at, *engine(w).children()->parameter_bytes(at));
        answer(w, lane, at);
        return nullptr;
    });
}

// error (void* parameters, stream)
const Op* call_launch(const Op* op, Warp& w, uint32_t lanes) {
    return each_caller(op, w, lanes, [&](uint32_t lane) -> const char* {
        const uint64_t at = argument64(w, 4, lane), stream = argument64(w, 6, lane);
        const auto size = engine(w).children()->parameter_bytes(at);
        if (!size) return "it launches a kernel for which it has no parameters";
        std::vector<std::byte> bytes(*size);
        if (!read_bytes(w, lane, at, bytes)) return "the parameters of its launch cannot be read";
        if (Hooks* const hooks = engine(w).hooks()) hooks->heap(w, lane, at, 0);
        engine(w).children()->launch(at, std::move(bytes), stream == tail_stream, w.cta->linear);
        answer(w, lane, 0);
        return nullptr;
    });
}

// error (handle*, flags): a stream or an event, each with a number of its own.
const Op* call_create(const Op* op, Warp& w, uint32_t lanes) {
    return each_caller(op, w, lanes, [&](uint32_t lane) -> const char* {
        const uint64_t handle = engine(w).children()->handle();
        if (!write_bytes(w, lane, argument64(w, 4, lane), std::as_bytes(std::span(&handle, 1))))
            return "the handle of its stream or event cannot be written";
        answer(w, lane, 0);
        return nullptr;
    });
}

// Whatever else streams and events want is so in the order in which grids come, and nothing
// has failed: what fails ends the launch.
const Op* call_nothing(const Op* op, Warp& w, uint32_t lanes) {
    return each_caller(op, w, lanes, [&](uint32_t lane) -> const char* {
        answer(w, lane, 0);
        return nullptr;
    });
}

constexpr std::string_view linked_prefix = "__cuda_syscall_cnpv2", unlinked_prefix = "__cudaCDP2";

}  // namespace

bool is_launch_function(std::string_view name) {
    return name.starts_with(linked_prefix) || name.starts_with(unlinked_prefix);
}

std::vector<DriverFunction> launch_functions() {
    struct Names {
        const char *linked, *unlinked;
        Handler handler;
    };
    std::vector<DriverFunction> all;
    for (const Names& f :
         {Names{"GetParameterBufferV2", "GetParameterBufferV2", call_parameter_buffer},
          Names{"LaunchDeviceV2", "LaunchDeviceV2", call_launch},
          Names{"StreamCreate", "StreamCreateWithFlags", call_create},
          Names{"EventCreate", "EventCreateWithFlags", call_create},
          Names{"StreamDestroy", "StreamDestroy", call_nothing},
          Names{"StreamWaitEvent", "StreamWaitEvent", call_nothing},
          Names{"EventRecord", "EventRecord", call_nothing},
          Names{"EventDestroy", "EventDestroy", call_nothing},
          Names{"GetLastError", "GetLastError", call_nothing},
          Names{"SetLastError", "PeekAtLastError", call_nothing}}) {
        all.push_back({std::string(linked_prefix) + f.linked, f.handler});
        all.push_back({std::string(unlinked_prefix) + f.unlinked, f.handler});
    }
    return all;
}

}  // namespace sassemu
