// SPDX-License-Identifier: Apache-2.0
// The C++20 face of the plugin ABI: a class whose member functions are the callbacks. What it does
// not have is not called. Exceptions end in the wrapper: in `create` as its error, elsewhere as a
// fault of the launch or a finding.
//
//   struct Counter : sassemu::Plugin {
//       static constexpr auto name = "counter", summary = "counts loads";
//       using Plugin::Plugin;
//       void access(const sassemu_access& a) { loads += a.op == SASSEMU_LOAD; }
//       void finish() { print(std::to_string(loads) + " loads\n"); }
//       uint64_t loads = 0;
//   };
//   SASSEMU_PLUGIN(Counter)
//
// Members that are recognised:
//   static: name, summary, options (an array of sassemu_option without the end), threading, spaces
//   (of accesses),
//           defers (bool), in_flight (bool), sync_ignored
//   memory model:  int issue(const sassemu_access&); the rest of model.h as model_fence,
//   model_cache, model_sync, step,
//                  and launch_begin, launch_end, cta_begin, cta_end, host_access shared with the
//                  observer
//   observer:      the members of sassemu_observer, by their names; references for pointers to
//   structs semantics:     bool overrides(sassemu_insn); int execute(sassemu_warp, sassemu_insn,
//   uint32_t lanes) consistency:   static const SassemuConsistencyModel* consistency(size_t* count)
//   machine (machine.h): a nested copyable type State, and
//                  State start(std::span<const sassemu_place>) const
//                  void perform(State&, MemoryBytes, const sassemu_operation&, uint32_t way,
//                  uint8_t*) const uint32_t steps(const State&) const, void take(State&,
//                  MemoryBytes, uint32_t step) const, uint64_t held(const State&) const,
//                  std::string key(const State&) const; where it needs them ways, launch,
//                  settle, plain, and static bool late_loads, symmetric, scoped, apart,
//                  late_reads
#pragma once

#include <sassemu/plugin.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sassemu {

// What `create` is given. Throw std::invalid_argument from a constructor to refuse it.
struct Start {
    const sassemu_host* host;
    sassemu_session session;
    const sassemu_setting* settings;
    size_t count;
    // The last value given for a key.
    std::string_view value(std::string_view key, std::string_view otherwise = {}) const {
        for (size_t i = count; i-- > 0;)
            if (key == settings[i].key) return settings[i].value;
        return otherwise;
    }
    std::vector<std::string_view> values(std::string_view key) const {
        std::vector<std::string_view> all;
        for (size_t i = 0; i < count; ++i)
            if (key == settings[i].key) all.push_back(settings[i].value);
        return all;
    }
    uint64_t number(std::string_view key, uint64_t otherwise) const {
        const std::string_view text = value(key);
        if (text.empty()) return otherwise;
        return parse(key, text);
    }
    // Decimal, or hexadecimal after 0x.
    static uint64_t parse(std::string_view key, std::string_view text) {
        const std::string copy(text);
        size_t used = 0;
        uint64_t v = 0;
        try {
            v = std::stoull(copy, &used, 0);
        } catch (const std::exception&) {
            used = 0;
        }
        if (copy.empty() || used != copy.size() || copy[0] == '-')
            throw std::invalid_argument("option '" + std::string(key) + "': '" + copy +
                                        "' is no number");
        return v;
    }
};

class Plugin {
  public:
    explicit Plugin(const Start& start) : host(*start.host), session(start.session) {}
    const sassemu_host& host;
    const sassemu_session session;

    void print(const std::string& text) const { host.print(session, text.c_str()); }
    sassemu_launch_info info(sassemu_launch l) const {
        return ask<sassemu_launch_info>(host.launch_info, l);
    }
    sassemu_cta_info info(sassemu_cta c) const { return ask<sassemu_cta_info>(host.cta_info, c); }
    sassemu_warp_info info(sassemu_warp w) const {
        return ask<sassemu_warp_info>(host.warp_info, w);
    }
    sassemu_agent agent(const sassemu_access& a) const {
        return ask<sassemu_agent>(host.agent, &a);
    }
    sassemu_control control(sassemu_insn i) const {
        return ask<sassemu_control>(host.insn_control, i);
    }
    sassemu_operand operand(sassemu_insn i, uint32_t index) const {
        sassemu_operand o{};
        o.size = sizeof o;
        host.insn_operand(i, index, &o);
        return o;
    }
    sassemu_evidence evidence(sassemu_insn i) const {
        return ask<sassemu_evidence>(host.insn_evidence, i);
    }
    sassemu_effect effect(sassemu_insn i) const { return ask<sassemu_effect>(host.insn_effect, i); }
    // False: PTX intent unknown.
    bool intent(sassemu_insn i, sassemu_intent& out) const {
        out = {};
        out.size = sizeof out;
        return host.insn_intent(i, &out) == 0;
    }

