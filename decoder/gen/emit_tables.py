# SPDX-License-Identifier: Apache-2.0
"""Writes tables.cpp: the rows that ../src/tables.hpp describes. Equal rows are shared between forms."""
from isa_model import KINDS, IMM_TYPES, NONE
from architectures import FAMILIES, TABLE, uniform_bits
from emit_effects import Effects
from isa_parse import SCOREBOARDS, fail, write_changed
from emit_typed import typed_plan

FILES = {"R": 0, "UR": 1, "P": 2, "UP": 3}
GROUPS = ["branch", "call", "return", "exit", "barrier", "convergence", "memory", "load", "store", "atomic",
          "async", "fence", "tensor", "uniform", "warp", "texture", "float", "integer", "half", "double",
          "conversion", "move", "predicate", "system", "cache", "indirect"]
SCALAR_NONE = 0xffff


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '\\0"'


def root(form):
    """The printed mnemonic up to its first dot: what an assembler line begins with."""
    name = form.entry.mnemonic
    for f in form.fields:  # TXQ and its literal "B" print as TXQB
        if not f.printed:
            continue
        if f.literal is None or f.pseudo is not None or f.when or f.literal.startswith("."):
            break
        name += f.literal
    return name.split(".")[0]


def pieces(bits):
    """Bit list (most significant first) -> up to four (pos, len) runs."""
    runs = []
    for b in bits:
        if runs and runs[-1][0] - 1 == b:
            runs[-1][0] = b
            runs[-1][1] += 1
        else:
            runs.append([b, 1])
    return [tuple(r) for r in runs]


