// SPDX-License-Identifier: Apache-2.0
// See ways.hpp.
#include "ways.hpp"

#include <set>

namespace check_sync {

using follow::Instruction;
using follow::Transfer;

namespace {

// Of one branch, in one lane.
constexpr uint32_t most_steps = 4096, most_ways = 64, most_calls = 16;

bool is_near(const sassemu_effect& e) {
    return (e.space == SASSEMU_SHARED && !e.in_cluster) || e.space == SASSEMU_LOCAL;
}

// What it makes has of other lanes, too, or it does what is no result.
bool reaches_others(const Instruction& i, std::string_view opcode) {
    switch (i.transfer) {
        case Transfer::gather:
        case Transfer::shuffle:
        case Transfer::first:
        case Transfer::matrix:
        case Transfer::turn:
            return true;
        default:
            return follow::is_any(opcode, {"ELECT", "FSWZADD"});
    }
}

bool says(const sassemu_host& host, const Instruction& i, std::string_view word) {
    return std::string_view(host.insn_text(i.insn)).find(word) != std::string_view::npos;
}

std::string_view opcode_of(const sassemu_host& host, const Instruction& i) {
    const std::string_view name = host.insn_opcode(i.insn);
    return name.substr(0, name.find('.'));
}

}  // namespace

bool Ways::are_followed(const sassemu::Plugin& plugin, sassemu_insn insn) {
    const sassemu_effect e = plugin.effect(insn);
    const std::string_view text = plugin.host.insn_text(insn);
    if (e.kind == SASSEMU_EFFECT_STORE)
        return text.starts_with('@') && is_near(e) && e.action == SASSEMU_ACTION_PLAIN;
    if (e.kind != SASSEMU_EFFECT_CONTROL) return false;
    if (e.action == SASSEMU_ACTION_CALL) return text.starts_with('@');
    if (e.action != SASSEMU_ACTION_BRANCH) return false;
    bool varies = text.starts_with('@');
    for (uint32_t k = 0; k < plugin.host.insn_operands(insn); ++k) {
        const sassemu_operand o = plugin.operand(insn, k);
        varies |= follow::is_predicate(o) && follow::row_of(o) != follow::no_row;
    }
    return varies;
}

bool Ways::follow(const follow::Step& s, const follow::Code& code, uint32_t by, uint32_t lane,
                  follow::Join& join) {
    step_ = &s;
    code_ = &code;
    lane_ = lane;
    warp_ = host_.cta_warp(s.cta.handle, s.warp_index);
    scratch_ = host_.scratch(session_, warp_);
    const uint32_t meeting = meetings_.of(host_, code, s.i.insn);
    std::vector<Way> open(1), done;
    open[0].at = static_cast<uint32_t>(host_.insn_code_offset(s.i.insn) / 16);
    for (uint32_t steps = 0; !open.empty();) {
        Way w = std::move(open.back());
        open.pop_back();
        Went went = Went::on;
        while (went != Went::back && !(w.depth == 0 && w.at == meeting)) {
            went = step(w, open);
            if (went == Went::lost || ++steps > most_steps) return false;
            if (went == Went::back && meeting != Meetings::nowhere) return false;
            if (open.size() + done.size() >= most_ways) return false;
        }
        done.push_back(std::move(w));
        if (done.back().at != done.front().at) return false;
    }
    join.at = done.front().at;
    join.lane = lane;
    compare(done, join);
    if (std::none_of(done.begin(), done.end(),
                     [&](const Way& w) { return follow::has(w.written, by); }))
        join.rows.push_back({by, ~0u});
    return true;
}

// ---- what a way knows

Ways::Value Ways::first_row(uint32_t row) const {
    if (step_->warp.registers.bits(row, lane_)) return {};
    if (row >= follow::predicate_rows)
        return {true, host_.predicate(warp_, row - follow::predicate_rows) >> lane_ & 1};
    const uint32_t* const at = row < follow::uniform_rows
                                   ? host_.row(warp_, row)
                                   : host_.uniform(warp_, row - follow::uniform_rows);
    if (!at) return {};
    return {true, at[row < follow::uniform_rows ? lane_ : 0]};
}

Ways::Value Ways::row(const Way& w, uint32_t row) const {
    if (!follow::has(w.here, row)) return first_row(row);
    return {follow::has(w.known, row), w.bits[row]};
}

// `doubtful`: nobody knows whether it is written.
void Ways::put(Way& w, uint32_t row, Value v, bool doubtful) const {
    if (doubtful && !(this->row(w, row) == v)) v = {};
    assume(w, row, v.bits);
    if (!v.known) w.known[row / 64] &= ~(uint64_t{1} << row % 64);
    follow::add(w.written, row);
}

void Ways::assume(Way& w, uint32_t row, uint32_t bits) {
    w.bits[row] = bits;
    follow::add(w.here, row);
    follow::add(w.known, row);
}

Ways::Value Ways::first_byte(uint64_t at) const {
    const bool local = at >> 32;
    const auto offset = static_cast<uint32_t>(at);
    uint8_t v = 0;
    if (local) {
        const follow::Warp& w = step_->warp;
        if (offset >= w.local_bytes || w.local.marked(lane_ * w.local_bytes + offset, 1)) return {};
        if (host_.read_local(warp_, lane_, offset, &v, 1)) return {};
    } else {
        follow::Cta& c = step_->cta;
        if (c.shared.marked(offset, 1) || !written_(c.handle, offset)) return {};
        if (host_.read_shared(c.handle, offset, &v, 1)) return {};
    }
    return {true, v};
}

Ways::Value Ways::byte(const Way& w, uint64_t at) const {
    const auto own = w.stored.find(at);
    return own == w.stored.end() ? first_byte(at) : own->second;
}

// [R5+UR4+0x10] of shared and local memory.
Ways::Value Ways::address(const Way& w, const Instruction& i) const {
    const std::string_view text = host_.insn_text(i.insn);
    const size_t bracket = text.find('[');
    for (const char* scaled : {".X4", ".X8", ".X16"})
        if (text.find(scaled, bracket) != text.npos) return {};
    for (const sassemu_operand& o : i.operands) {
        if (o.kind != SASSEMU_OPERAND_MEMORY) continue;
        Value sum{true, static_cast<uint32_t>(o.value)};
        const auto add = [&](uint32_t row) {
            const Value v = this->row(w, row);
            sum = {sum.known && v.known, sum.bits + v.bits};
        };
        const bool uniform = text.substr(bracket).starts_with("[UR");
        if (uniform)
            add(follow::uniform_rows + o.index);
        else if (o.index != SASSEMU_RZ)
            add(o.index);
        if (o.has_uniform && o.uniform != SASSEMU_RZ) add(follow::uniform_rows + o.uniform);
        if (i.effect.space == SASSEMU_SHARED) sum.bits &= 0xffffff;
        return sum;
    }
    return {};
}

// ---- an instruction

bool Ways::condition(const Way& w, const Instruction& i, uint32_t& open) const {
    open = follow::no_row;
    bool holds = true;
    const auto look = [&](uint32_t row, bool inverted) {
        const Value v = this->row(w, row);
        if (v.known)
            holds &= (v.bits != 0) != inverted;
        else
            open = row;
    };
    if (i.guard != follow::no_row) look(i.guard, i.guard_inverted);
    if (i.effect.kind == SASSEMU_EFFECT_CONTROL)
        for (const sassemu_operand& o : i.operands) {
            if (!follow::is_predicate(o)) continue;
            if (const uint32_t row = follow::row_of(o); row != follow::no_row)
                look(row, o.inverted);
            else
                holds &= !o.inverted;
        }
    if (!holds) open = follow::no_row;
    return holds;
}

Ways::Went Ways::step(Way& w, std::vector<Way>& open) {
    if (w.at >= code_->size()) return Went::lost;
    const Instruction& i = (*code_)[w.at];
    if (!i.insn) return Went::lost;
    uint32_t depends = follow::no_row;
    const bool executed = condition(w, i, depends);
    const bool doubtful = depends != follow::no_row;
    const uint8_t kind = i.effect.kind;
    if (!executed) {
        ++w.at;
        return Went::on;
    }
    if (doubtful && kind != SASSEMU_EFFECT_NONE && kind != SASSEMU_EFFECT_LOAD) {
        assume(open.emplace_back(w), depends, 0);
        assume(w, depends, 1);
        return Went::parted;
    }
    switch (kind) {
        case SASSEMU_EFFECT_NONE: {
            const Went went = compute(w, i, doubtful);
            ++w.at;
            return went;
        }
        case SASSEMU_EFFECT_LOAD:
            if (i.effect.action == SASSEMU_ACTION_MATRIX) return Went::lost;
            load(w, i, doubtful);
            ++w.at;
            return Went::on;
        case SASSEMU_EFFECT_STORE:
            if (!store(w, i)) return Went::lost;
            ++w.at;
            return Went::on;
        case SASSEMU_EFFECT_CONVERGENCE:
            // BSYNC goes on behind itself, where compilers put the target of its BSSY.
            if (i.effect.action != SASSEMU_ACTION_MARK && i.effect.action != SASSEMU_ACTION_MEET &&
                i.effect.action != SASSEMU_ACTION_LEAVE && i.effect.action != SASSEMU_ACTION_YIELD)
                return Went::lost;
            ++w.at;
            return Went::on;
        case SASSEMU_EFFECT_CONTROL:
            return control(w, i);
        default:
            return Went::lost;
    }
}

Ways::Went Ways::compute(Way& w, const Instruction& i, bool doubtful) {
    const std::string_view opcode = opcode_of(host_, i);
    if (reaches_others(i, opcode)) return Went::lost;
    const bool idle = opcode == "NOP";
    bool known = true;
    follow::each_row(i.reads, [&](uint32_t r) {
        if (r == i.guard) return;
        const Value v = row(w, r);
        known = known && v.known;
        if (!known) return;
        if (r < follow::uniform_rows)
            host_.row(scratch_, r)[lane_] = v.bits;  // it has one: the value comes of it
        else if (r < follow::predicate_rows)
            *host_.uniform(scratch_, r - follow::uniform_rows) = v.bits;
        else
            host_.set_predicate(scratch_, r - follow::predicate_rows, ~0u, v.bits ? ~0u : 0);
    });
    if (known && !idle) known = !host_.compute(session_, i.insn, 1u << lane_);
    // Without a result it would be here for something else.
    if (i.results.empty()) return known ? Went::on : Went::lost;
    for (const uint16_t r : i.results) {
        Value v{known, 0};
        if (r >= follow::predicate_rows)
            v.bits = host_.predicate(scratch_, r - follow::predicate_rows) >> lane_ & 1;
        else if (r >= follow::uniform_rows)
            v.bits = *host_.uniform(scratch_, r - follow::uniform_rows);
        else if (const uint32_t* const at = host_.row(scratch_, r))
            v.bits = at[lane_];
        put(w, r, v, doubtful);
    }
    return Went::on;
}

Ways::Went Ways::control(Way& w, const Instruction& i) {
    uint32_t target = 0;
    switch (i.effect.action) {
        case SASSEMU_ACTION_BRANCH:
            if (opcode_of(host_, i) != "BRA" || says(host_, i, ".DIV") || says(host_, i, ".CONV") ||
                says(host_, i, ".ANY") || !target_of(host_, i, target))
                return Went::lost;
            w.at = target;
            return Went::on;
        case SASSEMU_ACTION_CALL:
            if (!says(host_, i, "CALL.REL") || !target_of(host_, i, target) ||
                ++w.depth > most_calls)
                return Went::lost;
            w.at = target;
            return Went::on;
        case SASSEMU_ACTION_RETURN: {
            if (!says(host_, i, "RET.REL") || i.operands.empty() || !target_of(host_, i, target))
                return Went::lost;
            const sassemu_operand* to = nullptr;
            for (const sassemu_operand& o : i.operands)
                if (o.kind == SASSEMU_OPERAND_REGISTER) to = &o;
            if (!to || to->index == SASSEMU_RZ) return Went::lost;
            const Value low = row(w, to->index), high = row(w, to->index + 1);
            if (!low.known || !high.known || low.bits % 16) return Went::lost;
            const uint64_t by = uint64_t{high.bits} << 32 | low.bits;
            w.at = static_cast<uint32_t>(target + by / 16);
            if (w.depth == 0) return Went::back;
            --w.depth;
            return Went::on;
        }
        default:
            return Went::lost;
    }
}

void Ways::load(Way& w, const Instruction& i, bool doubtful) {
    const sassemu_effect& e = i.effect;
    const uint32_t bytes = e.bytes, words = (bytes + 3) / 4;
    std::vector<Value> loaded(i.results.size());
    const auto bank = std::find_if(i.operands.begin(), i.operands.end(), [](const auto& o) {
        return o.kind == SASSEMU_OPERAND_CONSTANT;
    });
    if (bank != i.operands.end()) {
        // Without an index.
        bool plain = bytes >= 4 && bank->value % 4 == 0 && !bank->has_uniform;
        follow::each_row(i.reads, [&](uint32_t r) { plain = plain && r == i.guard; });
        for (uint32_t k = 0; plain && k < std::min<size_t>(words, loaded.size()); ++k)
            loaded[k] = {true, host_.constant(warp_, bank->bank,
                                              static_cast<uint32_t>(bank->value) + k * 4)};
    } else if (const Value at = is_near(e) ? address(w, i) : Value{};
               at.known && bytes && bytes <= 16 && words <= loaded.size()) {
        const uint64_t space = e.space == SASSEMU_LOCAL ? uint64_t{1} << 32 : 0;
        for (uint32_t k = 0; k < words; ++k) {
            loaded[k].known = true;
            for (uint32_t b = k * 4; b < std::min(bytes, k * 4 + 4); ++b) {
                const Value v = byte(w, space | (at.bits + b));
                loaded[k].known = loaded[k].known && v.known;
                loaded[k].bits |= v.bits << b % 4 * 8;
            }
        }
        if (says(host_, i, ".S8"))
            loaded[0].bits = static_cast<uint32_t>(static_cast<int8_t>(loaded[0].bits));
        if (says(host_, i, ".S16"))
            loaded[0].bits = static_cast<uint32_t>(static_cast<int16_t>(loaded[0].bits));
    }
    for (size_t k = 0; k < loaded.size(); ++k) put(w, i.results[k], loaded[k], doubtful);
}

bool Ways::store(Way& w, const Instruction& i) {
    const uint32_t bytes = i.effect.bytes;
    const Value at = address(w, i);
    if (!is_near(i.effect) || i.effect.action != SASSEMU_ACTION_PLAIN || !at.known || !bytes ||
        bytes > 16)
        return false;
    const auto data = std::find_if(i.operands.begin(), i.operands.end(), [](const auto& o) {
        return o.kind == SASSEMU_OPERAND_REGISTER;
    });
    if (data == i.operands.end()) return false;
    const uint64_t space = i.effect.space == SASSEMU_LOCAL ? uint64_t{1} << 32 : 0;
    for (uint32_t b = 0; b < bytes; ++b) {
        const Value v = data->index == SASSEMU_RZ ? Value{true, 0} : row(w, data->index + b / 4);
        w.stored[space | (at.bits + b)] = {v.known, v.bits >> b % 4 * 8 & 0xff};
    }
    return true;
}

// ---- where they meet

void Ways::compare(const std::vector<Way>& ways, follow::Join& join) const {
    follow::RowSet written{};
    std::set<uint64_t> stored;
    for (const Way& w : ways) {
        for (size_t k = 0; k < written.size(); ++k) written[k] |= w.written[k];
        for (const auto& [at, v] : w.stored) stored.insert(at);
    }
    follow::each_row(written, [&](uint32_t r) {
        const Value first = row(ways[0], r);
        uint32_t differs = first.known ? 0 : ~0u;
        for (const Way& w : ways) {
            const Value v = row(w, r);
            differs |= v.known ? v.bits ^ first.bits : ~0u;
        }
        if (differs) join.rows.push_back({r, r >= follow::predicate_rows ? ~0u : differs});
    });
    for (const uint64_t at : stored) {
        const Value first = byte(ways[0], at);
        bool alike = first.known;
        for (const Way& w : ways) alike = alike && byte(w, at) == first;
        if (!alike) join.bytes.push_back({at >> 32 != 0, static_cast<uint32_t>(at)});
    }
}

}  // namespace check_sync
