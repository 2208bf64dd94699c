// SPDX-License-Identifier: Apache-2.0
// Hooked instructions that are several accesses, or one for all lanes: LDG and STG of 256 bits,
// LDGSTS, ULDC and LDCU. See run_hooked.cpp.
#include <cstring>
#include <utility>
#include "emu/machine/services.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/memory/payload.hpp"
#include "emu/memory/perform.hpp"
#include "emu/plugin/async_events.hpp"
#include "emu/plugin/driven_machine.hpp"
#include "emu/plugin/hooked_access.hpp"
#include "emu/plugin/sync_events.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu {

// ---- LDG, STG of 256 bits: an access for each part
// ------------------------------------------------------------------------------------------------

const Op* Hooks::wide(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask) {
    const auto& payload = as<WidePayload>(*op);
    const bool load = i.access.op == SASSEMU_LOAD;
    const uint32_t lanes = load ? payload.accessing(w, mask) : mask;
    const Access all = payload.access(w, lanes);
    bool good = lanes != 0;
    for (uint32_t rest = lanes; rest && good; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        good = all.address[lane] % WidePayload::bytes == 0;
        for (uint32_t k = 0; k < payload.parts() && good; ++k)
            good = reaches(w, all.space, all.address[lane] + 4 * payload.word(k), lane,
                           4 * payload.words(k), !load);
    }
    // The operation's own handler reports a bad address.
    if (!good) return plain(i, op, w, mask);
    const uint32_t bit = SASSEMU_SPACE_BIT(SASSEMU_GLOBAL);
    const bool told = shown_to_observers(bit);
    const auto begin_part = [&](AccessCall& call, const Access& part, uint64_t sequence) {
        begin_access(call, i, op, w, lanes, sequence);
        call.shown.bytes = part.bytes;
        call.known = AccessCall::Known::good;
        std::memcpy(call.address, part.address, sizeof call.address);
        call.rows = true;
        call.values = call.compare = call.results = nullptr;
        call.row = load ? part.destination : part.source[0];
        call.destination = load ? w.row(call.row) : nullptr;
        if (!load) call.values = w.row(call.row);
    };
    // What a model has put off goes on where it was.
    for (uint32_t k = std::exchange(w.path().parts, uint8_t{0}); k < payload.parts(); ++k) {
        const Access part = payload.part(all, k);
        AccessCall call;
        begin_part(call, part, ++w.cta->sequence);
        const int32_t answer =
            model_ && model_spaces_ & bit
                ? ask_model("issue", handle(&i), model_table_->issue, &call.shown)
                : SASSEMU_DONE;
        if (answer != SASSEMU_DONE) {
            if (answer == SASSEMU_RETRY) w.path().parts = static_cast<uint8_t>(k);
            if (!answered(i, op, w, mask, call, answer)) return nullptr;
            continue;
        }
        if (told) tell_issue(call);
        for (uint32_t rest = load ? mask & ~lanes : 0; rest; rest &= rest - 1)
            for (uint32_t word = 0; word < payload.words(k); ++word)
                call.destination[word * 32 + static_cast<uint32_t>(std::countr_zero(rest))] = 0;
        if (!services(w).access(w, op, part)) return nullptr;
        call.values = w.row(call.row);
        if (told) tell_access(call);
    }
    // All at once, for an instruction that is put off is taken back from the records.
    for (uint32_t k = 0; k < payload.parts() && i.wanted_accesses; ++k) {
        AccessCall call;
        begin_part(call, payload.part(all, k), 0);
        // Of a load that may be on its way still there is nothing to show.
        call.values = load && defers_ ? nullptr : w.row(call.row);
        record_access(call);
    }
    return op + 1;
}

// ---- LDGSTS: two accesses, the bytes past the registers
// ----------------------------------------------------------------------

// One half; its rows are the caller's.
static void begin_half(AccessCall& c, const HookedInstruction& i, const Op* op, Warp& w, bool store,
                       uint32_t lanes, uint64_t sequence) {
    begin_access(c, i, op, w, lanes, sequence);
    c.shown.op = store ? SASSEMU_STORE : SASSEMU_LOAD;
    c.shown.space = store ? SASSEMU_SHARED : SASSEMU_GLOBAL;
    c.rows = true;
    c.values = c.compare = c.results = nullptr;
    c.destination = nullptr;
}

