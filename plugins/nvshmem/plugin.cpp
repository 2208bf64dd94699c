// SPDX-License-Identifier: Apache-2.0
// The model `nvshmem` as a machine of the SDK (machine.h): symmetric memory, and operations on
// other PEs as deliveries that happen later. docs/litmus.md, section 6 (the order and completion
// rules of nvshmem_fence and nvshmem_quiet). A PE is a GPU.
#include <sassemu/plugin.hpp>

#include <array>
#include <cstring>

namespace nvshmem {

namespace {

using Value = std::array<uint8_t, 16>;

// Bytes of one PE's copy.
struct Cell {
    uint64_t address = 0;
    uint32_t gpu = 0, bytes = 0;
    bool overlaps(uint64_t other, uint32_t count) const {
        return address < other + count && other < address + bytes;
    }
};

// What is on its way. A nbi get, and the value that a nbi fetching AMO brings back, are reads whose
// result is written to this PE's own memory.
struct Delivery {
    enum class Kind : uint8_t { put, put_nbi, add, fetch_nbi, get_nbi, value } kind;
    sassemu_place from;
    uint32_t fences;  // of its thread, since it was issued
    Cell to,
        other;  // other: of put_nbi and get_nbi what is read, of fetch_nbi where the value goes
    Value payload;
    bool is_get() const { return kind == Kind::get_nbi || kind == Kind::value; }
};

// InfiniBand: a write that has not reached this PE's view yet, and what it still sees there.
struct Spread {
    uint64_t thread;
    uint32_t viewer;
    Cell to;
    Value before;
};

}  // namespace

class Nvshmem : public sassemu::Plugin {
  public:
    static constexpr auto name = "nvshmem";
    static constexpr auto summary =
        "symmetric memory of several PEs: puts, gets and atomics arrive later";
    static constexpr sassemu_option options[] = {
        {"transport", "nvlink|ib",
         "when other PEs see a delivery: at once, or each at a time of its own (nvlink)"}};
    static constexpr bool late_loads = true, symmetric = true;

    // Both in the order in which they were issued.
    struct State {
        std::vector<Delivery> flying;
        std::vector<Spread> spreading;
        std::vector<uint32_t> viewers;  // the PEs; with InfiniBand only
    };

    explicit Nvshmem(const sassemu::Start& start) : Plugin(start) {
        const std::string_view transport = start.value("transport", "nvlink");
        if (transport != "nvlink" && transport != "ib")
            throw std::invalid_argument("option 'transport': '" + std::string(transport) +
                                        "' is none of nvlink, ib");
        infiniband_ = transport == "ib";
    }

    State start(std::span<const sassemu_place> places) const {
        State s;
        for (const sassemu_place& p : places)
            if (infiniband_ && std::ranges::find(s.viewers, p.gpu) == s.viewers.end())
                s.viewers.push_back(p.gpu);
        return s;
    }

    uint32_t ways(const State& s, sassemu::MemoryBytes, const sassemu_operation& o) const {
        switch (o.kind) {
            case SASSEMU_OPERATION_LOAD:
                return o.early || !has_sent(s, o.from.thread, o.address, o.bytes);
            case SASSEMU_OPERATION_COPY:
                return o.early || !has_sent(s, o.from.thread, o.other, o.bytes);
            case SASSEMU_OPERATION_ATOMIC:
                return may_arrive(s, s.flying.size(), delivery(Delivery::Kind::add, o));
            case SASSEMU_OPERATION_QUIET:
            case SASSEMU_OPERATION_FENCE:  // of machine code: its stores have arrived
            case SASSEMU_OPERATION_MEET:
                return std::ranges::none_of(
                    s.flying, [&](const Delivery& d) { return d.from.thread == o.from.thread; });
            default:
                return 1;
        }
    }

    void perform(State& s, sassemu::MemoryBytes memory, const sassemu_operation& o, uint32_t,
                 uint8_t* value) const {
        using Kind = Delivery::Kind;
        switch (o.kind) {
            case SASSEMU_OPERATION_LOAD:
                std::copy_n(seen(s, memory, o.from.gpu, o.address, o.bytes).begin(), o.bytes,
                            value);
                break;
            case SASSEMU_OPERATION_STORE:
                fly(s, delivery(Kind::put, o), value);
                break;
            case SASSEMU_OPERATION_ATOMIC:  // the driver writes
                spread(s, memory, delivery(Kind::add, o));
                break;
            case SASSEMU_OPERATION_REDUCE:
                fly(s, delivery(o.gets ? Kind::fetch_nbi : Kind::add, o), value);
                break;
            case SASSEMU_OPERATION_COPY: {
                if (o.early) {
                    s.flying.push_back(delivery(o.gets ? Kind::get_nbi : Kind::put_nbi, o));
                    break;
                }
                Delivery d = delivery(Kind::put, o);
                d.payload = seen(s, memory, o.from.gpu, o.other, o.bytes);
                if (o.gets)
                    write(s, memory, d, d.payload);
                else
                    s.flying.push_back(d);
                break;
            }
            case SASSEMU_OPERATION_ORDER:
                for (Delivery& d : s.flying) d.fences += d.from.thread == o.from.thread;
                break;
            default:
                break;
        }
    }

    // First what can arrive, then what can be seen.
    std::vector<uint64_t> steps(const State& s) const {
        std::vector<uint64_t> threads;
        for (const uint32_t i : ready(s))
            threads.push_back(i < s.flying.size() ? s.flying[i].from.thread
                                                  : s.spreading[i - s.flying.size()].thread);
        return threads;
    }

