// SPDX-License-Identifier: Apache-2.0
// The page table and the allocator behind address_space.hpp.
#include "emu/memory/address_space.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "emu/memory/device_heap.hpp"

namespace sassemu {

namespace {

constexpr uint64_t top = uint64_t{1} << AddressSpace::address_bits;

uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }

std::string hex(uint64_t v) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%" PRIx64, v);
    return text;
}

bool touches_window(uint64_t lo, uint64_t hi) {
    return lo < window_base(shared_window_high + 1) && hi > window_base(constant_window_high);
}

template <class Allocation>
std::string range_of(const Allocation& a) {
    return "'" + a.name + "' [" + hex(a.extent.lo) + ", " + hex(a.end()) + ")";
}

// Zeroed host memory, or nullptr. Large blocks get huge pages where the host has them: random
// accesses of a kernel then seldom miss the TLB (1.5 to 3 times the speed of the gather benchmark).
// Not the largest: they are used here and there, and each touch would cost 2 MiB.
void* map_zeros(uint64_t bytes) {
    constexpr uint64_t huge = 2 << 20, most_huge = uint64_t{4} << 30;
    const uint64_t slack = bytes >= 2 * huge ? huge : 0;
    void* at = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return nullptr;
    if (!slack) return at;
    const auto begin = reinterpret_cast<uint64_t>(at), aligned = round_up(begin, huge);
    if (aligned > begin) munmap(at, aligned - begin);
    if (aligned + bytes < begin + bytes + slack)
        munmap(reinterpret_cast<void*>(aligned + bytes), begin + slack - aligned);
    at = reinterpret_cast<void*>(aligned);
    madvise(at, bytes, bytes > most_huge ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    return at;
}

}  // namespace

AddressSpace::AddressSpace()
    : root_(std::make_unique<Leaf*[]>(uint64_t{1} << (address_bits - page_bits - leaf_bits))) {}

AddressSpace::~AddressSpace() {
    for (auto& [lo, a] : live_) munmap(a->mapping, a->mapped);
    for (uint64_t i = 0; i < uint64_t{1} << (address_bits - page_bits - leaf_bits); ++i)
        if (root_[i]) munmap(root_[i], sizeof(Leaf));
}

// The live allocation there, or else the last that was freed.
const Extent& AddressSpace::find_shared(uint64_t address) const {
    if (const Allocation* a = overlapped(address, address + 1)) return a->extent;
    for (auto a = freed_.rbegin(); a != freed_.rend(); ++a)
        if ((*a)->covers(address)) return (*a)->extent;
    return none_;
}

// The last live allocation that begins before `hi`, if it reaches beyond `lo`.
const AddressSpace::Allocation* AddressSpace::overlapped(uint64_t lo, uint64_t hi) const {
    const auto next = live_.lower_bound(hi);
    if (next == live_.begin()) return nullptr;
    const Allocation* const last = std::prev(next)->second.get();
    return last->end() > lo ? last : nullptr;
}