  private:
    template <class T, class F, class H>
    static T ask(F function, H handle) {
        T out{};
        out.size = sizeof out;
        function(handle, &out);
        return out;
    }
};

// The bytes of memory that a machine works on.
class MemoryBytes {
  public:
    explicit MemoryBytes(const sassemu_bytes* bytes) : b_(*bytes) {}
    // False, and nothing done: a byte is not allocated.
    bool read(uint64_t address, void* to, uint32_t bytes) const {
        return b_.read(b_.memory, address, to, bytes) == 0;
    }
    bool write(uint64_t address, const void* from, uint32_t bytes) const {
        return b_.write(b_.memory, address, from, bytes) == 0;
    }
    // Whether there are several GPUs, or a host beside one; whose memory the byte is in.
    bool has_homes() const { return SASSEMU_HAS(&b_, sassemu_bytes, home) && b_.home; }
    int32_t home(uint64_t address) const {
        return has_homes() ? b_.home(b_.memory, address) : SASSEMU_OF_NOBODY;
    }
    // Whether another process has it: what is written there everybody else sees at once.
    bool has_elsewhere() const {
        return SASSEMU_HAS(&b_, sassemu_bytes, elsewhere) && b_.elsewhere;
    }
    bool elsewhere(uint64_t address) const {
        return has_elsewhere() && b_.elsewhere(b_.memory, address);
    }

  private:
    const sassemu_bytes& b_;
};

namespace detail {

template <class T, class R, class F>
R guarded(void* self, R otherwise, F&& call) noexcept {
    T& plugin = *static_cast<T*>(self);
    const auto failed = [&](const char* why) {
        sassemu_finding f{};
        f.size = sizeof f;
        f.severity = SASSEMU_ERROR;
        f.kind = "plugin-failure";
        f.message = why;
        plugin.host.report(plugin.session, &f);
    };
    try {
        return call(plugin);
    } catch (const std::exception& e) {
        failed(e.what());
    } catch (...) {
        failed("an exception that is no std::exception");
    }
    return otherwise;
}
template <class T, class F>
void told(void* self, F&& call) noexcept {
    guarded<T>(self, 0, [&](T& p) {
        call(p);
        return 0;
    });
}

// The callbacks below are named as the members of the C structs.
template <class T>
struct Roles {
    static void* create(const sassemu_host* host, sassemu_session session,
                        const sassemu_setting* settings, size_t count, char* error,
                        size_t error_bytes) noexcept {
        try {
            return new T(Start{host, session, settings, count});
        } catch (const std::exception& e) {
            std::snprintf(error, error_bytes, "%s", e.what());
        } catch (...) {
            std::snprintf(error, error_bytes, "an unknown exception");
        }
        return nullptr;
    }
    static void destroy(void* self) noexcept { delete static_cast<T*>(self); }

    static constexpr bool is_model = requires(T & t, const sassemu_access& a) { t.issue(a); };
    static constexpr bool is_semantics = requires(T & t, sassemu_insn i) { t.overrides(i); };

#define SASSEMU_SHARED_CALLBACKS(table)                                                            \
    if constexpr (requires(T & t, sassemu_launch l) { t.launch_begin(l); })                        \
        (table).launch_begin = [](void* s, sassemu_launch l) {                                     \
            told<T>(s, [&](T& t) { t.launch_begin(l); });                                          \
        };                                                                                         \
    if constexpr (requires(T & t, sassemu_cta c) { t.cta_begin(c); })                              \
        (table).cta_begin = [](void* s, sassemu_cta c) {                                           \
            told<T>(s, [&](T& t) { t.cta_begin(c); });                                             \
        };                                                                                         \
    if constexpr (requires(T & t, sassemu_cta c) { t.cta_end(c); })                                \
        (table).cta_end = [](void* s, sassemu_cta c) { told<T>(s, [&](T& t) { t.cta_end(c); }); }; \
    if constexpr (requires(T & t) { t.host_access(uint64_t{}, uint64_t{}, uint32_t{}); })          \
        (table).host_access = [](void* s, uint64_t a, uint64_t n, uint32_t w) {                    \
            told<T>(s, [&](T& t) { t.host_access(a, n, w); });                                     \
        };

