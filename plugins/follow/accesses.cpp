// SPDX-License-Identifier: Apache-2.0
// What accesses of warps do to the marks of memory, and it to theirs.
#include <algorithm>
#include <bit>

#include "follow/follower.hpp"

namespace follow {

namespace {

uint32_t bytes_of(const sassemu_recorded_access& a) {
    return a.flags & SASSEMU_ACCESS_MATRIX ? matrix_row : a.bytes;
}

// Marks of one origin, one behind the other, are made together: mostly a warp stores so.
class Stretch {
  public:
    ~Stretch() { end(); }
    void mark(Shadow* shadow, uint64_t at, uint64_t bytes, Origin origin) {
        if (shadow != shadow_ || at != at_ + bytes_ || origin != origin_) {
            end();
            shadow_ = shadow;
            at_ = at;
            origin_ = origin;
        }
        bytes_ += bytes;
    }
    void end() {
        if (bytes_) shadow_->mark(at_, bytes_, origin_);
        bytes_ = 0;
    }

  private:
    Shadow* shadow_ = nullptr;
    uint64_t at_ = 0, bytes_ = 0;
    Origin origin_ = unnamed;
};

}  // namespace

Extent* Follower::extent(uint64_t address) {
    if (last_extent_.second && address >= last_extent_.first && address < last_extent_.second->end)
        return last_extent_.second;
    auto at = extents_.upper_bound(address);
    if (at == extents_.begin()) return nullptr;
    --at;
    if (address >= at->second.end) return nullptr;
    last_extent_ = {at->first, &at->second};
    return &at->second;
}

Place Follower::place(Cta& c, Warp& w, uint32_t lane, uint32_t space, uint64_t address) {
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

// The bytes are those of one allocation, which has no marked ones: nothing to do.
bool Follower::quick_global(const sassemu_recorded_access& a, const uint64_t* at, bool& known) {
    const auto count = static_cast<uint32_t>(std::popcount(a.lanes));
    uint64_t low = ~uint64_t{0}, high = 0;
    for (uint32_t k = 0; k < count; ++k) {
        low = std::min(low, at[k]);
        high = std::max(high, at[k]);
    }
    Extent* const e = extent(low);
    known = e && high < e->end;
    return known && e->shadow.clean();
}

bool Follower::quick_shared(Shadow& s, const sassemu_recorded_access& a, const uint64_t* at,
                            uint32_t bytes) {
    if (s.clean()) return true;
    const auto count = static_cast<uint32_t>(std::popcount(a.lanes));
    if (a.op == SASSEMU_STORE) {
        for (uint32_t k = 0; k < count; ++k) s.clear(at[k] & 0xffffff, bytes);
        return true;
    }
    uint32_t marked = 0;
    for (uint32_t k = 0; k < count; ++k) marked |= s.marked(at[k] & 0xffffff, bytes);
    return !marked;
}

// What it reads has no marks, nor what it stores: the usual case. False: it was not done.
bool Follower::quick(Cta& c, Warp& w, const Instruction& i, const sassemu_recorded_access& a,
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
            return inside_bank(i, a, at);
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
        uint32_t k = 0, marked = 0;
        each_lane(a.lanes, [&](uint32_t lane) {
            const Place p = place(c, w, lane, a.space, at[k++]);
            if (!p.shadow) return;
            if (now)
                p.shadow->clear(p.at, bytes);
            else if (!stores)
                marked |= p.shadow->marked(p.at, bytes);
        });
        if (marked) return false;
    }
    return true;
}

bool Follower::inside_bank(const Instruction& i, const sassemu_recorded_access& a,
                           const uint64_t* at) {
    if (i.table >= 5) return false;
    const uint64_t end = info_.constant_bytes[i.table];
    const auto count = static_cast<uint32_t>(std::popcount(a.lanes));
    return std::all_of(at, at + count, [&](uint64_t k) { return k + a.bytes <= end; });
}

// STSM.T and its like: where the layout is not known, every byte has of all lanes.
void Follower::store_matrix(const Step& s, uint32_t data, uint32_t lane, const Place& p) {
    p.shadow->clear(p.at, matrix_row);
    if (data == no_row) return;
    const auto bring = [&](uint32_t from, uint32_t byte, uint32_t to) {
        const Marked m = marked(s, data, from);
        if (!(m.bits >> byte * 8 & 0xff)) return;
        leaves(s, data, from, p);
        p.shadow->mark(p.at + to, 1, m.origin);
        stored(m.origin, s.i.insn);
    };
    for (uint32_t b = 0; b < matrix_row; ++b) {
        if (s.i.shape == MatrixShape::other) {
            for (uint32_t from = 0; from < 32; ++from)
                for (uint32_t byte = 0; byte < 4; ++byte) bring(from, byte, b);
            continue;
        }
        const auto [from, byte] = place_in_matrix(s.i.shape, lane % 8, b);
        bring(from, byte, b);
    }
}

void Follower::access(const Step& s, const sassemu_recorded_access& a, const uint64_t* at) {
    if (a.space == SASSEMU_CONSTANT) {
        if (!inside_bank(s.i, a, at)) outside(s, a, at);
        return;
    }
    const uint32_t bytes = bytes_of(a), words = (bytes + 3) / 4;
    const bool copies = a.flags & SASSEMU_ACCESS_LDGSTS, matrix = a.flags & SASSEMU_ACCESS_MATRIX;
    Registers& registers = s.warp.registers;
    // Rows of the data, in order; of results likewise. A result comes before predicates.
    const auto row = [](const std::vector<uint16_t>& rows, uint32_t k) {
        return k < rows.size() && rows[k] < uniform_rows ? rows[k] : no_row;
    };
    if (copies && a.op == SASSEMU_LOAD) std::fill_n(s.cta.copied, 32, 0);
    Stretch marks;
    uint32_t k = 0;
    each_lane(a.lanes, [&](uint32_t lane) {
        const uint64_t address = at[k++];
        const Place p = place(s.cta, s.warp, lane, a.space, address);
        const uint32_t marked = p.shadow ? p.shadow->marked(p.at, bytes) : 0;
        Origin from = unnamed;
        if (marked && a.op != SASSEMU_STORE) {
            const auto skip = static_cast<uint32_t>(std::countr_zero(marked));
            from = p.shadow->origin(p.at + skip);
            if (!from) from = born(s, lane, a.space, address + skip, {p.shadow, p.at + skip});
            if (doubt_ == Doubt::marks)
                for (uint32_t b = skip + 1; b < bytes; ++b)
                    if (marked >> b & 1) from = join(from, p.shadow->origin(p.at + b));
        }
        if (a.op == SASSEMU_STORE) {
            if (!p.shadow) {
                for (const uint16_t data : s.i.data)
                    if (registers.bits(data, lane)) leaves(s, data, lane, p);
                return;
            }
            const Origin through = through_any_ ? through_[lane] : unnamed;
            if (copies) {
                p.shadow->clear(p.at, bytes);
                for (uint32_t b = 0; b < bytes; ++b)
                    if (s.cta.copied[lane] >> b & 1)
                        p.shadow->mark(p.at + b, 1, join(through, s.cta.copied_from[lane]));
                if (through && !s.cta.copied[lane]) p.shadow->mark(p.at, bytes, through);
                return;
            }
            if (matrix && s.i.shape != MatrixShape::rows) {
                store_matrix(s, row(s.i.data, lane / 8), lane, p);
                return;
            }
            for (uint32_t b = 0; b < bytes; b += 4) {
                // STSM: word n of row r of matrix m is register m of lane 4 r + n.
                const uint32_t source = matrix ? lane % 8 * 4 + b / 4 : lane;
                const uint32_t data = row(s.i.data, matrix ? lane / 8 : b / 4);
                const uint32_t n = std::min(4u, bytes - b);
                const uint32_t bits = data == no_row ? 0 : registers.bits(data, source);
                const Origin o = bits ? join(through, origin(s, data, source)) : through;
                if (bits) leaves(s, data, source, p);
                bool any = o && (through || bits == ~0u);
                if (any) {
                    marks.mark(p.shadow, p.at + b, n, o);
                } else {
                    marks.end();
                    p.shadow->clear(p.at + b, n);
                    for (uint32_t k = 0; k < n && o; ++k) {
                        if (!(bits >> k * 8 & 0xff)) continue;
                        p.shadow->mark(p.at + b + k, 1, o);
                        any = true;
                    }
                }
                if (any) stored(o, s.i.insn);
            }
            return;
        }
        if (copies) {
            s.cta.copied[lane] = marked;
            s.cta.copied_from[lane] = from;
            return;
        }
        // Atomics leave marked what was, and what they add that is.
        if (a.op != SASSEMU_LOAD && p.shadow) {
            if (a.atomic == SASSEMU_ATOMIC_EXCHANGE) p.shadow->clear(p.at, bytes);
            for (uint32_t b = 0; b < words; ++b) {
                const uint32_t data = row(s.i.data, b);
                Origin o = through_any_ ? through_[lane] : unnamed;
                if (data != no_row && registers.bits(data, lane))
                    o = join(o, origin(s, data, lane));
                if (!o) continue;
                if (p.shadow->marked(p.at + b * 4, 1)) o = join(o, p.shadow->origin(p.at + b * 4));
                p.shadow->mark(p.at + b * 4, std::min(4u, bytes), o);
                if (doubt_ == Doubt::marks) stored(o, s.i.insn);
            }
        }
        if (a.op == SASSEMU_REDUCE) return;
        if (marked) bring(s.warp, s.i, a.flags, bytes, lane, marked, from);
    });
}

}  // namespace follow
