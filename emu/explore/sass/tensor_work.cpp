// SPDX-License-Identifier: Apache-2.0
// See tensor_work.hpp.
#include "emu/explore/sass/tensor_work.hpp"

#include <cstring>
#include <memory>

#include "emu/machine/tensor_memory.hpp"

namespace sassemu::explore {
namespace {

using async::TensorMemory;

// The product with its lanes in place.
async::Multiply product_of(const TensorWork& work) {
    async::Multiply m = std::get<async::Multiply>(work.what);
    if (m.disabled_lanes) m.disabled_lanes = work.disabled_lanes.data();
    return m;
}

template <class Do>
auto with(const TensorWork& work, Do&& act) {
    return work.multiplies() ? act(product_of(work)) : act(std::get<async::TensorMove>(work.what));
}

// Words of tensor memory, as runs of bytes.
class Cells {
  public:
    void add(const async::Touched& t) {
        const auto lane = static_cast<uint32_t>(t.address / 2048);
        for (uint32_t k = 0; k < t.bytes; k += 4)
            word_[tensor_offset(lane, static_cast<uint32_t>(t.address % 2048 + k) / 4) / 4] = true;
    }
    std::vector<SharedRange> runs() const {
        std::vector<SharedRange> out;
        for (uint32_t i = 0; i < word_.size(); ++i) {
            if (!word_[i]) continue;
            if (out.empty() || out.back().address + out.back().bytes != i * 4)
                out.push_back({i * 4, 0});
            out.back().bytes += 4;
        }
        return out;
    }

  private:
    std::vector<bool> word_ = std::vector<bool>(tensor_memory_bytes / 4);
};

}  // namespace

std::string refusal(const TensorWork& work, const Launch& launch) {
    const auto* move = std::get_if<async::TensorMove>(&work.what);
    if (move ? move->pair : std::get<async::Multiply>(work.what).pair)
        return "is not explored: work of the tensor cores of two CTAs";
    const char* why = move ? async::check(*move, launch.shared_bytes)
                           : async::check(product_of(work), launch.arch, launch.shared_bytes);
    return why ? std::string("faults: ") + why : std::string{};
}

TensorRanges ranges_of(const TensorWork& work) {
    struct Found {
        TensorRanges ranges;
        Cells read, written;
    } found;
    const async::Visit visit = [](void* self, const async::Touched& t) {
        Found& f = *static_cast<Found*>(self);
        if (t.tensor)
            (t.write ? f.written : f.read).add(t);
        else
            f.ranges.shared.push_back({static_cast<uint32_t>(t.address), t.bytes});
    };
    with(work, [&](const auto& what) { async::touched(what, visit, &found); });
    found.ranges.read = found.read.runs();
    found.ranges.written = found.written.runs();
    return found.ranges;
}

void perform(const PreparedLaunch& launch, const TensorWork& work, const std::byte* shared,
             std::vector<std::byte>& tensor) {
    const auto memory = std::make_unique<TensorMemory>();
    const auto each = [&](auto&& act) {
        for (uint32_t lane = 0; lane < TensorMemory::lanes; ++lane)
            for (uint32_t column = 0; column < TensorMemory::columns; ++column)
                act(memory->cell[lane][column], tensor.data() + tensor_offset(lane, column));
    };
    each([](uint32_t& cell, const std::byte* at) { std::memcpy(&cell, at, 4); });
    if (work.multiplies()) {
        const async::TensorSide sides[2] = {{shared, memory.get()}, {}};
        async::multiply(product_of(work), sides, launch.launch.arch, launch.matrix_sums);
    } else {
        async::move(std::get<async::TensorMove>(work.what), shared, *memory);
    }
    each([](uint32_t cell, std::byte* at) { std::memcpy(at, &cell, 4); });
}

}  // namespace sassemu::explore
