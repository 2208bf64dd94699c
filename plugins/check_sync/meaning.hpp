// SPDX-License-Identifier: Apache-2.0
// What an instruction means for the order of memory: by its PTX where the cubin keeps it
// (-lineinfo), else by what the chip does. What belongs here: that reading, once per instruction.
#pragma once

#include <sassemu/plugin.hpp>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "order.hpp"

namespace check_sync {

inline Reach reach_of(uint32_t scope) {
    switch (scope) {
        case SASSEMU_LEVEL_CTA:
        case SASSEMU_LEVEL_SM:
            return cta;
        case SASSEMU_LEVEL_CLUSTER:
            return cluster;
        case SASSEMU_LEVEL_SYS:
            return sys;
        default:
            return gpu;
    }
}

struct Meaning {
    sassemu_insn insn = nullptr;
    bool known = false;  // the intent counts
    bool aligned =
        false;  // a CTA's barrier that all of a warp must execute, or the WARPSYNC before it
    bool in_loop_of_atomic =
        false;  // LDS of an atomic that the chip does not have, made of a loop with ATOMS.CAST
    sassemu_intent intent{};
    std::string_view opcode, ptx;  // SASS and PTX opcodes
    std::string line;              // of a fence or barrier: see line_of
    sassemu_effect effect{};
    bool nvshmem_fence = false;    // of sdk/nvshmem, which marks it
    int steers = -1;               // see Meanings; -1: not asked for yet
    uint32_t dropped = 0;          // words of a weak load that no code reads
    uint32_t packed = SASSEMU_RZ;  // the register of a barrier's number and count, if it is one

    bool is(uint32_t kind) const { return known && intent.kind == kind; }
    bool does(uint32_t kind) const { return effect.kind == kind; }
    bool does(uint32_t kind, uint32_t action) const {
        return does(kind) && effect.action == action;
    }
    bool is_warpsync() const { return warpsync(effect); }
    bool is_wgmma() const { return wgmma(effect); }
    bool is_cta_barrier() const { return cta_barrier(effect); }
    static bool warpsync(const sassemu_effect& e) {
        return e.kind == SASSEMU_EFFECT_CONVERGENCE &&
               (e.action == SASSEMU_ACTION_WARP || e.action == SASSEMU_ACTION_COLLECTIVE);
    }
    static bool wgmma(const sassemu_effect& e) {
        return e.kind == SASSEMU_EFFECT_ASYNC && e.action == SASSEMU_ACTION_MULTIPLY &&
               e.space != SASSEMU_TENSOR_MEMORY;
    }
    static bool cta_barrier(const sassemu_effect& e) {
        return e.kind == SASSEMU_EFFECT_BARRIER && e.scope == SASSEMU_LEVEL_CTA;
    }
    // The LOP3 that packs a barrier's number and count: 4 bits of the one, or 12 of the other.
    static bool packs_barrier(std::string_view opcode, std::string_view text) {
        const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
        return opcode.starts_with("LOP3") &&
               ((has(", 0xf, R") && has(", 0xf8, ")) || (has(", 0xfff0000, R") && has(", 0xe2, ")));
    }
    static bool mbarrier_test(const sassemu_effect& e) {
        return e.kind == SASSEMU_EFFECT_MBARRIER && e.action == SASSEMU_ACTION_TEST;
    }
    bool says(std::string_view part) const {
        return known && ptx.find(part) != std::string_view::npos;
    }
    // The compiler has one lane make an atomic of PTX for all that run there, and counts them
    // first.
    bool counts_for_atomic() const {
        return opcode.starts_with("VOTE") && (ptx.starts_with("atom.") || ptx.starts_with("red."));
    }
    bool asks_for_work() const { return opcode == "UGETNEXTWORKID"; }
    // PTX whose lanes run together, but which does not order memory.
    bool collective() const {
        for (const std::string_view name :
             {"shfl.", "vote.", "match.", "redux.", "activemask", "elect."})
            if (known && ptx.starts_with(name)) return true;
        return false;
    }
    static bool acquires(uint32_t ordering) {
        return ordering == SASSEMU_ACQUIRE || ordering == SASSEMU_ACQ_REL || ordering == SASSEMU_SC;
    }
    static bool releases(uint32_t ordering) {
        return ordering == SASSEMU_RELEASE || ordering == SASSEMU_ACQ_REL || ordering == SASSEMU_SC;
    }
    Order::Restrict restriction() const {
        if (intent.restriction == SASSEMU_RESTRICT_MBARRIER_INIT) return Order::mbarrier_init;
        return intent.restriction == SASSEMU_RESTRICT_NONE ? Order::everything
                                                           : Order::shared_memory;
    }
    // As an operation that may release or acquire. `scope`: of the words, where the intent does not
    // count.
    Release release(uint32_t scope) const {
        if (!known) return {false, reach_of(scope)};
        return {releases(intent.ordering), stated_reach()};
    }
    Acquire acquire(uint32_t scope) const {
        if (!known) return {false, reach_of(scope), true};
        return {acquires(intent.ordering), stated_reach(), false};
    }
    // Volatile is relaxed at scope sys.
    Reach stated_reach() const {
        const bool volatile_one =
            intent.ordering == SASSEMU_VOLATILE || intent.ordering == SASSEMU_MMIO;
        return volatile_one ? sys : reach_of(intent.scope);
    }
};

// Instructions by number, from 1. The same place has the same number in every run of a session.
class Meanings {
  public:
    explicit Meanings(const sassemu::Plugin& plugin) : plugin_(plugin) { all_.emplace_back(); }
    uint32_t number(sassemu_insn insn) {
        if (!insn) return 0;
        if (insn == last_) return last_number_;
        last_ = insn;
        const auto known = numbers_.find(insn);
        return last_number_ = known != numbers_.end() ? known->second : learn(insn);
    }
    const Meaning& operator[](uint32_t number) const { return all_[number]; }
    // Whether what it loads decides a branch: in the code behind it, as it stands there.
    bool steers(uint32_t number) {
        Meaning& m = all_[number];
        if (m.steers < 0) m.steers = find_branch(m.insn);
        return m.steers;
    }
    // Instructions of former runs may be gone; their places are met again.
    void forget_handles() {
        numbers_.clear();
        last_ = nullptr;
    }

