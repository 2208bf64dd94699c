// SPDX-License-Identifier: Apache-2.0
// Every state of the hierarchy that small programs can reach: message passing through L1, the
// texture and the constant cache, barriers of each level, other clients. What is forbidden is shown
// to be out of reach, what is allowed within.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <map>
#include <unordered_set>

#include "hierarchy.hpp"

namespace caches {
namespace {

constexpr uint64_t data = 0x1000, flag = 0x2000, other = 0x9000;

class Bytes : public Memory {
  public:
    std::map<uint64_t, uint8_t> at;
    bool read(uint64_t address, uint8_t* to, unsigned bytes) override {
        for (unsigned i = 0; i < bytes; ++i) {
            const auto it = at.find(address + i);
            to[i] = it == at.end() ? 0 : it->second;
        }
        return true;
    }
    void write(uint64_t address, const uint8_t* from, unsigned bytes) override {
        for (unsigned i = 0; i < bytes; ++i) at[address + i] = from[i];
    }
};

struct Op {
    enum Kind {
        store,
        load,
        membar,
        invalidate,
        invalidate_data,
        invalidate_texture,
        invalidate_constant,
        invalidate_constants,
        stop_if_zero
    } kind;
    uint64_t address = 0;
    uint8_t value = 0;  // stored
    int reg = 0;        // loaded into, looked at
    Path path = Path::cached;
    Station level = Station::cta;
    bool ivalld = false, ivallt = false;
};
Op st(uint64_t a, uint8_t v) { return {Op::store, a, v}; }
Op ld(int r, uint64_t a, Path p = Path::cached) { return {Op::load, a, 0, r, p}; }
Op cv(int r, uint64_t a) { return ld(r, a, Path::bypass); }
Op membar(Station level, bool d = false, bool t = false) {
    return {Op::membar, 0, 0, 0, Path::cached, level, d, t};
}
Op until(int r) { return {Op::stop_if_zero, 0, 0, r}; }
Op iv(uint64_t a) { return {Op::invalidate, a}; }

struct Thread {
    Place place;
    std::vector<Op> program;
};
struct ThreadState {
    size_t pc = 0;
    std::array<int, 4> reg{-1, -1, -1, -1};
    struct Pending {
        int reg;
        uint64_t address;
        Path path;
    };
    std::vector<Pending> pending;
};
// A client on another channel: sees the flag, then reads the data.
struct ClientState {
    int flag = -1, data = -1;
};
struct State {
    Hierarchy hierarchy;
    Bytes memory;
    std::vector<ThreadState> threads;
    ClientState client;
};

class Explorer {
  public:
    Explorer(std::vector<Thread> threads, Station client = Station::own)
        : threads_(std::move(threads)), client_(client) {}
    // Several GPUs: whose memory an address is in, as sassemu_bytes.home has it.
    Explorer(std::vector<Thread> threads, std::map<uint64_t, int32_t> homes, bool relaxed)
        : threads_(std::move(threads)), homes_(std::move(homes)), relaxed_(relaxed) {}

    // Visits every state; `seen` is asked about each final one.
    size_t explore(const std::function<void(const State&)>& seen) {
        State first{
            Hierarchy(client_ != Station::own), {}, std::vector<ThreadState>(threads_.size()), {}};
        if (!homes_.empty()) first.hierarchy.follow_everybody();
        if (relaxed_) first.hierarchy.relax_links();
        first.memory.at[other] = 1;
        std::vector<State> open{first};
        std::unordered_set<std::string> known{key(first)};
        while (!open.empty()) {
            const State now = std::move(open.back());
            open.pop_back();
            bool final = true;
            for (size_t t = 0; t < threads_.size(); ++t)
                final &= now.threads[t].pc == threads_[t].program.size() &&
                         now.threads[t].pending.empty();
            if (client_ != Station::own) final &= now.client.data >= 0 || now.client.flag == 0;
            if (final) seen(now);
            for (State& next : steps(now))
                if (known.insert(key(next)).second) open.push_back(std::move(next));
        }
        return known.size();
    }

