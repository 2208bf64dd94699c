// SPDX-License-Identifier: Apache-2.0
// Launch plans as tests: memory is set up and kernels are loaded as `sassemu run` does it, and
// every launch is noted in place of being run. docs/litmus.md, section 10.
#include "emu/explore/plan/read_plan_test.hpp"

#include <algorithm>
#include <filesystem>

#include "emu/explore/litmus/json_text.hpp"
#include "emu/explore/plan/in_flight.hpp"
#include "emu/explore/sass/program.hpp"
#include "emu/explore/sass/read_sass.hpp"
#include "emu/module/module.hpp"
#include "emu/plan/run_plan.hpp"
#include "emu/schedule/create_gpu.hpp"

namespace sassemu::explore {
namespace {

constexpr uint64_t most_threads = 1024;
constexpr uint64_t most_bytes = 64 << 20;  // of all memory: its values are kept beside the GPU's

// What a plan did to its GPU.
struct Noted {
    std::unique_ptr<Gpu> gpu;
    struct Memory {
        std::string name;
        uint64_t address = 0, bytes = 0;
    };
    std::vector<Memory> memory;
    std::vector<LaunchRequest> launches;
    std::vector<std::pair<ModuleId, std::shared_ptr<const Module>>> modules;
};

class NotingGpu final : public Gpu {
  public:
    explicit NotingGpu(std::shared_ptr<Noted> noted) : n_(std::move(noted)) {}
    Result<uint64_t> allocate(uint64_t bytes, std::string name, uint64_t address) override {
        auto at = n_->gpu->allocate(bytes, name, address);
        if (at) n_->memory.push_back({std::move(name), *at, bytes});
        return at;
    }
    Result<void> release(uint64_t address) override { return n_->gpu->release(address); }
    Result<void> write(uint64_t a, std::span<const std::byte> b) override {
        return n_->gpu->write(a, b);
    }
    Result<void> read(uint64_t a, std::span<std::byte> b) override { return n_->gpu->read(a, b); }
    Result<void> fill(uint64_t a, uint64_t n, uint8_t v) override { return n_->gpu->fill(a, n, v); }
    Result<ModuleId> load(std::shared_ptr<const Module> module,
                          const SymbolAddresses& at) override {
        auto id = n_->gpu->load(module, at);
        if (id) n_->modules.emplace_back(*id, std::move(module));
        return id;
    }
    Result<Symbol> symbol(ModuleId m, std::string_view name) override {
        return n_->gpu->symbol(m, name);
    }
    Result<uint64_t> create_texture(const TextureDesc& d, uint64_t wanted) override {
        return n_->gpu->create_texture(d, wanted);
    }
    Result<uint64_t> create_surface(const TextureDesc& d, uint64_t wanted) override {
        return n_->gpu->create_surface(d, wanted);
    }
    Result<void> give_to_heap(uint64_t a) override { return n_->gpu->give_to_heap(a); }
    Result<LaunchResult> launch(const LaunchRequest& request) override {
        n_->launches.push_back(request);
        return LaunchResult{};
    }
    void interrupt() noexcept override {}
    HostLevel level() const override { return n_->gpu->level(); }

