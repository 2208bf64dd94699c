#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-mem on kernels that are wrong in one way: it finds that, at its place, and nothing in their correct twins.

    check_test.py SASSEMU ROOT
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from common import assemble, check

PROGRAM, ROOT = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
DATA = os.path.join(ROOT, "tests", "check_mem", "data")

# kernel of data/examples.cu -> (kind, a word of the line at fault, of the line that brings the value or None)
EXAMPLES = {
    "misaligned": ("misaligned-address", "reinterpret_cast<int*>(out", None),
    "behind_the_end": ("out-of-bounds", "void behind_the_end", None),
    "wild_in_a_function": ("out-of-bounds", "void poke(int* at)", None),
    "behind_shared": ("out-of-bounds", "tile[threadIdx.x + bug", None),
    "behind_bulk": ("out-of-bounds", '"l"(out), "r"(bytes)', None),
    "behind_another": ("out-of-bounds", "ld.shared::cluster", None),
    "leaking_block": ("leak", "malloc", None),
    "freed_twice": ("invalid-free", "if (bug) free(block)", None),
    "used_after_free": ("use-after-free", "out[threadIdx.x] = block[0]", None),
    "unfilled_block": ("uninitialised-output", "out[threadIdx.x] = block[3]", "out[threadIdx.x] = block[3]"),
    "partly_filled": ("uninitialised-output", "in[threadIdx.x] + 1", "in[threadIdx.x] + 1"),
    "unfilled_tile": ("uninitialised-address", "tile[63 - threadIdx.x]", "tile[63 - threadIdx.x]"),
    "divided_barrier": ("barrier-divergence", "__syncthreads()", None),
    "missed_barrier": ("barrier-divergence", "bar.sync 1, 64", None),
    "no_mbarrier": ("mbarrier-misuse", "mbarrier.arrive", None),
    "mbarrier_made_twice": ("mbarrier-misuse", "mbarrier.init", None),
}

# R0: thread; R1: its word of shared memory; R2: address of the thread's word of `out`, into which R5 goes at the end.
HEAD = """
.target sm_90
.kernel k
    .param data 8
    .shared 1024
    .local 64
        ULDC.64 UR4, c[0x0][0x208]
        MOV R2, c[0x0][data]
        MOV R3, c[0x0][data+4]
        S2R R0, SR_TID.X
        IMAD R1, R0, 0x4, RZ
        IMAD.WIDE.U32 R2, R1, 0x1, R2
        IADD3 R1, R1, 0x400, RZ
"""
TAIL = """
        STG.E desc[UR4][R2.64], R5
end:
        EXIT
"""

OUTPUT, ADDRESS, CONDITION, BOUNDS = ("uninitialised-output", "uninitialised-address", "uninitialised-condition",
                                     "out-of-bounds")

