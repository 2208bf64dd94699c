// SPDX-License-Identifier: Apache-2.0
// The `weak` machine: memory that shows each thread what the axioms of PTX's memory consistency
// model cannot forbid it to see.
//
// Every store waits, for each observer by itself, until something makes the observer see it: memory
// has the newest value of every byte, and a store keeps what it replaced. A load finds the newest
// value, or an older one, back to the last store that comes before it in causality order: which
// that is, the knowledge of its thread says (knowledge.hpp). So the queue in which a store waits
// is one for each observer and proxy, and what empties it is a release at the one end and an
// acquire at the other, in scope; what a proxy fence does not show to a proxy, stays in that
// proxy's queue.
//
// Sound: stores reach memory in one order, which is the coherence order; what has been seen is
// never unseen; whatever might be read as order of PTX counts as order here. Where the axioms admit
// more, this machine shows less: coherence of racing stores is total, an acquire takes all that its
// thread has read, a restriction of a fence to some objects is one to their state space.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_map>

#include "knowledge.hpp"
#include "late_reads.hpp"

namespace weak {

constexpr unsigned most_bytes = 16;  // of an access, which lies in one granule of so many
constexpr uint64_t shared_space = uint64_t{1} << 63;  // SASSEMU_MACHINE_SHARED

class Memory {
  public:
    virtual ~Memory() = default;
    virtual bool read(uint64_t address, uint8_t* to, unsigned bytes) = 0;  // false: not there
    virtual void write(uint64_t address, const uint8_t* from, unsigned bytes) = 0;
};

enum class Via : uint8_t {
    generic,
    async,
    tensormap,
    uncoherent,  // texture, constant: no fence
    object       // an mbarrier's, by a thread that is about to use it
};

struct Order {
    bool strong = false, acquires = false, releases = false, sc = false;
    Reach reach = cta;
};
struct Who {
    Thread thread = 0;
    Place place;
};
struct Access {
    Who who;
    uint64_t address = 0;
    unsigned bytes = 0;
    Via via = Via::generic;
    Order order;
    bool shared() const { return address & shared_space; }
};
struct Fence {
    Order order;
    bool shared_alone = false, inits_alone = false;  // restricted
    bool to_async = false, to_tensormap = false;     // a proxy fence
    bool global = true, shared = true;               // of to_async: objects that it shows
};

// A T that few have; the others have an empty one.
template <class T>
class Rare {
  public:
    Rare() = default;
    Rare(const Rare& other) : at_(other.at_ ? std::make_unique<T>(*other.at_) : nullptr) {}
    Rare& operator=(const Rare& other) { return *this = Rare(other); }
    Rare(Rare&&) = default;
    Rare& operator=(Rare&&) = default;
    const T& get() const {
        static const T empty{};
        return at_ ? *at_ : empty;
    }
    T& make() {
        if (!at_) at_ = std::make_unique<T>();
        return *at_;
    }

  private:
    std::unique_ptr<T> at_;
};

// Where elements of a map are that were looked for lately. A copy of the map has none.
template <class T>
class Recent {
  public:
    Recent() = default;
    Recent(const Recent&) {}
    Recent& operator=(const Recent&) {
        places_.reset();
        return *this;
    }
    T* find(uint64_t key) const {
        return places_ && slot(key).first == key ? slot(key).second : nullptr;
    }
    void put(uint64_t key, T* at) {
        if (!places_) places_ = std::make_unique<Places>();
        slot(key) = {key, at};
    }
    void forget(uint64_t key) {
        if (find(key)) slot(key).second = nullptr;
    }

  private:
    using Places = std::array<std::pair<uint64_t, T*>, 1024>;
    std::pair<uint64_t, T*>& slot(uint64_t key) const {
        return (*places_)[(key ^ key >> 10) % std::tuple_size_v<Places>];
    }
    std::unique_ptr<Places> places_;
};

class Machine {
  public:
    explicit Machine(std::vector<Who> everybody = {});

