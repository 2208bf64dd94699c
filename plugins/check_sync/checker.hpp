// SPDX-License-Identifier: Apache-2.0
// The checker: takes the events of a run one after the other, keeps what every lane knows, and
// judges every access. What belongs here: its state. accesses.cpp has accesses to data, copies.cpp
// those that happen later, events.cpp everything that orders them.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "columns/columns.hpp"
#include "findings.hpp"
#include "findings/findings.hpp"
#include "meaning.hpp"
#include "order.hpp"
#include "shadow.hpp"
#include "undefined.hpp"

namespace check_sync {

using findings::hex;

struct Copy {  // an asynchronous operation that has been issued and not performed
    Warp* warp = nullptr;
    uint32_t lanes = 0, insn = 0;
    Issue by;
    // An arrival: lanes, and their groups that it waits for, of LDGSTS or of tensor core work.
    std::vector<std::pair<uint32_t, uint32_t>> awaits;
    Component awaited = 0;
    Knowledge seen;  // Order::commit
    struct Range {
        bool shared, tensor;  // tensor: shared too, as it is one CTA's
        uint64_t owner, address, end;
        // Of one that it writes:
        Stamp stamp;
        uint32_t lane = 0;
        std::pair<uint64_t, uint32_t> mbarrier;  // that is told of it
    };
    std::vector<Range> writes;
    struct Value {  // that a finding lacks until it is performed
        Side* side;
        Range at;
    };
    std::vector<Value> values;
};

struct Mbarrier {
    Component id = 0;
    uint32_t phases = 1;  // that have begun
    // Bytes of copies have the clock `id`, those of st.async the next: who waits for them needs
    // the scope of their release.
    Component stored() const { return id + 1; }
    Channel arriving, over;  // of this phase; of those before
    uint32_t init_warp = 0, init_lanes = 0, init_epoch = 0, init_insn = 0;
    uint32_t expect_insn = 0;
    int64_t transactions = 0;
    bool from_afar = false;                // st.async of another CTA has counted on it
    bool brought = false;                  // some bytes of this phase have come
    bool counts = false, counted = false;  // bytes, in this phase; in the one before
    struct Told {                          // whose store was told last
        uint32_t warp = 0, phase = 0;
        Issue by;
    } told;
};

struct ThreadName {  // of a warp; or of all threads of a launch before
    uint64_t cta, cluster;
    sassemu_dim3 id;
    uint32_t warp;
    uint64_t launch;  // not 0
    std::string kernel;
    uint32_t gpu = 0;
    Place place() const { return {cta, cluster, gpu}; }
};

// A launch in flight. CTAs are numbered through all of them.
struct Run {
    sassemu_launch handle = nullptr;
    uint64_t id = 0;
    std::string kernel;
    uint32_t gpu = 0, system_shared = 0, own_shared = 0;
    uint64_t first_cta = 0, end_cta = 0;
    uint32_t first_name = 0;
    View known, shown;  // what was over when it began
};

class Checker : public sassemu::Plugin {
  public:
    static constexpr auto name = "check-sync";
    static constexpr auto summary = "finds missing and too strong synchronisation of memory";
    static constexpr auto threading = SASSEMU_SERIAL;
    static constexpr bool in_flight = true;
    static constexpr uint32_t spaces =
        SASSEMU_SPACE_BIT(SASSEMU_GLOBAL) | SASSEMU_SPACE_BIT(SASSEMU_SHARED) |
        SASSEMU_SPACE_BIT(SASSEMU_GENERIC) | SASSEMU_SPACE_BIT(SASSEMU_TEXTURE) |
        SASSEMU_SPACE_BIT(SASSEMU_SURFACE);
    static constexpr uint64_t sync_ignored =
        1u << SASSEMU_SYNC_SCOREBOARD | 1u << SASSEMU_SYNC_LOAD_RETURN;
    static constexpr sassemu_option options[] = {
        findings::json_option,
        findings::sarif_option,
        findings::suppressions_option,
        findings::baseline_option,
        findings::runs_option,
        {"too_strong", "0|1", "what is stronger than needed counts as found too (0)"},
        {"surfaces", "0|1",
         "surfaces too: what is written through one is not read through one in the same launch "
         "(0)"},
        {"verdict", "both|strict|common",
         "by the letter, by what is commonly relied on, or both (the default)"}};

