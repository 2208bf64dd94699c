// SPDX-License-Identifier: Apache-2.0
// See in_flight.hpp.
#include "emu/explore/plan/in_flight.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "emu/explore/sass/program.hpp"
#include "emu/plan/element.hpp"

namespace sassemu::explore {
namespace {

constexpr uint64_t most_words = 64;  // that one step reads or writes

// A thread of operations that is beside the kernels: accesses of system scope, in order. Each is
// between two fence.sc.sys, as the machine's are.
class Client {
  public:
    Client(const Test& test, std::string id) : test_(test) {
        thread_.id = std::move(id);
        thread_.kind = ThreadKind::host;
    }

    Result<void> write(const plan::Place& at, uint64_t word, const std::byte* values) {
        return words(at, word, [&](const Place& to, uint64_t offset) {
            uint64_t value = 0;
            std::memcpy(&value, values + offset, word);
            store(to, value);
        });
    }
    Result<void> read(const plan::Place& at, uint64_t word) {
        return words(at, word, [&](const Place& from, uint64_t) { load(from, fresh()); });
    }
    Result<void> copy(const plan::CopyBytes& c) {
        const uint64_t word = (c.to.offset | c.from.offset | c.to.bytes) % 4 ? 1 : 4;
        std::vector<Register> values;
        SASSEMU_TRY(words(c.from, word, [&](const Place& from, uint64_t) {
            values.push_back(register_named("v" + std::to_string(values.size())));
            load(from, values.back());
        }));
        return words(c.to, word,
                     [&](const Place& to, uint64_t offset) { store(to, values[offset / word]); });
    }
    Result<void> atomic(const plan::AtomicValue& a) {
        constexpr AtomicOp operators[] = {AtomicOp::add, AtomicOp::exch, AtomicOp::and_,
                                          AtomicOp::or_, AtomicOp::xor_, AtomicOp::min,
                                          AtomicOp::max, AtomicOp::cas};
        return words(a.at, a.at.bytes, [&](const Place& to, uint64_t) {
            op::Atomic o{};
            strong(o, to);
            o.by.how = operators[static_cast<size_t>(a.op)];
            o.to = fresh();
            o.value = a.value;
            if (a.op == HostAtomic::compare) o.value = a.compare, o.swap = a.value;
            add(o, "atomic");
        });
    }
    Result<void> wait(const plan::WaitValue& w) {
        const auto begin = static_cast<uint32_t>(thread_.code.size() + 1);  // behind the fence
        return words(w.at, w.at.bytes, [&](const Place& from, uint64_t) {
            const Register v = register_named("seen"), t = register_named("test");
            const uint64_t all = w.at.bytes == 8 ? ~uint64_t{0} : 0xffffffffu;
            const uint64_t sign = uint64_t{1} << (w.at.bytes * 8 - 1);
            load(from, v);
            const auto compute = [&](Arithmetic how, Argument b, uint64_t c) {
                add(op::Compute{how, t, b, c}, "wait");
            };
            // Again, while `b` is equal (or not) to `c`.
            const auto again = [&](bool equal, Register b, uint64_t c) {
                add(op::Branch{equal, b, c, "", begin}, "wait");
            };
            switch (w.test) {
                case ValueTest::at_least:
                    compute(Arithmetic::sub, v, w.value);
                    compute(Arithmetic::and_, t, sign);
                    return again(false, t, 0);
                case ValueTest::equal:
                    return again(false, v, w.value);
                case ValueTest::not_equal:
                    return again(true, v, w.value);
                case ValueTest::any_bit:
                    compute(Arithmetic::and_, v, w.value);
                    return again(true, t, 0);
                case ValueTest::clear_bit:
                    compute(Arithmetic::or_, v, w.value);
                    return again(true, t, all);
            }
        });
    }
    void launch(uint32_t thread) { add(op::Launch{thread}, "api.launch"); }
    void join(uint32_t thread) { add(op::Join{thread}, "api.join"); }

    bool empty() const { return thread_.code.empty(); }
    Thread take() { return std::move(thread_); }
    Thread& thread() { return thread_; }

