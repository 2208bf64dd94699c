// SPDX-License-Identifier: Apache-2.0
// The machine of emu/machine.hpp: its GPUs, what the host does, streams and events.
#include "emu/machine.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sassemu/names.hpp>
#include <thread>
#include <unordered_map>

#include "emu/memory/adopted.hpp"
#include "emu/memory/perform.hpp"
#include "emu/schedule/gpu_impl.hpp"
#include "emu/schedule/host_values.hpp"
#include "emu/schedule/seen_memory.hpp"
#include "emu/schedule/stream_work.hpp"

namespace sassemu {

namespace {

class MachineImpl final : public Machine, public OutsideMemory {
  public:
    MachineImpl(std::shared_ptr<Core> core, std::vector<DeviceProfile> devices)
        : core_(std::move(core)), devices_(std::move(devices)), gpus_(devices_.size()) {}
    ~MachineImpl() override {
        core_->stops.interrupt();
        core_->scheduler.reset();  // its threads end before what they run on
    }

    uint32_t gpus() const override { return static_cast<uint32_t>(gpus_.size()); }
    Result<Gpu*> gpu(uint32_t index) override {
        SASSEMU_ASSIGN(GpuImpl * made, made_gpu(index));
        return static_cast<Gpu*>(made);
    }
    Result<void> peer_access(uint32_t from, uint32_t to, bool on) override {
        if (from == to) return {};
        SASSEMU_ASSIGN(GpuImpl * one, made_gpu(from));
        SASSEMU_ASSIGN(GpuImpl * other, made_gpu(to));
        return within_memory("peer access", [&]() -> Result<void> {
            one->space().see(other->space(), on);
            return {};
        });
    }

    // ---- memory

    Result<uint64_t> allocate_host(uint64_t bytes, std::string name, uint64_t address) override {
        const std::string known = name;
        SASSEMU_ASSIGN(const uint64_t at,
                       host().allocate(bytes, {address, 0, std::move(name), true}));
        if (core_->hooks) core_->hooks->allocated(at, bytes, known, false);
        return at;
    }
    Result<uint64_t> allocate_shared(uint32_t gpu, uint64_t bytes, std::string name,
                                     uint64_t address) override {
        SASSEMU_ASSIGN(GpuImpl * owner, made_gpu(gpu));
        return owner->reserve(bytes, {address, 0, std::move(name), true});
    }
    Result<uint64_t> allocate_multicast(const std::vector<uint64_t>& members, uint64_t bytes,
                                        std::string name, uint64_t address) override {
        return host().allocate_multicast(bytes, members, {address, 0, std::move(name), true});
    }
    Result<uint64_t> adopt_host(std::byte* at, uint64_t bytes, std::string name) override {
        const std::string known = name;
        SASSEMU_ASSIGN(const uint64_t address,
                       host().allocate(bytes, {reinterpret_cast<uint64_t>(at), adopted_extent,
                                               std::move(name), true}));
        if (core_->hooks) core_->hooks->allocated(address, bytes, known, false);
        return address;
    }
    Result<void> release(uint64_t address) override {
        before_access();
        if (core_->hooks) core_->hooks->released(address);
        const Result<void> released = host().release(address);
        after_access();
        return released;
    }
    Result<void> write(uint64_t address, std::span<const std::byte> bytes) override {
        if (far_at(address, bytes.size())) return memory().put_far(address, bytes);
        return access(address, bytes.size(), "write", SASSEMU_STORE, [&](std::byte* at) {
            if (!hooks() || !hooks()->client_writes({}, address, bytes.data(), bytes.size()))
                put_bytes(at, bytes);
        });
    }
    Result<void> read(uint64_t address, std::span<std::byte> bytes) override {
        if (FarMemory* const far = far_at(address, bytes.size())) return far->read(address, bytes);
        return access(address, bytes.size(), "read", SASSEMU_LOAD, [&](std::byte* at) {
            if (!hooks() || !hooks()->client_reads({}, address, bytes.data(), bytes.size()))
                take_bytes(bytes, at);
        });
    }
    Result<uint64_t> atomic(uint64_t address, uint32_t bytes, HostAtomic op, uint64_t value,
                            uint64_t compare) override {
        SASSEMU_TRY(check_value(address, bytes, "atomic"));
        const FarMemory::Change change = change_of(bytes, op, value, compare);
        FarMemory* const far = far_at(address, bytes);
        uint64_t old[2] = {};
        SASSEMU_TRY(far ? far->change(address, change, old) : update(address, change, old));
        return old[0];
    }
    Result<void> wait_until(const ValueCondition& condition) override {
        SASSEMU_TRY(check_value(condition.address, condition.bytes, "wait"));
        StreamMemory at = memory();
        if (FarMemory* const far = far_at(condition.address, condition.bytes)) {
            SASSEMU_ASSIGN(at.copy, far->watch(condition.address, condition.bytes));
        }
        SASSEMU_TRY(holds(at, condition, hooks(), {}));
        bool gone = false;
        SASSEMU_TRY(wait({"until " + text_of(at, condition), [&] {
                              const auto met = holds(at, condition, hooks(), {});
                              gone = !met;
                              return gone || *met;
                          }}));
        if (gone) return holds(at, condition, hooks(), {}).error();
        if (hooks())
            hooks()->client_access({}, SASSEMU_LOAD, condition.address, condition.bytes, true);
        return {};
    }
    Result<void> wait_until(std::string what, std::function<bool()> met) override {
        return wait({std::move(what), std::move(met)});
    }
    Result<std::byte*> host_pointer(uint64_t address, uint64_t bytes) override {
        return bytes_at(address, bytes, "pointer");
    }

