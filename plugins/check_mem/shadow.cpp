// SPDX-License-Identifier: Apache-2.0
// See shadow.hpp.
#include "shadow.hpp"

#include <algorithm>
#include <bit>

namespace check_mem {

void Shadow::set(uint64_t at, uint64_t bytes, bool undefined, Origin origin) {
    if (at >= bytes_) return;
    const uint64_t end = at + std::min(bytes, bytes_ - at);
    if (!undefined || origin == never_written) {
        if (!origins_.empty()) {
            if ((end - at) / 4 > origins_.size())
                std::erase_if(origins_, [&](const auto& o) {
                    return o.first * 4 >= at && o.first * 4 + 4 <= end;
                });
            else
                for (uint64_t word = (at + 3) / 4; word * 4 + 4 <= end; ++word)
                    origins_.erase(word);
        }
    } else {
        for (uint64_t word = at / 4; word * 4 < end; ++word) origins_[word] = origin;
    }
    if (at == 0 && end == bytes_) {
        map_.clear();
        left_ = undefined ? bytes_ : 0;
        return;
    }
    if (left_ == (undefined ? bytes_ : 0)) return;
    if (map_.empty()) {
        map_.assign((bytes_ + 63) / 64, left_ ? ~uint64_t{0} : 0);
        if (left_ && bytes_ % 64) map_.back() = (uint64_t{1} << bytes_ % 64) - 1;
    }
    while (at < end) {
        const uint64_t n = std::min(end - at, 64 - at % 64);
        const uint64_t mask = (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << at % 64;
        uint64_t& word = map_[at / 64];
        const auto before = static_cast<uint64_t>(std::popcount(word & mask));
        word = undefined ? word | mask : word & ~mask;
        left_ += undefined ? n - before : 0 - before;
        at += n;
    }
    if (!left_) map_.clear();
}

uint64_t Shadow::next(uint64_t& at, uint64_t end) const {
    end = std::min(end, bytes_);
    if (!left_) return 0;
    while (at < end && !undefined(at, 1))
        at += !map_.empty() && at % 64 == 0 && !map_[at / 64] ? 64 : 1;
    if (at >= end) return 0;
    const Origin of = origin(at);
    uint64_t to = at + 1;
    if (map_.empty() && origins_.empty()) to = end;
    while (to < end && undefined(to, 1) && origin(to) == of) ++to;
    return to - at;
}

}  // namespace check_mem
