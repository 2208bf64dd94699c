// SPDX-License-Identifier: Apache-2.0
// What halts a run: breakpoints, watched bytes, expressions, steps. What does not belong here: what
// happens then (debuggee.cpp).
#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/debug/debuggee.hpp"
#include "emu/machine/cta.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/memory/event.hpp"
#include "emu/memory/payload.hpp"
#include "emu/memory/perform.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu::debug {
namespace {

// What a store of the lanes themselves changes; 0 bytes: it is none.
struct Store {
    uint32_t bytes = 0;
    bool matrix = false, copy = false;
};

Store store_of(const sassdec_insn& insn) {
    if (insn.status != SASSDEC_OK) return {};
    const Event e = event_of(insn);
    if (e.is(SASSDEC_KIND_ASYNC, SASSDEC_ACTION_COPY) && e.agent == SASSDEC_AGENT_LDGSTS)
        return {e.bytes, false, true};
    if (!e.accesses() || e.is(SASSDEC_KIND_LOAD) || e.address == SASSDEC_NO_OPERAND ||
        e.operand(e.address)->kind == SASSDEC_OP_CONST || e.space < SASSDEC_SPACE_GLOBAL ||
        e.space > SASSDEC_SPACE_GENERIC || e.proxy == SASSDEC_PROXY_CONSTANT)
        return {};
    const bool matrix = e.action == SASSDEC_ACTION_MATRIX;
    return {matrix ? 16u : e.bytes, matrix, false};
}

}  // namespace

const uint8_t* Debuggee::marks(const CodeImage& code) {
    auto [at, is_new] = marks_.try_emplace(&code);
    if (is_new) make_marks(code, at->second);
    return at->second.data();
}

void Debuggee::make_marks(const CodeImage& code, std::vector<uint8_t>& marks) {
    marks.assign(code.operations(), watches_ ? call_after : 0);
    const auto insn_at = [&](uint64_t index) {
        return places_.decoded({code.module(), index * 16});
    };
    if (stores_)
        for (uint64_t k = 0; k < code.count(); ++k)
            if (store_of(insn_at(k)).bytes) marks[k] |= call_before;
    for (size_t h = 0; h < halts_.size(); ++h) {
        const Halt& halt = halts_[h];
        if (halt.kind == Halt::Kind::breakpoint) {
            const auto places = places_.find(halt.where, {});
            if (!places) continue;
            for (const CodePlace& place : *places) {
                if (place.module != code.module() || place.offset / 16 >= code.count()) continue;
                marks[place.offset / 16] |= call_before;
                halts_at_[&code][place.offset].push_back(h);
            }
        } else if (halt.kind == Halt::Kind::when) {
            std::vector<std::string> names;
            const bool by_registers = halt.condition->only_registers(names);
            sassdec_regset wanted{};
            const auto add = [](uint64_t* words, uint32_t n) {
                for (uint32_t k = n; k < std::min(n + 2, 256u); ++k)
                    words[k / 64] |= uint64_t{1} << k % 64;
            };
            for (const std::string& name : names) {
                const std::string reg = name.substr(0, name.find('.'));
                if (const auto n = register_number(reg, "R"); n && *n < 255) add(wanted.r, *n);
                if (const auto n = register_number(reg, "UR"); n && *n < 255) add(wanted.ur, *n);
                if (const auto n = register_number(reg, "P"); n && *n < 7)
                    wanted.p = static_cast<uint8_t>(wanted.p | 1u << *n);
                if (const auto n = register_number(reg, "UP"); n && *n < 7)
                    wanted.up = static_cast<uint8_t>(wanted.up | 1u << *n);
            }
            for (uint64_t k = 0; k < code.operations(); ++k) {
                bool counts = !by_registers || k >= code.count();
                if (!counts) {
                    sassdec_regset read, written;
                    const sassdec_insn insn = insn_at(k);
                    sassdec_registers(&insn, &read, &written);
                    counts = (written.p & wanted.p) || (written.up & wanted.up);
                    for (int i = 0; i < 4; ++i)
                        counts |= (written.r[i] & wanted.r[i]) || (written.ur[i] & wanted.ur[i]);
                }
                if (counts) marks[k] |= call_after;
            }
        }
    }
}

