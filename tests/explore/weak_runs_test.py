#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Correct programs under `run --model weak`: whatever the seed, the result is the program's own.

  weak_runs_test.py SASSEMU REPOSITORY

Here: what only runs have, and litmus tests do not: copies by functions of the driver (sm_120), several GPUs and the device part of NVSHMEM,
stores of more than a register holds.
"""
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ROOT = map(os.path.abspath, (sys.argv.pop(1), sys.argv.pop(1)))

# A thread's own stores and its st.bulk, in its order: 0 in the first word, 7 in the second.
CLEARS = """
.target sm_120
.kernel k
    .shared 1024
    .param out 8
        UMOV UR6, 0x400
        UMOV UR7, 0x10
        MOV R2, 0x5
        MOV R3, 0x7
        STS [0x400], R2
        UMEMSETS.64 [UR6], URZ, UR7
        STS [0x404], R3
        LDS R2, [0x400]
        LDS R3, [0x404]
        LDCU.64 UR4, c[0x0][0x358]
        LDC.64 R4, c[0x0][out]
        STG.E.64 desc[UR4][R4.64], R2
        EXIT
"""


class Weak(unittest.TestCase):
    def run_weak(self, seed, *args):
        done = subprocess.run([PROGRAM, "run", *args, "--model", "weak", "--seed", str(seed)], capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual(done.returncode, 0, (args, seed, done.stdout[-1000:], done.stderr[-1000:]))

    def test_plans(self):
        for plan, arch, seeds in (("tma_gemm/plan.json", "sm_120", 1), ("bulk_copy/plan.json", "sm_120", 2), ("nvshmem/ring_proxy.json", "sm_90", 2),
                                  ("generic_pointers/plan.json", "sm_90", 3), ("generic_pointers/plan.json", "sm_80", 2)):
            for seed in range(1, seeds + 1):
                with self.subTest(plan=plan, arch=arch, seed=seed):
                    self.run_weak(seed, os.path.join(ROOT, "cubins", plan), "--arch", arch)

    def test_a_bulk_store_is_in_the_order_of_its_thread(self):
        with tempfile.TemporaryDirectory() as work:
            text, cubin, out = (os.path.join(work, name) for name in ("k.sass", "k.cubin", "out"))
            with open(text, "w", encoding="utf-8") as f:
                f.write(CLEARS)
            subprocess.run([PROGRAM, "asm", text, "-o", cubin], check=True, capture_output=True)
            for seed in range(1, 13):
                with self.subTest(seed=seed):
                    self.run_weak(seed, cubin, "--kernel", "k", "--grid", "1", "--block", "1", "--arg", "buffer=8", "--dump", "arg0=" + out)
                    with open(out, "rb") as f:
                        self.assertEqual(f.read(), bytes([0, 0, 0, 0, 7, 0, 0, 0]))


if __name__ == "__main__":
    unittest.main()
