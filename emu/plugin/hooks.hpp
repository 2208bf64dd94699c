// SPDX-License-Identifier: Apache-2.0
// The plugins of one GPU at work: which operations are hooked, and who is told of what. A run
// without plugins has none of this: no operation is hooked and Launch::hooks is null. What
// belongs here: the sessions and the dispatch. What does not: finding plugins (plugin_file.hpp) and
// the table that they call (host_table.cpp).
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/gpu.hpp"
#include "emu/machine/cta.hpp"
#include "emu/machine/extent.hpp"
#include "emu/plugin/in_plugin.hpp"
#include "emu/plugin/instruction.hpp"
#include "emu/plugin/plugin_file.hpp"
#include "emu/plugin/recording.hpp"
#include "sassdec/sassdec.h"
#include "sassemu/plugin.h"

namespace sassemu {

class Chooser;
class Hooks;
class AddressSpace;
class DrivenMachine;
class FarMemory;
struct Access;
struct Cta;
struct Event;
struct Issued;
struct LaneCopy;
struct Multicast;
struct Scratch;
struct Warp;

// A plugin in this run; what it sees as its sassemu_session.
struct PluginSession {
    PluginSession();
    ~PluginSession();
    PluginSession(const PluginSession&) = delete;
    PluginFile file;
    std::string name;
    void* self = nullptr;
    std::unique_ptr<DrivenMachine> driver;  // of a model that is a machine
    Hooks* hooks = nullptr;
    bool is_model = false;  // given by --model: its model decides
    static constexpr uint32_t no_slot = ~0u;
    uint32_t slot = no_slot;  // of those that take records
    uint64_t warnings = 0;
    std::shared_ptr<Scratch> scratch;  // once it has asked for one
    const sassemu_plugin& table() const { return file.table(); }

    template <class F, class... A>
    auto call(const char* callback, sassemu_insn at, F* function, A... args) const {
        return call_plugin(name, callback, hooks, at, function, self, args...);
    }
    // A callback of the observer, which is told first what was recorded before it.
    template <class F, class... A>
    void tell(const char* callback, sassemu_insn at, F sassemu_observer::*function,
              A... args) const {
        if (slot != no_slot)
            if (Recording* const r = Recording::current()) r->deliver(*this);
        call(callback, at, table().observer->*function, args...);
    }
};

// Who runs beside kernels: the host, or the front end and the copy engines of a GPU.
struct Client {
    sassemu_agent_kind kind = SASSEMU_AGENT_HOST;
    uint32_t gpu = 0;
    bool outside = false;  // another process: on a thread of the link's
};

struct HookedImage {
    std::shared_ptr<const CodeImage> image;
    std::unique_ptr<HookedInstruction[]> instructions;
    std::vector<uint64_t> wanted;  // of each operation: struct Wanted
};

// An access while callbacks run: what the host table's accessors look at. The plugin sees `shown`,
// which comes first.
struct AccessCall {
    sassemu_access shown;
    const Op* op;
    Warp* w;
    enum class Known : uint8_t { nothing, good, bad } known = Known::nothing;
    bool located = false;
    bool rows = false;      // the pointers below are set (prepare())
    uint32_t supplied = 0;  // lanes
    uint64_t async;         // LDGSTS: its number
    const uint32_t* values;
    const uint32_t* compare;
    const uint32_t* results;
    uint32_t* destination;        // where supply() writes
    uint32_t row;                 // of the data; set with them
    uint32_t matrix_rows[4][32];  // what STSM stores, as memory has it
    uint64_t address[32];
    sassemu_location location[32];
};
static_assert(offsetof(AccessCall, shown) == 0);
// Finds operands and result in the rows of the warp.
[[gnu::noinline]] void prepare(AccessCall& call);

// A launch, and what plugins know of it. Every launch that plugins are told of is one.
struct HookedLaunch : Launch {
    sassemu_launch_info info{};
    std::string kernel;
    uint64_t constant_address = 0;  // of the module's __constant__ variables
    uint64_t first_token = 0;       // tokens of launches that are in flight together differ
};
inline HookedLaunch& hooked_launch(const Warp& w) {
    return static_cast<HookedLaunch&>(*w.cta->launch);
}

class Hooks {
  public:
    struct Options {
        std::vector<std::string> plugins;      // as on the command line
        std::vector<std::string> directories;  // where names are looked up first
        std::function<void(std::string_view)>
            on_text;  // what plugins print; empty: standard output
        // How a plugin's file is written: whole or not at all; empty: not at all.
        std::function<Result<void>(const std::string& path, std::string_view text)> write_file;
    };
    ~Hooks();

