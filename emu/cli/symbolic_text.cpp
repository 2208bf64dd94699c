// SPDX-License-Identifier: Apache-2.0
// Which types print how was found by changing the types of relocations in own files
// (nvdisasm 13.0). An operand is printed with a number that stands for the name: the decoder's
// hooks write into buffers, names have no limit.
#include "emu/cli/symbolic_text.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace sassemu::cli {
namespace {

// Offsets of memory operands have 24 bits, those of constants 16; all of them are multiples of
// four.
constexpr std::int64_t value_mark = 0x5a5a5a58;
constexpr std::int32_t address_mark = 0x5a5a58, constant_mark = 0x5a58;

bool holds(const sassdec_operand& operand, Place place) {
    // A call's offset is hidden when it is zero, and a relocation's field holds zero.
    if ((operand.flags & SASSDEC_HIDDEN) != 0 && place != Place::target) return false;
    switch (place) {
        case Place::immediate:
            return operand.kind == SASSDEC_OP_IMM || operand.kind == SASSDEC_OP_FIMM;
        case Place::target:
            return operand.kind == SASSDEC_OP_LABEL || operand.kind == SASSDEC_OP_IMM;
        case Place::handle:
            return operand.kind == SASSDEC_OP_IMM;
        case Place::constant:
            return operand.kind == SASSDEC_OP_CONST;
        case Place::address:
            return operand.kind == SASSDEC_OP_MEM;
        case Place::none:
            break;
    }
    return false;
}

// A target is the last number (CALL.ABS R2 target), an immediate the first (LOP3.LUT R0, R0, value,
// RZ, 0xc0), the place of a texture's handle the second, behind the constant bank's number (TXQ RZ,
// R3, R3, TEX_HEADER_DIMENSION, 0x0, value, 0x1).
sassdec_operand* operand_at(sassdec_insn& insn, Place place) {
    sassdec_operand* found = nullptr;
    bool bank_seen = false;
    for (unsigned i = 0; i < insn.operand_count; ++i) {
        if (!holds(insn.operand[i], place)) continue;
        if (place == Place::handle && !std::exchange(bank_seen, true)) continue;
        found = &insn.operand[i];
        if (place != Place::target) break;
    }
    return found;
}

}  // namespace

RelocationText relocation_text(unsigned type) {
    switch (type) {
        case 0x37:  // R_CUDA_ABS32_32
        case 0x3b:  // R_CUDA_ABS16_32
        case 0x3c:
            return {Place::immediate, "`(", ")"};  // R_CUDA_ABS24_32
        case 0x38:
            return {Place::immediate, "32@lo(", ")"};  // R_CUDA_ABS32_LO_32
        case 0x39:
            return {Place::immediate, "32@hi(", ")"};  // R_CUDA_ABS32_HI_32
        case 0x3d:
            return {Place::immediate, "fun@fdesc(", ")"};  // R_CUDA_FUNC_DESC32_32
        case 0x3e:
            return {Place::immediate, "32@lo(fun@fdesc(", "))"};  // R_CUDA_FUNC_DESC32_LO_32
        case 0x3f:
            return {Place::immediate, "32@hi(fun@fdesc(", "))"};  // R_CUDA_FUNC_DESC32_HI_32
        case 0x70:
            return {Place::immediate, "32@lo(fun@unified(", "))"};  // R_CUDA_UNIFIED32_LO_32
        case 0x71:
            return {Place::immediate, "32@hi(fun@unified(", "))"};  // R_CUDA_UNIFIED32_HI_32
        case 0x3a:                                                  // R_CUDA_ABS47_34
        case 0x4b:                                                  // R_CUDA_ABS55_16_34
        case 0x72:
            return {Place::target, "`(", ")"};  // R_CUDA_ABS56_16_34
        case 0x40:                              // R_CUDA_CONST_FIELD19_40
        case 0x42:                              // R_CUDA_CONST_FIELD21_38
        case 0x73:
            return {Place::constant, "`(", ")"};  // R_CUDA_CONST_FIELD22_37
        case 0x41:
            return {Place::handle, "`(", ")"};  // R_CUDA_CONST_FIELD21_40
        case 0x4a:
            return {Place::address, "`(", ")"};  // R_CUDA_ABS24_40
        default:
            return {};
    }
}

std::string plain_text(const sassdec_insn& insn) {
    char text[1024];
    const int n = sassdec_format(&insn, nullptr, text, sizeof text);
    return n < 0 ? "<undecodable: text too long>" : std::string(text, size_t(n));
}

std::string text_with(sassdec_insn insn, Place place, const std::string& value) {
    sassdec_operand* operand = operand_at(insn, place);
    if (operand == nullptr || insn.status != SASSDEC_OK) return plain_text(insn);
    const char* mark = "0x5a5a5a58";
    operand->imm = value_mark;
    operand->flags &= static_cast<std::uint8_t>(~SASSDEC_HIDDEN);
    if (place == Place::immediate) {
        operand->kind = SASSDEC_OP_IMM;
        operand->imm_type = SASSDEC_IMM_U32;
    } else if (place == Place::address) {
        operand->offset = address_mark;
        mark = "0x5a5a58";
    } else if (place == Place::constant) {
        operand->offset = constant_mark;
        mark = "0x5a58";
    }
    std::string text = plain_text(insn);
    // Aliases are for values, not for names: IMAD.U32 R0, RZ, RZ, c[`(table)].
    for (const char* alias : {"IMAD.MOV", "IMAD.IADD", "IMAD.SHL"}) {
        if (const size_t start = text.find(alias); start != std::string::npos)
            text.erase(start + 4, std::strlen(alias) - 4);
    }
    const size_t at = text.find(mark);
    if (at == std::string::npos) return text;
    text.replace(at, std::strlen(mark), value);
    if (place != Place::constant) return text;
    // c[0x2][R0+0x18] becomes c[R0+`(name)]
    const size_t open = text.rfind('[', at), bank = open == 0 ? open : text.rfind("c[", open - 1);
    if (bank != std::string::npos && bank < open) text.erase(bank + 1, open - bank - 1);
    return text;
}

}  // namespace sassemu::cli
