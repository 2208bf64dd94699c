// SPDX-License-Identifier: Apache-2.0
// One host level: dispatch from a decoded instruction to the family that lowers it, the operations
// for what cannot run, and the run loops. Compiled once per level.
#include "emu/isa/families.hpp"
#include "emu/isa/run.hpp"
#include "emu/isa/unexecuted.hpp"
#include "sassdec/visit.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

const Op* illegal(const Op* op, Warp& w, uint32_t mask) {
    return services(w).fault(w, op, mask, FaultKind::illegal_instruction, "illegal instruction",
                             false, 0);
}

// This emulator has no behaviour for it, or does not know the word: exit code 5, it is named.
const Op* unsupported(const Op* op, Warp& w, uint32_t mask) {
    return services(w).unsupported(w, op, mask);
}

template <class T>
concept Executes = requires(Lower& x, const T& i) {
    lower(x, i);
};

// Whether the instruction has a behaviour here; with a request it is lowered too. One function for
// both: visit() is what this file takes long to compile for.
bool dispatch(const sassdec_insn& in, const LowerRequest* request) {
    bool has = false, gap = false;
    typed::visit(in, [&](const auto& i) {
        if constexpr (Executes<std::decay_t<decltype(i)>>) {
            has = true;
            if (!request) return;
            Lower x(*request);
            lower(x, i);
            if (x.rejection()) {
                *request->rejection = x.rejection();
                if (!x.known_gap()) request->op->fn[0] = request->op->fn[1] = illegal;
            }
            gap = x.known_gap();
        } else if constexpr (unexecuted<std::decay_t<decltype(i)>>() != nullptr) {
            if (request) *request->rejection = unexecuted<std::decay_t<decltype(i)>>();
        }
    });
    if (request && (gap || !has)) {
        request->op->fn[0] = request->op->fn[1] = unsupported;
        if (request->gap) *request->gap = true;
    }
    return has;
}

bool executes(const sassdec_insn& in) { return dispatch(in, nullptr); }

void lower_one(const LowerRequest& request) {
    Op& op = *request.op;
    op = Op{};
    op.guard = 7;
    op.fn[0] = op.fn[1] = request.gap && *request.gap ? unsupported : illegal;
    if (!request.instruction) return;
    const sassdec_insn& in = *request.instruction;
    op.guard = in.guard_uniform ? Lower::uniform_predicate(in.guard) : Lower::predicate(in.guard);
    op.guard_xor = in.guard_neg ? ~0u : 0u;
    dispatch(in, &request);
}

}  // namespace

uint32_t Lower::constant(unsigned bank, uint32_t offset, uint32_t bytes) {
    Base base;
    switch (bank) {
        case 0:
            base = Base::bank0;
            break;
        case 2:
            base = Base::bank2;
            break;
        case 3:
            base = Base::bank3;
            break;
        case 4:
            base = Base::bank4;
            break;
        default:
            return immediate(0);
    }
    const uint64_t most = r_.bank_bytes ? (*r_.bank_bytes)[static_cast<size_t>(base)] : 0x10000;
    if (uint64_t{offset} + bytes > most) return immediate(0);
    return scalar_operand(base, offset);
}

Operand Lower::source(const typed::Src& s, unsigned words) {
    Operand out;
    if (s.abs) out.modifier |= modifier_abs;
    if (s.neg) out.modifier |= modifier_neg;
    switch (s.kind) {
        case typed::SrcKind::None:
        case typed::SrcKind::Reg:
            out.at = source_row(s.index, words);
            break;
        case typed::SrcKind::UReg:
            out.scalar = true;
            out.at = uniform_scalar(s.index, words);
            break;
        case typed::SrcKind::Imm:
            out.scalar = true;
            out.at = immediate(s.imm);
            break;
        case typed::SrcKind::Const:
            out.scalar = true;
            out.at = constant(s.bank, static_cast<uint32_t>(s.offset), words * 4);
            break;
        case typed::SrcKind::ConstIndirect:
            gap("a bindless constant operand");
            break;
    }
    return out;
}

const LevelTable& level_table() {
    static constexpr LevelTable table{&"v2\0v3\0v4" [(SASSEMU_LANES_LEVEL - 2) * 3],
                                      lower_one,
                                      run,
                                      run_checked,
                                      executes,
                                      { fused_steps, group_sums },
                                      warpgroup_sums};
    return table;
}

}  // namespace SASSEMU_ISA_NS

extern "C" __attribute__((visibility("default"))) const LevelTable* SASSEMU_LANES_CAT(
    sassemu_level_, SASSEMU_LEVEL)() {
    return &SASSEMU_ISA_NS::level_table();
}

}  // namespace sassemu