    // ---- streams

    Result<StreamId> create_stream(uint32_t gpu, StreamOptions options) override {
        SASSEMU_ASSIGN(GpuImpl * owner, made_gpu(gpu));
        const auto lock = core_->scheduler->lock();
        return new_stream(*owner, gpu, options.name, options.priority, !options.non_blocking);
    }
    Result<void> unload(uint32_t gpu, ModuleId module) override {
        SASSEMU_ASSIGN(GpuImpl * owner, made_gpu(gpu));
        return owner->unload(module);
    }
    void set_stack(uint64_t bytes) override {
        const auto lock = core_->scheduler->lock();
        core_->options.stack_bytes = bytes;
    }
    Result<StreamId> thread_stream(uint32_t gpu) override {
        SASSEMU_ASSIGN(GpuImpl * owner, made_gpu(gpu));
        const auto lock = core_->scheduler->lock();
        const auto thread = std::this_thread::get_id();
        const auto found = thread_streams_.find({thread, gpu});
        if (found != thread_streams_.end()) return found->second;
        const StreamId made = new_stream(*owner, gpu, "per thread", 0, true);
        thread_streams_.emplace(std::pair(thread, gpu), made);
        return made;
    }
    Result<OperationId> launch(StreamId id, const LaunchRequest& request) override {
        SASSEMU_ASSIGN(const Place place, find(id));
        const auto lock = core_->scheduler->lock();
        SASSEMU_ASSIGN(TaskRef task,
                       within_memory("launch of '" + names::demangled(request.kernel) + "'", [&] {
                           return place.gpu->enqueue(*place.stream, request, request.may_overlap);
                       }));
        tell_end(*task, id);
        return started(std::move(task));
    }
    Result<OperationId> copy(StreamId id, const BoxCopy& box) override {
        return put(id, "copy of " + std::to_string(box.width * box.height * box.depth) + " bytes",
                   box_copy_work(memory(), hooks(), id.gpu, box));
    }
    Result<OperationId> fill(StreamId id, const RowFill& rows) override {
        return put(id, "fill of " + std::to_string(rows.width * rows.height) + " bytes",
                   fill_work(memory(), hooks(), id.gpu, rows));
    }
    Result<OperationId> copy(StreamId id, uint64_t to, uint64_t from, uint64_t bytes) override {
        if (!far_at(to, bytes)) SASSEMU_TRY(bytes_at(to, bytes, "copy"));
        if (!far_at(from, bytes)) SASSEMU_TRY(bytes_at(from, bytes, "copy"));
        return put(id, "copy of " + std::to_string(bytes) + " bytes",
                   copy_work(memory(), hooks(), id.gpu, to, from, bytes));
    }
    Result<OperationId> write_value(StreamId id, uint64_t address, uint32_t bytes,
                                    uint64_t value) override {
        SASSEMU_TRY(check_value(address, bytes, "write of a value"));
        return put(id, "write of a value",
                   write_value_work(memory(), hooks(), id.gpu, address, bytes, value));
    }
    Result<OperationId> wait_value(StreamId id, const ValueCondition& condition) override {
        SASSEMU_TRY(check_value(condition.address, condition.bytes, "wait for a value"));
        if (condition.test == ValueTest::not_equal)
            return Error{ErrorCode::usage, "wait for a value", "streams have no such test",
                         "one of the other four"};
        return put(id, "wait for a value", wait_value_work(memory(), hooks(), id.gpu, condition));
    }
    Result<OperationId> call(StreamId id, std::function<void()> function) override {
        return put(id, "call of the host's", call_work(std::move(function)));
    }
    Result<OperationId> call_when(StreamId id, std::string what, std::function<bool()> ready,
                                  std::function<void()> function) override {
        return put(id, "call of the host's",
                   call_work(std::move(function), std::move(ready), std::move(what)));
    }
    void add_agent(MachineAgent& agent) override { add(agent, nullptr); }
    void remove_agent(MachineAgent& agent) override {
        core_->scheduler->remove_beside(agents_.extract(&agent).mapped());
    }
    EventId create_event() override {
        const auto lock = core_->scheduler->lock();
        events_.emplace_back();
        return static_cast<EventId>(events_.size() - 1);
    }
    Result<void> record(EventId event, StreamId id) override {
        SASSEMU_ASSIGN(const Place place, find(id));
        SASSEMU_TRY(check_event(event));
        const auto lock = core_->scheduler->lock();
        events_[event] = marker(place, "event " + std::to_string(event), {});
        return {};
    }
    Result<void> record(EventId event, StreamId id, std::shared_ptr<EventTime> when) override {
        SASSEMU_ASSIGN(const Place place, find(id));
        SASSEMU_TRY(check_event(event));
        const auto lock = core_->scheduler->lock();
        events_[event] =
            marker(place, "event " + std::to_string(event), {},
                   stamp_work([this] { return core_->scheduler->time(); }, std::move(when)));
        core_->scheduler->run_in_background();
        return {};
    }
    Result<void> wait_event(StreamId id, EventId event) override {
        SASSEMU_ASSIGN(const Place place, find(id));
        SASSEMU_TRY(check_event(event));
        const auto lock = core_->scheduler->lock();
        if (events_[event])
            marker(place, "wait for event " + std::to_string(event), {events_[event]});
        return {};
    }