  private:
    uint32_t learn(sassemu_insn insn) {
        const sassemu_host& host = plugin_.host;
        const std::string place = std::string(host.module_name(host.insn_module(insn))) + '\n' +
                                  host.insn_function(insn) + '\n' +
                                  std::to_string(host.insn_pc(insn));
        const uint32_t number =
            places_.try_emplace(place, static_cast<uint32_t>(all_.size())).first->second;
        if (number == all_.size()) all_.emplace_back();
        Meaning& m = all_[number];
        m.insn = insn;
        m.opcode = host.insn_opcode(insn);
        m.effect = plugin_.effect(insn);
        m.known = plugin_.intent(insn, m.intent);
        if (m.known && Meaning::mbarrier_test(m.effect) && m.intent.kind != SASSEMU_INTENT_MBARRIER)
            m.known = find_wait(insn, m.intent);
        m.ptx = m.known && m.intent.opcode ? m.intent.opcode : "";
        if (m.does(SASSEMU_EFFECT_LOAD)) m.dropped = find_dropped(insn);
        if (m.does(SASSEMU_EFFECT_LOAD) && m.effect.space == SASSEMU_SHARED)
            m.in_loop_of_atomic = before_cast(insn);
        if (m.does(SASSEMU_EFFECT_FENCE) || m.does(SASSEMU_EFFECT_CACHE) ||
            m.does(SASSEMU_EFFECT_BARRIER) || m.is(SASSEMU_INTENT_FENCE))
            m.line = line_of(insn);
        m.nvshmem_fence = m.does(SASSEMU_EFFECT_FENCE) && marked(insn);
        const bool is_barrier = m.is_cta_barrier();
        sassemu_operand o[2]{};
        o[0].size = o[1].size = sizeof o[0];
        if (is_barrier && !host.insn_operand(insn, 0, &o[0]) &&
            !host.insn_operand(insn, 1, &o[1]) && o[0].kind == SASSEMU_OPERAND_REGISTER &&
            o[1].kind == o[0].kind && o[1].index == o[0].index)
            m.packed = o[0].index;
        if (is_barrier && m.known && m.intent.kind == SASSEMU_INTENT_BARRIER)
            m.aligned = m.intent.aligned;
        else if (is_barrier || m.is_warpsync())
            m.aligned = gathers(insn, is_barrier);
        return numbers_[insn] = number;
    }
    // The line of an instruction with those through which it was inlined; its place where lines are
    // not known.
    std::string line_of(sassemu_insn insn) const {
        const sassemu_host& host = plugin_.host;
        std::string text;
        sassemu_source source{};
        source.size = sizeof source;
        for (uint32_t depth = 0; depth < 32 && host.insn_source(insn, depth, &source) == 0; ++depth)
            text += std::string(source.file ? source.file : "") + ':' +
                    std::to_string(source.line) + ' ';
        return source.line ? text
                           : host.insn_function(insn) + ('+' + std::to_string(host.insn_pc(insn)));
    }
    // nvshmem_fence() is pmevent 11, then the fence.
    bool marked(sassemu_insn insn) const {
        const sassemu_host& host = plugin_.host;
        uint64_t at = host.insn_code_offset(insn);
        for (int n = 0; n < 16 && at >= 16; ++n) {
            at -= 16;
            const sassemu_insn before = host.module_insn(host.insn_module(insn), at);
            if (!before || plugin_.effect(before).kind == SASSEMU_EFFECT_FENCE) return false;
            if (std::string_view(host.insn_text(before)).find("PMTRIG 0x800") !=
                std::string_view::npos)
                return true;
        }
        return false;
    }
    // bar and barrier.aligned are WARPSYNC of all lanes, then BAR.
    bool gathers(sassemu_insn insn, bool is_barrier) const {
        const sassemu_host& host = plugin_.host;
        const sassemu_module module = host.insn_module(insn);
        const auto of_all = [&](sassemu_insn i) {
            const std::string_view text = host.insn_text(i);
            return text.find("COLLECTIVE") == text.npos &&
                   (text.find("WARPSYNC.ALL") != text.npos ||
                    text.find("WARPSYNC 0xffffffff") != text.npos);
        };
        if (!is_barrier && !of_all(insn)) return false;
        uint64_t at = host.insn_code_offset(insn);
        for (int n = 0; n < 8 && (!is_barrier || at >= 16); ++n) {
            at = is_barrier ? at - 16 : at + 16;
            const sassemu_insn other =
                at < host.module_code_bytes(module) ? host.module_insn(module, at) : nullptr;
            if (!other) return false;
            const sassemu_effect e = plugin_.effect(other);
            if (is_barrier ? Meaning::warpsync(e) : Meaning::cta_barrier(e))
                return !is_barrier || of_all(other);
            // Nothing that steers threads stands between the two.
            if (e.kind == SASSEMU_EFFECT_BARRIER || e.kind == SASSEMU_EFFECT_CONTROL ||
                (e.kind == SASSEMU_EFFECT_CONVERGENCE && e.action != SASSEMU_ACTION_YIELD))
                return false;
        }
        return false;
    }
    bool find_branch(sassemu_insn insn) const;
    uint32_t find_dropped(sassemu_insn insn) const;
    bool is_read_behind(sassemu_insn insn, uint32_t r) const;
    // ptxas tests once before the loop that waits, and gives that test the line of another PTX
    // instruction. Its own is that of the test in the loop: one with the same source line, else
    // with the same operands, else the nearest behind.
    bool find_wait(sassemu_insn insn, sassemu_intent& intent) const {
        const sassemu_host& host = plugin_.host;
        const sassemu_module module = host.insn_module(insn);
        const auto line = [&](sassemu_insn i) {
            sassemu_source s{};
            s.size = sizeof s;
            return host.insn_source(i, 0, &s) == 0 ? s.line : 0;
        };
        const uint64_t from = host.insn_code_offset(insn);
        const std::string text = host.insn_text(insn);
        int best = 0;
        for (uint64_t step = 16; step < 0x4000; step += 16)
            for (const uint64_t at : {from + step, from - step}) {
                const sassemu_insn other =
                    at < host.module_code_bytes(module) ? host.module_insn(module, at) : nullptr;
                sassemu_intent found{};
                if (!other || !Meaning::mbarrier_test(plugin_.effect(other)) ||
                    !plugin_.intent(other, found) || found.kind != SASSEMU_INTENT_MBARRIER)
                    continue;
                const int fits = line(other) == line(insn)       ? 3
                                 : at < from                     ? 0
                                 : host.insn_text(other) == text ? 2
                                                                 : 1;
                if (fits <= best) continue;
                best = fits;
                intent = found;
            }
        return best > 0;
    }
    bool before_cast(sassemu_insn insn) const {
        const sassemu_host& host = plugin_.host;
        const auto address = [&](sassemu_insn i) {
            const std::string text = host.insn_text(i);
            const size_t close = text.find(']'),
                         plus = text.rfind('+', close);  // base registers may differ
            return close == text.npos || plus == text.npos ? std::string()
                                                           : text.substr(plus, close - plus);
        };
        const uint64_t from = host.insn_code_offset(insn);
        for (uint64_t at = from + 16;
             at < from + 16 * 16 && at < host.module_code_bytes(host.insn_module(insn)); at += 16) {
            const sassemu_insn other = host.module_insn(host.insn_module(insn), at);
            if (other &&
                std::string_view(host.insn_text(other)).find("ATOMS.CAS") !=
                    std::string_view::npos &&
                address(other) == address(insn))
                return true;
        }
        return false;
    }
    const sassemu::Plugin& plugin_;
    std::vector<Meaning> all_;
    std::unordered_map<sassemu_insn, uint32_t> numbers_;
    std::unordered_map<std::string, uint32_t> places_;
    sassemu_insn last_ = nullptr;
    uint32_t last_number_ = 0;
};

}  // namespace check_sync
