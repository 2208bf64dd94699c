// SPDX-License-Identifier: Apache-2.0
// Device addresses -> host bytes. A two-level table of 64 KiB pages, whose entry is the extent that
// the page belongs to: byte-exact bounds of the whole allocation, so that one lookup serves a
// coalesced access of a warp. The allocator gives every allocation pages of its own; at fixed
// addresses several may share a page, which is then looked up among all. Changes happen between
// launches only; lookups need no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/machine/extent.hpp"

namespace sassemu {

class AddressSpace {
  public:
    static constexpr unsigned page_bits = 16;
    static constexpr uint64_t page_bytes = uint64_t{1} << page_bits;
    static constexpr unsigned address_bits = 48;

    AddressSpace();
    AddressSpace(const AddressSpace&) = delete;
    ~AddressSpace();

    struct Options {
        uint64_t address = 0;  // 0: the allocator chooses
        uint32_t flags = 0;
        std::string name;
    };
    // Zero-filled bytes. Errors: size 0 or too large, address taken, in the first page or in a
    // window. A fixed address may be any other.
    Result<uint64_t> allocate(uint64_t bytes, const Options& options);
    Result<void> release(uint64_t address);

    // The extent that holds `address`, if one does; else one that does not: a neighbour in the
    // page, what was freed there, or the empty extent. Never null.
    const Extent& find(uint64_t address) const {
        const intptr_t entry = page_of(address);
        return entry < 0 ? find_shared(address) : extent_of(entry);
    }
    // The same without a call, for the paths that count; nothing where allocations share a page.
    const Extent& glance(uint64_t address) const { return extent_of(page_of(address)); }

    // For messages: "0x7f… is 16 bytes past the end of 'c' [0x…, 0x…)".
    std::string describe(uint64_t address) const;
    const std::string& name(uint32_t id) const;

    uint64_t bytes_in_use() const { return in_use_; }

  private:
    static constexpr unsigned leaf_bits = 16;
    static constexpr uint64_t leaf_pages = uint64_t{1} << leaf_bits;
    struct Leaf {
        intptr_t page[leaf_pages];  // a const Extent*; 0: nothing; or shared_page
    };
    static constexpr intptr_t shared_page = -1;  // several allocations have parts of it
    struct Allocation {
        Extent extent;
        std::string name;
        void* mapping = nullptr;
        uint64_t mapped = 0;
        uint64_t bytes = 0;  // the extent's, before it was freed or became the heap
        uint64_t end() const { return extent.lo + bytes; }
        bool covers(uint64_t address) const { return address - extent.lo < bytes; }
    };

    intptr_t page_of(uint64_t address) const {
        const uint64_t page = address >> page_bits;
        if (page >> (address_bits - page_bits)) return 0;
        const Leaf* leaf = root_[page >> leaf_bits];
        return leaf ? leaf->page[page & (leaf_pages - 1)] : 0;
    }
    const Extent& extent_of(intptr_t entry) const {
        return entry > 0 ? *reinterpret_cast<const Extent*>(entry) : none_;
    }
    const Extent& find_shared(uint64_t address) const;
    const Allocation* overlapped(uint64_t lo, uint64_t hi) const;
    bool map_pages(const Allocation& a);

    const Extent none_{};
    std::unique_ptr<Leaf*[]> root_;
    std::map<uint64_t, std::unique_ptr<Allocation>> live_;  // by lo
    std::vector<std::unique_ptr<Allocation>> freed_;        // kept for use-after-free reports
    std::vector<const Allocation*> by_id_;
    uint64_t next_ = uint64_t{0x7f} << 36;  // device addresses look like the driver's
    uint64_t in_use_ = 0;
};

}  // namespace sassemu
