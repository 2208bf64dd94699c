// SPDX-License-Identifier: Apache-2.0
// See copies.hpp.
#include "emu/explore/sass/copies.hpp"

#include <algorithm>
#include <bit>

#include "emu/memory/address_space.hpp"
#include "sassdec/ids.h"

namespace sassemu::explore {
namespace {

void add_run(std::vector<CopyRun>& runs, const CopyRun& next) {
    if (!next.bytes) return;
    if (!runs.empty()) {
        CopyRun& last = runs.back();
        if (last.inside == next.inside && last.near + last.bytes == next.near &&
            (!next.inside || last.far + last.bytes == next.far)) {
            last.bytes += next.bytes;
            return;
        }
    }
    runs.push_back(next);
}

}  // namespace

std::vector<CopyRun> runs_of(const TensorMap& m, const TensorCopy& c) {
    const async::Box box(m, c);
    std::vector<CopyRun> out;
    for (uint64_t number = 0; number < box.rows; ++number) {
        const auto row = box.row_at(m, c, number);
        for (uint32_t offset = 0; offset < box.row; offset += 16) {
            const auto chunk = box.chunk_at(m, row, offset);
            const uint64_t there =
                chunk.left <= 0 ? 0 : static_cast<uint64_t>(chunk.left) * tensor_unit(m.type).far;
            const uint64_t inside = c.store && there ? 16 : std::min<uint64_t>(16, there);
            add_run(out, {chunk.near, chunk.far, inside, true});
            if (!c.store)
                add_run(out, {chunk.near + static_cast<uint32_t>(inside), 0, 16 - inside, false});
        }
    }
    return out;
}

std::vector<CopyReceiver> receivers_of(const Completion& c, uint32_t to) {
    std::vector<CopyReceiver> out;
    for (uint32_t rest = async::receivers(c, to); rest; rest &= rest - 1) {
        const uint32_t window = static_cast<uint32_t>(std::countr_zero(rest)) << 24;
        out.push_back({window, async::reported(c, window)});
    }
    return out;
}

std::string fault_of(const BulkCopy& c) {
    return (c.to | c.from | c.bytes) % 16 ? "faults: a bulk copy is of multiples of 16" : "";
}

std::string unexplored(const TensorMap& m, const TensorCopy& c, const std::vector<CopyRun>& runs) {
    if (m.atom == TensorAtom::b32_flip || is_packed(m.type))
        return "is not explored: packed elements, or halves of 16 bytes that change places";
    const bool fills = std::ranges::any_of(runs, [](const CopyRun& r) { return !r.inside; });
    if (!c.store && (m.type >= TensorType::tf32 || (fills && m.nan_fill)))
        return "is not explored: the copy rounds to tf32, or fills with NaN";
    return {};
}

const std::byte* parameter_map(const Launch& launch, uint64_t address, bool& beyond) {
    constexpr auto bank = static_cast<size_t>(Base::bank0);
    if (address >> 32 != constant_window_high) return nullptr;
    const uint64_t offset = address & 0xffffffff;
    beyond = offset + async::tensor_map_bytes > launch.bank_bytes[bank];
    return beyond ? nullptr : launch.base[bank] + offset;
}

GroupWaited group_waited(const SassCode& code, uint32_t pc, bool bulk) {
    const SassInstruction& i = code.at(pc);
    GroupWaited out;
    out.any = !i.ptx_known || i.intent.opcode.starts_with("cp.async");
    out.bulk = i.ptx_known ? i.intent.to_proxy == Proxy::async : bulk;
    out.reads_only = out.bulk && (i.ptx_known ? i.intent.opcode.find(".read") != std::string::npos
                                              : pc + 1 >= code.count() ||
                                                    code.at(pc + 1).insn.id != SASSDEC_ID_CCTLALL);
    return out;
}

}  // namespace sassemu::explore
