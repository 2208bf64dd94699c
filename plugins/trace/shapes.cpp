// SPDX-License-Identifier: Apache-2.0
// See shapes.hpp.
#include "shapes.hpp"

#include <algorithm>

namespace tracing {

namespace {

// Neighbouring lanes differ as they do in the other access.
bool same_shape(const uint64_t* a, const uint64_t* b, uint32_t n) {
    uint64_t differs = 0;
    if (n == 32)
        for (uint32_t k = 1; k < 32; ++k) differs |= (a[k] - a[0]) ^ (b[k] - b[0]);
    else
        for (uint32_t k = 1; k < n; ++k) differs |= (a[k] - a[0]) ^ (b[k] - b[0]);
    return differs == 0;
}

bool even(const uint64_t* a, uint32_t n) {
    uint64_t differs = 0;
    for (uint32_t k = 2; k < n; ++k) differs |= (a[k] - a[k - 1]) ^ (a[1] - a[0]);
    return differs == 0;
}

}  // namespace

uint8_t Shapes::add(uint32_t id, const uint64_t* address, uint32_t lanes,
                    std::vector<int64_t>& numbers) {
    if (pages_.size() <= id / in_page) pages_.resize(id / in_page + 1);
    auto& page = pages_[id / in_page];
    if (!page) page = std::make_unique<std::array<uint32_t, in_page>>();
    uint32_t& slot = (*page)[id % in_page];
    if (!slot) {
        all_.emplace_back();
        slot = static_cast<uint32_t>(all_.size());
    }
    Shape& last = all_[slot - 1];
    const auto put = [&](uint64_t n) { numbers.push_back(static_cast<int64_t>(n)); };
    put(address[0] - last.begin);
    last.begin = address[0];
    if (last.lanes == lanes && same_shape(address, last.address, lanes)) return 2;
    last.lanes = lanes;
    std::copy_n(address, lanes, last.address);
    if (even(address, lanes)) {
        if (lanes > 1) put(address[1] - address[0]);
        return 0;
    }
    for (uint32_t k = 1; k < lanes; ++k) put(address[k] - address[k - 1]);
    return 1;
}

}  // namespace tracing