    static sassemu_memory_model model() {
        sassemu_memory_model m{};
        m.size = sizeof m;
        if constexpr (is_model) {
            m.spaces = ~0u;
            if constexpr (requires { T::spaces; }) m.spaces = T::spaces;
            if constexpr (requires { T::defers; }) m.flags = T::defers ? SASSEMU_MODEL_DEFERS : 0;
            m.issue = [](void* s, const sassemu_access* a) {
                return guarded<T>(s, int32_t{SASSEMU_DONE},
                                  [&](T& t) { return int32_t(t.issue(*a)); });
            };
            if constexpr (requires(T & t, const sassemu_fence& f) { t.model_fence(f); })
                m.fence = [](void* s, const sassemu_fence* f) {
                    return guarded<T>(s, int32_t{SASSEMU_DONE},
                                      [&](T& t) { return int32_t(t.model_fence(*f)); });
                };
            if constexpr (requires(T & t, const sassemu_cache_op& c) { t.model_cache(c); })
                m.cache = [](void* s, const sassemu_cache_op* c) {
                    return guarded<T>(s, int32_t{SASSEMU_DONE},
                                      [&](T& t) { return int32_t(t.model_cache(*c)); });
                };
            if constexpr (requires(T & t, const sassemu_sync& e) { t.model_sync(e); })
                m.sync = [](void* s, const sassemu_sync* e) {
                    told<T>(s, [&](T& t) { t.model_sync(*e); });
                };
            if constexpr (requires(T & t, sassemu_cta c) { t.step(c, uint32_t{}); })
                m.step = [](void* s, sassemu_cta c, uint32_t idle) {
                    return guarded<T>(s, uint64_t{0},
                                      [&](T& t) { return uint64_t(t.step(c, idle)); });
                };
            if constexpr (requires(T & t, sassemu_launch l) { t.launch_end(l); })
                m.launch_end = [](void* s, sassemu_launch l) {
                    told<T>(s, [&](T& t) { t.launch_end(l); });
                };
            SASSEMU_SHARED_CALLBACKS(m)
        }
        return m;
    }

    static sassemu_observer observer() {
        sassemu_observer o{};
        o.size = sizeof o;
        if constexpr (requires { T::spaces; } && !is_model) o.spaces = T::spaces;
        if constexpr (requires { T::sync_ignored; }) o.sync_ignored = T::sync_ignored;
        if constexpr (!is_model) {
            SASSEMU_SHARED_CALLBACKS(o)
        }
        if constexpr (requires(T & t, sassemu_module m) { t.module_load(m); })
            o.module_load = [](void* s, sassemu_module m) {
                told<T>(s, [&](T& t) { t.module_load(m); });
            };
        if constexpr (requires(T & t, sassemu_launch l, const char* c) { t.launch_end(l, c); })
            o.launch_end = [](void* s, sassemu_launch l, const char* c) {
                told<T>(s, [&](T& t) { t.launch_end(l, c); });
            };
        if constexpr (requires(T & t, sassemu_insn i) { t.select(i); })
            o.select = [](void* s, sassemu_insn i) {
                return guarded<T>(s, 0u, [&](T& t) { return uint32_t(t.select(i)); });
            };
        if constexpr (requires(T & t, sassemu_warp w, sassemu_insn i) { t.before(w, i, 0u); })
            o.before = [](void* s, sassemu_warp w, sassemu_insn i, uint32_t l) {
                told<T>(s, [&](T& t) { t.before(w, i, l); });
            };
        if constexpr (requires(T & t, sassemu_warp w, sassemu_insn i) { t.after(w, i, 0u); })
            o.after = [](void* s, sassemu_warp w, sassemu_insn i, uint32_t l) {
                told<T>(s, [&](T& t) { t.after(w, i, l); });
            };
#define SASSEMU_TOLD(member, type)                                 \
    if constexpr (requires(T & t, const type& v) { t.member(v); }) \
        o.member = [](void* s, const type* v) { told<T>(s, [&](T& t) { t.member(*v); }); };
        SASSEMU_TOLD(access_issue, sassemu_access)
        SASSEMU_TOLD(access, sassemu_access)
        SASSEMU_TOLD(fence, sassemu_fence)
        SASSEMU_TOLD(cache, sassemu_cache_op)
        SASSEMU_TOLD(sync, sassemu_sync)
        SASSEMU_TOLD(async, sassemu_async)
        SASSEMU_TOLD(allocate, sassemu_allocation)
        SASSEMU_TOLD(release, sassemu_allocation)
        SASSEMU_TOLD(fault, sassemu_fault_info)
        SASSEMU_TOLD(records, sassemu_records)
        SASSEMU_TOLD(heap, sassemu_heap_block)
        SASSEMU_TOLD(client, sassemu_client_access)
        SASSEMU_TOLD(model, sassemu_model_event)
#undef SASSEMU_TOLD
        if constexpr (requires(T & t) { t.finish(); })
            o.finish = [](void* s) { told<T>(s, [](T& t) { t.finish(); }); };
        if constexpr (requires(T & t, sassemu_launch l, const sassemu_counts& c) {
                          t.counts(l, c);
                      })
            o.counts = [](void* s, sassemu_launch l, const sassemu_counts* c) {
                told<T>(s, [&](T& t) { t.counts(l, *c); });
            };
        return o;
    }
#undef SASSEMU_SHARED_CALLBACKS

