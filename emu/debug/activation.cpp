// SPDX-License-Identifier: Apache-2.0
// See activation.hpp.
#include "emu/debug/activation.hpp"

#include "emu/base/text.hpp"
#include "emu/machine/cta.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/memory/perform.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu::debug {
namespace {

using Slot = Activation::Slot;
using Is = FrameInfo::Rule::Is;

Slot callers(const FrameInfo::Rule& rule, const Activation& of, uint32_t n, Is unsaid) {
    switch (rule.is == Is::unsaid ? unsaid : rule.is) {
        case Is::same:
            return of.registers[n];
        case Is::saved:
            return {Slot::Is::in_local, *of.frame + static_cast<uint64_t>(rule.at)};
        case Is::moved:
            return of.registers[static_cast<size_t>(rule.at)];
        default:
            return {};
    }
}

}  // namespace

std::optional<uint32_t> value_of(const Slot& slot, const Warp& warp, uint32_t lane) {
    switch (slot.is) {
        case Slot::Is::in_register:
            if (slot.at >= warp.cta->launch->registers) return std::nullopt;
            return warp.row(register_row(static_cast<uint32_t>(slot.at)))[lane];
        case Slot::Is::in_local: {
            uint32_t value = 0;
            for (uint32_t k = 0; k < 4; ++k) {
                const Landing at =
                    land(const_cast<Warp&>(warp), AccessSpace::local, slot.at + k, lane, 1, false);
                if (!at.host) return std::nullopt;
                value |= uint32_t{host::load<uint8_t>(at.host)} << 8 * k;
            }
            return value;
        }
        case Slot::Is::value:
            return static_cast<uint32_t>(slot.at);
        case Slot::Is::lost:
            break;
    }
    return std::nullopt;
}

CallStack call_stack(const Places& places, const Warp& warp, uint32_t lane, const CodePlace& here) {
    CallStack out;
    if (!here.module) return out;
    const CodeImage& code = *warp.cta->launch->code;
    Activation now;
    now.place = here;
    for (uint32_t n = 0; n < now.registers.size(); ++n)
        now.registers[n] = {Slot::Is::in_register, n};
    for (;;) {
        const auto row = places.frame_info(now.place.module).at(now.place.offset);
        const auto begin =
            row ? value_of(now.registers[row->frame_register], warp, lane) : std::nullopt;
        if (begin) now.frame = *begin + static_cast<uint64_t>(row->frame_offset);
        out.activations.push_back(now);
        const auto unknown = [&](const std::string& why) {
            out.ends = "who called " + places.function(now.place) + " is not known: " + why;
            return out;
        };
        if (!row) {
            const Function* f = now.place.module->function_at(now.place.offset);
            if (f && f->is_kernel) return out;
            return unknown("the module's .debug_frame says nothing of it");
        }
        if (!row->is_called) return out;
        if (!now.frame) return unknown("where its frame begins is not kept");
        if (out.activations.size() == most_activations)
            return unknown("only " + std::to_string(most_activations) + " calls are followed");
        Activation next;
        for (uint32_t n = 0; n < next.registers.size(); ++n)
            next.registers[n] = callers(row->rules[n], now, n, Is::lost);
        next.registers[1] = {Slot::Is::value, *now.frame};
        uint64_t back = row->return_base.value_or(0);
        // From a base on one register counts; the other half is made where it returns.
        for (uint32_t k = 0; k < (row->return_base ? 1 : 2); ++k) {
            const uint32_t n = (row->return_register + k) % FrameInfo::registers;
            const auto half = value_of(callers(row->rules[n], now, n, Is::same), warp, lane);
            if (!half) return unknown("its return address is not kept");
            back += uint64_t{*half} << 32 * k;
        }
        if (!row->return_base) back -= code.options().base_address;
        next.place = {now.place.module, back - 16};
        const bool is_code = back % 16 == 0 && back >= 16 && back <= code.count() * 16 &&
                             now.place.module == code.module();
        if (!is_code || !(places.decoded(next.place).groups & SASSDEC_GROUP_CALL))
            return unknown("what should be its return address lies behind no call");
        now = next;
    }
}

}  // namespace sassemu::debug
