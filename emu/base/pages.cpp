// SPDX-License-Identifier: Apache-2.0
// See pages.hpp.
#include "emu/base/pages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace sassemu {

PageMap::PageMap()
    : descriptor_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)), process_(::getpid()) {}

PageMap::~PageMap() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::pair<uint64_t, uint64_t> PageMap::touched(const std::byte* begin, uint64_t bytes) const {
    if (process_ != ::getpid()) return {0, bytes};  // the file tells of the process before a fork
    static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    // A word for each page (Linux, admin-guide/mm/pagemap): bit 63, present; bit 62, swapped out.
    constexpr uint64_t exists = uint64_t{3} << 62;
    constexpr uint64_t at_a_time = 1 << 16;
    const auto host = reinterpret_cast<uint64_t>(begin);
    const uint64_t end = (host + bytes + page - 1) / page;
    uint64_t first = end, last = end;  // of the pages
    std::vector<uint64_t> words(512);
    for (uint64_t at = host / page; at < end && last == end; words.resize(at_a_time)) {
        words.resize(std::min<uint64_t>(words.size(), end - at));
        const ssize_t count = ::pread(descriptor_, words.data(), words.size() * sizeof words[0],
                                      static_cast<off_t>(at * sizeof words[0]));
        if (count < static_cast<ssize_t>(sizeof words[0])) return {0, bytes};
        words.resize(static_cast<size_t>(count) / sizeof words[0]);
        for (const uint64_t word : words) {
            const bool there = word & exists;
            if (there && first == end) first = at;
            if (!there && first != end && last == end) last = at;
            ++at;
        }
    }
    const auto offset = [&](uint64_t at) {
        return std::min(std::max(at * page, host) - host, bytes);
    };
    return {offset(first), offset(last)};
}

}  // namespace sassemu
