# SPDX-License-Identifier: Apache-2.0
"""Writes sassdec/typed.hpp (one struct per instruction), sassdec/visit.hpp (visit()) and sassdec/ids.h.
The mapping rules are stated in ../isa/README.md, section "Typed structs"."""
import re
from architectures import FAMILIES
from isa_parse import camel, fail, write_changed

KEYWORDS = set("and or xor not new delete class struct union enum int float double char short long signed unsigned "
               "auto register static const volatile if else for while do switch case default break continue return "
               "goto this true false public private protected virtual operator template typename using namespace "
               "try catch throw inline extern explicit friend mutable bool void wchar_t sizeof typedef".split())


def safe(name):
    return name + "_" if name in KEYWORDS else name


class Plan:
    def __init__(self):
        self.structs = {}      # name -> {member: (type, order)}
        self.struct_ids = {}
        self.canon = {}        # enum name -> {value name: C++ value}
        self.shape_of = []     # shape id -> a form that has it
        self.mnemonics = {}

    def shape_key(self, form):
        return (tuple((f.name, field_type(f), f.enum.where if f.enum else None) for f in form.fields),
                tuple((o.name, o.kind, o.file, o.enum.where if o.enum else None) for o in form.operands))


def field_type(f):
    if f.literal is not None or not f.name:
        return None
    if f.flag:
        return "bool"
    return f.enum.ctype or "std::uint8_t"


def operand_type(o):
    if o.kind == "text":
        return None
    if o.kind == "enum":
        return o.enum.ctype
    if o.kind == "pred":
        return "Pred"
    if o.kind == "mem":
        return "Mem"
    if o.kind == "label":
        return "std::uint64_t"
    if o.kind in ("bar", "sb", "list"):
        return "std::uint8_t"
    if o.kind == "reg" and o.write and not o.read:
        return "Reg"
    return "Src"


def typed_plan(forms, desc):
    plan = Plan()
    for name, variants in desc.enums.items():
        ctype = variants[0].ctype
        canon = plan.canon.setdefault(ctype, {})
        used = set(canon.values())
        for e in variants:
            for v in e.values.values():
                if v.name in canon:
                    continue
                c = v.value
                while c in used:
                    c += 1
                    if c > 255:
                        c = 0
                canon[v.name] = c
                used.add(c)
    for form in forms:
        s = plan.structs.setdefault(form.entry.struct, {})
        plan.struct_ids.setdefault(form.entry.struct, len(plan.struct_ids))
        for item, typ in [(f, field_type(f)) for f in form.fields] + [(o, operand_type(o)) for o in form.operands]:
            if typ is None:
                continue
            old = s.get(item.name)
            if old is None or old == typ:
                s[item.name] = typ
            elif {old, typ} == {"Reg", "Src"}:
                s[item.name] = "Src"
            else:
                fail(item.where, f"struct {form.entry.struct}: member '{item.name}' is {old} elsewhere, {typ} here; "
                     "rename one of them or give the entry another struct with 'as'")
    return plan


PRELUDE = '''// Generated from the .isa files; edit those.
// One plain struct per instruction, with registers, modifiers and memory operands by name.
// visit.hpp fills them from decoded instructions.
#pragma once
#include <cstdint>
#include "sassdec/sassdec.h"
#include "sassdec/ids.h"

namespace sassdec::typed {

struct Guard { std::uint8_t index = 7; bool neg = false; bool uniform = false; };
struct Pred { std::uint8_t index = 7; bool neg = false; bool uniform = false; };
// A destination register. RZ and URZ are 255.
struct Reg { std::uint8_t index = 255; bool uniform = false; std::uint8_t width = 1; };
enum class SrcKind : std::uint8_t { None, Reg, UReg, Imm, Const, ConstIndirect };
// A source: register, uniform register, immediate, c[bank][offset] or cx[ureg][offset].
struct Src {
    SrcKind kind = SrcKind::None;
    std::uint8_t index = 255;  // register number (Reg, UReg); base register of a Const with has_base
    std::uint8_t width = 1;    // 32-bit registers
    bool neg = false, abs = false, inv = false, reuse = false;
    bool has_base = false;     // Const: address is offset + register `index`
    bool base_uniform = false;
    std::uint8_t bank = 0;     // Const
    std::uint8_t ureg = 255;   // ConstIndirect: uniform register pair with the descriptor
    std::int32_t offset = 0;   // Const, ConstIndirect: bytes
    std::uint64_t imm = 0;     // Imm: raw bits; a signed field is sign-extended, a double is 64 bits
};
// A memory operand: [base + ureg + offset], through descriptor pair `desc` where has_desc.
struct Mem {
    std::uint8_t base = 255, ureg = 255, desc = 255;
    bool has_base = false, base_uniform = false, has_ureg = false, has_desc = false;
    std::uint8_t base_width = 1;  // 2: the base is a 64-bit register pair
    std::uint8_t bank = 0;
    std::int32_t offset = 0;
};
'''

