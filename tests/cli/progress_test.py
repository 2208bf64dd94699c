# SPDX-License-Identifier: Apache-2.0
"""--progress on a pseudo-terminal and elsewhere, and Ctrl-C typed at that terminal. A long run is waited for by what it
draws, never by the clock. Called as progress_test.py PROGRAM ROOT."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from terminal import Terminal

PROGRAM, ROOT = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
SPARED = "\r\x1b[K"  # takes a drawn line away


class Progress(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def plan(self, change=None, rounds=10 ** 9, ctas=4096):
        """ffma_chains, longer than anybody waits."""
        with open(os.path.join(ROOT, "cubins", "bench", "ffma.json"), encoding="utf-8") as f:
            plan = json.load(f)
        plan["module"] = os.path.join(ROOT, "cubins", "bench", "ffma.cubin")
        plan["timeLimit"] = 600
        plan["buffers"]["out"] = {"bytes": 4 * 256 * ctas, "fill": "0x00"}
        plan["launches"][0]["grid"] = [ctas, 1, 1]
        plan["launches"][0]["args"][3] = {"i32": rounds}
        if change:
            change(plan)
        with open(self.path("plan.json"), "w", encoding="utf-8") as f:
            json.dump(plan, f)
        return self.path("plan.json")

    def interrupted(self, pattern, *args):
        """What was drawn until Ctrl-C, which ends it with 130, and standard output."""
        terminal = Terminal(PROGRAM, *args)
        terminal.wait_for(pattern)
        terminal.type(b"\x03")
        code, out = terminal.end()
        self.assertEqual(code, 130, (terminal.text, out))
        self.assertNotIn("CTAs/s", out)
        self.assertNotIn("\r", out)
        # The line is taken away, so that nothing stands in front of what comes.
        drawn = [part for part in terminal.text.split(SPARED) if "CTAs" in part or " tests" in part]
        self.assertEqual([part for part in drawn if "\n" in part.replace("^C", "")], [], terminal.text)
        return terminal.text, out

    def test_on_a_terminal_ctas_rate_and_time_left_and_ctrl_c(self):
        text, out = self.interrupted(r"launch 1/1: ffma_chains: [1-9]\d*/4096 CTAs, [\d.]+ CTAs/s, [\d.]+( [kMG])? warp "
                                     r"instructions/s, \d+:\d\d(:\d\d)? left", "run", self.plan(rounds=2000), "--stats")
        self.assertNotIn("launch 1/1: ffma_chains\r\n", text)  # lines that stay are --progress's
        stats = json.loads(out.splitlines()[-1])
        self.assertIs(stats["partial"], True)
        self.assertGreater(stats["warp_instructions"], 0)
        self.assertGreater(stats["ctas"], 0)

    def test_as_long_as_no_cta_has_ended_no_time_is_promised(self):
        text, out = self.interrupted(r": 0/4096 CTAs, [\d.]+( [kMG])? warp instructions/s, \d+:\d\d so far", "run",
                                     self.plan(), "--stats")
        self.assertNotIn(" left", text)
        self.assertGreater(json.loads(out.splitlines()[-1])["warp_instructions"], 0)

    def test_a_narrow_terminal_gets_no_more_than_fits(self):
        terminal = Terminal(PROGRAM, "run", self.plan(), columns=20)
        terminal.wait_for(r"launch")
        terminal.type(b"\x03")
        self.assertEqual(terminal.end()[0], 130)
        for part in terminal.text.split(SPARED):
            if part.startswith("launch"):
                self.assertLess(len(part.split("^C")[0]), 20, part)

    def test_several_launches_on_several_gpus_are_counted_together(self):
        def change(plan):
            first = plan["launches"][0]
            plan["gpus"] = 2
            plan["launches"] = [{**first, "gpu": 0}, {**first, "gpu": 1, "repeat": 2}]
        self.interrupted(r"2 launches in flight: \d+/12288 CTAs, ", "run", self.plan(change))

    def test_one_launch_after_the_other(self):
        def change(plan):
            first = plan["launches"][0]
            plan["launches"] = [{**first, "grid": [1, 1, 1], "args": first["args"][:3] + [{"i32": 1}]}, first]
        text, out = self.interrupted(r"launch 2/2: ffma_chains: [1-9]\d*/4097 CTAs", "run", self.plan(change), "--stats")
        self.assertNotIn("launch 1/2", text)  # it was over too soon
        self.assertIs(json.loads(out.splitlines()[-1])["partial"], True)

    def test_checkers_too_and_which_seed(self):
        for command in ("check-sync", "check-mem"):
            self.interrupted(r"launch 1/1: ffma_chains: \d+/4096 CTAs", command, self.plan())
            self.interrupted(r"seed 1/3, launch 1/1: ffma_chains: \d+/4096 CTAs", command, self.plan(), "--seeds", "3")

    def test_litmus(self):
        threads = [{"id": f"P{k}", "cta": k, "gpu": 0,
                    "ops": [f"st.relaxed.gpu [{a}], {k * 8 + i + 1}" for i, a in enumerate("xyxyxy")] +
                           [f"ld.relaxed.gpu r{i}, [{a}]" for i, a in enumerate("xyxy")]} for k in range(6)]
        test = {"name": "large", "model": "ptx", "threads": threads, "init": {}, "condition": "x==1"}
        with open(self.path("t.jsonl"), "w", encoding="utf-8") as f:
            f.write(json.dumps(test) + "\n")
        args = ("litmus", self.path("t.jsonl"), "--time-limit", "600")
        _, out = self.interrupted(r"0 of 1 tests, \d+ looked at, \d+ s", *args)
        self.assertIn("1 test: 1 unknown", out)

    def test_nothing_unless_there_is_a_terminal_or_it_is_asked_for(self):
        limit = ("--time-limit", "0.9")
        for args, drawn in (((), True), (("--progress=auto",), True), (("--progress=never",), False)):
            terminal = Terminal(PROGRAM, "run", self.plan(), *limit, *args)
            self.assertEqual(terminal.end()[0], 4)
            self.assertEqual("CTAs" in terminal.text, drawn, (args, terminal.text))
            self.assertNotIn("launch 1/1: ffma_chains\r\n", terminal.text)
        for args, said in (((), ""), (("--progress=auto",), ""), (("--progress=never",), ""),
                           (("--progress",), "launch 1/1: ffma_chains\n"),
                           (("--progress=always",), "launch 1/1: ffma_chains\n")):
            done = subprocess.run([PROGRAM, "run", self.plan(), *limit, *args], capture_output=True, text=True, timeout=120,
                                  check=False)
            self.assertEqual((done.returncode, done.stderr), (4, said), args)
            self.assertNotIn("CTAs,", done.stdout)

    def test_a_bare_option_on_a_terminal_has_both(self):
        text, _ = self.interrupted(r"launch 1/1: ffma_chains: \d+/4096 CTAs", "run", self.plan(), "--progress")
        self.assertIn("launch 1/1: ffma_chains\r\n", text)

    def test_other_words_are_refused(self):
        done = subprocess.run([PROGRAM, "run", self.plan(), "--progress=loud"], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--progress", done.stderr)

    def test_what_the_kernel_prints_does_not_stand_behind_the_line(self):
        """Both on one terminal: a line is taken away before anything is printed."""
        terminal = Terminal(PROGRAM, "run", os.path.join(ROOT, "cubins", "printf", "plan.json"), "--arch", "sm_90", "--progress",
                            stdout="terminal")
        self.assertEqual(terminal.end()[0], 0)
        for line in terminal.text.split("\n"):
            self.assertFalse("CTAs/s" in line and SPARED not in line, line)


if __name__ == "__main__":
    unittest.main()