    unsigned ways(const Access&) const;
    void load(Memory&, const Access&, unsigned way, uint8_t* value);
    // Of the async proxy: in front of how many stores it can come that it does not know; and where
    // reads may be late (below), in front of these, which is the last way.
    unsigned ways_to_store(const Access&) const;
    void store(Memory&, const Access&, const uint8_t* value, unsigned way = 0);
    // The bytes are written right after it; `modifies`: and read, by one operation, which finds the
    // newest value or an older one: that is put there. `together`: not seen apart from the change
    // before it.
    unsigned ways_to_modify(const Access&) const;
    void before_change(Memory&, const Access&, bool modifies, bool together = false,
                       unsigned way = 0);
    bool plain(const Access&, uint64_t bytes, uint32_t lanes) const;

    // ---- reads that may be late (late_reads.cpp)
    // The thread has just read these bytes; nothing but stores that pass_on() names have the value.
    // Names are never used again.
    void leave_open(const Access&, uint64_t name);
    // It has just stored that there, all of it or its first bytes.
    unsigned ways_to_pass_on(uint64_t name) const;
    void pass_on(Memory&, const Access&, uint64_t name, unsigned way);

    void fence(const Who&, const Fence&);
    void arrive(const Who&, uint64_t barrier, uint64_t phase, const Order&);
    void wait(const Who&, uint64_t barrier, uint64_t phase, const Order&);
    void issue(const Who&, Thread agent);
    void observe(const Who&, Thread agent);

    // ---- memory of several processes (apart.cpp)
    // Before each operation and after it. The host stands for all that is in other processes.
    void begins(const Who&, const Order&);
    void ends(const Who&, const Order&);
    // Stores have to be sent first, so that no other process misses them.
    bool waits(const Order& of_fence) const;
    bool waits(const Access&, bool elsewhere) const;
    // Accesses to memory of another process, which performs them when they get there.
    void load_elsewhere(Memory&, const Access&, uint8_t* value);
    void store_elsewhere(const Access&, const uint8_t* value);
    void change_elsewhere(const Access&);
    std::vector<size_t> sendable() const;
    Thread sender(size_t store) const { return posted_[store].thread; }
    void send(Memory&, size_t store);
    uint64_t posted() const { return posted_.size(); }

    // Old values that somebody has found instead of new ones since the last call are given up.
    uint64_t settle(bool count_only);
    void forget_values();  // all old ones; order is kept
    std::string key() const;

  private:
    struct Write {
        uint64_t address = 0;
        unsigned bytes = 0;
        bool async = false, strong = false;
        bool undoable = true;   // what it replaced may still be found
        bool together = false;  // with the one before it of these bytes, or not at all
        bool atomic = false;
        Reach reach = cta;  // of a strong one
        std::array<uint8_t, most_bytes> old{};
        Thread writer = 0;
        Stamp stamp = 0;
        Rare<Edges> gives;  // few have any
        Rare<std::vector<View::Entry>> readers;
        bool overlaps(uint64_t a, unsigned n) const {
            return a < address + bytes && address < a + n;
        }
        bool covers(const Write& other) const {
            return address <= other.address && other.address + other.bytes <= address + bytes;
        }
    };
    struct Granule {
        std::vector<Write> writes;  // in coherence order
        bool missed = false;        // it is among missed_
    };
    using Granules = std::unordered_map<uint64_t, Granule>;
    // Who has written to a piece of memory, and up to when.
    struct Region {
        std::vector<View::Entry> writers;  // by thread
        Stamp last = 0;
        mutable View known_by;  // who knows all of it, as of `known_at`
        mutable Stamp known_at = 0;
    };
    // That threads from `thread` on, those of `lanes`, know all of a region; nobody forgets.
    struct Looked {
        uint64_t region = 0;
        Thread thread = 0;
        Stamp last = 0;
        uint32_t lanes = 0;
    };
    struct Actor {
        Place place;
        bool agent = false;
        Knowledge now;
        std::array<std::shared_ptr<const Snapshot>, reaches> fenced;
        std::array<Knowledge, reaches> acquirable;  // read from that far away
        View maps;                                  // shown to the tensormap proxy here
        View before_maps;                           // what was in order before that
        Thread maps_by = ~Thread{0};                // who has had it shown
        View over;                                  // of an agent: what its completion tells
        std::vector<std::pair<uint64_t, Edges>> released_at;  // its releasing writes
        Order asked;  // of what it has read elsewhere, and knows the value of by now
    };
    // A store on its way to another process.
    struct Posted {
        Thread thread;
        uint64_t address;
        unsigned bytes;
        std::array<uint8_t, most_bytes> value;
        bool overlaps(uint64_t a, unsigned n) const {
            return a < address + bytes && address < a + n;
        }
    };
    struct ScFence {
        Place place;
        Reach reach;
        std::shared_ptr<const Snapshot> gives;
    };
    struct Phase {
        uint64_t number = 0;
        Edges edges;
        size_t telling = 0;  // so many of them tell all of the phase before
        // For waiters of one CTA: what all of it gives, and to whom it is all that they know.
        struct Gathered {
            Place to;
            Reach reach = cta;
            size_t edges = 0;
            Knowledge known;
            std::vector<const void*> within[rules];  // whose it is, as they arrived
            std::vector<View> above[rules];          // who knew all of it
        };
        std::vector<Gathered> gathered;
    };
    using Barrier = std::vector<Phase>;

