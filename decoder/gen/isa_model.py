"""Turns parsed entries into forms: one form per (family, opcode), with every bit position resolved.
Knows the operand kinds and attributes of the language; knows nothing of C++."""
import re
from dataclasses import dataclass, field
from isa_parse import FAMILIES, IsaError, Enum, EnumValue, fail, identifier, parse_enum_values, tokens

NONE = 0xff
PLAIN_ZERO = frozenset(["sm_75", "sm_80", "sm_86", "sm_89"])  # a zero base shows neither .U32 nor a scale
WIDE_UREG = frozenset(["sm_100", "sm_103", "sm_110", "sm_120"])

# Operand kinds of the tables (the order is the C enum's, see emit_tables.py).
KINDS = ["reg", "pred", "imm", "fimm", "const", "mem", "label", "enum", "text", "bar", "sb", "list"]
IMM_TYPES = ["u32", "s32", "f32", "f64", "f16x2", "bf16x2", "dec", "f16", "s32x", "tf32", "bf16"]

# Groups whose instructions have variable latency unless a `fixed` statement says otherwise.
VARIABLE_GROUPS = {"memory", "texture", "async", "branch", "call", "return", "exit", "barrier", "convergence", "fence",
                   "cache"}

# Conditions of `pseudo` lines: register RZ or immediate 0; immediate 1; immediate 2^k, k = 1..30 but not 16.
PSEUDO = ["zero", "one", "pow2"]

# Shape of the ALU operand forms: code in bits [11:9], what sits in bits [63:32], and in which letter.
ALU = {"RRR": (1, "R", "b"), "RRI": (2, "I", "c"), "RRC": (3, "C", "c"), "RIR": (4, "I", "b"),
       "RCR": (5, "C", "b"), "RUR": (6, "U", "b"), "RRU": (7, "U", "c"),
       "RXR": (5, "X", "b"), "RRX": (3, "X", "c")}


@dataclass
class Field:
    name: str
    enum: object              # Enum or None for a literal
    bits: list                # bit positions, most significant first
    printed: bool
    literal: str = None
    when: tuple = None        # (field name, frozenset of raw values)
    flag: bool = False
    where: str = ""
    pseudo: list = None       # [(operand name, predicate)]: literal printed when all hold, first such line wins


@dataclass
class Operand:
    name: str
    kind: str
    where: str
    file: str = "R"
    pos: int = NONE
    length: int = 0
    neg: int = NONE
    abs: int = NONE
    inv: int = NONE
    reuse: int = NONE
    width: int = 1
    width_field: str = None
    align: int = 1
    suffix: str = None
    when: tuple = None
    optional: bool = False
    write: bool = False
    read: bool = False
    type: str = "u32"
    scale: int = 0
    enum: object = None
    text: str = ""
    separator: str = None
    enum_bits: list = field(default_factory=list)
    default: int = None
    # memory parts
    ureg: int = NONE
    ureg_len: int = 0
    desc: int = NONE
    desc_if: str = None
    ext: str = None
    off: int = NONE
    off_len: int = 0
    off_signed: bool = False
    prefix: str = ""
    flags: set = field(default_factory=set)
    bank: int = NONE
    bank_len: int = 0


@dataclass
class Form:
    family: str
    entry: object
    opcode: int
    mask: int
    value: int
    fields: list
    operands: list
    sem: dict
    denies: list
    uniform_guard: bool
    variable: bool = False    # variable latency: completion through scoreboards; such operands have no reuse cache
    reuse_mask: int = 0       # bits [124:122] that may be set
    no_scoreboard: int = 0    # 1: no write barrier, 2: no read barrier may be named
    scoreboard: str = ""      # the assembler's default scoreboard
    stall: int = 0            # least stall cycles that the assembler accepts
    fills: tuple = ()         # (high, low, value): what the assembler writes to bits that nothing else decides


def bit_list(text, where):
    """'79:78' or '80,76' -> [79,78] / [80,76], most significant first."""
    out = []
    for p in text.split(","):
        m = re.match(r"(\d+)(?::(\d+))?$", p)
        if not m:
            fail(where, f"bad bit range '{text}'")
        hi, lo = int(m[1]), int(m[2] or m[1])
        if lo > hi:
            fail(where, f"bit range '{p}' must be high:low")
        if hi > 127:
            fail(where, f"bit {hi} is outside the word")
        out += range(hi, lo - 1, -1)
    return out


def number(text, where):
    try:
        return int(text, 0)
    except ValueError:
        fail(where, f"expected a number, got '{text}'")


class Expander:
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

    # ---- lines -> parts ---------------------------------------------------------------------------------
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
        wide_u = family in WIDE_UREG
        o = Operand(name, "reg", where)
        o.write = bool(re.match(r"(d|pd)\d*$", name))
        if kindtext.startswith('"'):
            o.kind, o.text, o.write = "text", kindtext.strip('"'), False
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
                self.slot(o, kind, alu, wide_u, where)
            elif kind == "R":
                self.reg_at(o, at, where, 8)
                o.reuse = {24: 122, 32: 123, 64: 124}.get(o.pos, NONE) if not o.write else NONE
            elif kind == "UR":
                o.file = "UR"
                if "," in at:
                    o.enum_bits = bit_list(at, where)
                    o.length = len(o.enum_bits)
                else:
                    self.reg_at(o, at, where, 8 if wide_u else 6)
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

    def slot(self, o, kind, alu, wide_u, where):
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
            o.file, o.pos, o.length = "UR", 32, 8 if wide_u else 6
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
                    if not any(f.name == val for f in fields):
                        fail(where, f"width names unknown field '{val}'")
                    o.width_field = val
            elif key == "align":
                o.align = number(val, where)
            elif key == "i":
                if val not in IMM_TYPES:
                    fail(where, f"unknown immediate type '{val}'")
                o.type = val
                if o.kind == "imm" and val in ("f32", "f64", "f16x2", "bf16x2", "f16", "tf32", "bf16"):
                    o.kind = "fimm"
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
                self.reg_at(o, val, where, 8 if key == "base" or family in WIDE_UREG else 6)
                o.file = "R" if key == "base" else "UR"
            elif key == "ur":
                m = re.match(r"(\d+)(?::(\d+))?$", val)
                o.ureg = int(m[2] or m[1])
                o.ureg_len = int(m[1]) - o.ureg + 1 if m[2] else (8 if family in WIDE_UREG else 6)
            elif key == "desc":
                o.desc = number(val, where)
                o.ureg_len = o.ureg_len or (8 if family in WIDE_UREG else 6)
            elif key == "desc_if":
                if not any(f.name == val for f in fields):
                    fail(where, f"desc_if names unknown field '{val}'")
                o.desc_if = val
            elif key == "ext":
                if not any(f.name == val for f in fields):
                    fail(where, f"ext names unknown field '{val}'")
                o.ext = val
                if family in PLAIN_ZERO:
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
                         "spaced", "inside", "nozero", "rejectzero"):
                o.flags.add(key)
            else:
                fail(where, f"unknown operand attribute '{a}'")

    # ---- entry -> forms -----------------------------------------------------------------------------------
    def forms(self, entry):
        out = []
        for family in FAMILIES:
            lines = [l for l in entry.lines if family in l.families]
            ops = [l for l in lines if l.text.startswith("op ")]
            if not lines:
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
                            if family in WIDE_UREG:
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
