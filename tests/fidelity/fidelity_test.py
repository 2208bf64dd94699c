#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sassemu run --fidelity`: what executed instructions rest on, and where the value of an assumed one goes.

    fidelity_test.py SASSEMU ROOT

MUFU is assumed on sm_80 and measured on sm_90: each kernel is run as code of both.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ROOT = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
sys.path.insert(0, os.path.join(ROOT, "tests", "check_mem"))
from common import assemble  # noqa: E402

# R0: thread; R1: its word of shared memory; R2: address of the thread's word of `out`, into which R5 goes at the end.
HEAD = """
.target %s
.kernel k
    .param data 8
    .shared 2048
    .local 64
        MOV R2, c[0x0][data]
        MOV R3, c[0x0][data+4]
        S2R R0, SR_TID.X
        IMAD R1, R0, 0x4, RZ
        IMAD.WIDE.U32 R2, R1, 0x1, R2
        IADD3 R1, R1, 0x400, RZ
        MOV R4, 0x3f800000
        MUFU.RCP R4, R4
        MOV R6, RZ
        MOV R7, RZ
        UMOV UR6, 0x0
        UMOV UR7, 0x0
"""
TAIL = """
        STG.E desc[UR6][R2.64], R5
end:
        EXIT
"""
RESULT, BRANCH, NOTHING = "result", "branch", "nothing"
RCP = {"MUFU.RCP"}

# R4 is what MUFU.RCP gives. name -> (what it reaches, lines, names of what is assumed there; opcodes that decide)
WAYS = {
    "itself": ({RESULT}, "MOV R5, R4", RCP),
    "not_at_all": ({NOTHING}, "MOV R5, R0", RCP),
    "written_over": ({NOTHING}, "MOV R5, R4; MOV R5, R0", RCP),
    "sum": ({RESULT}, "FADD R5, R4, 1", RCP),
    "no_bit_of_it": ({NOTHING}, "LOP3.LUT R5, R4, 0x0, RZ, 0xc0, !PT", RCP),
    "one_bit_of_it": ({RESULT}, "LOP3.LUT R5, R4, 0x800000, RZ, 0xc0, !PT", RCP),
    "chain": ({RESULT}, "IADD3 R6, R4, 0x1, RZ; SHF.L.U32 R7, R6, 0x2, RZ; MOV R5, R7", RCP),
    "predicate": ({RESULT}, "ISETP.GT.AND P0, PT, R4, 0x1, PT; SEL R5, R0, R1, P0", RCP),
    "selected": ({RESULT}, "ISETP.GT.AND P0, PT, R0, 0x1, PT; SEL R5, R0, R4, P0", RCP),
    "guarded_move": ({RESULT}, "MOV R5, R0; ISETP.GT.AND P0, PT, R4, 0x1, PT; @P0 MOV R5, R1", RCP),
    "uniform": ({RESULT}, "R2UR UR8, R4; UIADD3 UR8, UR8, 0x1, URZ; MOV R5, UR8", RCP),
    "shuffle": ({RESULT}, "SHFL.BFLY PT, R5, R4, 0x1, 0x1f", RCP),
    "shuffle_by": ({RESULT}, "LOP3.LUT R8, R0, 0x7, RZ, 0xc0, !PT; SHFL.IDX PT, R5, R4, R8, 0x1f", RCP),
    "vote": ({RESULT}, "ISETP.GT.AND P0, PT, R4, 0x1, PT; VOTE.ANY R5, PT, P0", RCP),
    "shared": ({RESULT}, "STS [R1], R4; LDS R5, [R1]", RCP),
    "shared_other": ({NOTHING}, "STS [R1+0x100], R0; STS [R1], R4; LDS R5, [R1+0x100]", RCP),
    "shared_half": ({RESULT}, "STS [R1], R4; LDS.U16 R5, [R1+0x2]", RCP),
    "shared_over": ({NOTHING}, "STS [R1], R4; STS [R1], R0; LDS R5, [R1]", RCP),
    "local": ({RESULT}, "STL [0x8], R4; LDL R5, [0x8]", RCP),
    "address": ({RESULT}, "STS [R1], R0; SHF.R.U32.HI R8, RZ, 0x1f, R4; IADD3 R8, R8, R1, RZ; LDS R5, [R8]", RCP),
    "atomic": ({RESULT}, "STS [R1], RZ; ATOMS.ADD RZ, [R1], R4; LDS R5, [R1]", RCP),
    "atomic_on_it": ({RESULT}, "STS [R1], R4; ATOMS.ADD R5, [R1], R0", RCP),
    "branch": ({BRANCH}, "MOV R5, R0; ISETP.LT.AND P0, PT, R4, 0x1, PT; @P0 BRA `(end)", RCP, {"BRA"}),
    "exit": ({BRANCH}, "MOV R5, R0; ISETP.LT.AND P0, PT, R4, 0x1, PT; @P0 EXIT", RCP, {"EXIT"}),
    "guarded_store": ({BRANCH}, "MOV R5, R0; ISETP.LT.AND P0, PT, R4, 0x1, PT; @P0 STS [R1], R0", RCP, {"STS"}),
    "both": ({RESULT, BRANCH}, "MOV R5, R4; ISETP.LT.AND P0, PT, R4, 0x1, PT; @P0 BRA `(end)", RCP, {"BRA"}),
    "of_another": ({RESULT}, "MUFU.LG2 R8, R0; MOV R5, R8", {"MUFU.LG2"}),
    "of_both": ({RESULT}, "MUFU.LG2 R8, R0; FADD R5, R8, R4", {"MUFU.RCP", "MUFU.LG2"}),
    "of_both_in_turn": ({RESULT}, "MUFU.LG2 R5, R4", {"MUFU.RCP", "MUFU.LG2"}),
    "of_both_by_a_guard": ({RESULT}, "MUFU.LG2 R5, R0; ISETP.GT.AND P0, PT, R4, 0x1, PT; @P0 IADD3 R5, R5, 0x1, RZ", {"MUFU.RCP", "MUFU.LG2"}),
    "some_lanes": ({RESULT}, "MOV R5, R0; ISETP.LT.AND P1, PT, R0, 0x10, PT; @P1 MOV R5, R4", RCP),
    "address_of_some_lanes": ({RESULT}, "STS [R1], R0; SHF.R.U32.HI R8, RZ, 0x1f, R4; ISETP.GE.AND P1, PT, R0, 0x10, PT; MOV R9, R1;"
                              "@P1 IADD3 R9, R8, R1, RZ; LDS R5, [R9]", RCP),
    "of_both_in_memory": ({RESULT}, "MUFU.LG2 R8, R0; STS [R1], R8; ATOMS.ADD RZ, [R1], R4; LDS R5, [R1]", {"MUFU.RCP", "MUFU.LG2"}),
}
BYTES = {"itself": 128, "some_lanes": 64, "address_of_some_lanes": 64}