    static sassemu_semantics semantics() {
        sassemu_semantics r{};
        r.size = sizeof r;
        if constexpr (is_semantics) {
            r.overrides = [](void* s, sassemu_insn i) {
                return guarded<T>(s, 0u, [&](T& t) { return uint32_t(t.overrides(i)); });
            };
            r.execute = [](void* s, sassemu_warp w, sassemu_insn i, uint32_t lanes) {
                return guarded<T>(s, int32_t{SASSEMU_PASS},
                                  [&](T& t) { return int32_t(t.execute(w, i, lanes)); });
            };
        }
        return r;
    }

    static constexpr bool is_machine = requires { typename T::State; };
    static sassemu_machine machine() {
        sassemu_machine m{};
        m.size = sizeof m;
        if constexpr (is_machine) {
            using S = typename T::State;
            using C = const S*;
            m.spaces = SASSEMU_SPACE_BIT(SASSEMU_GLOBAL);
            if constexpr (requires { T::spaces; }) m.spaces = T::spaces;
            if constexpr (requires { T::late_loads; })
                m.flags |= T::late_loads ? SASSEMU_MACHINE_LATE_LOADS : 0;
            if constexpr (requires { T::symmetric; })
                m.flags |= T::symmetric ? SASSEMU_MACHINE_SYMMETRIC : 0;
            if constexpr (requires { T::scoped; })
                m.flags |= T::scoped ? SASSEMU_MACHINE_SCOPED : 0;
            if constexpr (requires { T::apart; }) m.flags |= T::apart ? SASSEMU_MACHINE_APART : 0;
            if constexpr (requires { T::late_reads; })
                m.flags |= T::late_reads ? SASSEMU_MACHINE_LATE_READS : 0;
            m.start = [](void* s, const sassemu_place* p, size_t n) {
                return guarded<T>(s, static_cast<void*>(nullptr), [&](T& t) -> void* {
                    return new S(t.start(std::span<const sassemu_place>(p, n)));
                });
            };
            m.copy = [](void* s, const void* state) {
                return guarded<T>(s, static_cast<void*>(nullptr),
                                  [&](T&) -> void* { return new S(*static_cast<C>(state)); });
            };
            m.drop = [](void*, void* state) { delete static_cast<S*>(state); };
            if constexpr (requires(const T& t, const S& a, MemoryBytes b,
                                   const sassemu_operation& o) { t.ways(a, b, o); })
                m.ways = [](void* s, const void* state, const sassemu_bytes* b,
                            const sassemu_operation* o) {
                    return guarded<T>(s, 1u, [&](const T& t) {
                        return uint32_t(t.ways(*static_cast<C>(state), MemoryBytes(b), *o));
                    });
                };
            m.perform = [](void* s, void* state, const sassemu_bytes* b, const sassemu_operation* o,
                           uint32_t way, void* value) {
                told<T>(s, [&](const T& t) {
                    t.perform(*static_cast<S*>(state), MemoryBytes(b), *o, way,
                              static_cast<uint8_t*>(value));
                });
            };
            m.steps = [](void* s, const void* state, uint64_t* threads, uint32_t room) {
                return guarded<T>(s, 0u, [&](const T& t) {
                    const std::vector<uint64_t> all = t.steps(*static_cast<C>(state));
                    std::copy_n(all.begin(), std::min<size_t>(room, all.size()), threads);
                    return static_cast<uint32_t>(all.size());
                });
            };
            m.take = [](void* s, void* state, const sassemu_bytes* b, uint32_t step) {
                told<T>(s,
                        [&](const T& t) { t.take(*static_cast<S*>(state), MemoryBytes(b), step); });
            };
            m.held = [](void* s, const void* state) {
                return guarded<T>(s, uint64_t{0}, [&](const T& t) {
                    return uint64_t(t.held(*static_cast<C>(state)));
                });
            };
            if constexpr (requires(const T& t, S& a) { t.launch(a); })
                m.launch = [](void* s, void* state) {
                    told<T>(s, [&](const T& t) { t.launch(*static_cast<S*>(state)); });
                };
            if constexpr (requires(const T& t, S& a, MemoryBytes b) { t.settle(a, b, true); })
                m.settle = [](void* s, void* state, const sassemu_bytes* b, uint32_t count_only) {
                    return guarded<T>(s, uint64_t{0}, [&](const T& t) {
                        return uint64_t(
                            t.settle(*static_cast<S*>(state), MemoryBytes(b), count_only != 0));
                    });
                };
            m.key = [](void* s, const void* state, void* to, size_t room) {
                return guarded<T>(s, size_t{0}, [&](const T& t) {
                    const std::string text = t.key(*static_cast<C>(state));
                    text.copy(static_cast<char*>(to), room);
                    return text.size();
                });
            };
            if constexpr (requires(const T& t, const S& a, const sassemu_operation& o) {
                              t.plain(a, o, uint64_t{}, 0u);
                          })
                m.plain = [](void* s, const void* state, const sassemu_operation* o, uint64_t bytes,
                             uint32_t lanes) {
                    return guarded<T>(s, 0, [&](const T& t) {
                        return int32_t(t.plain(*static_cast<C>(state), *o, bytes, lanes));
                    });
                };
        }
        return m;
    }