# name -> (kind, opcode where the value is born or None, lines of the wrong one, of its correct twin); see lines()
SEEDS = {
    "register": (OUTPUT, "MOV",
     "MOV R5, R6",
     "MOV R6, 0x1; MOV R5, R6"),
    "sum": (OUTPUT, "IADD3",
     "IADD3 R5, R6, 0x1, RZ",
     "MOV R6, 0x1; IADD3 R5, R6, 0x1, RZ"),
    "chain": (OUTPUT, "FADD",
     "FADD R6, R7, 1; MOV R8, R6; FMUL R5, R8, R8",
     "MOV R7, 0x1; FADD R6, R7, 1; MOV R8, R6; FMUL R5, R8, R8"),
    "shared_address": (ADDRESS, "LDS",
     "LDS R5, [R6]",
     "STS [R1], R0; LDS R5, [R1]"),
    "global_address": (ADDRESS, "LDG",
     "LDG.E R5, desc[UR4][R6.64]",
     "LDG.E R5, desc[UR4][R2.64]"),
    "store_address": (ADDRESS, "STS",
     "MOV R5, R0; STS [R6], R0",
     "MOV R5, R0; STS [R1], R0"),
    "branch": (CONDITION, "BRA",
     "MOV R5, R0; @P0 BRA `(end)",
     "MOV R5, R0; ISETP.EQ.AND P0, PT, R0, 0x3, PT; @P0 BRA `(end)"),
    "branch_of_value": (CONDITION, "ISETP",
     "MOV R5, R0; ISETP.EQ.AND P0, PT, R6, 0x3, PT; @P0 BRA `(end)",
     "MOV R5, R0; MOV R6, R0; ISETP.EQ.AND P0, PT, R6, 0x3, PT; @P0 BRA `(end)"),
    "exit": (CONDITION, "EXIT",
     "MOV R5, R0; @P1 EXIT",
     "MOV R5, R0; ISETP.EQ.AND P1, PT, R0, 0x3, PT; @P1 EXIT"),
    "guarded_load": (CONDITION, "LDG",
     "MOV R5, RZ; @P0 LDG.E R5, desc[UR4][R2.64]",
     "ISETP.EQ.AND P0, PT, R0, 0x3, PT; MOV R5, RZ; @P0 LDG.E R5, desc[UR4][R2.64]"),
    "guarded_move": (OUTPUT, "MOV",
     "MOV R5, RZ; @P0 MOV R5, R0",
     "ISETP.EQ.AND P0, PT, R0, 0x3, PT; MOV R5, RZ; @P0 MOV R5, R0"),
    "selected": (OUTPUT, "SEL",
     "SEL R5, R0, R1, P2",
     "ISETP.EQ.AND P2, PT, R0, 0x3, PT; SEL R5, R0, R1, P2"),
    "uniform": (OUTPUT, "MOV",
     "MOV R5, UR10",
     "UMOV UR10, 0x5; MOV R5, UR10"),
    "uniform_sum": (OUTPUT, "UIADD3",
     "UIADD3 UR11, UR10, 0x1, URZ; MOV R5, UR11",
     "UMOV UR10, 0x5; UIADD3 UR11, UR10, 0x1, URZ; MOV R5, UR11"),
    "some_lanes": (OUTPUT, "STG",
     "ISETP.LT.AND P0, PT, R0, 0x11, PT; @P0 MOV R5, R0",
     "ISETP.LT.AND P0, PT, R0, 0x11, PT; @P0 MOV R5, R0; @!P0 MOV R5, R1"),
    "shared": (OUTPUT, "LDS",
     "LDS R5, [R1]",
     "STS [R1], R0; LDS R5, [R1]"),
    "shared_neighbour": (OUTPUT, "LDS",
     "STS [R1], R0; LDS R5, [R1+0x100]",
     "STS [R1+0x100], R0; LDS R5, [R1+0x100]"),
    "shared_half": (OUTPUT, "LDS",
     "STS.U16 [R1], R0; LDS R5, [R1]",
     "STS.U16 [R1], R0; LDS.U16 R5, [R1]"),
    "shared_byte": (OUTPUT, "LDS",
     "STS.U8 [R1], R0; LDS.U8 R5, [R1+0x1]",
     "STS.U8 [R1+0x1], R0; LDS.U8 R5, [R1+0x1]"),
    "shared_wide": (OUTPUT, "LDS",
     "IMAD R9, R0, 0x8, RZ; IADD3 R9, R9, 0x400, RZ; STS [R9], R0; LDS.64 R6, [R9]; MOV R5, R7",
     "IMAD R9, R0, 0x8, RZ; IADD3 R9, R9, 0x400, RZ; STS [R9], R0; LDS.64 R6, [R9]; MOV R5, R6"),
    "shared_through": (OUTPUT, "IADD3",
     "IADD3 R6, R7, 0x1, RZ; STS [R1], R6; LDS R5, [R1]",
     "MOV R7, R0; IADD3 R6, R7, 0x1, RZ; STS [R1], R6; LDS R5, [R1]"),
    "shared_index": (ADDRESS, "LDS",
     "LDS R6, [R1]; LDS R5, [R6]",
     "STS [R1], R1; LDS R6, [R1]; LDS R5, [R6]"),
    "local": (OUTPUT, "LDL",
     "STL [RZ], R0; LDL R5, [RZ+0x4]",
     "STL [RZ+0x4], R0; LDL R5, [RZ+0x4]"),
    "local_byte": (OUTPUT, "LDL",
     "STL.U8 [RZ+0x4], R0; LDL.U16 R5, [RZ+0x4]",
     "STL.U8 [RZ+0x4], R0; STL.U8 [RZ+0x5], R0; LDL.U16 R5, [RZ+0x4]"),
    "shared_atomic": (OUTPUT, "ATOMS",
     "ATOMS.ADD R5, [R1], R0",
     "STS [R1], RZ; ATOMS.ADD R5, [R1], R0"),
    "atomic_operand": (OUTPUT, "RED",
     "MOV R5, R0; REDG.E.ADD.STRONG.GPU desc[UR4][R2.64+0x100], R6",
     "MOV R6, R0; MOV R5, R0; REDG.E.ADD.STRONG.GPU desc[UR4][R2.64+0x100], R6"),
    "bytes": (OUTPUT, "PRMT",
     "PRMT R5, R0, 0x4210, R6",
     "PRMT R5, R0, 0x3210, R6"),
    "bits": (OUTPUT, "PRMT",
     "PRMT R6, R0, 0x4210, R7; LOP3.LUT R5, R6, 0xff000000, RZ, 0xc0, !PT",
     "PRMT R6, R0, 0x4210, R7; LOP3.LUT R5, R6, 0xffffff, RZ, 0xc0, !PT"),
    "voted": (OUTPUT, "ISETP",
     "ISETP.EQ.AND P0, PT, R6, RZ, PT; VOTE.ANY R5, PT, P0",
     "ISETP.EQ.AND P0, PT, R0, RZ, PT; VOTE.ANY R5, PT, P0"),
    "shuffled": (OUTPUT, "SHFL",
     "LOP3.LUT R8, R0, 0x1f, RZ, 0xc0, !PT; ISETP.LT.AND P0, PT, R8, 0x10, PT; "
     "@P0 MOV R6, R0; SHFL.BFLY PT, R5, R6, 0x10, 0x1f",
     "LOP3.LUT R8, R0, 0x1f, RZ, 0xc0, !PT; ISETP.LT.AND P0, PT, R8, 0x10, PT; "
     "@P0 MOV R6, R0; @!P0 MOV R6, R1; SHFL.BFLY PT, R5, R6, 0x10, 0x1f"),
    "to_predicates": (CONDITION, "R2P",
     "MOV R5, R0; R2P PR, R6, 0x1; @P0 EXIT",
     "MOV R5, R0; R2P PR, R0, 0x1; @P0 EXIT"),
    "barrier_number": (CONDITION, "BAR",
     "MOV R5, R0; BAR.SYNC.DEFER_BLOCKING R6",
     "MOV R5, R0; MOV R6, 0x1; BAR.SYNC.DEFER_BLOCKING R6"),
    "behind_by_a_byte": (BOUNDS, None,
     "MOV R5, R0; STG.E.U8 desc[UR4][R2.64+0x208], R0",
     "MOV R5, R0; STG.E.U8 desc[UR4][R2.64+0x207], R0"),
    "across_the_end": (BOUNDS, None,
     "MOV R6, c[0x0][data]; MOV R7, c[0x0][data+4]; LDG.E.64 R8, desc[UR4][R6.64+0x300]; MOV R5, R8",
     "MOV R6, c[0x0][data]; MOV R7, c[0x0][data+4]; LDG.E R5, desc[UR4][R6.64+0x300]"),
    "shared_behind": (BOUNDS, None,
     "MOV R5, R0; STS [R1+0x800], R0",
     "MOV R5, R0; STS [R1+0x300], R0"),
    "shared_atomic_behind": (BOUNDS, None,
     "ATOMS.ADD R5, [R1+0x40000], R0",
     "STS [R1], RZ; ATOMS.ADD R5, [R1], R0"),
    "local_behind": (BOUNDS, None,
     "MOV R5, R0; STL [RZ+0x7ffff0], R0",
     "MOV R5, R0; STL [RZ], R0"),
    "constant_behind": (BOUNDS, None,
     "MOV R6, 0xf000; LDC R5, c[0x0][R6]",
     "MOV R6, RZ; LDC R5, c[0x0][R6+0x210]"),
    "misaligned_shared": ("misaligned-address", None,
     "STS [R1], R0; LDS.64 R6, [R1]; MOV R5, R6",
     "IMAD R9, R0, 0x8, RZ; IADD3 R9, R9, 0x400, RZ; STS [R9], R0; LDS.64 R6, [R9]; MOV R5, R6"),
    "misaligned_atomic": ("misaligned-address", None,
     "MOV R5, R0; REDG.E.ADD.STRONG.GPU desc[UR4][R2.64+0x2], R0",
     "MOV R5, R0; REDG.E.ADD.STRONG.GPU desc[UR4][R2.64+0x100], R0"),
}


