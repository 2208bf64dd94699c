# SPDX-License-Identifier: Apache-2.0
"""Every committed kernel under the debugger, halted in its middle and near its end, stepped back and let go: each time it
ends where it did before, with the results that its plan expects."""
import glob
import os
import re
import unittest

import common


class Cubins(common.Case):
    def test_every_plan_ends_alike(self):
        plans = glob.glob(os.path.join(common.ROOT, "cubins", "*", "plan.json"))
        plans += glob.glob(os.path.join(common.ROOT, "cubins", "flight", "*.json"))
        self.assertGreater(len(plans), 70)
        for plan in sorted(plans):
            with open(plan, encoding="utf-8") as f:
                arch = ("--arch", "sm_90") if '"sm_90"' in f.read() else ()
            with self.subTest(plan=plan):
                whole = self.session(plan, "goto 1000000000", options=arch)[1]
                code, end = re.search(r"exit code (\d+), at position (\d+)", whole).groups()
                self.assertEqual(code, "0", whole)
                middle, end = int(end) // 2, int(end)
                out = self.session(plan, f"goto {middle}", "info position", "stepi 3 all", "reverse-stepi 3 all",
                                   "info position", f"goto {end - 1}", "reverse-stepi cta", "goto 1000000000",
                                   "reverse-stepi", "info position", options=arch)
                self.assertEqual((out[2], out[5]), (f"{middle}\n", f"{middle}\n"))
                self.assertIn(f"exit code 0, at position {end}", out[8])
                self.assertEqual(out[10], f"{end - 1}\n")


if __name__ == "__main__":
    unittest.main()
