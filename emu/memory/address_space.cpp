// SPDX-License-Identifier: Apache-2.0
// The page table and the allocator behind address_space.hpp.
#include "emu/memory/address_space.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "emu/base/text.hpp"
#include "emu/memory/adopted.hpp"
#include "emu/memory/device_heap.hpp"
#include "emu/memory/multicast.hpp"

namespace sassemu {

namespace {

constexpr uint64_t top = uint64_t{1} << AddressSpace::address_bits;

uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }

Error not_a_start(const AddressSpace& space, uint64_t address) {
    return Error{ErrorCode::input, "device memory",
                 hex(address) + " is not the start of an allocation", space.describe(address)};
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
    : root_(static_cast<std::atomic<Leaf*>*>(std::calloc(leaves, sizeof(std::atomic<Leaf*>))),
            std::free),
      all_(std::make_shared<Allocations>()) {
    if (!root_) throw std::bad_alloc();
    all_->tables.push_back(this);
}

AddressSpace::AddressSpace(AddressSpace* first, std::string who) : AddressSpace() {
    who_ = std::move(who);
    if (!first) return;
    all_ = first->all_;
    const std::lock_guard guard(all_->mutex);
    all_->tables.push_back(this);
    for (const auto& [lo, a] : all_->live)
        if (reaches(*a) && !map_pages(*a)) throw std::bad_alloc();
}

AddressSpace::~AddressSpace() {
    {
        const std::lock_guard guard(all_->mutex);
        std::erase(all_->tables, this);
    }
    for (uint64_t i = 0; i < leaves; ++i)
        if (Leaf* leaf = root_[i].load(std::memory_order_relaxed)) munmap(leaf, sizeof(Leaf));
}

AddressSpace::Allocation::Allocation() = default;
AddressSpace::Allocation::~Allocation() = default;

AddressSpace::Allocations::~Allocations() {
    for (const auto& [lo, a] : live)
        if (a->mapping) munmap(a->mapping, a->mapped);
    for (const auto& [at, bytes] : old_mappings) munmap(at, bytes);
}

const Extent& AddressSpace::find_shared(intptr_t entry, uint64_t address) const {
    for (const SharedPage::Part& part : reinterpret_cast<const SharedPage*>(-entry)->parts)
        if (address - part.lo < part.end - part.lo) return *part.extent;
    return none_;
}

// The last live allocation that begins before `hi`, if it reaches beyond `lo`.
const AddressSpace::Allocation* AddressSpace::Allocations::overlapped(uint64_t lo,
                                                                      uint64_t hi) const {
    const auto next = live.lower_bound(hi);
    if (next == live.begin()) return nullptr;
    const Allocation* const last = std::prev(next)->second.get();
    return last->end() > lo ? last : nullptr;
}

bool AddressSpace::reaches(const Allocation& a) const {
    return !a.owner || a.owner == this || seen_.contains(a.owner);
}

// What of the page is whose, made anew.
void AddressSpace::share_page(uint64_t page) {
    const uint64_t begin = page << page_bits, end = begin + page_bytes;
    auto shared = std::make_unique<SharedPage>();
    for (auto a = all_->live.lower_bound(end); a != all_->live.begin();) {
        --a;
        if (a->second->end() <= begin) break;
        if (reaches(*a->second))
            shared->parts.push_back({a->first, a->second->end(), &a->second->extent});
    }
    for (auto a = all_->freed.rbegin(); a != all_->freed.rend(); ++a)
        if ((*a)->extent.lo < end && (*a)->end() > begin && reaches(**a))
            shared->parts.push_back({(*a)->extent.lo, (*a)->end(), &(*a)->freed});
    auto& place = shared_[page];
    std::swap(place, shared);
    entry(page).store(-reinterpret_cast<intptr_t>(place.get()), std::memory_order_release);
    if (shared && all_->holds) all_->old_pages.push_back(std::move(shared));
}

// False, and nothing changed: the host has no memory for the table.
bool AddressSpace::map_pages(const Allocation& a) {
    const uint64_t first = a.extent.lo >> page_bits, last = (a.end() - 1) >> page_bits;
    for (uint64_t at = first >> leaf_bits; at <= last >> leaf_bits; ++at) {
        if (root_[at].load(std::memory_order_relaxed)) continue;
        // 512 KiB of address space, of which the kernel backs only what is touched.
        void* leaf = mmap(nullptr, sizeof(Leaf), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (leaf == MAP_FAILED) return false;
        root_[at].store(static_cast<Leaf*>(leaf), std::memory_order_release);
    }
    for (uint64_t page = first; page <= last; ++page) {
        const intptr_t there = entry(page).load(std::memory_order_relaxed);
        // What was freed here is forgotten once other bytes lie over all of its own.
        const auto* const old = reinterpret_cast<const Extent*>(std::max<intptr_t>(there, 0));
        const uint64_t begin = page << page_bits;
        if (there < 0 ||
            (old && (std::max(begin, old->lo) < a.extent.lo ||
                     std::min(begin + page_bytes, all_->by_id[old->id]->end()) > a.end())))
            share_page(page);
        else
            entry(page).store(reinterpret_cast<intptr_t>(&a.extent), std::memory_order_release);
    }
    return true;
}

// The allocation goes; `left` stays in its place (null: nothing).
void AddressSpace::unmap_pages(const Allocation& a, const Extent* left) {
    const uint64_t first = a.extent.lo >> page_bits, last = (a.end() - 1) >> page_bits;
    for (uint64_t page = first; page <= last; ++page) {
        if (!root_[page >> leaf_bits].load(std::memory_order_relaxed)) continue;
        const intptr_t there = entry(page).load(std::memory_order_relaxed);
        if (there < 0)
            share_page(page);
        else if (there == reinterpret_cast<intptr_t>(&a.extent))
            entry(page).store(reinterpret_cast<intptr_t>(left), std::memory_order_release);
    }
}

void AddressSpace::see(const AddressSpace& other, bool on) {
    const std::lock_guard guard(all_->mutex);
    if (on ? !seen_.insert(&other).second : !seen_.erase(&other)) return;
    for (const auto& [lo, a] : all_->live) {
        if (a->owner != &other) continue;
        if (!on)
            unmap_pages(*a, nullptr);
        else if (!map_pages(*a))
            throw std::bad_alloc();
    }
    if (!on) all_->removals.fetch_add(1, std::memory_order_release);
}

void AddressSpace::hold() {
    const std::lock_guard guard(all_->mutex);
    ++all_->holds;
}

void AddressSpace::let_go() {
    const std::lock_guard guard(all_->mutex);
    if (--all_->holds) return;
    for (const auto& [at, bytes] : all_->old_mappings) munmap(at, bytes);
    all_->old_mappings.clear();
    all_->old_pages.clear();
}

Result<uint64_t> AddressSpace::allocate(uint64_t bytes, const Options& options) {
    const std::string who = "device memory '" + options.name + "'";
    if (bytes == 0) return Error{ErrorCode::input, who, "an allocation of 0 bytes", ""};
    if (bytes > (uint64_t{1} << 40))
        return Error{ErrorCode::input, who, std::to_string(bytes) + " bytes are too many",
                     "the limit is 1 TiB"};
    const std::lock_guard guard(all_->mutex);
    uint64_t at = options.address;
    const bool adopted = options.flags & adopted_extent;
    const uint64_t span = round_up(bytes, page_bytes) + page_bytes;  // a guard page follows
    if (at) {
        const uint64_t room = adopted ? bytes : bytes + page_bytes;
        if (at < page_bytes || at >= top || room > top - at || touches_window(at, at + room))
            return Error{ErrorCode::input, who, "address " + hex(at) + " is outside the range",
                         "addresses have 48 bits; the first 64 KiB and the generic windows are "
                         "reserved"};
        if (const Allocation* other = all_->overlapped(at, at + bytes))
            return Error{ErrorCode::input, who, "address " + hex(at) + " is taken",
                         "its " + std::to_string(bytes) + " bytes overlap " + range_of(*other)};
    } else {
        for (;;) {
            at = all_->next;
            all_->next += span;
            if (touches_window(at, at + span))
                all_->next = window_base(shared_window_high + 1);
            else if (!all_->overlapped(at, at + span))
                break;
        }
        if (at + span > top)
            return Error{ErrorCode::input, who, "the device address space is used up", ""};
    }
    // 64 bytes of slack let vector loads of a partial warp start at any valid byte. An address is
    // as aligned on the host as on the device.
    const uint64_t offset = at % 4096, mapped = round_up(offset + bytes + 64, 4096);
    void* const mapping = adopted ? nullptr : map_zeros(mapped);
    if (!mapping && !adopted)
        return Error{ErrorCode::system, who,
                     "the host has no " + std::to_string(bytes) + " bytes to give", ""};
    auto a = std::make_unique<Allocation>();
    a->mapping = mapping;
    a->mapped = mapping ? mapped : 0;
    a->name = options.name;
    a->bytes = bytes;
    a->owner = options.everywhere ? nullptr : this;
    std::byte* const memory =
        adopted ? reinterpret_cast<std::byte*>(at) : static_cast<std::byte*>(mapping) + offset;
    a->extent =
        Extent{at, at + bytes, memory, options.flags, static_cast<uint32_t>(all_->by_id.size())};
    if (options.flags & (heap_extent | multicast_extent)) a->extent.hi = at;
    if (options.flags & multicast_extent) {
        a->multicast = std::make_unique<Multicast>(Multicast{at, bytes, {}});
        a->extent.host = reinterpret_cast<std::byte*>(a->multicast.get());
    }
    a->freed = Extent{at, at, nullptr, options.flags | Extent::freed, a->extent.id};
    const Allocation& made = *a;
    all_->by_id.push_back(a.get());
    all_->live.emplace(at, std::move(a));
    for (AddressSpace* table : all_->tables) {
        if (!table->reaches(made) || table->map_pages(made)) continue;
        remove(all_->live.find(at));
        return Error{ErrorCode::system, who, "the host has no memory for its page table", ""};
    }
    return at;
}

Result<uint64_t> AddressSpace::allocate_multicast(uint64_t bytes,
                                                  const std::vector<uint64_t>& members,
                                                  const Options& options) {
    const auto wrong = [&](std::string what) {
        return Error{ErrorCode::input, "multicast object '" + options.name + "'", std::move(what),
                     ""};
    };
    if (members.empty()) return wrong("nothing is its member");
    Options own = options;
    own.flags = multicast_extent;
    own.everywhere = true;
    SASSEMU_ASSIGN(const uint64_t at, allocate(bytes, own));
    std::vector<Multicast::Member> found;
    const std::lock_guard guard(all_->mutex);
    const auto made = all_->live.find(at);
    for (const uint64_t member : members) {
        const Allocation* const a = all_->overlapped(member, member + 1);
        std::string what;
        if (!a || a->extent.flags & (heap_extent | multicast_extent) || bytes > a->end() - member)
            what = "its " + std::to_string(bytes) + " bytes at " + hex(member) +
                   " are not those of an allocation";
        else if ((member - at) % 16)
            what = hex(member) + " is not as aligned as " + hex(at);
        if (!what.empty()) {
            remove(made);
            return wrong(std::move(what));
        }
        found.push_back({member, a->owner ? a->owner : this});
    }
    made->second->multicast->members = std::move(found);
    return at;
}

// From all tables; called with the lock.
void AddressSpace::remove(std::map<uint64_t, std::unique_ptr<Allocation>>::iterator which) {
    all_->freed.push_back(std::move(which->second));
    Allocation& a = *all_->freed.back();
    all_->live.erase(which);
    for (AddressSpace* table : all_->tables)
        if (table->reaches(a)) table->unmap_pages(a, &a.freed);
    all_->removals.fetch_add(1, std::memory_order_release);
    if (!a.mapping) return;
    if (all_->holds) {
        // Who has found it before may still touch it: the bytes go, the addresses stay.
        madvise(a.mapping, a.mapped, MADV_DONTNEED);
        all_->old_mappings.emplace_back(a.mapping, a.mapped);
    } else {
        munmap(a.mapping, a.mapped);
    }
    a.mapping = nullptr;
}

Result<void> AddressSpace::release(uint64_t address) {
    {
        const std::lock_guard guard(all_->mutex);
        if (const auto it = all_->live.find(address); it != all_->live.end()) {
            remove(it);
            return {};
        }
    }
    return not_a_start(*this, address);
}

Result<void> AddressSpace::give_away(uint64_t address) {
    {
        const std::lock_guard guard(all_->mutex);
        if (const auto it = all_->live.find(address); it != all_->live.end()) {
            Allocation& a = *it->second;
            a.extent.hi = a.extent.lo;
            if (a.mapping) madvise(a.mapping, a.mapped, MADV_DONTNEED);
            return {};
        }
    }
    return not_a_start(*this, address);
}

std::string AddressSpace::describe(uint64_t address) const {
    const std::lock_guard guard(all_->mutex);
    const auto& live = all_->live;
    if (const Extent& e = find(address); e.flags & Extent::freed)
        return hex(address) + " lies in '" + all_->by_id[e.id]->name + "', which was freed";
    auto next = live.upper_bound(address);
    if (next != live.begin()) {
        const Allocation& before = *std::prev(next)->second;
        if (address < before.end() && !reaches(before))
            return hex(address) + " is byte " + std::to_string(address - before.extent.lo) +
                   " of " + range_of(before) + " of " + before.owner->who_ + ", to which " + who_ +
                   " has no peer access";
        if (before.extent.flags & heap_extent && &find(address) == &before.extent)
            return describe_heap(before.extent, address);
        if (address < before.end())
            return hex(address) + " is byte " + std::to_string(address - before.extent.lo) +
                   " of " + range_of(before);
        const uint64_t past = address - before.end();
        if (next == live.end() || past <= next->first - address)
            return hex(address) + " is " + std::to_string(past) + " bytes past the end of " +
                   range_of(before);
    }
    if (next != live.end())
        return hex(address) + " is " + std::to_string(next->first - address) + " bytes before " +
               range_of(*next->second);
    return hex(address) + "; nothing is allocated";
}

const std::string& AddressSpace::name(uint32_t id) const {
    static const std::string none;
    const std::lock_guard guard(all_->mutex);
    return id < all_->by_id.size() ? all_->by_id[id]->name : none;
}

}  // namespace sassemu
