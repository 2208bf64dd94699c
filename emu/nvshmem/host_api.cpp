// SPDX-License-Identifier: Apache-2.0
// The NVSHMEM API of the host: who calls, and each function as steps of the world (world.hpp). The
// functions themselves are made of the lists in host_api.h.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>

#define SASSEMU_BODY(last, ...)                   \
    {                                             \
        using namespace sassemu::nvshmem::calls;  \
        finish_call(__func__, __VA_ARGS__, last); \
    }
#define SASSEMU_BODY_INT(last, ...)                      \
    {                                                    \
        using namespace sassemu::nvshmem::calls;         \
        return finish_call(__func__, __VA_ARGS__, last); \
    }
#define SASSEMU_BODY_OF(...)                     \
    {                                            \
        using namespace sassemu::nvshmem::calls; \
        return __VA_ARGS__;                      \
    }
#define SASSEMU_NVSHMEM_HOST_API_H  // its functions come below
#include "nvshmem.h"
typedef struct CUstream_st* cudaStream_t;
#include "emu/nvshmem/host.hpp"

namespace sassemu::nvshmem {
namespace {

// A machine's world while there is a thread in it.
struct Job {
    std::unique_ptr<World> world;
    uint32_t members = 0;
    bool complete = false;
};
constexpr auto patience = std::chrono::minutes(1);
struct Thread {
    Machine* machine = nullptr;
    uint32_t pe = 0;
    Options options;
    World* world = nullptr;
    uint64_t number = 0;  // of the thread
    std::string error;
};
std::mutex jobs_mutex;
std::condition_variable joined;
std::map<Machine*, Job> jobs;
std::atomic<uint64_t> threads{0}, ids{0};
thread_local Thread self;

void fail(const char* function, const Error& error) {
    self.error = std::string(function) + ": " + error.message();
    std::fprintf(stderr, "%s\n", self.error.c_str());
}

Issuer host_issuer() { return {self.pe, Issuer::Side::host, self.number}; }

Result<StreamId> stream_of(cudaStream_t stream) {
    const auto value = reinterpret_cast<uintptr_t>(stream);
    if (value < 2) return StreamId{self.pe, 0};  // the legacy stream
    if (value == 2) return self.machine->thread_stream(self.pe);
    return StreamId{self.pe, static_cast<uint32_t>(value - 16)};
}

Result<void> enter(uint32_t pes) {
    if (!self.machine)
        return Error{ErrorCode::usage, "nvshmem", "the thread has no GPU",
                     "sassemu::nvshmem::use() before"};
    if (self.world) return Error{ErrorCode::usage, "nvshmem", "is initialized already", ""};
    {
        std::unique_lock lock(jobs_mutex);
        Job& job = jobs[self.machine];
        if (!job.world) {
            self.options.pes = pes;
            SASSEMU_ASSIGN(job.world, World::create(*self.machine, self.options));
        }
        if (job.world->pes() != pes || self.pe >= pes)
            return Error{ErrorCode::usage, "nvshmem",
                         "PE " + std::to_string(self.pe) + " of " + std::to_string(pes) +
                             " does not fit the others' " + std::to_string(job.world->pes()),
                         "the rank is the number of the GPU"};
        // Only when all are there can anybody tell a deadlock from one who has not come yet.
        ++job.members;
        joined.notify_all();
        if (!joined.wait_for(lock, patience, [&] { return job.complete |= job.members == pes; })) {
            const uint32_t missing = pes - job.members--;
            return Error{ErrorCode::limit, "nvshmem",
                         std::to_string(missing) + " of " + std::to_string(pes) +
                             " PEs have not come in a minute",
                         "a thread for each PE calls"};
        }
        self.world = job.world.get();
        self.number = ++threads;
    }
    return self.world->run(self.world->sync(host_issuer(), NVSHMEM_TEAM_WORLD));
}
// The machine knows of the thread before the others can be complete: no deadlock while it comes.
Result<void> join(uint32_t pes) {
    if (self.machine && !self.world) self.machine->attach_thread();
    const Result<void> entered = enter(pes);
    if (self.machine && !self.world) self.machine->detach_thread();
    return entered;
}

}  // namespace

void use(Machine& machine, uint32_t gpu, const Options& options) {
    self.machine = &machine;
    self.pe = gpu;
    self.options = options;
}
World* current() { return self.world; }
std::string take_error() { return std::exchange(self.error, {}); }
cudaStream_t stream_handle(StreamId stream) {
    return reinterpret_cast<cudaStream_t>(stream.index ? uintptr_t{stream.index} + 16
                                                       : uintptr_t{0});
}

namespace calls {

// A call: its steps for whoever issues them, the host or a stream.
using Call = std::function<Steps(World&, const Issuer&)>;

Result<void> done(const Call& call, cudaStream_t stream, bool streams) {
    if (!self.world) return Error{ErrorCode::usage, "nvshmem", "is not initialized", ""};
    if (!streams) return self.world->run(call(*self.world, host_issuer()));
    SASSEMU_ASSIGN(const StreamId id, stream_of(stream));
    return self.world->put_into(id, call(*self.world, {self.pe, Issuer::Side::stream, id.index}));
}
int finish_call(const char* function, const Call& call, cudaStream_t stream) {
    const Result<void> ended = done(call, stream, true);
    if (!ended) fail(function, ended.error());
    return ended ? 0 : 1;
}
int finish_call(const char* function, const Call& call, int) {
    const Result<void> ended = done(call, nullptr, false);
    if (!ended) fail(function, ended.error());
    return ended ? 0 : 1;
}

uint64_t address(const void* at) { return reinterpret_cast<uint64_t>(at); }
// Memory of the machine, or of the program.
Local local(const void* at, uint64_t bytes) {
    if (self.machine && self.machine->host_pointer(address(at), bytes)) return {address(at)};
    return {0, static_cast<std::byte*>(const_cast<void*>(at))};
}
Remote remote(int pe, const void* at) { return {static_cast<uint32_t>(pe), address(at)}; }

Call put(void* dest, const void* source, uint64_t bytes, int pe, bool nbi,
         uint64_t* signal = nullptr, uint64_t value = 0, int operation = 0) {
    return [=](World& world, const Issuer& from) {
        return world.put(from, remote(pe, dest), local(source, bytes), bytes, nbi,
                         {address(signal), value, static_cast<uint32_t>(operation)});
    };
}
Call get(void* dest, const void* source, uint64_t bytes, int pe, bool nbi) {
    return [=](World& world, const Issuer& from) {
        return world.get(from, local(dest, bytes), remote(pe, source), bytes, nbi);
    };
}
// For elements of so many bytes each; the templates below say how many.
Call iput(void* dest, const void* source, ptrdiff_t to, ptrdiff_t by, uint64_t bytes, size_t count,
          int pe, bool back) {
    const auto step = static_cast<ptrdiff_t>(bytes);
    return [=](World& world, const Issuer& from) {
        Steps steps;
        for (size_t i = 0; i < count; ++i) {
            const auto n = static_cast<ptrdiff_t>(i);
            void* const into = static_cast<std::byte*>(dest) + n * to * step;
            const void* const out = static_cast<const std::byte*>(source) + n * by * step;
            Steps one = (back ? get(into, out, bytes, pe, false)
                              : put(into, out, bytes, pe, false))(world, from);
            std::ranges::move(one, std::back_inserter(steps));
        }
        return steps;
    };
}
template <class T>
Call iput(T* dest, const T* source, ptrdiff_t to, ptrdiff_t by, size_t count, int pe) {
    return iput(dest, source, to, by, sizeof(T), count, pe, false);
}
template <class T>
Call iget(T* dest, const T* source, ptrdiff_t to, ptrdiff_t by, size_t count, int pe) {
    return iput(dest, source, to, by, sizeof(T), count, pe, true);
}
Call p(void* dest, std::vector<std::byte> value, int pe) {
    return [=](World& world, const Issuer& from) {
        const auto kept = std::make_shared<std::vector<std::byte>>(value);
        Steps steps = world.put(from, remote(pe, dest), {0, kept->data()}, kept->size(), false);
        steps.front().act = [kept, act = std::move(steps.front().act)] { return act(); };
        return steps;
    };
}
template <class T>
Call p(T* dest, T value, int pe) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return p(dest, std::vector(bytes.begin(), bytes.end()), pe);
}
template <class T>
T g(const T* source, int pe) {
    T value{};
    finish_call(__func__, get(&value, source, sizeof(T), pe, false), 0);
    return value;
}
Call barrier(nvshmem_team_t team) {
    return [=](World& world, const Issuer& from) { return world.barrier(from, team); };
}
Call sync(nvshmem_team_t team) {
    return [=](World& world, const Issuer& from) { return world.sync(from, team); };
}
Call broadcast(nvshmem_team_t team, void* dest, const void* source, uint64_t bytes, int root) {
    return [=](World& world, const Issuer& from) {
        return world.broadcast(from, team, address(dest), address(source), bytes, root);
    };
}
Call fcollect(nvshmem_team_t team, void* dest, const void* source, uint64_t bytes) {
    return [=](World& world, const Issuer& from) {
        return world.fcollect(from, team, address(dest), address(source), bytes);
    };
}
Call alltoall(nvshmem_team_t team, void* dest, const void* source, uint64_t bytes) {
    return [=](World& world, const Issuer& from) {
        return world.alltoall(from, team, address(dest), address(source), bytes);
    };
}
Call reduce(nvshmem_team_t team, void* dest, const void* source, size_t count, uint64_t bytes,
            void (*combine)(std::byte*, const std::byte*, uint64_t)) {
    return [=](World& world, const Issuer& from) {
        return world.reduce(from, team, address(dest), address(source), count, bytes, combine);
    };
}
template <class T, class F>
Call reduce(nvshmem_team_t team, T* dest, const T* source, size_t count, F) {
    return reduce(team, dest, source, count, sizeof(T),
                  [](std::byte* into, const std::byte* other, uint64_t n) {
                      T* const a = reinterpret_cast<T*>(into);
                      const T* const b = reinterpret_cast<const T*>(other);
                      for (uint64_t i = 0; i < n; ++i) a[i] = F{}(a[i], b[i]);
                  });
}

template <class T>
uint64_t bits_of(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T>
T from_bits(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
Call atomic(void* dest, int pe, Atomic request) {
    return [=](World& world, const Issuer& from) {
        return world.atomic(from, remote(pe, dest), request);
    };
}
template <class T>
Call change(uint32_t operation, T* dest, T value, int pe) {
    return atomic(dest, pe, {operation, sizeof(T), bits_of(value)});
}
template <class T>
Call fetch_nbi(uint32_t operation, T* fetched, T* dest, T value, int pe) {
    return atomic(dest, pe,
                  {operation, sizeof(T), bits_of(value), 0, local(fetched, sizeof(T)), true});
}
template <class T>
T fetch(uint32_t operation, T* dest, T value, int pe, T compare = T{}) {
    T old{};
    finish_call("nvshmem atomic",
                atomic(dest, pe,
                       {operation, sizeof(T), bits_of(value), bits_of(compare),
                        Local{0, reinterpret_cast<std::byte*>(&old)}}),
                0);
    return old;
}
template <class T>
T fetch_only(const T* source, int pe) {
    return fetch(SASSEMU_NVSHMEM_ADD, const_cast<T*>(source), from_bits<T>(0), pe);
}
Call signal_op(uint64_t* at, uint64_t value, int operation, int pe) {
    return change(static_cast<uint32_t>(operation), at, value, pe);
}

// What elements are compared with.
struct Wanted {
    uint32_t bytes;  // of an element
    bool (*fits)(uint64_t value, int how, uint64_t with);
    int how;
    uint64_t with;
};
template <class T>
bool compares(uint64_t value_bits, int how, uint64_t with_bits) {
    const T value = from_bits<T>(value_bits), with = from_bits<T>(with_bits);
    switch (how) {
        case NVSHMEM_CMP_EQ:
            return value == with;
        case NVSHMEM_CMP_NE:
            return value != with;
        case NVSHMEM_CMP_GT:
            return value > with;
        case NVSHMEM_CMP_LE:
            return value <= with;
        case NVSHMEM_CMP_LT:
            return value < with;
        default:
            return value >= with;
    }
}
template <class T>
Wanted wanted(int how, T with) {
    return {sizeof(T), compares<T>, how, bits_of(with)};
}
// The elements that fit, of those that no status leaves out.
struct Set {
    Set(World& world, const void* ivars, size_t count, const int* status, const Wanted& wanted)
        : wanted(wanted) {
        for (size_t i = 0; i < count; ++i)
            if (!status || !status[i]) {
                index.push_back(i);
                words.push_back(world.word(address(ivars) + i * wanted.bytes, wanted.bytes));
            }
    }
    std::vector<size_t> fit() const {
        std::vector<size_t> all;
        for (size_t i = 0; i < words.size(); ++i)
            if (wanted.fits(words[i](), wanted.how, wanted.with)) all.push_back(index[i]);
        return all;
    }
    bool all() const { return fit().size() == words.size(); }
    bool any() const { return words.empty() || !fit().empty(); }
    std::vector<size_t> index;
    std::vector<std::function<uint64_t()>> words;
    Wanted wanted;
};
Call wait_until(const void* ivars, size_t count, const int* status, const Wanted& wanted,
                bool all) {
    return [=](World& world, const Issuer&) {
        return world.wait("for nvshmem_wait_until of PE " + std::to_string(self.pe),
                          [set = Set(world, ivars, count, status, wanted), all] {
                              return all ? set.all() : set.any();
                          });
    };
}
template <class T>
Call wait_until(const T* ivars, size_t count, const int* status, int cmp, T with, bool all) {
    return wait_until(ivars, count, status, wanted(cmp, with), all);
}
int all_of(const void* ivars, size_t count, const int* status, const Wanted& wanted) {
    finish_call(
        "nvshmem_test", [](World&, const Issuer&) { return Steps(); }, 0);
    return self.world && Set(*self.world, ivars, count, status, wanted).all();
}
template <class T>
int all_of(const T* ivars, size_t count, const int* status, int cmp, T with) {
    return all_of(ivars, count, status, wanted(cmp, with));
}
size_t some_of(const void* ivars, size_t count, size_t* indices, const int* status,
               const Wanted& wanted, bool waits) {
    if (waits) finish_call(__func__, wait_until(ivars, count, status, wanted, false), 0);
    if (!self.world) return 0;
    const auto fit = Set(*self.world, ivars, count, status, wanted).fit();
    std::ranges::copy(fit, indices);
    return fit.size();
}
template <class T>
size_t some_of(const T* ivars, size_t count, size_t* indices, const int* status, int cmp, T with,
               bool waits) {
    return some_of(ivars, count, indices, status, wanted(cmp, with), waits);
}
template <class T>
size_t any_of(const T* ivars, size_t count, const int* status, int cmp, T with, bool waits) {
    std::vector<size_t> indices(count);
    return some_of(ivars, count, indices.data(), status, cmp, with, waits) ? indices[0] : SIZE_MAX;
}
uint64_t value_at(const uint64_t* at) {
    return self.world ? self.world->word(address(at), 8)() : 0;
}
uint64_t value_once(const uint64_t* at, int cmp, uint64_t with) {
    finish_call(__func__, wait_until(at, 1, nullptr, cmp, with, true), 0);
    return value_at(at);
}

}  // namespace calls
}  // namespace sassemu::nvshmem

#undef SASSEMU_NVSHMEM_HOST_API_H
#include "sassemu_nvshmem/host_api.h"

using namespace sassemu;
using namespace sassemu::nvshmem;

extern "C" {

void nvshmem_init(void) {
    const Result<void> joined = join(self.machine ? self.machine->gpus() : 0);
    if (!joined) fail(__func__, joined.error());
}
void nvshmem_finalize(void) {
    if (!self.world) return;
    nvshmem_barrier_all();
    self.machine->detach_thread();
    const std::lock_guard lock(jobs_mutex);
    Job& job = jobs[self.machine];
    self.world = nullptr;
    if (!--job.members) jobs.erase(self.machine);
}
int nvshmemx_init_status(void) {
    return self.world ? NVSHMEM_STATUS_IS_INITIALIZED : NVSHMEM_STATUS_NOT_INITIALIZED;
}
int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t* id) {
    *id = {1, {}};
    const uint64_t number = ++ids;
    std::memcpy(id->internal, &number, sizeof number);
    return 0;
}
int nvshmemx_set_attr_uniqueid_args(int rank, int nranks, const nvshmemx_uniqueid_t* id,
                                    nvshmemx_init_attr_t* attr) {
    *attr = {1, *id, rank, nranks};
    return 0;
}
int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t* attr) {
    Result<void> joined =
        Error{ErrorCode::unsupported, "nvshmem", "starts by a unique id or by nvshmem_init()", ""};
    if (flags == NVSHMEMX_INIT_WITH_UNIQUEID && attr) {
        uint64_t number;
        std::memcpy(&number, attr->id.internal, sizeof number);
        if (!number || number > ids)
            joined = Error{ErrorCode::usage, "nvshmem", "this is no unique id of the process",
                           "nvshmemx_get_uniqueid()"};
        else if (attr->rank != static_cast<int>(self.pe))
            joined =
                Error{ErrorCode::usage, "nvshmem",
                      "rank " + std::to_string(attr->rank) + " uses GPU " + std::to_string(self.pe),
                      "the rank is the number of the GPU"};
        else
            joined = join(static_cast<uint32_t>(attr->nranks));
    }
    if (!joined) fail(__func__, joined.error());
    return joined ? 0 : 1;
}

