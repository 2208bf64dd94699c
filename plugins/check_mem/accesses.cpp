// SPDX-License-Identifier: Apache-2.0
// What accesses of warps do to the definedness of memory, and it to theirs.
#include <algorithm>
#include <bit>

#include "checker.hpp"

namespace check_mem {

namespace {

constexpr uint32_t matrix_row = 16;  // bytes that a lane of LDSM and STSM names

uint32_t bytes_of(const sassemu_recorded_access& a) {
    return a.flags & SASSEMU_ACCESS_MATRIX ? matrix_row : a.bytes;
}

}  // namespace

Checker::Extent* Checker::extent(uint64_t address) {
    if (last_extent_.second && address >= last_extent_.first && address < last_extent_.second->end)
        return last_extent_.second;
    auto at = extents_.upper_bound(address);
    if (at == extents_.begin()) return nullptr;
    --at;
    if (address >= at->second.end) return nullptr;
    last_extent_ = {at->first, &at->second};
    return &at->second;
}

Checker::Place Checker::place(Cta& c, Warp& w, uint32_t lane, uint32_t space, uint64_t address) {
    const uint64_t high = address >> 32;
    if (space == SASSEMU_GENERIC) {
        space = SASSEMU_GLOBAL;
        if (high == info_.local_window >> 32) space = SASSEMU_LOCAL;
        if (high == info_.shared_window >> 32) {
            const auto rank = static_cast<uint32_t>(address) >> 24;
            const sassemu_cta owner = rank == c.rank ? c.handle : host.cta_of_rank(c.handle, rank);
            const auto at = ctas_.find(owner);
            return at == ctas_.end() ? Place{} : Place{&at->second.shared, address & 0xffffff};
        }
    }
    if (space == SASSEMU_SHARED) return {&c.shared, address & 0xffffff};
    if (space == SASSEMU_LOCAL) {
        address &= 0xffffffff;
        if (address >= w.local_bytes) return {};
        return {&w.local, lane * w.local_bytes + address};
    }
    if (space != SASSEMU_GLOBAL) return {};
    Extent* const e = extent(address);
    return e ? Place{&e->shadow, address - last_extent_.first} : Place{};
}

// The bytes are those of one allocation, which has no undefined ones: nothing to do.
bool Checker::quick_global(const sassemu_recorded_access& a, const uint64_t* at, bool& known) {
    const auto count = static_cast<uint32_t>(std::popcount(a.lanes));
    uint64_t low = ~uint64_t{0}, high = 0;
    for (uint32_t k = 0; k < count; ++k) {
        low = std::min(low, at[k]);
        high = std::max(high, at[k]);
    }
    Extent* const e = extent(low);
    known = e && high < e->end;
    return known && e->shadow.all_defined();
}

bool Checker::quick_shared(Shadow& s, const sassemu_recorded_access& a, const uint64_t* at,
                           uint32_t bytes) {
    if (s.all_defined()) return true;
    const auto count = static_cast<uint32_t>(std::popcount(a.lanes));
    if (a.op == SASSEMU_STORE) {
        for (uint32_t k = 0; k < count; ++k) s.define(at[k] & 0xffffff, bytes);
        return true;
    }
    uint32_t undefined = 0;
    for (uint32_t k = 0; k < count; ++k) undefined |= s.undefined(at[k] & 0xffffff, bytes);
    return !undefined;
}

// What it reads is defined, and so is what it stores: the usual case. False: it was not done.
bool Checker::quick(Cta& c, Warp& w, const Instruction& i, const sassemu_recorded_access& a,
                    const uint64_t* at) {
    const uint32_t bytes = bytes_of(a);
    if (a.op == SASSEMU_PREFETCH) return true;
    if (a.flags & SASSEMU_ACCESS_LDGSTS) {
        bool known = false;
        if (a.op == SASSEMU_STORE)
            return std::all_of(c.copied, c.copied + 32, [](uint32_t u) { return !u; }) &&
                   quick_shared(c.shared, a, at, bytes);
        if (!quick_global(a, at, known)) return false;
        std::fill_n(c.copied, 32, 0);
        return true;
    }
    switch (a.space) {
        case SASSEMU_SHARED:
            return quick_shared(c.shared, a, at, bytes);
        case SASSEMU_CONSTANT:
            return i.table < 5 && [&] {
                const uint64_t end = info_.constant_bytes[i.table];
                const auto count = static_cast<uint32_t>(std::popcount(a.lanes));
                return std::all_of(at, at + count, [&](uint64_t k) { return k + bytes <= end; });
            }();
        case SASSEMU_TEXTURE:
        case SASSEMU_SURFACE:
        case SASSEMU_TENSOR_MEMORY:
            return true;
        case SASSEMU_GLOBAL:
        case SASSEMU_GENERIC: {
            bool known = false;
            if (quick_global(a, at, known)) return true;
            break;
        }
        default:
            break;
    }
    const bool stores = a.op == SASSEMU_STORE;
    for (const bool now : {false, true}) {
        if (now && !stores) break;
        uint32_t k = 0, undefined = 0;
        each_lane(a.lanes, [&](uint32_t lane) {
            const Place p = place(c, w, lane, a.space, at[k++]);
            if (!p.shadow) return;
            if (now)
                p.shadow->define(p.at, bytes);
            else if (!stores)
                undefined |= p.shadow->undefined(p.at, bytes);
        });
        if (undefined) return false;
    }
    return true;
}

void Checker::constant(const Step& s, const sassemu_recorded_access& a, const uint64_t* at) {
    const uint64_t end = s.i.table < 5 ? info_.constant_bytes[s.i.table] : 0;
    uint32_t k = 0;
    each_lane(a.lanes, [&](uint32_t lane) {
        const uint64_t address = at[k++];
        if (address + a.bytes <= end) return;
        Finding* const f = found(Kind::out_of_bounds, s.i.insn);
        if (!f) return;
        f->thread = thread_text(s, lane);
        f->has_address = true;
        f->address = address;
        f->what = std::to_string(a.bytes) + " bytes at " + findings::hex(address) +
                  " of constant bank " + std::to_string(s.i.table) + ", which has " +
                  std::to_string(end) + "; it reads zeros there";
    });
}

Origin Checker::born(const Step& s, uint32_t lane, uint32_t space, uint64_t address,
                     const Place& p) {
    if (const Origin stored = p.shadow->origin(p.at)) return stored;
    if (space == SASSEMU_GENERIC)
        space = p.shadow == &s.warp.local ? SASSEMU_LOCAL
                : extent(address)         ? SASSEMU_GLOBAL
                                          : SASSEMU_SHARED;
    std::string what;
    if (space == SASSEMU_GLOBAL) {
        const Extent* const e = extent(address);
        what = "global memory at " + findings::hex(address) + ", byte " +
               std::to_string(address - last_extent_.first) + " of '" + e->name + "'";
        if (e->is_heap) {
            auto block = blocks_.upper_bound(address);
            if (block != blocks_.begin() && (--block)->first + block->second.bytes > address)
                what = "global memory at " + findings::hex(address) + ", byte " +
                       std::to_string(address - block->first) + " of a block of " +
                       std::to_string(block->second.bytes) + " bytes that malloc() gave to " +
                       block->second.thread;
        }
    } else {
        what = (space == SASSEMU_LOCAL ? "local memory at " : "shared memory at ") +
               findings::hex(space == SASSEMU_LOCAL ? address & 0xffffffff : p.at);
    }
    char key[64];
    std::snprintf(key, sizeof key, "%p %u", static_cast<const void*>(s.i.insn), space);
    const Origin origin =
        birth(key, what + ", which nothing has written", thread_text(s, lane), s.i.insn);
    if (loads_)
        if (Finding* const f = found(Kind::load, s.i.insn, origin)) {
            f->thread = thread_text(s, lane);
            f->has_address = true;
            f->address = address;
        }
    return origin;
}

void Checker::access(const Step& s, const sassemu_recorded_access& a, const uint64_t* at) {
    if (a.space == SASSEMU_CONSTANT) return constant(s, a, at);
    const uint32_t bytes = bytes_of(a), words = (bytes + 3) / 4;
    const bool copies = a.flags & SASSEMU_ACCESS_LDGSTS, matrix = a.flags & SASSEMU_ACCESS_MATRIX;
    Registers& registers = s.warp.registers;
    // Rows of the data, in order; of results likewise. A result comes before predicates.
    const auto row = [](const std::vector<uint16_t>& rows, uint32_t k) {
        return k < rows.size() && rows[k] < uniform_rows ? rows[k] : no_row;
    };
    if (copies && a.op == SASSEMU_LOAD) std::fill_n(s.cta.copied, 32, 0);
    uint32_t k = 0;
    each_lane(a.lanes, [&](uint32_t lane) {
        const uint64_t address = at[k++];
        const Place p = place(s.cta, s.warp, lane, a.space, address);
        const uint32_t undefined = p.shadow ? p.shadow->undefined(p.at, bytes) : 0;
        Origin from = never_written;
        if (undefined && a.op != SASSEMU_STORE) {
            const auto skip = static_cast<uint32_t>(std::countr_zero(undefined));
            from = born(s, lane, a.space, address + skip, {p.shadow, p.at + skip});
        }
        if (a.op == SASSEMU_STORE) {
            if (!p.shadow) return;
            p.shadow->define(p.at, bytes);
            if (copies) {
                for (uint32_t b = 0; b < bytes; ++b)
                    if (s.cta.copied[lane] >> b & 1)
                        p.shadow->undefine(p.at + b, 1, s.cta.copied_from[lane]);
                return;
            }
            for (uint32_t b = 0; b < bytes; ++b) {
                // STSM: word n of row r of matrix m is register m of lane 4 r + n.
                const uint32_t source = matrix ? lane % 8 * 4 + b / 4 : lane;
                const uint32_t data = row(s.i.data, matrix ? lane / 8 : b / 4);
                if (data == no_row || !(registers.bits(data, source) >> b % 4 * 8 & 0xff)) continue;
                const Origin o = origin(s, data, source);
                if (!births_[o].stored) births_[o].stored = s.i.insn;
                p.shadow->undefine(p.at + b, 1, o);
            }
            return;
        }
        if (copies) {
            s.cta.copied[lane] = undefined;
            s.cta.copied_from[lane] = from;
            return;
        }
        // Atomics leave undefined what was, and what they add that is.
        if (a.op != SASSEMU_LOAD && p.shadow) {
            if (a.atomic == SASSEMU_ATOMIC_EXCHANGE) p.shadow->define(p.at, bytes);
            for (uint32_t b = 0; b < words; ++b)
                if (const uint32_t data = row(s.i.data, b);
                    data != no_row && registers.bits(data, lane))
                    p.shadow->undefine(p.at + b * 4, std::min(4u, bytes), origin(s, data, lane));
        }
        if (a.op == SASSEMU_REDUCE) return;
        for (uint32_t b = 0; b < words; ++b) {
            uint32_t bits = 0;
            for (uint32_t n = 0; n < 4; ++n)
                if (undefined >> (b * 4 + n) & 1) bits |= 0xffu << n * 8;
            if (bits && bytes < 4 && a.flags & SASSEMU_ACCESS_SIGN_EXTEND &&
                bits >> (bytes * 8 - 1) & 1)
                bits |= ~0u << bytes * 8;
            const uint32_t target = matrix ? lane % 8 * 4 + b : lane;
            const uint32_t result = row(s.i.results, matrix ? lane / 8 : b);
            if (result != no_row && bits) registers.undefine(result, target, bits, from);
        }
    });
}

}  // namespace check_mem
