# SPDX-License-Identifier: Apache-2.0
"""Plans of cubins/peers/peers.cu: handshakes on two GPUs and the host, in every place that data and flags can have."""

import json
import os

PLACES = {"0": {}, "1": {"gpu": 1}, "host": {"kind": "host"}, "peer": {"gpu": 1, "kind": "peer"}}

# Who sends, who receives ("host": the host's steps), and what is wrong with it; None: nothing.
HANDSHAKES = [
    ("send", "receive", None),
    ("ring", "receive", None),
    ("send", "host", None),
    ("ring", "host", None),
    ("host", "receive", None),
    ("BUG_send_device", "receive", "scope-too-narrow"),
    ("BUG_ring_device", "receive", "scope-too-narrow"),
    ("BUG_ring_device", "host", "scope-too-narrow"),
    ("BUG_send_device", "host", "scope-too-narrow"),
    ("send", "BUG_receive_device", "scope-too-narrow"),
    ("host", "BUG_receive_device", "scope-too-narrow"),
    ("BUG_send_relaxed", "receive", "missing-release"),
    ("BUG_ring", "receive", "missing-release"),
    ("BUG_ring", "host", "missing-release"),
    ("send", "BUG_receive_relaxed", "missing-acquire"),
    ("host", "BUG_receive_relaxed", "missing-acquire"),
]


def plan(root, arch, buffers, launches, **more):
    return {
        "arch": arch,
        "module": os.path.join(os.path.abspath(root), "cubins", "peers", "{arch}.cubin"),
        "timeLimit": 60,
        "gpus": 2,
        "peers": True,
        "buffers": buffers,
        "launches": launches,
        **more,
    }


def kernel(name, gpu, args, block=1):
    return {
        "kernel": name,
        "gpu": gpu,
        "grid": [1],
        "block": [block],
        "args": [{"buffer": a} if isinstance(a, str) else {"u32": a} for a in args],
    }


def handshake(root, arch, sender, receiver, data, flag):
    """GPU 0 sends and GPU 1 receives, or the host in place of one; `seen` is what came, 7 if all is well."""
    buffers = {
        "data": {"bytes": 4, **PLACES[data]},
        "flag": {"bytes": 4, **PLACES[flag]},
        "seen": {"bytes": 4, "gpu": 1, "fill": "0xff"},
    }
    launches, host = [], []
    if receiver != "host":
        launches.append(kernel(receiver, 1, ["data", "flag", "seen"]))
    if sender == "host":
        host = [
            {"write": {"buffer": "data", "type": "u32", "values": [7]}},
            {"write": {"buffer": "flag", "type": "u32", "values": [1]}},
        ]
    else:
        launches.append(kernel(sender, 0, ["data", "flag", 7]))
    if receiver == "host":
        host = [
            {"waitUntil": {"buffer": "flag", "test": "==", "value": 1}},
            {"read": {"buffer": "data", "type": "u32"}},
        ]
    seen = "host:r0" if receiver == "host" else "seen"
    return plan(root, arch, buffers, launches, condition=f"{seen}!=7", **({"host": host} if host else {}))


def write(folder, name, content):
    path = os.path.join(folder, name + ".json")
    with open(path, "w") as f:
        json.dump(content, f)
    return path
