#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether emu/evidence/table.txt is complete and agrees with the records.

  evidence_test.py PROGRAM     (PROGRAM: isa-coverage)

Complete: every word of entries.py that executes has a class, on every family, and the program finds the one that generate.py finds.
True: what is measured or published by a record, the record has; what `verified.tsv` has, is measured. Current: the pages made of it.
"""
import ctypes
import glob
import gzip
import os
import re
import struct
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
for folder in ("emu/evidence", "tests/isa", "tests/hardware", "sdk/python"):
    sys.path.insert(0, os.path.join(ROOT, folder))
import coverage  # noqa: E402
import entries  # noqa: E402
import generate  # noqa: E402
import matrix_record  # noqa: E402
from sassemu import trace  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))
HARDWARE = os.path.join(ROOT, "tests", "hardware")
RECORDED = "sm_90"  # the family of the chip that most records are of


def ask(words):
    """(name, what it answers, class) of each (architecture, word)."""
    text = "".join("%s\t%s\n" % (a, w if isinstance(w, str) else "%032x" % w) for a, w in words)
    done = subprocess.run([PROGRAM], input=text, stdout=subprocess.PIPE, text=True, check=True)
    return [tuple(line.split("\t")[1:4]) for line in done.stdout.splitlines()]


def code(path):
    """The words of a cubin's code."""
    with open(path, "rb") as f:
        data = f.read()
    if path.endswith(".zst"):
        room = ctypes.create_string_buffer(8 << 20)
        size = trace._zstd().ZSTD_decompress(room, len(room), data, len(data))
        assert size < len(room), path
        data = room.raw[:size]
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3a)
    for k in range(count):
        at = offset + k * size
        kind, flags = struct.unpack_from("<IQ", data, at + 4)
        start, length = struct.unpack_from("<QQ", data, at + 0x18)
        if kind == 1 and flags & 4:
            for word in range(start, start + length - 15, 16):
                low, high = struct.unpack_from("<QQ", data, word)
                yield high << 64 | low


def names_of(pattern):
    found = set()
    for path in glob.glob(os.path.join(ROOT, pattern)):
        found.update(code(path))
    return {name for name, _, _ in ask([("sm_90a", w) for w in sorted(found)])}


def recorded_names():
    with gzip.open(os.path.join(HARDWARE, "instances.tsv.gz"), "rt", encoding="utf-8") as f:
        return {line.split("\t")[1] for line in f}


def of_matrix_record():
    if not matrix_record.FORMS:
        matrix_record.forms()
    return {f["name"] for f in matrix_record.FORMS}


def of_vectors():
    """Family -> names."""
    words = set()
    with open(os.path.join(HARDWARE, "published", "vectors.txt"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                words.add(tuple(line.split()[:3:2]))
    words = sorted(words)
    named = {}
    for (family, _), (name, _, _) in zip(words, ask(words), strict=True):
        named.setdefault(family, set()).add(name)
    return named


class Evidence(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = generate.read()
        forms, _ = entries.oracle.described()
        cls.there = generate.instructions()
        first = {}
        for form in forms:
            first.setdefault((form.family, form.entry.where, form.mask), form)
        cls.words = [(form.family, word) for form in first.values() for word in entries.around(form, entries.base_word(form))]
        cls.answers = ask(cls.words)

    def test_every_entry_that_executes_has_a_class(self):
        missing = sorted({(name, family) for (family, _), (name, answer, kind) in zip(self.words, self.answers)
                          if answer == "yes" and kind == "none"})
        self.assertEqual(missing, [], "no line of emu/evidence/table.txt is theirs")

    def test_the_program_finds_what_the_table_says(self):
        seen = set()
        for (family, _), (name, answer, kind) in zip(self.words, self.answers):
            if answer == "undecodable" or (family, name) in seen:
                continue
            seen.add((family, name))
            found = generate.lookup(self.rows, family, name)
            self.assertEqual(kind, found[1] if found else "none", (family, name))
        self.assertGreater(len(seen), 10000)

    def test_every_pattern_names_an_instruction(self):
        for row in self.rows:
            for pattern in row.patterns:
                self.assertTrue(any(pattern.split(".")[0] in names for names in self.there.values()), (row.name, pattern))

    def test_what_was_verified_is_measured(self):
        for name in coverage.verified_names():
            self.assertEqual(generate.lookup(self.rows, RECORDED, name)[1], "measured", name)

    def test_records_have_what_is_said_of_them(self):
        records = {
            "`verified.tsv`": coverage.verified_names(),
            "`matrix.bin.zst`": of_matrix_record(),
            "`record.bin.zst`": recorded_names(),
            "`special.bin`": {n for n in coverage.verified_names() if n.startswith("MUFU")},
            "`cubins`": names_of("cubins/*/sm_90*.cubin") | names_of("cubins/sync/*/sm_90*.cubin"),
            "`async`": names_of("tests/hardware/async/*.cubin"),
            "`textures`": names_of("tests/hardware/textures/*.cubin"),
            "`generic`": names_of("tests/hardware/generic/*.cubin.zst"),
            "`warpgroup`": coverage.OWN_RECORD,
        }
        vectors = of_vectors()
        for row in self.rows:
            claims = [(family, *row.of(family)) for family in generate.families() if row.of(family)]
            for family, kind, source in claims:
                if kind == "vectors":
                    self.assertIn("`vectors.txt`", source)
                    known = [vectors.get(family, set())]
                elif kind == "measured":
                    if family != RECORDED and "`warpgroup`" not in source and row.name != "WARPGROUP":
                        self.fail("%s: measured on %s, of which there is no record" % (row.name, family))
                    known = [records[r] for r in re.findall(r"`[\w.]+`", source) if r in records]
                    self.assertTrue(known, "%s names no record" % row.name)
                else:
                    continue
                for pattern in row.patterns:
                    if pattern.split(".")[0] not in self.there[family]:
                        continue
                    alone = [generate.Row(row.name, 0)]
                    alone[0].patterns, alone[0].rest = [pattern], ("measured", "")
                    with self.subTest(pattern + " on " + family):
                        self.assertTrue(any(generate.lookup(alone, family, n) for names in known for n in names), "none in " + source)

    def test_a_wrong_table_is_refused(self):
        for text, what in (("a\n    insn X\n    guessed: why\n", "no class"), ("a\n    insn X\n    measured sm_91: why\n", "no family"),
                           ("a\n    insn X\n    assumed\n", "without a source"), ("a\n    insn X\n", "lacks a class"),
                           ("a\n    insn X X\n    assumed: b\n", "twice"), ("    insn X\n", "without a behaviour"),
                           ("a\n    insn X\n    assumed: b\n    measured: c\n", "second line")):
            path = os.path.join(os.environ.get("TMPDIR", "/tmp"), "evidence_%d.txt" % os.getpid())
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            try:
                with self.assertRaisesRegex(generate.TableError, what):
                    generate.read(path)
            finally:
                os.remove(path)

    def test_the_page_is_current(self):
        done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "emu", "evidence", "generate.py"), "check"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
