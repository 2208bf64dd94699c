// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces as plugins see them. Reads of textures come texel by texel from the texture
// unit (emu/memory/textures.hpp), accesses to surfaces from the port; neither from a hooked
// operation.
#include <cstring>

#include "emu/machine/port.hpp"
#include "emu/machine/services.hpp"
#include "emu/plugin/hooks.hpp"

namespace sassemu {

void Hooks::surface(Warp& w, const Op* op, const Access& a, bool performed) {
    const bool told = shown_to_observers(SASSEMU_SPACE_BIT(SASSEMU_SURFACE));
    Recording* const recording = performed ? Recording::current() : nullptr;
    if (!told && !recording) return;
    AccessCall call;
    sassemu_access& shown = call.shown = {};
    shown.size = sizeof shown;
    shown.op = static_cast<uint8_t>(a.op);
    shown.space = SASSEMU_SURFACE;
    shown.proxy = SASSEMU_VIA_SURFACE;
    shown.atomic = static_cast<uint8_t>(a.atomic);
    shown.bytes = a.bytes;
    shown.lanes = a.lanes;
    shown.sequence = performed ? w.cta->sequence : ++w.cta->sequence;
    shown.warp = handle(&w);
    shown.insn = instruction_of(w, op);
    call.op = op;
    call.w = &w;
    call.known = AccessCall::Known::good;
    call.located = true;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        call.address[lane] = a.address[lane];
        call.location[lane] = {a.address[lane], SASSEMU_GLOBAL, 0};
    }
    call.rows = true;
    call.compare = call.results = nullptr;
    call.destination = nullptr;
    call.values = a.op != AccessOp::load ? w.row(a.source[0])
                  : performed            ? w.row(a.destination)
                                         : nullptr;
    if (told) performed ? tell_access(call) : tell_issue(call);
    if (recording) recording->access(call);
}

bool Hooks::wants_texels() const {
    const uint32_t bit = SASSEMU_SPACE_BIT(SASSEMU_TEXTURE);
    return (model_ && model_spaces_ & bit) || !on_records_.empty() ||
           ((!on_issue_.empty() || !on_access_.empty()) && observed_spaces_ & bit);
}

const std::byte* Hooks::texel(void* hooks, Warp& w, uint64_t address, const std::byte* at,
                              uint32_t bytes, std::byte* copy) {
    Hooks& h = *static_cast<Hooks*>(hooks);
    AccessCall call;
    call.shown = {};
    call.shown.size = sizeof call.shown;
    call.shown.op = SASSEMU_LOAD;
    call.shown.space = SASSEMU_TEXTURE;
    call.shown.proxy = SASSEMU_VIA_TEXTURE;
    call.shown.bytes = static_cast<uint8_t>(bytes);
    call.shown.lanes = 1;
    call.shown.flags = SASSEMU_ACCESS_IMMEDIATE;
    call.shown.sequence = ++w.cta->sequence;
    call.shown.warp = handle(&w);
    call.w = &w;
    call.known = AccessCall::Known::good;
    call.located = true;
    call.address[0] = address;
    call.location[0] = {address, SASSEMU_GLOBAL, 0};
    uint32_t row[4][32];
    call.op = nullptr;
    call.rows = true;
    call.values = call.compare = call.results = nullptr;
    call.destination = row[0];
    const std::byte* read = at;
    if (h.model_ && h.model_spaces_ & SASSEMU_SPACE_BIT(SASSEMU_TEXTURE) &&
        h.ask_model("issue", nullptr, h.model_table_->issue, &call.shown) == SASSEMU_SUPPLIED &&
        call.supplied) {
        for (uint32_t k = 0; k < (bytes + 3) / 4; ++k)
            std::memcpy(copy + 4 * k, &row[k][0], std::min(4u, bytes - 4 * k));
        read = copy;
        if (w.watch)
            services(w).watch(w, reinterpret_cast<const std::byte*>(&h.epoch_), sizeof h.epoch_);
    } else if (w.watch) {
        services(w).watch(w, at, bytes);
    }
    const bool told = h.shown_to_observers(SASSEMU_SPACE_BIT(SASSEMU_TEXTURE));
    Recording* const recording = Recording::current();
    if (told || recording) {
        for (uint32_t k = 0; k < (bytes + 3) / 4; ++k)
            std::memcpy(&row[k][0], read + 4 * k, std::min(4u, bytes - 4 * k));
        call.values = row[0];
        if (told) {
            h.tell_issue(call);
            h.tell_access(call);
        }
        if (recording) recording->access(call);
    }
    return read;
}

}  // namespace sassemu
