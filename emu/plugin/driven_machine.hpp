// SPDX-License-Identifier: Apache-2.0
// A machine of the SDK (machine.h) as a memory model that runs: accesses of warps become operations
// of threads, and a policy says when loads are performed and which step the machine takes. What
// belongs here: policies. What does not: any machine (plugins), exploring one (emu/explore).
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "emu/base/result.hpp"
#include "emu/plugin/far_bytes.hpp"
#include "emu/plugin/passed_on.hpp"
#include "emu/plugin/plugin_file.hpp"
#include "sassemu/plugin.hpp"

namespace sassemu {

struct Client;
struct Event;
struct HookedInstruction;

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
    void client_changes(const Client& who, uint64_t address, uint32_t bytes,
                        const std::function<void()>& act);
    // Other processes have some of the memory. Before anything runs.
    void reach_by(FarMemory* far);
    // Launch, CTA, warp and lane of the thread that the event names.
    static void name_thread(sassemu_model_event& event);
    uint64_t step(sassemu_cta, uint32_t idle);
    int issue(const sassemu_access& a);
    int model_fence(const sassemu_fence& f);
    int model_cache(const sassemu_cache_op& c);
    void model_sync(const sassemu_sync& e);

    // ---- scoped machines (driven_scoped.cpp, driven_meetings.cpp)
    bool scoped() const { return machine_.flags & SASSEMU_MACHINE_SCOPED; }
    void cta_begin(sassemu_cta c);
    void cta_end(sassemu_cta c);
    // Of the instructions of a section, one after the other: whether order() is to be called before
    // it is executed.
    bool orders(const HookedInstruction& i, const Event& e, bool first);
    void order(sassemu_insn i, sassemu_warp w, uint32_t lanes);
    void drain(sassemu_warp w);  // of its late loads
    bool may_be_apart() const { return !scoped() || machine_.flags & SASSEMU_MACHINE_APART; }
    // At the machine, as long as this lives; see far_bytes.hpp.
    class AtMachine {
      public:
        explicit AtMachine(DrivenMachine* driver, bool outside = false)
            : far_(driver ? driver->far_.get() : nullptr) {
            if (far_) far_->enter(outside);
        }
        AtMachine(const AtMachine&) = delete;
        AtMachine& operator=(const AtMachine&) = delete;
        ~AtMachine() {
            if (far_) far_->leave();
        }

      private:
        FarBytes* const far_;
    };
    // Asynchronous operations. What the bytes are for this one, at that place; the caller is about
    // to change them.
    void agent_issued(sassemu_warp w, uint32_t lanes, uint64_t id, uint32_t kind, int32_t group);
    const std::byte* agent_reads(sassemu_warp w, uint64_t id, const sassemu_location& at,
                                 const std::byte* bytes, uint64_t count, uint32_t proxy);
    void agent_writes(sassemu_warp w, uint64_t id, const sassemu_location& at, uint64_t count,
                      uint32_t proxy, bool reduce);
    void agent_landed();  // what it has written is there
    // The same of a thread's own store that no registers hold the values of (st.bulk).
    void thread_writes(sassemu_warp w, uint32_t lane, const sassemu_location& at, uint64_t count);
    // Threads initialise an mbarrier object; one is about to arrive at it, or to test it.
    void initialises(sassemu_warp w, uint32_t lanes, const sassemu_location& object);
    void meets(sassemu_insn i, sassemu_warp w, uint32_t lanes, const sassemu_location& object);

  private:
    // The warp of an operation.
    struct Who {
        uint64_t cta = 0;  // with its launch
        uint32_t sm = 0, warp = 0, gpu = 0, cluster = 0;
        // Its lanes are threads. Not of a scoped machine where the PTX is not known: what orders
        // lanes leaves no word.
        bool apart = true;
        uint32_t threads(uint32_t lanes) const { return apart ? lanes : lanes & (0u - lanes); }
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

    // Who a warp is, as long as its CTA lives.
    struct Placed {
        sassemu_warp warp;
        Who who;
        uint64_t asked;  // of a scoped machine: after so many operations
        bool plain;      // all of its CTA's shared memory was
    };
    mutable std::array<Placed, 64> placed_{};
    size_t slot_of(sassemu_warp w) const {
        return std::hash<const void*>()(w) / 64 % placed_.size();
    }
    const Placed& placed(sassemu_warp w) const;
    Who find_place(sassemu_warp w) const;
    const Who& place(sassemu_warp w) const { return placed(w).who; }
    bool shared_is_plain(sassemu_warp w) const;
    bool gives_way(const Who& who);
    uint64_t performed_ = 1;

    // What fetch() has brought is forgotten at the end of this.
    class Fetched {
      public:
        explicit Fetched(DrivenMachine& driver) : far_(driver.far_.get()) {}
        Fetched(const Fetched&) = delete;
        Fetched& operator=(const Fetched&) = delete;
        ~Fetched() {
            if (far_) far_->forget();
        }

