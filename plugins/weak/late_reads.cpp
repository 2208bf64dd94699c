// SPDX-License-Identifier: Apache-2.0
#include "late_reads.hpp"

#include <algorithm>

#include "machine.hpp"

namespace weak {

namespace {

constexpr size_t most_reads = 1 << 14;  // the oldest find what they have found

bool overlap(uint64_t a, unsigned bytes_a, uint64_t b, unsigned bytes_b) {
    return a < b + bytes_b && b < a + bytes_a;
}

}  // namespace

void LateReads::add(uint64_t name, const Read& read) {
    if (reads_.size() >= most_reads) erase(reads_.begin()->first);
    reads_.emplace(name, read);
    at_[read.address >> granule_bits].push_back(name);
}

const LateReads::Read* LateReads::find(uint64_t name) const {
    const auto at = reads_.find(name);
    return at == reads_.end() ? nullptr : &at->second;
}

void LateReads::copied(uint64_t name, uint64_t to, unsigned bytes) {
    Read& read = reads_.at(name);
    read.copy = to;
    read.copied = bytes;
    at_[to >> granule_bits].push_back(name);
    ++copies_in_[to >> region_bits];
}

std::vector<uint64_t> LateReads::of(uint64_t address, unsigned bytes) const {
    std::vector<uint64_t> out;
    const auto names = at_.find(address >> granule_bits);
    if (names == at_.end()) return out;
    for (const uint64_t name : names->second) {
        const Read& r = reads_.at(name);
        if (overlap(address, bytes, r.address, r.bytes)) out.push_back(name);
    }
    return out;
}

void LateReads::settle(uint64_t address, unsigned bytes) {
    const auto names = at_.find(address >> granule_bits);
    if (names == at_.end()) return;
    for (const uint64_t name : std::vector(names->second)) {
        const Read& r = reads_.at(name);
        if (overlap(address, bytes, r.address, r.bytes) ||
            overlap(address, bytes, r.copy, r.copied))
            erase(name);
    }
}

void LateReads::forget(uint64_t address, uint64_t name) {
    const auto names = at_.find(address >> granule_bits);
    std::erase(names->second, name);
    if (names->second.empty()) at_.erase(names);
}

void LateReads::erase(uint64_t name) {
    const auto at = reads_.find(name);
    if (at == reads_.end()) return;
    const Read r = at->second;
    reads_.erase(at);
    forget(r.address, name);
    if (!r.copied) return;
    forget(r.copy, name);
    const auto in = copies_in_.find(r.copy >> region_bits);
    if (!--in->second) copies_in_.erase(in);
}

// ---- the machine's part

void Machine::leave_open(const Access& a, uint64_t name) {
    if (!a.shared() || a.via != Via::generic || a.order.strong) return;
    LateReads::Read r;
    r.thread = a.who.thread;
    r.stamp = next_++;
    r.address = a.address;
    r.bytes = a.bytes;
    late_.add(name, r);
}

// 2: a write that it may find came before it was stored.
unsigned Machine::ways_to_pass_on(uint64_t name) const {
    const LateReads::Read* const read = late_.find(name);
    return read && read->overtaken ? 2 : 1;
}

void Machine::pass_on(Memory& m, const Access& to, uint64_t name, unsigned way) {
    const LateReads::Read* const read = late_.find(name);
    if (!read) return;
    if (!read->overtaken) return late_.copied(name, to.address, to.bytes);
    for (unsigned k = 0; way && k < to.bytes; ++k)
        if (read->overtaken >> k & 1) m.write(to.address + k, &read->newer[k], 1);
    late_.erase(name);
}

// Of a write by the async proxy: reads of its bytes that no proxy fence has put before it.
std::vector<uint64_t> Machine::late_readers(const Access& a) const {
    if (late_.empty() || a.via != Via::async || !a.shared()) return {};
    const Actor* const self = find(a.who.thread);
    if (!self) return {};
    std::vector<uint64_t> names = late_.of(a.address, a.bytes);
    std::erase_if(names, [&](uint64_t name) {
        const LateReads::Read& r = *late_.find(name);
        return r.overtaken || self->now[async_shared].knows(r.thread, r.stamp);
    });
    return names;
}

// They find what is written.
void Machine::store_before_readers(Memory& m, const Access& a, const uint8_t* value) {
    std::vector<std::pair<uint64_t, LateReads::Read>> readers;
    for (const uint64_t name : late_readers(a)) readers.emplace_back(name, *late_.find(name));
    before_change(m, a, false);
    m.write(a.address, value, a.bytes);
    for (auto& [name, r] : readers) {
        for (unsigned k = 0; k < r.bytes; ++k) {
            const uint64_t in = r.address + k - a.address;
            if (in >= a.bytes) continue;
            r.newer[k] = value[in];
            r.overtaken |= 1u << k;
            if (k < r.copied) m.write(r.copy + k, &value[in], 1);
        }
        if (!r.copied) late_.add(name, r);
    }
    // Nobody who knows of these readings misses what they have found.
    const auto at = granules_.find(granule_of(a.address));
    if (at == granules_.end() || at->second.writes.back().writer != a.who.thread) return;
    for (const auto& [name, r] : readers)
        at->second.writes.back().readers.make().emplace_back(r.thread, r.stamp);
}

}  // namespace weak