    void take(State& s, sassemu::MemoryBytes memory, uint32_t step) const {
        using Kind = Delivery::Kind;
        const uint32_t i = ready(s).at(step);
        if (i >= s.flying.size()) {
            s.spreading.erase(s.spreading.begin() +
                              static_cast<std::ptrdiff_t>(i - s.flying.size()));
            return;
        }
        Delivery d = s.flying[i];
        if (d.kind == Kind::get_nbi || d.kind == Kind::put_nbi) {
            // The source is read at any time before.
            s.flying[i].kind = d.kind == Kind::get_nbi ? Kind::value : Kind::put;
            s.flying[i].payload = seen(s, memory, d.from.gpu, d.other.address, d.other.bytes);
            return;
        }
        s.flying.erase(s.flying.begin() + static_cast<std::ptrdiff_t>(i));
        if (d.kind == Kind::put || d.kind == Kind::value) return write(s, memory, d, d.payload);
        const Value old = seen(s, memory, d.to.gpu, d.to.address, d.to.bytes);
        write(s, memory, d, sum(old, d.payload));
        if (d.kind == Kind::add) return;
        d.kind = Kind::value;
        d.to = d.other;
        d.payload = old;
        s.flying.push_back(d);
    }

    uint64_t held(const State& s) const { return s.flying.size() + s.spreading.size(); }

    std::string key(const State& s) const {
        std::string out;
        const auto put = [&](const auto&... values) {
            (out.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
        };
        const auto cell = [&](const Cell& c) { put(c.address, c.gpu, c.bytes); };
        // What threads sent has an order for each of them only.
        std::vector<const Delivery*> flying;
        for (const Delivery& d : s.flying) flying.push_back(&d);
        std::ranges::stable_sort(flying, {}, [](const Delivery* d) { return d->from.thread; });
        put(flying.size());
        for (const Delivery* d : flying) {
            put(d->kind, d->from.thread, d->fences, d->payload);
            cell(d->to);
            cell(d->other);
        }
        for (const Spread& p : s.spreading) {
            put(p.viewer, p.before);
            cell(p.to);
        }
        return out;
    }

  private:
    static Delivery delivery(Delivery::Kind kind, const sassemu_operation& o) {
        return {kind,
                o.from,
                0,
                {o.address, o.gpu, o.bytes},
                {o.other, o.other_gpu, o.other ? o.bytes : 0u},
                {}};
    }
    static void fly(State& s, Delivery d, const uint8_t* value) {
        std::copy_n(value, d.to.bytes, d.payload.begin());
        s.flying.push_back(d);
    }

    static Value sum(const Value& a, const Value& b) {
        Value out{};
        unsigned carry = 0;
        for (size_t i = 0; i < out.size(); ++i, carry >>= 8)
            out[i] = static_cast<uint8_t>(carry += unsigned{a[i]} + b[i]);
        return out;
    }

    // As a PE sees it.
    static Value seen(const State& s, sassemu::MemoryBytes memory, uint32_t viewer,
                      uint64_t address, uint32_t bytes) {
        Value out{};
        memory.read(address, out.data(), bytes);
        for (size_t i = s.spreading.size(); i-- > 0;) {
            const Spread& p = s.spreading[i];
            for (uint32_t k = 0; p.viewer == viewer && k < bytes; ++k)
                if (const uint64_t at = address + k - p.to.address; at < p.to.bytes)
                    out[k] = p.before[at];
        }
        return out;
    }

    // The PE itself sees a write now; over NVLink everybody does.
    static void spread(State& s, sassemu::MemoryBytes memory, const Delivery& d) {
        const Value before = seen(s, memory, d.to.gpu, d.to.address, d.to.bytes);
        for (const uint32_t viewer : s.viewers)
            if (viewer != d.to.gpu) s.spreading.push_back({d.from.thread, viewer, d.to, before});
    }
    static void write(State& s, sassemu::MemoryBytes memory, const Delivery& d,
                      const Value& value) {
        spread(s, memory, d);
        memory.write(d.to.address, value.data(), d.to.bytes);
    }

    // Rules (a) and (b): after what a fence of the thread put before it to this PE, and after the
    // thread's earlier operations on the same bytes. Gets are ordered by nothing.
    static bool may_arrive(const State& s, size_t index, const Delivery& d) {
        return std::none_of(
            s.flying.begin(), s.flying.begin() + static_cast<std::ptrdiff_t>(index),
            [&](const Delivery& e) {
                return e.from.thread == d.from.thread && !e.is_get() && e.to.gpu == d.to.gpu &&
                       (e.fences > d.fences || e.to.overlaps(d.to.address, d.to.bytes));
            });
    }

    // Something of this thread to these bytes that it would have to see itself.
    static bool has_sent(const State& s, uint64_t thread, uint64_t address, uint32_t bytes) {
        return std::ranges::any_of(s.flying, [&](const Delivery& d) {
            return d.from.thread == thread && !d.is_get() && d.to.overlaps(address, bytes);
        });
    }

    // The steps: deliveries by their index, then spreads.
    static std::vector<uint32_t> ready(const State& s) {
        std::vector<uint32_t> out;
        for (uint32_t i = 0; i < s.flying.size(); ++i) {
            const Delivery& d = s.flying[i];
            if (d.is_get() || d.kind == Delivery::Kind::put_nbi || may_arrive(s, i, d))
                out.push_back(i);
        }
        for (uint32_t i = 0; i < s.spreading.size(); ++i) {
            const Spread& p = s.spreading[i];
            if (std::none_of(s.spreading.begin(), s.spreading.begin() + i, [&](const Spread& q) {
                    return q.viewer == p.viewer && q.to.overlaps(p.to.address, p.to.bytes);
                }))
                out.push_back(static_cast<uint32_t>(s.flying.size()) + i);
        }
        return out;
    }

    bool infiniband_ = false;
};

}  // namespace nvshmem

SASSEMU_PLUGIN(nvshmem::Nvshmem)
