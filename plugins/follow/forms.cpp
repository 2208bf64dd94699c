// SPDX-License-Identifier: Apache-2.0
// The forms of instructions whose results take marks from some of what they read only: products of
// fragments, bits that become predicates and back, and what goes by values. What these do to marks
// is in fragments.cpp and values.cpp.
#include <string>
#include <utility>

#include "follow/code.hpp"

namespace follow {

namespace {

std::vector<std::string_view> parts_of(std::string_view name) {  // ISETP.LT.AND
    std::vector<std::string_view> parts;
    for (size_t at = 0; at <= name.size();) {
        const size_t dot = std::min(name.find('.', at), name.size());
        parts.push_back(name.substr(at, dot - at));
        at = dot + 1;
    }
    return parts;
}

Fragment fragment(const sassemu_operand& o) {
    return {row_of(o), std::max<uint32_t>(o.registers, 1)};
}

// HMMA.16816.F32, DMMA.8x8x4: D, A, B, C. HGMMA.64x64x16.F32 with A in registers: each warp has
// sixteen rows of A and D, and C is D.
Product product_of(const Instruction& i, const std::vector<std::string_view>& parts,
                   const sassemu_operand& destination) {
    Product p;
    const bool groups = parts[0].ends_with("GMMA");
    const auto is_shape = [](std::string_view part) {
        return part.size() >= 3 && part[0] >= '1' && part[0] <= '9';
    };
    const auto shape = std::find_if(parts.begin() + 1, parts.end(), is_shape);
    if (shape == parts.end() || (*shape == "884" && parts[0] == "HMMA")) return p;
    p.d = fragment(destination);
    const bool doubles = parts[0] == "DMMA";
    p.words = doubles ? 2 : 1;
    p.sixteen_rows = groups || shape->starts_with("16");
    if (groups) {
        // Else a descriptor says where it is.
        if (!i.operands.empty() && i.operands[0].kind == SASSEMU_OPERAND_REGISTER)
            p.a = fragment(i.operands[0]);
        p.c = p.d;
        p.halves = std::find(parts.begin(), parts.end(), "F32") == parts.end() &&
                   std::find(parts.begin(), parts.end(), "F16") != parts.end();
        p.known = true;
        return p;
    }
    if (i.operands.size() < 3) return p;
    for (uint32_t k = 0; k < 3; ++k)
        if (i.operands[k].kind != SASSEMU_OPERAND_REGISTER) return p;
    p.a = fragment(i.operands[0]);
    p.b = fragment(i.operands[1]);
    p.c = fragment(i.operands[2]);
    p.halves = p.sixteen_rows && p.d.count == 2;
    p.known = true;
    return p;
}

// The predicate that joins a comparison, or that selects; null: it has none.
const sassemu_operand* first_predicate(const std::vector<sassemu_operand>& sources) {
    const auto at = std::find_if(sources.begin(), sources.end(), is_predicate);
    return at == sources.end() ? nullptr : &*at;
}

bool is_comparison(std::string_view opcode) {
    return is_any(opcode, {"ISETP", "UISETP", "FSETP", "DSETP"});
}
bool is_selection(std::string_view opcode) {
    return is_any(opcode, {"SEL", "FSEL", "USEL", "SEL64", "FSEL64"});
}

Comparison comparison_of(const std::vector<std::string_view>& parts) {
    Comparison c;
    static constexpr std::pair<std::string_view, char> orders[] = {
        {"LT", 'L'}, {"LE", 'l'}, {"EQ", 'E'}, {"NE", 'N'}, {"GE", 'g'}, {"GT", 'G'}};
    bool plain = parts[0].ends_with("ISETP");
    for (auto part = parts.begin() + 1; part != parts.end(); ++part) {
        if (is_any(*part, {"AND", "OR", "XOR"})) {
            c.joins = *part == "AND" ? '&' : *part == "OR" ? '|' : '^';
            continue;
        }
        const auto order = std::find_if(std::begin(orders), std::end(orders),
                                        [&](const auto& o) { return o.first == *part; });
        if (order != std::end(orders))
            c.compares = order->second;
        else if (*part == "U32")
            c.is_signed = false;
        else if (*part != "S32")
            plain = false;
    }
    if (!plain) c.compares = 0;
    return c;
}

}  // namespace

uint32_t row_of(const sassemu_operand& o) {
    switch (o.kind) {
        case SASSEMU_OPERAND_REGISTER:
            return o.index == SASSEMU_RZ ? no_row : o.index;
        case SASSEMU_OPERAND_UNIFORM_REGISTER:
            return o.index == SASSEMU_RZ ? no_row : uniform_rows + o.index;
        case SASSEMU_OPERAND_PREDICATE:
            return o.index == SASSEMU_PT ? no_row : predicate_rows + o.index;
        case SASSEMU_OPERAND_UNIFORM_PREDICATE:
            return o.index == SASSEMU_PT ? no_row : uniform_predicate_rows + o.index;
        default:
            return no_row;
    }
}

bool Code::goes_by_values(const sassemu::Plugin& plugin, sassemu_insn insn) {
    const std::string_view name = plugin.host.insn_opcode(insn),
                           opcode = name.substr(0, name.find('.'));
    const bool combines = is_any(opcode, {"PLOP3", "UPLOP3"}), shuffles = opcode == "SHFL";
    if (!combines && !shuffles && !is_comparison(opcode) && !is_selection(opcode)) return false;
    bool varies = false;
    for (uint32_t k = 0; k < plugin.host.insn_operands(insn); ++k) {
        const sassemu_operand o = plugin.operand(insn, k);
        if (o.is_destination) continue;
        varies |= shuffles ? k > 2 && row_of(o) != no_row : is_predicate(o) && row_of(o) != no_row;
    }
    return varies;
}

void find_form(Instruction& i, std::string_view name, std::string_view text,
               const sassemu_operand* destination, Doubt doubt) {
    if (text.starts_with('@')) text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
    const std::string_view full = text.substr(0, text.find_first_of(" ;"));
    const std::string_view opcode = name.substr(0, name.find('.'));
    const std::vector<std::string_view> parts = parts_of(full);
    const auto says = [&](std::string_view part) {
        return std::find(parts.begin(), parts.end(), part) != parts.end();
    };
    if (is_any(opcode, {"LDSM", "STSM"})) {
        i.shape = !says("16")    ? MatrixShape::other
                  : says("M88")  ? MatrixShape::rows
                  : says("MT88") ? MatrixShape::transposed
                                 : MatrixShape::other;
        return;
    }
    if (is_any(opcode, {"HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA"}) ||
        (opcode.ends_with("GMMA") && doubt == Doubt::values)) {
        i.transfer = Transfer::matrix;
        i.product = product_of(i, parts, *destination);
    }
    if (opcode == "MOVM") {
        i.transfer = Transfer::turn;
        i.shape = says("MT88") && says("16") ? MatrixShape::transposed : MatrixShape::other;
    }
    const std::vector<sassemu_operand>& sources = i.operands;
    const bool is_masked = !sources.empty() && sources.back().kind == SASSEMU_OPERAND_IMMEDIATE;
    if (is_any(opcode, {"R2P", "UR2UP", "P2R", "UP2UR"}) && is_masked) {
        const size_t byte = text.find(".B");
        i.transfer = opcode.ends_with('P') ? Transfer::spread : Transfer::pack;
        i.table = byte == text.npos ? 0 : static_cast<uint32_t>(text[byte + 2] - '0') * 8;
    }
    if (doubt != Doubt::values) return;
    const sassemu_operand* const predicate = first_predicate(sources);
    if (is_comparison(opcode) && predicate) {
        i.comparison = comparison_of(parts);
        if (i.comparison.joins) i.transfer = Transfer::compare;
    }
    const auto predicates = std::count_if(sources.begin(), sources.end(), is_predicate);
    if (is_any(opcode, {"PLOP3", "UPLOP3"}) && sources.size() == 5 && predicates == 3 &&
        sources[3].kind == SASSEMU_OPERAND_IMMEDIATE &&
        sources[4].kind == SASSEMU_OPERAND_IMMEDIATE)
        i.transfer = Transfer::combine;
}

}  // namespace follow
