# SPDX-License-Identifier: Apache-2.0
"""Reads the .isa files into plain objects. Syntax only: nothing here knows what an operand kind means
or how a table looks. The language is described in ../isa/README.md; errors carry file:line."""
import re
from dataclasses import dataclass, field

import architectures
from architectures import FAMILIES

SCOREBOARDS = ["", "none", "wr", "rd"]  # what the assembler sets by default; "": by the operands


class IsaError(Exception):
    """A mistake in an .isa file; str() is 'file:line: message'."""


@dataclass
class Line:
    """One logical line of an entry, with the families it applies to."""
    where: str
    text: str
    families: frozenset


@dataclass
class EnumValue:
    value: int
    name: str
    text: str
    weight: int


@dataclass
class Enum:
    where: str
    name: str
    families: frozenset
    values: dict = field(default_factory=dict)
    ctype: str = ""   # name of the C++ enum class; differs from name for `enum X of Y`
    fill: str = None  # text of the values that are not listed: fill + number; None: such a word is invalid


@dataclass
class Entry:
    where: str
    mnemonic: str
    struct: str
    lines: list


@dataclass
class Description:
    sets: dict
    enums: dict      # name -> [Enum, ...] (one per family filter)
    entries: list
    scheduling: list  # (families, set of mnemonics, variable latency?) of the `variable` and `fixed` statements
    control: list     # (families, set of mnemonics, "scoreboard", "stall" or "fill", value) of the statements of those names
    ignore91: list    # (families, set of opcodes) whose bit 91 carries nothing
    absent: list      # (families, set of names): what does not exist there although its entry says so
    scoreboards: list  # (families, set of names, bits: 1 no write, 2 no read) of the `no_write` and `no_read` statements
    means: list        # (where, enum, column, [(pattern of value names, word)]) of the `means` statements


def fail(where, message):
    raise IsaError(f"{where}: {message}")


def write_changed(path, text):
    """Leaves a file of the same content alone, so that what depends on it is not rebuilt."""
    try:
        with open(path, encoding="utf-8") as f:
            if f.read() == text:
                return
    except OSError:
        pass
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def camel(text):
    """IMAD.WIDE -> ImadWide"""
    return "".join(p[:1].upper() + p[1:].lower() for p in re.split(r"[._]", text) if p)


def identifier(text):
    """'.64' -> B64, '.E4M3' -> E4M3: the C++ name of an enum value when none is given."""
    t = re.sub(r"\W+", "_", text.strip(". ")) or "None"
    return "B" + t if t[0].isdigit() else t


def tokens(text, where):
    """Splits at blanks, keeping "quoted parts" and {brace parts} whole."""
    out, i = [], 0
    while i < len(text):
        if text[i].isspace():
            i += 1
            continue
        j, depth, quoted = i, 0, False
        while j < len(text) and (quoted or depth or not text[j].isspace()):
            if text[j] == '"':
                quoted = not quoted
            elif not quoted and text[j] == "{":
                depth += 1
            elif not quoted and text[j] == "}":
                depth -= 1
            j += 1
        if quoted or depth:
            fail(where, "unclosed quote or brace")
        out.append(text[i:j])
        i = j
    return out


def strip_comment(text):
    quoted = False
    for i, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        elif c == "#" and not quoted:
            return text[:i].rstrip()
    return text.rstrip()


def parse_enum_values(parts, where):
    """NAME, NAME=text, N:NAME=text, - (invalid value), * (all others print .INVALIDn), *? (.???n); a trailing
    /W is the value's weight (registers)."""
    values, nxt, fill = {}, 0, None
    for p in parts:
        if p in ("*", "*?"):
            fill = ".INVALID" if p == "*" else ".???"
            continue
        if p.startswith("*="):  # *=SR: all others print SRn
            fill = p[2:]
            continue
        if m := re.match(r"(0x[0-9a-f]+|\d+):(.*)$", p):
            nxt, p = int(m[1], 0), m[2]
        if p == "-":
            nxt += 1
            continue
        weight = 1
        if m := re.match(r"(.*)/(\d+)$", p):
            p, weight = m[1], int(m[2])
        name, eq, text = p.partition("=")
        if eq:
            text = text.strip('"')
        else:
            text = name if name.startswith(".") else "." + name
            name = identifier(name)
        if name in ("", None):
            name = identifier(text)
        if not re.match(r"[A-Za-z_]\w*$", name):
            fail(where, f"bad enum value name '{name}'")
        if nxt in values:
            fail(where, f"enum value {nxt} given twice")
        values[nxt] = EnumValue(nxt, name, text, weight)
        nxt += 1
    return values, fill