    static const sassemu_plugin& plugin() {
        static const sassemu_memory_model own_model = model();
        static const sassemu_machine own_machine = machine();
        static const sassemu_observer own_observer = observer();
        static const sassemu_semantics own_semantics = semantics();
        static const std::vector<sassemu_option> own_options = [] {
            std::vector<sassemu_option> all;
            if constexpr (requires { T::options; })
                all.assign(std::begin(T::options), std::end(T::options));
            all.push_back({nullptr, nullptr, nullptr});
            return all;
        }();
        static const sassemu_plugin own = [] {
            sassemu_plugin p{};
            p.size = sizeof p;
            p.abi = SASSEMU_ABI_VERSION;
            p.name = T::name;
            p.summary = T::summary;
            p.options = own_options.data();
            p.threading = SASSEMU_SERIAL;
            if constexpr (requires { T::threading; }) p.threading = T::threading;
            if constexpr (requires { T::in_flight; })
                p.flags |= T::in_flight ? SASSEMU_PLUGIN_IN_FLIGHT : 0;
            p.create = create;
            p.destroy = destroy;
            if (is_model) p.model = &own_model;
            if (is_machine) p.machine = &own_machine;
            p.observer = &own_observer;
            if (is_semantics) p.semantics = &own_semantics;
            if constexpr (requires(size_t * n) { T::consistency(n); })
                p.consistency = T::consistency;
            return p;
        }();
        return own;
    }
};

}  // namespace detail
}  // namespace sassemu

// Once per plugin, outside of any namespace.
#define SASSEMU_PLUGIN(type)                                          \
    SASSEMU_EXPORT const sassemu_plugin* sassemu_plugin_entry(void) { \
        return &sassemu::detail::Roles<type>::plugin();               \
    }
