#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The profiler: counts of kernels whose counts are known by construction, reckoned here from the kernel's text and its
geometry; the reports; what it refuses. Called as TEST.py PROGRAM ROOT."""
import collections
import html.parser
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ROOT = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))

# Every warp goes round COUNT times; lanes below ODD take a detour; a warp beyond the first skips one instruction.
LOOP = """
.target sm_90
.kernel k
    .param data 8
        ULDC.64 UR4, c[0x0][0x208]
        MOV R2, c[0x0][data]
        MOV R3, c[0x0][data+4]
        S2R R0, SR_TID.X
        LOP3.LUT R1, R0, 0x1f, RZ, 0xc0, !PT
        ISETP.LT.AND P1, PT, R1, {odd:#x}, PT
        ISETP.LT.AND P2, PT, R0, 0x20, PT
        MOV R6, {count:#x}
again:
        BSSY B0, `(join)
  @!P1  BRA `(join)
        IADD3 R7, R7, 0x1, RZ
join:
        BSYNC B0
  @P2   IADD3 R8, R8, 0x1, RZ
        IADD3 R6, R6, -0x1, RZ
        ISETP.GT.AND P0, PT, R6, RZ, PT
  @P0   BRA `(again)
        BAR.SYNC.DEFER_BLOCKING 0x0
        EXIT
"""

# Each lane reads and writes `bytes` at lane * stride + more.
ACCESSES = """
.target sm_90
.kernel k
    .param data 8
    .shared 32768
        ULDC.64 UR4, c[0x0][0x208]
        MOV R2, c[0x0][data]
        MOV R3, c[0x0][data+4]
        S2R R0, SR_TID.X
        IMAD R1, R0, {stride:#x}, RZ
        LOP3.LUT R1, R1, {within:#x}, RZ, 0xc0, !PT
        ISETP.LT.AND P0, PT, R0, {lanes:#x}, PT
        IADD3 R4, R1, 0x400, RZ
        IMAD.WIDE.U32 R2, R1, 0x1, R2
  @P0   LDS{wide} R8, [R4]
  @P0   LDG.E{wide} R12, desc[UR4][R2.64]
  @P0   STS{wide} [R4], R8
  @P0   STG.E{wide} desc[UR4][R2.64], R12
  @P0   ATOMG.E.ADD.STRONG.GPU PT, R7, desc[UR4][R2.64], R8
        EXIT
"""


def passes(addresses, size, load=False):
    """By the rule of docs/profile.md: 32 banks of 4 bytes, half warps for 8 bytes, quarters for 16. addresses: {lane: address}."""
    def part(first, last):
        words = collections.defaultdict(set)
        for lane in range(first, last):
            if lane in addresses:
                for word in range(addresses[lane] // 4, (addresses[lane] + size + 3) // 4):
                    words[word % 32].add(word)
        return max(map(len, words.values()), default=0)

    def paired(first, last, strict):
        def good(lane, other):
            if lane in addresses and other in addresses:
                return addresses[lane] == addresses[other]
            return not strict or (lane in addresses) == (other in addresses)
        return any(all(good(n, n ^ by) for n in range(first, last)) for by in (1, 2))

    group = 32 * 4 // max(size, 4)
    if not load or group == 32:
        return sum(part(first, first + group) for first in range(0, 32, group))
    if group == 8 and len(set(addresses.values())) == 1:
        return 2 if len(addresses) > 16 else 1
    total = 0
    for first in range(0, 32, 2 * group):
        last = first + 2 * group
        together = 31 not in addresses or paired(0, 16, True) if last == 16 else paired(first, last, False)
        whole = part(first, last)
        total += whole if together and whole <= 1 else part(first, first + group) + part(first + group, last)
    return total


def sectors(addresses, size):
    return len({byte // 32 for a in addresses.values() for byte in (a, a + size - 1)})


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def sassemu(self, code, *args, **more):
        done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=120, check=False, **more)
        self.assertEqual(done.returncode, code, (args, done.stdout[-2000:], done.stderr[-2000:]))
        return done

    def profile(self, text, block, grid=1, *options, threads=1):
        """Runs a kernel given as text; the JSON of its only kernel, and its instructions as rows."""
        with open(self.path("k.sass"), "w", encoding="utf-8") as f:
            f.write(text)
        self.sassemu(0, "asm", self.path("k.sass"), "-o", self.path("k.cubin"))
        settings = ",".join(("json=" + self.path("p.json"),) + options)
        self.sassemu(0, "run", self.path("k.cubin"), "--kernel", "k", "--block", str(block), "--grid", str(grid),
                     "--arg", "buffer=1048576", "--threads", str(threads), "--plugin", "profile:" + settings)
        with open(self.path("p.json"), encoding="utf-8") as f:
            all_of = json.load(f)
        kernel, = all_of["kernels"]
        return kernel, self.rows(kernel)

    @staticmethod
    def rows(kernel):
        columns = kernel["instructions"]
        out = []
        for n in range(len(columns["text"])):
            row = collections.defaultdict(int)
            row.update({name: values[n] for name, values in columns.items()})
            out.append(row)
        return out


class Counts(Case):
    def test_loop(self):
        for count, odd, warps, grid, threads in ((1, 5, 1, 1, 1), (7, 1, 3, 5, 1), (12, 31, 2, 40, 2),
                                                 (3, 0, 2, 1, 1), (4, 32, 2, 3, 2)):
            with self.subTest(count=count, odd=odd):
                kernel, rows = self.profile(LOOP.format(count=count, odd=odd), 32 * warps, grid, threads=threads)
                times = {"R7, R7": count, "R8, R8": count, "R6, R6": count, "BSSY": count, "(join)": count,
                         "BAR": 1, "ISETP.GT": count}
                every = warps * grid
                for r in rows:
                    if not r["issued"]:
                        continue
                    rounds = next((n for part, n in times.items() if part in r["text"]), 1)
                    lanes = 32
                    if "R7, R7" in r["text"]:  # only those that take the detour get here
                        lanes = odd
                        if not odd:
                            rounds = 0
                    if "BSYNC" in r["text"] or "BRA" in r["text"]:
                        continue
                    if r["text"].startswith("@P2"):
                        self.assertEqual((r["issued"], r["skipped"]), (count * every, count * (warps - 1) * grid), r)
                        self.assertEqual((r["activeLanes"], r["executedLanes"]),
                                         (32 * count * every, 32 * count * grid))
                        continue
                    self.assertEqual((r["issued"], r["skipped"]), (rounds * every, 0), r["text"])
                    self.assertEqual((r["activeLanes"], r["executedLanes"]), (lanes * rounds * every,) * 2, r["text"])
                detour, again = [r for r in rows if "BRA" in r["text"] and r["issued"]][:2]
                self.assertEqual(detour["issued"], count * every)
                self.assertEqual(detour["executedLanes"], (32 - odd) * count * every)
                self.assertEqual(detour["diverged"], count * every if 0 < odd < 32 else 0)
                self.assertEqual((again["issued"], again["skipped"], again["diverged"]), (count * every, every, 0))
                barrier, = [r for r in rows if r["text"].startswith("BAR")]
                self.assertEqual(barrier["barrierWaits"], every)
                totals = kernel["totals"]
                self.assertEqual(totals["issued"], sum(r["issued"] for r in rows))
                self.assertEqual(totals["executedLanes"], sum(r["executedLanes"] for r in rows))
                self.assertEqual(totals["divergedBranches"], detour["diverged"])
                self.assertEqual(sum(kernel["opcodes"].values()), totals["issued"])

    def test_counts_alone_are_the_same(self):
        text = LOOP.format(count=5, odd=9)
        whole, rows = self.profile(text, 96, 7)
        alone, plain = self.profile(text, 96, 7, "memory=0")
        for column in ("text", "issued", "skipped", "activeLanes", "executedLanes", "liveRegisters"):
            self.assertEqual([r[column] for r in rows], [r[column] for r in plain], column)
        self.assertNotIn("sharedPasses", alone["totals"])
        self.assertIn("sharedPasses", whole["totals"])

    def test_accesses(self):
        chance = random.Random(3)
        for wide, size in (("", 4), (".64", 8), (".128", 16), (".U8", 1), (".U16", 2)):
            for stride in (0, size, 2 * size, 4 * size, 32, 64, 128, 132, 4 * chance.randrange(1, 160)):
                stride = stride // size * size
                lanes = chance.choice((32, 32, 17, 1))
                within = 0x3fff & ~(size - 1)
                with self.subTest(wide=wide, stride=stride, lanes=lanes):
                    text = ACCESSES.format(wide=wide, stride=stride, lanes=lanes, within=within)
                    if size < 4:  # an atomic of a word would not be aligned
                        text = "\n".join(x for x in text.splitlines() if "ATOMG" not in x)
                    _, rows = self.profile(text, 32)
                    addresses = {lane: lane * stride & within for lane in range(lanes)}
                    near = {lane: 0x400 + a for lane, a in addresses.items()}
                    by_opcode = {r["opcode"].split(".")[0]: r for r in rows if r["requests"]}
                    for opcode in ("LDS", "STS"):
                        expected = passes(near, size, opcode == "LDS")
                        self.assertEqual(by_opcode[opcode]["sharedPasses"], expected, opcode)
                        self.assertLessEqual(by_opcode[opcode]["sharedPassesIdeal"], expected)
                    for opcode in ("LDG", "STG"):
                        self.assertEqual(by_opcode[opcode]["globalSectors"], sectors(addresses, size), opcode)
                    if size >= 4:
                        most = max(collections.Counter(addresses.values()).values())
                        self.assertEqual((by_opcode["ATOMG"]["atomics"], by_opcode["ATOMG"]["contention"]), (1, most))

    def test_live_registers(self):
        """Of a straight line, by hand: what is read later or here, and what is written here."""
        _, rows = self.profile("""
.target sm_90
.kernel k
    .param data 8
        MOV R2, 0x1
        MOV R3, 0x2
        IADD3 R4, R2, R3, RZ
  @P0   MOV R4, 0x5
        IADD3 R5, R4, R4, RZ
        EXIT
""", 32)
        self.assertEqual([r["liveRegisters"] for r in rows[:6]], [1, 2, 3, 1, 2, 0])

    def test_live_registers_end_where_the_program_does(self):
        """What stands behind an EXIT is not what follows it."""
        _, rows = self.profile("""
.target sm_90
.kernel k
    .param data 8
        MOV R6, 0x1
        ISETP.NE.AND P0, PT, RZ, RZ, PT
  @P0   BRA `(far)
        MOV R2, 0x1
        EXIT
far:
        IADD3 R5, R6, R6, RZ
        EXIT
""", 32)
        self.assertEqual([r["liveRegisters"] for r in rows[:7]], [1, 1, 1, 1, 0, 2, 0])

    def test_registers_are_the_kernels_own(self):
        """Not the most that any kernel of the module has."""
        folder = os.path.join(ROOT, "cubins", "tma_hmma")
        self.sassemu(0, "run", os.path.join(folder, "plan.json"), "--arch", "sm_90", "--plugin", "profile:json=" + self.path("p.json"))
        told = json.loads(self.sassemu(0, "info", "--json", os.path.join(folder, "sm_90.cubin")).stdout)
        own = {k["name"]: k["registers"] for k in told["modules"][0]["kernels"]}
        self.assertGreater(len(set(own.values())), 1)
        with open(self.path("p.json"), encoding="utf-8") as f:
            self.assertEqual({k["kernel"]: k["registers"] for k in json.load(f)["kernels"]}, own)

    def test_roofline(self):
        kernel, _ = self.profile(ACCESSES.format(wide="", stride=128, lanes=32, within=0x3fff), 32, 5)
        roofline, totals = kernel["roofline"], kernel["totals"]
        self.assertEqual(roofline["sms"], 132)
        self.assertEqual(roofline["instructionsPerSector"], totals["issued"] / totals["globalSectors"])
        self.assertEqual(roofline["instructionsPerPass"], totals["issued"] / totals["sharedPasses"])
        least = {"issue": totals["issued"] / 4, "shared": totals["sharedPasses"], "global": totals["globalSectors"] / 4}
        self.assertEqual(roofline["leastCycles"], {name: -int(-n // 132) for name, n in least.items()})
        self.assertEqual(roofline["bound"], "shared")  # 32 passes for each of two accesses
        alone, _ = self.profile(LOOP.format(count=5, odd=9), 96, 7, "memory=0")
        self.assertNotIn("roofline", alone)

    def test_occupancy(self):
        kernel, _ = self.profile(ACCESSES.format(wide="", stride=4, lanes=32, within=0x3fff), 32)
        # 32 KiB of shared memory and what the system has of it, of 228 KiB of an SM.
        self.assertEqual(kernel["occupancy"]["ctasPerSm"], 228 * 1024 // kernel["sharedBytes"])
        self.assertEqual(kernel["occupancy"]["mostWarpsPerSm"], 64)

    def test_the_run_counts_the_same(self):
        for name in ("sgemm", "bfs", "histogram", "hmma_gemm", "tma_hmma"):
            with self.subTest(name=name):
                plan = os.path.join(ROOT, "cubins", name, "plan.json")
                self.sassemu(0, "run", plan, "--arch", "sm_90", "--threads", "2", "--stats=" + self.path("stats"),
                             "--plugin", "profile:json=" + self.path("p.json"))
                with open(self.path("stats"), encoding="utf-8") as f:
                    stats = json.load(f)
                with open(self.path("p.json"), encoding="utf-8") as f:
                    kernels = json.load(f)["kernels"]
                totals = collections.Counter()
                for k in kernels:
                    totals.update({c: k["totals"][c]
                                   for c in ("issued", "skipped", "executedLanes", "tensorInstructions")})
                self.assertEqual(totals["issued"] - totals["skipped"], stats["warp_instructions"])
                self.assertEqual(totals["skipped"], stats["guard_false"])
                self.assertEqual(totals["executedLanes"], stats["thread_instructions"])
                self.assertEqual(totals["tensorInstructions"] > 0, name in ("hmma_gemm", "tma_hmma"))

    def test_launches_in_flight(self):
        """Several at once, on one GPU and on two: each counts for its own kernel and GPU."""
        for name, options in (("two_gpus", ("--deterministic",)), ("two_gpus", ("--threads", "2")),
                              ("streams", ("--threads", "2")), ("doorbell", ())):
            with self.subTest(name=name, options=options):
                plan = os.path.join(ROOT, "cubins", "flight", name + ".json")
                out = self.sassemu(0, "run", plan, "--arch", "sm_90", *options, "--plugin",
                                   "profile:json=" + self.path("p.json")).stdout
                want = collections.Counter()
                for kernel, gpu, count in re.findall(r"^launch \d+/\d+ (\w+) grid.*?(?: gpu (\d+))?(?: stream \w+)?: ok; "
                                                     r"(\d+) warp instructions", out, re.M):
                    if count != "0":  # copies and values in streams
                        want[kernel, int(gpu or 0)] += int(count)
                self.assertTrue(want, out)
                with open(self.path("p.json"), encoding="utf-8") as f:
                    got = {(k["kernel"], k["gpu"]): k["totals"]["issued"] - k["totals"]["skipped"]
                           for k in json.load(f)["kernels"]}
                self.assertEqual(got, want)


class Reports(Case):
    def run_profile(self, code, kernel, *options, **more):
        return self.sassemu(code, "run", os.path.join(ROOT, "cubins", kernel, "plan.json"), "--arch", "sm_90",
                            "--plugin", "profile" + (":" + ",".join(options) if options else ""), **more)

    def test_text(self):
        out = self.run_profile(0, "sgemm", "top=3").stdout
        self.assertIn("profile: sgemm (sm_90), launches: 1", out)
        self.assertIn("652160 warp instructions", out)

    def test_page(self):
        """It is well-formed, names nothing outside of itself, and holds the numbers of the JSON."""
        self.run_profile(0, "sgemm", "html=" + self.path("p.html"), "json=" + self.path("p.json"))
        with open(self.path("p.html"), encoding="utf-8") as f:
            page = f.read()
        with open(self.path("p.json"), encoding="utf-8") as f:
            expected = json.load(f)

        class Reader(html.parser.HTMLParser):
            data, inside, open_tags = "", False, []

            def handle_starttag(self, tag, attrs):
                for name, value in attrs:
                    if name in ("src", "href"):
                        raise AssertionError(value)
                self.inside = ("id", "data") in attrs
                if tag not in ("meta", "link", "br"):
                    self.open_tags.append(tag)

            def handle_endtag(self, tag):
                if self.open_tags.pop() != tag:
                    raise AssertionError(tag)
                self.inside = False

            def handle_data(self, data):
                if self.inside:
                    self.data += data
        reader = Reader()
        reader.feed(page)
        self.assertEqual(reader.open_tags, [])
        found = json.loads(reader.data)
        sources = found.pop("sources")
        for kernel in expected["kernels"]:
            del kernel["instructions"]["opcode"]  # to keep it small
        for kernel in found["kernels"]:
            for name, column in kernel["instructions"].items():
                if name == "text":
                    continue
                values = [v for times, v in zip(column[::2], column[1::2]) for _ in range(times)]
                kernel["instructions"][name] = list(itertools.accumulate(values)) if name == "pc" else values
        self.assertEqual(found, expected)
        self.assertEqual(sources, {})  # the command line names no folder of sources
        for outside in ("http:", "https:", "import(", "fetch(", "XMLHttp"):
            self.assertNotIn(outside, page.replace(reader.data, ""))

    @unittest.skipUnless(shutil.which("node"), "no node to run the page's script")
    def test_what_the_page_shows(self):
        self.run_profile(0, "sgemm", "html=" + self.path("p.html"), "json=" + self.path("p.json"))
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.js")
        done = subprocess.run(["node", script, self.path("p.html")], capture_output=True, text=True, timeout=60,
                              check=True)
        self.assertEqual(done.stderr, "")
        seen = json.loads(done.stdout)
        with open(self.path("p.json"), encoding="utf-8") as f:
            kernel, = json.load(f)["kernels"]
        columns = kernel["instructions"]
        self.assertEqual([row[1] for row in seen["sass"]], columns["text"])
        self.assertEqual([int(row[0], 16) for row in seen["sass"]], columns["pc"])
        at = seen["columns"].index("issued")
        numbers = [int(row[at].replace(",", "") or 0) for row in seen["sass"]]
        self.assertEqual(numbers, columns["issued"])
        self.assertEqual([int(n.replace(",", "") or 0) for n in seen["sorted"]], sorted(numbers, reverse=True))
        hottest = columns["issued"].index(max(numbers))
        self.assertIn(columns["pc"][hottest], [int(pc, 16) for pc in seen["chosen"]])
        self.assertEqual(seen["mix"], min(60, len(kernel["opcodes"])))
        self.assertEqual(seen["dots"], 2)
        self.assertIn(f"{kernel['totals']['issued']:,}", seen["facts"])

    def test_no_source(self):
        with open(self.path("k.sass"), "w", encoding="utf-8") as f:
            f.write(LOOP.format(count=1, odd=1))
        self.sassemu(0, "asm", self.path("k.sass"), "-o", self.path("k.cubin"))
        out = self.sassemu(0, "run", self.path("k.cubin"), "--kernel", "k", "--block", "32", "--arg", "buffer=4096",
                           "--plugin", "profile").stdout
        self.assertEqual(out.count("compile with -lineinfo"), 1)

    def test_only_sources_are_shown(self):
        """A module names its files: only those that are sources by their name and lie in a folder that the command line names come into the page."""
        with open(os.path.join(ROOT, "tests", "debug", "data", "steps.cubin"), "rb") as f:
            cubin = f.read()
        compiled_in = b"/tmp/sassemu-cubins/debug"
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            inside = (folder + "/" + "x" * 25)[:len(compiled_in)]
            os.mkdir(inside)
            for name in ("steps.cu", "password", "../ooo.h"):
                with open(os.path.join(inside, name), "w", encoding="utf-8") as f:
                    f.write("what-lies-here")
            os.symlink("../ooo.h", os.path.join(inside, "a_link.h"))
            os.mkfifo(os.path.join(inside, "a_pipe.h"))
            for name, options, seen in (("steps.cu", (), 0), ("steps.cu", ("--directory", inside), 1), ("steps.cu", ("--directory", folder), 1),
                                        ("password", ("--directory", inside), 0), ("a_link.h", ("--directory", inside), 0),
                                        ("a_link.h", ("--directory", folder), 1), ("a_pipe.h", ("--directory", inside), 0),
                                        ("../ooo.h", ("--directory", inside), 0), ("../ooo.h", ("--directory", folder), 1),
                                        ("steps.cu", ("--directory", self.folder), 0), ("steps.cu", ("--root", self.folder), 0)):
                with open(self.path("k.cubin"), "wb") as f:
                    f.write(cubin.replace(compiled_in, inside.encode()).replace(b"steps.cu\0", name.encode() + b"\0"))
                self.sassemu(0, "run", self.path("k.cubin"), "--kernel", "steps", "--block", "32", "--arg", "buffer=4096", "--arg", "buffer=4096",
                             "--arg", "buffer=4096", "--arg", "i32=32", *options, "--plugin", "profile:html=" + self.path("p.html"))
                with open(self.path("p.html"), encoding="utf-8") as f:
                    self.assertEqual(f.read().count("what-lies-here"), seen, (name, options))
            self.sassemu(2, "run", self.path("k.cubin"), "--directory", os.path.join(folder, "nowhere"))

    def test_unknown_kernel(self):
        out = self.run_profile(6, "vecadd", "kernel=other").stdout
        self.assertIn("profile: unknown-kernel: no launch of 'other'; there were: vecadd", out)

    def test_options(self):
        for options, word in ((("memory=2",), "memory"), (("top=x",), "top"), (("nothing=1",), "nothing")):
            done = self.run_profile(2, "vecadd", *options)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(word, done.stderr)

    def test_full_disk(self):
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        done = self.run_profile(2, "vecadd", "html=" + self.path("p.html"), preexec_fn=small_files)
        self.assertIn("p.html", done.stdout + done.stderr)
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
