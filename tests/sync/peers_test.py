#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-sync across GPUs and towards the host: silent on the handshakes of cubins/peers that are right, in every place
of data and flag and under every seed, and each that lacks something is found, by kind, with the scope that would do.

usage: peers_test.py SASSEMU ROOT [--seeds N]
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "caches"))
import peer_plans  # noqa: E402

SILENT_TOO = [("send_block", "receive_block")]


def block_plan(root, arch, sender, receiver, data, flag):
    """32 threads a side."""
    p = peer_plans.handshake(root, arch, "send", "receive", data, flag)
    for name in "data", "seen":
        p["buffers"][name]["bytes"] = 128
    p["launches"] = [
        peer_plans.kernel(receiver, 1, ["data", "flag", "seen"], 32),
        peer_plans.kernel(sender, 0, ["data", "flag", 7], 32),
    ]
    return p


def count_plan(root, arch, one, other):
    return peer_plans.plan(
        root,
        arch,
        {"sum": {"bytes": 4, "kind": "host"}},
        [peer_plans.kernel(one, 0, ["sum"], 2), peer_plans.kernel(other, 1, ["sum"], 2)],
    )


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("root")
    p.add_argument("--seeds", type=int, default=4)
    a = p.parse_args()
    wrong, tried = [], 0

    def check(folder, name, plan, kind):
        path, report = peer_plans.write(folder, "plan", plan), os.path.join(folder, "report.json")
        r = subprocess.run(
            [a.program, "check-sync", path, "--json", report, "--seeds", str(a.seeds)], capture_output=True, text=True
        )
        if not os.path.exists(report):
            return wrong.append(f"{name}: no report, exit code {r.returncode}: {r.stdout}{r.stderr}")
        with open(report) as f:
            found = json.load(f)["findings"]
        os.remove(report)
        kinds = sorted({f["kind"] for f in found if f["as_commonly_relied_on"]})
        if r.returncode != (6 if kind else 0) or (kind not in kinds if kind else found):
            return wrong.append(
                f"{name}: exit code {r.returncode}, wanted {kind}, found "
                f"{[(f['kind'], f['as_commonly_relied_on'], f['missing']) for f in found]}"
            )
        text = json.dumps(found) + r.stdout
        if kind and "sys" not in text:
            wrong.append(f"{name}: does not name the scope: {text}")
        if kind and ("host ->" in name or "-> host" in name) and "the host" not in text:
            wrong.append(f"{name}: does not name the host: {text}")

    with tempfile.TemporaryDirectory() as folder:
        for arch in "sm_80", "sm_90":
            for (sender, receiver, kind), (data, flag) in itertools.product(
                peer_plans.HANDSHAKES, itertools.product(("0", "1", "host"), repeat=2)
            ):
                if arch == "sm_80" and data != flag:
                    continue
                check(
                    folder,
                    f"{sender} -> {receiver}, data {data}, flag {flag}, {arch}",
                    peer_plans.handshake(a.root, arch, sender, receiver, data, flag),
                    kind,
                )
                tried += 1
            for (sender, receiver), data in itertools.product(SILENT_TOO, ("0", "1", "host")):
                check(
                    folder,
                    f"{sender} -> {receiver}, data {data}, {arch}",
                    block_plan(a.root, arch, sender, receiver, data, "host"),
                    None,
                )
                tried += 1
            for one, other in itertools.product(("count", "BUG_count_device"), repeat=2):
                kind = None if one == other == "count" else "scope-too-narrow"
                check(folder, f"{one} beside {other}, {arch}", count_plan(a.root, arch, one, other), kind)
                tried += 1
    for line in wrong[:25]:
        print(line[:1500], file=sys.stderr)
    print(f"{tried} plans, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