    // ---- the host waits

    Result<void> synchronize() override {
        SASSEMU_TRY(
            wait({"for all streams", [this] { return core_->scheduler->empty(); }, 0, false}));
        const auto lock = core_->scheduler->lock();
        for (const auto& gpu : gpus_) {
            if (!gpu) continue;
            for (const Stream& stream : gpu->streams()) seen(stream.last);
        }
        tell_waited();
        return {};
    }
    Result<void> synchronize(StreamId id) override {
        SASSEMU_ASSIGN(const Place place, find(id));
        return wait_for(place.gpu->place(*place.stream),
                        [stream = place.stream] { return stream->last; });
    }
    Result<void> synchronize(EventId event) override {
        SASSEMU_TRY(check_event(event));
        return wait_for("event " + std::to_string(event), [&] { return events_[event]; });
    }
    Result<bool> done(EventId event) override {
        SASSEMU_TRY(check_event(event));
        auto lock = core_->scheduler->lock();
        core_->scheduler->turn(lock);
        return is_done(events_[event]);
    }
    Result<Finished> result(OperationId operation) override {
        auto lock = core_->scheduler->lock();
        const auto found = operations_.find(operation);
        if (found == operations_.end())
            return Error{ErrorCode::usage, "result",
                         "no operation " + std::to_string(operation) + ", or it was taken", ""};
        const TaskRef task = found->second;
        operations_.erase(found);
        if (!core_->scheduler->wait(lock,
                                    {"for " + task->what, [&] { return is_done(task); }, 0, false}))
            return stuck();
        seen(task);
        tell_waited();
        end_of_interrupt();
        return Finished{task->result, task->done_as};
    }
    Result<void> sleep(uint64_t nanoseconds) override {
        Scheduler& s = *core_->scheduler;
        auto lock = s.lock();
        const uint64_t until = s.time() + nanoseconds;
        s.wait(lock, {"until " + std::to_string(until) + " ns of virtual time",
                      [&] { return s.time() >= until || s.idle(); }, until});
        return {};
    }
    bool idle() override {
        const auto lock = core_->scheduler->lock();
        return core_->scheduler->empty();
    }
    bool idle(StreamId id) override {
        const auto place = find(id);
        auto lock = core_->scheduler->lock();
        core_->scheduler->turn(lock);
        return !place || is_done(place->stream->last);
    }
    void on_end(
        std::function<void(StreamId, const std::string&, const LaunchResult&)> ended) override {
        const auto lock = core_->scheduler->lock();
        core_->ended = std::move(ended);
    }
    void attach_thread() override { core_->scheduler->attach(); }
    void detach_thread() override { core_->scheduler->detach(); }