class Tables:
    def __init__(self):
        self.strings, self.pool, self.size = {}, [], 0
        self.enum_rows, self.enum_ids, self.values = [], {}, []
        self.lists = {"fields": ([], {}), "operands": ([], {}), "denies": ([], {}), "fills": ([], {})}
        self.forms, self.shapes, self.shape_ids = [], [], {}
        self.canon = {}

    def text(self, s):
        if s not in self.strings:
            self.strings[s] = self.size
            self.pool.append(s)
            self.size += len(s.encode()) + 1
            if self.size > 0xfffe:
                raise SystemExit("string pool is over 64 KiB")
        return self.strings[s]

    def enum(self, e, canon, operand=False):
        key = (e.name, tuple((v.value, v.name, v.text, v.weight) for v in e.values.values()))
        if key in self.enum_ids:
            return self.enum_ids[key]
        first = len(self.values)
        top = max(e.values, default=-1)
        if top >= 128 and not operand:
            raise SystemExit(f"{e.where}: a field has at most 7 bits (the assembler keeps its values in 128-bit sets)")
        for i in range(top + 1):
            v = e.values.get(i)
            if v is None:
                self.values.append((0xffff, 0, 0))
            else:
                c = canon.get(e.ctype, {}).get(v.name, v.value)
                self.values.append((self.text(v.text), c & 0xff, v.weight))
        self.enum_rows.append((first, top + 1, self.text(e.name)))
        self.enum_ids[key] = len(self.enum_rows) - 1
        return self.enum_ids[key]

    def shared(self, kind, rows):
        """Offset of a run of rows equal to `rows`, appending it when there is none yet."""
        store, seen = self.lists[kind]
        rows = tuple(rows)
        if rows not in seen:
            seen[rows] = len(store)
            store.extend(rows)
        return seen[rows]

    def piece_text(self, bits, where):
        p = pieces(bits)
        if len(p) > 4:
            fail(where, "a field has at most four separate pieces")
        p += [(0, 0)] * (4 - len(p))
        return "{" + ",".join(f"{{{a},{b}}}" for a, b in p) + "}"

    def field_row(self, f, form, canon):
        when, mask = NONE, 0
        if f.when:
            when = next(i for i, x in enumerate(form.fields) if x.name == f.when[0])
            mask = sum(1 << v for v in f.when[1])
        if f.literal is not None:
            pseudo = [(next(i for i, o in enumerate(form.operands) if o.name == n), p) for n, p in f.pseudo or []]
            if len(pseudo) > 2:
                fail(f.where, "a pseudo line has at most two conditions")
            parts = ",".join(f"{{{a},{b}}}" for a, b in pseudo)
            return (f"{{0x{mask:x}u,{{{parts}}},0xffff,{self.text(f.literal)},{self.text('')},{when},"
                    f"{2 + len(pseudo) if f.pseudo is not None else 1}}}")
        return (f"{{0x{mask:x}u,{self.piece_text(f.bits, f.where)},{self.enum(f.enum, canon)},0,"
                f"{self.text(f.name)},{when},{int(f.printed)}}}")

    def operand_row(self, o, form, canon):
        index = {f.name: i for i, f in enumerate(form.fields) if f.name}
        when, mask = NONE, 0
        if o.when:
            when, mask = index[o.when[0]], sum(1 << v for v in o.when[1])
        flags = (int(o.write) | int(o.read) << 1 | int(o.optional) << 2 | ("cx" in o.flags) << 3 |
                 int(o.off_signed) << 4 | ("keepzero" in o.flags) << 5 | ("plainzero" in o.flags) << 6 | ("abs_target" in o.flags) << 7 |
                 ("comp" in o.flags) << 8 | ("desc_next" in o.flags) << 9 | ("ur_opt" in o.flags) << 10 |
                 ("spaced" in o.flags) << 11 | ("inside" in o.flags) << 12 | bool({"next", "glued"} & o.flags) << 13 | ("unless" in o.flags) << 14 |
                 ("nozero" in o.flags) << 15 | ("rejectzero" in o.flags) << 16 | ("abs_other" in o.flags) << 17 |
                 ("upper" in o.flags) << 18)
        default = o.default
        if default is None:
            default = {"pred": 7, "reg": 255}.get(o.kind, 0)
        enumeration = self.enum(o.enum, canon, True) if o.enum else 0xffff
        text = o.prefix or o.text
        sep = ", " if o.separator is None else o.separator
        bits = self.piece_text(o.enum_bits, o.where) if o.enum_bits else "{}"
        ur_len = o.ureg_len or uniform_bits(form.family)
        width = 0 if o.kind in ("pred", "label", "enum", "text", "bar", "sb", "list", "imm") else o.width
        return ("{" + f"0x{mask:x}u,{flags},{enumeration},{self.text(text)},{self.text(sep)},{self.text(o.name)},"
                f"{default},{bits},{KINDS.index(o.kind)},{FILES[o.file]},{o.pos},{o.length},{o.neg},{o.abs},"
                f"{o.inv},{o.reuse},{width},{index[o.width_field] if o.width_field else NONE},{o.align},"
                f"{index[o.suffix] if o.suffix else NONE},{when},{IMM_TYPES.index(o.type)},{o.scale},"
                f"{index[o.ext] if o.ext else NONE},{o.off},{o.off_len},{o.ureg},{ur_len},{o.desc},"
                f"{index[o.desc_if] if o.desc_if else NONE},{o.bank},{o.bank_len},"
                f"{index[o.width_factor] if o.width_factor else NONE}" + "}")

    def deny_row(self, d, form, where):
        if len(d) > 3:
            fail(where, "a deny line has at most three conditions")
        index = {f.name: i for i, f in enumerate(form.fields) if f.name}
        masks = ",".join(f"0x{sum(1 << v for v in m):x}u" for _, m in d)
        names = ",".join(str(index[n]) for n, _ in d)
        return f"{{{{{masks}}},{{{names}}},{len(d)}}}"

    def shape(self, form, plan):
        groups = 0
        for g in form.sem.get("group", "").split(","):
            if g:
                if g not in GROUPS:
                    fail(form.entry.where, f"unknown group '{g}'")
                groups |= 1 << GROUPS.index(g)
        key = (form.entry.mnemonic, plan.struct_ids[form.entry.struct], plan.shape_key(form), groups)
        if key not in self.shape_ids:
            self.shape_ids[key] = len(self.shapes)
            self.shapes.append(f"{{0x{groups:x}u,{self.text(form.entry.mnemonic)},"
                               f"{plan.struct_ids[form.entry.struct]}}}")
            plan.shape_of.append(form)
        return self.shape_ids[key]


