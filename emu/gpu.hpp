// SPDX-License-Identifier: Apache-2.0
// The library's front door: one emulated GPU. What belongs here: the types that a program (the
// command line, a test, the driver API) needs to allocate memory, load a module and launch a
// kernel. What does not: anything about how instructions execute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/module/module.hpp"

namespace sassemu {

struct Dim3 {
    uint32_t x = 1, y = 1, z = 1;
    uint64_t count() const { return uint64_t{x} * y * z; }
};

// What a device offers. Residency follows it, and the special registers report it.
struct DeviceProfile {
    std::string name = "h200";
    uint32_t sms = 132;
    uint32_t shared_per_sm = 228 * 1024;   // bytes
    uint32_t shared_per_cta = 227 * 1024;  // bytes, the opt-in limit
    uint32_t registers_per_sm = 65536;
    uint32_t resident_ctas_per_sm = 32;
    uint32_t resident_threads_per_sm = 2048;
};
// A named profile ("h200", "a100", "t4", ...; decoder/isa/architectures.isa); an error lists them.
Result<DeviceProfile> device_profile(std::string_view name);

// When asynchronous copies take place, see emu/async/agents.hpp.
enum class AgentOrder : uint8_t { eager, lazy, random };

enum class HostLevel : uint8_t { automatic, v2, v3, v4 };

struct GpuOptions {
    DeviceProfile device;
    uint32_t threads = 0;        // workers; 0 = all hardware threads
    bool deterministic = false;  // one logical scheduler, whatever `threads`
    bool reference = false;      // scalar backend, no fast paths
    bool checked = false;        // checked lowering (pending rows, dependency sets)
    HostLevel level = HostLevel::automatic;
    uint64_t seed = 0;
    std::string model = "flat";  // "flat", or a built-in test model: "delay"
    AgentOrder agents = AgentOrder::eager;
    uint64_t stack_bytes = 1024;                      // per thread, at least what the kernel states
    uint64_t heap_bytes = 8 << 20;                    // device malloc
    std::function<void(std::string_view)> on_printf;  // device stdout; called in order per CTA
    // Runs a job some time, once, on a thread of the program, which so lends its own pool (a
    // tbb::task_arena, say: sdk/example/lent_arena) in place of threads that are started here. Jobs
    // come from any thread, run for as long as there is work, and do not throw. The host thread
    // that waits works too; `threads` is how many work in all. One that never runs a job is no
    // harm, and one that comes late either.
    std::function<void(std::function<void()>)> spawn;
};

struct Limits {
    uint64_t max_warp_instructions = 0;  // 0 = none
    double seconds = 0;                  // wall clock, 0 = none
};

enum class TextureFormat : uint8_t { u8, s8, u16, s16, u32, s32, f16, f32 };
enum class AddressMode : uint8_t { wrap, clamp, mirror, border };
enum class FilterMode : uint8_t { point, linear };

// Texels lie row after row, slice after slice, level after level; the slices are those of the
// depth, or the layers, or their faces (+x -x +y -y +z -z).
struct TextureDesc {
    uint64_t address = 0;                       // device address of the first texel
    uint32_t width = 0, height = 0, depth = 0;  // texels; 0 = dimension absent
    uint32_t layers = 0;                        // of an array; 0 = no array
    uint32_t levels = 1;                        // of detail, each half as large as the one before
    uint64_t pitch = 0;                         // bytes per row; 0 = packed
    TextureFormat format = TextureFormat::f32;
    uint32_t channels = 1;  // 1, 2 or 4
    AddressMode address_mode[3] = {AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
    FilterMode filter = FilterMode::point;
    FilterMode level_filter = FilterMode::point;
    float level_bias = 0, level_low = 0, level_high = 0;  // the level of detail is kept in a range
    uint32_t anisotropy = 1;
    float border[4] = {};
    bool normalized_coords = false;
    bool read_normalized = false;  // integer texels as floats in [0,1] / [-1,1]
    bool linear_memory = false;    // tex1Dfetch from a linear buffer
    bool cube = false;             // six faces a layer
    bool seamless = false;         // filters of a cube cross its edges
    bool srgb = false;             // 8-bit texels as colours
    bool exact_levels = false;     // no steeper way between levels where anisotropy is allowed

    constexpr uint32_t texel_bytes() const {
        constexpr uint32_t sizes[] = {1, 1, 2, 2, 4, 4, 2, 4};
        return sizes[static_cast<size_t>(format)] * channels;
    }
    constexpr uint32_t extent(unsigned dimension, unsigned level = 0) const {
        const uint32_t n = (dimension == 0 ? width : dimension == 1 ? height : depth) >> level;
        return n ? n : 1;
    }
    constexpr uint64_t slices(unsigned level = 0) const {
        if (!cube && layers == 0) return extent(2, level);
        return uint64_t{layers ? layers : 1} * (cube ? 6 : 1);
    }
};

// Why a launch did not finish as asked. Guest faults are results, not host errors.
enum class LaunchStatus : uint8_t {
    ok,
    fault,
    assert_failed,
    trap,
    deadlock,
    limit,
    unsupported,
    interrupted,
    internal,
    not_run
};

enum class FaultKind : uint8_t {
    none,
    illegal_instruction,
    misaligned_address,
    out_of_bounds,
    use_after_free,
    stack_overflow,
    barrier_misuse,
    invalid_pc,
    trap,
    breakpoint,
    assert_failed,
    illegal_texture,
    cluster,
    other
};
std::string_view fault_name(FaultKind);  // the word used in plans: "misaligned-address", ...

struct GuestFault {
    FaultKind kind = FaultKind::none;
    std::string kernel, function, sass, source;  // source: file:line with inlined frames
    uint64_t pc = 0;                             // byte offset in the function's section
    Dim3 cta, thread;
    uint32_t warp = 0, lane = 0;
    uint64_t address = 0;
    bool has_address = false;
    uint32_t landed_lanes = 0;  // lanes whose writes had taken effect
    std::string what;           // one sentence: the cause, the nearest allocation, what to do
    std::string report() const;
};

struct LaunchStats {
    uint64_t warp_instructions = 0, thread_instructions = 0, guard_false = 0;
    double seconds = 0;
    uint64_t ctas = 0;
    uint64_t bytes_per_resident_cta = 0;
    uint32_t threads = 0;
};

struct LaunchResult {
    LaunchStatus status = LaunchStatus::ok;
    std::optional<GuestFault> fault;
    std::string message;  // deadlock report, limit, unsupported instruction, internal error
    LaunchStats stats;
};

using ModuleId = uint32_t;

struct LaunchRequest {
    ModuleId module = 0;
    std::string kernel;
    Dim3 grid, block, cluster;
    bool explicit_cluster = false;
    uint32_t dynamic_shared = 0;
    bool cooperative = false;
    bool may_overlap =
        false;  // it may begin before the launch before it has ended; for plugins to know
    std::vector<std::byte> params;  // the raw parameter block, from the kernel's parameter base
    Limits limits;
};

class Gpu {
  public:
    static Result<std::unique_ptr<Gpu>> create(GpuOptions options);
    virtual ~Gpu() = default;

