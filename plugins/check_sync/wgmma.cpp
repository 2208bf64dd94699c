// SPDX-License-Identifier: Apache-2.0
// wgmma: its registers and its operands in shared memory belong to the tensor core from its issue
// until wgmma.wait_group says that its group is done (PTX ISA, "Asynchronous wgmma instructions").
//   - The accumulator may not be touched, and A in registers not be written, before that. A wgmma
//   that follows may add to the same accumulator: they are done in order.
//   - What other instructions have done to these registers before comes before it by wgmma.fence
//   alone.
//   - A wait comes behind what each of the four warps did before it issued the group: the unit gets
//   a wgmma from the last of them. No letter says so, but CUTLASS' pipelines have one thread say
//   for all that a stage may be filled again, from which each warp has loaded its rows of A.
//   - Operands in shared memory are reads by the async proxy, of all four warps: each has to know
//   that they are there. Any of the four may say that they have been read, for its wait is one for
//   the work of all (emu/isa/MATRIX.md).
// Every instruction of a module that has wgmma is followed here, for its registers.
#include <algorithm>
#include <bit>

#include "checker.hpp"

namespace check_sync {

namespace {

constexpr uint32_t warps = 4;  // of a warpgroup

std::string names_of(const Registers& r) {
    std::string text;
    for (uint32_t first = 0; first < 256; ++first) {
        if (!(r.bits[first / 64] >> first % 64 & 1)) continue;
        uint32_t last = first;
        while (last + 1 < 256 && r.bits[(last + 1) / 64] >> (last + 1) % 64 & 1) ++last;
        text += (text.empty() ? "R" : ", R") + std::to_string(first) +
                (last > first ? " to R" + std::to_string(last) : "");
        first = last;
    }
    return text;
}

}  // namespace

bool Checker::has_wgmma(sassemu_insn i) {
    const sassemu_module module = host.insn_module(i);
    const auto [at, fresh] = wgmma_modules_.try_emplace(module, false);
    if (fresh && std::string_view(host.module_arch(module)) == "sm_90a")
        for (uint64_t o = 0; o < host.module_code_bytes(module) && !at->second; o += 16)
            if (const sassemu_insn other = host.module_insn(module, o))
                at->second = Meaning::wgmma(effect(other));
    names_wgmma_ |= at->second;
    return at->second;
}

const Checker::RegisterUse& Checker::use_of(sassemu_insn i) {
    const auto [at, fresh] = register_uses_.try_emplace(i);
    RegisterUse& u = at->second;
    if (!fresh) return u;
    u.insn = meanings_.number(i);
    sassemu_register_set read{}, written{};
    read.size = written.size = sizeof read;
    host.insn_register_sets(i, &read, &written);
    std::copy_n(read.r, 4, u.read.bits.begin());
    std::copy_n(written.r, 4, u.written.bits.begin());
    const sassemu_effect e = effect(i);
    const std::string_view text = host.insn_text(i);
    if (Meaning::wgmma(e)) {
        u.kind = RegisterUse::multiply;
        u.closes = text.find("gsb0") != text.npos;
        // The metadata is read at once: ptxas uses its register again without a wait.
        sassemu_operand metadata{};
        for (uint32_t k = 0; k < host.insn_operands(i) && text.find(".SP.") != text.npos; ++k) {
            sassemu_operand o{};
            o.size = sizeof o;
            if (host.insn_operand(i, k, &o) == 0 && o.kind == SASSEMU_OPERAND_REGISTER)
                metadata = o;
        }
        if (metadata.size)
            u.read.bits[metadata.index / 64] &= ~(uint64_t{1} << metadata.index % 64);
    } else if (e.kind == SASSEMU_EFFECT_ASYNC && text.find("WARPGROUP.ARRIVE") != text.npos) {
        u.kind = RegisterUse::fence;
    } else if (e.kind == SASSEMU_EFFECT_ASYNC && text.find("WARPGROUP.DEPBAR") != text.npos) {
        u.kind = RegisterUse::wait;
        for (uint32_t k = 0; k < host.insn_operands(i); ++k) {
            sassemu_operand o{};
            o.size = sizeof o;
            if (host.insn_operand(i, k, &o) == 0 && o.kind == SASSEMU_OPERAND_IMMEDIATE)
                u.left = static_cast<uint32_t>(o.value);
        }
    }
    return u;
}

// Whether the instruction is followed for what it means, too.
bool Checker::follow_wgmma(Warp& w, sassemu_insn i, uint32_t lanes) {
    const RegisterUse& u = use_of(i);
    Wgmma& own = w.wgmma;
    learn_of_group(w, lanes);
    switch (u.kind) {
        case RegisterUse::other:
            use_registers(w, u, lanes);
            break;
        case RegisterUse::fence:
            own.touched = {};
            own.by.clear();
            break;
        case RegisterUse::multiply:
            multiply(w, u, lanes);
            break;
        case RegisterUse::wait: {
            if (own.groups <= u.left) break;
            const uint32_t done = own.awaited = own.groups - u.left;
            const uint32_t first = w.id - w.index % warps;
            order_.know(w, lanes, {tensor_component(first, Tensor::work), 1, done},
                        {true, gpu, false});
            std::erase_if(own.pending, [&](const Wgmma::Pending& p) { return p.group <= done; });
            own.read = own.written = {};
            for (const Wgmma::Pending& p : own.pending)
                own.read |= p.read, own.written |= p.written;
            break;
        }
    }
    return shown(i);
}

void Checker::use_registers(Warp& w, const RegisterUse& u, uint32_t lanes) {
    Wgmma& own = w.wgmma;
    const bool touches = u.read.meets(own.written) || u.written.meets(own.written);
    if (touches || u.written.meets(own.read))
        for (const Wgmma::Pending& p : own.pending) {
            if (const Registers r = u.read & p.written; !(r == Registers{}))
                registers_met(FindingKind::data_race, w, lanes, p.insn, true, u.insn, false, r);
            if (const Registers r = u.written & p.written; !(r == Registers{}))
                registers_met(FindingKind::data_race, w, lanes, p.insn, true, u.insn, true, r);
            if (const Registers r = u.written & p.read; !(r == Registers{}))
                registers_met(FindingKind::async_reuse, w, lanes, p.insn, false, u.insn, true, r);
        }
    own.touched |= u.written;
    if (!(u.written == Registers{})) own.by[u.insn] |= u.written;
}

void Checker::multiply(Warp& w, const RegisterUse& u, uint32_t lanes) {
    Wgmma& own = w.wgmma;
    // What it reads beside the accumulator: A.
    Registers operands = u.read;
    for (size_t k = 0; k < operands.bits.size(); ++k) operands.bits[k] &= ~u.written.bits[k];
    Registers all = u.read;
    all |= u.written;
    if (all.meets(own.touched))
        for (const auto& [insn, written] : own.by)
            if (const Registers r = all & written; !(r == Registers{}))
                registers_met(FindingKind::missing_wgmma_fence, w, lanes, insn, true, u.insn,
                              !operands.meets(r), r);
    for (const Wgmma::Pending& p : own.pending) {
        if (const Registers r = operands & p.written; !(r == Registers{}))
            registers_met(FindingKind::data_race, w, lanes, p.insn, true, u.insn, false, r);
        if (const Registers r = u.written & p.read; !(r == Registers{}))
            registers_met(FindingKind::async_reuse, w, lanes, p.insn, false, u.insn, true, r);
        if (const Registers r = u.written & p.written;
            !(r == Registers{}) && !(u.written == p.written))
            registers_met(FindingKind::data_race, w, lanes, p.insn, true, u.insn, true, r);
    }
    own.pending.push_back({u.insn, own.groups + 1, operands, u.written});
    own.read |= operands;
    own.written |= u.written;
    own.groups += u.closes;
    if (!u.closes) return;
    order_.lets_go(w, lanes, warpgroups_[{w.place.cta, w.index / warps}].issued[own.groups]);
    order_.next(w);
}

// The wait before this instruction is over: all four have issued that group.
void Checker::learn_of_group(Warp& w, uint32_t lanes) {
    if (!w.wgmma.awaited) return;
    Warpgroup& all = warpgroups_[{w.place.cta, w.index / warps}];
    uint32_t& learnt = all.learnt[w.index % warps];
    if (learnt == w.wgmma.awaited) return;
    learnt = w.wgmma.awaited;
    order_.has_let_go(w, lanes, all.issued[learnt]);
    all.issued.erase(all.issued.begin(),
                     all.issued.upper_bound(*std::ranges::min_element(all.learnt)));
}

void Checker::registers_met(FindingKind kind, const Warp& w, uint32_t lanes, uint32_t first,
                            bool first_writes, uint32_t second, bool second_writes,
                            const Registers& both) {
    Finding& f = findings_[{kind, true, first, second}];
    if (f.count++) return;
    f.kind = kind;
    f.launch = launch_;
    f.seed = host.seed(session);
    f.kernel = kernel_;
    const auto side = [&](Side& s, uint32_t insn, bool writes) {
        s.insn = insn;
        s.action = std::string(writes ? "writes " : "reads ") + names_of(both);
        s.thread = meanings_[insn].is_wgmma()
                       ? thread_text(tensor_component(w.id - w.index % warps, Tensor::work), 1)
                       : thread_text(w.threads(), lanes);
        s.cta = w.place.cta;
        s.cluster = w.place.cluster;
    };
    side(f.first, first, first_writes);
    side(f.second, second, second_writes);
    if (kind == FindingKind::missing_wgmma_fence) {
        f.missing = "no wgmma.fence between the access and the wgmma";
        f.repair = "wgmma.fence.sync.aligned before the first wgmma that uses the registers";
    } else {
        const std::string place = host.insn_place(meanings_[first].insn);
        f.missing = "the wgmma may not have been done: nothing waits for its group";
        f.repair = "wgmma.commit_group after " + (place.empty() ? "the wgmma" : place) +
                   ", and wgmma.wait_group before the registers are touched";
    }
    f.clause = "PTX ISA, \"wgmma.mma_async\"; \"wgmma.wait_group\"; \"wgmma.fence\"";
    f.path = "none";
}

// One range of an operand in shared memory, which its four warps read.
void Checker::touch_wgmma(const sassemu_async& a, Copy& copy) {
    const Warp& last = *copy.warp;
    const uint32_t first = last.id - last.index % warps;
    const RegisterUse& u = use_of(a.insn);
    Copy::Range r{true, false, a.at.owner, a.at.address, a.at.address + a.bytes, {}, 0, {}};
    r.stamp.insn = copy.insn;
    r.stamp.flags = stamp_async;
    r.stamp.who = tensor_component(first, Tensor::work);
    r.stamp.lanes = 1;
    r.stamp.epoch = last.wgmma.groups + !u.closes;
    const auto cta = ctas_.find(last.place.cta);
    if (cta == ctas_.end()) return;
    for (uint32_t i = 0; i < warps; ++i) {
        Copy one;
        one.insn = copy.insn;
        one.warp = &warp_of(host.cta_warp(cta->second, last.index / warps * warps + i));
        Touch t = touch_of(one, r);
        t.copy = &copy;
        touch_range(t, r);
    }
}

void Checker::describe_wgmma(Finding& f, const std::string& after) const {
    f.clause = "PTX ISA, \"wgmma.wait_group\"; Memory Consistency Model: \"Causality Order\"";
    f.missing = "the bytes may still be read by the wgmma: nothing waits for its group";
    f.repair = "wgmma.commit_group after " + after +
               ", and wgmma.wait_group before what tells the second access that the bytes are free";
}

}  // namespace check_sync
