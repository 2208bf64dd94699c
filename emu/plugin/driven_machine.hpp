// SPDX-License-Identifier: Apache-2.0
// A machine of the SDK (machine.h) as a memory model that runs: accesses of warps become operations
// of threads, and a policy says when loads are performed and which step the machine takes. What
// belongs here: policies. What does not: any machine (plugins), exploring one (emu/explore).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string_view>

#include "emu/base/result.hpp"
#include "emu/plugin/plugin_file.hpp"
#include "sassemu/plugin.hpp"

namespace sassemu {

struct Client;

class DrivenMachine : public Plugin {
  public:
    enum class Policy : uint8_t { lazy, eager, random, adversarial };
    struct Settings {
        Policy policy = Policy::random;
        uint64_t depth = 256;
        // Of driver_options. False: the key is none of them.
        Result<bool> take(std::string_view key, const std::string& value);
    };

    // Null: the machine has no state to start with.
    static std::unique_ptr<DrivenMachine> create(const Start& start, const sassemu_machine& machine,
                                                 void* self, const Settings& settings);
    ~DrivenMachine() { machine_.drop(self_, state_); }
    // Callbacks of the role `model`; their `self` is a DrivenMachine.
    static const sassemu_memory_model& table();

    void launch_begin(sassemu_launch);
    void launch_end(sassemu_launch);
    // The host's accesses, and those in streams: in order, and of system scope. See Hooks.
    bool client_reads(const Client& who, uint64_t address, void* to, uint64_t bytes);
    bool client_writes(const Client& who, uint64_t address, const void* from, uint64_t bytes);
    void client_changes(const Client& who, uint64_t address, uint32_t bytes);
    void client_fence(const Client& who);
    // Launch, CTA, warp and lane of the thread that the event names.
    static void name_thread(sassemu_model_event& event);
    uint64_t step(sassemu_cta, uint32_t idle);
    int issue(const sassemu_access& a);
    int model_fence(const sassemu_fence& f);
    int model_cache(const sassemu_cache_op& c);
    void model_sync(const sassemu_sync& e);

  private:
    // The warp of an operation.
    struct Who {
        uint64_t cta = 0;  // with its launch
        uint32_t sm = 0, warp = 0, gpu = 0;
        friend bool operator==(const Who&, const Who&) = default;
    };
    // A load that has been issued and not performed.
    struct Held {
        Who who;
        uint64_t token = 0;
        uint32_t lanes = 0;
        sassemu_operation what{};
        uint64_t address[32];
    };

    DrivenMachine(const Start& start, const sassemu_machine& machine, void* self, void* state,
                  const Settings& settings);

    Who place(sassemu_warp w) const;
    static sassemu_place of(const Who& w, unsigned lane);
    sassemu_operation of_client(const Client& who, sassemu_operation_kind kind, uint64_t address,
                                uint64_t bytes) const;
    template <class Act>
    void in_pieces(uint64_t bytes, Act&& act);
    uint32_t pick(uint32_t count);
    bool defer(const sassemu_access& a);
    int load(const sassemu_access& a, const Who& who, const sassemu_location* where,
             uint32_t global, sassemu_operation what);
    int store(const sassemu_access& a, const Who& who, const sassemu_location* where,
              uint32_t global, sassemu_operation what);
    void load_elsewhere(const sassemu_access& a, const sassemu_location& where, unsigned lane,
                        uint8_t* value) const;
    sassemu_cta owner(sassemu_warp w, uint64_t linear) const;
    uint32_t ways(const sassemu_operation& o) const {
        return machine_.ways ? machine_.ways(self_, state_, &bytes_, &o) : 1;
    }
    // After the steps that it needs.
    void perform(const sassemu_operation& o, uint8_t* value);
    // Whether an operation of a warp, one for each of the lanes, is performed now. If not, none of
    // its lanes is, and a step is taken for the next try.
    template <class Of>
    bool ready(const Who& who, uint32_t lanes, Of&& of_lane);

    void finish(size_t index, uint32_t lanes);  // performs a held load
    void finish_same(const Who& who, const sassemu_location* where, uint32_t lanes, unsigned bytes);
    void finish_lanes(const Who& who, uint32_t lanes);

    uint32_t steps() const { return machine_.steps(self_, state_, nullptr, 0); }
    uint64_t held() const { return held_.size() + machine_.held(self_, state_); }
    void take(uint32_t step);
    void send_launch(uint64_t id);  // all that its threads have on its way
    template <class Enough>
    bool take_until(Enough&& enough);
    void take_all();  // until nothing is held
    void give_up(const std::string& what);
    void tick();
    void overtake();
    void force();
    void force_oldest();

    const sassemu_machine machine_;
    void* const self_;
    void* state_;
    const Settings settings_;
    sassemu_bytes bytes_{};
    std::deque<Held> held_;
    std::vector<std::pair<Who, uint32_t>> waiting_;  // warps, and how often they tried
    bool gave_up_ = false;
    struct Launch {
        sassemu_launch handle;
        uint64_t id;
        uint32_t gpu;
    };
    std::vector<Launch> launches_;  // in flight
    // Warps that may have something on its way, by CTA and index; only with several in flight.
    std::map<std::pair<uint64_t, uint32_t>, Who> stored_;
    void remember(const Who& who) {
        if (bytes_.home) stored_.try_emplace({who.cta, who.warp}, who);
    }
    uint64_t random_ = 1, idle_ = 0, slices_ = 0;
};

}  // namespace sassemu