class Parser:
    def __init__(self):
        self.sets = {"all": frozenset(FAMILIES)}
        for i, f in enumerate(FAMILIES):
            self.sets[f] = frozenset([f])
            self.sets[f + "+"] = frozenset(FAMILIES[i:])
            self.sets[f + "-"] = frozenset(FAMILIES[:i + 1])
        self.macros, self.enums, self.entries, self.scheduling, self.control = {}, {}, [], [], []
        self.ignore91, self.scoreboards, self.absent, self.means = [], [], [], []

    def families(self, text, where):
        """'sm_90+ !sm_120' -> set of families; names are unioned, then !names are removed."""
        plus, minus = set(), set()
        names = text.split()
        for n in names:
            neg = n.startswith("!")
            key = n[1:] if neg else n
            if key not in self.sets:
                fail(where, f"unknown architecture set '{key}'")
            (minus if neg else plus).update(self.sets[key])
        if all(n.startswith("!") for n in names):
            plus = set(FAMILIES)
        return frozenset(plus - minus)

    def split_filter(self, text, where):
        if m := re.match(r"\[([^\]]*)\]\s*(.*)$", text):
            return self.families(m[1], where), m[2]
        return self.sets["all"], text

    def parse_file(self, path, label):
        block = None
        with open(path, encoding="utf-8") as f:
            raw = f.read().split("\n")
        for number, full in enumerate(raw, 1):
            where = f"{label}:{number}"
            text = strip_comment(full)
            if not text.strip():
                continue
            if text[0].isspace():
                if block is None:
                    fail(where, "an indented line needs an 'insn' or 'macro' before it")
                fams, rest = self.split_filter(text.strip(), where)
                block.append(Line(where, rest, fams))
                continue
            fams, rest = self.split_filter(text, where)
            word, _, tail = rest.partition(" ")
            tail = tail.strip()
            if word in architectures.KEYS:  # read there
                block = None
            elif word == "set":
                name, eq, names = tail.partition("=")
                if not eq:
                    fail(where, "expected: set NAME = ARCH...")
                self.sets[name.strip()] = self.families(names, where)
                block = None
            elif word in ("variable", "fixed"):
                self.scheduling.append((fams, frozenset(tail.split()), word == "variable"))
                block = None
            elif word in ("scoreboard", "stall"):
                value, _, names = tail.partition(" ")
                if value not in (SCOREBOARDS if word == "scoreboard" else list("0123456789")):
                    fail(where, f"expected: {word} {'none|wr|rd' if word == 'scoreboard' else 'CYCLES'} NAME...")
                self.control.append((fams, frozenset(names.split()), word, value))
                block = None
            elif word == "fill":
                bits = [x.partition("=")[::2] for x in tail.split() if "=" in x]
                names = frozenset(x for x in tail.split() if "=" not in x)
                if not bits or not names or not all(re.match(r"\d+:\d+$", b) and v.isdigit() for b, v in bits):
                    fail(where, "expected: fill HIGH:LOW=VALUE... NAME...")
                self.control.append((fams, names, word, tuple((*map(int, b.split(":")), int(v)) for b, v in bits)))
                block = None
            elif word in ("no_write", "no_read"):
                self.scoreboards.append((fams, frozenset(tail.split()), 1 if word == "no_write" else 2))
                block = None
            elif word == "means":
                m = re.match(r"(\w+) (\w+): ((?:\S+=\w+\s*)+)$", tail)
                if not m:
                    fail(where, "expected: means ENUM COLUMN: VALUE[|VALUE]=WORD...")
                if any(m[1] == e and m[2] == c for _, e, c, _ in self.means):
                    fail(where, f"what {m[1]} means for {m[2]} is said twice")
                pairs = [(p, w) for x, _, w in (y.partition("=") for y in m[3].split()) for p in x.split("|")]
                self.means.append((where, m[1], m[2], pairs))
                block = None
            elif word == "absent":
                self.absent.append((fams, frozenset(tail.split())))
                block = None
            elif word == "ignore91":
                self.ignore91.append((fams, frozenset(int(x, 0) for x in tail.split())))
                block = None
            elif word == "enum":
                name, colon, vals = tail.partition(":")
                if not colon:
                    fail(where, "expected: enum NAME: VALUE...")
                name, _, ctype = name.strip().partition(" of ")
                values, fill = parse_enum_values(tokens(vals, where), where)
                self.enums.setdefault(name, []).append(
                    Enum(where, name, fams, values, ctype.strip() or name, fill))
                block = None
            elif word == "macro":
                block = self.macros.setdefault(tail, [])
                if block:
                    fail(where, f"macro '{tail}' defined twice")
            elif word == "insn":
                m = re.match(r"([A-Z_][A-Z0-9_.]*[A-Za-z0-9]*)(?:\s+as\s+([A-Z]\w*))?$", tail)
                if not m:
                    fail(where, "expected: insn MNEMONIC [as StructName]")
                block = []
                entry = Entry(where, m[1], m[2] or camel(m[1].split(".")[0]), block)
                entry.families = fams
                self.entries.append(entry)
            else:
                fail(where, f"unknown keyword '{word}' (set, enum, macro, insn, variable, fixed, no_write, no_read, scoreboard, stall, fill, absent, ignore91, means)")

    def expand(self, lines, depth=0):
        out = []
        for line in lines:
            if line.text.startswith("use "):
                for name in line.text.split()[1:]:
                    if name not in self.macros:
                        fail(line.where, f"unknown macro '{name}'")
                    if depth > 8:
                        fail(line.where, "macros nested too deeply")
                    for sub in self.expand(self.macros[name], depth + 1):
                        out.append(Line(f"{sub.where} (used at {line.where})" if depth == 0 else sub.where,
                                        sub.text, sub.families & line.families))
            else:
                out.append(line)
        return out

    def finish(self):
        for e in self.entries:
            e.lines = [Line(l.where, l.text, l.families & e.families) for l in self.expand(e.lines)]
        return Description(self.sets, self.enums, self.entries, self.scheduling, self.control, self.ignore91,
                           self.absent, self.scoreboards, self.means)