    explicit Checker(const sassemu::Start& start);

    void module_load(sassemu_module m) {
        meanings_.forget_handles();
        if (undefined_) undefined_->module_load(m);
        shown_.clear();
        wgmma_modules_.clear();
        register_uses_.clear();
    }
    void launch_begin(sassemu_launch l);
    void launch_end(sassemu_launch, const char* status);
    void cta_begin(sassemu_cta c);
    void cta_end(sassemu_cta c);
    uint32_t select(sassemu_insn i);
    void before(sassemu_warp, sassemu_insn, uint32_t lanes);
    void after(sassemu_warp, sassemu_insn, uint32_t lanes);
    void records(const sassemu_records& r) { undefined_->records(r); }
    void access_issue(const sassemu_access& a);
    void fence(const sassemu_fence& f);
    void cache(const sassemu_cache_op& c);
    void sync(const sassemu_sync& s);
    void async(const sassemu_async& a);
    void allocate(const sassemu_allocation& a);
    void client(const sassemu_client_access& c);
    void fault(const sassemu_fault_info& f);
    void finish();

  private:
    // An access of lanes that are alike but for the place, or one range of a copy.
    struct Touch {
        Warp* warp;
        Group* group;
        Stamp stamp;  // of all its lanes
        StampId id;
        bool write, shared, by_letter, tensor, frees;  // frees: columns of tensor memory
        uint64_t owner, base;  // of the block: shared memory's CTA; address of the first byte
        const sassemu_access* access;  // NULL: a copy by the async proxy
        Copy* copy;                    // NULL: an access that takes place now
        // What is in order before it, by the last look.
        StampId fine_write;
        uint32_t fine_readers;
        // The cell and the lane that are looked at.
        uint64_t address;
        uint32_t bytes, lane;
        Stamp before, older;    // its writes
        const char* relied_on;  // of what is found: see Wrong
    };
    struct Wrong {
        FindingKind kind;
        bool common;                      // not by the letter only
        const char* relied_on = nullptr;  // why by the letter only, where the places do not say so
    };
    // Races that are wrong by the letter only: relied.cpp.
    std::unordered_map<uint64_t, std::vector<Stamp>> alike_;  // by byte: writers of one value
    bool writes_alike(const Stamp& earlier, bool earlier_writes, const Touch& t);
    bool waited_for(FindingKind kind, const Stamp& earlier, const Touch& t) const;
    Wrong out_of_order(const Stamp& earlier, bool earlier_writes, const Touch& t);
    void fold_letter();
    bool modelled_ = false;  // what memory holds says little of values: a model has them
    std::unordered_map<Component, uint32_t> exited_;  // threads that barriers went on without
    bool has_exited(const Stamp& earlier) const {
        const auto at = exited_.find(earlier.who);
        return at != exited_.end() && at->second & earlier.lanes;
    }
    using LaneMasks = std::array<uint32_t, 32>;

