#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that mpirun starts: eight on one machine, and what goes wrong with them.

    launchers_test.py SASSEMU ROOT LINK_RANK
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from ranks_test import check, relay, write_plan
import ranks_test

LONGEST = 120  # seconds until a job is taken for one that hangs
SKIPPED = 77


class Args:
    def __init__(self, argv):
        self.program, self.root, self.link_rank = (os.path.abspath(path) for path in argv)


def mpirun(ranks, *command):
    """Exit code and output of a job, that of each rank by itself; one that hangs is a failure, and ended."""
    start = ["mpirun", "--oversubscribe", "-np", str(ranks)] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
    with tempfile.TemporaryDirectory() as folder:
        start += ["--output-filename", folder]
        with subprocess.Popen([*start, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              stdin=subprocess.DEVNULL) as job:
            try:
                both = job.communicate(timeout=LONGEST)[0]
            except subprocess.TimeoutExpired:
                job.terminate()  # and mpirun its ranks
                both = job.communicate()[0]
                check(False, f"{command} hangs: {both}")
        output = "".join(path.read_text() for path in sorted(pathlib.Path(folder).rglob("std*")))
        return job.returncode, output or both


def eight(args, folder):
    plan = write_plan(args, folder, "eight", relay(8, 3))
    code, output = mpirun(8, args.program, "run", "--ranks", plan)
    check(code == 0 and "message: 32 u32 elements equal" in output, f"8 ranks: {code} {output}")
    for rank in range(8):
        check(f", rank {rank} of 8\n" in output, f"rank {rank} says nothing: {output}")
        check(f"launch {rank + 1}/8 relay" in output, f"launch {rank + 1} is nobody's: {output}")
    code, output = mpirun(1, args.program, "run", "--ranks", plan)
    check(code == 0 and output.count("launch ") == 8, f"1 rank: {code} {output}")
    # One job may run one plan after the other, and its ranks are told apart by their reports.
    again = f'"{args.program}" run --ranks --json "{plan}" && "{args.program}" run --ranks --json "{plan}"'
    code, output = mpirun(2, "sh", "-c", again)
    reports = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    check(code == 0 and sorted(r["rank"] for r in reports) == [0, 0, 1, 1], f"twice: {code} {output}")
    check(all(sum("elsewhere" not in launch for launch in r["launches"]) == 4 for r in reports), output)


def exit_codes(args, folder):
    """mpirun's is that of the rank that ends badly, and all have said what they have to by then."""
    plan = relay(4, 1)
    plan["buffers"]["message"]["expect"]["values"][7] ^= 1
    code, output = mpirun(4, args.program, "run", "--ranks", write_plan(args, folder, "wrong", plan))
    check(code == 1 and output.count("result: ok") == 3 and "result: DIFFERENT" in output, f"{code} {output}")


def wrong_jobs(args, folder):
    plan = write_plan(args, folder, "two", relay(2, 3))
    program = f'"{args.program}" run --ranks'
    late = "error: rank 1: is not there after 2 s"
    for command, ranks, line in (
            (f'{program} "{plan}" --rank 0', 1, "--rank: the launcher numbers the ranks"),
            (f'{program} "{plan}"', 3, "--ranks: 3 ranks for the plan's 2 GPUs"),
            # Ranks that do not come as far as to say where they listen.
            (f'test $PMIX_RANK = 0 || P=/none; {program} "$P{plan}"', 2,
             "rank 1: has ended before it said where it listens"),
            (f'test $PMIX_RANK = 0 || kill -9 $$; {program} "{plan}"', 2, ""),
            (f'test $PMIX_RANK = 0 || exit 0; exec "{args.link_rank}" 2', 2, late)):
        code, output = mpirun(ranks, "sh", "-c", command)
        # mpirun ends all when one leaves without PMIx after another has begun with it.
        check(code != 0 and (line in output or line is late and "exiting improperly" in output), f"{command}: {code} {output}")
    # Two processes of one rank: the first is as it was. The claim is what the second runs into.
    second = f'''if [ $PMIX_RANK = 0 ]; then
        {program} "{plan}" & first=$!
        until grep -q "sassemu rank 0 of $PMIX_NAMESPACE" /proc/net/unix; do :; done
        {program} "{plan}"; echo "second: $?"; touch "{folder}/second"; wait $first
    else
        until [ -e "{folder}/second" ]; do :; done; {program} "{plan}"
    fi'''
    code, output = mpirun(2, "sh", "-c", second)
    check(code == 0 and "rank 0: two processes of the job have it" in output and "second: 2" in output and
          output.count("result: ok") == 2, f"two with one number: {code} {output}")
    alone = subprocess.run([args.program, "run", "--ranks", plan], capture_output=True, text=True, check=False,
                           env={**os.environ, "PMIX_NAMESPACE": "none", "PMIX_RANK": "0"})
    check(alone.returncode == 2 and "PMIx" in alone.stderr and alone.stderr.count("\n") == 1,
          f"a launcher that is gone: {alone.stderr}")
    alone = subprocess.run([args.program, "run", "--ranks", plan], capture_output=True, text=True, check=False,
                           env={**os.environ, "PMI_RANK": "0"})
    check(alone.returncode == 2 and "speaks PMI, and not PMIx" in alone.stderr, f"PMI: {alone.stderr}")


def main():
    args = Args(sys.argv[1:])
    if not shutil.which("mpirun"):
        print("skipped: there is no mpirun (Debian: openmpi-bin)")
        return SKIPPED
    code, output = mpirun(1, args.link_rank)
    if "built without it" in output:
        print("skipped: built without PMIx (Debian: libpmix-dev)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        for one in (eight, exit_codes, wrong_jobs):
            begin = time.monotonic()
            one(args, folder)
            print(f"{one.__name__}: {time.monotonic() - begin:.1f} s")
    return 1 if ranks_test.failures else 0


if __name__ == "__main__":
    sys.exit(main())
