// SPDX-License-Identifier: Apache-2.0
// The watch list and the register comparison behind watch.hpp.
#include "emu/schedule/watch.hpp"

#include <algorithm>
#include <cstring>

#include "emu/memory/host_access.hpp"

namespace sassemu {

namespace {

void read(const std::byte* at, uint32_t bytes, uint64_t value[2]) {
    value[0] = value[1] = 0;
    for (uint32_t i = 0; i < bytes; ++i)
        value[i / 8] |= uint64_t{host::load<uint8_t>(at + i)} << (i % 8 * 8);
}

}  // namespace

void Watch::note(const std::byte* at, uint32_t bytes, bool mbarrier) {
    if (overflow) return;
    for (uint32_t i = 0; i < used; ++i)
        if (reads[i].at == at && reads[i].bytes == bytes) return;
    if (used == capacity) {
        overflow = true;
        return;
    }
    Read& r = reads[used++];
    r.at = at;
    r.bytes = bytes;
    r.mbarrier = mbarrier;
    read(at, bytes, r.value);
}

void Watch::note_copy(const std::byte* at, uint32_t bytes, const std::byte* seen) {
    const uint32_t before = used;
    note(at, bytes);
    if (used != before) read(seen, bytes, reads[before].value);
}

bool Watch::changed() const {
    for (uint32_t i = 0; i < used; ++i) {
        uint64_t now[2];
        read(reads[i].at, reads[i].bytes, now);
        if (now[0] != reads[i].value[0] || now[1] != reads[i].value[1]) return true;
    }
    return false;
}

void SpinSnapshot::take(const Warp& warp, uint32_t rows) {
    rows_.assign(warp.row(0), warp.row(0) + size_t{rows} * 32);
    std::copy(std::begin(warp.p), std::end(warp.p), p_);
    std::copy(std::begin(warp.uniform), std::end(warp.uniform), uniform_);
    lanes_ = warp.active;
    effects_ = warp.effects;
}

bool SpinSnapshot::same(const Warp& warp, uint32_t rows) const {
    if (warp.effects != effects_ || warp.active != lanes_) return false;
    // Sink rows hold whatever was last thrown away.
    const uint32_t first = first_register_row;
    for (uint32_t r = first; r < rows; ++r)
        for (uint32_t lane = 0; lane < 32; ++lane)
            if ((lanes_ >> lane & 1) && warp.row(0)[r * 32 + lane] != rows_[r * 32 + lane])
                return false;
    for (int i = 0; i < 16; ++i)
        if ((warp.p[i] ^ p_[i]) & lanes_) return false;
    return std::equal(warp.uniform, warp.uniform + uniform_zero / 4, uniform_);
}

}  // namespace sassemu
