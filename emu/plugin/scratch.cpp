// SPDX-License-Identifier: Apache-2.0
// A copy of a warp's registers on which plugins try what instructions would make of them. The
// handlers are the operations' own, so what they compute is what the run would compute.
#include <cstring>

#include "emu/evidence/evidence.hpp"
#include "emu/memory/event.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu {

struct alignas(64) Scratch {
    static constexpr uint32_t all_rows = first_register_row + 256 + 1;
    std::byte rows[all_rows * row_bytes] = {};
    Warp warp;
};

namespace {

sassemu_warp scratch(sassemu_session s, sassemu_warp of) {
    std::shared_ptr<Scratch>& copy = session(s)->scratch;
    if (!copy) copy = std::make_shared<Scratch>();
    const Warp& from = *warp(of);
    Warp& w = copy->warp;
    w = from;
    std::memcpy(copy->rows, from.rows, uint64_t{from.cta->launch->rows} * row_bytes);
    w.rows = copy->rows;
    w.base[static_cast<int>(Base::rows)] = copy->rows;
    w.base[static_cast<int>(Base::uniform)] = reinterpret_cast<std::byte*>(w.uniform);
    w.watch = nullptr;
    w.chained = 0;
    return handle(&w);
}

// Registers of its lanes from registers of the same lanes, and nothing else.
bool only_computes(const sassdec_insn& d) {
    constexpr uint32_t arithmetic = SASSDEC_GROUP_UNIFORM | SASSDEC_GROUP_FLOAT |
                                    SASSDEC_GROUP_INTEGER | SASSDEC_GROUP_HALF |
                                    SASSDEC_GROUP_DOUBLE | SASSDEC_GROUP_CONVERSION |
                                    SASSDEC_GROUP_MOVE | SASSDEC_GROUP_PREDICATE;
    const std::string_view name = sassdec_mnemonic(&d);
    return event_of(d).kind == SASSDEC_KIND_NONE && !(d.groups & ~arithmetic) &&
           evidence_of(d).kind != EvidenceClass::none && !name.starts_with("FSWZADD") &&
           !name.starts_with("R2UR");
}

int32_t compute(sassemu_session s, sassemu_insn i, uint32_t lanes) {
    Scratch* const copy = session(s)->scratch.get();
    const HookedInstruction& in = instruction(i);
    sassdec_insn d;
    if (!copy || !lanes || !decode(in, d) || !only_computes(d) ||
        !in.image->rejection(uint64_t{in.index} * 16).empty())
        return -1;
    const Op* const op = in.image->ops() + in.index;
    const bool all = lanes == ~0u;
    const Handler handler = in.plain[all] ? in.plain[all] : op->fn[all];  // its own
    if (!handler) return -1;
    copy->warp.active = lanes;
    copy->warp.stop = Stop::none;
    return handler(op, copy->warp, lanes) == op + 1 ? 0 : -1;
}

}  // namespace

void add_scratch_functions(sassemu_host& h) {
    h.scratch = scratch;
    h.compute = compute;
}

}  // namespace sassemu