    Warp& warp_of(sassemu_warp w) {
        Recent& r = recent_[reinterpret_cast<uintptr_t>(w) / 64 % recent_.size()];
        if (r.handle != w) r = {w, &warps_.at(w)};
        if (r.warp->launch != launch_) enter(r.warp->launch);
        return *r.warp;
    }
    // Several launches in flight: flight.cpp.
    void enter(uint64_t launch);
    struct Past {
        View known, shown;  // to every rule, and to the async proxy
    };
    Past past(const Warp* client = nullptr);
    void leave_flight(sassemu_launch l);
    void settle_flight();
    Warp& client_thread(bool host);
    void touch_client(Warp& w, const sassemu_client_access& c, uint64_t address, uint32_t bytes);
    uint64_t first_cta() const { return run_ ? run_->first_cta : 0; }
    sassemu_cta_info numbered(sassemu_cta c);
    const sassemu_location* located(const sassemu_access& a);
    bool is_client(Component who) const {
        return who < first_mbarrier && who / 4 < names_.size() && names_[who / 4].gpu >= of_streams;
    }
    void begin_grid(bool may_overlap);
    void settle_grids();
    void begin_in_grid(Warp& w);
    void wait_for_grid(Warp& w, uint32_t lanes);
    void running(Warp& w, sassemu_warp handle);
    void guarded(Warp& w, uint32_t lanes, bool orders);
    void touch(Touch& t, uint32_t lanes, const sassemu_location* at, uint32_t bytes);
    void touch_space(Touch& t, uint32_t lanes, const sassemu_location* at, uint32_t bytes);
    void touch_row(Touch& t, Block& b, uint32_t first, uint32_t units, uint32_t per,
                   const uint32_t* masks);
    void touch_cells(Touch& t, Block& b, uint32_t first, uint32_t count, uint32_t lanes);
    void read_only(Touch& t, uint32_t lanes, const sassemu_location* at, uint32_t bytes);
    void read_map(Warp& w, uint32_t lanes, uint32_t insn, const sassemu_location& at,
                  uint64_t bytes);
    Finding* new_finding(FindingKind kind, uint32_t insn);
    void breaks_rule(FindingKind kind, const Warp& w, uint32_t lanes, uint32_t insn,
                     const char* action, const std::string& what, const std::string& repair);
    void misused(const Warp& w, uint32_t lanes, uint32_t insn, const std::string& what,
                 const std::string& repair) {
        breaks_rule(FindingKind::barrier_misuse, w, lanes, insn, "arrives at a barrier", what,
                    repair);
    }
    void pack_barrier(Warp& w, sassemu_warp handle, sassemu_insn i, uint32_t lanes);
    bool knows(const Stamp& s, const Touch& t);
    // Whether all these lanes know that it has been executed.
    static bool knows(const Warp& w, uint32_t lanes, const Entry& e) {
        return std::all_of(w.groups.begin(), w.groups.end(), [&](const Group& g) {
            return !(g.lanes & lanes) || g.now[executed].covers(e.who, e.lanes, e.epoch);
        });
    }
    Order::Level level_between(Component who, const Warp& w) const;
    void shown_by_fence(const Stamp& earlier, const Touch& t);
    bool passes(StampId id, bool wrote, Touch& t);
    bool readers_pass(const Block& b, uint32_t cell, uint32_t lanes, Touch& t);
    void add_reader(Touch& t, Block& b, uint32_t cell, uint32_t lanes);
    void list_reader(Touch& t, Block& b, uint32_t cell, uint32_t lanes);
    void visit(Touch& t, Block& b, uint32_t cell, uint32_t lanes);
    // Reads of shared memory before any write: by CTA, address and instruction.
    std::unordered_map<uint64_t, std::set<std::pair<uint32_t, uint32_t>>> unwritten_;
    // Loads of what nobody has written whose values are followed, by the origin that these have
    // there; that by CTA, place and instruction.
    struct UnwrittenLoad {
        sassemu_warp warp = nullptr;
        Stamp stamp;
        uint64_t owner = 0, address = 0;
        uint32_t bytes = 0;
        bool shared = false, used = false;
        std::string value;
    };
    std::vector<UnwrittenLoad> unwritten_loads_{UnwrittenLoad{}};
    std::map<std::tuple<uint64_t, uint64_t, uint32_t>, Origin> origins_;
    bool read_unwritten(Touch& t, uint32_t lanes);
    bool is_followed(const Touch& t) const;
    void used_unwritten(Origin from, sassemu_insn insn, const char* what);
    bool is_written(sassemu_cta c, uint32_t address);
    void look_at_unwritten(uint64_t owner);
    std::optional<Wrong> check(const Stamp& earlier, bool earlier_writes, const Touch& t);
    std::optional<Wrong> check_tensor(const Stamp& earlier, bool earlier_writes,
                                      const Touch& t) const;
    void issue_tensor(Copy& c);
    bool tensor_text(Warp& w, uint32_t lanes, const Meaning& m);
    void describe_tensor(Finding& f, const Stamp& earlier, const Touch& t) const;
    // Columns of tensor memory: columns.cpp.
    void change_columns(Warp& w, sassemu_warp handle, sassemu_insn i, uint32_t lanes);
    void free_columns(Warp& w, uint32_t lanes, uint32_t insn, uint64_t cta, uint32_t granules);
    void left_columns(uint64_t cta);
    void columns_fault(const sassemu_fault_info& f, uint32_t insn);
    std::unordered_map<uint64_t, columns::Columns> columns_;  // by CTA
    std::vector<uint32_t> column_operands_;                   // of the UTCATOMSWS at work
    // wgmma: wgmma.cpp.
    struct RegisterUse {
        enum Kind { other, fence, multiply, wait } kind = other;
        uint32_t insn = 0;
        bool closes = false;  // multiply: its group
        uint32_t left = 0;    // wait: groups
        Registers read, written;
    };
    uint32_t of_meaning(sassemu_insn i);
    // Whether before() is called for what the instruction means, too.
    bool shown(sassemu_insn i) {
        const auto [at, fresh] = shown_.try_emplace(i);
        if (fresh) at->second = of_meaning(i) & SASSEMU_BEFORE;
        return at->second;
    }
    std::unordered_map<sassemu_insn, bool> shown_;
    bool has_wgmma(sassemu_insn i);
    const RegisterUse& use_of(sassemu_insn i);
    bool follow_wgmma(Warp& w, sassemu_insn i, uint32_t lanes);
    void use_registers(Warp& w, const RegisterUse& u, uint32_t lanes);
    void multiply(Warp& w, const RegisterUse& u, uint32_t lanes);
    void registers_met(FindingKind kind, const Warp& w, uint32_t lanes, uint32_t first,
                       bool first_writes, uint32_t second, bool second_writes,
                       const Registers& both);
    void learn_of_group(Warp& w, uint32_t lanes);
    void touch_wgmma(const sassemu_async& a, Copy& copy);
    void describe_wgmma(Finding& f, const std::string& after) const;
    Block& tensor_memory(uint64_t cta);
    void judge(const Stamp& earlier, bool earlier_writes, uint32_t lanes, Touch& t);
    void found(FindingKind kind, bool common, const Stamp& earlier, bool earlier_writes,
               const Touch& t);
    void describe(Finding& f, const Stamp& earlier, bool earlier_writes, const Touch& t);
    FindingKind why(const Stamp& earlier, bool earlier_writes, const Touch& t) const;
    void synchronise(Warp& w, const sassemu_access& a, uint32_t insn, const sassemu_location* at,
                     uint32_t lanes, bool reads, bool writes);
    void stated_fence(Warp& w, uint32_t lanes, const Meaning& m, uint32_t insn);
    void unfinished_copies(const Warp& w);
    void mbarrier(const sassemu_sync& s);
    void wait_for_groups(Warp& w, const sassemu_sync& s, uint32_t kind);
    Mbarrier& mbarrier_at(uint64_t owner, uint32_t address);
    void initialised(const Mbarrier& b, Warp& w, uint32_t lanes, uint32_t insn, uint64_t owner,
                     uint32_t address);
    void issue_copy(const sassemu_async& a);
    void await_copies(Copy& c);
    void touch_copy(const sassemu_async& a, Copy& copy);
    void keep_map(const sassemu_async& a, Copy& copy);
    // Requests for work that were answered by "none", by CTA: what tells of the answer.
    std::unordered_map<uint64_t, Entry> no_work_;
    void ask_for_work(Warp& w, uint32_t lanes, uint32_t insn);
    void answered(const Copy& copy);
    Touch touch_of(Copy& copy, const Copy::Range& r);
    template <class Visit>
    void each_stretch(Touch& t, const Copy::Range& r, Visit&& visit);
    void touch_range(Touch& t, const Copy::Range& r);
    void missed_phase(Copy& copy, Copy::Range& r, uint32_t phase);
    void complete_copy(const sassemu_async& a);
    void leave_copies();
    void reported(const sassemu_sync& s, Copy& copy, Mbarrier& b);
    bool value_at(const Copy::Range& at, std::string& value);
    std::string stored_value(const Touch& t, uint32_t bytes) const;
    void values_of(Finding& f, const Stamp& earlier, bool earlier_writes, const Touch& t);
    void report_transactions(bool waited_for);
    bool from_other_grid(const Stamp& s) const {
        return s.who < first_mbarrier && s.who / 4 < names_.size() && names_[s.who / 4].launch;
    }
    std::string thread_text(Component who, uint32_t lanes) const;
    std::string place_text(uint32_t insn) const;
    Checker(const Checker& of, std::map<uint32_t, Weaker> weaker);  // a trial
    bool weaken(uint32_t insn, Weaker& as) const;
    void begin_trial();
    void look_at_trial();
    void end_trial();
    std::vector<TooStrong> too_strong() const;
    nlohmann::ordered_json finding_json(const Finding& f) const;
    nlohmann::ordered_json strong_json(const TooStrong& s) const;