    // `model` names a plugin unless it is a model of the emulator's own. Null: no plugin takes
    // part.
    static Result<std::unique_ptr<Hooks>> load(const Options& options, std::string_view model,
                                               uint64_t seed);
    void attach(AddressSpace& space, Chooser& chooser);

    // The first plugin that follows one launch at a time, and nothing beside it; null: none does.
    const std::string* follows_one() const;
    bool has_model() const { return model_ != nullptr; }
    // The model's machine, for those who explore it; null: it is none.
    const sassemu_machine* machine() const {
        return model_ ? machine_role(model_->table()) : nullptr;
    }
    void* machine_self() const { return model_->self; }
    // The driver of the model's machine, and if that is scoped.
    DrivenMachine* driver() const { return model_ ? model_->driver.get() : nullptr; }
    DrivenMachine* scoped() const { return scoped_; }
    bool defers() const { return defers_; }
    // The model lets things happen later, between slices.
    bool holds_back() const { return model_ && model_table_->step; }
    uint32_t threading() const { return threading_; }
    uint64_t findings() const;  // warnings and errors
    void finish();
    // A file of a plugin; what goes wrong is kept for take_write_errors().
    bool write_file(const PluginSession& s, const std::string& path, std::string_view text);
    // What plugins add to the report of the run, by key: JSON.
    void report_json(const char* key, const char* json);
    const std::map<std::string, std::string>& sections() const { return sections_; }
    std::vector<Error> take_write_errors() { return std::exchange(write_errors_, {}); }
    void text(std::string_view line);

    // ---- code: lowers all of it, and hooks the operations that somebody wants to see
    // The image lives as long as this: plugins keep handles of its instructions until they finish,
    // and several GPUs may have been and gone by then.
    void instrument(std::shared_ptr<CodeImage> image);
    // One per operation of the image; null: it is not of these.
    const HookedInstruction* instructions(const CodeImage& image) const {
        const HookedImage* const of = hooked(image);
        return of ? of->instructions.get() : nullptr;
    }
    const HookedImage* hooked(const CodeImage& image) const {
        for (const HookedImage& i : images_)
            if (i.image.get() == &image) return &i;
        return nullptr;
    }

    // ---- recording
    bool counts() const { return !on_counts_.empty(); }
    bool records() const { return !on_records_.empty() || counts(); }
    // For a thread, which runs some of this launch and gives it back.
    Recording* take_recording(const Launch& launch);
    void give_recording(Recording* recording);

    // ---- launches
    // Several may be in flight; these two come one at a time.
    void launch_begin(HookedLaunch& launch, const Kernel& kernel, std::span<const std::byte> params,
                      uint64_t constant_address, bool may_overlap, uint32_t gpu,
                      uint32_t ctas_per_sm);
    void launch_end(HookedLaunch& launch, LaunchStatus status);
    void cta_begin(Cta& cta);
    void cta_end(Cta& cta);
    // Between two slices. Returns what the model still holds.
    uint64_t step(Cta& cta, bool idle);
    bool idle_step();  // nothing can run: true when that may have changed

