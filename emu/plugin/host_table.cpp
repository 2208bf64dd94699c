// SPDX-License-Identifier: Apache-2.0
// The functions that plugins call: the hot half (who runs, registers, accesses, memory). The cold
// half, on modules and instructions, is in instruction.cpp.
#include <algorithm>
#include <array>
#include <cstring>

#include "emu/machine/chooser.hpp"
#include "emu/machine/lane_bits.hpp"
#include "emu/machine/launch_host.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/memory/device_heap.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/memory/payload.hpp"
#include "emu/memory/perform.hpp"
#include "emu/plugin/async_events.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu {

namespace {

sassemu_dim3 dim(const Dim3& d) { return {d.x, d.y, d.z}; }
AccessCall& call_of(const sassemu_access* a) {
    return *reinterpret_cast<AccessCall*>(const_cast<sassemu_access*>(a));
}
const AccessCall& with_rows(const sassemu_access* a) {
    AccessCall& c = call_of(a);
    if (!c.rows) prepare(c);
    return c;
}

// ---- the run
// ------------------------------------------------------------------------------------------------------------

uint64_t seed(sassemu_session s) { return session(s)->hooks->seed; }
uint32_t choose(sassemu_session s, uint32_t count) {
    Chooser* chooser = session(s)->hooks->chooser;
    return count < 2 || !chooser ? 0 : chooser->pick(ChoicePoint::agent, count);
}
void print(sassemu_session s, const char* text) { session(s)->hooks->text(text); }
void report(sassemu_session s, const sassemu_finding* f) {
    session(s)->hooks->report(*session(s), *f);
}
int32_t write_file(sassemu_session s, const char* path, const void* bytes, uint64_t count) {
    const std::string_view text(static_cast<const char*>(bytes), count);
    return session(s)->hooks->write_file(*session(s), path, text) ? 0 : -1;
}
void report_json(sassemu_session s, const char* key, const char* json) {
    session(s)->hooks->report_json(key, json);
}
void fault(sassemu_session, sassemu_warp w, sassemu_insn i, uint32_t lanes, const char* what) {
    Warp& guest = *warp(w);
    launch_host(guest).fault(guest, instruction(i).image->ops() + instruction(i).index, lanes,
                             FaultKind::other, what, false, 0);
}

// ---- who runs
// -------------------------------------------------------------------------------------------------------------

void launch_info(sassemu_launch l, sassemu_launch_info* out) {
    give(out, static_cast<HookedLaunch*>(launch(l))->info);
}
void cta_info(sassemu_cta h, sassemu_cta_info* out) {
    Cta& c = *cta(h);
    sassemu_cta_info r{};
    r.sm = static_cast<uint32_t>(c.sm);
    r.rank = c.rank;
    r.warps = c.warp_count;
    r.threads = c.threads;
    r.shared_bytes = c.shared_bytes;
    r.id = dim(c.id);
    r.linear = c.linear;
    r.cluster = c.cluster->index;
    r.launch = handle(c.launch);
    r.shared = c.shared;
    give(out, r);
}
void warp_info(sassemu_warp h, sassemu_warp_info* out) {
    const Warp& w = *warp(h);
    sassemu_warp_info r{};
    r.index = w.index;
    r.active = w.active;
    r.live = w.live;
    r.path = w.current;
    r.cta = handle(w.cta);
    r.clock = w.cta->clock();
    give(out, r);
}
uint32_t active(sassemu_warp h) { return warp(h)->active; }
sassemu_cta cta_of_rank(sassemu_cta h, uint32_t rank) {
    const Cluster& cluster = *cta(h)->cluster;
    return rank < cluster.size ? handle(cluster.cta[rank]) : nullptr;
}
sassemu_warp cta_warp(sassemu_cta h, uint32_t index) {
    Cta& c = *cta(h);
    return index < c.warp_count ? handle(c.warps + index) : nullptr;
}

// ---- registers
// --------------------------------------------------------------------------------------------------------------

uint32_t* row(sassemu_warp h, uint32_t reg) {
    Warp& w = *warp(h);
    if (reg == SASSEMU_RZ) {
        // Whoever writes it must not change what others read as zero.
        uint32_t* sink = w.row(sink_row);
        std::fill_n(sink, 32, 0u);
        return sink;
    }
    return reg < w.cta->launch->registers ? w.row(register_row(reg)) : nullptr;
}
uint32_t predicate(sassemu_warp h, uint32_t index) { return index < 16 ? warp(h)->p[index] : 0; }
void set_predicate(sassemu_warp h, uint32_t index, uint32_t lanes, uint32_t value) {
    if (index >= 15 || index == 7) return;
    uint32_t& p = warp(h)->p[index];
    p = (p & ~lanes) | (value & lanes);
}
uint32_t* uniform(sassemu_warp h, uint32_t reg) {
    Warp& w = *warp(h);
    if (reg == SASSEMU_RZ) {
        w.uniform[uniform_sink / 4] = 0;
        return &w.uniform[uniform_sink / 4];
    }
    return reg < uniform_registers ? &w.uniform[reg] : nullptr;
}
uint32_t constant(sassemu_warp h, uint32_t bank, uint32_t offset) {
    const Launch& l = *warp(h)->cta->launch;
    const Base base = bank == 0   ? Base::bank0
                      : bank == 2 ? Base::bank2
                      : bank == 3 ? Base::bank3
                                  : Base::bank4;
    const auto b = static_cast<int>(base);
    uint32_t v = 0;
    if ((bank == 0 || (bank >= 2 && bank <= 4)) && offset + uint64_t{4} <= l.bank_bytes[b])
        std::memcpy(&v, l.base[b] + offset, 4);
    return v;
}

// ---- an access
// --------------------------------------------------------------------------------------------------------------

bool writes(const sassemu_access& a) { return a.op != SASSEMU_LOAD && a.op != SASSEMU_PREFETCH; }

void form_addresses(AccessCall& c) {
    const bool copy = (c.shown.flags & SASSEMU_ACCESS_LDGSTS) != 0;
    if (c.shown.space == SASSEMU_CONSTANT)
        as<ConstantPayload>(*c.op).addresses(*c.w, c.address);
    else if (copy && c.shown.space == SASSEMU_SHARED)
        as<CopyPayload>(*c.op).to_addresses(*c.w, c.address);
    else if (copy)
        as<CopyPayload>(*c.op).from_addresses(*c.w, c.shown.bytes, c.address);
    else
        as<MemoryPayload>(*c.op).addresses(*c.w, c.address);
}

// Whether all lanes reach memory, for what is most frequent: one block of shared memory, or one
// allocation. False: look closer.
bool all_reach(const AccessCall& c, uint32_t aligned) {
    const Cta& cta = *c.w->cta;
    uint64_t low = ~uint64_t{0}, high = 0, bits = 0;
    const auto look = [&](uint64_t address) {
        low = std::min(low, address);
        high = std::max(high, address);
        bits |= address;
    };
    if (c.shown.lanes == ~0u)
        for (uint32_t lane = 0; lane < 32; ++lane) look(c.address[lane]);
    else
        for (uint32_t todo = c.shown.lanes; todo; todo &= todo - 1)
            look(c.address[std::countr_zero(todo)]);
    if (bits % aligned) return false;
    if (c.shown.space == SASSEMU_SHARED)
        return high < cta.shared_bytes && high + c.shown.bytes <= cta.shared_bytes;
    if (c.shown.space != SASSEMU_GLOBAL && c.shown.space != SASSEMU_GENERIC) return false;
    // Addresses of the windows of the other spaces are in no extent.
    const Extent& e = cta.last.holds(low, 1) ? cta.last : cta.launch->space->find(low);
    return e.holds(low, 1) && e.holds(high, c.shown.bytes) && !(e.flags & Extent::freed) &&
           !(writes(c.shown) && e.flags & Extent::read_only);
}

const uint64_t* addresses(const sassemu_access* a) {
    AccessCall& c = call_of(a);
    if (c.known == AccessCall::Known::nothing) {
        form_addresses(c);
        c.known = AccessCall::Known::good;
        const auto space = static_cast<AccessSpace>(c.shown.space);
        // An access of several elements is aligned to one of them.
        const uint32_t elements = c.shown.insn ? instruction(c.shown.insn).elements : 1u;
        const uint32_t aligned = c.shown.bytes / elements;
        const auto lands = [&](uint64_t address, uint32_t lane) {
            return reaches(*c.w, space, address, lane, aligned, writes(c.shown));
        };
        if (space != AccessSpace::constant && !all_reach(c, aligned))
            for (uint32_t todo = c.shown.lanes; todo; todo &= todo - 1) {
                const auto lane = static_cast<uint32_t>(std::countr_zero(todo));
                if (!lands(c.address[lane], lane) ||
                    (elements > 1 && !lands(c.address[lane] + c.shown.bytes - aligned, lane))) {
                    c.known = AccessCall::Known::bad;
                    break;
                }
            }
    }
    return c.known == AccessCall::Known::good ? c.address : nullptr;
}

sassemu_location locate(const Warp& w, uint32_t space, uint64_t address) {
    uint32_t rank = w.cta->rank;
    if (space == SASSEMU_GENERIC) {
        const auto high = static_cast<uint32_t>(address >> 32);
        space = high == shared_window_high     ? SASSEMU_SHARED
                : high == local_window_high    ? SASSEMU_LOCAL
                : high == constant_window_high ? SASSEMU_CONSTANT
                                               : SASSEMU_GLOBAL;
        if (space == SASSEMU_SHARED) rank = static_cast<uint32_t>(address) >> 24;
        if (space != SASSEMU_GLOBAL) address &= 0xffffffffu;
    }
    if (space == SASSEMU_SHARED)
        return events::shared_location(*w.cta,
                                       rank << 24 | (static_cast<uint32_t>(address) & 0xffffff));
    return {address, space, 0};
}

const sassemu_location* locations(const sassemu_access* a) {
    AccessCall& c = call_of(a);
    if (!addresses(a)) return nullptr;
    if (c.located) return c.location;
    c.located = true;
    if (c.shown.space == SASSEMU_GLOBAL) {
        for (uint32_t lane = 0; lane < 32; ++lane)
            c.location[lane] = {c.address[lane], SASSEMU_GLOBAL, 0};
    } else if (c.shown.space == SASSEMU_SHARED) {
        const auto owner = static_cast<uint32_t>(c.w->cta->linear);
        for (uint32_t lane = 0; lane < 32; ++lane)
            c.location[lane] = {c.address[lane] & 0xffffff, SASSEMU_SHARED, owner};
    } else if (c.shown.space == SASSEMU_CONSTANT) {
        const HookedInstruction& i = instruction(c.shown.insn);
        for (uint32_t lane = 0; lane < 32; ++lane)
            c.location[lane] =
                i.hooks->constant_location(*c.w, i.bank, c.address[lane], c.shown.bytes);
    } else {
        for (uint32_t lane = 0; lane < 32; ++lane)
            c.location[lane] = locate(*c.w, c.shown.space, c.address[lane]);
    }
    return c.location;
}
// What STSM stores, as memory will have it: row by row.
const uint32_t* stored_matrices(AccessCall& c) {
    const Access a = as<MatrixPayload>(*c.op).access(*c.w);
    for_lanes(a.lanes, [&](uint32_t lane) {
        std::array<uint32_t, MatrixPayload::bytes / 4> row;
        matrix_row(*c.w, a, lane, reinterpret_cast<std::byte*>(row.data()));
        for (uint32_t k = 0; k < row.size(); ++k) c.matrix_rows[k][lane] = row[k];
    });
    return c.matrix_rows[0];
}
const uint32_t* values(const sassemu_access* a) {
    if (a->flags & SASSEMU_ACCESS_MATRIX && a->op == SASSEMU_STORE)
        return stored_matrices(call_of(a));
    return with_rows(a).values;
}
const uint32_t* compare_values(const sassemu_access* a) { return with_rows(a).compare; }
const uint32_t* results(const sassemu_access* a) { return with_rows(a).results; }
void agent(const sassemu_access* a, sassemu_agent* out) {
    const AccessCall& c = call_of(a);
    const Warp& w = *c.w;
    sassemu_agent r{};
    r.kind = c.shown.flags & SASSEMU_ACCESS_LDGSTS ? SASSEMU_AGENT_LDGSTS : SASSEMU_AGENT_WARP;
    r.sm = static_cast<uint32_t>(w.cta->sm);
    r.cluster_rank = w.cta->rank;
    r.warp = w.index;
    r.path = w.current;
    r.id = r.kind == SASSEMU_AGENT_LDGSTS ? c.async : 0;
    r.cluster = w.cta->cluster->index;
    r.cta = w.cta->linear;
    r.launch = w.cta->launch->id;
    r.pc = c.shown.insn ? plugin_host().insn_pc(c.shown.insn) : 0;
    give(out, r);
}

// ---- memory models
// --------------------------------------------------------------------------------------------------------------

void supply(const sassemu_access* a, uint32_t lanes, const uint32_t* from) {
    with_rows(a);
    AccessCall& c = call_of(a);
    // Formed now: what is delivered may overwrite the registers that they come from.
    if (!c.destination || c.shown.op != SASSEMU_LOAD || !addresses(a)) return;
    lanes &= c.shown.lanes;
    deliver(c.destination, c.shown.bytes, (c.shown.flags & SASSEMU_ACCESS_SIGN_EXTEND) != 0, lanes,
            from);
    c.supplied |= lanes;
}
int32_t complete(sassemu_session s, uint64_t token, uint32_t lanes, const uint32_t* from) {
    return session(s)->hooks->complete(token, lanes, from) ? 0 : -1;
}
void wake(sassemu_session s) { session(s)->hooks->changed(); }
int32_t model_event(sassemu_session s, const sassemu_model_event* e) {
    return session(s)->is_model && session(s)->hooks->model_event(e);
}

// Guests may write the bytes meanwhile: no tearing of what is 1, 2, 4 or 8 bytes and aligned.
void copy_bytes(std::byte* to, const std::byte* from, uint64_t bytes, bool to_guest) {
    const auto guest = reinterpret_cast<uintptr_t>(to_guest ? to : from);
    unsigned piece = 8;
    for (uint64_t i = 0; i < bytes; i += piece) {
        piece = 8;
        while ((guest + i) % piece || piece > bytes - i) piece /= 2;
        uint64_t value = 0;
        if (to_guest) {
            std::memcpy(&value, from + i, piece);
            host::store_bytes(to + i, piece, value);
        } else {
            value = host::load_bytes(from + i, piece);
            std::memcpy(to + i, &value, piece);
        }
    }
}

// ---- bytes
// ------------------------------------------------------------------------------------------------------------------------

// Nothing is anywhere once the memory of the run is gone, and plugins finish.
Extent extent_at(sassemu_session s, uint64_t address) {
    const AddressSpace* const space = session(s)->hooks->space;
    return space ? space->find(address) : Extent{};
}
int32_t read(sassemu_session s, uint64_t address, void* to, uint64_t bytes) {
    const Extent e = extent_at(s, address);
    std::byte* const from = bytes_of(e, address, bytes);
    if (!from) return -1;
    copy_bytes(static_cast<std::byte*>(to), from, bytes, false);
    return 0;
}
int32_t write(sassemu_session s, uint64_t address, const void* from, uint64_t bytes) {
    const Extent e = extent_at(s, address);
    std::byte* const to = bytes_of(e, address, bytes);
    if (!to) return -1;
    copy_bytes(to, static_cast<const std::byte*>(from), bytes, true);
    session(s)->hooks->changed();
    return 0;
}
int32_t read_shared(sassemu_cta h, uint32_t offset, void* to, uint32_t bytes) {
    const Cta& c = *cta(h);
    if (offset + uint64_t{bytes} > c.shared_bytes) return -1;
    copy_bytes(static_cast<std::byte*>(to), c.shared + offset, bytes, false);
    return 0;
}
int32_t write_shared(sassemu_cta h, uint32_t offset, const void* from, uint32_t bytes) {
    const Cta& c = *cta(h);
    if (offset + uint64_t{bytes} > c.shared_bytes) return -1;
    copy_bytes(c.shared + offset, static_cast<const std::byte*>(from), bytes, true);
    return 0;
}
int32_t read_tensor(sassemu_cta h, uint32_t offset, void* to, uint32_t bytes) {
    if (offset + uint64_t{bytes} > sizeof(async::TensorMemory)) return -1;
    const auto& tensor = cta(h)->tensor;  // from its first use on
    if (!tensor) return -1;
    const async::TensorMemory& memory = tensor->cells();
    std::memcpy(to, reinterpret_cast<const std::byte*>(memory.cell) + offset, bytes);
    return 0;
}
int32_t read_local(sassemu_warp h, uint32_t lane, uint32_t offset, void* to, uint32_t bytes) {
    const Warp& w = *warp(h);
    if (lane > 31 || offset + uint64_t{bytes} > w.cta->launch->local_bytes) return -1;
    // Word k of a lane's stack is in row k.
    for (uint32_t i = 0; i < bytes; ++i)
        static_cast<std::byte*>(to)[i] =
            w.local[uint64_t{(offset + i) >> 2} * row_bytes + lane * 4 + ((offset + i) & 3)];
    return 0;
}
int32_t find_allocation(sassemu_session s, uint64_t address, sassemu_allocation* out) {
    const Extent e = extent_at(s, address);
    const bool heap = e.flags & heap_extent;
    if (e.hi == e.lo && !heap) return -1;
    sassemu_allocation r{};
    r.read_only = (e.flags & Extent::read_only) != 0;
    r.address = e.lo;
    r.bytes = heap ? heap_size(e) : e.hi - e.lo;
    r.name = session(s)->hooks->space->name(e.id).c_str();
    r.gpu = Hooks::home(e);
    give(out, r);
    return 0;
}

sassemu_host make_table() {
    sassemu_host h{};
    h.size = sizeof h;
    h.abi = SASSEMU_ABI_VERSION;
    add_instruction_functions(h);
    add_scratch_functions(h);
    h.seed = seed;
    h.choose = choose;
    h.print = print;
    h.report = report;
    h.fault = fault;
    h.launch_info = launch_info;
    h.cta_info = cta_info;
    h.warp_info = warp_info;
    h.cta_of_rank = cta_of_rank;
    h.cta_warp = cta_warp;
    h.row = row;
    h.predicate = predicate;
    h.set_predicate = set_predicate;
    h.uniform = uniform;
    h.constant = constant;
    h.addresses = addresses;
    h.locations = locations;
    h.values = values;
    h.compare_values = compare_values;
    h.results = results;
    h.agent = agent;
    h.supply = supply;
    h.complete = complete;
    h.wake = wake;
    h.read = read;
    h.write = write;
    h.read_shared = read_shared;
    h.write_shared = write_shared;
    h.read_local = read_local;
    h.find_allocation = find_allocation;
    h.active = active;
    h.read_tensor = read_tensor;
    h.write_file = write_file;
    h.report_json = report_json;
    h.model_event = model_event;
    return h;
}

}  // namespace

const sassemu_host& plugin_host() {
    static const sassemu_host table = make_table();
    return table;
}

}  // namespace sassemu