    std::unique_ptr<Meanings> own_meanings_;
    Meanings& meanings_;
    std::unique_ptr<Undefined> undefined_;  // a trial has none
    Order order_;
    Shadow shadow_;
    Findings findings_;
    std::shared_ptr<findings::Report> report_;  // a trial has none
    std::string verdict_;
    bool surfaces_ = false, strong_counts_ = false;
    // What is weaker here than in the program: in a trial, which follows the same run as the
    // checker that it belongs to, and finds nothing that this does not find where the weaker would
    // do.
    std::map<uint32_t, Weaker> weaker_;
    bool is_trial_ = false;
    std::unique_ptr<Checker> trial_;
    struct Trials {
        std::vector<TooStrong> candidates;       // by the last run
        std::map<std::string, uint64_t> proved;  // by line: runs
        std::set<std::string> refused, running;
        size_t batch = ~size_t{0};
        bool failed = false;
    } trials_;
    std::vector<Run> runs_;
    const Run* run_ = nullptr;  // whose event this is
    bool flight_ = false;       // others may be at work beside a launch
    Warp host_, streams_;       // what the host does, and what is in streams besides kernels
    // NVSHMEM (nvshmem.cpp): what has come to a GPU, by a flag there, of what was sent to it.
    bool nvshmem_ = false;  // somebody uses it
    std::map<int32_t, View> arrived_;
    int32_t home_of(uint64_t address) const;
    void nvshmem_fence(Warp& w, uint32_t lanes, uint32_t insn);
    void arrived(const Channel& flag, uint64_t word);
    bool is_put(const Stamp& writer, uint64_t address) const;
    bool sent_only(const Stamp& writer, const Touch& t) const;
    bool on_its_way(const Stamp& writer, const Touch& t) const;
    void advise_nvshmem(Finding& f, const Stamp& earlier, const Touch& t) const;
    std::vector<Entry> ended_;  // all that launches did that are over
    View over_, over_shown_;    // the same as views
    sassemu_location located_[32];
    std::string kernel_;
    uint64_t launch_ = 0;
    // Shared memory of the program: before and behind it lies the system's, which is not checked.
    uint32_t system_shared_ = 0, own_shared_ = 0;
    struct Grid {  // the running launch
        bool running = false, triggered = false, has_waited = false;
        uint32_t first = 1;                // its first name
        std::vector<Component> known;      // launches that had ended before it began
        std::vector<Component> awaited;    // and those that it learns of by griddepcontrol.wait
        std::vector<Component> by_chance;  // those that had ended, by the letter unknown
    } grid_;
    std::unordered_map<sassemu_warp, Warp> warps_;
    struct Recent {
        sassemu_warp handle = nullptr;
        Warp* warp = nullptr;
    };
    std::array<Recent, 256> recent_{};             // of warps_
    std::vector<ThreadName> names_{ThreadName{}};  // by warp id
    std::unordered_map<uint64_t, sassemu_cta> ctas_;
    struct Flag {
        Channel channel;
        View gathered;  // what the CTAs of its writers had done, see Gathered
        struct Reader {
            uint32_t warp, power;  // 0: it does not acquire; 1: .cta, ...
            uint32_t lanes;
        };
        std::vector<Reader> readers;  // of this very value
        uint32_t& lanes_of(uint32_t warp, const Acquire& how) {
            const uint32_t power = how.acquires ? 1u + how.reach : 0u;
            for (Reader& r : readers)
                if (r.warp == warp && r.power == power) return r.lanes;
            return readers.emplace_back(Reader{warp, power, 0}).lanes;
        }
        bool has_read(uint32_t warp, uint32_t lane) const {
            for (const Reader& r : readers)
                if (r.warp == warp && r.lanes >> lane & 1) return true;
            return false;
        }
    };
    // What the flags in global memory that any thread of a CTA has read tell of other CTAs, were
    // every CTA in step with the thread that handles its flags.
    struct Gathered {
        View seen, done;    // done: by the CTA's own threads
        uint64_t when = 0;  // sum of their epochs then
    };
    std::unordered_map<uint64_t, Gathered> gathered_;  // by CTA
    const View& done_in(const Warp& w);
    bool use_flag(Flag& f, Warp& w, const sassemu_access& a, uint32_t insn, uint32_t lanes,
                  bool shared, bool reads, bool writes);
    bool has_heard(uint64_t reader, uint64_t writer) const;
    const View& gathered(const Warp& w) { return gathered_[w.place.cta].seen; }
    uint64_t& flag_bit(bool shared, uint64_t key, uint64_t& bit) {
        const uint64_t hash = (key >> 2) * 0x9e3779b97f4a7c15u >> 52;
        bit = uint64_t{1} << hash % 64;
        return maybe_flags_[shared][hash / 64];
    }
    std::array<uint64_t, 64> maybe_flags_[2]{};  // a word whose bit is not set is none
    std::unordered_map<uint64_t, Flag>
        flags_[2];  // words that threads synchronise through: global; shared by (CTA, offset)
    struct Barrier {
        std::vector<Order::Arrival> waiting;  // what they know does not change until they have met
        Channel arrived;                      // those that do not wait
        uint32_t reduces = 0;                 // its phase: 1 no, 2 yes, 0 nobody has come yet
        bool of_all = false;                  // threads of the CTA
        // Where warps arrive without waiting: the clock of its phases, who has come to this one,
        // and the last arrival of each, with all who came once its phase is over.
        Component id = 0;
        uint32_t phase = 1;
        std::vector<Entry> came;
        struct Last {
            uint32_t phase = 0, lanes = 0;
            std::vector<Entry> with;
        };
        std::unordered_map<uint32_t, Last> last;  // by warp id
    };
    std::map<std::pair<uint64_t, uint32_t>, Barrier> barriers_;  // by CTA and number
    struct Warpgroup {
        // WARPGROUP.ARRIVE and .WAIT: two phases, since a warp may have arrived in the next one
        // when another is told that it goes on.
        Channel arrived[2];
        std::map<uint32_t, uint32_t> arrivals;  // by warp id
        uint32_t phases = 0;                    // that have begun
        // wgmma: what has been let go before each group was closed, and the last group of which
        // each warp has learnt that.
        std::map<uint32_t, View> issued;
        std::array<uint32_t, 4> learnt{};
    };
    std::map<std::pair<uint64_t, uint32_t>, Warpgroup> warpgroups_;  // by CTA and number
    void arrive_at_barrier(Warp& w, const sassemu_sync& s, uint32_t insn);
    void complete_barrier(Barrier& b, uint64_t cta);
    void never_gathered();
    void arrives_again(Barrier& b, Warp& w, const sassemu_sync& s, uint32_t insn);
    struct ProxyFence {
        uint32_t epoch, lanes, insn;
        bool shared, global;
    };
    static constexpr size_t most_proxy_fences =
        32;  // per warp; one that is dropped counts as needed
    std::vector<std::vector<ProxyFence>> proxy_fences_;  // by warp id
    void proxy_fence(Warp& w, uint32_t lanes, uint32_t insn, bool shared, bool global);
    void remote(Warp& w, uint32_t lanes, uint32_t insn, uint64_t owner);
    bool has_begun(Warp& w, uint32_t lanes, uint64_t owner);
    // What a pair's tcgen05.alloc does in each of its CTAs, up to the first dealloc there.
    struct PairAlloc {
        uint32_t warp = 0, lane = 0, epoch = 0;
        bool over = false;
    };
    std::unordered_map<uint64_t, PairAlloc> pair_allocs_;
    void allocates_pair(Warp& w, uint32_t lanes, const Meaning& m);
    void frees_pair(Warp& w, uint32_t lanes, uint32_t insn);
    struct ClusterBarrier {
        Channel arriving, over;
        std::unordered_map<uint32_t, uint32_t> arrived;  // warp id -> lanes, of this phase
        std::vector<uint32_t> insns;                     // that arrive, of this phase
        uint32_t meeting = 0;                            // of the phase that is over
        bool remote = false;  // a CTA has used another one's shared memory since: it must have
                              // begun, and still be there
        struct Waiting {
            sassemu_warp warp;
            uint32_t lanes, insn;
        };
        std::vector<Waiting> waiting;  // that came before the phase was over
    };
    void leave(const ClusterBarrier& b, sassemu_warp handle, uint32_t lanes, uint32_t insn);
    std::map<uint64_t, ClusterBarrier> cluster_barriers_;
    std::map<std::pair<uint64_t, uint32_t>, Mbarrier> mbarriers_;
    // Where objects of chips before sm_90 lie, in any CTA: two counters, which ordinary stores and
    // atomics change and ordinary loads test.
    std::set<uint32_t> counters_;
    uint32_t use_counters(Warp& w, const sassemu_access& a, uint32_t insn,
                          const sassemu_location* at);
    void adopt(Mbarrier& b, uint64_t owner, uint32_t address);
    void arrive(Mbarrier& b, Warp& w, uint32_t lanes, uint32_t insn, uint64_t owner);
    void test(Mbarrier& b, Warp& w, uint32_t lanes, uint32_t insn);
    void initialise(Mbarrier& b, Warp& w, uint32_t lanes, uint32_t insn);
    void may_be_early(const Mbarrier& b, const Warp& w, uint32_t lanes, uint32_t insn);
    Component next_mbarrier_ = first_mbarrier;
    std::map<uint64_t, Copy> copies_;    // by number
    std::vector<Copy::Value> changing_;  // values that the running instruction is about to make
    std::unordered_map<sassemu_module, bool> wgmma_modules_;
    std::unordered_map<sassemu_insn, RegisterUse> register_uses_;
    bool names_wgmma_ = false;  // this run has wgmma, and so no tcgen05
    std::set<uint64_t> seeds_;
    std::pair<uint64_t, uint64_t> heap_;  // of device malloc: not checked
};

}  // namespace check_sync
