// SPDX-License-Identifier: Apache-2.0
// The hierarchy behind the `caches` model: stores on their way out, and copies in caches that
// nobody keeps coherent. What belongs here: its state and every step that it can take. What does
// not: which step is taken next (plugin.cpp) and where accesses come from (plugin.cpp).
//
// A store of a thread passes stations, and at each of them more can see it:
//   own  nobody but the thread
//   cta  threads of its CTA
//   sm   threads on its SM, through their L1
//   vc   all SMs of the GPU: it is in L2
//   gpu  other clients of the GPU (copy engine, front end), on other virtual channels
//   sys  everybody: host, peers
// What another client stores begins before vc, which is where its own kind sees it. Stations that
// nobody could tell apart, since a CTA has one thread or an SM one CTA, are left out where all
// places are known.
// Stores of one thread to different bytes pass in any order; stores to one byte never overtake each
// other. A store to memory of another GPU or of the host, or of the host's to a GPU's, goes from
// `gpu` to `sys` through the queue of its link, one for each source, destination and direction:
// posted writes of PCIe, which keep their order there (unless relaxed), while those of other links
// and to other destinations pass them. A read that goes over a link pushes what its source has
// posted there in front of it; its completion passes what comes the other way.
// Memory of another process is not written before `sys`, where its owner performs the store; on the
// way there those of this process who see the store find it in the queue.
// MEMBAR.lvl takes what its thread has stored or may have seen to its station. An L1, a
// texture cache or a constant cache keeps what it has read until it is told otherwise: SPA 5.0, "L1
// and L2 caches are incoherent".
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace caches {

enum class Station : uint8_t { own, cta, sm, vc, gpu, sys };

enum class Client : uint8_t { sm, copy_engine, host };

// A thread and where it runs. Other clients have no CTA and no SM.
struct Place {
    uint64_t thread = 0, cta = 0;
    uint64_t sm = 0;  // unique among all GPUs
    uint32_t gpu = 0;
    Client client = Client::sm;
};

// The way that a write goes to memory of another GPU or of the host. 0: none, it stays at home.
using Link = uint32_t;
constexpr Link leaves_process = 1u << 31;  // the memory is that of another process
constexpr Link link_between(const Place& from, int32_t home,
                            bool elsewhere = false) {  // as sassemu_bytes
    const uint32_t source = from.client == Client::host ? 0 : from.gpu + 1;
    const auto destination = static_cast<uint32_t>(home + 1);
    if (home < -1 || source == destination) return 0;
    return ((source << 16 | destination) + 1) | (elsewhere ? leaves_process : 0);
}

// The bytes of L2 and what lies behind it.
class Memory {
  public:
    virtual ~Memory() = default;
    virtual bool read(uint64_t address, uint8_t* to, unsigned bytes) = 0;  // false: not there
    virtual void write(uint64_t address, const uint8_t* from, unsigned bytes) = 0;
};

// Who looks on.
class Watcher {
  public:
    virtual ~Watcher() = default;
    virtual void moved(const Place& from, uint64_t address, unsigned bytes, Station at) const = 0;
    virtual void evicted(const Place& of, uint64_t address) const = 0;  // a sector
};

enum class Path : uint8_t {
    cached,    // through L1
    bypass,    // STRONG.GPU and .SYS: past L1, which loses its copy
    around,    // LD.CV of SPA 5.0, weak: past L1, for this load only
    texture,   // through the texture cache; does not see what the SM has not sent to L2
    constant,  // through the constant cache; the same
};

struct Cost {
    uint32_t hops = 0;    // stations that a barrier's message passes
    uint64_t drains = 0;  // stores that it moved, once per station
};

class Hierarchy {
  public:
    static constexpr unsigned sector_bytes = 32;
    static constexpr unsigned most_bytes = 16;  // of one access
    struct Store {
        uint64_t id = 0, stamp = 0;  // stamp: its turn at the station
        Place from;
        uint64_t address = 0;
        uint8_t bytes = 0;
        Station at = Station::own;
        Link link = 0;
        uint64_t posted = 0;  // its turn in the link's queue; 0: it is not there yet
        std::array<uint8_t, most_bytes> value{}, old{};  // old: what L2 had
        bool leaves() const { return link & leaves_process; }
        bool covers(uint64_t a) const { return a - address < bytes; }
        bool overlaps(uint64_t a, unsigned n) const {
            return a < address + bytes && address < a + n;
        }
    };

    // With clients on other channels stores are followed beyond L2.
    explicit Hierarchy(bool clients = false) : last_(clients ? Station::sys : Station::vc) {}
    explicit Hierarchy(std::span<const Place> everybody);
    // There are several GPUs, or a host: stores are followed to the end.
    void follow_everybody() {
        several_ = true;
        last_ = Station::sys;
    }
    void relax_links() { relaxed_ = true; }
    // Is told of each step of a store, and of copies that are evicted; null: nobody is.
    void watch(const Watcher* watcher) { watcher_ = watcher; }

    void store(const Place& from, uint64_t address, unsigned bytes, const uint8_t* value,
               Link link = 0);
    void load(Memory&, const Place&, uint64_t address, unsigned bytes, Path, uint8_t* value,
              Link link = 0);
    // The atomic happens in L2 right after this call.
    void before_atomic(Memory&, const Place&, uint64_t address, unsigned bytes, Link link = 0);

    Cost membar(Memory&, const Place&, Station level, bool invalidate_data,
                bool invalidate_texture);
    // Everything of the thread goes at least there (barriers, mbarriers: Station::cta).
    uint64_t send(Memory&, const Place&, Station to);
    uint64_t send_sm(Memory&, uint64_t sm, Station to);  // what has left its CTA
    uint64_t send_line(Memory&, uint64_t sm, uint64_t address);

    void invalidate(uint64_t sm, uint64_t address);  // L1, one sector
    void invalidate_constant(uint64_t sm, uint64_t address);
    void invalidate_data(uint64_t sm) { drop(l1_, sm); }
    void invalidate_texture(uint64_t sm) { drop(texture_, sm); }
    void invalidate_constants(uint64_t sm) { drop(constant_, sm); }
    void invalidate_everything() {
        for (Cache* cache : caches()) cache->clear();
    }
    void prefetch(Memory& m, const Place& place, uint64_t address) { fill(m, l1_, place, address); }

    // Whether a load would find a copy that differs from what it would get without one.
    bool hits_stale(Memory&, const Place&, uint64_t address, unsigned bytes, Path) const;
    // Evicts those copies.
    void evict(const Place&, uint64_t address, unsigned bytes, Path);

    // What a client on another channel reads: Station::gpu (copy engine, front end) or sys (host).
    bool client_read(Memory&, Station client, uint64_t address, uint8_t* to, unsigned bytes) const;

    // Steps that nobody asked for.
    const std::vector<Store>& stores() const { return stores_; }
    // Those with no store to one of their bytes before them, by their places in stores().
    std::vector<uint32_t> ready() const;
    uint64_t send_store(Memory&, uint64_t id, Station to);  // with those before it
    void advance(Memory&, uint64_t id);                     // one of ready(), one station further
    size_t sectors() const { return l1_.size() + texture_.size() + constant_.size(); }
    void evict(size_t index);
    size_t stale(Memory&) const;  // sectors that differ from L2
    bool done() const { return stores_.empty(); }

    std::string key() const;  // equal for states that behave alike

  private:
    struct Sector {
        std::array<uint8_t, sector_bytes> bytes{};
        uint32_t valid = 0;
        friend bool operator==(const Sector&, const Sector&) = default;
    };
    using Cache = std::map<std::pair<uint64_t, uint64_t>, Sector>;  // (SM, address of the sector)
    // Who shares what, where that is known.
    struct Known {
        std::map<uint64_t, unsigned> threads;  // of a CTA
        std::map<uint64_t, unsigned> ctas;     // of an SM
    };

    static void drop(Cache& cache, uint64_t sm);
    const Cache& cache(Path path) const {
        return path == Path::texture ? texture_ : path == Path::constant ? constant_ : l1_;
    }
    Cache& cache(Path path) { return const_cast<Cache&>(std::as_const(*this).cache(path)); }
    Station after(const Place& from, Station at) const;
    void write_through(const Store& s);
    Sector read_sector(Memory&, const Cache&, const Place&, uint64_t address) const;
    bool read_below(Memory&, const Place&, uint64_t address, uint8_t* to, unsigned bytes) const;
    template <class Hidden>
    bool read_but(Memory&, uint64_t address, uint8_t* to, unsigned bytes, Hidden&& hidden) const;
    Sector& fill(Memory&, Cache&, const Place&, uint64_t address, Link link = 0);
    void push(Memory&, Link link);
    Store* find(uint64_t id);
    bool before(const Store& a,
                const Store& b) const;  // at one station, in one queue, one byte in common
    template <class Which>
    uint64_t send_where(Memory&, Station to, Which&& which);

    Station last_;
    const Watcher* watcher_ = nullptr;
    bool relaxed_ = false;
    bool several_ = false;  // kinds of clients, or GPUs, that see stores at different stations
    std::shared_ptr<const Known> known_;
    std::vector<Store> stores_;  // not everywhere yet
    Cache l1_, texture_, constant_;
    std::array<Cache*, 3> caches() { return {&l1_, &texture_, &constant_}; }
    std::array<const Cache*, 3> caches() const { return {&l1_, &texture_, &constant_}; }
    uint64_t next_ = 1;
};

}  // namespace caches