  private:
    static std::string key(const State& s) {
        std::string text = s.hierarchy.key() + "|";
        for (const auto& [address, value] : s.memory.at)
            if (value) text += std::to_string(address) + "=" + std::to_string(value) + ";";
        for (const ThreadState& t : s.threads) {
            text += "|" + std::to_string(t.pc);
            for (const int r : t.reg) text += "," + std::to_string(r);
            for (const auto& p : t.pending) text += "/" + std::to_string(p.reg);
        }
        return text + "|" + std::to_string(s.client.flag) + std::to_string(s.client.data);
    }

    void perform(State& s, size_t t, size_t index) const {
        ThreadState& thread = s.threads[t];
        const auto p = thread.pending[index];
        uint8_t value = 0;
        s.hierarchy.load(s.memory, threads_[t].place, p.address, 1, p.path, &value,
                         link(threads_[t].place, p.address));
        thread.reg[static_cast<size_t>(p.reg)] = value;
        thread.pending.erase(thread.pending.begin() + static_cast<std::ptrdiff_t>(index));
    }

    // The next instruction; false: it waits for a load.
    bool issue(State& s, size_t t) const {
        ThreadState& thread = s.threads[t];
        const Op& op = threads_[t].program[thread.pc];
        for (const auto& p : thread.pending) {
            if (op.kind == Op::membar) return false;
            if ((op.kind == Op::load || op.kind == Op::store) && p.address == op.address)
                return false;
            if ((op.kind == Op::stop_if_zero || op.kind == Op::load) && p.reg == op.reg)
                return false;
        }
        ++thread.pc;
        const Place& place = threads_[t].place;
        switch (op.kind) {
            case Op::store:
                s.hierarchy.store(place, op.address, 1, &op.value, link(place, op.address));
                break;
            case Op::load:
                thread.pending.push_back({op.reg, op.address, op.path});
                break;
            case Op::membar:
                s.hierarchy.membar(s.memory, place, op.level, op.ivalld, op.ivallt);
                break;
            case Op::invalidate:
                s.hierarchy.invalidate(place.sm, op.address);
                break;
            case Op::invalidate_data:
                s.hierarchy.invalidate_data(place.sm);
                break;
            case Op::invalidate_texture:
                s.hierarchy.invalidate_texture(place.sm);
                break;
            case Op::invalidate_constant:
                s.hierarchy.invalidate_constant(place.sm, op.address);
                break;
            case Op::invalidate_constants:
                s.hierarchy.invalidate_constants(place.sm);
                break;
            case Op::stop_if_zero:
                if (thread.reg[static_cast<size_t>(op.reg)] == 0)
                    thread.pc = threads_[t].program.size();
                break;
        }
        return true;
    }

    std::vector<State> steps(const State& now) const {
        std::vector<State> next;
        for (size_t t = 0; t < threads_.size(); ++t) {
            if (now.threads[t].pc < threads_[t].program.size()) {
                State s = now;
                if (issue(s, t)) next.push_back(std::move(s));
            }
            for (size_t i = 0; i < now.threads[t].pending.size(); ++i) {
                State s = now;
                perform(s, t, i);
                next.push_back(std::move(s));
            }
        }
        for (const uint32_t i : now.hierarchy.ready()) {
            const Hierarchy::Store& store = now.hierarchy.stores()[i];
            State s = now;
            s.hierarchy.send_store(s.memory, store.id,
                                   static_cast<Station>(static_cast<uint8_t>(store.at) + 1));
            next.push_back(std::move(s));
        }
        for (size_t i = 0; i < now.hierarchy.sectors(); ++i) {
            State s = now;
            s.hierarchy.evict(i);
            next.push_back(std::move(s));
        }
        if (client_ != Station::own && now.client.flag < 0) {
            State s = now;
            uint8_t v;
            s.hierarchy.client_read(s.memory, client_, flag, &v, 1);
            s.client.flag = v;
            next.push_back(std::move(s));
        }
        if (client_ != Station::own && now.client.flag == 1 && now.client.data < 0) {
            State s = now;
            uint8_t v;
            s.hierarchy.client_read(s.memory, client_, data, &v, 1);
            s.client.data = v;
            next.push_back(std::move(s));
        }
        return next;
    }

    Link link(const Place& place, uint64_t address) const {
        const auto home = homes_.find(address);
        return home == homes_.end() ? 0 : link_between(place, home->second);
    }

