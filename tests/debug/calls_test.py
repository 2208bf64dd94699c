# SPDX-License-Identifier: Apache-2.0
"""Backtraces: at every instruction of a lane, what the debugger says of the callers is held against the calls and returns that
the lane has gone through. Cubins with -G and without, of three architectures."""
import re
import unittest

import common

ARCHS = ("sm_80", "sm_90", "sm_100")
STEP = re.compile(r"=> (\S+)\+0x([0-9a-f]+):\t(?:@\S+ )?(\w+)")
FRAME = re.compile(r"#(\d+)  (.*?)(?: at (\S+):(\d+))?(?:, (\S+)\+0x([0-9a-f]+))?$")


class Calls(common.Case):
    def plan_of(self, build, arch):
        def change(plan):
            plan.update(arch=arch, module=plan["module"].replace("calls", f"calls.{build}.{arch}"))
        return self.plan("calls", change)

    def places(self, text):
        """Of the calls in a backtrace, and what is said at its end."""
        out, ends = [], ""
        for line in text.splitlines():
            m = FRAME.match(line)
            if not m:
                ends = line
            elif m.group(5):
                out.append((m.group(5), int(m.group(6), 16)))
        return out, ends

    def follow(self, build, arch, lane, steps):
        """(unknown, seen): how many places of callers it did not know, and in how many instructions it had any."""
        # Behind the lane's end there is nothing to step: these commands fail.
        out = self.session(self.plan_of(build, arch), f"cuda lane {lane}", "frame", *["bt", "stepi lane"] * steps, code=2)
        calls, last, depth, unknown, seen = [], None, 0, 0, 0
        for k in range(2, len(out) - 2, 2):
            shown = STEP.search(out[k])
            if not shown:
                break  # it has exited
            place = (shown.group(1), int(shown.group(2), 16))
            if last:
                went = place != (last[0], last[1] + 16)
                if last[2] == "CALL" and went:
                    calls.insert(0, last[:2])
                if last[2] == "RET" and went:
                    self.assertEqual(place, (calls[0][0], calls[0][1] + 16))
                    calls.pop(0)
            last = (*place, shown.group(3))
            depth = max(depth, len(calls))
            told, ends = self.places(out[k + 1])
            seen += bool(calls)
            if ends:
                unknown += 1
                self.assertRegex(ends, r"^\(who called .* is not known: ")
                self.assertEqual(told, ([place] + calls)[:len(told)], out[k + 1])
            else:
                self.assertEqual(told, [place] + calls, out[k + 1])
        self.assertRegex(out[k], "exited|has ended")
        return unknown, seen, depth

    def test_every_instruction_of_a_debug_build(self):
        for arch in ARCHS:
            unknown, seen, depth = self.follow("G", arch, 3, 2000)
            self.assertEqual((unknown, depth), (0, 5), arch)  # calls, down four times, leaf
            self.assertGreater(seen, 1000)

    def test_every_instruction_of_optimized_code(self):
        """Where ptxas keeps a return address in a register that another call may overwrite, nobody knows it."""
        for arch in ARCHS:
            unknown, seen, _ = self.follow("lineinfo", arch, 3, 600)
            self.assertLessEqual(unknown, 10, arch)
            self.assertGreater(seen, 80)

    def test_frames_have_their_own_variables(self):
        out = self.session(self.plan_of("G", "sm_90"), "break leaf+0x40 if threadIdx.x == 3 && $R4 == 0", "c", "bt", "p v",
                           "up", "p n", "up", "p n", "up 2", "p n", "p of", "p $pc", "p $R1", "down", "p n", "frame 5",
                           "p i", "p n", "frame 0", "p v", "frame", "bt 2")
        self.assertEqual([line.split(" at ")[0] for line in out[3].splitlines()],
                         ["#0  leaf(int, int const*)", *[f"#{k}  down(int, int const*)" for k in range(1, 5)], "#5  calls"])
        self.assertRegex(out[3].splitlines()[1], r"#1  down\(int, int const\*\) at .*calls\.cu:18, _Z4downiPKi\+0x")
        self.assertRegex(out[5], r"^#1  down.*:18, .*\n18\t.*\n=> _Z4downiPKi\+0x\w+:\tCALL\.ABS")
        self.assertEqual([out[k].split(" = ")[1] for k in (4, 6, 8, 10, 15, 17, 18, 20)],
                         ["0\n", "0\n", "1\n", "3\n", "2\n", "3\n", "32\n", "0\n"])
        self.assertRegex(out[21], "^#0  leaf")
        self.assertEqual(len(out[22].splitlines()), 3)
        self.assertEqual(out[22].splitlines()[2], "(4 more)")
        # A value of a frame's registers: the stack pointers go up by the frame's size.
        self.assertRegex(out[13], r"= \d+\n")

    def test_an_array_in_the_frame_of_a_caller(self):
        out = self.session(self.plan_of("G", "sm_90"), "tbreak leaf if threadIdx.x == 5", "c", "up 2", "p table", "p v",
                           "p in", "x/2dw table", "watch table[0]", "watch v", "frame 3", "p i", code=2)
        self.assertRegex(out[4], r"\{(\d+, ){7}\d+\}")
        self.assertEqual(out[5].split(" = ")[1], "5\n")
        self.assertRegex(out[8], r"Watchpoint \d+: table\[0\]")
        self.assertIn("'v': has no place that could be watched", self.errors)
        self.assertEqual(out[11].split(" = ")[1], "5\n")

    def test_what_was_overwritten_is_said(self):
        out = self.session(self.plan_of("G", "sm_90"), "tbreak leaf", "c", "up 2", "p $R4", "p $P0", "p $R16", "info locals",
                           "up", "up", "frame 7", "down 9", "frame x", code=2)
        self.assertIn("$R4: what it held in this frame is not kept: the functions that it called may have overwritten it",
                      self.errors)
        self.assertIn("$P0: what it held in this frame is not known", self.errors)
        self.assertRegex(out[6], r"= \d+\n")
        self.assertIn("v = 0\n", out[7])
        self.assertIn("up: this is the outermost frame\n", self.errors)
        self.assertIn("frame 7: there is none; backtrace lists them\n", self.errors)
        self.assertIn("'x': is no number of a frame", self.errors)
        self.assertRegex(out[11], "^#0  leaf")

    def test_finish_of_a_chosen_frame(self):
        out = self.session(self.plan_of("G", "sm_90"), "tbreak leaf if $R4 == 0 && threadIdx.x == 3", "c", "frame 2",
                           "finish", "bt", "stepi", "frame 9", code=2)
        self.assertRegex(out[5], r"#0  down.*:19, .*\n#1  down.*:19, .*\n#2  calls")
        self.assertNotIn("#3", out[5])

    def test_inlined_functions_of_debug_builds_have_variables(self):
        for arch in ARCHS:
            out = self.session(self.plan_of("G", arch), "tbreak calls.cu:8 if threadIdx.x == 3", "c", "bt", "p v", "p of",
                               "p table", "up", "p v", "p of", "p table", code=2)
            lines = out[3].splitlines()
            self.assertRegex(lines[0], r"^#0  twice\(int, int const\*\) \(inlined\) at .*calls\.cu:8, _Z6middleiPKi\+0x", arch)
            self.assertRegex(lines[1], r"^#1  middle\(int, int const\*\) at .*calls\.cu:13$")
            self.assertRegex(lines[2], r"^#2  calls at .*calls\.cu:23, calls\+0x")
            self.assertEqual((out[4], out[8]), ("$1 = 3\n", "$3 = 3\n"))
            # What is inlined gets the array of its caller, the caller a buffer.
            inner, outer = (int(out[k].split("0x")[1], 16) for k in (5, 9))
            self.assertGreater(inner, outer)
            self.assertIn("'table': there is no such variable or buffer here", self.errors)
            self.assertRegex(out[10], r"= \{(\d+, ){7}\d+\}")

    def test_inlined_functions_stand_between(self):
        out = self.session(self.plan_of("lineinfo", "sm_90"), "tbreak leaf", "c", "bt", "up", "up", "info locals",
                           options=("--directory", common.DATA))
        lines = out[3].splitlines()
        self.assertRegex(lines[1], r"^#1  twice\(int, int const\*\) \(inlined\) at .*calls\.cu:8, \$calls\$_Z6middleiPKi\+0x")
        self.assertRegex(lines[2], r"^#2  middle\(int, int const\*\) at .*calls\.cu:13$")
        self.assertRegex(lines[3], r"^#3  calls at .*calls\.cu:23, calls\+0x")
        self.assertRegex(out[5], r"^#2  middle.*\n13\t.*twice")
        self.assertIn("threadIdx = ", out[6])


if __name__ == "__main__":
    unittest.main()