// False, and nothing changed: the host has no memory for the table.
bool AddressSpace::map_pages(const Allocation& a) {
    const uint64_t first = a.extent.lo >> page_bits, last = (a.end() - 1) >> page_bits;
    for (uint64_t at = first >> leaf_bits; at <= last >> leaf_bits; ++at) {
        if (root_[at]) continue;
        // 512 KiB of address space, of which the kernel backs only what is touched.
        void* leaf = mmap(nullptr, sizeof(Leaf), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (leaf == MAP_FAILED) return false;
        root_[at] = static_cast<Leaf*>(leaf);
    }
    for (uint64_t page = first; page <= last; ++page) {
        intptr_t& entry = root_[page >> leaf_bits]->page[page & (leaf_pages - 1)];
        if (entry == shared_page) continue;
        // What was freed here is forgotten once other bytes lie over all of its own.
        const auto* const old = reinterpret_cast<const Extent*>(entry);
        const uint64_t begin = page << page_bits;
        if (old && (std::max(begin, old->lo) < a.extent.lo ||
                    std::min(begin + page_bytes, by_id_[old->id]->end()) > a.end()))
            entry = shared_page;
        else
            entry = reinterpret_cast<intptr_t>(&a.extent);
    }
    return true;
}

Result<uint64_t> AddressSpace::allocate(uint64_t bytes, const Options& options) {
    const std::string who = "device memory '" + options.name + "'";
    if (bytes == 0) return Error{ErrorCode::input, who, "an allocation of 0 bytes", ""};
    if (bytes > (uint64_t{1} << 40))
        return Error{ErrorCode::input, who, std::to_string(bytes) + " bytes are too many",
                     "the limit is 1 TiB"};
    uint64_t at = options.address;
    const uint64_t span = round_up(bytes, page_bytes) + page_bytes;  // a guard page follows
    if (at) {
        const uint64_t room = bytes + page_bytes;
        if (at < page_bytes || at >= top || room > top - at || touches_window(at, at + room))
            return Error{ErrorCode::input, who, "address " + hex(at) + " is outside the range",
                         "addresses have 48 bits; the first 64 KiB and the generic windows are "
                         "reserved"};
        if (const Allocation* other = overlapped(at, at + bytes))
            return Error{ErrorCode::input, who, "address " + hex(at) + " is taken",
                         "its " + std::to_string(bytes) + " bytes overlap " + range_of(*other)};
    } else {
        for (;;) {
            at = next_;
            next_ += span;
            if (touches_window(at, at + span))
                next_ = window_base(shared_window_high + 1);
            else if (!overlapped(at, at + span))
                break;
        }
        if (at + span > top)
            return Error{ErrorCode::input, who, "the device address space is used up", ""};
    }
    // 64 bytes of slack let vector loads of a partial warp start at any valid byte. An address is
    // as aligned on the host as on the device.
    const uint64_t offset = at % 4096, mapped = round_up(offset + bytes + 64, 4096);
    void* mapping = map_zeros(mapped);
    if (!mapping)
        return Error{ErrorCode::system, who,
                     "the host has no " + std::to_string(bytes) + " bytes to give", ""};
    auto a = std::make_unique<Allocation>();
    a->mapping = mapping;
    a->mapped = mapped;
    a->name = options.name;
    a->bytes = bytes;
    a->extent = Extent{at, at + bytes, static_cast<std::byte*>(mapping) + offset, options.flags,
                       static_cast<uint32_t>(by_id_.size())};
    if (options.flags & heap_extent) a->extent.hi = at;
    if (!map_pages(*a)) {
        munmap(mapping, mapped);
        return Error{ErrorCode::system, who, "the host has no memory for its page table", ""};
    }
    by_id_.push_back(a.get());
    live_.emplace(at, std::move(a));
    in_use_ += bytes;
    return at;
}

Result<void> AddressSpace::release(uint64_t address) {
    auto it = live_.find(address);
    if (it == live_.end())
        return Error{ErrorCode::input, "device memory",
                     hex(address) + " is not the start of an allocation", describe(address)};
    Allocation& a = *it->second;
    in_use_ -= a.extent.hi - a.extent.lo;
    munmap(a.mapping, a.mapped);
    a.mapping = nullptr;
    a.extent.host = nullptr;
    a.extent.flags |= Extent::freed;
    a.extent.hi = a.extent.lo;  // holds() is false for every address
    freed_.push_back(std::move(it->second));
    live_.erase(it);
    return {};
}

std::string AddressSpace::describe(uint64_t address) const {
    if (const Extent& e = find(address); e.flags & Extent::freed)
        return hex(address) + " lies in '" + by_id_[e.id]->name + "', which was freed";
    auto next = live_.upper_bound(address);
    if (next != live_.begin()) {
        const Allocation& before = *std::prev(next)->second;
        if (before.extent.flags & heap_extent && &find(address) == &before.extent)
            return describe_heap(before.extent, address);
        if (address < before.end())
            return hex(address) + " is byte " + std::to_string(address - before.extent.lo) +
                   " of " + range_of(before);
        const uint64_t past = address - before.end();
        if (next == live_.end() || past <= next->first - address)
            return hex(address) + " is " + std::to_string(past) + " bytes past the end of " +
                   range_of(before);
    }
    if (next != live_.end())
        return hex(address) + " is " + std::to_string(next->first - address) + " bytes before " +
               range_of(*next->second);
    return hex(address) + "; nothing is allocated";
}

const std::string& AddressSpace::name(uint32_t id) const {
    static const std::string none;
    return id < by_id_.size() ? by_id_[id]->name : none;
}

}  // namespace sassemu