    std::vector<Thread> threads_;
    Station client_ = Station::own;
    std::map<uint64_t, int32_t> homes_;
    bool relaxed_ = false;
};

constexpr Place producer{1, 0, 0}, consumer{2, 1, 1}, neighbour{3, 0, 0};

// Whether the consumer can see the flag and then old data; prints how many states there are.
bool stale(const char* name, std::vector<Op> produce, std::vector<Op> consume,
           Place where = consumer) {
    bool found = false;
    const size_t states = Explorer({{producer, std::move(produce)}, {where, std::move(consume)}})
                              .explore([&](const State& s) {
                                  found |= s.threads[1].reg[1] == 1 && s.threads[1].reg[2] == 0;
                              });
    std::printf("%-58s %8zu states, stale data %s\n", name, states,
                found ? "within reach" : "out of reach");
    return found;
}
std::vector<Op> produce(Station level) { return {st(data, 7), membar(level), st(flag, 1)}; }
// The line is there before; then the flag, something against stale lines, and the data.
std::vector<Op> consume(std::vector<Op> against, Path path = Path::cached,
                        Path before = Path::cached) {
    std::vector<Op> all{ld(0, data, before), cv(1, flag), until(1)};
    all.insert(all.end(), against.begin(), against.end());
    all.push_back(ld(2, data, path));
    return all;
}

TEST(Hierarchy, AStaleLineShows) {
    EXPECT_TRUE(stale("MEMBAR.GPU / plain LD", produce(Station::gpu), consume({})));
}

TEST(Hierarchy, WhatKeepsStaleLinesAwayDoesSoInEveryState) {
    const auto gpu = produce(Station::gpu);
    EXPECT_FALSE(stale("MEMBAR.GPU / CCTL.IV, LD", gpu, consume({iv(data)})));
    EXPECT_FALSE(stale("MEMBAR.GPU / CCTL.IVALL, LD", gpu, consume({{Op::invalidate_data}})));
    EXPECT_FALSE(stale("MEMBAR.GPU / LD.CV", gpu, consume({}, Path::bypass)));
    EXPECT_FALSE(
        stale("MEMBAR.GPU / MEMBAR.CTA.IVALLD, LD", gpu, consume({membar(Station::cta, true)})));
    EXPECT_FALSE(stale("MEMBAR.VC / CCTL.IVALL, LD (one grid)", produce(Station::vc),
                       consume({{Op::invalidate_data}})));
    EXPECT_FALSE(stale("MEMBAR.SYS / CCTL.IVALL, LD", produce(Station::sys),
                       consume({{Op::invalidate_data}})));
    // A barrier alone invalidates nothing, and an invalidation too early is none.
    EXPECT_TRUE(stale("MEMBAR.GPU / MEMBAR.SYS, LD", gpu, consume({membar(Station::sys)})));
    EXPECT_TRUE(stale("MEMBAR.GPU / CCTL.IVALL before the flag", gpu,
                      {{Op::invalidate_data}, ld(0, data), cv(1, flag), until(1), ld(2, data)}));
}

TEST(Hierarchy, WithoutABarrierTheFlagOvertakes) {
    EXPECT_TRUE(stale("no MEMBAR / LD.CV", {st(data, 7), st(flag, 1)}, consume({}, Path::bypass)));
    EXPECT_TRUE(stale("MEMBAR.SM / LD.CV", produce(Station::sm), consume({}, Path::bypass)));
    EXPECT_TRUE(stale("MEMBAR.CTA / LD.CV", produce(Station::cta), consume({}, Path::bypass)));
}

TEST(Hierarchy, InOneCtaMembarCtaIsEnough) {
    EXPECT_TRUE(
        stale("one CTA: no MEMBAR / LD", {st(data, 7), st(flag, 1)}, consume({}), neighbour));
    EXPECT_FALSE(stale("one CTA: MEMBAR.CTA / LD", produce(Station::cta), consume({}), neighbour));
    const Place same_sm{3, 5, 0};  // another CTA on the SM
    EXPECT_TRUE(stale("one SM: MEMBAR.CTA / LD", produce(Station::cta), consume({}), same_sm));
    EXPECT_FALSE(stale("one SM: MEMBAR.SM / LD", produce(Station::sm), consume({}), same_sm));
}

TEST(Hierarchy, TexturesHaveACacheOfTheirOwn) {
    const auto gpu = produce(Station::gpu);
    const auto texture = [](std::vector<Op> against) {
        return consume(std::move(against), Path::texture, Path::texture);
    };
    EXPECT_TRUE(stale("texture: MEMBAR.GPU / read", gpu, texture({})));
    EXPECT_TRUE(
        stale("texture: MEMBAR.GPU / CCTL.IVALL, read", gpu, texture({{Op::invalidate_data}})));
    EXPECT_TRUE(stale("texture: MEMBAR.GPU / MEMBAR.GPU.IVALLD, read", gpu,
                      texture({membar(Station::gpu, true)})));
    EXPECT_FALSE(
        stale("texture: MEMBAR.GPU / CCTLT.IVALL, read", gpu, texture({{Op::invalidate_texture}})));
    EXPECT_FALSE(stale("texture: MEMBAR.GPU / MEMBAR.GPU.IVALLT, read", gpu,
                       texture({membar(Station::gpu, false, true)})));
    EXPECT_FALSE(stale("texture: MEMBAR.GPU / MEMBAR.GPU.IVALLTD, read", gpu,
                       texture({membar(Station::gpu, true, true)})));
}

TEST(Hierarchy, ConstantsHaveACacheOfTheirOwn) {
    const auto gpu = produce(Station::gpu);
    const auto constant = [](std::vector<Op> against) {
        return consume(std::move(against), Path::constant, Path::constant);
    };
    EXPECT_TRUE(stale("constant: MEMBAR.GPU / LDC", gpu, constant({})));
    EXPECT_TRUE(
        stale("constant: MEMBAR.GPU / CCTL.IVALL, LDC", gpu, constant({{Op::invalidate_data}})));
    EXPECT_TRUE(stale("constant: MEMBAR.GPU / CCTLT.IVALL, LDC", gpu,
                      constant({{Op::invalidate_texture}})));
    EXPECT_TRUE(stale("constant: MEMBAR.GPU / MEMBAR.GPU.IVALLTD, LDC", gpu,
                      constant({membar(Station::gpu, true, true)})));
    EXPECT_TRUE(stale("constant: MEMBAR.GPU / CCTL.C.IV of another line, LDC", gpu,
                      constant({{Op::invalidate_constant, flag}})));
    EXPECT_FALSE(stale("constant: MEMBAR.GPU / CCTL.C.IV, LDC", gpu,
                       constant({{Op::invalidate_constant, data}})));
    EXPECT_FALSE(stale("constant: MEMBAR.GPU / CCTL.C.IVALL, LDC", gpu,
                       constant({{Op::invalidate_constants}})));
    // An L1 is not looked at, nor filled.
    EXPECT_TRUE(stale("constant, then LD: MEMBAR.GPU / CCTL.C.IVALL", gpu,
                      consume({{Op::invalidate_constants}})));
}

bool client_stale(const char* name, Station client, Station level) {
    bool found = false;
    const size_t states =
        Explorer({{producer, produce(level)}}, client).explore([&](const State& s) {
            found |= s.client.flag == 1 && s.client.data == 0;
        });
    std::printf("%-58s %8zu states, stale data %s\n", name, states,
                found ? "within reach" : "out of reach");
    return found;
}

TEST(Hierarchy, OtherChannelsNeedTheirLevel) {
    EXPECT_TRUE(client_stale("copy engine: MEMBAR.VC", Station::gpu, Station::vc));
    EXPECT_FALSE(client_stale("copy engine: MEMBAR.GPU", Station::gpu, Station::gpu));
    EXPECT_TRUE(client_stale("host: MEMBAR.GPU", Station::sys, Station::gpu));
    EXPECT_FALSE(client_stale("host: MEMBAR.SYS", Station::sys, Station::sys));
}

// One byte: nobody ever sees an older value after a newer one, whatever the caches hold, as long as
// all load alike.
TEST(Hierarchy, OneByteIsCoherent) {
    size_t states = 0;
    for (const Path path : {Path::cached, Path::bypass}) {
        states += Explorer({{producer, {st(data, 1), st(data, 2)}},
                            {consumer, {ld(0, data, path), ld(1, data, path), ld(2, data, path)}},
                            {neighbour, {ld(0, data, path), ld(1, data, path)}}})
                      .explore([&](const State& s) {
                          const auto& r = s.threads[1].reg;
                          EXPECT_LE(r[0], r[1]);
                          EXPECT_LE(r[1], r[2]);
                          EXPECT_LE(s.threads[2].reg[0], s.threads[2].reg[1]);
                      });
    }
    std::printf("%-58s %8zu states\n", "one byte, two stores, three readers", states);
}
// Past L1 and through it in turn: a load that went past takes the copy with it.
TEST(Hierarchy, MixedLoadsOfOneByteDoNotGoBack) {
    Explorer({{producer, {st(data, 1)}}, {consumer, {ld(0, data), cv(1, data), ld(2, data)}}})
        .explore([&](const State& s) {
            EXPECT_LE(s.threads[1].reg[0], s.threads[1].reg[1]);
            EXPECT_LE(s.threads[1].reg[1], s.threads[1].reg[2]);
        });
}
TEST(Hierarchy, AThreadSeesItsOwnStores) {
    Explorer({{producer, {st(data, 1), ld(0, data), st(data, 2), ld(1, data), cv(2, data)}}})
        .explore([&](const State& s) {
            EXPECT_EQ(s.threads[0].reg[0], 1);
            EXPECT_EQ(s.threads[0].reg[1], 2);
            EXPECT_EQ(s.threads[0].reg[2], 2);
        });
}

// Data, a barrier of the CTA, and one thread that publishes for both: base causality composes.
// ---- several GPUs

constexpr Place on_gpu0{1, 0, 0, 0}, on_gpu1{2, 1, uint64_t{1} << 32, 1};
constexpr Place on_host{9, 9, 0, 0, Client::host};
constexpr int32_t host = -1;

struct Homes {
    int32_t data, flag, other = 1;
};
// Whether the consumer can see the flag and then old data, both read past its L1.
bool late(const char* name, const Place& from, std::vector<Op> produce, const Place& to,
          Homes homes, bool relaxed = false) {
    bool found = false;
    const size_t states =
        Explorer({{from, std::move(produce)},
                  {to, {cv(1, flag), until(1), membar(Station::sys), cv(2, data)}}},
                 {{data, homes.data}, {flag, homes.flag}, {other, homes.other}}, relaxed)
            .explore([&](const State& s) {
                found |= s.threads[1].reg[1] == 1 && s.threads[1].reg[2] == 0;
            });
    std::printf("%-58s %8zu states, late data %s\n", name, states,
                found ? "within reach" : "out of reach");
    return found;
}

TEST(Links, MembarSysDrainsAndGpuDoesNot) {
    for (const Homes homes : {Homes{0, 1}, Homes{0, host}, Homes{host, 1}, Homes{1, 1}})
        EXPECT_FALSE(late("MEMBAR.SYS", on_gpu0, produce(Station::sys), on_gpu1, homes));
    EXPECT_TRUE(late("own memory, MEMBAR.GPU", on_gpu0, produce(Station::gpu), on_gpu1, {0, 1}));
    EXPECT_TRUE(
        late("own memory, the host looks", on_gpu0, produce(Station::gpu), on_host, {0, 0}));
    EXPECT_FALSE(
        late("MEMBAR.SYS, the host looks", on_gpu0, produce(Station::sys), on_host, {0, host}));
}

TEST(Links, PostedWritesKeepTheirOrderUnlessRelaxed) {
    EXPECT_FALSE(late("one link, MEMBAR.GPU", on_gpu0, produce(Station::gpu), on_gpu1, {1, 1}));
    EXPECT_FALSE(
        late("one link to the host", on_gpu0, produce(Station::gpu), on_host, {host, host}));
    EXPECT_TRUE(late("one link, relaxed", on_gpu0, produce(Station::gpu), on_gpu1, {1, 1}, true));
    // Before they are posted nothing keeps them in order.
    EXPECT_TRUE(late("one link, no barrier", on_gpu0, {st(data, 7), st(flag, 1)}, on_gpu1, {1, 1}));
}

TEST(Links, PostedWritesToDifferentDestinationsPass) {
    EXPECT_TRUE(late("data to the host, flag to a peer", on_gpu0, produce(Station::gpu), on_gpu1,
                     {host, 1}));
    EXPECT_TRUE(late("data to a peer, flag to the host", on_gpu0, produce(Station::gpu), on_gpu1,
                     {1, host}));
}

TEST(Links, EachDirectionHasAQueue) {
    // What GPU 1 posts to GPU 0 does not wait for what GPU 0 has posted to GPU 1.
    Hierarchy h;
    Bytes memory;
    h.follow_everybody();
    const uint8_t one = 1;
    h.store(on_gpu0, data, 1, &one, link_between(on_gpu0, 1));
    h.store(on_gpu1, flag, 1, &one, link_between(on_gpu1, 0));
    const auto ids = std::pair{h.stores()[0].id, h.stores()[1].id};
    h.send_store(memory, ids.first, Station::gpu);
    h.send_store(memory, ids.second, Station::gpu);
    EXPECT_EQ(h.ready().size(), 2u);
    h.send_store(memory, ids.second, Station::sys);
    ASSERT_EQ(h.stores().size(), 1u);
    EXPECT_EQ(h.stores()[0].id, ids.first);
}

TEST(Links, ReadsPushWritesAndCompletionsPass) {
    const std::vector<Op> read{st(data, 7), membar(Station::gpu), cv(0, other), until(0),
                               st(flag, 1)};
    EXPECT_FALSE(late("a read over the same link", on_gpu0, read, on_gpu1, {1, 0, 1}));
    EXPECT_TRUE(late("a read over another", on_gpu0, read, on_gpu1, {1, 0, host}));
    EXPECT_TRUE(late("a read that stays at home", on_gpu0, read, on_gpu1, {1, 0, 0}));
    // The flag is read over the link by which the data come, from the host to GPU 0: the
    // completion passes them.
    EXPECT_TRUE(late("a completion", on_host, produce(Station::gpu), on_gpu0, {0, host}));
}

TEST(Links, OneByteIsCoherentAmongGpus) {
    // Whoever has written does not see what was before, and nobody goes back.
    size_t both = 0;
    Explorer({{on_gpu0, {st(data, 1), cv(0, data), cv(1, data)}},
              {on_gpu1, {st(data, 2), cv(0, data), cv(1, data)}}},
             {{data, host}}, false)
        .explore([&](const State& s) {
            for (const int own : {0, 1}) {
                const auto& reg = s.threads[static_cast<size_t>(own)].reg;
                EXPECT_NE(reg[0], 0);
                if (reg[0] != own + 1) EXPECT_EQ(reg[1], reg[0]);
            }
            ++both;
        });
    EXPECT_GT(both, 1u);
}

TEST(Hierarchy, ABarrierTakesAlongWhatItsThreadHasSeen) {
    bool stale = false, passed = false;
    Explorer({{producer, {st(data, 7), membar(Station::cta), st(0x3000, 1)}},
              {neighbour, {ld(0, 0x3000), until(0), membar(Station::gpu), st(flag, 1)}},
              {consumer, {cv(1, flag), until(1), {Op::invalidate_data}, ld(2, data)}}})
        .explore([&](const State& s) {
            stale |= s.threads[2].reg[1] == 1 && s.threads[2].reg[2] == 0;
            passed |= s.threads[2].reg[2] == 7;
        });
    EXPECT_FALSE(stale);
    EXPECT_TRUE(passed);
}

// Hops and drains never decrease with the level, in any state.
TEST(Hierarchy, AWiderBarrierNeverCostsLess) {
    size_t compared = 0;
    // Every distribution of three stores over the stations.
    for (int code = 0; code < 6 * 6 * 6; ++code) {
        Cost last{};
        for (const Station level :
             {Station::cta, Station::sm, Station::vc, Station::gpu, Station::sys}) {
            Hierarchy m(true);
            Bytes memory;
            const uint8_t v = 1;
            int rest = code;
            for (const uint64_t a : {data, flag, uint64_t{0x3000}}) m.store(producer, a, 1, &v);
            const std::vector<Hierarchy::Store> stores = m.stores();
            for (const Hierarchy::Store& s : stores) {
                m.send_store(memory, s.id, static_cast<Station>(rest % 6));
                rest /= 6;
            }
            const Cost cost = m.membar(memory, producer, level, false, false);
            EXPECT_GT(cost.hops, last.hops);
            EXPECT_GE(cost.drains, last.drains);
            last = cost;
            ++compared;
        }
    }
    EXPECT_EQ(compared, 6u * 6 * 6 * 5);
}

}  // namespace
}  // namespace caches