const Op* Hooks::copy(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask) {
    const uint32_t from = accessing(i, w, mask);
    AccessCall load, store;
    uint32_t supplied[4][32] = {};
    begin_half(load, i, op, w, false, from, ++w.cta->sequence);
    begin_half(store, i, op, w, true, mask, ++w.cta->sequence);
    load.destination = supplied[0];
    load.shown.flags |= SASSEMU_ACCESS_IMMEDIATE;
    // The model has a say where whole elements are read; ZFILL is the engine's.
    bool own = false;
    if (model_ && !scoped_ && from && (model_spaces_ & SASSEMU_SPACE_BIT(SASSEMU_GLOBAL)) &&
        !as<CopyPayload>(*op).zero_fills()) {
        const int32_t answer = ask_model("issue", handle(&i), model_table_->issue, &load.shown);
        if (answer == SASSEMU_RETRY) return retry(op, w, mask);
        if (w.stop == Stop::faulted) return nullptr;
        own = answer == SASSEMU_SUPPLIED && load.supplied == from;
    }
    const bool good =
        (!from || plugin_host().addresses(&load.shown)) && plugin_host().addresses(&store.shown);
    if (!good) return plain(i, op, w, mask);
    const Issued issued{
        events::AsyncIssue(w, op, mask, SASSEMU_AGENT_LDGSTS, SASSEMU_GROUP_LDGSTS).id(),
        load.shown.sequence};
    load.async = store.async = issued.id;
    if (from && shown_to_observers(SASSEMU_SPACE_BIT(SASSEMU_GLOBAL))) tell_issue(load);
    if (shown_to_observers(SASSEMU_SPACE_BIT(SASSEMU_SHARED))) tell_issue(store);
    if (own) {
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
            std::byte* to =
                land(w, AccessSpace::shared, store.address[lane], lane, store.shown.bytes, true)
                    .host;
            for (uint32_t k = 0; k < store.shown.bytes / 4u; ++k)
                host::store<uint32_t>(to + 4 * k, supplied[k][lane]);
        }
        ++w.effects;
    } else {
        // The agents take it, who will tell when it is performed; or it is performed on the spot.
        w.cta->cluster->told = issued;
        if (scoped_ && !(far_ && from && reaches_far(load))) {
            // Theirs in every order: they ask what there is to read.
            LaneCopy c;
            const auto& payload = as<CopyPayload>(*op);
            c.bytes = store.shown.bytes;
            c.from_lanes = from;
            const FarBase base = payload.far(w);
            for (uint32_t lane = 0; lane < 32; ++lane) {
                const uint32_t missing = payload.missing(base.at(lane), c.bytes);
                c.from[lane] = base.at(lane) - missing;
                c.to[lane] = static_cast<uint32_t>(payload.to(w).at(lane));
                c.keep[lane] = static_cast<uint8_t>(c.bytes - missing);
            }
            if (!services(w).lane_copy(w, op, mask, c)) return nullptr;
        } else if (!plain(i, op, w, mask)) {
            return nullptr;
        }
    }
    if (from) record_access(load);
    record_access(store);
    if (!own && !std::exchange(w.cta->cluster->told, {}).id) return op + 1;
    const events::AsyncOperation agent(w, op, mask, SASSEMU_AGENT_LDGSTS, issued.id);
    LaneCopy c;
    c.bytes = store.shown.bytes;
    c.from_lanes = from;
    std::copy_n(load.address, 32, c.from);
    for (uint32_t lane = 0; lane < 32; ++lane)
        c.to[lane] = static_cast<uint32_t>(store.address[lane]);
    copied(w, op, mask, c, issued);
    return op + 1;
}

void Hooks::copied(Warp& w, const Op* op, uint32_t lanes, const LaneCopy& c, const Issued& issued) {
    const HookedInstruction& i = hooked_instruction(w, op);
    if (i.kind != Hooked::copy || on_access_.empty()) return;
    uint32_t bytes[4][32] = {};
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        const std::byte* at = land(w, AccessSpace::shared, c.to[lane], lane, c.bytes, false).host;
        for (uint32_t k = 0; k < c.bytes / 4; ++k)
            bytes[k][lane] = host::load<uint32_t>(at + 4 * k);
    }
    for (const bool store : {false, true}) {
        const uint32_t half = store ? lanes : lanes & c.from_lanes;
        if (!half ||
            !shown_to_observers(SASSEMU_SPACE_BIT(store ? SASSEMU_SHARED : SASSEMU_GLOBAL)))
            continue;
        AccessCall call;
        begin_half(call, i, op, w, store, half, issued.sequence + store);
        call.async = issued.id;
        call.known = AccessCall::Known::good;
        for (uint32_t lane = 0; lane < 32; ++lane)
            call.address[lane] = store ? c.to[lane] : c.from[lane];
        call.values = bytes[0];
        tell_access(call);
    }
}

// ---- ULDC, LDCU: one access, for the first of the lanes
// -------------------------------------------------------------------------

const Op* Hooks::uniform_load(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask) {
    AccessCall call;
    begin_access(call, i, op, w, mask & -mask, ++w.cta->sequence);
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    call.known = AccessCall::Known::good;
    call.address[lane] = static_cast<uint32_t>(i.address_offset) +
                         (i.address_ureg == 255 ? 0 : w.uniform[i.address_ureg]);
    call.located = true;
    call.location[lane] = constant_location(w, i.bank, call.address[lane], call.shown.bytes);
    uint32_t loaded[4][32];
    call.rows = true;
    call.values = call.compare = call.results = nullptr;
    call.destination = loaded[0];
    const uint32_t bit = SASSEMU_SPACE_BIT(SASSEMU_CONSTANT), words = (call.shown.bytes + 3u) / 4;
    int32_t answer = SASSEMU_DONE;
    if (model_ && model_spaces_ & bit)
        answer = ask_model("issue", handle(&i), model_table_->issue, &call.shown);
    if (answer == SASSEMU_RETRY) return retry(op, w, mask);
    if (w.stop == Stop::faulted) return nullptr;
    const bool observed = shown_to_observers(bit);
    if (observed) tell_issue(call);
    const Op* next = op + 1;
    if (answer == SASSEMU_SUPPLIED && call.supplied) {
        for (uint32_t k = 0; k < words && i.destination + k < uniform_registers; ++k)
            w.uniform[i.destination + k] = loaded[k][lane];
        if (w.watch)
            services(w).watch(w, reinterpret_cast<const std::byte*>(&epoch_), sizeof epoch_);
    } else {
        next = plain(i, op, w, mask);
    }
    if (next && (observed || i.wanted_accesses)) {
        for (uint32_t k = 0; k < words; ++k)
            if (i.destination + k < uniform_registers)
                loaded[k][lane] = w.uniform[i.destination + k];
        call.values = loaded[0];
        if (observed) tell_access(call);
        record_access(call);
    }
    return next;
}

}  // namespace sassemu