    static uint64_t granule_of(uint64_t address) { return address / most_bytes; }
    static uint64_t region_of(uint64_t address) { return address >> LateReads::region_bits; }
    Actor& actor(const Who&);
    const Actor* find(Thread t) const;
    bool sure(const Actor*, Thread, Via, const Write&) const;
    static bool known(const View& view, const Write& w);
    unsigned unsure(const Access&, const Granule&, bool modifies) const;
    bool morally_strong(const Access&, const Write&) const;
    void undo(const Access&, const Granule&, unsigned undone, uint8_t* value) const;
    void wrote(const Write&);
    void erase(Granules::iterator at);
    unsigned count_of(const Access&, const Granule&, unsigned way, bool modifies) const;
    unsigned ways_in_front(const Access&) const;
    std::vector<uint64_t> late_readers(const Access& of_write) const;
    void store_before_readers(Memory&, const Access&, const uint8_t* value);
    void seen(Actor&, const Access&, Granule&, unsigned undone, Edges* inherits);
    static void take(Actor&, const Edge&, const Order&, bool now);
    static void acquire(Actor&, const Order&);
    std::shared_ptr<const Snapshot> snapshot(const Actor&, Thread) const;
    Edge edge(Actor&, Thread, const Order&) const;
    void give(Actor&, const Access&, Edges&) const;
    bool arrives_with(Edge& last, const Actor&, Thread, const Order&) const;
    void compact(Granule&);
    void prune(uint64_t granule);
    static bool tells_all(const Phase& later, const Phase& before);
    static Phase::Gathered& gather(Phase&, const Place& to, Reach reach);

    std::vector<Who> everybody_;  // empty: not known
    Stamp next_ = 1;
    std::unordered_map<Thread, Actor> actors_;
    mutable Recent<Actor> recent_actors_;
    std::vector<uint64_t> missed_;  // granules in which somebody has found an old value
    std::deque<Thread> agents_;
    Granules granules_;
    Recent<Granule> recent_granules_;
    std::deque<uint64_t> oldest_;  // granules, by when they were first written to
    LateReads late_;
    std::unordered_map<uint64_t, Region> regions_;
    mutable Recent<Region> recent_regions_;
    mutable std::array<Looked, 64> looked_{};
    std::vector<ScFence> sc_;
    std::map<uint64_t, Barrier> barriers_;
    Knowledge outside_;          // what other processes know of this one's memory
    std::deque<Posted> posted_;  // as they were performed
    std::unordered_map<uint64_t, Edges> elsewhere_;  // of granules: what writes from here give
    void learn(Actor&, const Order&) const;
};

void join(Knowledge& to, const Snapshot& from, uint32_t threads);

}  // namespace weak
