// SPDX-License-Identifier: Apache-2.0
// Blocks of the device heap. A table has a byte for each granule of 16: how many of its bytes
// belong to a block, whether the block begins there, whether it was freed. After every block
// comes a granule that belongs to none, so that an access past its end is seen.
#include "emu/memory/device_heap.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "emu/base/text.hpp"
#include "emu/memory/host_access.hpp"

namespace sassemu {

namespace {

constexpr uint64_t granule = 16;
constexpr uint8_t count_bits = 31, freed_bit = 32, first_bit = 64;

// At the start of the heap's own bytes; no block lies there.
struct Header {
    uint64_t bytes;
    std::byte* table;
};
constexpr uint64_t header_bytes = 64;

const Header& header(const Extent& e) { return *reinterpret_cast<const Header*>(e.host); }
uint8_t state(const Extent& e, uint64_t offset) {
    return host::load<uint8_t>(header(e).table + offset / granule);
}

}  // namespace

std::byte* bytes_of(const Extent& e, uint64_t address, uint64_t bytes) {
    if (e.holds(address, bytes)) return e.host + (address - e.lo);
    if (!(e.flags & heap_extent)) return nullptr;
    const uint64_t offset = address - e.lo, end = offset + bytes;
    if (offset >= header(e).bytes || end > header(e).bytes || end < offset) return nullptr;
    for (uint64_t at = offset; at < end; at = (at / granule + 1) * granule) {
        const uint8_t s = state(e, at);
        const uint64_t left = std::min(end, (at / granule + 1) * granule) - at;
        if (s & freed_bit || at % granule + left > (s & count_bits)) return nullptr;
    }
    return e.host + offset;
}

bool was_freed(const Extent& e, uint64_t address) {
    if (e.flags & Extent::freed) return true;
    const uint64_t offset = address - e.lo;
    return e.flags & heap_extent && offset < header(e).bytes && state(e, offset) & freed_bit;
}

uint64_t heap_size(const Extent& e) { return header(e).bytes; }

std::string describe_heap(const Extent& e, uint64_t address) {
    if (!header(e).bytes) return hex(address) + " lies in an empty device heap";
    uint64_t at = std::min(address - e.lo, header(e).bytes - 1) / granule * granule;
    // The block that holds the address, or the last one before it.
    while (at && !state(e, at)) at -= granule;
    while (at && !(state(e, at) & first_bit)) at -= granule;
    if (!at) return hex(address) + " lies before every block of the device heap";
    uint64_t size = 0;
    for (uint64_t k = at; k < header(e).bytes; k += granule) {
        const uint8_t s = state(e, k);
        if (!(s & count_bits) || (k != at && s & first_bit)) break;
        size += s & count_bits;
    }
    const uint64_t into = address - e.lo - at;
    const std::string block = "the block of " + std::to_string(size) + " bytes at " +
                              hex(e.lo + at) + " of the device heap" +
                              (state(e, at) & freed_bit ? ", which free() has taken back" : "");
    return hex(address) + " is " +
           (into < size ? "byte " + std::to_string(into) + " of "
                        : std::to_string(into - size) + " bytes past the end of ") +
           block;
}

DeviceHeap::~DeviceHeap() {
    if (table_) munmap(table_, bytes_ / granule + 1);
}

Result<void> DeviceHeap::begin(const Extent& extent, uint64_t bytes, const StateFill& fill) {
    void* at = mmap(nullptr, bytes / granule + 1, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return Error{ErrorCode::system, "device heap",
                     "the host has no " + std::to_string(bytes / granule) + " bytes for its table",
                     "use a smaller heap"};
    extent_ = &extent;
    fill_ = fill;
    bytes_ = bytes;
    fresh_ = header_bytes;
    table_ = static_cast<std::byte*>(at);
    const Header h{bytes, table_};
    if (bytes < header_bytes) return {};
    std::memcpy(extent.host, &h, sizeof h);
    if (bytes > header_bytes) free_[header_bytes] = bytes - header_bytes;
    return {};
}

// First fit.
uint64_t DeviceHeap::take(uint64_t size) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
        if (it->second < size) continue;
        const uint64_t at = it->first, left = it->second - size;
        free_.erase(it);
        if (left) free_[at + size] = left;
        used_[at] = size;
        return at;
    }
    return 0;
}

void DeviceHeap::mark(uint64_t at, uint64_t bytes) {
    std::byte* const first = table_ + at / granule;
    const uint64_t whole = bytes / granule;
    std::memset(first, granule, whole);
    if (bytes % granule) host::store<uint8_t>(first + whole, static_cast<uint8_t>(bytes % granule));
    host::store<uint8_t>(first + (bytes + granule - 1) / granule, 0);
    host::store<uint8_t>(first, host::load<uint8_t>(first) | first_bit);
}

uint64_t DeviceHeap::allocate(uint64_t bytes) {
    if (bytes == 0 || bytes > bytes_) return 0;
    const uint64_t size = (bytes + granule - 1) / granule * granule + granule;
    const std::lock_guard guard(mutex_);
    uint64_t at = take(size);
    while (!at && reuse_oldest()) at = take(size);
    if (!at) return 0;
    // What was never given out is zeros still.
    const uint64_t stale = fill_.zeros() ? std::min(at + size, std::max(at, fresh_)) : at + size;
    fill_.apply(extent_->host + at, stale - at);
    fresh_ = std::max(fresh_, at + size);
    mark(at, bytes);
    return extent_->lo + at;
}

void DeviceHeap::adopt(uint64_t address) {
    const std::lock_guard guard(mutex_);
    adopted_.insert(address);
}

bool DeviceHeap::release(uint64_t address) {
    if (address == 0) return true;
    const std::lock_guard guard(mutex_);
    const auto it = extent_ ? used_.find(address - extent_->lo) : used_.end();
    if (it == used_.end()) return adopted_.erase(address) != 0;
    const auto [at, size] = *it;
    freed_.push_back(*it);
    used_.erase(it);
    for (uint64_t k = at; k < at + size; k += granule) {
        std::byte* const s = table_ + k / granule;
        if (const uint8_t was = host::load<uint8_t>(s)) host::store<uint8_t>(s, was | freed_bit);
    }
    waiting_ += size;
    while (waiting_ > bytes_ / 4) reuse_oldest();
    return true;
}

// The oldest of the freed blocks may be given out again; false: there is none.
bool DeviceHeap::reuse_oldest() {
    if (freed_.empty()) return false;
    auto [at, size] = freed_.front();
    freed_.pop_front();
    waiting_ -= size;
    auto next = free_.lower_bound(at);
    if (next != free_.end() && next->first == at + size) {
        size += next->second;
        next = free_.erase(next);
    }
    if (next != free_.begin()) {
        auto before = std::prev(next);
        if (before->first + before->second == at) {
            before->second += size;
            return true;
        }
    }
    free_[at] = size;
    return true;
}

}  // namespace sassemu