void Debuggee::found(Json stop, uint64_t at) {
    if (last_) {
        if (until_ && at >= *until_) return;
        stop["position"] = at;
        last_stop_ = std::move(stop);
        return;
    }
    // On the way to a position nothing halts it.
    if (until_) return;
    serve(stop);
}

void Debuggee::check(Warp& warp, const Op* op) {
    // Its launch's first instruction; others that have begun meanwhile come when they execute one.
    if (std::erase(begun_, warp.cta->launch) && at_launches_ && quiet_at_ != position) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(warp.active));
        found(stop_at("launch", focus_of(warp, lane)), position);
        if (served_) return;
    }
    if (quiet_at_ != position) check_breakpoints(warp, op);
    if (served_) return;
    if (stores_) check_stores(warp, op);
    if (step_.on && follows(warp) && step_arrives(warp, op)) {
        Focus focus = step_.focus;
        if (step_.unit != Step::Unit::lane) {
            const bool same = focus_of(warp, focus.lane) == focus;
            const bool runs = same && (warp.active >> focus.lane & 1);
            focus = focus_of(
                warp, runs ? focus.lane : static_cast<uint32_t>(std::countr_zero(warp.active)));
        }
        serve(stop_at("step", focus));
    }
}

bool Debuggee::follows_warp(const Warp& warp) const {
    const Focus& f = step_.focus;
    if (step_.unit == Step::Unit::all) return true;
    if (warp.cta->launch->id != f.launch || warp.cta->linear != f.cta) return false;
    return step_.unit == Step::Unit::cta || warp.index == f.warp;
}

bool Debuggee::follows(const Warp& warp) const {
    return follows_warp(warp) &&
           (step_.unit != Step::Unit::lane || (warp.active >> step_.focus.lane & 1));
}

// Whether the step is over with this arrival.
bool Debuggee::step_arrives(Warp& warp, const Op* op) {
    if (step_.unit == Step::Unit::lane && !(warp.active >> step_.focus.lane & 1)) return false;
    const CodePlace place = place_of(warp, op);
    const auto lines = [&] {
        std::vector<SourceFrame> frames = places_.frames(place);
        std::ranges::reverse(frames);
        return frames;
    };
    // Into inlined functions a step over does not look.
    const auto cut = [&](std::vector<SourceFrame> frames) {
        if (step_.what == Step::What::over && frames.size() > step_.from.size())
            frames.resize(step_.from.size());
        return frames;
    };
    if (last_) {
        bool arrives = true;
        if (step_.what != Step::What::instruction) {
            std::vector<SourceFrame> now = lines();
            const bool elsewhere = step_.what == Step::What::over && !step_.from.empty() &&
                                   now.front().function != step_.from.front().function;
            if (elsewhere || now.back().file.empty()) return false;
            now = cut(std::move(now));
            arrives = now != step_.line;
            step_.line = std::move(now);
        }
        if (!arrives) return false;
        if (arrivals_.size() == step_.count) {
            arrivals_.pop_front();
            first_uncertain_ = false;
        }
        arrivals_.push_back(position);
        return false;
    }
    if (!step_.begun) {
        step_.begun = true;
        step_.from = lines();
        step_.at = place;
        return false;
    }
    if (step_.what == Step::What::instruction) return --step_.count == 0;
    // Calls and returns that were taken.
    const bool went = place.offset != step_.at.offset + 16;
    const uint32_t groups = went ? places_.decoded(step_.at).groups : 0;
    step_.at = place;
    if (groups & SASSDEC_GROUP_CALL) ++step_.depth;
    if (groups & SASSDEC_GROUP_RETURN) --step_.depth;
    if (step_.what == Step::What::finish) return step_.depth < 0;
    const bool has_lines = !step_.from.back().file.empty();
    std::vector<SourceFrame> now = lines();
    if (has_lines && now.back().file.empty()) return false;
    if (step_.what == Step::What::over && step_.depth > 0) return false;
    if (has_lines && cut(now) == step_.from) return false;
    if (--step_.count == 0) return true;
    step_.from = std::move(now);
    step_.depth = 0;
    return false;
}

