// SPDX-License-Identifier: Apache-2.0
// See floats.hpp; and the callbacks that follow special numbers, instruction by instruction.
#include "floats.hpp"

#include <algorithm>

#include "checker.hpp"

namespace check_mem {

Format format_of(std::string_view text) {
    if (text.starts_with('@')) text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
    const std::string_view name = text.substr(0, text.find(' '));
    const std::string_view first = name.substr(0, name.find('.'));
    const auto says = [&](std::string_view word) { return name.find(word) != name.npos; };
    const auto is = [&](std::initializer_list<std::string_view> all) {
        return std::find(all.begin(), all.end(), first) != all.end();
    };
    const Format half = says("BF16") ? Format::bf16 : Format::f16;
    if (is({"DADD", "DMUL", "DFMA", "DMNMX", "DMMA"})) return Format::f64;
    if (is({"F2F", "I2F", "FRND"}))
        return name.find(".F64") < name.find(".F32")                    ? Format::f64
               : name.find(".F16") < name.find(".F32") && !says(".F64") ? Format::f16
                                                                        : Format::f32;
    if (is({"HADD2", "HMUL2", "HFMA2", "HMNMX2"})) return says(".F32") ? Format::f32 : half;
    if (first == "F2FP") return half;
    if (first == "HMMA") return says(".F32") ? Format::f32 : half;
    if (first == "MUFU") return says("64H") ? Format::none : Format::f32;
    if (is({"FADD", "FMUL", "FFMA", "FMNMX", "FSWZADD", "FMNMX3", "FADD2", "FMUL2", "FFMA2"}))
        return Format::f32;
    return Format::none;
}

Special special(Format format, uint32_t word, uint32_t low) {
    const auto of = [](uint64_t exponent, uint64_t all, bool fraction) {
        if (exponent == all) return fraction ? Special::nan : Special::infinity;
        return exponent == 0 && fraction ? Special::subnormal : Special::none;
    };
    switch (format) {
        case Format::f32:
            return of(word >> 23 & 255, 255, word << 9);
        case Format::f64:
            return of(word >> 20 & 2047, 2047, word << 12 || low);
        case Format::f16:
        case Format::bf16: {
            Special most = Special::none;
            const uint32_t bits = format == Format::f16 ? 10 : 7, all = (1u << (15 - bits)) - 1;
            for (const uint32_t half : {word & 0xffff, word >> 16}) {
                const Special s = of(half >> bits & all, all, half & ((1u << bits) - 1));
                if (s != Special::none && (most == Special::none || s < most)) most = s;
            }
            return most;
        }
        case Format::none:
            break;
    }
    return Special::none;
}

namespace {

// The word below the one at `row`, where a pair of registers is one number.
bool upper_of_pair(Format format, uint32_t row) { return format != Format::f64 || row % 2 == 1; }

}  // namespace

uint32_t Checker::special_birth(const Step& s, uint32_t lane, Special kind, bool brought,
                                uint32_t parent) {
    const auto [at, fresh] =
        special_of_.try_emplace({s.i.insn, kind, brought}, static_cast<uint32_t>(specials_.size()));
    if (fresh)
        specials_.push_back(
            {kind, format_of(s.i), brought, parent, s.i.insn, thread_text(s, lane), kernel_, {}});
    return at->second;
}

// Where a lane's bytes are, as a key that no other bytes have.
uint64_t Checker::special_key(Cta& c, uint32_t warp, uint32_t lane, uint32_t space,
                              uint64_t address) {
    const Place p = place(c, c.warps[warp], lane, space, address);
    if (p.shadow == &c.warps[warp].local)
        return uint64_t{2} << 62 | c.serial << 42 | uint64_t{warp} << 36 | uint64_t{lane} << 31 |
               (p.at & 0x7fffffff) / 4;
    if (p.shadow == &c.shared) return uint64_t{1} << 62 | c.serial << 24 | p.at / 4;
    return address / 4;
}

void Checker::before(sassemu_warp handle, sassemu_insn insn, uint32_t lanes) {
    const sassemu_warp_info w = info(handle);
    Cta* const in = enter(w.cta);
    if (!in) return;
    Cta& c = *in;
    if (columns::changes(effect(insn)))
        watched(c).warps[w.index].operands = columns::operands(*this, handle, insn);
    if (!fp_) return;
    const Instruction& i = instruction(insn);
    Watched& watched = this->watched(c);
    SpecialRegisters& r = watched.warps[w.index].special;
    r.brought.fill(0);
    watched.accessed.clear();
    const Step s{c, c.warps[w.index], w.index, i, lanes, lanes};
    for (const uint16_t row : i.data) {
        const uint32_t* const word = row < 255 ? host.row(handle, row) : nullptr;
        if (!word) continue;
        each_lane(lanes, [&](uint32_t lane) {
            uint32_t& brought = r.brought[lane];
            const uint32_t known = r.of(row, lane);
            if (known && (!brought || specials_[known].kind < specials_[brought].kind))
                brought = known;
            if (brought || format_of(i) == Format::none || !upper_of_pair(format_of(i), row))
                return;
            const Special kind = special(format_of(i), word[lane], row % 2 ? (word - 32)[lane] : 0);
            if (kind != Special::none) brought = special_birth(s, lane, kind, true, 0);
        });
    }
}

void Checker::after(sassemu_warp handle, sassemu_insn insn, uint32_t lanes) {
    const sassemu_warp_info w = info(handle);
    Cta* const in = enter(w.cta);
    if (!in) return;
    Cta& c = *in;
    if (columns::changes(effect(insn))) change_columns(c, handle, w.index, insn, lanes);
    if (!fp_) return;
    const Instruction& i = instruction(insn);
    Watched& watched = this->watched(c);
    SpecialRegisters& r = watched.warps[w.index].special;
    const Step s{c, c.warps[w.index], w.index, i, lanes, lanes};
    const auto passes = [&](uint32_t birth) {
        std::vector<sassemu_insn>& path = specials_[birth].path;
        if (path.size() < most_passed && specials_[birth].insn != insn &&
            std::find(path.begin(), path.end(), insn) == path.end())
            path.push_back(insn);
        return birth;
    };
    if (i.transfer == Transfer::memory) {
        for (const uint16_t row : i.results)
            each_lane(lanes, [&](uint32_t lane) { r.set(row, lane, 0); });
        for (const Watched::Accessed& a : watched.accessed)
            for (uint32_t b = 0; b < (a.bytes + 3) / 4; ++b) {
                const uint64_t key = special_key(c, w.index, a.lane, a.space, a.address + b * 4);
                if (a.op == SASSEMU_LOAD) {
                    const auto found = special_memory_.find(key);
                    if (found != special_memory_.end() && b < i.results.size())
                        r.set(i.results[b], a.lane, passes(found->second));
                } else if (a.op == SASSEMU_STORE) {
                    const uint32_t birth = b < i.data.size() ? r.of(i.data[b], a.lane) : 0;
                    if (birth)
                        special_memory_[key] = passes(birth);
                    else
                        special_memory_.erase(key);
                }
            }
        return;
    }
    const bool keeps = i.transfer == Transfer::copy || i.transfer == Transfer::select ||
                       i.transfer == Transfer::permute || i.transfer == Transfer::shuffle ||
                       i.transfer == Transfer::logic;
    uint32_t of_any = 0;
    each_lane(lanes, [&](uint32_t lane) { of_any = of_any ? of_any : r.brought[lane]; });
    for (const uint16_t row : i.results) {
        const uint32_t* const word = row < 255 ? host.row(handle, row) : nullptr;
        if (!word) continue;
        each_lane(lanes, [&](uint32_t lane) {
            const bool gathers = i.transfer == Transfer::shuffle || i.transfer == Transfer::matrix;
            const uint32_t from = r.brought[lane] || !gathers ? r.brought[lane] : of_any;
            uint32_t birth = 0;
            if (format_of(i) == Format::none) {
                // Of a double the upper word says what it is, in whichever register it is now.
                if (keeps && from &&
                    special(specials_[from].format, word[lane], 0) != Special::none)
                    birth = passes(from);
            } else if (upper_of_pair(format_of(i), row)) {
                const uint32_t low = format_of(i) == Format::f64 ? (word - 32)[lane] : 0;
                const Special kind = special(format_of(i), word[lane], low);
                if (kind != Special::none && from && specials_[from].kind == kind)
                    birth = passes(from);
                else if (kind != Special::none && !i.data.empty())
                    birth = special_birth(s, lane, kind, false, from);
            }
            r.set(row, lane, birth);
        });
    }
}

void Checker::special_output(const Extent& e, uint64_t base, uint64_t low, uint64_t high) {
    uint64_t first[4] = {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};
    uint64_t count[4] = {};
    for (const auto& [key, birth] : special_memory_) {
        if (key >> 62 || key * 4 < base + low || key * 4 >= base + high) continue;
        const auto kind = static_cast<size_t>(specials_[birth].kind);
        first[kind] = std::min(first[kind], key);
        ++count[kind];
    }
    for (size_t kind = 1; kind < 4; ++kind)
        if (count[kind] && special_told_.emplace(e.name, kind).second)
            special_outputs_.push_back(
                {special_memory_[first[kind]], e.name, first[kind] * 4 - base, count[kind]});
}

void Checker::tell_specials() {
    static const char* const kinds_of[] = {"", "fp-nan", "fp-infinity", "fp-subnormal"};
    static const char* const words[] = {"", "a NaN", "an infinity", "a subnormal number"};
    for (const SpecialOutput& o : special_outputs_) {
        const SpecialBirth& b = specials_[o.birth];
        const auto kind = static_cast<size_t>(b.kind);
        findings::Entry e;
        e.list = "floats";
        e.kind = kinds_of[kind];
        e.severity = SASSEMU_NOTE;
        e.level = "note";
        e.message = "the first of '" + o.buffer + "' is at byte " + std::to_string(o.byte) +
                    " (words with one: " + std::to_string(o.words) + ")";
        e.main = b.insn;
        nlohmann::ordered_json& j = e.json;
        j["kind"] = e.kind;
        j["buffer"] = o.buffer;
        j["byte"] = o.byte;
        j["words"] = o.words;
        j["kernel"] = b.kernel;
        j["brought"] = b.brought;
        j["accesses"] = nlohmann::ordered_json::array();
        const auto place = [&](const char* does, sassemu_insn insn) {
            nlohmann::ordered_json a{{"does", does}};
            a.update(findings::place_json(*this, insn));
            j["accesses"].push_back(a);
        };
        const auto made_of = [&](const SpecialBirth& of) {
            return (of.brought ? "read by " : "") + findings::place_text(*this, of.insn) + ", " +
                   of.thread;
        };
        e.detail = std::string("born:    ") + words[kind] +
                   (b.brought ? ", which no instruction made, " : ", ") + made_of(b) + "\n";
        place(b.brought ? "reads it first" : "makes it", b.insn);
        uint32_t parent = b.parent;
        for (int depth = 0; parent && depth < 8; ++depth) {
            const SpecialBirth& p = specials_[parent];
            e.detail += std::string("made of: ") + words[static_cast<size_t>(p.kind)] + ", " +
                        made_of(p) + "\n";
            place("makes what it is made of", p.insn);
            parent = p.parent;
        }
        for (const sassemu_insn through : b.path) {
            e.detail += "through: " + findings::place_text(*this, through) + "\n";
            place("passes it on", through);
        }
        e.sarif = e.message + ". " + e.detail;
        report_.add(std::move(e));
    }
}

}  // namespace check_mem