VISIT_PRELUDE = '''// Generated from the .isa files; edit those.
// visit(): builds the struct of a decoded instruction and hands it to a visitor. Long to compile:
// include it only where instructions are dispatched.
#pragma once
#include "sassdec/typed.hpp"

#ifdef __GNUC__
#define SASSDEC_OUT_OF_LINE __attribute__((noinline))
#else
#define SASSDEC_OUT_OF_LINE
#endif

namespace sassdec::typed {
namespace detail {
inline Guard guard(const sassdec_insn& i) { return {i.guard, i.guard_neg != 0, i.guard_uniform != 0}; }
inline Pred pred(const sassdec_operand& o) { return {o.index, (o.flags & SASSDEC_INV) != 0, o.file == SASSDEC_UP}; }
inline Reg reg(const sassdec_operand& o) { return {o.index, o.file == SASSDEC_UR, o.width}; }
SASSDEC_OUT_OF_LINE inline Src src(const sassdec_operand& o) {
    Src s;
    s.index = o.index;
    s.width = o.width;
    s.neg = o.flags & SASSDEC_NEG;
    s.abs = o.flags & SASSDEC_ABS;
    s.inv = o.flags & SASSDEC_INV;
    s.reuse = o.flags & SASSDEC_REUSE;
    switch (o.kind) {
        case SASSDEC_OP_REG: s.kind = o.file == SASSDEC_UR ? SrcKind::UReg : SrcKind::Reg; break;
        case SASSDEC_OP_CONST:
            s.kind = o.flags & SASSDEC_HAS_UREG ? SrcKind::ConstIndirect : SrcKind::Const;
            s.has_base = o.flags & SASSDEC_HAS_REG;
            s.base_uniform = o.file == SASSDEC_UR;
            s.bank = o.bank;
            s.ureg = o.ureg;
            s.offset = o.offset;
            break;
        default:
            s.kind = SrcKind::Imm;
            s.imm = static_cast<std::uint64_t>(o.imm);
            if (o.width == 0) s.width = 1;
            break;
    }
    return s;
}
SASSDEC_OUT_OF_LINE inline Mem mem(const sassdec_operand& o) {
    Mem m;
    m.base = o.index;
    m.ureg = o.ureg;
    m.desc = o.desc;
    m.has_base = o.flags & SASSDEC_HAS_REG;
    m.base_uniform = o.file == SASSDEC_UR;
    m.has_ureg = o.flags & SASSDEC_HAS_UREG;
    m.has_desc = o.flags & SASSDEC_HAS_DESC;
    m.base_width = o.width;
    m.bank = o.bank;
    m.offset = o.offset;
    return m;
}
}  // namespace detail
'''


def emit_typed(plan, desc, path):
    out = [PRELUDE]
    used = {t for s in plan.structs.values() for t in s.values()}
    for name in plan.canon:
        if name not in used:
            continue
        vals = ", ".join(f"{safe(n)} = {v}" for n, v in plan.canon[name].items())
        out.append(f"enum class {name} : std::uint8_t {{ {vals} }};")
    out.append("")
    for name, members in plan.structs.items():
        out.append(f"struct {name} {{")
        out.append(f"    static constexpr sassdec_id id = SASSDEC_ID_{name.upper()};")
        out.append("    const sassdec_insn* insn = nullptr;\n    Guard guard;")
        for m, t in members.items():
            init = " = false" if t == "bool" else " = 0" if t.startswith("std::") else \
                "{}" if t in ("Reg", "Src", "Mem", "Pred") else "{}"
            out.append(f"    {t} {safe(m)}{init};")
        out.append("};")
    out.append("\n}  // namespace sassdec::typed")
    write_changed(path, "\n".join(out) + "\n")


