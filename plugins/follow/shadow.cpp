// SPDX-License-Identifier: Apache-2.0
// See shadow.hpp.
#include "follow/shadow.hpp"

#include <algorithm>
#include <bit>

namespace follow {

// Words that are part of the stretch only keep their origin when it goes.
void Shadow::name(uint64_t at, uint64_t end, Origin origin) {
    const uint64_t first = origin ? at / 4 : (at + 3) / 4, last = origin ? (end + 3) / 4 : end / 4;
    for (uint64_t word = first; word < last;) {
        const uint64_t page = word * 4 / page_bytes;
        const uint64_t to = std::min(last, (page + 1) * page_bytes / 4);
        if (origin || origins_.contains(page)) {
            std::unique_ptr<Page>& p = origins_[page];
            if (!p) p = std::make_unique<Page>();
            std::fill(p->begin() + word % p->size(), p->begin() + word % p->size() + (to - word),
                      origin);
        }
        word = to;
    }
}

void Shadow::set(uint64_t at, uint64_t bytes, bool marked, Origin origin) {
    if (at >= bytes_) return;
    const uint64_t end = at + std::min(bytes, bytes_ - at);
    if (!marked) origin = unnamed;
    if (!origin && at == 0 && end == bytes_)
        origins_.clear();
    else if (origin || !origins_.empty())
        name(at, end, origin);
    if (at == 0 && end == bytes_) {
        map_.clear();
        left_ = marked ? bytes_ : 0;
        return;
    }
    if (left_ == (marked ? bytes_ : 0)) return;
    if (map_.empty()) {
        map_.assign((bytes_ + 63) / 64, left_ ? ~uint64_t{0} : 0);
        if (left_ && bytes_ % 64) map_.back() = (uint64_t{1} << bytes_ % 64) - 1;
    }
    while (at < end) {
        const uint64_t n = std::min(end - at, 64 - at % 64);
        const uint64_t mask = (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << at % 64;
        uint64_t& word = map_[at / 64];
        const auto before = static_cast<uint64_t>(std::popcount(word & mask));
        word = marked ? word | mask : word & ~mask;
        left_ += marked ? n - before : 0 - before;
        at += n;
    }
    if (!left_) map_.clear();
}

uint64_t Shadow::next(uint64_t& at, uint64_t end) const {
    end = std::min(end, bytes_);
    if (!left_) return 0;
    while (at < end && !marked(at, 1))
        at += !map_.empty() && at % 64 == 0 && !map_[at / 64] ? 64 : 1;
    if (at >= end) return 0;
    const Origin of = origin(at);
    uint64_t to = at + 1;
    if (map_.empty() && origins_.empty()) to = end;
    while (to < end && marked(to, 1) && origin(to) == of) ++to;
    return to - at;
}

}  // namespace follow
