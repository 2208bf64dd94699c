// SPDX-License-Identifier: Apache-2.0
// What an instruction does to marks by the values that registers have as it is executed: which of
// two is selected, which predicate settles a comparison, which lane a shuffle reads.
#include <algorithm>
#include <bit>

#include "follow/follower.hpp"

namespace follow {

namespace {

bool is_known(const sassemu_operand& o) {
    return o.kind != SASSEMU_OPERAND_OTHER &&
           !(o.kind == SASSEMU_OPERAND_CONSTANT && o.has_uniform);
}

bool holds(const Comparison& c, uint32_t a, uint32_t b) {
    const int64_t x = c.is_signed ? static_cast<int32_t>(a) : int64_t{a},
                  y = c.is_signed ? static_cast<int32_t>(b) : int64_t{b};
    switch (c.compares) {
        case 'L':
            return x < y;
        case 'l':
            return x <= y;
        case 'E':
            return x == y;
        case 'N':
            return x != y;
        case 'g':
            return x >= y;
        default:
            return x > y;
    }
}

}  // namespace

uint32_t Follower::value(const Step& s, const sassemu_operand& o, uint32_t lane) const {
    const sassemu_warp warp = host.cta_warp(s.cta.handle, s.warp_index);
    const bool uniform = o.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE;
    uint32_t v = 0;
    switch (o.kind) {
        case SASSEMU_OPERAND_REGISTER:
            v = o.index == SASSEMU_RZ ? 0 : host.row(warp, o.index)[lane];
            break;
        case SASSEMU_OPERAND_UNIFORM_REGISTER:
            v = o.index == SASSEMU_RZ ? 0 : *host.uniform(warp, o.index);
            break;
        case SASSEMU_OPERAND_PREDICATE:
        case SASSEMU_OPERAND_UNIFORM_PREDICATE:
            v = o.index == SASSEMU_PT ||
                (host.predicate(warp, o.index + (uniform ? 8 : 0)) >> lane & 1);
            return v ^ o.inverted;
        case SASSEMU_OPERAND_IMMEDIATE:
            v = static_cast<uint32_t>(o.value);
            break;
        case SASSEMU_OPERAND_CONSTANT:
            v = host.constant(warp, o.bank, static_cast<uint32_t>(o.value));
            break;
        default:
            break;
    }
    return o.inverted ? ~v : v;
}

void Follower::select(const Step& s) {
    const std::vector<sassemu_operand>& from = s.i.operands;
    const auto by = std::find_if(from.begin(), from.end(), is_predicate);
    std::vector<Marks> chosen(s.i.results.size());
    each_lane(s.lanes, [&](uint32_t lane) {
        const Marked of_choice = by == from.end() ? Marked{} : marked(s, row_of(*by), lane);
        const sassemu_operand& o = from[by != from.end() && !value(s, *by, lane)];
        for (uint32_t k = 0; k < chosen.size(); ++k)
            chosen[k][lane] = of_choice.bits        ? Marked{~0u, of_choice.origin}
                              : row_of(o) == no_row ? Marked{}
                                                    : marked(s, row_of(o) + k, lane);
    });
    for (size_t k = 0; k < chosen.size(); ++k) give(s, s.i.results[k], chosen[k]);
}

// Of what is compared, without the predicate that the outcome is joined with. Without marks of some
// forms the outcome is known.
Marked Follower::compared(const Step& s, uint32_t lane, bool& known, bool& holds) {
    const std::vector<sassemu_operand>& from = s.i.operands;
    const uint32_t joined = row_of(*std::find_if(from.begin(), from.end(), is_predicate));
    for (const uint16_t row : s.i.data)
        if (row != joined && s.warp.registers.bits(row, lane)) return {~0u, origin(s, row, lane)};
    known = s.i.by_values && s.i.comparison.compares && from.size() >= 3 && is_known(from[0]) &&
            is_known(from[1]);
    if (known)
        holds = follow::holds(s.i.comparison, value(s, from[0], lane), value(s, from[1], lane));
    return {};
}

// AND with false, and OR with true, are known whatever the other side is.
void Follower::compare(const Step& s) {
    const std::vector<sassemu_operand>& from = s.i.operands;
    const sassemu_operand& with = *std::find_if(from.begin(), from.end(), is_predicate);
    const char joins = s.i.comparison.joins;
    Marks marks[2];
    each_lane(s.lanes, [&](uint32_t lane) {
        bool known = false, holds = false;
        const Marked side = compared(s, lane, known, holds), other = marked(s, row_of(with), lane);
        const bool decides = joins == '|';
        const bool settled = joins != '^' && !other.bits && (value(s, with, lane) != 0) == decides;
        const Marked any = side.bits ? side : other;
        for (const bool second : {false, true}) {
            const bool by_side =
                joins != '^' && !side.bits && known && (holds != second) == decides;
            marks[second][lane] =
                any.bits && !settled && !by_side ? Marked{~0u, any.origin} : Marked{};
        }
    });
    for (size_t k = 0; k < std::min<size_t>(2, s.i.named.size()); ++k)
        give(s, s.i.named[k], marks[k]);
}

// Three predicates, two tables.
void Follower::combine(const Step& s) {
    const std::vector<sassemu_operand>& from = s.i.operands;
    Marks marks[2];
    each_lane(s.lanes, [&](uint32_t lane) {
        Marked any;
        uint32_t open = 0, given = 0;  // of the table's index
        for (uint32_t k = 0; k < 3; ++k) {
            const Marked m = marked(s, row_of(from[k]), lane);
            if (m.bits) any = m;
            (m.bits ? open : given) |= (m.bits ? 1 : value(s, from[k], lane)) << (2 - k);
        }
        for (uint32_t table = 0; table < 2; ++table) {
            uint32_t outcomes = 0;
            for (uint32_t k = 0; k < 8; ++k)
                if ((k & ~open) == given)
                    outcomes |= 1u << (static_cast<uint32_t>(from[3 + table].value) >> k & 1);
            if (outcomes == 3) marks[table][lane] = {~0u, any.origin};
        }
    });
    for (size_t k = 0; k < std::min<size_t>(2, s.i.named.size()); ++k)
        give(s, s.i.named[k], marks[k]);
}

// PTX ISA, shfl.sync: c has the clamp in bits 4:0 and the mask of the segments in bits 12:8.
void Follower::shuffle(const Step& s) {
    const std::vector<sassemu_operand>& from = s.i.operands;
    if (from.size() < 3 || s.i.named.size() != 2) return give_all(s, {});
    const std::string_view text = host.insn_text(s.i.insn);
    const auto says = [&](std::string_view mode) { return text.find(mode) != text.npos; };
    const bool up = says(".UP"), down = says(".DOWN"), across = says(".BFLY");
    Marks marks, of_lane;
    each_lane(s.lanes, [&](uint32_t lane) {
        for (uint32_t k = 1; k < 3; ++k)
            if (const Marked m = marked(s, row_of(from[k]), lane); m.bits)
                of_lane[lane] = {~0u, m.origin};
        if (of_lane[lane].bits) {
            marks[lane] = of_lane[lane];
            return;
        }
        const uint32_t by = value(s, from[1], lane) & 31, c = value(s, from[2], lane);
        const uint32_t segment = c >> 8 & 31, low = lane & segment,
                       high = low | (c & 31 & ~segment);
        uint32_t at = up       ? lane - by
                      : down   ? lane + by
                      : across ? lane ^ by
                               : low | (by & ~segment);
        const bool inside =
            up ? static_cast<int32_t>(at) >= static_cast<int32_t>(high) : at <= high;
        if (!inside) at = lane;
        if (s.lanes >> at & 1) marks[lane] = marked(s, row_of(from[0]), at);
    });
    give(s, s.i.named[0], of_lane);
    give(s, s.i.named[1], marks);
}

}  // namespace follow