def lines(text):
    return text.replace("; ", "\n        ")


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_seed(self, text, options=()):
        cubin = assemble(PROGRAM, self.folder, HEAD + lines(text) + TAIL)
        return check(PROGRAM, self.folder, cubin, "k", out=772, options=options)

    def example(self, name, module, options=()):
        args, more = [{"buffer": "out"}, {"i32": 1}], {}
        if name == "partly_filled":
            args.insert(1, {"buffer": "in"})
            more["buffers"] = {"in": {"bytes": 256}}
            options = (*options, "--undefined", "in+192")
        if name == "behind_shared":
            more["dynamicShared"] = 256
        return check(PROGRAM, self.folder, os.path.join(DATA, module + ".cubin"), name, args=args, options=options,
                     **more)


class Examples(Case):
    def test_each(self):
        with open(os.path.join(DATA, "examples.cu"), encoding="utf-8") as f:
            lines = f.read().splitlines()
        for name, (kind, at, born) in EXAMPLES.items():
            with self.subTest(name):
                code, found, out = self.example(name, "correct")
                self.assertEqual((code, found), (0, []), out)
                code, found, out = self.example(name, "bug")
                self.assertIn(code, (3, 4, 6), out)
                self.assertEqual({f["kind"] for f in found}, {kind}, out)
                self.assertIn(at, lines[found[0]["accesses"][-1]["line"] - 1])
                if born:
                    self.assertIn(born, lines[found[0]["accesses"][0]["line"] - 1])