      private:
        FarBytes* const far_;
    };
    bool read(uint64_t address, void* to, uint32_t bytes) const;
    bool write(uint64_t address, const void* from, uint32_t bytes) const;
    void lost(uint64_t launch, const std::string& why) const;
    static void lost(const sassemu_access& a, uint32_t lanes, const std::string& why);
    std::string fetch(const Who& who, sassemu_operation what, const uint64_t* address,
                      uint32_t lanes);
    // Other processes are to see what comes before it: none may miss that afterwards.
    bool tells_others(const sassemu_operation& o) const;
    void client_fence(const Client& who);

    static sassemu_place of(const Who& w, unsigned lane);
    sassemu_operation of_client(const Client& who, sassemu_operation_kind kind, uint64_t address,
                                uint64_t bytes) const;
    uint32_t pick(uint32_t count);
    uint32_t draw(uint32_t count);  // of the driver's own
    bool defer(const sassemu_access& a);
    int load(const sassemu_access& a, const Who& who, const sassemu_location* where,
             uint32_t global, sassemu_operation what);
    int store(const sassemu_access& a, const Who& who, const sassemu_location* where,
              uint32_t global, sassemu_operation what);
    void stored();  // how long it may be on its way
    void load_elsewhere(const sassemu_access& a, const sassemu_location& where, unsigned lane,
                        uint8_t* value) const;
    sassemu_cta owner(sassemu_warp w, uint64_t linear) const;
    uint32_t ways(const sassemu_operation& o) const {
        return machine_.ways ? machine_.ways(self_, state_, &bytes_, &o) : 1;
    }
    uint32_t make_way(const sassemu_operation& o);
    // After the steps that it needs.
    void perform(const sassemu_operation& o, uint8_t* value);
    // Whether an operation of a warp, one for each of the lanes, is performed now. If not, none of
    // its lanes is, and a step is taken for the next try.
    template <class Of>
    bool ready(const Who& who, uint32_t lanes, Of&& of_lane);

    void finish(size_t index, uint32_t lanes);  // performs a held load
    void finish_same(const Who& who, const uint64_t* address, uint32_t lanes, unsigned bytes);
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
    std::unique_ptr<FarBytes> far_;  // null: all memory is of this process
    uint64_t writing_ = 0;           // the launch whose operation or step it is
    bool outside_ = false;           // another process is at the machine
    std::deque<Held> held_;
    std::vector<std::pair<Who, uint32_t>> waiting_;  // warps, and how often they tried
    bool gave_up_ = false;
    struct Launch {
        sassemu_launch handle;
        uint64_t id;
        uint32_t gpu;
        bool apart;  // Who::apart of its warps
    };
    std::vector<Launch> launches_;  // in flight
    // Warps that may have something on its way, by CTA and index; only with several in flight.
    std::map<std::pair<uint64_t, uint32_t>, Who> stored_;
    void remember(const Who& who) {
        if (bytes_.home) stored_.try_emplace({who.cta, who.warp}, who);
    }
    uint64_t random_ = 1, idle_ = 0, slices_ = 0;

