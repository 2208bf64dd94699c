#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/coverage.md over every entry of the ISA description: which of its words execute, per architecture.

  entries.py PROGRAM            prints the table (PROGRAM: isa-coverage)
  entries.py PROGRAM --write    puts it into docs/coverage.md
  entries.py PROGRAM --check    fails where docs/coverage.md promises what does not execute, or lacks an entry; it says so where more
                                executes by now
  entries.py PROGRAM --exact    fails where docs/coverage.md says anything else

The words of an entry: its opcode with the first form of operands, registers R8 and UR8, predicates PT (and one modifier, if nothing
executes without), and of each modifier every value that the description names, one at a time. Here: words, counting and the table. Not here: asking (coverage_main.cpp).
"""
import collections
import difflib
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "decoder"))
sys.path.insert(0, os.path.join(ROOT, "decoder", "gen"))
sys.path.insert(0, os.path.join(ROOT, "emu", "evidence"))
import generate  # noqa: E402
import oracle  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "coverage.md")
BEGIN, END = "<!-- entries: tests/isa/entries.py -->", "<!-- end of entries -->"
# Files whose words draw pictures: no compute kernel has them.
GRAPHICS = "graphics.isa"
REGISTER = 8  # beginning of any group of registers


def base_word(form):
    """With registers that are some, not RZ."""
    word = oracle.base_word(form)
    for o in form.operands:
        if o.kind == "reg" and not o.enum_bits and o.pos != 0xff and o.length >= 6:
            word = oracle.put(word, o.pos, o.length, REGISTER)
    return word & ~form.mask | form.value


def around(form, base):
    """The word, and it with each modifier that has few enough values at each of them."""
    every = [base]
    for f in form.fields:
        if f.enum is not None and 0 < len(f.bits) <= 6:
            every += [oracle.set_bits(base, f.bits, v) & ~form.mask | form.value for v in f.enum.values]
    return list(dict.fromkeys(every))


def ask(program, rows):
    """(answer, class of evidence) of rows of (form, word)."""
    done = subprocess.run([program], input="".join("%s\t%032x\n" % (form.family, word) for form, word in rows), stdout=subprocess.PIPE,
                          text=True, check=True)
    return [tuple(line.split("\t")[2:4]) for line in done.stdout.splitlines()]


def table(program):
    forms, families = oracle.described()
    first = {}
    for form in forms:  # one operand form of an entry shows its modifiers
        first.setdefault((form.family, form.entry.where, form.mask), form)
    bases = [(form, base_word(form)) for form in first.values()]
    # A modifier may be one that nothing executes without (.E of a global address): then a base that has it.
    tried = [(form, word) for form, base in bases for word in around(form, base)]
    executes = collections.defaultdict(list)
    for (form, word), (answer, _) in zip(tried, ask(program, tried), strict=True):
        if answer == "yes":
            executes[id(form)].append(word)
    bases = [(form, base if base in executes[id(form)] or not executes[id(form)] else executes[id(form)][0]) for form, base in bases]
    rows = [(form, word) for form, base in bases for word in around(form, base)]
    answers = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
    classes = collections.defaultdict(lambda: collections.defaultdict(set))  # of what executes
    for (form, _), (answer, kind) in zip(rows, ask(program, rows), strict=True):
        where = form.entry.where.split(":")[0]
        if answer == "undecodable" or answer.startswith("refused: "):
            continue  # no such word, or the chip refuses it too
        if where == GRAPHICS and answer != "yes":
            answer = "graphics"
        answers[where, form.entry.mnemonic, form.entry.struct or ""][form.family][answer] += 1
        if answer == "yes":
            classes[where, form.entry.mnemonic, form.entry.struct or ""][form.family].add(kind)
    return answers, classes, families


def page(program):
    answers, classes, families = table(program)
    lines = [BEGIN, "", "## Entries of the ISA description", "",
             "Every entry (`decoder/isa/*.isa`) with its typed struct. A cell counts words: each modifier with every value that the description",
             "names, one at a time, without those that no chip takes. One number: all execute; of two, the first execute; empty: the entry is not",
             "there, or none of these words is valid. A column stands for all names of its family (`docs/architectures.md`). The letters say what the",
             "behaviour of those that execute rests on ([fidelity.md](fidelity.md)): M measured on a chip, V published vectors, S specification, A assumed.", ""]
    total = collections.Counter()
    whole = collections.Counter()
    weakest = collections.defaultdict(collections.Counter)
    body, reasons = [], collections.defaultdict(lambda: collections.defaultdict(list))
    for (where, mnemonic, struct), by in sorted(answers.items(), key=lambda x: (x[0][1], x[0][2], x[0][0])):
        cells = []
        for family in families:
            n, yes = sum(by[family].values()), by[family]["yes"]
            kinds = [k for k in generate.CLASSES if k in classes[where, mnemonic, struct][family]]
            letters = "".join(generate.CLASSES[k] for k in kinds)
            cells.append("" if not n else ("%s %s" % (n if yes == n else "%d/%d" % (yes, n), letters)).strip())
            if kinds:
                weakest[kinds[-1]][family] += 1
            total[family] += n > 0
            whole[family] += n > 0 and yes == n
            for why in by[family]:
                if why != "yes":
                    reasons[why][mnemonic, struct].append(family)
        body.append("| `%s` %s | %s |" % (mnemonic, struct, " | ".join(cells)))
    lines += ["| entry | " + " | ".join(families) + " |", "|---|" + "---|" * len(families)]
    lines += ["| all: whole of all | " + " | ".join("%d/%d" % (whole[f], total[f]) for f in families) + " |"]
    lines += ["| executed, all %s%s | " % (kind, "" if kind == "measured" else " or better") + " | ".join(
        str(sum(weakest[k][f] for k in list(generate.CLASSES)[:n + 1])) for f in families) + " |"
              for n, kind in enumerate(("measured", "vectors", "specification"))] + body
    lines += ["", "### Why not", "", "By what the emulator says; the entries that it concerns, and where not on all architectures that have them, on which.", ""]
    for why, entries in sorted(reasons.items()):
        named = collections.defaultdict(set)
        for (mnemonic, struct), where in entries.items():
            named[mnemonic].update(where)
        texts = []
        for mnemonic, where in sorted(named.items()):
            all_of = {f for k, by in answers.items() if k[1] == mnemonic for f in by if by[f]}
            texts.append("`%s`%s" % (mnemonic, "" if where == all_of else " (%s)" % ", ".join(f for f in families if f in where)))
        lines.append("- %s: %s" % (why, ", ".join(texts)))
    return lines + ["", END]


def missing(text):
    """Entry -> how many words do not execute in each column, of a page."""
    def of(cell):
        yes, _, all_of_them = cell.strip().split(" ")[0].partition("/")
        return int(all_of_them) - int(yes) if all_of_them else 0
    part = text[text.find(BEGIN):text.find(END)]
    rows = re.findall(r"^\| (`[^|]*?) \|(.*)\|$", part, re.M)
    return {name: [of(c) for c in line.split("|")] for name, line in rows}


def main():
    program, mode = sys.argv[1], sys.argv[2:]
    text = "\n".join(page(program)) + "\n"
    if not mode:
        print(text, end="")
        return 0
    with open(PAGE, encoding="utf-8") as f:
        old = f.read()
    inside = re.compile(re.escape(BEGIN) + ".*" + re.escape(END) + "\n", re.S)
    new = inside.sub(lambda _: text, old) if inside.search(old) else old.rstrip("\n") + "\n\n" + text
    if mode == ["--write"]:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(new)
        return 0
    if new == old:
        return 0
    promised, real = missing(old), missing(new)
    wrong = sorted(set(promised) ^ set(real)) + sorted(k for k in set(promised) & set(real) if any(p < r for p, r in zip(promised[k], real[k])))
    if not wrong and mode == ["--check"]:
        print("more executes than docs/coverage.md says: tests/isa/entries.py %s --write" % program)
        return 0
    for key in wrong:
        print("%s: words that do not execute, by docs/coverage.md: %s; there are: %s" % (key, promised.get(key), real.get(key)))
    print("\n".join(list(difflib.unified_diff(old.splitlines(), new.splitlines(), "docs/coverage.md", "what executes", "", "", 0))[:60]))
    print("docs/coverage.md is out of date: tests/isa/entries.py %s --write" % program)
    return 1


if __name__ == "__main__":
    sys.exit(main())
