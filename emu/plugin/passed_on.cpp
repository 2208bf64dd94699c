// SPDX-License-Identifier: Apache-2.0
// See passed_on.hpp.
#include "emu/plugin/passed_on.hpp"

#include <algorithm>

#include "emu/memory/event.hpp"
#include "emu/plugin/instruction.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu {

namespace {

using Registers = std::array<uint64_t, 4>;

bool meet(const Registers& a, const Registers& b) {
    bool any = false;
    for (size_t k = 0; k < a.size(); ++k) any |= (a[k] & b[k]) != 0;
    return any;
}
void remove(Registers& from, const Registers& what) {
    for (size_t k = 0; k < from.size(); ++k) from[k] &= ~what[k];
}
Registers some(unsigned first, unsigned count) {
    Registers r{};
    for (unsigned k = first; k < std::min(first + count, SASSEMU_RZ); ++k)
        r[k / 64] |= uint64_t{1} << k % 64;
    return r;
}

bool always(const sassdec_operand& o) {
    return o.kind == SASSDEC_OP_PRED && o.index == SASSDEC_PT && !(o.flags & SASSDEC_INV);
}

constexpr unsigned most_stored_bytes = 16;  // of a store

}  // namespace

SectionPaths::Step SectionPaths::step_of(const HookedInstruction& i) {
    Step s;
    sassdec_insn d;
    if (!decode(i, d)) {
        s.goes = Goes::elsewhere;
        return s;
    }
    sassdec_regset reads{}, writes{};
    sassdec_registers(&d, &reads, &writes);
    std::copy_n(reads.r, 4, s.reads.begin());
    std::copy_n(writes.r, 4, s.writes.begin());
    if (d.guard != SASSDEC_PT || d.guard_neg)
        s.guard = static_cast<uint8_t>(d.guard | d.guard_uniform << 3 | d.guard_neg << 4);
    s.predicates = static_cast<uint16_t>(writes.p | writes.up << 8);
    const Event e = event_of(d);
    const sassdec_operand *const operands = d.operand, *const end = operands + d.operand_count;
    const auto* const label =
        std::find_if(operands, end, [](const auto& o) { return o.kind == SASSDEC_OP_LABEL; });
    if (label != end) {
        s.goes = Goes::to_target;
        s.target = static_cast<int64_t>(label->imm) / 16;
    }
    if (e.is(SASSDEC_KIND_CONTROL)) {
        switch (e.action) {
            case SASSDEC_ACTION_BRANCH:
                if (label == end) s.goes = Goes::anywhere;
                // It may need something beside its guard.
                s.may_go_on = s.guard != unguarded || std::any_of(operands, end, [](const auto& o) {
                                  return o.kind != SASSDEC_OP_LABEL && !always(o);
                              });
                break;
            case SASSDEC_ACTION_EXIT:
                s.goes = Goes::ends;
                s.may_go_on = s.guard != unguarded;
                break;
            case SASSDEC_ACTION_CALL:  // arguments are in registers
            case SASSDEC_ACTION_RETURN:
                s.goes = Goes::elsewhere;
                break;
            default:
                break;
        }
    }
    const sassdec_operand *address = e.operand(e.address), *data = e.operand(e.data),
                          *result = e.operand(e.result), *predicate = e.operand(e.predicate);
    const bool plain = e.action == SASSDEC_ACTION_PLAIN && e.order == SASSDEC_ORDER_WEAK;
    if (e.is(SASSDEC_KIND_STORE) && plain && e.bytes <= most_stored_bytes && address && data &&
        (e.space == SASSDEC_SPACE_GLOBAL || e.space == SASSDEC_SPACE_GENERIC) &&
        data->kind == SASSDEC_OP_REG && data->file == SASSDEC_R) {
        s.data = data->index;
        s.words = std::max<uint8_t>(1, static_cast<uint8_t>(e.bytes / 4));
        s.bytes = e.bytes;
        s.address = address->index;
        s.address_words = address->file == SASSDEC_R ? address->width : uint8_t{0};
    }
    if (e.is(SASSDEC_KIND_LOAD) && plain && e.bytes <= most_stored_bytes && s.guard == unguarded &&
        result && (!predicate || always(*predicate)) &&
        (e.space == SASSDEC_SPACE_SHARED || e.space == SASSDEC_SPACE_CLUSTER ||
         e.space == SASSDEC_SPACE_GENERIC) &&
        result->file == SASSDEC_R && result->index != SASSDEC_RZ) {
        s.loads = true;
        s.result = result->index;
        s.bytes = e.bytes;
    }
    return s;
}