  private:
    template <class Act>
    Result<void> words(const plan::Place& at, uint64_t word, Act&& act) {
        if (at.bytes / word > most_words)
            return make_error(ErrorCode::input, "'" + at.buffer + "'",
                              std::to_string(at.bytes) + " bytes at once are not explored",
                              "up to " + std::to_string(most_words) + " words");
        fence();
        for (uint64_t offset = 0; offset < at.bytes; offset += word)
            act(Place{find_name(test_, at.buffer), at.offset + offset, word}, offset);
        fence();
        return {};
    }
    static void strong(op::Access& o, const Place& at) {
        o.at = at;
        o.order = SASSEMU_ORDER_RELAXED;
        o.scope = SASSEMU_SCOPE_SYS;
    }
    void load(const Place& from, Register to) {
        op::Load o{};
        strong(o, from);
        o.to = to;
        add(o, "read");
    }
    void store(const Place& to, Argument value) {
        op::Store o{};
        strong(o, to);
        o.value = value;
        add(o, "write");
    }
    void fence() {
        op::Fence f{};
        f.order = SASSEMU_ORDER_SC;
        f.scope = SASSEMU_SCOPE_SYS;
        add(f, "fence.sc.sys");
    }
    void add(Operation what, const char* text) { thread_.code.push_back({std::move(what), text}); }
    Register register_named(const std::string& name) { return {register_of(thread_, name)}; }
    Register fresh() { return register_named("r" + std::to_string(results_++)); }

    const Test& test_;
    Thread thread_;
    uint32_t results_ = 0;
};

void add(Test& test, Client& client) {
    test.threads.push_back(client.take());
    test.sass->threads().push_back({});
}

}  // namespace

Result<void> add_in_flight(Test& test, const plan::Plan& p, std::vector<InStream> all) {
    // What else is in streams: each is a thread.
    for (InStream& one : all) {
        const plan::Launch& launch = p.launches[one.launch];
        if (!launch.operation.index()) continue;
        Client client(test, launch.kernel + std::to_string(one.launch));
        SASSEMU_TRY(std::visit(Overloaded{[](std::monostate) -> Result<void> { return {}; },
                                          [&](const plan::CopyBytes& c) { return client.copy(c); },
                                          [&](const plan::WriteValue& w) {
                                              return client.write(
                                                  w.at, w.at.bytes,
                                                  reinterpret_cast<const std::byte*>(&w.value));
                                          },
                                          [&](const plan::WaitValue& w) { return client.wait(w); }},
                               launch.operation)
                        .within(launch.where));
        one.first = static_cast<uint32_t>(test.threads.size());
        one.end = one.first + 1;
        add(test, client);
    }
    // What each waits for: by its stream, by the legacy stream's rule, by events.
    std::map<std::pair<uint32_t, std::string>, size_t> last;  // in each stream
    std::map<std::string, size_t> events;
    const auto blocking = [&](const std::string& stream) {
        const auto at = p.streams.find(stream);
        return at == p.streams.end() || !at->second.non_blocking;
    };
    std::vector<Client> starters;
    for (size_t i = 0; i < all.size(); ++i) {
        const plan::Launch& launch = p.launches[all[i].launch];
        std::set<size_t> before;
        for (const auto& [stream, other] : last)
            if (stream.first == launch.gpu &&
                (stream.second == launch.stream ||
                 ((stream.second.empty() || launch.stream.empty()) && blocking(stream.second) &&
                  blocking(launch.stream))))
                before.insert(other);
        for (const std::string& event : launch.after) before.insert(events.at(event));
        last[{launch.gpu, launch.stream}] = i;
        if (!launch.event.empty()) events[launch.event] = i;
        if (before.empty()) continue;
        Client& starter = starters.emplace_back(test, "stream" + std::to_string(i));
        for (const size_t other : before)
            for (uint32_t t = all[other].first; t < all[other].end; ++t) starter.join(t);
        for (uint32_t t = all[i].first; t < all[i].end; ++t) {
            starter.launch(t);
            test.threads[t].starts = false;
        }
    }
    for (Client& starter : starters) add(test, starter);
    // The host.
    Client host(test, "host");
    const auto join = [&](size_t i) {
        for (uint32_t t = all[i].first; t < all[i].end; ++t) host.join(t);
    };
    for (const plan::HostStep& step : p.host)
        SASSEMU_TRY(
            std::visit(Overloaded{[&](const plan::WriteBytes& w) {
                                      return host.write(w.at, plan::element_size(w.type),
                                                        w.values.data());
                                  },
                                  [&](const plan::WaitValue& w) { return host.wait(w); },
                                  [&](const plan::ReadElements& r) {
                                      return host.read(r.at, plan::element_size(r.type));
                                  },
                                  [&](const plan::AtomicValue& a) { return host.atomic(a); },
                                  [&](const plan::CopyBytes& c) { return host.copy(c); },
                                  [&](const plan::Synchronize& s) -> Result<void> {
                                      if (!s.event.empty()) {
                                          join(events.at(s.event));
                                          return {};
                                      }
                                      for (const auto& [stream, i] : last)
                                          if (s.stream.empty() || stream.second == s.stream)
                                              join(i);
                                      return {};
                                  },
                                  // Comparisons and time are for runs.
                                  [](const plan::CheckBytes&) -> Result<void> { return {}; },
                                  [](const plan::Sleep&) -> Result<void> { return {}; }},
                       step.what)
                .within(step.where));
    if (!host.empty()) add(test, host);
    return {};
}

}  // namespace sassemu::explore