int nvshmem_my_pe(void) { return self.world ? static_cast<int>(self.pe) : -1; }
int nvshmem_n_pes(void) { return self.world ? static_cast<int>(self.world->pes()) : -1; }
int nvshmem_team_my_pe(nvshmem_team_t team) {
    const auto found = self.world ? self.world->team(self.pe, team) : std::nullopt;
    return found ? found->me : -1;
}
int nvshmem_team_n_pes(nvshmem_team_t team) {
    const auto found = self.world ? self.world->team(self.pe, team) : std::nullopt;
    return found ? found->size : -1;
}
int nvshmem_team_translate_pe(nvshmem_team_t from, int pe, nvshmem_team_t to) {
    if (!self.world) return -1;
    const auto a = self.world->team(self.pe, from), b = self.world->team(self.pe, to);
    if (!a || !b || pe < 0 || pe >= a->size) return -1;
    const int far = a->start + pe * a->stride - b->start;
    return far < 0 || far % b->stride || far / b->stride >= b->size ? -1 : far / b->stride;
}

void* nvshmem_align(size_t alignment, size_t size) {
    if (!self.world) return nullptr;
    const auto at = self.world->allocate(self.pe, size, alignment);
    if (!at) {
        fail(__func__, at.error());
        return nullptr;
    }
    nvshmem_barrier_all();
    return reinterpret_cast<void*>(*at);
}
void* nvshmem_malloc(size_t size) { return nvshmem_align(256, size); }
void* nvshmem_calloc(size_t count, size_t size) {
    if (size && count > SIZE_MAX / size) return nullptr;
    void* const at = nvshmem_malloc(count * size);
    if (!at) return nullptr;
    const std::vector<std::byte> zeros(count * size);
    (void)self.machine->write(reinterpret_cast<uint64_t>(at), zeros);
    nvshmem_barrier_all();
    return at;
}
void nvshmem_free(void* ptr) {
    if (!self.world || !ptr) return;
    nvshmem_barrier_all();
    const auto freed = self.world->release(self.pe, reinterpret_cast<uint64_t>(ptr));
    if (!freed) fail(__func__, freed.error());
}
void* nvshmem_ptr(const void* dest, int pe) {
    if (!self.world) return nullptr;
    return reinterpret_cast<void*>(
        self.world->pointer(self.pe, reinterpret_cast<uint64_t>(dest), static_cast<uint32_t>(pe)));
}

void nvshmem_fence(void) {
    calls::finish_call(
        __func__, [](World& world, const Issuer& from) { return world.fence(from); }, 0);
}
void nvshmem_quiet(void) {
    calls::finish_call(
        __func__, [](World& world, const Issuer& from) { return world.quiet(from); }, 0);
}
void nvshmemx_quiet_on_stream(cudaStream_t stream) {
    calls::finish_call(
        __func__, [](World& world, const Issuer& from) { return world.quiet(from); }, stream);
}

}  // extern "C"
