// SPDX-License-Identifier: Apache-2.0
// What the functions of libcuda share: the machine, contexts, handles, and how errors are told.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "api.hpp"
#include "emu/base/exit_code.hpp"
#include "emu/driver/config.hpp"
#include "emu/driver/entry.hpp"
#include "emu/driver/graph.hpp"
#include "emu/driver/handles.hpp"
#include "emu/machine.hpp"

namespace sassemu {
class Hooks;
}

namespace sassemu::driver {

struct Function;
struct Kernel;
struct Library;
struct LoadedFile;
struct Graph;
struct GraphExec;
struct Node;
struct Array;
struct Pool;
struct LinkState;

struct Context;

struct Capture;

struct Stream {
    std::weak_ptr<Context> context;
    StreamId id;
    unsigned flags = 0;
    int priority = 0;
    uint64_t number = 0;
    std::mutex mutex;                  // of what follows
    std::shared_ptr<Capture> capture;  // null: none
    std::vector<CUgraphNode> last;     // of the capture: what comes next depends on these
};

struct Event {
    std::weak_ptr<Context> context;
    EventId id = 0;
    unsigned flags = 0;
    std::mutex mutex;                 // of what follows
    std::shared_ptr<EventTime> when;  // null: not recorded
    std::weak_ptr<Capture> capture;   // recorded in a stream that is being captured
    std::vector<CUgraphNode> captured;
};

struct ModuleObject {
    std::weak_ptr<Context> context;
    std::shared_ptr<LoadedFile> file;
    std::mutex mutex;
    std::map<std::string, CUfunction> functions;
};

struct Context : std::enable_shared_from_this<Context> {
    uint32_t device = 0;
    unsigned flags = 0;
    bool primary = false;
    CUcontext handle = nullptr;
    std::atomic<CUresult> error{CUDA_SUCCESS};  // a fault ended it
    std::atomic<bool> alive{true};
    std::shared_ptr<Stream> legacy;
    std::mutex mutex;  // of what follows
    std::map<std::thread::id, std::shared_ptr<Stream>> thread_streams;
    size_t limits[CU_LIMIT_COUNT] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0, 0, 0, 0};
    int cache = 0, banks = 0;
    std::set<uint32_t> peers;
};

struct Device {
    CUcontext primary = nullptr;
    uint32_t retained = 0;
    unsigned flags = 0;
};

class Driver {
  public:
    static Driver& get();
    // Starts everything that the first context needs.
    CUresult start();
    Machine& machine() { return *machine_; }
    Gpu& gpu(uint32_t index) { return *gpus_[index]; }
    uint32_t count() const { return static_cast<uint32_t>(config.devices.size()); }

    Config config;
    std::mutex mutex;  // of devices
    std::vector<Device> devices;
    Handles<Context> contexts{1};
    Handles<Stream> streams{2};
    Handles<Event> events{3};
    Handles<ModuleObject> modules{4};
    Handles<Function> functions{5};
    Handles<Library> libraries{6};
    Handles<Kernel> kernels{7};
    Handles<Graph> graphs{8};
    Handles<Node> nodes{14};
    Handles<GraphExec> graph_execs{9};
    Handles<Array> arrays{10};
    Handles<Array> mipmaps{11};
    Handles<Pool> pools{12};
    Handles<LinkState> links{13};

    std::shared_ptr<Context> make_context(uint32_t device, unsigned flags, bool primary);
    void destroy(const std::shared_ptr<Context>& context);
    // A launch, copy or the like has ended; with the machine's lock.
    void ended(StreamId stream, const std::string& what, const LaunchResult& result);
    // At the end of the process: plugins say what they found, the report file is written.
    void finish();
    // An exit code (emu/base/exit_code.hpp) for what was said.
    void reported(int code) {
        int before = worst_;
        while (!worst_.compare_exchange_weak(before, worse(before, code))) {
        }
    }

    // Memory of the program's, by address.
    struct Range {
        uint64_t bytes = 0;
        enum class Kind : uint8_t { device, pinned, registered, managed } kind = Kind::device;
        uint32_t device = 0;
        unsigned flags = 0;
        uint64_t id = 0;
        std::weak_ptr<Context> context;
        CUmemoryPool pool = nullptr;
    };
    void add_range(uint64_t address, Range range);
    // The range that holds the bytes; false: none does.
    bool find_range(uint64_t address, uint64_t bytes, uint64_t& begin, Range& out);
    bool take_range(uint64_t address, Range& out);
    std::shared_mutex ranges_mutex;  // of what follows
    std::map<uint64_t, Range> ranges;
    uint64_t device_bytes_used = 0;

    std::mutex ids;  // of what follows: streams and events of the machine that are free again
    std::vector<EventId> free_events;
    std::map<std::tuple<uint32_t, int, bool>, std::vector<StreamId>> free_streams;

  private:
    std::once_flag once_;
    CUresult started_ = CUDA_ERROR_UNKNOWN;
    std::shared_ptr<Hooks> hooks_;
    std::unique_ptr<Machine> machine_;
    std::vector<Gpu*> gpus_;
    std::atomic<int> worst_{0};
    std::atomic<bool> over_{false};
    struct KernelStats {
        uint64_t launches = 0, warp_instructions = 0;
        double seconds = 0;
    };
    std::map<std::string, KernelStats> kernel_stats_;  // with the machine's lock
};

// One line on standard error, "sassemu: ...", the same text once.
void say(const std::string& line);

// The calling thread's stack of contexts.
extern thread_local std::vector<CUcontext> context_stack;

// The current context; CUDA_SUCCESS, or why there is none to work with.
CUresult current(std::shared_ptr<Context>& out);
// The stream that a handle means in the context: the null handle and the two special ones too.
CUresult find_stream(CUstream handle, const std::shared_ptr<Context>& context,
                     std::shared_ptr<Stream>& out);
// An error of the machine's as the driver's own, said on standard error where it has more to tell.
CUresult refused(const char* function, const Error& error);
// The host has waited: a deadlock ends the context.
CUresult waited(const std::shared_ptr<Context>& context, const Result<void>& result);

#define SASSEMU_CUDA(expression)                                                   \
    do {                                                                           \
        if (const CUresult why_ = (expression); why_ != CUDA_SUCCESS) return why_; \
    } while (false)

}  // namespace sassemu::driver
