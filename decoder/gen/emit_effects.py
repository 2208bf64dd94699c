# SPDX-License-Identifier: Apache-2.0
"""Checks what `sem` lines and `means` statements say an instruction does, and turns it into rows for sassdec_effects(): a
sassdec_effect with all that is constant, and the columns that a field of the word decides. The words are those of
include/sassdec/effects.h."""
import re
from fnmatch import fnmatchcase
from isa_parse import fail

# Column -> the enum that has its words. `does=KIND.ACTION` states the first two.
WORDS = {"kind": "KIND", "action": "ACTION", "space": "SPACE", "from": "SPACE", "order": "ORDER", "scope": "SCOPE",
         "proxy": "PROXY", "atomic": "OPERATOR", "type": "TYPE", "policy": "POLICY", "cache": "CACHE",
         "agent": "AGENT", "latency": "LATENCY"}
NUMBERS = {"bytes", "elements"}
# Columns that name an operand, and the names that operands have without being asked.
OPERANDS = {"address": ("addr", "dst"), "source": ("src",), "data": ("data",), "compare": ("cmp",), "result": ("d",),
            "predicate": (), "object": ()}
# Whoever has one of these says what it does, if only `does=none`.
TELLING = {"memory", "load", "store", "atomic", "async", "fence", "cache", "barrier", "convergence", "call", "return", "exit"}