    void set_limits(const Limits& limits) override {
        const auto lock = core_->scheduler->lock();
        core_->limit.reset();
        if (limits.max_warp_instructions) {
            core_->limit = std::make_shared<InstructionLimit>();
            core_->limit->most = limits.max_warp_instructions;
        }
        using Clock = std::chrono::steady_clock;
        core_->stops.set_deadline(
            limits.seconds > 0 ? Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                    std::chrono::duration<double>(limits.seconds))
                               : Clock::time_point::max());
    }
    void interrupt() noexcept override { core_->stops.interrupt(); }

    // ---- other processes

    Result<std::byte*> back(uint64_t address, int descriptor) override {
        const Extent& e = host().find(address);
        // An address lies in its page here as on the device.
        const uint64_t page = 4096, front = address % page, bytes = e.hi - e.lo;
        const uint64_t pages = (front + bytes + page - 1) / page * page;
        struct stat about {};
        const bool there = e.lo == address && bytes && !::fstat(descriptor, &about);
        if (there && !about.st_size && !::ftruncate(descriptor, static_cast<off_t>(pages)))
            about.st_size = static_cast<off_t>(pages);
        if (!there || static_cast<uint64_t>(about.st_size) != pages ||
            ::mmap(e.host - front, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                   descriptor, 0) == MAP_FAILED)
            return Error{ErrorCode::system, "shared memory",
                         "the host does not give its " + std::to_string(bytes) + " bytes",
                         host().describe(address)};
        const auto lock = core_->scheduler->lock();
        core_->outside.insert(address);
        return e.host;
    }
    Result<std::byte*> share(uint64_t address) override {
        SASSEMU_ASSIGN(std::byte * at, bytes_at(address, 1, "window"));
        core_->outside.insert(address);
        return at;
    }
    SeenMemory* seen() override {
        if (!seen_ && hooks() && hooks()->has_model())
            seen_ = std::make_unique<SeenByModel>(host(), *hooks(), *core_->scheduler);
        return seen_.get();
    }
    void reach_by(FarMemory* far) override {
        core_->far = far;
        if (hooks()) hooks()->reach_by(far);
    }
    Result<Given> give_away(uint64_t address) override {
        Given given{Hooks::home(host().find(address)), {}};
        for (const auto& gpu : gpus_)
            given.gpus.push_back(gpu && gpu->space().find(address).holds(address, 1));
        SASSEMU_TRY(host().give_away(address));
        return given;
    }
    void news() noexcept override { core_->scheduler->news(); }
    void outside_may_act(bool may) override { core_->scheduler->outside_may_act(may); }
    OutsideMemory::Progress progress() override { return core_->scheduler->progress(); }
    void add_outside(OutsideAgent& agent) override { add(agent, &agent); }
    void remove_outside(OutsideAgent& agent) override { remove_agent(agent); }
    void wake() override { after_access(); }
    Result<void> update(uint64_t address, const Atomic& what, uint64_t old[2]) override {
        if (!atomic_exists(what.op, what.type, what.bytes) || address % what.bytes)
            return Error{ErrorCode::usage, "atomic",
                         "there is none of that type and size, or the address is not aligned", ""};
        return access(address, what.bytes, "atomic", SASSEMU_ATOMIC,
                      [&](std::byte* at) { update_seen(hooks(), {}, address, at, what, old); });
    }
    Result<bool> look(const ValueCondition& c) override {
        const auto met = holds(memory(), c, hooks(), {});
        if (met && *met && hooks())
            hooks()->client_access({}, SASSEMU_LOAD, c.address, c.bytes, true);
        return met;
    }
    std::string text(const ValueCondition& condition) override {
        return text_of(memory(), condition);
    }

