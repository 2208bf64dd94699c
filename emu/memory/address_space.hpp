// SPDX-License-Identifier: Apache-2.0
// Device addresses -> host bytes. A two-level table of 64 KiB pages, whose entry is the extent that
// the page belongs to: byte-exact bounds of the whole allocation, so that one lookup serves a
// coalesced access of a warp. The allocator gives every allocation pages of its own; at fixed
// addresses several may share a page, whose entry is then a list.
//
// Every GPU of a machine has a table of its own, and all of them stand for one set of allocations
// at addresses that no two of them share. Lookups take no lock, also while others allocate and
// free: an extent never changes once it is in a table (what is freed is replaced by another), and
// what a table once pointed to stays until nobody looks (hold()).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/machine/extent.hpp"

namespace sassemu {

struct Multicast;

class AddressSpace {
  public:
    static constexpr unsigned page_bits = 16;
    static constexpr uint64_t page_bytes = uint64_t{1} << page_bits;
    static constexpr unsigned address_bits = 48;

    AddressSpace();
    // Another table for the allocations of `first` (null: as above). `who` is whose it is, for
    // messages.
    AddressSpace(AddressSpace* first, std::string who);
    AddressSpace(const AddressSpace&) = delete;
    ~AddressSpace();

    struct Options {
        uint64_t address = 0;  // 0: the allocator chooses
        uint32_t flags = 0;
        std::string name;
        bool everywhere = false;  // in all tables, whoever sees whom
    };
    // Zero-filled bytes. Errors: size 0 or too large, address taken, in the first page or in a
    // window. A fixed address may be any other.
    Result<uint64_t> allocate(uint64_t bytes, const Options& options);
    // A multicast object (memory/multicast.hpp) in all tables, for `bytes` from each of these
    // addresses on, which are in memory of this machine and 16 bytes apart from one another, or a
    // multiple.
    Result<uint64_t> allocate_multicast(uint64_t bytes, const std::vector<uint64_t>& members,
                                        const Options& options);
    // Of any of the tables.
    Result<void> release(uint64_t address);
    // The bytes of an allocation are elsewhere: no table has them, and messages name it as one that
    // lives. Before anything runs.
    Result<void> give_away(uint64_t address);
    // Whether what `other` allocates is in this table too, from now on.
    void see(const AddressSpace& other, bool on);

    // The extent that holds `address`, if one does; else one that does not: a neighbour in the
    // page, what was freed there, or the empty extent. Never null.
    const Extent& find(uint64_t address) const {
        const intptr_t entry = page_of(address);
        return entry < 0 ? find_shared(entry, address) : extent_of(entry);
    }
    // The same without a call, for the paths that count; nothing where allocations share a page.
    const Extent& glance(uint64_t address) const { return extent_of(page_of(address)); }

    // Between these two bytes and extents that find() gave stay where they are, freed or not.
    void hold();
    void let_go();
    // Changes when something that was in a table is in it no longer: who keeps a copy of an extent
    // looks again.
    uint64_t removals() const { return all_->removals.load(std::memory_order_acquire); }

    // For messages: "0x7f… is 16 bytes past the end of 'c' [0x…, 0x…)".
    std::string describe(uint64_t address) const;
    const std::string& name(uint32_t id) const;

  private:
    static constexpr unsigned leaf_bits = 16;
    static constexpr uint64_t leaf_pages = uint64_t{1} << leaf_bits;
    static constexpr uint64_t leaves = uint64_t{1} << (address_bits - page_bits - leaf_bits);
    struct Leaf {
        // A const Extent*; 0: nothing; below 0: minus a const SharedPage*.
        std::atomic<intptr_t> page[leaf_pages];
    };
    struct Allocation {
        Extent extent, freed;  // what tables hold while it lives, and afterwards
        std::string name;
        const AddressSpace* owner = nullptr;   // null: everywhere
        std::unique_ptr<Multicast> multicast;  // null: memory
        void* mapping = nullptr;
        uint64_t mapped = 0;
        uint64_t bytes = 0;
        Allocation();
        ~Allocation();
        uint64_t end() const { return extent.lo + bytes; }
    };
    // What allocations have parts of one page: those that live, then what was freed, the last
    // first.
    struct SharedPage {
        struct Part {
            uint64_t lo, end;
            const Extent* extent;
        };
        std::vector<Part> parts;
    };
    // What all tables stand for.
    struct Allocations {
        std::mutex mutex;
        std::vector<AddressSpace*> tables;
        std::map<uint64_t, std::unique_ptr<Allocation>> live;  // by lo
        std::vector<std::unique_ptr<Allocation>> freed;        // kept for use-after-free reports
        std::vector<const Allocation*> by_id;
        uint64_t next = uint64_t{0x7f} << 36;  // device addresses look like the driver's
        std::atomic<uint64_t> removals{0};
        uint32_t holds = 0;
        // What goes when nobody holds any more.
        std::vector<std::pair<void*, uint64_t>> old_mappings;
        std::vector<std::unique_ptr<SharedPage>> old_pages;
        ~Allocations();
        const Allocation* overlapped(uint64_t lo, uint64_t hi) const;
    };

    intptr_t page_of(uint64_t address) const {
        const uint64_t page = address >> page_bits;
        if (page >> (address_bits - page_bits)) return 0;
        const Leaf* leaf = root_[page >> leaf_bits].load(std::memory_order_acquire);
        return leaf ? leaf->page[page & (leaf_pages - 1)].load(std::memory_order_acquire) : 0;
    }
    const Extent& extent_of(intptr_t entry) const {
        return entry > 0 ? *reinterpret_cast<const Extent*>(entry) : none_;
    }
    const Extent& find_shared(intptr_t entry, uint64_t address) const;
    bool reaches(const Allocation& a) const;
    bool map_pages(const Allocation& a);
    void unmap_pages(const Allocation& a, const Extent* left);
    void share_page(uint64_t page);
    void remove(std::map<uint64_t, std::unique_ptr<Allocation>>::iterator which);
    std::atomic<intptr_t>& entry(uint64_t page) {
        return root_[page >> leaf_bits]
            .load(std::memory_order_relaxed)
            ->page[page & (leaf_pages - 1)];
    }

    const Extent none_{};
    std::unique_ptr<std::atomic<Leaf*>[], void (*)(void*)> root_;  // touched where it is used
    std::shared_ptr<Allocations> all_;
    std::string who_;
    std::set<const AddressSpace*> seen_;
    std::map<uint64_t, std::unique_ptr<SharedPage>> shared_;  // by page
};

}  // namespace sassemu