def vocabulary(header):
    """{"SPACE": ["none", "global", ...], ...} of effects.h, and the members of sassdec_effect in their order."""
    words = {}
    with open(header, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    members = re.findall(r"uint8_t (\w+);", re.search(r"struct sassdec_effect \{(.*?)\}", text, re.S)[1])
    for body in re.findall(r"typedef enum \w+ \{(.*?)\}", text, re.S):
        for prefix, word in re.findall(r"SASSDEC_([A-Z]+)_(\w+)", body):
            words.setdefault(prefix, []).append(word.lower())
    return words, members


class Effects:
    def __init__(self, desc, vocabulary):
        self.desc, (self.words, self.members) = desc, vocabulary
        self.rows, self.seen = [], {}
        self.columns, self.column_ids = [], {}
        self.maps, self.map_ids, self.map_size = [], {}, 0
        self.means = {}  # (enum, column) -> [(pattern, word, where)]
        self.enum_columns = {}
        self.used = set()
        for where, enum, column, pairs in desc.means:
            if enum not in desc.enums:
                fail(where, f"unknown enum '{enum}'")
            for pattern, word in pairs:
                self.value(column, word, where)
                names = [v.name for e in sum(desc.enums.values(), []) if e.ctype == enum for v in e.values.values()]
                if not any(fnmatchcase(n, pattern) for n in names):
                    fail(where, f"enum '{enum}' has no value '{pattern}'")
            self.means[enum, column] = pairs
            self.enum_columns.setdefault(enum, []).append(column)

    def value(self, column, word, where):
        """The C constant of a word."""
        if column in NUMBERS:
            if word != "registers" and not word.isdigit():
                fail(where, f"{column}: expected a number or 'registers', got '{word}'")
            return word
        if column not in WORDS:
            fail(where, f"unknown column '{column}' ({' '.join([*WORDS, *NUMBERS, *OPERANDS])})")
        known = self.words[WORDS[column]]
        if word not in known:
            fail(where, f"{column}: unknown word '{word}' ({' '.join(known)})")
        return f"SASSDEC_{WORDS[column]}_{word.upper()}"

    def map(self, f, column, where):
        """Offset of the column's values by raw value of the field. A value of no meaning is 0, the empty word."""
        pairs = self.means.get((f.enum.ctype, "space" if column == "from" else column))
        out = []
        for raw in range(max(f.enum.values, default=0) + 1):
            v = f.enum.values.get(raw)
            word = None
            if v and pairs:
                word = next((w for p, w in pairs if fnmatchcase(v.name, p)), None)
            elif v and v.name.lower() in self.words.get(WORDS.get(column), ()):
                word = v.name.lower()
            out.append("0" if word is None else str(4 * v.weight) if word == "registers"
                       else self.value(column, word, where))
        if all(x == "0" for x in out):
            return None
        key = tuple(out)
        if key not in self.map_ids:
            self.map_ids[key] = self.map_size
            self.maps.extend(out)
            self.map_size += len(out)
        return self.map_ids[key]

    def row(self, form):
        """Number of the row of this form."""
        where = form.entry.where
        sem = {k: v for k, v in form.sem.items() if k not in ("group", "does")}
        does = form.sem.get("does")
        groups = set(form.sem.get("group", "").split(","))
        if does is None and groups & TELLING:
            fail(where, f"{form.entry.mnemonic}: 'sem' does not say what it does (does=KIND[.ACTION], or does=none)")
        kind, _, action = (does or "none").partition(".")
        const = {"kind": self.value("kind", kind, where)}
        if action:
            const["action"] = self.value("action", action, where)
        fields = {f.name: i for i, f in enumerate(form.fields) if f.name and f.enum}
        operands = {o.name: i for i, o in enumerate(form.operands)}
        variable = {}
        for column, word in sem.items():
            if column in OPERANDS:
                if word not in operands:
                    fail(where, f"{column}: {form.entry.mnemonic} has no operand '{word}'")
                const[column] = str(operands[word])
            elif column in NUMBERS | WORDS.keys() and word in fields and word not in self.words.get(WORDS.get(column), ()):
                variable[column] = fields[word]
            else:
                const[column] = self.value(column, word, where)
        if kind == "none":
            if set(const) - {"kind", "latency"} or variable:
                fail(where, f"{form.entry.mnemonic}: columns of an effect, but no 'does='")
        else:
            for i, f in enumerate(form.fields):
                for column in self.enum_columns.get(f.enum.ctype, []) if f.name and f.enum else []:
                    if column in sem or (column == "action" and action):
                        continue
                    if column in variable:
                        fail(where, f"fields '{form.fields[variable[column]].name}' and '{f.name}' both tell {column}: "
                             f"say which with {column}=")
                    variable[column] = i
            for column, names in OPERANDS.items():
                found = [n for n in names if n in operands]
                if column not in const and found:
                    const[column] = str(operands[found[0]])
        maps = {c: self.map(form.fields[i], c, where) for c, i in variable.items()}
        for c, at in maps.items():
            if at is None and c in sem:
                fail(where, f"no value of field '{sem[c]}' says anything of {c}")
        columns = tuple(f"{{offsetof(sassdec_effect, {c}),{variable[c]},{at}}}"
                        for c, at in sorted(maps.items()) if at is not None)
        if columns not in self.column_ids:
            self.column_ids[columns] = len(self.columns)
            self.columns += columns
        for column in OPERANDS:
            const.setdefault(column, "SASSDEC_NO_OPERAND")
        values = ",".join(const.get(c, "0") for c in self.members)
        row = f"{{{{{values}}},{self.column_ids[columns]},{len(columns)}}}"
        if row not in self.seen:
            self.seen[row] = len(self.rows)
            self.rows.append(row)
        return self.seen[row]

    def tables(self, table):
        """Writes the rows; `table(type, name, rows)` is the emitter's."""
        table("EffectRow", "effects", self.rows)
        table("EffectColumnRow", "effect_columns", self.columns)
        table("std::uint8_t", "effect_values", self.maps)
        for prefix, words in self.words.items():
            if prefix in WORDS.values():
                table("char* const", f"{prefix.lower()}_words", [f'"{w}"' for w in words])
        table("ColumnNameRow", "column_names",
              [f'{{"{c}",offsetof(sassdec_effect, {c}),{WORDS[c].lower()}_words}}' for c in [*WORDS][2:]] +
              [f'{{"{c}",offsetof(sassdec_effect, {c}),nullptr}}' for c in [*sorted(NUMBERS), *OPERANDS]] + ["{}"])
