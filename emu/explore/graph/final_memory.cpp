// SPDX-License-Identifier: Apache-2.0
// See final_memory.hpp.
#include "emu/explore/graph/final_memory.hpp"

#include <algorithm>

namespace sassemu::explore {
namespace {

struct Piece {
    uint32_t location;
    uint64_t first, bytes;
    std::vector<uint32_t> last;  // the writes that may be
};

// The bytes of its location that the condition names.
std::pair<uint64_t, uint64_t> bytes_of(const Condition& c, const Name& name) {
    const uint64_t begin = name.offset + c.first;
    return {begin, begin + (c.bytes ? c.bytes : name.bytes)};
}

bool overlap(const SassemuEvent& e, uint64_t first, uint64_t bytes) {
    return e.first < first + bytes && first < e.first + e.bytes;
}

}  // namespace

bool is_last(const State& s, const Answer& a, uint32_t w, uint64_t first, uint64_t bytes) {
    const size_t n = s.events.size();
    for (size_t other = 0; other < n; ++other)
        if (a.coherence[w * n + other] && overlap(s.events[other].e, first, bytes)) return false;
    return true;
}

bool mixed_size_race(const State& s, const Answer& a) {
    const size_t n = s.events.size();
    for (size_t x = 0; x < n; ++x)
        for (size_t y = x + 1; y < n; ++y) {
            const SassemuEvent &p = s.events[x].e, &q = s.events[y].e;
            constexpr uint32_t access = SASSEMU_EVENT_READ | SASSEMU_EVENT_WRITE;
            if (!(p.kind & access) || !(q.kind & access) || p.thread < 0 || q.thread < 0) continue;
            if (!((p.kind | q.kind) & SASSEMU_EVENT_WRITE) || p.location != q.location) continue;
            if ((p.first == q.first && p.bytes == q.bytes) || !overlap(p, q.first, q.bytes))
                continue;
            if (!a.causality[x * n + y] && !a.causality[y * n + x]) return true;
        }
    return false;
}

Result<void> final_values(const Program& p, const State& s, const Answer& a,
                          const std::vector<const Condition*>& names,
                          const std::function<bool(std::vector<uint64_t>)>& show) {
    std::vector<Piece> pieces;
    for (const Condition* c : names) {
        if (c->kind != Condition::Kind::memory) continue;
        const Name& name = p.test.names[c->name];
        const auto [begin, end] = bytes_of(*c, name);
        const auto& cuts = p.cuts[name.location];
        for (size_t i = 0; i + 1 < cuts.size(); ++i) {
            if (cuts[i] >= end || cuts[i + 1] <= begin) continue;
            Piece piece{name.location, cuts[i], cuts[i + 1] - cuts[i], {}};
            if (std::ranges::any_of(pieces, [&](const Piece& q) {
                    return q.location == piece.location && q.first == piece.first;
                }))
                continue;
            for (uint32_t w = 0; w < s.events.size(); ++w)
                if (const SassemuEvent& e = s.events[w].e;
                    e.kind & SASSEMU_EVENT_WRITE && e.location == piece.location &&
                    overlap(e, piece.first, piece.bytes) &&
                    is_last(s, a, w, piece.first, piece.bytes))
                    piece.last.push_back(w);
            if (piece.last.empty())
                return make_error(ErrorCode::input, "the model",
                                  "puts writes after one another in a circle");
            pieces.push_back(std::move(piece));
        }
    }
    std::vector<size_t> at(pieces.size());
    const auto value = [&](const Condition& c) {
        if (c.kind == Condition::Kind::reg)
            return s.evaluate(s.threads[c.thread].registers[c.reg], p).value_or(0);
        const Name& name = p.test.names[c.name];
        const auto [begin, end] = bytes_of(c, name);
        uint64_t v = 0;
        for (size_t i = 0; i < pieces.size(); ++i) {
            const Piece& piece = pieces[i];
            const uint64_t from = std::max(begin, piece.first),
                           to = std::min(end, piece.first + piece.bytes);
            if (piece.location != name.location || from >= to || from - begin >= 8) continue;
            const Source source{0, piece.first, piece.bytes,
                                static_cast<int32_t>(piece.last[at[i]]), 0};
            v |= s.piece(source, from, std::min<uint64_t>(to - from, 8), p, 0).value_or(0)
                 << 8 * (from - begin);
        }
        return v;
    };
    for (size_t i = 0; i < at.size() || at.empty();) {
        std::vector<uint64_t> values;
        for (const Condition* c : names) values.push_back(value(*c));
        if (!show(std::move(values)) || at.empty()) break;
        for (i = 0; i < at.size() && ++at[i] == pieces[i].last.size(); ++i) at[i] = 0;
    }
    return {};
}

}  // namespace sassemu::explore