    // Device memory; bounds are byte-exact. An address is any that is free, from 64 KiB on; 0:
    // chosen.
    virtual Result<uint64_t> allocate(uint64_t bytes, std::string name, uint64_t address = 0) = 0;
    virtual Result<void> release(uint64_t address) = 0;
    virtual Result<void> write(uint64_t address, std::span<const std::byte> bytes) = 0;
    virtual Result<void> read(uint64_t address, std::span<std::byte> bytes) = 0;
    virtual Result<void> fill(uint64_t address, uint64_t bytes, uint8_t value) = 0;

    // Places a module: assigns addresses, applies relocations, initialises globals and constants.
    // `at`: the device addresses of some variables, where memory from elsewhere has pointers to
    // them.
    using SymbolAddresses = std::map<std::string, uint64_t, std::less<>>;
    virtual Result<ModuleId> load(std::shared_ptr<const Module> module,
                                  const SymbolAddresses& at = {}) = 0;
    struct Symbol {
        uint64_t address = 0, bytes = 0;
    };
    virtual Result<Symbol> symbol(ModuleId module, std::string_view name) = 0;

    // The 64-bit handle: `wanted` if it is not 0; what tells handles apart is their low 20 bits.
    virtual Result<uint64_t> create_texture(const TextureDesc&, uint64_t wanted = 0) = 0;
    virtual Result<uint64_t> create_surface(const TextureDesc&, uint64_t wanted = 0) = 0;
    // Kernels may free() the allocation as one of malloc's.
    virtual Result<void> give_to_heap(uint64_t address) = 0;

    // Validates like cuLaunchKernel (an Error: bad arguments), then runs to completion.
    virtual Result<LaunchResult> launch(const LaunchRequest&) = 0;
    // Launches of which each but the first may begin before the one before it has ended
    // (programmatic dependent launch). They overlap when the order of the agents is not eager and
    // no plugin is there, see schedule/chain.hpp. The results in order, up to the first launch that
    // failed.
    virtual std::vector<Result<LaunchResult>> launch_chain(
        std::span<const LaunchRequest> requests) {
        std::vector<Result<LaunchResult>> results;
        for (const LaunchRequest& request : requests) {
            results.push_back(launch(request));
            if (!results.back() || results.back()->status != LaunchStatus::ok) break;
        }
        return results;
    }
    // Asks a running launch to stop (status `interrupted`). Safe from a signal handler.
    virtual void interrupt() noexcept = 0;
    virtual HostLevel level() const = 0;
};

// SASS text of one instruction of a loaded kernel, for reports; empty when undecodable.
std::string disassemble(std::string_view arch, std::span<const std::byte> code, uint64_t pc);

}  // namespace sassemu
