// SPDX-License-Identifier: Apache-2.0
// Which of a warp's local memory has been written, so that only that is cleared before the next CTA
// uses it. It lies right in front of Warp::local: a store notes it without a look elsewhere.
#pragma once

#include <bit>
#include <cstdint>

#include "emu/machine/warp.hpp"

namespace sassemu {

struct alignas(64) LocalWritten {
    uint64_t chunks = 0;  // bit i: something in [i << shift, (i + 1) << shift) of some lane
    uint32_t shift = 0;

    // The least chunk for so many bytes per thread: 16 bytes at least, 64 chunks at most.
    static constexpr uint32_t shift_for(uint32_t bytes) {
        uint32_t shift = 4;
        while (bytes > 64u << shift) ++shift;
        return shift;
    }
};

inline LocalWritten& local_written(const Warp& w) {
    return reinterpret_cast<LocalWritten*>(w.local)[-1];
}
// A store of at most 16 aligned bytes of the thread's local memory.
inline void note_local_store(const Warp& w, uint64_t address) {
    LocalWritten& written = local_written(w);
    written.chunks |= uint64_t{1} << (address >> written.shift);
}

}  // namespace sassemu
