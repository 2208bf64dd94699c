# SPDX-License-Identifier: Apache-2.0
"""The prompt of the debugger on a pseudo-terminal: editing, history, completion, Ctrl-C; and without all that."""
import os
import sys
import unittest

import common

sys.path.insert(0, os.path.join(common.ROOT, "tests", "cli"))
from terminal import Terminal  # noqa: E402

PROMPT = r"\(sassemu\) "
with open(common.PROGRAM, "rb") as program:
    EDITS = b"libedit.so" in program.read()  # opened when there is a prompt


class Prompt(common.Case):
    def begin(self, term="xterm", **variables):
        environment = dict(os.environ, TERM=term, **variables)
        self.terminal = Terminal(common.PROGRAM, "debug", self.plan("steps"), stdin="terminal", stdout="terminal",
                                 env=environment)
        self.edits = EDITS and term != "dumb"
        self.wait_for_prompt(0)

    def wait_for_prompt(self, since):
        self.at = self.terminal.wait_for(PROMPT, since)
        if self.edits:
            self.terminal.wait_until_keys_are_its_own()

    def type(self, keys, wanted):
        """Types, waits for what is wanted, and for the prompt behind it if a line was ended."""
        self.terminal.type(keys.encode())
        self.at = self.terminal.wait_for(wanted, self.at)
        if keys.endswith("\r"):
            self.wait_for_prompt(self.at)

    def quit(self, keys=b"\x04"):
        self.terminal.type(keys)
        code, _ = self.terminal.end()
        self.assertEqual(code, 0, self.terminal.text)

    @unittest.skipUnless(EDITS, "built without libedit")
    def test_lines_are_edited_and_called_up_again(self):
        self.begin()
        self.type("print 12\x7f\x7f34\r", r"\$1 = 34\r\n")
        self.type("print 5\x1b[D6\r", r"\$2 = 65\r\n")  # the cursor goes left
        self.type("\x1b[A\x1b[A\r", r"\$3 = 34\r\n")  # the line before the last
        self.type("print 8\x01\x0bprint 7\r", r"\$4 = 7\r\n")  # ^A ^K: from the begin on it goes
        self.quit()
        self.assertTrue(self.terminal.text.endswith("quit\r\n"), self.terminal.text[-200:])

    @unittest.skipUnless(EDITS, "built without libedit")
    def test_words_of_commands_are_completed(self):
        self.begin()
        self.type("tb\t", r"reak ")
        self.type("steps+0x30\r", r"Temporary breakpoint 1 at steps\+0x0030")
        self.type("reverse-s\t", r"tep")
        self.type("\t", r"reverse-step  reverse-stepi\r\n")  # there are two
        self.type("\x15info cu\t", r"da ")
        self.type("w\t\r", r"Wp +Block")
        self.type("stepi 2 l\t", r"ane ")
        self.type("\r", r"=> steps\+0x0020")
        self.type("help fra\t\r", r"frame \[N\]")
        self.type("nothing\tmore\r", r"'nothingmore': is no command")
        self.quit()

    @unittest.skipUnless(EDITS, "built without libedit")
    def test_letters_of_all_kinds(self):
        self.begin(LC_ALL="C.UTF-8")
        self.type("echo \u00e9\u20ac\x7f!\r", "\r\n\u00e9!\r\n")
        self.quit()

    def test_ctrl_c_at_the_prompt_and_while_it_runs(self):
        for term in ("xterm", "dumb"):
            self.begin(term)
            self.type("print 1", "print 1")
            self.type("\x03", "Quit\r\n")
            self.wait_for_prompt(self.at)
            self.type("print 2\r", r"\$1 = 2\r\n")
            self.quit()

    def test_without_a_terminal_that_can_move_its_cursor(self):
        self.begin("dumb")
        self.type("print 3\r", r"\$1 = 3\r\n")
        self.quit(b"quit\r")


if __name__ == "__main__":
    unittest.main()
