# SPDX-License-Identifier: Apache-2.0
"""Turns the lines of an entry into fields and operands. Knows the operand kinds and attributes of the language."""
import re
from architectures import FAMILIES, families_with, uniform_bits
from isa_parse import Enum, EnumValue, fail, parse_enum_values, tokens
from isa_types import ALU, IMM_TYPES, NONE, Field, Operand, bit_list, number


class Lines:
    def __init__(self, desc):
        self.desc = desc
        self.inline = {}
        self.third = False  # the entry's forms vary operand c only: its second source is the machine's third

    def enum(self, name, family, where):
        if name.startswith("{"):
            key = name
            if key not in self.inline:
                vals = tokens(name[1:-1], where)
                vals = [v if not v.startswith('"') else 'None=' + v for v in vals]
                self.inline[key] = Enum(where, "", frozenset(FAMILIES), **dict(zip(("values", "fill"), parse_enum_values(vals, where))))
            return self.inline[key]
        for e in self.desc.enums.get(name, []):
            if family in e.families:
                return e
        fail(where, f"enum '{name}' is not defined for {family}")

    def sized(self, e, bits):
        """The enum as a field of this many bits sees it: larger values dropped, unlisted ones filled in."""
        values = {v: x for v, x in e.values.items() if v < 1 << bits}
        if e.fill:
            if bits > 10:
                fail(e.where, "an enum with unlisted values fits fields of at most 10 bits")
            for v in range(1 << bits):
                if v not in values:
                    values[v] = EnumValue(v, f"{'INVALID' if 'INV' in e.fill else 'Q'}{v}", f"{e.fill}{v}", 1)
        return Enum(e.where, e.name, e.families, values, e.ctype, e.fill)

    def condition(self, text, fields, where):
        """FIELD, !FIELD, FIELD:V|V, FIELD!:V|V -> (field name, allowed raw values)"""
        m = re.match(r"(!?)(\w+)(?:(!?):(.*))?$", text)
        if not m:
            fail(where, f"bad condition '{text}'")
        f = next((x for x in fields if x.name == m[2]), None)
        if f is None:
            fail(where, f"condition names unknown field '{m[2]}' (fields must come before their use)")
        every = set(range(1 << len(f.bits)))
        if m[4] is None:
            vals = every - {0}
        else:
            by_name = {v.name: v.value for v in f.enum.values.values()}
            vals = set()
            for n in m[4].split("|"):
                if n in by_name:
                    vals.update(v.value for v in f.enum.values.values() if v.name == n)
                elif re.match(r"\d+$", n):
                    vals.add(int(n))
                else:
                    fail(where, f"field '{m[2]}' has no value '{n}'")
        if m[1] or m[3]:
            vals = every - vals
        if len(every) > 64 and any(v > 63 for v in vals):
            fail(where, "conditions work on fields of at most 6 bits")
        return (m[2], frozenset(vals))

    def field_line(self, name, printed, parts, family, fields, where):
        if name.startswith("="):
            return Field("", None, [], True, literal=name[1:].strip('"'), where=where)
        if not parts:
            fail(where, f"field '{name}' needs ENUM@BITS")
        m = re.match(r"(\{.*\}|[A-Za-z]\w*)@([\d:,]+)$", parts[0])
        if not m:
            fail(where, f"expected ENUM@BITS, got '{parts[0]}'")
        bits = bit_list(m[2], where)
        flag = m[1] == "flag"
        when = None
        text = "." + name.upper()
        for p in parts[1:]:
            if p.startswith("when="):
                when = self.condition(p[5:], fields, where)
            elif p.startswith('"') and flag:
                text = p.strip('"')
            else:
                fail(where, f"unknown field attribute '{p}'")
        if flag:
            if len(bits) != 1:
                fail(where, "a flag has one bit")
            e = Enum(where, "", frozenset(FAMILIES),
                     {0: EnumValue(0, "No", "", 1), 1: EnumValue(1, "Yes", text if printed else "", 1)})
        elif m[1] == "uint":
            e = None
            if printed:
                fail(where, "a uint field cannot be printed with the mnemonic")
            e = Enum(where, "", frozenset(FAMILIES),
                     {i: EnumValue(i, f"N{i}", "", i) for i in range(1 << len(bits))})
            return Field(name, e, bits, False, when=when, where=where)
        else:
            e = self.sized(self.enum(m[1], family, where), len(bits))
        return Field(name, e, bits, printed, when=when, flag=flag, where=where)

    def reg_at(self, o, text, where, length=None):
        m = re.match(r"(\d+)(?::(\d+))?$", text)
        if not m:
            fail(where, f"bad position '{text}'")
        if m[2]:
            o.pos, o.length = int(m[2]), int(m[1]) - int(m[2]) + 1
        else:
            o.pos, o.length = int(m[1]), length

    def operand_line(self, name, kindtext, attrs, family, fields, alu, where):
        """Parses one operand line into an Operand."""
        m = re.match(r"(\w+)(?:@([\d:,]+))?(?:!(\d+))?$", kindtext)
        if not m and not kindtext.startswith('"'):
            fail(where, f"bad operand kind '{kindtext}'")
        uniform = uniform_bits(family)
        o = Operand(name, "reg", where)
        o.write = bool(re.match(r"(d|pd)\d*$", name))
        if kindtext.startswith('"'):
            o.kind, o.text, o.write = "text", kindtext.strip('"'), False
            o.file = {"PR": "P", "UPR": "UP"}.get(o.text, o.file)  # all predicates of a file
        else:
            kind, at, inv = m[1], m[2], m[3]
            short = {"Rd": ("R", "16"), "Ra": ("R", "24"), "Rb": ("R", "32"), "Rc": ("R", "64"),
                     "URd": ("UR", "16"), "URa": ("UR", "24"), "URb": ("UR", "32"), "URc": ("UR", "64"),
                     "Pd": ("P", "81"), "Pd2": ("P", "84"), "Pa": ("P", "87"), "Pb": ("P", "77"),
                     "UPd": ("UP", "81"), "UPd2": ("UP", "84"), "UPa": ("UP", "87"), "UPb": ("UP", "77")}
            if kind in short and at is None:
                if kind in ("Pa", "UPa"):
                    inv = inv or "90"
                if kind in ("Pb", "UPb"):
                    inv = inv or "80"
                kind, at = short[kind]
            if kind in ("B", "C", "S1"):
                self.slot(o, kind, alu, uniform, where)
            elif kind == "R":
                self.reg_at(o, at, where, 8)
                o.reuse = {24: 122, 32: 123, 64: 124}.get(o.pos, NONE) if not o.write else NONE
            elif kind == "UR":
                o.file = "UR"
                if "," in at:
                    o.enum_bits = bit_list(at, where)
                    o.length = len(o.enum_bits)
                else:
                    self.reg_at(o, at, where, uniform)
            elif kind in ("P", "UP"):
                o.kind, o.file = "pred", kind
                self.reg_at(o, at, where, 3)
                o.inv = int(inv) if inv else NONE
            elif kind in ("U", "S", "F"):
                o.kind = "imm" if kind != "F" else "fimm"
                if "," in at:
                    o.enum_bits = bit_list(at, where)
                else:
                    self.reg_at(o, at, where, 1)
                o.type = {"U": "u32", "S": "s32", "F": "f32"}[kind]
            elif kind == "rel":
                o.kind = "label"
                o.enum_bits = bit_list(at, where)
            elif kind == "const":
                o.kind, o.file = "const", "UR"
                o.off, o.off_len, o.off_signed, o.scale, o.bank, o.bank_len = 40, 14, True, 2, 54, 5
            elif kind == "mem":
                o.kind = "mem"
            elif kind == "bar":
                o.kind = "bar"
                self.reg_at(o, at, where, 4)
            elif kind == "sb":
                o.kind = "sb"
                self.reg_at(o, at, where, 3)
            elif kind == "list":
                o.kind = "list"
                self.reg_at(o, at, where, 6)
            elif kind in self.desc.enums:
                o.kind = "enum"
                o.enum_bits = bit_list(at, where)
                o.enum = self.sized(self.enum(kind, family, where), len(o.enum_bits))
                if len(o.enum_bits) > 10:
                    fail(where, "an enum operand has at most 10 bits")
            else:
                fail(where, f"unknown operand kind '{kind}'")
        if o.file == "R" and o.kind == "reg" and not o.write:
            o.read = True
        elif not o.write:
            o.read = True
        self.attributes(o, attrs, family, fields, where)
        return o

    def slot(self, o, kind, alu, uniform, where):
        if alu is None:
            fail(where, f"operand kind {kind} needs an 'op alu' line before it")
        code, what, letter = ALU[alu]
        slot1 = kind == "S1" or (kind.lower() == letter) or (alu == "RRR" and kind == "B")
        o.flags.add("slot1" if slot1 else "slot2")
        reuse = 123 if kind == "B" or (kind == "S1" and not self.third) else 124  # belongs to the operand, not the slot
        if not slot1:
            o.pos, o.length, o.reuse = 64, 8, reuse
            return
        if what == "R":
            o.pos, o.length, o.reuse = 32, 8, reuse
        elif what == "I":
            o.kind, o.pos, o.length = "imm", 32, 32
        elif what == "U":
            o.file, o.pos, o.length = "UR", 32, uniform
        elif what in "CX":
            o.kind, o.file = "const", "UR"
            o.off, o.off_len, o.off_signed, o.scale, o.bank, o.bank_len = 40, 14, True, 2, 54, 5
            if what == "X":
                o.flags.add("cx")
                o.ureg, o.ureg_len, o.bank, o.bank_len, o.off_signed = 32, 6, NONE, 0, False

    def attributes(self, o, attrs, family, fields, where):
        slot_defaults = {"slot1": (63, 62), "slot2": (75, 74)}
        default = (72, 73)
        for s, d in slot_defaults.items():
            if s in o.flags:
                default = d
        for a in attrs:
            key, eq, val = a.partition("=")
            if key in ("neg", "abs", "inv"):
                if o.kind in ("imm", "fimm"):
                    continue
                bit = number(val, where) if eq else {"neg": default[0], "inv": default[0], "abs": default[1]}[key]
                setattr(o, key, bit)
            elif key == "w":
                if val.isdigit():
                    o.width = int(val)
                else:
                    o.width_field, times, o.width_factor = val.partition("*")
                    for name in [o.width_field] + [o.width_factor] * bool(times):
                        if not any(f.name == name for f in fields):
                            fail(where, f"width names unknown field '{name}'")
            elif key == "align":
                o.align = number(val, where)
            elif key == "i":
                if val not in IMM_TYPES:
                    fail(where, f"unknown immediate type '{val}'")
                o.type = val
                if o.kind == "imm" and val in ("f32", "f64", "f16x2", "bf16x2", "f16", "tf32", "bf16"):
                    o.kind = "fimm"
            elif key == "after":
                o.scale = number(val, where)
            elif key == "scale":
                o.scale = number(val, where).bit_length() - 1
            elif key in ("sfx", "isfx"):
                if not any(f.name == val for f in fields):
                    fail(where, f"suffix names unknown field '{val}'")
                if (o.kind in ("imm", "fimm")) == (key == "isfx"):
                    o.suffix = val
            elif key == "when":
                o.when = self.condition(val, fields, where)
            elif key == "opt":
                o.optional = True
                if eq:
                    o.default = number(val, where)
            elif key == "unless":
                o.when, o.optional = self.condition(val, fields, where), True
                o.flags.add("unless")
            elif key == "noreuse":
                o.reuse = NONE
            elif key == "reuse":
                o.reuse = number(val, where)
            elif key == "rw":
                o.read = o.write = True
            elif key == "read":
                o.read, o.write = True, False
            elif key == "write":
                o.read, o.write = False, True
            elif key == "sep":
                o.separator = val.strip('"').replace("_", " ")
            elif key in ("base", "ubase"):
                self.reg_at(o, val, where, 8 if key == "base" else uniform_bits(family))
                o.file = "R" if key == "base" else "UR"
            elif key == "ur":
                m = re.match(r"(\d+)(?::(\d+))?$", val)
                o.ureg = int(m[2] or m[1])
                o.ureg_len = int(m[1]) - o.ureg + 1 if m[2] else uniform_bits(family)
            elif key == "desc":
                o.desc = number(val, where)
                o.ureg_len = o.ureg_len or uniform_bits(family)
            elif key == "desc_if":
                if not any(f.name == val for f in fields):
                    fail(where, f"desc_if names unknown field '{val}'")
                o.desc_if = val
            elif key == "ext":
                if not any(f.name == val for f in fields):
                    fail(where, f"ext names unknown field '{val}'")
                o.ext = val
                if family in families_with("plain_zero"):
                    o.flags.add("plainzero")
            elif key in ("off", "uoff"):
                if o.kind == "const":
                    o.scale = 0
                b = bit_list(val, where)
                if "," in val:
                    o.enum_bits = b
                o.off, o.off_len, o.off_signed = b[-1], len(b), key == "off"
            elif key == "bank":
                b = bit_list(val, where)
                o.bank, o.bank_len = b[-1], len(b)
            elif key == "prefix":
                o.prefix = val.strip('"')
            elif key == "cx":  # cx[UR][R+offset]
                o.flags.add(key)
                o.bank, o.bank_len = NONE, 0
            elif key in ("comp", "next", "glued", "ur_opt", "desc_next", "keepzero", "plainzero", "abs_target", "abs_other",
                         "spaced", "inside", "nozero", "rejectzero", "upper"):
                o.flags.add(key)
            else:
                fail(where, f"unknown operand attribute '{a}'")
