// SPDX-License-Identifier: Apache-2.0
// Tries every instruction on a copy of its warp's registers before it runs (host.compute), and
// compares with what it has made of them. mode=last: whether blocks end with each guarded
// instruction (SASSEMU_RECORD_LAST), with its guard as it finds it.
#include <sassemu/plugin.hpp>

#include <set>
#include <string_view>

namespace {

struct Tries : sassemu::Plugin {
    static constexpr auto name = "tries", summary = "instructions on a copy of the registers";
    static constexpr auto threading = SASSEMU_SERIAL;
    static constexpr sassemu_option options[] = {{"mode", "compute|last", "what"}};
    explicit Tries(const sassemu::Start& s) : Plugin(s), last(s.value("mode") == "last") {}

    static bool guarded(std::string_view text) { return text.starts_with('@'); }
    uint32_t select(sassemu_insn i) const {
        if (!last) return SASSEMU_BEFORE | SASSEMU_AFTER;
        return SASSEMU_RECORD | SASSEMU_RECORD_SKIPPED |
               (guarded(host.insn_text(i)) ? uint32_t{SASSEMU_RECORD_LAST} : 0);
    }

    // Registers of its lanes, and predicates and uniform registers as they are.
    bool same(sassemu_warp a, sassemu_warp b, uint32_t lanes) const {
        for (uint32_t k = 0; k < 16; ++k)
            if (host.predicate(a, k) != host.predicate(b, k)) return false;
        for (uint32_t k = 0; k < 63 && host.uniform(a, k); ++k)
            if (*host.uniform(a, k) != *host.uniform(b, k)) return false;
        for (uint32_t k = 0; k < 255 && host.row(a, k); ++k)
            for (uint32_t lane = 0; lane < 32; ++lane)
                if (lanes >> lane & 1 && host.row(a, k)[lane] != host.row(b, k)[lane]) return false;
        return true;
    }
    void before(sassemu_warp w, sassemu_insn i, uint32_t lanes) {
        if (last) return;
        const uint32_t p1 = host.predicate(w, 1), r1 = host.row(w, 1)[0];
        copy = host.scratch(session, w);
        wrong += !same(w, copy, ~0u);
        computed = host.compute(session, i, lanes) == 0;
        wrong += host.predicate(w, 1) != p1 || host.row(w, 1)[0] != r1;  // it is a copy
        if (!computed) refused.insert(host.insn_opcode(i));
        tried += computed;
    }
    void after(sassemu_warp w, sassemu_insn i, uint32_t) {
        if (last || !computed || same(w, copy, ~0u)) return;
        ++wrong;
        print(std::string("differs: ") + host.insn_text(i) + "\n");
    }
    void records(const sassemu_records& r) {
        for (uint32_t k = 0; last && k < r.records; ++k)
            for (uint32_t n = 0; n < r.record[k].count; ++n) {
                const sassemu_record& one = r.record[k];
                const sassemu_insn i = host.module_insn(r.module, uint64_t{one.insn + n} * 16);
                const std::string_view text = host.insn_text(i);
                if (!guarded(text)) continue;
                const bool inverted = text[1] == '!';
                const auto p = static_cast<uint32_t>(text[text.find('P') + 1] - '0');
                const uint32_t holds = host.predicate(host.cta_warp(r.cta, one.warp), p);
                const bool ends = k + 1 == r.records && n + 1 == one.count;
                wrong += !ends || one.lanes != (one.active & (inverted ? ~holds : holds));
                ++tried;
            }
    }
    void finish() {
        std::string all;
        for (const std::string& opcode : refused) all += " " + opcode;
        print("tried " + std::to_string(tried) + " wrong " + std::to_string(wrong) + " refused" +
              all + "\n");
    }

    const bool last;
    uint64_t tried = 0, wrong = 0;
    bool computed = false;
    sassemu_warp copy = nullptr;
    std::set<std::string> refused;
};

}  // namespace

SASSEMU_PLUGIN(Tries)