    // ---- scoped machines
    // What is meant by an access or a barrier: by its PTX where that is known.
    struct Meant {
        uint8_t ordering = SASSEMU_WEAK, scope = SASSEMU_LEVEL_NONE;
        bool known = false;
        bool arrives_later = false;  // cp.async.mbarrier.arrive
        bool counts = false;         // an arrival at an object of sm_80: words that loads poll
        bool meets = false;          // WARPSYNC, not BSYNC
        bool late = false;           // a load that may be left open
    };
    // Objects of a kind that phases go on in: barriers of a CTA, a cluster, a warpgroup, a warp,
    // mbarriers.
    struct Phased {
        uint64_t number = 0, phase = 0;
    };
    struct Copies {  // of a warp: asynchronous operations of one kind
        struct One {
            uint64_t agent;
            uint32_t lanes;
            bool committed;
            uint64_t group;
        };
        std::vector<One> all;
        uint64_t groups = 0;
    };
    struct Scoped {
        std::unordered_map<sassemu_insn, Meant> meant;
        std::unordered_map<sassemu_insn, std::vector<sassemu_operation>> fences;
        uint32_t last_line = 0;                          // of the fence whose words are being read
        std::vector<sassemu_operation>* open = nullptr;  // of a MEMBAR.SC, until what follows it
        std::unordered_map<uint64_t, uint64_t> number_of;     // Who::cta -> as in addresses
        std::unordered_map<uint64_t, sassemu_cta> cta_of;     // and back to the CTA
        mutable std::pair<uint64_t, sassemu_cta> last_cta{};  // of cta_of
        uint64_t ctas = 0, objects = 0, pretended = 0;
        std::map<std::array<uint64_t, 3>, Phased> phased;
        std::map<std::array<uint64_t, 3>, Copies> copies;                // (CTA, warp, kind)
        std::unordered_map<uint64_t, std::vector<uint64_t>> reports;     // an arrival -> its copies
        std::map<std::pair<uint64_t, uint32_t>, uint64_t> in_cluster;    // (CTA, warp) -> its phase
        std::map<std::pair<uint64_t, uint32_t>, uint64_t> in_warpgroup;  // its arrivals
        // Warps that wait at a cluster's barrier.
        std::map<uint64_t, std::vector<std::pair<Who, uint32_t>>> leaving;
        uint32_t arriving = 0;  // lanes of the last instruction that order() was told of
        std::vector<std::byte> shown;
        struct Landing {  // of bytes that come in front of what is there
            sassemu_operation what;
            uint32_t way;
            std::array<uint8_t, 16> before;
        };
        std::vector<Landing> landing;
        // One access in so many gives others a turn; which warps are slow, and bit 0: whether any;
        // how often each of them will still give way.
        uint32_t pause = 16, slow = 0;
        std::unordered_map<uint64_t, uint32_t> late;
    };
    Scoped scoped_;
    void begin_scoped();
    sassemu_cta shared_of(uint64_t address) const;  // null: the CTA is over
    const Meant& meant(sassemu_insn i);
    void show_meant(sassemu_insn i, sassemu_operation& o);
    uint32_t map(const Who& who, const sassemu_location* where, uint32_t lanes, uint64_t* out);
    uint64_t map(const Who& who, const sassemu_location& where) const;
    int issue_scoped(const sassemu_access& a);
    void load_pieces(const sassemu_access& a, const Who& who, const sassemu_location* where,
                     const uint64_t* address, uint32_t mapped, sassemu_operation what);
    void machine_loads_newest(const Who& who, const uint64_t* address, uint32_t lanes,
                              sassemu_operation what);
    void sync_scoped(const sassemu_sync& e);
    void observe(const sassemu_place& from, const std::vector<uint64_t>& agents);
    Phased& phased(uint64_t kind, uint64_t a, uint64_t b);
    void arrive(const Who& who, uint32_t lanes, const Phased& at, uint8_t ordering, uint8_t scope);
    void wait(const Who& who, uint32_t lanes, const Phased& at, uint64_t phase, uint8_t ordering,
              uint8_t scope);
    void meet_warp(const Who& who, uint32_t lanes);
    void leave_cluster(const Who& who, uint32_t lanes, uint64_t cluster);
    void count_arrival(const Who& who, const sassemu_place& from, const sassemu_sync& e);
    // `owner`: of the object, where that counts as the place of the arrival.
    void arrive_agent(const Who& who, uint64_t agent, const Phased& at, uint8_t scope,
                      const Who* owner = nullptr);
    void commit(const Who& who, uint32_t lanes, uint32_t kind);
    void wait_groups(const Who& who, uint32_t lanes, uint32_t kind, uint32_t left);
    sassemu_place agent_place(const Who& who, uint64_t id) const;
    void changes(const Who& who, sassemu_operation o, const sassemu_location& at, uint64_t count,
                 bool reduce);
    // ---- reads that may be late (driven_late_reads.cpp)
    struct LateReads {
        struct Passed {  // by a store: what that load has found
            sassemu_insn load;
            uint8_t offset, bytes;
        };
        struct Open {
            uint32_t lanes = 0;
            uint64_t name[32];
        };
        bool possible = false;  // some code has asynchronous writes to shared memory
        std::unordered_map<sassemu_insn, std::unique_ptr<SectionPaths>> sections;
        std::unordered_map<sassemu_insn, std::vector<Passed>> passed;       // by store
        std::map<std::tuple<uint64_t, uint32_t, sassemu_insn>, Open> open;  // (CTA, warp, load)
        uint64_t names = 0;
    };
    LateReads late_reads_;
    void look_for_late_reads(const Event& e);
    bool may_be_late(sassemu_insn load);
    void leave_open(sassemu_insn load, const Who& who, const uint64_t* address, uint32_t lanes,
                    uint32_t mapped, unsigned bytes);
    void pass_on(sassemu_insn store, const Who& who, const uint64_t* address, uint32_t lanes);
    void forget_late_reads(uint64_t cta);
    uint32_t choose_way(const sassemu_operation& o, uint32_t ways);
    bool is_plain(const sassemu_operation& o, uint64_t bytes, uint32_t lanes) const {
        return SASSEMU_HAS(&machine_, sassemu_machine, plain) && machine_.plain &&
               machine_.plain(self_, state_, &o, bytes, lanes);
    }
};

}  // namespace sassemu
