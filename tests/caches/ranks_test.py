#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same as peers_test.py with the two GPUs in two processes: who has memory performs what the other asks for, and
each holds its own caches and queues. What runs show is what exploration of one machine shows. Also a machine of the
SDK's (memory_model), and deadlocks.

usage: ranks_test.py SASSEMU ROOT MEMORY_MODEL|weak [--seeds N]
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile

import peer_plans
import peers_test


class Ranks(peers_test.Test):
    in_order = ()
    deadlock = "deadlock in kernel 'receive'", 2

    def run_plan(self, path, *options):
        with tempfile.TemporaryDirectory() as sockets:
            peers = f"unix:{sockets}/0,unix:{sockets}/1"
            ranks = [
                subprocess.Popen(
                    [self.program, "run", path, "--ranks", "--rank", str(n), "--peer", peers, *options],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                for n in (0, 1)
            ]
            ended = []
            for one in ranks:
                try:
                    out, error = one.communicate(timeout=120)
                except subprocess.TimeoutExpired:
                    one.kill()
                    out, error = one.communicate()
                    self.wrong.append(f"{path} {options}: a rank hangs")
                ended.append((out, error, one.returncode))
        return subprocess.CompletedProcess(
            [path, *options], next((c for _, _, c in ended if c), 0), *("".join(texts) for texts in zip(*(e[:2] for e in ended)))
        )

    # What each of the SDK's machines has in order stays so.
    def others(self, model):
        for data, flag in itertools.product(("0", "1", "host"), repeat=2):
            plan = peer_plans.handshake(self.root, "sm_90", "send", "receive", data, flag)
            path = peer_plans.write(self.folder, "other", plan)
            for seed in range(1, self.seeds + 1):
                r, (seen,) = self.run(path, ["seen"], "--model", model, "--seed", str(seed))
                self.expect(r.returncode == 0 and seen == [7], f"{model}, {data}, {flag}: {seen} {r.stdout}{r.stderr}")


class WeakRanks(Ranks):
    """Under `weak` there is nothing to compare with: what runs show is what `ptx` allows."""

    model = "weak"

    def handshake(self, arch, sender, receiver, bug, data, flag):
        path = peer_plans.write(
            self.folder, "handshake", peer_plans.handshake(self.root, arch, sender, receiver, data, flag)
        )
        where = f"{sender} -> {receiver}, data {data}, flag {flag}, {arch}"
        shown = self.shown(path, receiver, where)
        self.expect(bug or shown == {7}, f"{where}: runs show {shown}, which is not allowed")
        return bug, shown != {7}

    def stores(self):
        """Each stores and reads what the other stores, 16 times: with fence.sc between one of them sees it."""
        rounds, missed = 16, {"stores_fenced": 0, "stores_relaxed": 0}
        module = os.path.join(os.path.abspath(self.root), "cubins", "two_gpus", "{arch}.cubin")
        # How the two processes run side by side decides what shows: what may be missed is asked for until it is.
        for kernel, seed, (data, flag) in itertools.product(
            missed, range(1, self.seeds + 16), itertools.product(("0", "1"), repeat=2)
        ):
            if seed > self.seeds and (kernel == "stores_fenced" or missed[kernel]):
                continue
            buffers = {
                "data": {"bytes": 128 * rounds, **peer_plans.PLACES[data]},
                "flag": {"bytes": 128 * rounds, **peer_plans.PLACES[flag]},
                "meeting": {"bytes": 4},
                "seen0": {"bytes": 4 * rounds},
                "seen1": {"bytes": 4 * rounds, "gpu": 1},
            }
            launches = [
                peer_plans.kernel(kernel, gpu, ["data", "flag", "meeting", f"seen{gpu}", gpu, rounds]) for gpu in (0, 1)
            ]
            plan = {**peer_plans.plan(self.root, "sm_90", buffers, launches), "module": module}
            path = peer_plans.write(self.folder, "stores", plan)
            r, seen = self.run(path, ["seen0", "seen1"], "--model", self.model, "--seed", str(seed))
            self.expect(r.returncode == 0 and all(seen), f"{kernel}, {data}, {flag}, {seed}: {r.stdout}{r.stderr}")
            missed[kernel] += sum(one == other == 0 for one, other in zip(*(s or [] for s in seen)))
        self.expect(not missed["stores_fenced"] and missed["stores_relaxed"], f"both read the old value: {missed}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("root")
    p.add_argument("memory_model", help="a plugin's file, or `weak`")
    p.add_argument("--seeds", type=int, default=1)
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        t = WeakRanks(a, folder) if a.memory_model == "weak" else Ranks(a, folder)
        t.kinds("sm_90")
        t.copies(tensors=("0", "host"))
        if a.memory_model == "weak":
            t.stores()
        else:
            t.others(os.path.abspath(a.memory_model))
        t.deadlocks()
        wrong_run = tried = 0
        for (sender, receiver, bug), (data, flag) in itertools.product(
            peer_plans.HANDSHAKES, itertools.product(("0", "1", "host"), repeat=2)
        ):
            wrong_run += t.handshake("sm_90", sender, receiver, bug, data, flag)[1]
            tried += 1
    t.expect(wrong_run > 5, f"of what is wrong runs show {wrong_run}")
    for line in t.wrong[:20]:
        print(line, file=sys.stderr)
    print(f"{tried} handshakes, {wrong_run} of them wrong in runs; {t.runs} runs; {len(t.wrong)} wrong")
    return 1 if t.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
