// SPDX-License-Identifier: Apache-2.0
// See products.hpp.
#include "emu/explore/sass/products.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "emu/explore/sass/lane.hpp"

namespace sassemu::explore {
namespace {

RegisterRange range(uint32_t row, uint32_t count) {
    const int32_t first = SassLane::register_of_row(row);
    return first < 0 ? RegisterRange{} : RegisterRange{static_cast<uint32_t>(first), count};
}

}  // namespace

const char* Product::differs(uint32_t other_pc, const async::WarpgroupMultiply& other) const {
    if (pc != other_pc)
        return "faults: threads of a warpgroup execute different wgmma in this place";
    if (what.accumulate != other.accumulate || what.b != other.b ||
        (!what.form.in_registers && what.a != other.a))
        return "faults: threads of a warpgroup give it different matrix descriptors or scale-d";
    return nullptr;
}

RegisterRange results_of(const async::WarpgroupMultiply& m) {
    return m.form.empty ? RegisterRange{} : range(m.d, m.form.registers());
}

std::array<RegisterRange, 2> operands_of(const async::WarpgroupMultiply& m) {
    std::array<RegisterRange, 2> out;
    if (m.form.empty) return out;
    if (m.form.in_registers) out[0] = range(m.a_rows, 4);
    if (m.accumulate) out[1] = range(m.c, m.form.registers());
    return out;
}

bool touches(const SassCode& code, const SassInstruction& i, const async::WarpgroupMultiply& m) {
    const RegisterRange to = results_of(m);
    const RegisterRange a = operands_of(m)[0], c = operands_of(m)[1];
    const auto index = [&](uint32_t r) { return code.registers()[r]; };
    return std::ranges::any_of(i.reads, [&](uint32_t r) { return to.has(index(r)); }) ||
           std::ranges::any_of(i.writes, [&](uint32_t r) {
               return to.has(index(r)) || a.has(index(r)) || c.has(index(r));
           });
}

std::vector<SharedRange> shared_operands(const async::WarpgroupMultiply& m) {
    std::vector<SharedRange> out;
    async::touched(
        m,
        [](void* self, const async::Touched& t) {
            static_cast<std::vector<SharedRange>*>(self)->push_back(
                {static_cast<uint32_t>(t.address), t.bytes});
        },
        &out);
    return out;
}

void multiply(const PreparedLaunch& launch, const Product& p, const std::byte* shared,
              const std::function<uint32_t(uint32_t, uint32_t)>& read,
              const std::function<void(uint32_t, uint32_t, uint32_t)>& write) {
    const async::WarpgroupMultiply& m = p.what;
    if (m.form.empty) return;
    const size_t words = launch.launch.rows * size_t{row_bytes} / 4;
    std::vector<uint32_t> registers(4 * words);
    const auto cell = [&](uint32_t thread, uint32_t index) -> uint32_t& {
        return registers[thread / 32 * words + register_row(index) / 4 + thread % 32];
    };
    for (const RegisterRange& r : operands_of(m))
        for (uint32_t t = 0; t < threads_of_warpgroup; ++t)
            for (uint32_t k = 0; k < r.count; ++k) cell(t, r.first + k) = read(t, r.first + k);
    std::byte* rows[4];
    async::WarpgroupMetadata metadata;
    for (uint32_t w = 0; w < 4; ++w) {
        rows[w] = reinterpret_cast<std::byte*>(registers.data() + w * words);
        std::copy_n(p.metadata.begin() + 32 * w, 32, metadata[w].begin());
    }
    const auto room = std::make_unique<lanes::WarpgroupProduct>();
    async::multiply(m, shared, rows, metadata, *room, launch.warpgroup_sums);
    const RegisterRange to = results_of(m);
    for (uint32_t t = 0; t < threads_of_warpgroup; ++t)
        for (uint32_t k = 0; k < to.count; ++k) write(t, to.first + k, cell(t, to.first + k));
}

}  // namespace sassemu::explore