void Debuggee::check_breakpoints(Warp& warp, const Op* op) {
    const CodeImage& code = *warp.cta->launch->code;
    const auto image = halts_at_.find(&code);
    if (image == halts_at_.end()) return;
    const auto here = image->second.find(code.offset_of(op));
    if (here == image->second.end()) return;
    Json ids = Json::array(), failed;
    uint32_t lanes = 0;
    for (const size_t h : here->second) {
        const Halt& halt = halts_[h];
        uint32_t met = halt.condition ? 0 : warp.active;
        for (uint32_t rest = halt.condition ? warp.active : 0; rest; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
            const auto value = halt.condition->evaluate(view(warp, lane));
            if (!value) failed = value.error().message();
            if (!value || value->is_true()) met |= 1u << lane;
            if (!value) break;
        }
        if (!met) continue;
        ids.push_back(halt.id);
        lanes |= met;
    }
    if (ids.empty()) return;
    Json stop =
        stop_at("breakpoint", focus_of(warp, static_cast<uint32_t>(std::countr_zero(lanes))));
    stop["ids"] = ids;
    stop["lanes"] = lanes;
    if (!failed.is_null())
        stop["what"] = "its condition cannot be evaluated: " + as<std::string>(failed);
    found(std::move(stop), position);
}

// ---- watched bytes

void Debuggee::find_pieces(Halt& halt) const {
    halt.pieces.clear();
    if (halt.kind != Halt::Kind::watch && halt.kind != Halt::Kind::write) return;
    const auto piece = [&](const void* at, size_t bytes) {
        const auto* from = static_cast<const std::byte*>(at);
        auto& all = halt.pieces;
        if (!all.empty() && all.back().first + all.back().second == from)
            all.back().second += bytes;
        else
            all.emplace_back(from, bytes);
    };
    Warp* warp = warp_of(halt.focus);
    const bool global =
        halt.place.kind == ValuePlace::Kind::memory &&
        (halt.place.space == MemorySpace::global || halt.place.space == MemorySpace::generic);
    if (!warp && global && !launches_.empty() && !launches_.front().ctas.empty())
        warp = launches_.front().ctas.front()->warps;  // anybody sees global memory
    if (!warp) return;
    const uint64_t bytes = halt.type->bytes;
    const auto first = static_cast<uint32_t>(halt.place.address);
    switch (halt.place.kind) {
        case ValuePlace::Kind::memory: {
            static constexpr AccessSpace spaces[] = {AccessSpace::generic, AccessSpace::global,
                                                     AccessSpace::shared, AccessSpace::local};
            if (static_cast<size_t>(halt.place.space) >= std::size(spaces)) return;  // constant
            for (uint64_t k = 0; k < bytes; ++k) {
                uint64_t address = halt.place.address + k;
                if (halt.place.space == MemorySpace::shared && !(address >> 24))
                    address |= uint64_t{warp->cta->rank} << 24;
                const Landing at = land(*warp, spaces[static_cast<int>(halt.place.space)], address,
                                        halt.focus.lane, 1, false);
                if (!at.host) {
                    halt.pieces.clear();
                    return;
                }
                piece(at.host, 1);
            }
            break;
        }
        case ValuePlace::Kind::registers:
            for (uint32_t k = 0; k * 4 < bytes && first + k < warp->cta->launch->registers; ++k)
                piece(warp->row(register_row(first + k)) + halt.focus.lane,
                      std::min<size_t>(4, bytes - size_t{4} * k));
            break;
        case ValuePlace::Kind::uniform:
            piece(warp->uniform + first, bytes);
            break;
        case ValuePlace::Kind::predicate:
            piece(warp->p + first, 4);
            break;
    }
}

std::vector<std::byte> Debuggee::bytes_of(const Halt& halt) const {
    std::vector<std::byte> out;
    for (const auto& [at, bytes] : halt.pieces) out.insert(out.end(), at, at + bytes);
    if (halt.place.kind == ValuePlace::Kind::predicate && !out.empty()) {
        uint32_t lanes;
        std::memcpy(&lanes, out.data(), 4);
        out.assign(1, static_cast<std::byte>(lanes >> halt.focus.lane & 1));
    }
    return out;
}

