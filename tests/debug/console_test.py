# SPDX-License-Identifier: Apache-2.0
"""The debugger's console: scripted sessions with the text that they print, bad input, going back."""
import json
import os
import re
import signal
import struct
import subprocess
import time
import unittest

import common


class Console(common.Case):
    def positions(self, outputs):
        return [int(m.group(1)) for text in outputs for m in [re.fullmatch(r"(\d+)\n", text)] if m]

    def test_breakpoint_on_a_line_tells_where_and_who(self):
        out = self.session(self.plan("steps"), "break steps.cu:19", "continue", "print threadIdx", "bt",
                           "info breakpoints", options=("--directory", common.DATA))
        self.assertRegex(out[1], r"Breakpoint 1 at steps\+0x[0-9a-f]+ \(.*steps\.cu:19\)")
        self.assertRegex(out[2], r"Breakpoint 1, at position \d+\n\[Focus: kernel 1, block \(0,0,0\), thread \(\d+,0,0\),")
        self.assertIn("19\t    out[i] = sum;\n=> steps+0x", out[2])
        self.assertRegex(out[3], r"\$1 = \{x = (0|32), y = 0, z = 0\}")
        self.assertRegex(out[4], r"#0  steps at .*steps\.cu:19")
        self.assertIn("hit 1 time", out[5])

    def test_memory_of_every_kind_in_a_debug_build(self):
        """By name, by pointer and by address; constants are the module's bank 3, not bank 0 with the parameters."""
        values = {"table": struct.pack("<8i", *range(100, 108)), "one": struct.pack("<i", 7), "_ZN1n5scaleE": struct.pack("<3f", 1.5, 2.5, 3.5)}
        for name, data in values.items():
            with open(self.path(name + ".bin"), "wb") as f:
                f.write(data)
        with open(os.path.join(common.DATA, "spaces.cu"), encoding="utf-8") as f:
            line = next(i for i, text in enumerate(f, 1) if "counter[threadIdx" in text)
        expected = {
            "table": "{100, 101, 102, 103, 104, 105, 106, 107}", "table[3]": "103", "one": "7", "n::scale": "{1.5, 2.5, 3.5}", "n::scale[1] * 2": "5",
            "inner": "{141, 143}", "kept": "{5, 6}", "counter": "{0, 0, 0, 0}",
            "*chosen": "100", "chosen[2]": "102", "chosen == &table[0]": "1", "*(int *)&table[5]": "105",
            "near[31]": "93", "more[5]": "1005", "*(more + 6)": "1006", "*(@shared int *)&near[2]": "6", "mine": "{0, 1, 2, 3}",
            "*(@local int *)&mine[3]": "3", "k": "1", "*(@parameter int *)&k": "1", "::one": "7",
        }
        for arch in ("sm_80", "sm_90"):
            def change(plan, arch=arch):
                plan.update(arch=arch, module=os.path.join(common.DATA, "spaces.%s.cubin" % arch),
                            globals={name: {"file": name + ".bin"} for name in values})
            out = self.session(self.plan("spaces", change), "break spaces.cu:%d" % line, "c", *("p " + e for e in expected),
                               "p &k", "p (int)(long)&table == (int)(long)chosen", "p *(@constant int *)0", "p/x c[3][0]", "p &more[1]", "p &near[1]")
            got = [text.split(" = ", 1)[-1].strip() for text in out[3:]]
            for (expression, value), said in zip(expected.items(), got):
                self.assertEqual(said, value, (arch, expression, self.errors))
            parameter, same, constant, bank, more, near = got[len(expected):]
            self.assertRegex(parameter, r"^\(@parameter int \*\) 0x")
            self.assertEqual(same, "1")
            self.assertEqual(int(constant), int(bank, 16))  # bank 3, where the module's constants lie
            self.assertIn(int(constant), {100, 7, 141, struct.unpack("<i", values["_ZN1n5scaleE"][:4])[0]})
            self.assertRegex(more, r"^\(@shared int \*\) 0x")
            self.assertRegex(near, r"^\(@shared int \*\) 0x")

    def test_a_condition_halts_for_its_lane_only(self):
        out = self.session(self.plan("steps"), "break steps.cu:19 if threadIdx.x == 38 && blockIdx.x == 1", "c",
                           "cuda", "p threadIdx.x", "c")
        self.assertIn("block (1,0,0), thread (38,0,0), device 0, sm 1, warp 1, lane 6", out[3])
        self.assertEqual(out[4], "$1 = 38\n")
        self.assertIn("has ended with exit code 0", out[5])

    def test_places_by_function_offset_and_pc(self):
        out = self.session(self.plan("steps"), "tbreak steps+0x30", "c", "p $pc", "break *0x50", "c", "p/x $pc",
                           "info breakpoints")
        self.assertEqual(out[3], "$1 = 48\n")
        self.assertEqual(out[6], "$2 = 0x50\n")
        self.assertNotIn("0x0030", out[7])  # it was temporary
        out = self.session(self.plan("steps"), "set cuda break_on_launch application", "c")
        self.assertIn("has ended", out[2])  # its only kernel has begun already
        out = self.session(os.path.join(common.ROOT, "cubins", "radix_sort", "plan.json"), "set break-on-launch on", "c",
                           "info cuda kernels", "rc", options=("--arch", "sm_90"))
        self.assertIn("Launch, at position", out[2])
        self.assertIn("* 2 ", out[3])

    def test_launches_in_flight_on_several_gpus_all_halt(self):
        """Both kernels have begun before one executes anything; the second one halts all the same, forward and back."""
        out = self.session(os.path.join(common.ROOT, "cubins", "flight", "two_gpus.json"), "set break-on-launch on", "cuda", "c", "cuda", "rc", "cuda",
                           "c", "c")
        first, second = (re.search(r"device (\d)", text)[1] for text in (out[2], out[4]))
        self.assertEqual({first, second}, {"0", "1"})
        self.assertIn("Launch, at position", out[3])
        self.assertIn("Launch, at position", out[7])
        self.assertIn("has ended", out[8])

    def test_steps_by_instruction_go_one_by_one_in_their_unit(self):
        out = self.session(self.plan("steps"), "stepi", "p $pc", "stepi 3", "p $pc", "stepi 2 all", "info position",
                           "stepi lane", "p $lane", "stepi cta", "cuda")
        self.assertEqual(out[2], "$1 = 16\n")
        self.assertEqual(out[4], "$2 = 64\n")
        self.assertEqual(out[6], "6\n")
        self.assertEqual(out[8], "$3 = 0\n")

    def test_the_lane_of_a_divergent_warp_is_followed(self):
        """Even lanes go through line 18, odd ones through line 16: a step of lane 1 never shows line 18."""
        plan = self.plan("locals")
        out = self.session(plan, "break total if threadIdx.x == 1", "c", "cuda", *["stepi lane", "p $lane"] * 6)
        for k in range(5, 17, 2):
            self.assertRegex(out[k], r"\$\d+ = 1\n")

    def test_line_steps_over_and_into_inlined_code_and_calls(self):
        plan = self.plan("locals")
        out = self.session(plan, "tbreak locals.cu:22 if threadIdx.x == 2", "c", "next", "info line", "rn", "info line")
        self.assertIn("locals.cu:23", out[4])
        self.assertIn("locals.cu:22", out[6])
        out = self.session(plan, "tbreak locals.cu:22 if threadIdx.x == 2", "c", "step", "bt", "finish", "info line")
        self.assertIn("total(int, int const*)", out[4])
        self.assertIn("locals.cu:22", out[6])

    def test_a_step_back_goes_to_the_beginning_of_a_line(self):
        out = self.session(self.plan("locals"), "tbreak locals.cu:24 if threadIdx.x == 33", "c", "p $pc", "stepi 3", "rs",
                           "p $pc", "rs", "info line", options=("--checkpoint-every", "50"))
        self.assertEqual(out[3].split("=")[1], out[6].split("=")[1])
        self.assertIn("locals.cu:23", out[8])

    def test_variables_of_debug_builds(self):
        out = self.session(self.plan("locals"), "break locals.cu:24 if threadIdx.x == 33", "c", "p pair", "p pair.y * 2",
                           "p table[2]", "p *in@3", "p/x tile[1] & 0xff", "p r", "p half * 2 == r", "p scaled",
                           "info locals", "p &table", "p *(&pair)", "p (int)half")
        self.assertEqual(out[3], "$1 = {x = 1.5, y = 2.5, tag = 7}\n")
        self.assertEqual(out[4], "$2 = 5\n")
        self.assertEqual(out[5], "$3 = 3\n")
        values = [int(v) for v in re.findall(r"\d+", out[6].split("=")[1])]
        self.assertEqual(len(values), 3)
        self.assertEqual(out[9], "$7 = 1\n")
        self.assertEqual(out[10], "$8 = 3\n")
        for name in ("half", "r", "scaled", "i", "table", "pair", "n", "out", "in"):
            self.assertRegex(out[11], rf"(?m)^{name} = [^<]")
        self.assertIn("i = 33\n", out[11])
        self.assertEqual(out[13], "$10 = {x = 1.5, y = 2.5, tag = 7}\n")

    def test_locals_of_a_called_function(self):
        out = self.session(self.plan("locals"), "break locals.cu:10 if threadIdx.x == 4 && k == 3", "c", "p count", "p k",
                           "p sum == 2 * (of[0] + of[1] + of[2])")
        self.assertEqual(out[3:6], ["$1 = 4\n", "$2 = 3\n", "$3 = 1\n"])

    def test_expressions(self):
        cases = {"1 + 2 * 3": "7", "(1 + 2) * 3": "9", "-7 / 2": "-3", "7 % 4 << 2": "12", "0x10u - 17 > 0": "1",
                 "1.5 * 2": "3", "!0 && 2 > 1": "1", "~0": "-1", "5 > 3 ? 10 : 20": "10", "(unsigned char)300": "44",
                 "(float)1 / 4": "0.25", "$RZ": "0", "c[0][0]": "64", "sizeof": None, "1 +": None, "(int": None,
                 "1 / 0": None, "$R999": None, "nothing": None, "in[1000000]": None, "*(int *)16": None,
                 "1 << 2 == 4 & 1": "1", "10 - 4 - 3": "3", "blockDim.x": "64", "gridDim.w": None, "in.x": None,
                 "*(int *)in == in[0]": "1", "*(&in[3]) == in[3]": "1", "((((((1))))))": "1"}
        out = self.session(self.plan("steps"), *["print " + e for e in cases], code=2)
        for (expression, value), text in zip(cases.items(), out[1:]):
            if value is None:
                self.assertEqual(text, "", expression)
            else:
                self.assertRegex(text, rf"^\$\d+ = {re.escape(value)}\n$", expression)
        # One line for each that is wrong, and no more.
        self.assertEqual(len(self.errors.splitlines()), sum(v is None for v in cases.values()), self.errors)

    def test_memory_and_formats(self):
        out = self.session(self.plan("steps"), "x/4d in", "x/2xw &in[1]", "p/x in[0]", "p/t 5", "p/c 65", "p/f 0x3f800000",
                           "x/3ub in", "info memory")
        values = out[1].split("\t")[1:]
        self.assertEqual(len(values), 4)
        self.assertEqual(int(out[2].split("\t")[1], 16), int(values[1]))
        self.assertEqual(out[3], f"$1 = {int(values[0]):#x}\n")
        self.assertEqual(out[4:7], ["$2 = 101\n", "$3 = 65 'A'\n", "$4 = 1\n"])
        self.assertEqual(out[7].split("\t")[1], values[0])
        self.assertRegex(out[8], r"0x[0-9a-f]+ +512 +in\n")

    def test_watch_and_who(self):
        """The store of line 19 changes out[70]; the atomic of line 20 writes it once more, with the same value."""
        plan = self.plan("steps")
        out = self.session(plan, "watch out[70]", "c", "info position", "p out[70]", "tbreak steps.cu:21", "delete 1", "c",
                           "who out[70]", "who in[3]", "info position", "watch out[70]", "rc", "info position")
        self.assertRegex(out[2], r"Watchpoint 1: out\[70\]\nOld value = 0\nNew value = (\d+)\n")
        self.assertIn("block (1,0,0)", out[2])
        changed = int(out[3]) - 1
        self.assertRegex(out[8], r"kernel steps, block \(1,0,0\), thread \(6,0,0\), warp 0, lane 6\n.*steps\.cu:20\): ATOM")
        last = int(re.match(r"at position (\d+)", out[8]).group(1))
        self.assertGreater(last, changed)
        self.assertIn("nobody has written", out[9])
        self.assertGreater(int(out[10]), last)  # it has not moved
        self.assertIn("Watchpoint 3", out[12])
        self.assertEqual(int(out[13]), changed)  # in front of the store

    def test_watch_a_register_and_when(self):
        plan = self.plan("steps")
        out = self.session(plan, "watch $R9", "c", "p $pc", "stepi", "delete", "c")
        self.assertRegex(out[2], r"Watchpoint 1: \$R9\nOld value = \d+\nNew value = \d+\n")
        # The sum of thread 38, at the end, is when-ed for from the beginning.
        out = self.session(plan, "tbreak steps.cu:19 if threadIdx.x == 38", "c", "p $R4")
        total = out[3].split("=")[1].strip()
        when = f"when $R4 == {total} && threadIdx.x == 38 && blockIdx.x == 0"
        out = self.session(plan, when, "c", f"p $R4 == {total}", "p threadIdx.x", "info position", "stepi", "c", "rc",
                           "info position")
        self.assertIn("Condition 1: ", out[2])
        self.assertIn("lanes 0x40\n", out[2])
        self.assertEqual(out[3:5], ["$1 = 1\n", "$2 = 38\n"])
        self.assertEqual(int(out[9]), int(out[5]) - 1)  # in front of the instruction that made it true
        out = self.session(plan, "when $R999 == 7", "when total == 1", "when $R4 == 1")
        self.assertIn("Condition 1: $R999 == 7\nIt cannot be evaluated here: $R999: there is no such register", out[1])
        self.assertIn("It cannot be evaluated here: 'total': there is no such variable", out[2])
        self.assertEqual(out[3], "Condition 3: $R4 == 1\n")

    def test_going_back_is_the_same_run(self):
        """Positions, registers and memory of states that are reached from both sides are equal."""
        plan = self.plan("steps")
        look = ["info position", "info registers", "info cuda warps", "x/16x out"]
        forward, after = [], []
        for every in ("0", "7"):
            options = ("--checkpoint-every", every) if every != "0" else ()
            out = self.session(plan, "goto 100", *look, "stepi 57", *look, "reverse-stepi 57", *look, "stepi 57", *look,
                               "c", "rsi", "goto 100", *look, options=options)
            n = len(look)
            blocks = [out[2 + k * (n + 1):2 + k * (n + 1) + n] for k in range(4)]
            self.assertEqual(blocks[0], blocks[2])
            self.assertEqual(blocks[1], blocks[3])
            self.assertEqual(out[-n:], blocks[0])
            forward.append(blocks[0])
            after.append(blocks[1])
        self.assertEqual(forward[0], forward[1])
        self.assertEqual(after[0], after[1])

    def test_every_step_forward_has_its_step_back(self):
        plan = self.plan("steps")
        options = ("--checkpoint-every", "5", "--checkpoints", "4")
        count = 30
        out = self.session(plan, "goto 60", *["stepi warp", "info position"] * count,
                           *["rsi warp", "info position"] * count, options=options)
        there = [int(out[3 + 2 * k]) for k in range(count)]
        back = [int(out[3 + 2 * (count + k)]) for k in range(count)]
        # The positions of the focused warp, and the same ones backwards.
        self.assertEqual(back[:-1], there[-2::-1])

    def test_reverse_continue_finds_each_hit_backwards(self):
        plan = self.plan("steps")
        hits = 4  # one for each warp
        for every in ("16", "1000000"):
            out = self.session(plan, "break steps.cu:13", *["c", "info position"] * hits, "c",
                               *["rc", "info position"] * hits, "rc", options=("--checkpoint-every", every))
            found = self.positions(out)
            self.assertEqual(len(set(found)), hits)
            self.assertEqual(found[hits:], found[:hits][::-1])
            self.assertIn("The beginning", out[-1])

    def test_output_comes_once(self):
        plan = os.path.join(common.ROOT, "cubins", "printf", "plan.json")
        plain = subprocess.run([common.PROGRAM, "run", plan, "--arch", "sm_90", "--deterministic"], capture_output=True,
                               text=True, check=True).stdout
        out = self.run_debugger(plan, "--arch", "sm_90", "--batch", "--ex", "c", "--ex", "goto 5", "--ex", "c").stdout
        line = plain.splitlines()[0]
        self.assertEqual(out.splitlines().count(line), plain.splitlines().count(line))

    def test_a_fault_halts_where_it_is(self):
        plan = os.path.join(common.ROOT, "cubins", "fault_misaligned", "plan.json")
        out = self.session(plan, "c", "info registers pc", "reverse-stepi", "c", "c", options=("--arch", "sm_90"))
        self.assertIn("The kernel ends: fault:", out[1])
        self.assertIn("=> ", out[1])
        self.assertIn("The kernel ends: fault:", out[4])
        self.assertIn("has ended with exit code 0", out[5])  # as the plan expects

    def test_a_step_ends_with_what_it_follows(self):
        out = self.session(self.plan("steps"), "tbreak steps.cu:21", "c", "stepi 50", "info cuda warps")
        self.assertIn("What was followed has exited", out[3])
        self.assertIn("exited", out[4])

    def test_limits_of_the_plan_do_not_end_it(self):
        def change(plan):
            plan["timeLimit"] = 1e-6
        out = self.session(self.plan("steps", change), "c")
        self.assertIn("exit code 0", out[1])

    def test_ctrl_c_halts_the_program(self):
        bench = os.path.join(common.ROOT, "cubins", "bench", "ffma.json")
        with subprocess.Popen([common.PROGRAM, "debug", bench], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as run:
            run.stdin.write("continue\n")
            run.stdin.flush()
            self.assertIn("Focus", run.stdout.readline())
            while "=>" not in run.stdout.readline():
                pass
            time.sleep(0.3)  # it runs; whenever the signal comes is right
            run.send_signal(signal.SIGINT)
            self.assertIn("Interrupted, at position", run.stdout.readline())
            run.stdin.write("reverse-stepi\nquit\n")
            run.stdin.close()
            self.assertIn("=>", run.stdout.read())
            self.assertEqual(run.wait(60), 0)

    def test_reverse_step_over_ten_million_instructions(self):
        bench = os.path.join(common.ROOT, "cubins", "bench", "ffma.json")
        with subprocess.Popen([common.PROGRAM, "debug", bench], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as run:
            def ask(*lines):
                run.stdin.write("\n".join(lines) + "\necho done\n")
                run.stdin.flush()
                text = ""
                while not text.endswith("done\n"):
                    text += run.stdout.readline()
                return text
            ask("goto 12000000")
            began = time.monotonic()
            self.assertIn("11999999\n", ask("reverse-stepi all", "info position"))
            step = time.monotonic() - began
            self.assertIn("1999999\n", ask("reverse-stepi 10000000 all", "info position"))
            far = time.monotonic() - began - step
            run.stdin.close()
            self.assertEqual(run.wait(60), 0)
        # Under 1 s each where the machine has a core for it; ten times that is no fault of a busy machine.
        self.assertLess(step, 10)
        self.assertLess(far, 20)

    def test_bad_input_is_one_line(self):
        plan = self.plan("steps")
        bad = {"frobnicate": "is no command", "s": None, "break nowhere.cu:3": "no code comes from this file",
               "break nothing": "there is no such function or line; kernels: steps", "break steps+0x8": "begins there",
               "break 900": "no code comes from", "delete 7": "no such breakpoint", "print": "wants an expression",
               "watch 1 + 1": "has no place", "when 1 +": "column", "goto": "no position", "x/4q in": "is no format",
               "cuda block 9": "outside of (2,1,1)", "cuda lane 40": "not resident", "cuda colour 3": "no part of a focus",
               "info nonsense": "nothing of that name", "set x 1": "nothing of that name", "stepi -3": "is no count",
               "re": "may be", "list nothing": "no such function", "condition 3 1": "no such breakpoint",
               "break steps if 1 +": "column"}
        bad = {k: v for k, v in bad.items() if v}
        out = self.session(plan, *bad, code=2)
        self.assertEqual(out[1:], [""] * len(bad), out)
        for (command, what), line in zip(bad.items(), self.errors.splitlines()):
            self.assertIn(what, line, command)
        self.assertEqual(len(self.errors.splitlines()), len(bad), self.errors)

    def test_scripts_and_standard_input(self):
        plan = self.plan("steps")
        with open(self.path("script"), "w", encoding="utf-8") as f:
            f.write("# a comment\n\nbreak steps+0x40\nbad\ncontinue\nprint $pc\n")
        done = self.run_debugger(plan, "--batch", "--command", self.path("script"), code=2)
        self.assertIn("$1 = 64\n", done.stdout)
        self.assertEqual(done.stderr, f"{self.path('script')}:4: 'bad': is no command; help\n")
        done = self.run_debugger(plan, text="stepi\n\nprint $pc\nquit\nprint 1\n")
        self.assertIn("$1 = 16\n", done.stdout)  # an empty line of a pipe repeats nothing
        self.assertNotIn("= 1\n", done.stdout)
        self.run_debugger(plan, text="")
        done = self.run_debugger(plan, "--batch", "--command", self.path("none"), code=2)
        self.assertIn("No such file", done.stderr)

    def test_what_cannot_be_debugged(self):
        self.assertIn("No such file", self.run_debugger(self.path("none.json"), code=2).stderr)
        plan = self.plan("steps")
        for option in ("--plugin=trace:file=x", "--sandbox", "--dump=out=x", "--stats",
                       "--max-instructions=9"):
            done = self.run_debugger(plan, option, code=2)
            self.assertEqual(len(done.stderr.splitlines()), 1)
        def change(plan):
            plan["launches"][0]["kernel"] = "other"
        done = self.run_debugger(self.plan("steps", change), code=2)
        self.assertIn("other", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_source_that_is_not_there(self):
        plan = self.plan("steps")
        copy = self.path("steps.cubin")
        with open(os.path.join(common.DATA, "steps.cubin"), "rb") as f, open(copy, "wb") as g:
            g.write(f.read())
        with open(plan, encoding="utf-8") as f:
            text = json.load(f)
        text["module"] = copy
        with open(plan, "w", encoding="utf-8") as f:
            json.dump(text, f)
        # Also where it was compiled, and the file is there: nobody has named its folder.
        self.session(plan, "list", "directory " + common.DATA, "list steps.cu:19", code=2)
        self.assertIn("there is no such source file; directory FOLDER", self.errors)
        self.assertIn("19\t    out[i] = sum;", self.session(plan, "list steps.cu:19", options=("--directory", common.DATA))[1])

    def test_a_damaged_debug_section_costs_variables_only(self):
        with open(os.path.join(common.DATA, "locals.cubin"), "rb") as f:
            whole = f.read()
        plan = self.plan("locals")
        with open(plan, encoding="utf-8") as f:
            text = json.load(f)
        text["module"] = self.path("damaged.cubin")
        with open(plan, "w", encoding="utf-8") as f:
            json.dump(text, f)
        begin = whole.index(b"lgenfe: EDG") - 12
        for n in range(24):
            damaged = bytearray(whole)
            at = begin + (n * 2654435761 % 500)
            damaged[at] ^= 1 << n % 8
            damaged[at + 1] = 0xff if n % 2 else damaged[at + 1]
            with open(self.path("damaged.cubin"), "wb") as f:
                f.write(damaged)
            out = self.session(plan, "break locals+0x1450", "c", "info locals", "c", "c")
            self.assertIn("threadIdx = ", out[3])


if __name__ == "__main__":
    unittest.main()
