# SPDX-License-Identifier: Apache-2.0
"""Turns parsed entries into forms: one form per (family, opcode). Knows nothing of C++."""
import re
from architectures import FAMILIES, uniform_bits
from isa_lines import Lines
from isa_parse import IsaError, fail, identifier, tokens
from isa_types import (ALU, IMM_TYPES, KINDS, NONE, PSEUDO, VARIABLE_GROUPS, Field, Form, Operand, bit_list,
                       number)


class Expander(Lines):
    def forms(self, entry):
        out = []
        for family in FAMILIES:
            lines = [l for l in entry.lines if family in l.families]
            ops = [l for l in lines if l.text.startswith("op ")]
            if not lines or any(family in f and {entry.mnemonic, entry.mnemonic.split(".")[0]} & names
                                for f, names in self.desc.absent):
                continue
            if not ops:
                continue
            for l in ops:
                parts = tokens(l.text, l.where)[1:]
                if parts[0] == "alu":
                    base = number(parts[1], l.where)
                    others = [n for n in parts[2:] if n in ALU and n != "RRR"]
                    self.third = bool(others) and all(ALU[n][2] == "c" for n in others)
                    for name in parts[2:]:
                        if name not in ALU:
                            fail(l.where, f"unknown ALU form '{name}' ({' '.join(ALU)})")
                        letters = [name]
                        if "C" in name:
                            if uniform_bits(family) > 6:  # constants went with them
                                continue
                            letters.append(name.replace("C", "X"))
                        for n in letters:
                            code, what, _ = ALU[n]
                            opcode = base | code << 9 | (0x1000 if what in "UX" else 0)
                            out.append(self.form(entry, family, lines, opcode, n))
                else:
                    for p in parts:
                        out.append(self.form(entry, family, lines, number(p, l.where), None))
                        if any(family in f and out[-1].opcode in o for f, o in self.desc.ignore91):
                            out.append(self.form(entry, family, lines, out[-1].opcode | 0x1000, None))
        return out

    def form(self, entry, family, lines, opcode, alu):
        if opcode > 0x1fff:
            fail(entry.where, f"opcode 0x{opcode:x} has more than 13 bits")
        mask = 0xfff | 1 << 91
        value = (opcode & 0xfff) | (opcode >> 12) << 91
        fields, operands, sem, denies, uniform = [], [], {}, [], False
        for l in lines:
            parts = tokens(l.text, l.where)
            head, rest = parts[0], parts[1:]
            if head in ("op",):
                continue
            if head == "fix":
                for p in rest:
                    b, eq, v = p.partition("=")
                    if not eq:
                        fail(l.where, "expected: fix BITS=VALUE...")
                    bits, v = bit_list(b, l.where), number(v, l.where)
                    if v >= 1 << len(bits):
                        fail(l.where, f"value {v} does not fit {len(bits)} bits")
                    for i, bit in enumerate(reversed(bits)):
                        mask |= 1 << bit
                        value = value & ~(1 << bit) | (v >> i & 1) << bit
            elif head == "sem":
                for p in rest:
                    k, eq, v = p.partition("=")
                    if not eq:
                        fail(l.where, "expected: sem KEY=VALUE...")
                    if k in sem:
                        fail(l.where, f"sem: '{k}' is stated twice")
                    sem[k] = v
            elif head == "guard":
                uniform = rest == ["UP"]
            elif head == "deny":
                denies.append([self.condition(p, fields, l.where) for p in rest])
            elif head == "pseudo":
                if alu and "X" in alu:  # bindless constants show the plain name
                    continue
                f = Field("", None, [], True, literal=rest[0].strip('"'), where=l.where, pseudo=[])
                for p in rest[1:]:
                    n, _, v = p.partition("=")
                    if v not in PSEUDO:
                        fail(l.where, f"pseudo condition must be OPERAND=one of {' '.join(PSEUDO)}")
                    f.pseudo.append((n, PSEUDO.index(v)))
                fields.append(f)
            elif head == "field":
                fields.append(self.field_line(rest[0], False, rest[1:], family, fields, l.where))
            elif head.startswith("."):
                fields.append(self.field_line(head[1:], True, rest, family, fields, l.where))
            else:
                if not re.match(r"[a-z]\w*$", head):
                    fail(l.where, f"cannot read '{l.text}'")
                if not rest:
                    fail(l.where, f"operand '{head}' needs a kind")
                operands.append(self.operand_line(head, rest[0], rest[1:], family, fields, alu, l.where))
        for f in fields:
            for n, _ in f.pseudo or []:
                if not any(o.name == n for o in operands):
                    fail(f.where, f"pseudo condition names unknown operand '{n}'")
        names = [f.name for f in fields if f.name] + [o.name for o in operands]
        for n in names:
            if names.count(n) > 1:
                fail(entry.where, f"name '{n}' is used twice in {entry.mnemonic} ({family})")
        form = Form(family, entry, opcode, mask, value, fields, operands, sem, denies, uniform)
        form.variable = self.variable(form)
        form.no_scoreboard = self.no_scoreboard(form)
        for families, mnemonics, what, value in self.desc.control:
            if family in families and self.names(form) & mnemonics:
                if what == "fill":
                    form.fills += value
                elif what == "stall":
                    form.stall = int(value)
                else:
                    form.scoreboard = value
        for o in operands:
            if o.kind != "reg" or o.file != "R" or (form.variable and o.reuse != 50):
                o.reuse = NONE
            if 122 <= o.reuse <= 124:
                form.reuse_mask |= 1 << (o.reuse - 122)
        return form

    def variable(self, form):
        """Whether results arrive through a scoreboard; decides which values of bits [124:122] are valid."""
        groups = set(form.sem.get("group", "").split(","))
        result = bool(groups & VARIABLE_GROUPS)
        names = self.names(form)
        for families, mnemonics, variable in self.desc.scheduling:
            if form.family in families and names & mnemonics:
                result = variable
        return result

    def no_scoreboard(self, form):
        result = 0
        for families, names, bits in self.desc.scoreboards:
            if form.family in families and names & self.names(form):
                result |= bits
        return result

    @staticmethod
    def names(form):
        """What the statements of common.isa may call a form."""
        return {form.entry.mnemonic.split(".")[0], form.entry.mnemonic, form.entry.struct, f"0x{form.opcode:x}"}


def expand(desc):
    x = Expander(desc)
    forms = []
    for e in desc.entries:
        f = x.forms(e)
        if not f:
            fail(e.where, f"{e.mnemonic} has no 'op' line for any architecture")
        forms += f
    return forms


__all__ = ["expand", "Form", "Field", "Operand", "KINDS", "IMM_TYPES", "NONE", "identifier", "IsaError"]