def emit(forms, plan, desc, vocabulary, path):
    t, effects = Tables(), Effects(desc, vocabulary)
    t.text("")
    families = {f: {} for f in FAMILIES}
    roots = {f: {} for f in FAMILIES}  # for the assembler: form rows by the first part of the mnemonic
    rows, row_ids = [], {}
    for form in forms:
        f = t.shared("fields", [t.field_row(x, form, plan.canon) for x in form.fields]) if form.fields else 0
        o = t.shared("operands", [t.operand_row(x, form, plan.canon) for x in form.operands]) if form.operands else 0
        d = t.shared("denies", [t.deny_row(x, form, form.entry.where) for x in form.denies]) if form.denies else 0
        i = t.shared("fills", [f"{{{lo},{hi - lo + 1},{v}}}" for hi, lo, v in form.fills]) if form.fills else 0
        low = (1 << 64) - 1
        row = (f"{{{{0x{form.mask & low:x}u,0x{form.mask >> 64:x}u}},{{0x{form.value & low:x}u,0x{form.value >> 64:x}u}},"
               f"{t.shape(form, plan)},{f},{o},{d},{len(form.fields)},{len(form.operands)},{len(form.denies)},"
               f"{int(form.uniform_guard)},{int(form.variable)},{form.reuse_mask},"
               f"{SCOREBOARDS.index(form.scoreboard)},{form.stall},{i},{len(form.fills)},{form.no_scoreboard},{effects.row(form)}}}")
        if len(form.fields) > 24 or len(form.operands) > 16:
            fail(form.entry.where, "an instruction has at most 24 fields and 16 operands")
        if row not in row_ids:
            row_ids[row] = len(rows)
            rows.append(row)
        families[form.family].setdefault(form.opcode, []).append((form, row_ids[row]))
        named = roots[form.family].setdefault(root(form), [])
        if row_ids[row] not in named:
            named.append(row_ids[row])
    out = ["// Generated from the .isa files; edit those.", '#include "tables.hpp"', "namespace sassdec::tables {"]

    def table(type_name, name, items):
        items = items or ["{}"]
        out.append(f"const {type_name} {name}[] = {{\n" + ",\n".join(items) + "\n};")

    table("EnumValueRow", "enum_values", [f"{{{a},{b},{c}}}" for a, b, c in t.values])
    table("EnumRow", "enums", [f"{{{a},{b},{c}}}" for a, b, c in t.enum_rows])
    table("FieldRow", "fields", t.lists["fields"][0])
    table("OperandRow", "operands", t.lists["operands"][0])
    table("DenyRow", "denies", t.lists["denies"][0])
    table("FillRow", "fills", t.lists["fills"][0])
    table("FormRow", "forms", rows)
    table("ShapeRow", "shapes", t.shapes)
    effects.tables(table)
    for fam in FAMILIES:
        start, cand = [], []
        for op in range(8192):
            start.append(len(cand))
            found = families[fam].get(op, [])
            found = sorted(found, key=lambda x: -bin(x[0].mask).count("1"))
            for i, (a, _) in enumerate(found):
                for b, _ in found[i + 1:]:
                    if a.mask == b.mask and a.value == b.value and not a.denies and not b.denies:
                        fail(b.entry.where, f"{b.entry.mnemonic}: same opcode and fixed bits as {a.entry.mnemonic} "
                             f"({a.entry.where}) on {fam}")
            cand += [r for _, r in found]
        start.append(len(cand))
        out.append(f"static const std::uint16_t {fam}_start[] = {{{','.join(map(str, start))}}};")
        out.append(f"static const std::uint16_t {fam}_candidates[] = {{{','.join(map(str, cand or [0]))}}};")
        named, names = [], []
        for name in sorted(roots[fam]):
            names.append(f"{{{t.text(name)},{len(named)},{len(roots[fam][name])}}}")
            named += roots[fam][name]
        out.append(f"static const RootRow {fam}_roots[] = {{{','.join(names or ['{}'])}}};")
        out.append(f"static const std::uint16_t {fam}_named[] = {{{','.join(map(str, named or [0]))}}};")
    out.append("const FamilyRow families[] = {" +
               ",".join(f"{{{f}_start,{f}_candidates,{f}_roots,{f}_named,{len(roots[f])}}}" for f in
                        sorted(FAMILIES, key=lambda f: TABLE["family"][f]["value"])) + "};")
    out.append("const char strings[] =\n" + "\n".join(c_string(s) for s in t.pool) + ";")
    arrays = ["enum_values", "enums", "fields", "operands", "denies", "fills", "forms", "shapes", "effects", "effect_columns", "effect_values", "families", "strings"]
    arrays += [f"{fam}_{part}" for fam in FAMILIES for part in ("start", "candidates", "roots", "named")]
    out.append("const std::size_t bytes = " + " + ".join(f"sizeof {a}" for a in arrays) + ";")
    out.append("}  // namespace sassdec::tables")
    write_changed(path, "\n".join(out) + "\n")
    return t


__all__ = ["emit", "typed_plan"]