class Seeds(Case):
    def test_each(self):
        self.assertGreaterEqual(len(SEEDS), 40)
        for name, (kind, born, wrong, correct) in SEEDS.items():
            with self.subTest(name):
                code, found, out = self.run_seed(correct)
                self.assertEqual((code, found), (0, []), out)
                code, found, out = self.run_seed(wrong)
                self.assertIn(code, (3, 6), out)
                self.assertIn(kind, [f["kind"] for f in found or []], out)
                self.assertLessEqual({f["kind"] for f in found}, {kind, "out-of-bounds", "misaligned-address"}, out)
                if born:
                    first = [f for f in found if f["kind"] == kind][0]
                    self.assertIn(born, first["accesses"][0]["sass"], out)
                    self.assertIn("which nothing has written", first["born"])


class Mutations(Case):
    """Plans of cubins/ with a buffer that is four bytes too short: the access to the last word is named."""

    CASES = (("vecadd", "sm_90", "c", "STG"), ("vecadd", "sm_75", "a", "LDG"), ("bulk_copy", "sm_90", "in", "UBLKCP"),
             ("cp_async_gemm", "sm_80", "a", "LDGSTS"), ("tma_gemm", "sm_90", "a", "UTMALDG"),
             ("tma_gemm", "sm_90", "out", "UTMASTG"))

    def test_each(self):
        for kernel, arch, buffer, opcode in self.CASES:
            with self.subTest((kernel, buffer)):
                folder = os.path.join(ROOT, "cubins", kernel)
                with open(os.path.join(folder, "plan.json"), encoding="utf-8") as f:
                    plan = json.load(f)
                plan["module"] = os.path.join(os.path.relpath(folder, self.folder), "{arch}.cubin")
                for b in plan["buffers"].values():
                    b.pop("expect", None)
                    if "file" in b:
                        b["file"] = os.path.join(os.path.relpath(folder, self.folder), b["file"])
                plan["buffers"][buffer]["bytes"] -= 4
                with open(self.path("plan.json"), "w", encoding="utf-8") as f:
                    json.dump(plan, f)
                done = subprocess.run([PROGRAM, "check-mem", self.path("plan.json"), "--arch", arch, "--json",
                                       self.path("report.json")], capture_output=True, text=True, timeout=120,
                                      check=False)
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                with open(self.path("report.json"), encoding="utf-8") as f:
                    found = json.load(f)["findings"]
                self.assertEqual([f["kind"] for f in found], ["out-of-bounds"], done.stdout)
                self.assertIn(opcode, found[0]["accesses"][-1]["sass"])
                self.assertIn("'%s'" % buffer, found[0]["what"])