class Statement(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = self.scratch.name

    def tearDown(self):
        self.scratch.cleanup()

    def run_it(self, *arguments, code=0):
        done = subprocess.run([PROGRAM, "run", *arguments], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def kernel(self, lines, target):
        return assemble(PROGRAM, self.folder, HEAD % target + "\n".join("        " + line.strip() for line in lines.split(";")) + TAIL)

    def plan(self, cubin, arch, buffers=None, launches=None, **more):
        path = os.path.join(self.folder, "plan.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"arch": arch, "module": os.path.relpath(cubin, self.folder), "buffers": buffers or {"out": {"bytes": 128}},
                       "launches": launches or [{"kernel": "k", "grid": [1], "block": [32], "args": [{"buffer": "out"}]}], **more}, f)
        return path

    def state(self, lines, arch="sm_80", options=()):
        plan = self.plan(self.kernel(lines, arch), arch)
        return json.loads(self.run_it(plan, "--fidelity", "--json", "--dump", "out=" + os.path.join(self.folder, "out.bin"), *options))

    def test_ways(self):
        for name, (reached, lines, names, *deciders) in WAYS.items():
            with self.subTest(name):
                statement = self.state(lines)["fidelity"]
                executed = {a["instruction"]: a for a in statement["assumed"]}
                self.assertGreaterEqual(set(executed), names)
                for a in executed.values():
                    self.assertEqual(a["warpInstructions"], 1)
                    self.assertEqual(a["threadInstructions"], 32)
                results = {n for n, a in executed.items() if a["results"]}
                branches = {n for n, a in executed.items() if a["branches"]}
                self.assertEqual(results, names if RESULT in reached else set())
                self.assertEqual(branches, names if BRANCH in reached else set())
                self.assertEqual(statement["restsOnAssumptions"], NOTHING not in reached)
                for n in results:
                    self.assertEqual([(r["buffer"], r["read"]) for r in executed[n]["results"]], [("out", True)])
                    if name in BYTES:
                        self.assertEqual(executed[n]["results"][0]["bytes"], BYTES[name])
                places = {b["sass"].split()[1 if b["sass"][0] == "@" else 0].split(".")[0] for n in branches for b in executed[n]["branches"]}
                self.assertEqual(places, deciders[0] if deciders else set())

    def test_nothing_is_assumed_where_it_was_measured(self):
        for name in ("itself", "branch", "of_both_in_memory"):
            statement = self.state(WAYS[name][1], "sm_90")["fidelity"]
            self.assertEqual(statement["assumed"], [])
            self.assertFalse(statement["restsOnAssumptions"])
            self.assertGreater(statement["classes"]["measured"]["warpInstructions"], 10)

    def test_counts_are_of_what_ran(self):
        report = self.state("MOV R5, R4")
        classes = report["fidelity"]["classes"]
        self.assertEqual(sum(c["warpInstructions"] for c in classes.values()), report["stats"]["warp_instructions"])
        self.assertEqual(sum(c["threadInstructions"] for c in classes.values()), report["stats"]["thread_instructions"])
        self.assertEqual(classes["none"]["warpInstructions"], 0)

    def test_text(self):
        plan = self.plan(self.kernel("MOV R5, R4", "sm_80"), "sm_80")
        text = self.run_it(plan, "--fidelity")
        self.assertRegex(text, r"assumed: MUFU.RCP: MUFU: .*\n    1 executed, first place: MUFU.RCP R4, R4 at pc 0x[0-9a-f]+\n"
                         "    reached 128 bytes of 'out' from byte 0 on, left there\n")
        self.assertIn("Results or branches rest on what is assumed.\n", text)
        self.assertRegex(text, r"hash of the run: [0-9a-f]{64}\n")
        self.assertNotIn("fidelity", self.run_it(plan))

    def test_from_launch_to_launch(self):
        cubin = self.kernel("LDG.E R5, desc[UR6][R2.64]; MOV R6, R5; STS [R1], R4", "sm_80")
        first = assemble(PROGRAM, tempfile.mkdtemp(dir=self.folder), HEAD % "sm_80" + "        MOV R5, R4" + TAIL)
        plan = self.plan(cubin, "sm_80")
        with open(plan, encoding="utf-8") as f:
            body = json.load(f)
        del body["module"]
        body["modules"] = [os.path.relpath(first, self.folder), os.path.relpath(cubin, self.folder)]
        for order, rests in (((0, 1), True), ((1,), False)):
            body["launches"] = [{"kernel": "k", "module": m, "grid": [1], "block": [32], "args": [{"buffer": "out"}]} for m in order]
            with open(plan, "w", encoding="utf-8") as f:
                json.dump(body, f)
            self.assertEqual(json.loads(self.run_it(plan, "--fidelity", "--json"))["fidelity"]["restsOnAssumptions"], rests)

    def test_hash(self):
        def of(*options, lines="MOV R5, R4", dump=True):
            plan = self.plan(self.kernel(lines, "sm_80"), "sm_80")
            dumps = ("--dump", "out=" + os.path.join(self.folder, "out.bin")) if dump else ()
            return json.loads(self.run_it(plan, "--fidelity", "--json", *dumps, *options))["runHash"]
        base = of()
        self.assertEqual(base, of())
        self.assertEqual(base, of("--threads", "3"))
        others = [of("--seed", "5"), of("--fill", "0xff"), of("--deterministic"), of(lines="MOV R5, R0"), of(dump=False)]
        self.assertEqual(len({base, *others}), 6)
        self.assertNotIn("runHash", json.loads(self.run_it(self.plan(self.kernel("MOV R5, R4", "sm_80"), "sm_80"), "--json")))

    def test_hash_of_files_and_of_the_quick_form(self):
        cubin = self.kernel("MOV R5, R4", "sm_80")
        def of(name, value):
            path = os.path.join(self.folder, name)
            with open(path, "wb") as f:
                f.write(value)
            return json.loads(self.run_it(cubin, "--block", "32", "--arg", "file=" + path, "--fidelity", "--json"))["runHash"]
        self.assertEqual(of("a", bytes(128)), of("b", bytes(128)))
        self.assertNotEqual(of("a", bytes(128)), of("b", b"\1" + bytes(127)))

    def test_stats_are_static(self):
        plan = self.plan(self.kernel("BRA `(end); MUFU.LG2 R5, R4", "sm_80"), "sm_80")
        stats = json.loads(self.run_it(plan, "--stats").splitlines()[-1])
        self.assertEqual(stats["evidence"]["assumed"], 2)  # one of them does not run
        self.assertEqual(stats["evidence"]["none"], 0)
        self.assertGreater(stats["evidence"]["specification"], 10)
        measured = self.plan(self.kernel("MUFU.LG2 R5, R4", "sm_90"), "sm_90")
        self.assertEqual(json.loads(self.run_it(measured, "--stats").splitlines()[-1])["evidence"]["assumed"], 0)

    def test_tensor_cores(self):
        """What an assumed product makes reaches the result, through tensor memory too; on sm_90 nothing is assumed."""
        for kernel, arch, name in (("hmma_gemm", "sm_120", "HMMA.16816.F32"), ("tensor_core", "sm_100a", "UTCHMMA"), ("hmma_gemm", "sm_90", None),
                                   ("sgemm", "sm_90", None), ("wgmma_gemm", "sm_90a", None)):
            with self.subTest(kernel + " " + arch):
                statement = json.loads(self.run_it(os.path.join(ROOT, "cubins", kernel, "plan.json"), "--arch", arch, "--fidelity", "--json"))["fidelity"]
                reached = {a["instruction"] for a in statement["assumed"] if any(r["read"] for r in a["results"])}
                if name:
                    self.assertTrue(any(r.startswith(name) for r in reached), reached)
                else:
                    self.assertEqual(reached, set())

    def test_refusals(self):
        plan = os.path.join(ROOT, "cubins", "flight", "two_gpus.json")
        done = subprocess.run([PROGRAM, "run", plan, "--fidelity", "--ranks", "--rank", "0", "--peer", "unix:" + self.folder + "/a,unix:" + self.folder + "/b"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("'fidelity' sees one process", done.stderr)


if __name__ == "__main__":
    unittest.main()