  private:
    struct Place {
        GpuImpl* gpu;
        Stream* stream;
    };

    void add(MachineAgent& agent, OutsideAgent* outside) {
        auto work = agent_work(agent, outside);
        agents_.emplace(&agent, work.get());
        core_->scheduler->add_beside(std::move(work));
    }
    AddressSpace& host() const { return *core_->host; }
    Hooks* hooks() const { return core_->hooks.get(); }
    static void seen(const TaskRef& task) {
        if (task && task->failure) *task->failure = true;
    }
    void tell_waited() const {
        if (hooks()) hooks()->client_access({}, SASSEMU_LOAD, 0, 0, true);
    }
    static bool is_done(const TaskRef& task) { return !task || task->state == Task::State::done; }

    Result<GpuImpl*> made_gpu(uint32_t index) {
        if (index >= gpus_.size())
            return Error{ErrorCode::usage, "GPU " + std::to_string(index),
                         "does not exist: the machine has " + std::to_string(gpus_.size()), ""};
        const std::lock_guard guard(making_);
        auto& gpu = gpus_[index];
        if (!gpu) {
            SASSEMU_TRY(within_memory("GPU " + std::to_string(index), [&]() -> Result<void> {
                gpu = std::make_unique<GpuImpl>(core_, index, devices_[index]);
                return {};
            }));
        }
        return gpu.get();
    }
    Result<Place> find(StreamId id) {
        SASSEMU_ASSIGN(GpuImpl * gpu, made_gpu(id.gpu));
        const auto lock = core_->scheduler->lock();
        if (id.index < gpu->streams().size()) return Place{gpu, &gpu->streams()[id.index]};
        return Error{ErrorCode::usage, "GPU " + std::to_string(id.gpu),
                     "has no stream " + std::to_string(id.index), ""};
    }
    StreamId new_stream(GpuImpl& gpu, uint32_t index, std::string name, int32_t priority,
                        bool blocking) {
        Stream& stream = gpu.streams().emplace_back();
        const auto number = static_cast<uint32_t>(gpu.streams().size() - 1);
        stream.name = name.empty() ? std::to_string(number) : std::move(name);
        stream.priority = priority;
        stream.blocking = blocking;
        return {index, number};
    }

    // With one logical scheduler the others have a turn before the host touches memory.
    void before_access() {
        if (!core_->scheduler->alone()) return;
        auto lock = core_->scheduler->lock();
        core_->scheduler->turn(lock);
    }
    void after_access() {
        auto lock = core_->scheduler->lock();
        core_->scheduler->touched(lock);
    }
    Result<std::byte*> bytes_at(uint64_t address, uint64_t bytes, const char* what) {
        const Extent& e = host().find(address);
        if (e.holds(address, bytes)) return e.host + (address - e.lo);
        return Error{ErrorCode::input, what,
                     std::to_string(bytes) + " bytes do not fit in one allocation",
                     host().describe(address)};
    }
    template <class F>
    Result<void> access(uint64_t address, uint64_t bytes, const char* what, sassemu_op op,
                        F&& act) {
        before_access();
        host().hold();
        auto at = bytes_at(address, bytes, what);
        if (at) {
            host::fence();
            act(*at);
            host::fence();
        }
        host().let_go();
        if (!at) return at.error();
        if (hooks()) hooks()->client_access({}, op, address, bytes);
        if (op != SASSEMU_LOAD) after_access();
        return {};
    }
    Result<void> check_value(uint64_t address, uint32_t bytes, const char* what) {
        if ((bytes != 4 && bytes != 8) || address % bytes)
            return Error{ErrorCode::usage, what,
                         std::to_string(bytes) + " bytes at an address that is " +
                             std::to_string(address % std::max(bytes, 1u)) + " beyond a multiple",
                         "4 or 8 bytes, aligned"};
        if (!far_at(address, bytes)) SASSEMU_TRY(bytes_at(address, bytes, what));
        return {};
    }
    StreamMemory memory() const { return {host(), core_->far}; }
    // Null: the bytes are of this process, or nobody's.
    FarMemory* far_at(uint64_t address, uint64_t bytes) const {
        return memory().far_at(address, bytes);
    }