def emit_visit(plan, desc, forms, path):
    out = [VISIT_PRELUDE]
    used = {t for s in plan.structs.values() for t in s.values()}
    maps = {}
    for name, variants in desc.enums.items():
        for e in variants:
            if e.ctype in used and any(plan.canon[e.ctype][v.name] != v.value for v in e.values.values()):
                row = [0] * (max(e.values) + 1)
                for v in e.values.values():
                    row[v.value] = plan.canon[e.ctype][v.name]
                maps[id(e)] = f"map_{name}_{variants.index(e)}"
                out.append(f"inline constexpr std::uint8_t {maps[id(e)]}[] = {{{','.join(map(str, row))}}};")
    def enum_source(enum, family, expr):
        """Raw field value -> C++ value, through a map where the encodings differ."""
        e = next(x for x in desc.enums[enum.name] if family in x.families)
        if id(e) in maps:
            return f"static_cast<{e.ctype}>({maps[id(e)]}[{expr} % {max(e.values) + 1}])"
        return f"static_cast<{e.ctype}>({expr})"

    # Many shapes (forms, families) fill their struct alike: one function for all of them, out of line, since one function
    # with thousands of structs takes a compiler minutes.
    bodies = {}
    for shape, form in enumerate(plan.shape_of):
        name = form.entry.struct
        members = plan.structs[name]
        lines = [f"    {name} s;\n    s.insn = &i;\n    s.guard = guard(i);"]
        for k, f in enumerate(form.fields):
            t = field_type(f)
            if t is None:
                continue
            expr = f"i.field[{k}]"
            if t == "bool":
                rhs = f"{expr} != 0"
            elif t.startswith("std::"):
                rhs = f"static_cast<std::uint8_t>({expr})"
            else:
                rhs = enum_source(f.enum, form.family, expr)
            lines.append(f"    s.{safe(f.name)} = {rhs};")
        for k, o in enumerate(form.operands):
            t = operand_type(o)
            if t is None:
                continue
            want = members[o.name]
            expr = f"i.operand[{k}]"
            rhs = {"Reg": f"reg({expr})", "Src": f"src({expr})", "Pred": f"pred({expr})",
                   "Mem": f"mem({expr})", "std::uint64_t": f"static_cast<std::uint64_t>({expr}.imm)",
                   "std::uint8_t": f"static_cast<std::uint8_t>({expr}.imm)"}.get(want)
            if rhs is None:
                rhs = enum_source(o.enum, form.family, f"{expr}.imm")
            lines.append(f"    s.{safe(o.name)} = {rhs};")
        bodies.setdefault("\n".join(lines), []).append(shape)
    out.append("\nnamespace detail {")
    for body, shapes in bodies.items():
        out.append("template <class Visitor>\nSASSDEC_OUT_OF_LINE bool shape_%d(const sassdec_insn& i, Visitor& v) {\n%s\n    v(s);\n"
                   "    return true;\n}" % (shapes[0], body))
    out.append("""}  // namespace detail
#undef SASSDEC_OUT_OF_LINE

// Calls v(struct) for the instruction; false when the word was undecodable.
template <class Visitor>
bool visit(const sassdec_insn& i, Visitor&& v) {
    if (i.status != SASSDEC_OK) return false;
    switch (i.shape) {""")
    for shapes in bodies.values():
        out.append("".join(f"        case {shape}:\n" for shape in shapes) + f"            return detail::shape_{shapes[0]}(i, v);")
    out.append("        default: return false;\n    }\n}\n\n}  // namespace sassdec::typed")
    write_changed(path, "\n".join(out) + "\n")


def emit_ids(plan, path):
    out = ["/* Generated from the .isa files; edit those. One id per typed struct. */",
           "#ifndef SASSDEC_IDS_H", "#define SASSDEC_IDS_H", "typedef enum sassdec_id {"]
    out += [f"    SASSDEC_ID_{n.upper()} = {i}," for n, i in plan.struct_ids.items()]
    out += [f"    SASSDEC_ID_COUNT = {len(plan.struct_ids)}", "} sassdec_id;", "#endif"]
    write_changed(path, "\n".join(out) + "\n")


__all__ = ["typed_plan", "emit_typed", "emit_visit", "emit_ids", "camel", "FAMILIES", "re"]