class Floats(Case):
    """--fp: where the special numbers of the output were born, and what passed them on."""

    def floats(self, text):
        code, found, out = self.run_seed(text, ("--fp",))
        self.assertEqual((code, found), (0, []), out)
        with open(self.path("report.json"), encoding="utf-8") as f:
            return [(f["kind"], f["byte"], f["words"], f["brought"], [a["sass"].split()[0] for a in f["accesses"]])
                    for f in json.load(f)["floats"]]

    def test_none(self):
        self.assertEqual(self.floats("I2F R6, R0; FMUL R5, R6, 0.5"), [])
        self.assertEqual(self.floats("MOV R5, 0x7fc00000"), [])  # no floating instruction: it may be any word

    def test_born_and_passed_on(self):
        self.assertEqual(self.floats("MOV R6, 0x7f000000; FMUL R7, R6, R6; FADD R8, R7, 1; MOV R9, R8; STS [R1], R9; "
                                     "LDS R5, [R1]"),
                         [("fp-infinity", 0, 64, False, ["FMUL", "FADD", "MOV", "STS", "LDS", "STG.E"])])

    def test_nan_of_infinities(self):
        self.assertEqual(self.floats("MOV R6, 0x7f000000; FMUL R7, R6, R6; FADD R5, R7, -R7"),
                         [("fp-nan", 0, 64, False, ["FADD", "FMUL", "STG.E"])])

    def test_subnormal_of_some_lanes(self):
        self.assertEqual(self.floats("MOV R6, 0x800000; I2F R5, R0; ISETP.GE.AND P0, PT, R0, 0x30, PT; "
                                     "@P0 FMUL R5, R6, 0.5"),
                         [("fp-subnormal", 192, 16, False, ["@P0", "STG.E"])])

    def test_brought(self):
        self.assertEqual(self.floats("MOV R6, 0x7fc00000; FADD R5, R6, 1"),
                         [("fp-nan", 0, 64, True, ["FADD", "STG.E"])])

    def test_doubles(self):
        self.assertEqual(self.floats("MOV R6, RZ; MOV R7, 0x7fe00000; DMUL R8, R6, R6; MOV R5, R9"),
                         [("fp-infinity", 0, 64, False, ["DMUL", "MOV", "STG.E"])])

    def test_shuffled(self):
        self.assertEqual(self.floats("MOV R6, 0x7f000000; FMUL R7, R6, R6; SHFL.BFLY PT, R5, R7, 0x1, 0x1f"),
                         [("fp-infinity", 0, 64, False, ["FMUL", "SHFL.BFLY", "STG.E"])])


class Flight(Case):
    """Several launches, GPUs and streams at once."""

    def run_plan(self, plan, *options):
        plan = {"arch": "sm_90", "timeLimit": 30, **plan}
        with open(self.path("flight.json"), "w", encoding="utf-8") as f:
            json.dump(plan, f)
        end = subprocess.run([PROGRAM, "check-mem", self.path("flight.json"), "--json", self.path("r.json"), *options],
                             capture_output=True, text=True, timeout=60, check=False)
        with open(self.path("r.json"), encoding="utf-8") as f:
            return end.returncode, json.load(f)["findings"], end.stdout + end.stderr

    def test_launches_of_two_gpus(self):
        """Shared memory of the CTAs of launches in flight is told apart: each is named where it reads its own too early."""
        plan = {"gpus": 2, "module": os.path.join(DATA, "bug.cubin"),
                "buffers": {"a": {"bytes": 256, "gpu": 0}, "b": {"bytes": 256, "gpu": 1}},
                "launches": [{"kernel": "unfilled_tile", "gpu": g, "grid": [2, 1, 1], "block": [64, 1, 1],
                              "args": [{"buffer": "ab"[g]}, {"i32": 0}]} for g in (0, 1)]}
        code, found, out = self.run_plan(plan)
        self.assertEqual((code, [f["kind"] for f in found]), (6, ["uninitialised-address"] * 2), out)
        self.assertEqual({f["launch"] for f in found}, {1, 2}, out)
        plan["module"] = os.path.join(DATA, "correct.cubin")
        code, found, out = self.run_plan(plan)
        self.assertEqual((code, found), (0, []), out)

    def test_copies_in_streams_carry_undefined_bytes(self):
        """A copy decides nothing; what was never written arrives as such, and shows when the host reads it."""
        copy = {"copy": {"to": {"buffer": "b"}, "from": {"buffer": "a"}, "bytes": 64}, "stream": "s"}
        plan = {"module": os.path.join(DATA, "correct.cubin"), "streams": {"s": {"gpu": 0}},
                "buffers": {"a": {"bytes": 64}, "b": {"bytes": 64}}, "launches": [copy]}
        dump = ("--dump", "b=" + self.path("b.bin"))
        self.assertEqual(self.run_plan(plan, *dump)[:2], (0, []))
        code, found, out = self.run_plan(plan, "--undefined", "a+48", *dump)
        self.assertEqual((code, [f["kind"] for f in found]), (6, ["uninitialised-output"]), out)
        self.assertEqual(found[0]["what"], "the host reads 16 bytes from byte 48 of 'b' on")
        self.assertIn("which is copied", found[0]["born"])


