// SPDX-License-Identifier: Apache-2.0
// A launch plan as values, and its reader. What belongs here: what a plan says. What does not:
// doing it (run_plan.hpp), or anything that needs a module or a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/gpu.hpp"
#include "emu/machine.hpp"
#include "emu/plan/element.hpp"
#include "emu/plan/philox.hpp"

namespace sassemu::plan {

class ByteSource;

// Where a value stands in the plan: "plan.json:12:7: launches[0].args[2]". The front of every
// error.
using Where = std::string;

// What a buffer or global must hold after the last launch. Exactly one of file, sha256, values.
struct Expectation {
    Where where;
    std::string file;                       // resolved path
    std::shared_ptr<ByteSource> open_file;  // that file, where it had to be opened beforehand
    std::string sha256;                     // 64 lower-case hex digits
    std::vector<std::byte> values;  // as the buffer's bytes; has_values tells an empty list apart
    bool has_values = false;
    std::optional<ElementType> type;  // how differences are shown; needed for a tolerance
    bool has_tolerance = false;       // then |got - expected| <= atol + rtol * |expected|
    double rtol = 0, atol = 0;
};

// An address stored into a buffer before the first launch.
struct PointerPatch {
    Where where;
    uint64_t offset = 0;  // bytes into what receives the 8-byte address
    std::string buffer;   // whose address
    uint64_t add = 0;     // bytes added to it
};

// Whose memory: of one GPU (others reach it by peer access), of the host (all GPUs reach it; pinned
// and mapped, or managed), of one GPU for all to reach, or a copy in the heap of every PE. A
// multicast object is no memory: it stands for that of other buffers.
enum class BufferKind : uint8_t { device, host, managed, peer, symmetric, multicast };

// Initial contents: at most one of file, fill, random; none means zero bytes.
struct Contents {
    std::string file;  // resolved path; its size is the buffer's
    std::optional<uint8_t> fill;
    std::optional<RandomSpec> random;
};

struct Buffer {
    Where where;
    std::string name;
    uint64_t bytes = 0;
    Contents contents;
    std::vector<PointerPatch> pointers;
    uint64_t address = 0;  // 0 = anywhere
    BufferKind kind = BufferKind::device;
    bool heap = false;  // a block of the device heap: kernels may free it
    uint32_t gpu = 0;
    std::vector<std::string> of;  // multicast: the members
    std::optional<Expectation> expect;
};

// A __device__, __managed__ or __constant__ variable of a module.
struct Global {
    Where where;
    std::string name;                // in the plan
    std::string symbol;              // of the variable
    std::optional<uint32_t> module;  // whose variable; none: the first module's that has one
    Contents contents;               // nothing: the module's own initialiser stays
    uint64_t address = 0;            // 0 = anywhere
    std::optional<Expectation> expect;
};

struct BufferArg {
    std::string buffer;
    uint64_t offset = 0;  // bytes
};
struct ScalarArg {
    std::string form;  // "i32", "f64", ...: for messages
    uint64_t bits = 0;
    uint32_t bytes = 0;
};
struct BitsArg {  // as wide as the parameter
    uint64_t bits = 0;
};
struct SymbolArg {
    std::string symbol;
};
struct TextureArg {
    std::string buffer;
    uint64_t offset = 0;  // bytes into it
    TextureDesc desc;     // without the address
    bool surface = false;
};
// Where a function lies for addresses of it that stand in memory.
struct FunctionOfPlan {
    Where where;
    std::string name;
    uint32_t module = 0;
    uint64_t address = 0;
};
// A texture or surface whose handle stands in memory or in raw parameters.
struct Handle {
    Where where;
    uint64_t handle = 0;
    TextureArg texture;
};
// cuTensorMapEncodeTiled's arguments (CUDA driver API, "Tensor Map Object Management").
struct TensorMapArg {
    std::string buffer, type, interleave, swizzle, l2, oob;
    std::vector<uint64_t> dims, strides, box, element_strides;
    struct Image {  // in place of the box: im2col
        std::vector<int32_t> lower, upper;
        uint32_t channels = 1, pixels = 1;
    };
    std::optional<Image> image;
};
constexpr uint64_t tensor_map_bytes = 128;
// A structure.
struct BytesArg {
    struct Map {
        Where where;
        uint64_t offset = 0;
        TensorMapArg map;
    };
    std::vector<std::byte> bytes;
    std::vector<PointerPatch> pointers;  // addresses in it
    std::vector<Map> maps;
};
struct Argument {
    Where where;
    std::variant<BufferArg, ScalarArg, BitsArg, BytesArg, SymbolArg, TextureArg, TensorMapArg>
        value;
};

// Some bytes of a buffer.
struct Place {
    std::string buffer;
    uint64_t offset = 0, bytes = 0;
    uint32_t pe = 0;  // of a symmetric buffer, whose copy
};
struct CopyBytes {
    Place to, from;
};
struct WriteValue {
    Place at;  // 4 or 8 bytes
    uint64_t value = 0;
};
struct WaitValue {
    Place at;  // 4 or 8 bytes
    ValueTest test = ValueTest::at_least;
    uint64_t value = 0;
};

// What is put into a stream: a kernel, or one of the other operations.
struct Launch {
    Where where;
    std::variant<std::monostate, CopyBytes, WriteValue, WaitValue> operation;  // none: a kernel
    std::string stream;              // empty: the legacy stream of the GPU
    std::vector<std::string> after;  // events that the stream waits for before it
    std::string event;               // recorded behind it; empty: none
    std::string kernel;              // of another operation: its name
    uint32_t module = 0;             // index into Plan::modules
    Dim3 grid, block, cluster;
    bool has_cluster = false;
    uint32_t dynamic_shared = 0;  // bytes
    bool cooperative = false;
    uint32_t repeat = 1;
    uint32_t gpu = 0;
    bool everywhere = false;  // neither `gpu` nor `stream` is said: with NVSHMEM, one for each PE
    std::vector<Argument> args;
    std::optional<std::vector<std::byte>> param_bytes;  // instead of args
    std::map<std::string, std::string> attributes;      // name -> value as written
    // It may begin before the launch before it has ended.
    bool may_overlap() const {
        const auto flag = attributes.find("programmaticStreamSerialization");
        return flag != attributes.end() && flag->second == "true";
    }
};

// What the host thread does while launches run.
struct WriteBytes {
    Place at;
    ElementType type = ElementType::u8;
    std::vector<std::byte> values;
};
struct ReadElements {
    Place at;
    ElementType type = ElementType::u32;
};
struct AtomicValue {
    Place at;  // 4 or 8 bytes
    HostAtomic op = HostAtomic::add;
    uint64_t value = 0, compare = 0;
};
struct CheckBytes {
    Place at;
    Expectation expect;
};
struct Sleep {
    uint64_t nanoseconds = 0;  // of virtual time
};
struct Synchronize {
    std::string stream, event;  // both empty: everything
};
struct HostStep {
    Where where;
    std::string name;  // "host[2]: check"
    std::variant<WriteBytes, WaitValue, ReadElements, AtomicValue, CopyBytes, CheckBytes, Sleep,
                 Synchronize>
        what;
};

struct StreamOfPlan {
    Where where;
    uint32_t gpu = 0;
    int32_t priority = 0;
    bool non_blocking = false;
};

struct StatusExpectation {
    LaunchStatus status = LaunchStatus::ok;
    FaultKind fault = FaultKind::none;  // with LaunchStatus::fault
};

struct PlanExpectation {
    StatusExpectation status;
    std::optional<std::string> out;  // what device printf writes
    std::optional<uint64_t> warp_instructions;
};

struct DeviceOverrides {
    std::optional<std::string> name;
    std::optional<uint32_t> sms, shared_per_sm, shared_per_cta, registers_per_sm, resident_ctas,
        resident_threads;
};

// One of the GPUs of a plan that has several.
struct GpuOfPlan {
    Where where;
    DeviceOverrides device;
    std::string arch;  // empty: the plan's
};

// PEs of NVSHMEM: PE i is GPU i (docs/nvshmem.md).
struct NvshmemOfPlan {
    Where where;
    uint32_t pes = 0;
    uint64_t heap = 0;  // bytes of each PE
    uint32_t node = 0;  // PEs that reach each other directly; 0: all
    bool proxy = false, infiniband = false;
};

struct Plan {
    std::string file;                // as given; for messages
    std::string digest;              // SHA-256 of its text; of the quick form, of what it says
    std::string arch;                // what it was read for; empty = the modules' own
    std::vector<std::string> archs;  // all that it can be read for; empty: it has no list
    Where arch_where, device_where;
    DeviceOverrides device;
    std::vector<std::string> modules;  // resolved paths
    std::vector<Where> module_where;
    double time_limit = 0;  // seconds over all launches, 0 = none
    uint64_t max_warp_instructions = 0;
    std::optional<uint64_t> stack_bytes, heap_bytes, printf_bytes;
    std::string condition;  // for exploration only
    std::string verdict;    // of the condition: "allowed", "forbidden", or nothing
    std::vector<Buffer> buffers;
    std::vector<Global> globals;
    std::vector<Handle> handles;
    std::vector<FunctionOfPlan> functions;
    std::vector<Launch> launches;
    std::vector<GpuOfPlan> gpus;  // empty: one, of the plan's device
    bool all_peers = false;       // every GPU reaches the memory of every other
    std::vector<std::pair<uint32_t, uint32_t>> peers;  // the first reaches that of the second
    std::map<std::string, StreamOfPlan> streams;
    std::vector<HostStep> host;
    std::optional<NvshmemOfPlan> nvshmem;
    std::vector<std::string> module_texts;  // as written: {arch} is still in them
    PlanExpectation expect;
    // Several things may run at once: launches of several streams or GPUs, and the host.
    bool in_flight = false;
    // A capsule; from kernels that may use the device heap, without it; from a graph that calls
    // functions of the host, without what they do.
    bool captured = false, lacks_heap = false, lacks_host = false;
};

// Reads a plan for one architecture: `arch`, or the first (or only) one it names. Of a plan with a
// list, `arch` must be in the list. Errors name file:line:column, the field's path and the reason.
// `gpus`: so many instead of the plan's number; 0: the plan's.
Result<Plan> read_plan_file(const std::string& path, const std::string& arch = {},
                            uint32_t gpus = 0);
// `file` goes into messages; paths in the plan count from its directory.
Result<Plan> read_plan(std::string_view text, const std::string& file, const std::string& arch = {},
                       uint32_t gpus = 0);

// Where a module lies for that architecture.
std::string module_path(const Plan& plan, size_t index, const std::string& arch);

// "ok", "fault:misaligned-address", "deadlock", ...
std::string status_text(LaunchStatus status, FaultKind fault);

}  // namespace sassemu::plan