// `by`: who has run the instruction at `at`; null: it was somebody else, in between.
void Debuggee::check_watches(Warp* by, uint64_t at) {
    for (Halt& halt : halts_) {
        if (halt.pieces.empty() || halt.seen.empty()) {
            // It has begun to exist, or exists no longer.
            if (halt.pieces.empty() != halt.seen.empty()) halt.seen = bytes_of(halt);
            continue;
        }
        size_t from = 0;
        bool same = true;
        if (halt.place.kind == ValuePlace::Kind::predicate) {
            same = bytes_of(halt) == halt.seen;
        } else {
            for (const auto& [bytes, count] : halt.pieces) {
                same = same && !std::memcmp(bytes, halt.seen.data() + from, count);
                from += count;
            }
        }
        if (same) continue;
        Value before, now;
        before.type = now.type = halt.type;
        before.bytes = halt.seen;
        now.bytes = halt.seen = bytes_of(halt);
        Focus focus = halt.focus;
        if (by) {
            const bool runs = focus_of(*by, focus.lane) == focus;
            const uint32_t lanes = by->active ? by->active : by->live;
            focus = runs
                        ? focus
                        : focus_of(*by, lanes ? static_cast<uint32_t>(std::countr_zero(lanes)) : 0);
        } else if (current_) {
            focus = focus_of(*current_,
                             static_cast<uint32_t>(std::countr_zero(current_->active | 1u << 31)));
        }
        Json stop = stop_at(halt.kind == Halt::Kind::write ? "write" : "watch", focus);
        stop["ids"] = {halt.id};
        stop["old"] = text_of(before);
        stop["new"] = text_of(now);
        stop["at"] = at;
        stop["by"] = by ? "warp" : "other";
        if (halt.condition && by) {
            const auto value = halt.condition->evaluate(view(*by, focus.lane));
            if (value && !value->is_true()) continue;
        }
        found(std::move(stop), at);
        if (served_) return;
    }
}

// Stores that may leave the watched bytes as they were.
void Debuggee::check_stores(Warp& warp, const Op* op) {
    const Store store = store_of(places_.decoded(place_of(warp, op)));
    uint32_t lanes = warp.active & (warp.p[op->guard] ^ op->guard_xor);
    if (!store.bytes || !lanes) return;
    const auto& payload = as<MemoryPayload>(*op);
    AccessSpace space = payload.space();
    uint64_t address[32];
    if (store.copy) {
        as<CopyPayload>(*op).to_addresses(warp, address);
        space = AccessSpace::shared;
    } else {
        payload.addresses(warp, address);
    }
    if (store.matrix) lanes &= as<MatrixPayload>(*op).row_lanes();
    for (const Halt& halt : halts_) {
        if (halt.kind != Halt::Kind::write || halt.pieces.empty()) continue;
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
            bool hits = false;
            for (uint32_t k = 0; k < store.bytes && !hits; k += 4) {
                const uint32_t bytes = std::min(4u, store.bytes - k);
                const Landing at = land(warp, space, address[lane] + k, lane, 1, true);
                if (!at.host) break;
                for (const auto& [from, count] : halt.pieces)
                    hits |= at.host < from + count && from < at.host + bytes;
            }
            if (!hits) continue;
            Json stop = stop_at("write", focus_of(warp, lane));
            stop["ids"] = {halt.id};
            stop["at"] = position;
            stop["by"] = "warp";
            found(std::move(stop), position);
            break;
        }
    }
}

// ---- expressions that become true

void Debuggee::check_when(Warp& warp, bool tell) {
    for (Halt& halt : halts_) {
        if (halt.kind != Halt::Kind::when) continue;
        uint32_t now = 0;
        for (uint32_t rest = warp.live; rest; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
            const auto value = halt.condition->evaluate(view(warp, lane));
            if (value && value->is_true()) now |= 1u << lane;
        }
        uint32_t& held = halt.held[&warp];
        const uint32_t fresh = now & ~held;
        held = now;
        if (!fresh || !tell) continue;
        Json stop = stop_at("when", focus_of(warp, static_cast<uint32_t>(std::countr_zero(fresh))));
        stop["ids"] = {halt.id};
        stop["lanes"] = fresh;
        stop["at"] = position - 1;
        found(std::move(stop), position - 1);
        if (served_) return;
    }
}

}  // namespace sassemu::debug