  private:
    std::shared_ptr<Noted> n_;
};

Error bad(const std::string& where, std::string what, std::string hint = {}) {
    return make_error(ErrorCode::input, where, std::move(what), std::move(hint));
}

// What c[i] counts in: the type that the plan gives the buffer, else 32-bit words.
uint64_t element_bytes(const plan::Buffer& b) {
    if (b.expect && b.expect->type) return plan::element_size(*b.expect->type);
    return b.contents.random ? plan::element_size(b.contents.random->type) : 4;
}

// CTAs and clusters are numbered over all launches; those of one launch have consecutive numbers.
Result<void> add_threads(Test& test, uint32_t number, const LaunchRequest& request, uint32_t gpu,
                         bool starts, int32_t& ctas, int32_t& clusters) {
    const Launch& launch = test.sass->launch(number).launch;
    const Dim3 &grid = launch.grid, &per = launch.cluster;
    const uint64_t across = grid.x / per.x, down = grid.y / per.y,
                   all = grid.count() > most_threads ? grid.count()
                                                     : grid.count() * request.block.count();
    if (test.threads.size() + all > most_threads)
        return bad(
            "launch of '" + request.kernel + "'",
            "has " + std::to_string(all) + (grid.count() > most_threads ? " CTAs" : " threads") +
                ", exploration takes up to " + std::to_string(most_threads) + " threads",
            "use a small grid; for large ones see `sassemu run --seed` and `sassemu check-sync`");
    for (uint64_t c = 0; c < grid.count(); ++c) {
        const uint64_t x = c % grid.x, y = c / grid.x % grid.y, z = c / grid.x / grid.y;
        const uint64_t cluster = x / per.x + across * (y / per.y + down * (z / per.z));
        for (uint32_t t = 0; t < request.block.count(); ++t) {
            Thread thread;
            thread.id =
                "C" + std::to_string(ctas + static_cast<int64_t>(c)) + "T" + std::to_string(t);
            thread.cta = ctas + static_cast<int32_t>(c);
            thread.cluster = clusters + static_cast<int32_t>(cluster);
            thread.sm = thread.cta;
            thread.gpu = static_cast<int32_t>(gpu);
            thread.sass = true;
            thread.starts = starts;
            // A warp counts as whole at a barrier, even where it is short.
            const auto size = static_cast<uint32_t>(request.block.count());
            if (t % 32 == 0 && t + 32 > size) thread.lanes = 32 - (size - t) + 1;
            test.threads.push_back(std::move(thread));
            test.sass->threads().push_back({number, c, t});
        }
    }
    ctas += static_cast<int32_t>(grid.count());
    clusters += static_cast<int32_t>(grid.count() / per.count());
    return {};
}

// The launches run one after the other: a host thread that starts each and waits for it.
void add_stream(Test& test) {
    Thread host;
    host.id = "stream";
    host.kind = ThreadKind::host;
    const auto step = [&](Operation what, const char* name, uint32_t thread) {
        host.code.push_back({std::move(what), name + test.threads[thread].id});
    };
    uint32_t whole = 0;  // the first thread that nothing has waited for
    for (uint32_t first = 0; first < test.threads.size();) {
        const uint32_t launch = test.sass->thread(first).launch;
        uint32_t end = first;
        while (end < test.threads.size() && test.sass->thread(end).launch == launch) ++end;
        for (uint32_t t = first; t < end; ++t) step(op::Launch{t}, "api.launch ", t);
        if (end < test.threads.size() && test.sass->overlaps(test.sass->thread(end).launch)) {
            for (uint32_t t = first; t < end; ++t) step(op::Join{t, true}, "api.join ", t);
        } else {
            for (; whole < end; ++whole) step(op::Join{whole}, "api.join ", whole);
        }
        first = end;
    }
    test.threads.push_back(std::move(host));
    test.sass->threads().push_back({});
}

// "plan.json:3:17: condition"; without line and column when the error is not in it.
std::string condition_place(const std::string& path, size_t at) {
    if (at == std::string::npos) return path;
    const auto bytes = read_file(path);
    const std::string text = bytes ? std::string(bytes->begin(), bytes->end()) : std::string();
    const auto place = place_in_string(text, "condition", at);
    return path +
           (place ? ":" + std::to_string(place->line) + ":" + std::to_string(place->column) : "") +
           ": condition";
}

// Whose memory it is.
int32_t home_of(const plan::Buffer& b) {
    const bool of_host = b.kind == plan::BufferKind::host || b.kind == plan::BufferKind::managed;
    return of_host ? SASSEMU_OF_HOST : static_cast<int32_t>(b.gpu);
}

// The same kernels on the same memory, one after the other on one GPU: to see what they are.
Result<void> in_one_row(plan::Plan& p) {
    if (p.nvshmem)
        return make_error(ErrorCode::unsupported, p.nvshmem->where,
                          "PEs of NVSHMEM are not explored",
                          "`sassemu run`, or a test in the words of docs/litmus.md, section 6");
    for (const plan::GpuOfPlan& gpu : p.gpus)
        if (!gpu.arch.empty())
            return make_error(ErrorCode::input, gpu.where,
                              "GPUs of several architectures are not explored",
                              "`arch` of the plan is for all of them");
    std::erase_if(p.launches, [](const plan::Launch& l) { return l.operation.index() != 0; });
    for (plan::Launch& l : p.launches) {
        l.gpu = 0;
        l.stream.clear();
        l.event.clear();
        l.after.clear();
    }
    for (plan::Buffer& b : p.buffers) {
        b.gpu = 0;
        b.kind = plan::BufferKind::device;  // a multicast object too: its addresses
        b.of.clear();
    }
    p.gpus.clear();
    p.peers.clear();
    p.streams.clear();
    p.host.clear();
    p.in_flight = p.all_peers = false;
    return {};
}

}  // namespace

bool is_plan(const std::string& text) {
    // A plan has launches; a test in JSONL has threads.
    const size_t launches = text.find("\"launches\""), threads = text.find("\"threads\"");
    return launches != text.npos && launches < threads;
}

Result<Test> read_plan_test(const std::string& path, const std::string& arch) {
    SASSEMU_ASSIGN(const plan::Plan p, plan::read_plan_file(path, arch));
    if (p.condition.empty())
        return bad(path, "has no `condition` to explore",
                   "\"condition\": \"c[0]==1 && d[0]==0\" (docs/litmus.md, section 10)");
    auto noted = std::make_shared<Noted>();
    plan::RunOptions options;
    options.gpu.reference = true;
    options.gpu.agents = AgentOrder::lazy;
    options.create_gpu = [&](GpuOptions gpu) -> Result<std::unique_ptr<Gpu>> {
        SASSEMU_ASSIGN(noted->gpu, create_gpu(std::move(gpu), nullptr));
        return std::unique_ptr<Gpu>(std::make_unique<NotingGpu>(noted));
    };
    // Expectations are for runs.
    plan::Plan explored = p;
    for (plan::Buffer& b : explored.buffers) b.expect.reset();
    for (plan::Global& g : explored.globals) g.expect.reset();
    SASSEMU_TRY(in_one_row(explored));
    SASSEMU_TRY(plan::run_plan(explored, options));
    if (noted->launches.empty()) return bad(path, "launches nothing");

    Test test;
    test.name = std::filesystem::path(path).stem().string();
    test.model = "ptx";
    test.where = path;
    test.verdict = p.verdict == "allowed"     ? Verdict::allowed
                   : p.verdict == "forbidden" ? Verdict::forbidden
                                              : Verdict::unstated;
    test.sass = std::make_shared<SassProgram>(std::move(noted->gpu));
    uint64_t bytes = 0;
    for (const Noted::Memory& m : noted->memory)
        if (m.bytes > most_bytes || (bytes += m.bytes) > most_bytes)
            return bad(path, "has more than " + std::to_string(most_bytes >> 20) +
                                 " MiB of buffers: that is not explored");
    for (const Noted::Memory& m : noted->memory) {
        const auto buffer = std::ranges::find(p.buffers, m.name, &plan::Buffer::name);
        if (buffer != p.buffers.end() && buffer->kind == plan::BufferKind::multicast) {
            std::vector<uint64_t> members;
            for (const std::string& of : buffer->of)
                members.push_back(
                    std::ranges::find(noted->memory, of, &Noted::Memory::name)->address);
            test.sass->add_multicast(m.address, m.bytes, std::move(members));
            continue;
        }
        SASSEMU_ASSIGN(const uint32_t name,
                       test.sass->add_memory(test, m.name, m.address, m.bytes));
        if (buffer == p.buffers.end()) continue;
        test.names[name].element = element_bytes(*buffer);
        if (p.in_flight) test.locations[test.names[name].location].home = home_of(*buffer);
    }
    const bool several_gpus =
        std::ranges::any_of(p.launches, [](const plan::Launch& l) { return l.gpu != 0; });
    for (const auto& [id, module] : noted->modules)
        for (const Variable& v : module->variables()) {
            if (v.space != Space::global || !v.size) continue;
            if (several_gpus)
                return bad(path, "'" + v.name + "' is there once for each GPU: not explored",
                           "a buffer of the plan in its place");
            SASSEMU_ASSIGN(const Gpu::Symbol at, test.sass->gpu().symbol(id, v.name));
            SASSEMU_TRY(test.sass->add_memory(test, v.name, at.address, at.bytes));
        }
    int32_t ctas = 0, clusters = 0;
    const bool in_order = noted->launches.size() > 1 && !p.in_flight;
    std::vector<InStream> in_streams;
    auto request = noted->launches.begin();
    for (size_t i = 0; i < p.launches.size(); ++i)
        for (uint32_t run = 0; run < p.launches[i].repeat; ++run) {
            const auto first = static_cast<uint32_t>(test.threads.size());
            if (!p.launches[i].operation.index()) {
                SASSEMU_ASSIGN(const uint32_t number, test.sass->add_launch(*request).within(path));
                SASSEMU_TRY(add_threads(test, number, *request++, p.launches[i].gpu, !in_order,
                                        ctas, clusters)
                                .within(path));
            }
            in_streams.push_back({i, first, static_cast<uint32_t>(test.threads.size())});
        }
    for (uint32_t l = 0; p.in_flight && l < test.sass->launches(); ++l)
        if (test.sass->overlaps(l))
            return make_error(ErrorCode::unsupported, path,
                              "launches that overlap beside other streams are not explored",
                              "programmaticStreamSerialization in a plan with one stream");
    if (in_order) add_stream(test);
    if (p.in_flight) SASSEMU_TRY(add_in_flight(test, p, std::move(in_streams)));
    size_t at = std::string::npos;
    auto condition = read_condition(p.condition, test, &at);
    if (!condition) return std::move(condition).error().within(condition_place(path, at));
    test.condition = std::move(condition).value();
    auto finished = finish_sass_threads(test, &at);
    if (!finished) return std::move(finished).error().within(condition_place(path, at));
    return test;
}

}  // namespace sassemu::explore
