#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A command on a pseudo-terminal, with lines typed when it asks for them, and what is on the screen then as SVG: the
pictures of docs/check-mem.md and docs/debug.md, which say how they were made.

    terminal_picture.py OUT.svg [--type LINE]... [--prompt TEXT] [--columns N] -- COMMAND...
"""
import argparse
import html
import os
import pty
import re
import select
import struct
import subprocess
import termios
import fcntl

LETTER, LINE = 7.25, 16.5


def run(command, typed, prompt, columns):
    """All that the terminal has shown."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {**os.environ, "TERM": "dumb"}
    child = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=environment, close_fds=True)
    os.close(other)
    shown, waiting, since = "", list(typed), 0
    while True:
        ready, _, _ = select.select([main], [], [], 60)
        try:
            part = os.read(main, 65536) if ready else b""
        except OSError:  # Linux: the other side is closed
            part = b""
        if not part:
            break
        shown += part.decode("utf-8", "replace")
        if prompt and shown[since:].endswith(prompt):
            since = len(shown)
            if not waiting:
                break
            os.write(main, (waiting.pop(0) + "\n").encode())
    child.terminate()
    child.wait()
    os.close(main)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[^\n]*\r(?!\n)|\r", "", shown)


def draw(text, command, prompt, columns):
    lines = []
    for line in text.expandtabs(8).rstrip("\n").split("\n"):
        while len(line) > columns:
            lines.append(line[:columns])
            line = line[columns:]
        lines.append(line)
    lines.insert(0, "$ " + " ".join("'%s'" % c if " " in c else c for c in command))
    wide, high = columns * LETTER + 20, (len(lines) + 1) * LINE + 14
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" width="{wide:.0f}" '
           f'height="{high:.0f}"><rect width="100%" height="100%" rx="6" fill="#1d2330"/>'
           '<g font-family="monospace" font-size="12" fill="#d7dae0" xml:space="preserve">']
    for k, line in enumerate(lines):
        colour = ' fill="#9fd08c"' if k == 0 or (prompt and line.startswith(prompt.strip())) else ""
        out.append(f'<text x="10" y="{(k + 1) * LINE + 6:.1f}"{colour}>{html.escape(line)}</text>')
    return "\n".join(out) + "\n</g></svg>\n"


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("out")
    options.add_argument("--type", action="append", default=[])
    options.add_argument("--prompt", default="")
    options.add_argument("--columns", type=int, default=130)
    options.add_argument("--shown", help="the command as the picture has it")
    options.add_argument("command", nargs="+")
    chosen = options.parse_args()
    text = run(chosen.command, chosen.type, chosen.prompt, chosen.columns)
    with open(chosen.out, "w", encoding="utf-8") as f:
        f.write(draw(text, chosen.shown.split(" ") if chosen.shown else chosen.command, chosen.prompt, chosen.columns))


if __name__ == "__main__":
    main()
