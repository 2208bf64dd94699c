#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks in two network namespaces, two in each, as on two hosts: all that the link does, over TCP with TLS, while the
cable between them is as it should be, cut and joined again, and cut for good; then the same ranks, started by mpirun.

    netns_test.py LINK_RANK
"""
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

from ranks_test import check
import ranks_test

LONGEST = 60  # seconds until a rank is taken for one that hangs
SKIPPED = 77
HOSTS = [(f"sassemu-{os.getpid()}-{n}", f"10.213.7.{n + 1}") for n in (0, 1)]


def ip(*command, on=None):
    subprocess.run(["ip", *(["-n", on] if on else []), *command], check=True, capture_output=True, text=True)


def cable(state):
    ip("link", "set", "cable", state, on=HOSTS[1][0])


def build():
    for name, _ in HOSTS:
        ip("netns", "add", name)
    (first, _), (second, _) = HOSTS
    ip("link", "add", "cable", "netns", first, "type", "veth", "peer", "name", "cable", "netns", second)
    for name, address in HOSTS:
        ip("address", "add", address + "/24", "dev", "cable", on=name)
        ip("link", "set", "lo", "up", on=name)
        ip("link", "set", "cable", "up", on=name)


def demolish():
    for name, _ in HOSTS:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


class Ranks:
    """Rank r is on host r // 2."""

    def __init__(self, program, key, port):
        addresses = ",".join(f"tcp:{HOSTS[rank // 2][1]}:{port + rank}" for rank in range(4))
        self.all = [subprocess.Popen(["ip", "netns", "exec", HOSTS[rank // 2][0], program, str(rank), addresses, key],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
                    for rank in range(4)]

    def go(self):
        for rank in self.all:
            rank.stdin.write("again\n")

    def lines(self, what, seconds=LONGEST):
        """One of each rank, None where none has come in time."""
        end = time.monotonic() + seconds
        got = []
        for number, rank in enumerate(self.all):
            ready = select.select([rank.stdout], [], [], max(0, end - time.monotonic()))[0]
            got.append(rank.stdout.readline().strip() if ready else None)
            check(got[-1] is not None or seconds < LONGEST, f"{what}: rank {number} hangs")
        return got

    def end(self):
        for rank in self.all:
            rank.kill()
            rank.communicate()


def cut(program, folder):
    key = os.path.join(folder, "key")
    with open(key, "wb") as file:
        file.write(os.urandom(32))
    os.chmod(key, 0o600)
    ranks = Ranks(program, key, 21000)
    try:
        for what in ("the first exchange", "the second one"):
            got = ranks.lines(what)
            check(all(line and line.startswith("ok") for line in got), f"{what}: {got}")
            cable("up" if what == "the first exchange" else "down")
            ranks.go()
        # Nobody is through, and nobody gives up, for longer than a connection may say nothing.
        got = ranks.lines("a cable that is cut", seconds=2)
        check(got == [None] * 4, f"a cable that is cut: {got}")
        cable("up")
        got = ranks.lines("a cable that is joined again")
        check(all(line and line.startswith("ok") for line in got), f"joined again: {got}")
        cable("down")
        ranks.go()
        for rank, line in enumerate(ranks.lines("a cable that stays cut")):
            lost = "2 3" if rank < 2 else "0 1"
            check(re.match(rf"lost {lost}: rank [{lost}]: ", line or ""), f"stays cut, rank {rank}: {line}")
    finally:
        ranks.end()
        cable("up")


def launched(program, folder):
    """mpirun takes a namespace for a host: what it calls instead of ssh enters it."""
    agent = os.path.join(folder, "agent")
    with open(agent, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n"
                   f'case $1 in {HOSTS[0][1]}) on={HOSTS[0][0]} ;; *) on={HOSTS[1][0]} ;; esac\n'
                   "shift\n"
                   'exec ip netns exec $on unshare --uts sh -c "hostname $on; $*"\n')
    os.chmod(agent, 0o755)
    hosts = ",".join(f"{address}:2" for _, address in HOSTS)
    command = (f"hostname {HOSTS[0][0]}; "
               f"exec mpirun --allow-run-as-root --mca plm_rsh_agent {agent} --host {hosts} -np 4 {program}")
    with subprocess.Popen(["ip", "netns", "exec", HOSTS[0][0], "unshare", "--uts", "sh", "-c", command],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as job:
        try:
            output = job.communicate(timeout=LONGEST)[0]
        except subprocess.TimeoutExpired:
            job.terminate()
            output = job.communicate()[0]
            check(False, f"mpirun over two hosts hangs: {output}")
    for rank in range(4):
        good = re.search(rf"ok, rank {rank} of 4 at tcp:{HOSTS[rank // 2][1]}:", output)
        check(good, f"rank {rank} by mpirun: {output}")
    check(job.returncode == 0, f"mpirun over two hosts: {job.returncode} {output}")


def main():
    program = os.path.abspath(sys.argv[1])
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("skipped: network namespaces need root and `ip` (Debian: iproute2)")
        return SKIPPED
    try:
        build()
    except subprocess.CalledProcessError as error:
        demolish()
        print("skipped: no network namespaces here:", error.stderr.strip())
        return SKIPPED
    try:
        with tempfile.TemporaryDirectory() as folder:
            tests = [cut] + ([launched] if shutil.which("mpirun") else [])
            for one in tests:
                begin = time.monotonic()
                one(program, folder)
                print(f"{one.__name__}: {time.monotonic() - begin:.1f} s")
            if len(tests) == 1:
                print("mpirun over two hosts is not tested: there is none (Debian: openmpi-bin)")
    finally:
        demolish()
    return 1 if ranks_test.failures else 0


if __name__ == "__main__":
    sys.exit(main())