    Result<OperationId> put(StreamId id, std::string what, std::unique_ptr<Work> work) {
        SASSEMU_ASSIGN(const Place place, find(id));
        const auto lock = core_->scheduler->lock();
        auto task = std::make_shared<Task>();
        task->what = std::move(what) + " on " + place.gpu->place(*place.stream);
        task->work = std::move(work);
        tell_end(*task, id);
        place.gpu->add(*place.stream, task);
        return started(std::move(task));
    }
    TaskRef marker(const Place& place, std::string what, std::vector<TaskRef> after,
                   std::unique_ptr<Work> work = {}) {
        auto task = std::make_shared<Task>();
        task->what = std::move(what);
        task->work = std::move(work);
        place.gpu->add(*place.stream, task, std::move(after));
        return task;
    }
    OperationId started(TaskRef task) {
        core_->scheduler->run_in_background();
        if (core_->ended) return ++last_operation_;
        operations_.emplace(++last_operation_, std::move(task));
        return last_operation_;
    }
    // With the scheduler's lock, before anybody runs it.
    void tell_end(Task& task, StreamId id) {
        if (!core_->ended) return;
        task.work = told_work(std::move(task.work),
                              [this, id, what = task.what](const LaunchResult& result) {
                                  core_->ended(id, what, result);
                              });
    }
    Result<void> check_event(EventId event) {
        const auto lock = core_->scheduler->lock();
        if (event < events_.size()) return {};
        return Error{ErrorCode::usage, "event " + std::to_string(event), "does not exist", ""};
    }
    Error stuck() const { return Error{ErrorCode::limit, "", core_->scheduler->deadlock(), ""}; }
    void end_of_interrupt() {
        if (core_->scheduler->idle()) core_->stops.take_back();
    }
    Result<void> wait(Scheduler::HostWait what) {
        auto lock = core_->scheduler->lock();
        const bool met = core_->scheduler->wait(lock, std::move(what));
        end_of_interrupt();
        if (!met) return stuck();
        return {};
    }
    template <class F>
    Result<void> wait_for(const std::string& what, F&& last) {
        TaskRef task;
        {
            const auto lock = core_->scheduler->lock();
            task = last();
        }
        SASSEMU_TRY(wait({"for " + what, [&] { return is_done(task); }, 0, false}));
        const auto lock = core_->scheduler->lock();
        seen(task);
        tell_waited();
        return {};
    }

    const std::shared_ptr<Core> core_;
    const std::vector<DeviceProfile> devices_;
    std::unique_ptr<SeenByModel> seen_;
    std::mutex making_;
    std::vector<std::unique_ptr<GpuImpl>> gpus_;
    // These with the scheduler's lock.
    std::map<std::pair<std::thread::id, uint32_t>, StreamId> thread_streams_;
    std::vector<TaskRef> events_;
    std::unordered_map<MachineAgent*, Work*> agents_;
    std::unordered_map<OperationId, TaskRef> operations_;
    OperationId last_operation_ = 0;
};

}  // namespace

Result<std::unique_ptr<Machine>> Machine::create(GpuOptions options,
                                                 std::vector<DeviceProfile> gpus,
                                                 std::shared_ptr<Hooks> hooks,
                                                 const StateFill& fill, Stepper* stepper) {
    if (gpus.empty() || gpus.size() > most_gpus)
        return Error{ErrorCode::usage, "machine",
                     std::to_string(gpus.size()) + " GPUs are no machine",
                     "1 to " + std::to_string(most_gpus)};
    return within_memory("the machine", [&]() -> Result<std::unique_ptr<Machine>> {
        SASSEMU_ASSIGN(auto core, Core::create(std::move(options), std::move(hooks), fill, true));
        core->stepper = stepper;
        return std::unique_ptr<Machine>(
            std::make_unique<MachineImpl>(std::move(core), std::move(gpus)));
    });
}

Result<std::unique_ptr<Machine>> Machine::create(GpuOptions options,
                                                 std::vector<DeviceProfile> gpus) {
    SASSEMU_ASSIGN(auto hooks, Hooks::load({}, options.model, options.seed));
    return create(std::move(options), std::move(gpus), std::move(hooks), {});
}

}  // namespace sassemu
