# SPDX-License-Identifier: Apache-2.0
"""A program on a pseudo-terminal, for tests. What it does is waited for, never the clock."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios


class Terminal:
    """A program with a terminal of its own as standard error (and input and output, if asked), at which keys are typed."""

    def __init__(self, program, *args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, columns=200, **more):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))

        def own_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([program, *args], stdin=slave if stdin == "terminal" else stdin, stderr=slave,
                                        stdout=slave if stdout == "terminal" else stdout, preexec_fn=own_terminal, **more)
        os.close(slave)
        self.text = ""

    def wait_for(self, pattern, since=0):
        """Until that has come, in what came from the text's place `since` on; the place behind it."""
        while True:
            found = re.compile(pattern).search(self.text, since)
            if found:
                return found.end()
            assert select.select([self.master], [], [], 120)[0], (pattern, self.text)
            assert self.more(), (pattern, self.text)

    def wait_until_keys_are_its_own(self):
        """Whoever edits lines shows its prompt and then takes the keys from the terminal's own editing."""
        while termios.tcgetattr(self.master)[3] & termios.ICANON:
            assert self.process.poll() is None, self.text
            os.sched_yield()

    def more(self):
        try:
            part = os.read(self.master, 65536)
        except OSError:  # everybody has closed it
            part = b""
        self.text += part.decode(errors="replace")
        return part

    def type(self, keys):
        os.write(self.master, keys)

    def end(self):
        """Exit code and what went to standard output."""
        while self.more():
            pass
        out = self.process.stdout.read().decode() if self.process.stdout else ""
        code = self.process.wait(120)
        os.close(self.master)
        if self.process.stdout:
            self.process.stdout.close()
        return code, out