SectionPaths::SectionPaths(const HookedInstruction& any) {
    const CodeImage& image = *any.image;
    const uint64_t offset = image.section_offset(uint64_t{any.index} * 16);
    first_ = &any - offset / 16;
    const uint64_t left = image.count() - first_->index;
    for (uint64_t n = 0; n < left; ++n) {
        if (image.section_offset((first_->index + n) * 16) != n * 16) break;
        steps_.push_back(step_of(first_[n]));
    }
    bool anywhere = false;
    for (size_t n = 0; n < steps_.size(); ++n) {
        Step& s = steps_[n];
        anywhere |= s.goes == Goes::anywhere;
        if (s.goes == Goes::elsewhere && n + 1 < steps_.size()) steps_[n + 1].is_target = true;
        if (s.target < 0) continue;
        if (s.target < static_cast<int64_t>(steps_.size()))
            steps_[static_cast<size_t>(s.target)].is_target = true;
        else if (s.goes == Goes::to_target)
            s.goes = Goes::elsewhere;
    }
    // Where an indirect branch leads is not known.
    for (Step& s : steps_) s.is_target |= anywhere;
}

bool SectionPaths::Live::is_read_by(const Step& s) const {
    Registers left = all;
    if (s.guard == guard) remove(left, covered);
    return meet(s.reads, left);
}

void SectionPaths::Live::pass(const Step& s) {
    if (s.guard == unguarded) {
        remove(all, s.writes);
        remove(covered, s.writes);
    } else if (meet(s.writes, all)) {
        if (guard == unguarded) guard = s.guard;
        for (size_t k = 0; guard == s.guard && k < all.size(); ++k)
            covered[k] |= s.writes[k] & all[k];
    }
    if (guard != unguarded && s.predicates >> (guard & 15) & 1) covered = {};
    if (covered == Registers{}) guard = unguarded;
}

void SectionPaths::Live::join(const Live& other) {
    if (none()) {
        *this = other;
        return;
    }
    // What only one of them has is covered there or not at all.
    for (size_t k = 0; k < all.size(); ++k) {
        const uint64_t mine = covered[k], theirs = guard == other.guard ? other.covered[k] : 0;
        covered[k] = (mine & theirs) | (mine & ~other.all[k]) | (theirs & ~all[k]);
        all[k] |= other.all[k];
    }
    if (covered == Registers{}) guard = unguarded;
}

// Whether nothing that comes after reads one of the registers before it is written.
bool SectionPaths::dead(size_t from, const Live& live) const {
    std::vector<Live> at(steps_.size());
    std::vector<size_t> left;
    const auto reach = [&](size_t n, const Live& with) {
        if (n >= steps_.size()) return false;
        Live now = at[n];
        now.join(with);
        if (now != at[n]) {
            at[n] = now;
            left.push_back(n);
        }
        return true;
    };
    if (!reach(from, live)) return false;
    while (!left.empty()) {
        const size_t n = left.back();
        left.pop_back();
        const Step& s = steps_[n];
        Live now = at[n];
        if (now.is_read_by(s) || s.leaves()) return false;
        now.pass(s);
        if (now.none()) continue;
        if (s.goes == Goes::to_target && !reach(static_cast<size_t>(s.target), now)) return false;
        if (s.may_go_on && !reach(n + 1, now)) return false;
    }
    return true;
}

std::optional<PassedOn> SectionPaths::of(const HookedInstruction& load) const {
    const auto at = static_cast<size_t>(&load - first_);
    const Step& from = steps_[at];
    if (!from.loads) return {};
    const unsigned words = std::max(1, from.bytes / 4);
    std::optional<PassedOn> out;
    Live live;
    live.all = some(from.result, words);
    for (size_t n = at + 1; n < steps_.size(); ++n) {
        const Step& s = steps_[n];
        if (s.is_target) return dead(n, live) ? out : std::nullopt;
        if (live.is_read_by(s)) {
            const unsigned offset = 4u * (from.result - s.data);
            const bool stores = s.words && s.data <= from.result && offset < s.bytes &&
                                !meet(some(s.address, s.address_words), live.all);
            const unsigned bytes = stores ? std::min<unsigned>(s.bytes - offset, 4 * words) : 0;
            if (out || !stores || bytes > from.bytes) return {};
            out = {handle(&first_[n]), static_cast<uint8_t>(offset), static_cast<uint8_t>(bytes)};
        } else if (!out && meet(s.writes, live.all)) {
            return {};
        }
        live.pass(s);
        if (live.none()) return out;
        if (s.leaves()) return {};
        if (s.goes == Goes::to_target && !dead(static_cast<size_t>(s.target), live)) return {};
        // Those that go on have not branched: it is still a straight line for them.
        if (!s.may_go_on) return out;
    }
    return {};
}

}  // namespace sassemu