    // ---- memory
    void allocated(uint64_t address, uint64_t bytes, const std::string& name, bool read_only);
    void released(uint64_t address);
    void client_access(const Client& who, sassemu_op op, uint64_t address, uint64_t bytes,
                       bool waited = false);
    // Under a model that is a machine clients see and do what it lets them. False, and nothing
    // done: it holds nothing, memory is as everybody sees it.
    bool client_reads(const Client& who, uint64_t address, void* to, uint64_t bytes);
    bool client_writes(const Client& who, uint64_t address, const void* from, uint64_t bytes);
    // `act` changes the bytes.
    void client_changes(const Client& who, uint64_t address, uint32_t bytes,
                        const std::function<void()>& act);
    // Whose memory it is, of several GPUs and the host; see sassemu_bytes. GPUs say so in the upper
    // half of their extents' flags.
    int32_t home(uint64_t address) const;
    static constexpr uint32_t memory_of(uint32_t gpu) { return (gpu + 1) << 16; }
    static int32_t home(const Extent& e) { return static_cast<int32_t>(e.flags >> 16) - 1; }
    bool several = false;  // there are several GPUs, or a host at work beside one
    // Some memory is elsewhere. Before anything runs.
    void reach_by(FarMemory* far);
    // Why the plugins cannot follow a machine of several processes; empty: they can.
    std::string needs_one_process() const;
    // The device heap: `bytes` of a block that a lane got; 0: that it gives back.
    void heap(Warp& w, uint32_t lane, uint64_t address, uint64_t bytes);
    // What a spinning path watches when its loads are the model's: changes whenever the model may
    // have changed something.
    const uint64_t* epoch() const { return &epoch_; }
    void changed() {
        std::atomic_ref(epoch_).fetch_add(1, std::memory_order_relaxed);
    }  // from any thread
    // Something has its value, which is nothing that a spin waits for.
    void completed() { std::atomic_ref(completed_).fetch_add(1, std::memory_order_relaxed); }

    // ---- events of the engine
    bool wants(sassemu_sync_kind kind) const { return sync_wanted_ >> kind & 1; }
    void sync(sassemu_sync& event);
    bool wants_async() const { return wants_async_; }
    void async(const sassemu_async& event);
    void fault(Warp& w, const Op* op, uint32_t lanes, FaultKind kind, const std::string& what,
               bool has_address, uint64_t address);
    // What the model says of itself; null: nothing. Whether anybody listens.
    bool model_event(const sassemu_model_event* event);
    // A deferred load has its values.
    void performed(Warp& w, const Op* op, const Access& access, uint64_t token, uint32_t lanes);
    // An access to a member of a multicast object, which the model performs, if there is one.
    const Op* access_member(Warp& w, const Op* op, const Access& access);
    // An LDGSTS has been performed, with these addresses.
    void copied(Warp& w, const Op* op, uint32_t lanes, const LaneCopy& copy, const Issued& issued);
    uint64_t next_async() { return asyncs_.fetch_add(1, std::memory_order_relaxed) + 1; }
    // Texture reads, one texel at a time: emu/memory/textures.hpp.
    static const std::byte* texel(void* hooks, Warp& w, uint64_t address, const std::byte* at,
                                  uint32_t bytes, std::byte* copy);
    bool wants_texels() const;
    // An access to a surface, before it is performed and after.
    void surface(Warp& w, const Op* op, const Access& access, bool performed);

    // The handlers of hooked operations.
    static const Op* run_all(const Op* op, Warp& w, uint32_t mask);
    static const Op* run_model_only(const Op* op, Warp& w,
                                    uint32_t mask);  // an access, nothing else
    static const Op* run_recorded_only(const Op* op, Warp& w, uint32_t mask);  // likewise

    // ---- for the host table
    // c[bank][offset], `bytes` of it.
    sassemu_location constant_location(const Warp& w, uint32_t bank, uint64_t offset,
                                       uint32_t bytes) const;
    AddressSpace* space = nullptr;
    Chooser* chooser = nullptr;
    uint64_t seed = 0;
    std::atomic<HookedLaunch*> last_launch{nullptr};  // that has begun, and is in flight
    // A launch in flight completes the access; false: none has it.
    bool complete(uint64_t token, uint32_t lanes, const uint32_t* values);
    void report(PluginSession& session, const sassemu_finding& finding);

