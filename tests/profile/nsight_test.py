#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `profile` counts of each instruction equals what Nsight Compute counted of it on an H100.

  nsight_test.py SASSEMU SOURCES                     the test
  nsight_test.py SASSEMU SOURCES --condense A B      nsight.tsv.gz of two recordings (nsight_record.py)
  nsight_test.py SASSEMU SOURCES --plan              writes cubins/loads, a plan of wide loads by chance, to be recorded
  nsight_test.py SASSEMU SOURCES --loads A           nsight_loads.gz of its recording: a byte a pattern, of 8 bytes, then of 16

nsight.tsv.gz: `kernel PLAN NAME`, then lines `FUNCTION OFFSET COUNT` and the METRICS, for COUNT instructions from OFFSET that
have the same. What is left out, and why:
 - an instruction that the two recordings count differently, or the emulator under another order of asynchronous copies;
 - a try that may fail and is then repeated (SYNCS.PHASECHK, ATOMS.CAST), and whatever its loop executes;
 - LDGSTS.BYPASS: its memory metrics in Nsight depend on whether it has a guard;
 - the kernels of ORDER: which paths of a warp meet where, or who gets a lock, is decided by the order of execution;
 - the kernels of PLACED: the driver decides where a `__device__` variable lies.
"""
import collections
import gzip
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ROOT = (os.path.abspath(p) for p in sys.argv[1:3])
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nsight.tsv.gz")
LOADS = os.path.join(os.path.dirname(TABLE), "nsight_loads.gz")
METRICS = {"inst_executed": "issued", "thread_inst_executed": "activeLanes", "thread_inst_executed_true": "executedLanes",
           "memory_l1_wavefronts_shared": "sharedPasses", "memory_l2_theoretical_sectors_global": "globalSectors"}
MEMORY = list(METRICS)[3:]
ORDER = {"accesses/k_shared_float", "atomics/atomics_global", "atomics/atomics_shared", "atomics128/atomics128", "convergence/loops",
         "cooperative/cooperative", "cta_handshake/cta_handshake", "cta_handshake/ping_pong", "divided_sync/shuffles", "grid_sync/grid_sync",
         "mandelbrot/mandelbrot", "recursion/recursion", "string_match/match_naive", "ticket_lock/ticket_lock",
         "warp_spin_lock/warp_spin_lock"}
PLACED = {"constant_table/constant_table"}


def profile(plan, folder, *options):
    """{kernel: {(function, offset): (text, numbers)}}"""
    path = os.path.join(ROOT, "cubins", plan)
    arch = "sm_90a" if os.path.exists(os.path.join(path, "sm_90a.cubin")) else "sm_90"
    out = os.path.join(folder, "p.json")
    subprocess.run([PROGRAM, "run", os.path.join(path, "plan.json"), "--arch", arch, "--plugin", "profile:json=" + out, *options],
                   check=True, stdout=subprocess.DEVNULL, timeout=120)
    with open(out, encoding="utf-8") as f:
        kernels = json.load(f)["kernels"]
    found = {}
    for k in kernels:
        c = k["instructions"]
        rows, first = {}, {}
        for n, text in enumerate(c["text"]):
            function = k["functions"][c["function"][n]]
            start = first.setdefault(function, c["pc"][n])
            rows[function, c["pc"][n] - start] = (text, [c[m][n] if m in c else 0 for m in METRICS.values()])
        found[k["kernel"]] = rows
    return found


def opcode(text):
    words = text.split()
    return words[1] if words[0].startswith("@") else words[0]


# --- from recordings to the table ------------------------------------------------------------------------------------

def recorded(path):
    """{(plan, kernel): [(address from the first, text, metrics)]}, launches added up"""
    with gzip.open(path, "rt", encoding="utf-8") as f:
        launches = json.load(f)
    found = {}
    for x in launches:
        if x["kernel"] != x["name"]:
            raise SystemExit("%s: %s where %s was launched" % (x["plan"], x["name"], x["kernel"]))
        rows = [r for r in x["rows"] if r[0] + x["base"] > 1 << 32]  # what is not of an instruction has other keys
        held = found.setdefault((x["plan"], x["kernel"]), {})
        for r in rows:
            values = dict(zip(x["columns"], r[2:]))
            one = held.setdefault(r[0] - rows[0][0], [r[1], [0] * len(METRICS)])
            for n, m in enumerate(METRICS):
                one[1][n] += values.get(m, 0)
    return {key: [(at, *rest) for at, rest in sorted(held.items())] for key, held in found.items()}


def placed(rows, functions, kernel):
    """Which function each recorded instruction belongs to: the kernel comes first, the rest is found by its opcodes."""
    at = {address: n for n, (address, _, _) in enumerate(rows)}
    out = {(kernel, o): at[o] for f, o in functions if f == kernel and o in at}
    taken = set(out.values())
    for name in sorted({f for f, _ in functions} - {kernel}):
        own = [(o, opcode(functions[f, o][0])) for f, o in functions if f == name]
        while own and own[-1][1] in ("NOP", "BRA"):
            own.pop()  # what fills up a function
        starts = [n for n, (address, _, _) in enumerate(rows) if n not in taken and n + len(own) <= len(rows) and all(
            opcode(rows[n + k][1]) == op and rows[n + k][0] == address + o for k, (o, op) in enumerate(own))]
        if len(starts) == 1:
            for k, (o, _) in enumerate(own):
                out[name, o] = starts[0] + k
                taken.add(starts[0] + k)
    lost = sum(1 for n, r in enumerate(rows) if n not in taken and any(r[2]))
    return out, lost


def tries(rows):
    """Offsets of instructions in a loop around a try that may fail, with the try: {(function, offset)}"""
    out = set()
    for (function, o), (text, _) in rows.items():
        if not re.search(r"PHASECHK|ATOMS\.CAST", text):
            continue
        out.add((function, o))
        for (f, b), (branch, _) in rows.items():  # back over it
            target = re.search(r"\bBRA\b.*?(0x[0-9a-f]+)$", branch)
            if f == function and target and b >= o and (to := int(target.group(1), 16)) <= o and b - to < 0x200:
                out.update((f, k) for f, k in rows if f == function and to <= k <= b)
    return out


def condense(first, second):
    one, two = recorded(first), recorded(second)
    lines, kernels, kept, dropped = [], 0, 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        seen = {}
        for (plan, kernel), rows in one.items():
            if "%s/%s" % (plan, kernel) in ORDER | PLACED:
                continue
            if plan not in seen:
                seen[plan] = [profile(plan, folder)]
                for more in (("--agents", "lazy"), ("--agents", "random", "--seed", "1"), ("--agents", "random", "--seed", "2")):
                    try:
                        seen[plan].append(profile(plan, folder, *more))
                    except subprocess.CalledProcessError:
                        print("%s: not run with %s" % (plan, more))
            functions = seen[plan][0][kernel]
            where, lost = placed(rows, functions, kernel)
            if lost:
                print("%s/%s: %d instructions of functions not found" % (plan, kernel, lost))
            again = {at: values for at, _, values in two.get((plan, kernel), [])}
            out_of = tries(functions)
            runs = []
            for (function, o), n in sorted(where.items(), key=lambda x: (x[0][0] != kernel, x[0])):
                at, text, values = rows[n]
                if (function, o) in out_of:
                    dropped["tries"] += 1
                elif again.get(at, values) != values or any(s[kernel][function, o][1] != functions[function, o][1] for s in seen[plan]):
                    dropped["varies"] += 1
                elif "LDGSTS" in text and "BYPASS" in text:
                    dropped["bypass"] += 1
                elif runs and runs[-1][0] == function and runs[-1][1] + 16 * runs[-1][2] == o and runs[-1][3] == values:
                    runs[-1][2] += 1
                    kept += 1
                else:
                    runs.append([function, o, 1, values])
                    kept += 1
            kernels += 1
            lines.append("kernel %s %s\n" % (plan, kernel))
            lines += ["%s %x %d %s\n" % (f, o, n, " ".join(map(str, v))) for f, o, n, v in runs]
    with open(TABLE, "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as g:
        g.write("".join(lines).encode())
    print("%d kernels, %d instructions, left out %s; %d bytes" % (kernels, kept, dict(dropped), os.path.getsize(TABLE)))


# --- wide loads of shared memory -----------------------------------------------------------------------------------

WIDE = ("k_shared_load8", "k_shared_load16")
NONE, AT_ONCE, PATTERNS = 0xffff, 32, 2048


def wide_patterns():
    """What each lane wants: all the same, few lanes, pairs of lanes that want the same but for a few, and by chance."""
    state = 19

    def below(n):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        return (state >> 33) % n
    out = []
    for n in range(PATTERNS):
        kind = n % 16
        share = (100, 100, 90, 70, 40, 20, 10)[below(7)]
        if kind == 0:
            row = [below(64)] * 32
        elif kind < 5:
            row, share = [below(8) for _ in range(32)], (5, 10, 20, 30)[below(4)]
        elif kind < 13:
            by, window = 1 + below(2), (8, 8, 16, 64)[below(4)]
            row = [below(window) for _ in range(32)]
            row = [row[lane & ~by] for lane in range(32)]
            for _ in range((0, 0, 0, 1, 1, 2, 4)[below(7)]):
                row[below(32)] = below(window)
        else:
            window = (4, 8, 16, 32, 128)[below(5)]
            row = [below(window) for _ in range(32)]
        row = [u if below(100) < share else NONE for u in row]
        if below(3) == 0 and kind < 13:
            row[31] = row[30] if kind else max(row[:31], key=lambda u: u != NONE)
        out.append(row)
    return out


def wide_plan(rows, module):
    """One launch of each kernel for every 32 patterns; (plan, contents of patterns.bin)"""
    launches = [{"kernel": k, "grid": [1, 1, 1], "block": [32, 1, 1],
                 "args": [{"buffer": "patterns", "offset": 64 * n}, {"buffer": "in"}, {"buffer": "in"}, {"buffer": "sums"}]}
                for k in WIDE for n in range(0, len(rows), AT_ONCE)]
    plan = {"arch": ["sm_90"], "module": module, "launches": launches, "expect": {"status": "ok"}, "buffers": {
        "patterns": {"bytes": 64 * len(rows), "file": "patterns.bin"}, "in": {"bytes": 64, "fill": 0}, "sums": {"bytes": 128, "fill": 0}}}
    return plan, b"".join(struct.pack("<32H", *row) for row in rows)


def write_plan(folder, plan, patterns):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "plan.json"), "w", encoding="utf-8") as f:
        json.dump(plan, f)
    with open(os.path.join(folder, "patterns.bin"), "wb") as f:
        f.write(patterns)


def store_loads(path):
    found = {k: [] for k in WIDE}
    with gzip.open(path, "rt", encoding="utf-8") as f:
        for x in json.load(f):
            at = 2 + x["columns"].index("memory_l1_wavefronts_shared")
            found[x["name"]] += [r[at] for r in x["rows"] if re.search(r"LDS\.(64|128)", r[1])]
    assert all(len(v) == PATTERNS for v in found.values()), {k: len(v) for k, v in found.items()}
    with open(LOADS, "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as g:
        g.write(bytes(found[WIDE[0]] + found[WIDE[1]]))


# --- the test ---------------------------------------------------------------------------------------------------------

class Nsight(unittest.TestCase):
    def test_every_instruction(self):
        expected = collections.defaultdict(dict)
        with gzip.open(TABLE, "rt", encoding="utf-8") as f:
            for line in f:
                words = line.split()
                if words[0] == "kernel":
                    rows = expected[words[1]].setdefault(words[2], {})
                    continue
                for n in range(int(words[2])):
                    rows[words[0], int(words[1], 16) + 16 * n] = list(map(int, words[3:]))
        compared = collections.Counter()
        with tempfile.TemporaryDirectory() as folder:
            for plan, kernels in expected.items():
                found = profile(plan, folder)
                for kernel, rows in kernels.items():
                    wrong = ["%s+%#x %s: %s %d, Nsight %d" % (key[0], key[1], found[kernel][key][0], m, ours, theirs)
                             for key, values in rows.items()
                             for m, ours, theirs in zip(METRICS, found[kernel][key][1], values) if ours != theirs]
                    with self.subTest(plan=plan, kernel=kernel):
                        self.assertEqual(wrong[:5], [], "%d differ" % len(wrong))
                    compared["kernels"] += 1
                    compared["instructions"] += len(rows)
                    for n, m in enumerate(METRICS):
                        compared[m] += sum(v[n] != 0 for v in rows.values())
        print(dict(compared))
        self.assertGreater(compared["kernels"], 140)
        self.assertGreater(min(compared[m] for m in MEMORY), 1000)

    def test_wide_loads(self):
        rows = wide_patterns()
        with gzip.open(LOADS) as f:
            expected = f.read()
        module = os.path.join(ROOT, "cubins", "accesses", "sm_90.cubin")
        wrong = []
        with tempfile.TemporaryDirectory() as folder:
            for first in range(0, PATTERNS, AT_ONCE):
                write_plan(folder, *wide_plan(rows[first:first + AT_ONCE], module))
                found = profile(folder, folder)
                for k, kernel in enumerate(WIDE):
                    loads = [v[3] for _, (text, v) in sorted(found[kernel].items()) if re.search(r"LDS\.(64|128)", text)]
                    wrong += [(kernel, rows[first + n], ours, expected[k * PATTERNS + first + n]) for n, ours in enumerate(loads)
                              if ours != expected[k * PATTERNS + first + n]]
        self.assertEqual(wrong[:5], [], "%d differ" % len(wrong))


if __name__ == "__main__":
    if sys.argv[3:4] == ["--condense"]:
        condense(*sys.argv[4:6])
    elif sys.argv[3:4] == ["--plan"]:
        write_plan(os.path.join(ROOT, "cubins", "loads"), *wide_plan(wide_patterns(), "../accesses/sm_90.cubin"))
    elif sys.argv[3:4] == ["--loads"]:
        store_loads(sys.argv[4])
    else:
        unittest.main(argv=sys.argv[:1] + sys.argv[3:])
