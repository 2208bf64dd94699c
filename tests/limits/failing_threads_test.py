#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No thread can be had from the k-th on, at every k: the work is done without, or a line says why not; never exit code 7, a signal or a process that
does not end. failing_threads_test.py SASSEMU FAILING_CALLS.so"""
import os
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM, PRELOAD = sys.argv[1:3]
MOST = 12  # threads; what asks for more is like those


def cubin(name):
    return os.path.join(ROOT, "cubins", name)


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Command:
    def __init__(self, name, *processes, given=b""):
        self.name, self.processes, self.given = name, processes, given

    def run(self, **environment):
        """Of each process its end; the first is the one that gets no threads."""
        started = [subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    env={**os.environ, "LD_PRELOAD": PRELOAD, **environment} if not i else None)
                   for i, arguments in enumerate(self.processes)]
        ends = []
        for process in started:
            if ends and ends[0][0] and process.poll() is None:  # it would wait for the first for long
                time.sleep(0.3)
                process.terminate()
            try:
                out, err = process.communicate(self.given, timeout=60)
                ends.append((process.returncode, out, err))
            except subprocess.TimeoutExpired:
                process.kill()
                ends.append((None, *process.communicate()))
        return ends


def main():
    folder = tempfile.mkdtemp()
    threads = ("--threads", "5", "--time-limit", "50")
    saxpy = (cubin("saxpy/plan.json"), "--arch", "sm_90")
    litmus = os.path.join(folder, "t.jsonl")
    tests = os.path.join(ROOT, "tests/litmus")
    with open(os.path.join(tests, sorted(n for n in os.listdir(tests) if n.endswith(".jsonl"))[0]), "rb") as file:
        lines = [line for line in file if line.startswith(b"{")][:6]
    with open(litmus, "wb") as file:
        file.writelines(lines)
    two = cubin("flight/two_gpus.json")

    def ranks(peers):
        return [("run", "--ranks", two, "--rank", r, "--peer", peers, *threads) for r in "01"]
    commands = [
        Command("a launch", ("run", *saxpy, *threads)),
        Command("a launch, followed", ("run", *saxpy, "--progress=always", *threads)),
        Command("launches in flight", ("run", cubin("flight/streams.json"), *threads)),
        Command("a trace", ("run", *saxpy, "--plugin", f"trace:file={folder}/trace", *threads)),
        Command("a checker", ("check-sync", *saxpy, *threads)),
        Command("another process", ("run", *saxpy, "--model", "peer", *threads)),
        Command("a sandbox", ("run", *saxpy, "--sandbox", *threads)),
        Command("litmus tests", ("litmus", litmus, *threads)),
        Command("the debugger", ("debug", *saxpy), given=b"continue\nquit\n"),
        Command("ranks", *ranks(f"unix:{folder}/a,unix:{folder}/b")),
        Command("ranks by messages", *ranks(",".join(f"tcp:127.0.0.1:{port}" for port in free_ports(2)))),
    ]
    complaints, asked = [], os.path.join(folder, "asked")
    for command in commands:
        open(asked, "wb").close()
        first = command.run(THREADS_TO=asked)
        with open(asked, "rb") as file:
            count = file.read()
        if any(code != 0 for code, _, _ in first):
            complaints.append(f"{command.name}: {first}")
        if not count or b"t" in count:
            complaints.append(f"{command.name}: the threads asked for: {count}")
        for k in range(1, min(len(count), MOST) + 1):
            ends = command.run(FAIL_THREAD=str(k), THREADS_TO=asked)
            for rank, (code, out, err) in enumerate(ends):
                allowed = (0, 2, 4, 130) if rank else (0, 2, 4)
                if code not in allowed or code and not err and not out:
                    complaints.append(f"{command.name}, no thread from {k} on: process {rank}: exit code {code}: {err[-300:]!r}")
        with open(asked, "rb") as file:
            if b"t" in file.read():
                complaints.append(f"{command.name}: libtbb asked for a thread")
    print("\n".join(complaints[:40]))
    return len(complaints) != 0


sys.exit(main())