  private:
    template <class F, class... A>
    auto ask_model(const char* callback, sassemu_insn at, F* function, A... args) const {
        return call_plugin(model_->name, callback, this, at, function, model_self_, args...);
    }
    void hook(HookedInstruction& instruction, const sassdec_insn& decoded, Op& op, uint64_t& wanted,
              bool first);
    void tell_counts(Launch& launch);
    void describe(HookedInstruction& instruction, const Event& event);
    void describe_group(HookedInstruction& instruction, const Event& event);
    const Op* run(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask);
    const Op* access(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask);
    // Everything but DONE; out of the way of those who answer that.
    [[gnu::cold, gnu::noinline]] const Op* answered(const HookedInstruction& i, const Op* op,
                                                    Warp& w, uint32_t mask, AccessCall& call,
                                                    int32_t answer);
    const Op* wide(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask);
    const Op* copy(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask);
    const Op* uniform_load(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask);
    const Op* fence(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask);
    const Op* cache(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask);
    const Op* misc(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask);
    const Op* retry(const Op* op, Warp& w, uint32_t mask);
    void watch_supplied(const AccessCall& call);
    bool reaches_far(AccessCall& call) const;  // a lane, or a member of its multicast object
    bool shown_to_observers(uint32_t spaces_bit) const { return observed_spaces_ & spaces_bit; }
    void tell_issue(AccessCall& call);
    void tell_access(AccessCall& call);
    // The multicast object that all lanes of a global access reach, or null; and telling of that
    // access at each of its members.
    static const Multicast* multicast_of_all(const AccessCall& call);
    void at_members(AccessCall& call, const Multicast& object, void (Hooks::*tell)(AccessCall&));

    std::vector<HookedImage> images_;
    std::vector<std::unique_ptr<PluginSession>> sessions_;
    PluginSession* model_ = nullptr;
    const sassemu_memory_model* model_table_ = nullptr;
    void* model_self_ = nullptr;  // what its callbacks get
    DrivenMachine* scoped_ = nullptr;
    // Observers by what they want, so that nobody looks at members that are null.
    std::vector<PluginSession*> on_issue_, on_access_, on_fence_, on_cache_, on_sync_, on_async_,
        on_fault_, on_allocate_, on_release_, on_host_, on_records_, on_counts_, on_heap_,
        on_client_, on_model_;
    std::mutex recordings_mutex_;
    std::vector<std::unique_ptr<Recording>> recordings_;
    std::vector<Recording*> idle_recordings_;
    uint32_t model_spaces_ = 0, observed_spaces_ = 0;
    uint64_t sync_wanted_ = 0, model_sync_ = 0;
    bool wants_async_ = false, defers_ = false;
    uint32_t threading_ = SASSEMU_FREE;
    uint64_t epoch_ = 0, completed_ = 0;
    std::atomic<uint64_t> looked_{~uint64_t{0}};  // the epoch of the last look of all spins
    FarMemory* far_ = nullptr;
    std::atomic<uint64_t> asyncs_{0};
    uint8_t last_group_ = 0;  // of the last commit that was lowered
    std::mutex launches_mutex_;
    std::vector<HookedLaunch*> launches_;  // in flight
    std::function<void(std::string_view)> on_text_;
    std::mutex text_mutex_;
    std::function<Result<void>(const std::string&, std::string_view)> write_file_;
    std::vector<Error> write_errors_;              // under text_mutex_
    std::map<std::string, std::string> sections_;  // likewise
};

// The table that plugins call; one for all.
const sassemu_host& plugin_host();

// ---- handles
// -----------------------------------------------------------------------------------------------------------

inline sassemu_warp handle(Warp* w) { return reinterpret_cast<sassemu_warp>(w); }
inline Warp* warp(sassemu_warp w) { return reinterpret_cast<Warp*>(w); }
inline sassemu_cta handle(Cta* c) { return reinterpret_cast<sassemu_cta>(c); }
inline Cta* cta(sassemu_cta c) { return reinterpret_cast<Cta*>(c); }
inline sassemu_launch handle(Launch* l) { return reinterpret_cast<sassemu_launch>(l); }
inline Launch* launch(sassemu_launch l) { return reinterpret_cast<Launch*>(l); }
// A module is known by the first of its instructions.
inline sassemu_module module_handle(const HookedInstruction* first) {
    return reinterpret_cast<sassemu_module>(const_cast<HookedInstruction*>(first));
}
inline const HookedInstruction* first(sassemu_module m) {
    return reinterpret_cast<const HookedInstruction*>(m);
}
inline CodeImage& image(sassemu_module m) { return *first(m)->image; }
inline sassemu_session handle(PluginSession* s) { return reinterpret_cast<sassemu_session>(s); }
inline PluginSession* session(sassemu_session s) { return reinterpret_cast<PluginSession*>(s); }
// The instruction of an operation; null: its code is not hooked.
sassemu_insn instruction_of(const Warp& w, const Op* op);

}  // namespace sassemu