class Reports(Case):
    SUM = SEEDS["sum"][2]

    def test_bytes_and_threads(self):
        """The host reads exactly the bytes of the threads that have no value."""
        _, found, _ = self.run_seed(SEEDS["some_lanes"][2])
        self.assertEqual(found[0]["what"], "the host reads 188 bytes from byte 68 of 'out' on")
        self.assertIn("thread 17 of CTA (0,0,0)", found[0]["accesses"][0]["thread"])

    def test_a_load_alone(self):
        unused = "LDS R6, [R1]; MOV R5, R0"
        self.assertEqual(self.run_seed(unused)[:2], (0, []))
        code, found, _ = self.run_seed(unused, ("--loads",))
        self.assertEqual((code, [f["kind"] for f in found]), (6, ["uninitialised-load"]))

    def test_leaks_may_be_left_out(self):
        self.assertEqual(self.example("leaking_block", "bug", ("--no-leaks",))[:2], (0, []))

    # Two granules of tensor memory, columns 0 to 63. `{}`: what is done besides.
    TENSOR = """
.target sm_100a
.kernel k
    .param data 8
        UMOV UR8, 0x2
        UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR8, UR8
        STTM tmem[URZ+0x3f], R5
        UMOV UR5, 0xfffc
        {}
        EXIT
"""

    def test_tensor_memory(self):
        """Columns that a CTA leaves allocated, frees twice, or uses once they are freed."""
        free = "UTCATOMSWS.AND URZ, UR5\n"
        for lines, kind, what, sass in (
                (free, None, None, None),
                ("", "leak", "columns 0 to 63 of tensor memory are allocated when the CTA ends", "UTCATOMSWS.FIND_AND_SET"),
                ("UMOV UR5, 0xfffe\n" + free, "leak", "columns 32 to 63 of tensor memory are allocated when the CTA ends",
                 "UTCATOMSWS.FIND_AND_SET"),
                (free + free, "invalid-free", "columns 0 to 63 of tensor memory, which are not allocated", "UTCATOMSWS.AND"),
                (free + "LDTM R6, tmem[URZ]\n", "use-after-free", "columns 0 to 0 of tensor memory have been freed", "LDTM"),
                (free + "LDTM R6, tmem[URZ+0x80]\n", "out-of-bounds", "columns 128 to 128 of tensor memory are not allocated", "LDTM")):
            cubin = assemble(PROGRAM, self.folder, self.TENSOR.format(lines))
            _, found, out = check(PROGRAM, self.folder, cubin, "k", block=32, arch="sm_100a")
            self.assertEqual([f["kind"] for f in found], [kind] if kind else [], out)
            if kind:
                self.assertEqual(found[0]["what"], what, out)
                self.assertIn(sass, found[0]["accesses"][0]["sass"])
        cubin = assemble(PROGRAM, self.folder, self.TENSOR.format(""))
        self.assertEqual(check(PROGRAM, self.folder, cubin, "k", block=32, arch="sm_100a", options=("--no-leaks",))[1], [])

    def test_suppressions(self):
        for line, left in (("uninitialised-output", 0), ("uninit* function=k", 0), ("* sass=*IADD3*", 0),
                           ("* tool=check-mem kernel=k", 0),
                           ("* tool=check-sync", 1), ("leak", 1), ("* function=other # not this", 1),
                           ("# nothing\n\n", 1),
                           ('* "sass=STG* R5"', 0), ("* pc=0x70", 0), ("* pc=0x71", 1)):
            with open(self.path("s"), "w", encoding="utf-8") as f:
                f.write(line + "\n")
            code, found, out = self.run_seed(self.SUM, ("--suppressions", self.path("s")))
            self.assertEqual((code, len(found)), (6 if left else 0, left), (line, out))
            self.assertEqual("left out: 1 suppressed, 0 of the baseline" in out, not left, out)

    def test_baseline(self):
        self.run_seed(self.SUM)
        os.rename(self.path("report.json"), self.path("base.json"))
        code, found, out = self.run_seed(self.SUM, ("--baseline", self.path("base.json")))
        self.assertEqual((code, found), (0, []), out)
        code, found, out = self.run_seed("MOV R9, R8; " + SEEDS["selected"][2], ("--baseline", self.path("base.json")))
        self.assertEqual((code, len(found)), (6, 1), out)

    def test_sarif(self):
        with open(self.path("s"), "w", encoding="utf-8") as f:
            f.write("uninitialised-output\n")
        for options, suppressed in ((), False), (("--suppressions", self.path("s")), True):
            self.run_seed(self.SUM, ("--sarif", self.path("r.sarif"), *options))
            with open(self.path("r.sarif"), encoding="utf-8") as f:
                run = json.load(f)["runs"][0]
            self.assertEqual(run["tool"]["driver"]["name"], "sassemu check-mem")
            self.assertEqual([r["ruleId"] for r in run["results"]], ["uninitialised-output"])
            self.assertIn("uninitialised-output", [r["id"] for r in run["tool"]["driver"]["rules"]])
            self.assertEqual("suppressions" in run["results"][0], suppressed)

    def test_bad_input(self):
        cubin = assemble(PROGRAM, self.folder, HEAD + "MOV R5, R0" + TAIL)
        for name, text in (("bad", "leak\nrace line\n"), ("quoted", 'leak "file=x\n'), ("first", "file=x leak\n"),
                           ("json", "{}"), ("not.json", "[1")):
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(text)
        for options, line in ((("--suppressions", self.path("none")), "none: No such file or directory"),
                              (("--suppressions", self.path("bad")), "bad:2: 'line' is none of tool=, kernel="),
                              (("--suppressions", self.path("quoted")), "quoted:1: a quotation does not end"),
                              (("--suppressions", self.path("first")), "first:1: a line begins with the kind"),
                              (("--baseline", self.path("json")), "is no JSON report of check-sync or check-mem"),
                              (("--baseline", self.path("not.json")), "is no JSON report of check-sync or check-mem"),
                              (("--undefined", "out+x"), "'x' is no number")):
            code, _, out = check(PROGRAM, self.folder, cubin, "k", options=options)
            self.assertEqual(code, 2, (options, out))
            self.assertIn(line, out)
            self.assertEqual(len(out.splitlines()), 1, out)

    def test_what_does_not_exist(self):
        for options in ("--only-kernel", "other"), ("--undefined", "other"):
            code, found, out = self.run_seed("MOV R5, R0", options)
            self.assertEqual((code, [f["kind"] for f in found]), (6, ["unknown-name"]), out)
        self.assertEqual(self.run_seed(SEEDS["branch"][2], ("--only-kernel", "k"))[0], 6)

    def test_reports_that_cannot_be_written(self):
        cubin = assemble(PROGRAM, self.folder, HEAD + "MOV R5, R0" + TAIL)
        self.run_seed("MOV R5, R0")
        for option in "--json", "--sarif":
            for path in self.path("no/such/folder"), "/dev/full":
                done = subprocess.run([PROGRAM, "check-mem", self.path("plan.json"), option, path], capture_output=True,
                                      text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn("plugin 'check-mem': " + path, done.stdout + done.stderr)
        self.assertTrue(os.path.exists(cubin))


if __name__ == "__main__":
    unittest.main()
