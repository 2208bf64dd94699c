#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the plans of cubins/two_gpus on two GPUs that reach each other's memory (NVLink or PCIe), and records what came.

  two_gpus.py OUT.json [NAME...] [--rounds N]     on a machine with two GPUs of sm_90 (needs the driver's libcuda.so.1, numpy)
  two_gpus.py --show OUT.json                     anywhere: the differences, and a table of the litmus outcomes

A plan with expectations is run five times, and each result compared; a litmus plan (message_*, stores_*) is run with N rounds
(20,000) and its outcomes are counted. What the chip showed must be among what `sassemu litmus` and the model `ptx` allow:

  message_sys      (flag 1, data 0) never             stores_fenced    (0, 0) never
  message_gpu      the scope is too narrow: allowed   stores_relaxed   (0, 0) allowed
  message_relaxed  allowed

count_host adds to memory of the host from two GPUs and the host at once. Over PCIe that is no atomic operation (the attribute
hostNativeAtomicSupported is 0), and sums are lost; two_gpus.json holds what two H100s gave.

Here: streams, events, host steps and peer access of a plan over the driver API. What a plan is besides is cubins/record.py's.
"""

import ctypes
import hashlib
import json
import os
import struct
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "cubins"))
import record  # noqa: E402

PLANS = os.path.join(ROOT, "cubins/two_gpus")
EXACT = ["all_reduce", "bulk", "count", "count_host", "halo", "queue", "streams"]
MESSAGES = ["message_sys", "message_gpu", "message_relaxed"]
STORES = ["stores_fenced", "stores_relaxed"]
TESTS = {">=": 0, "==": 1, "&": 2, "nor": 3}  # of cuStreamWaitValue
PORTABLE_MAPPED = 1 | 2  # of cuMemHostAlloc
NON_BLOCKING = 1


class Machine:
    """GPUs with a context and a module each."""

    def __init__(self, plan, module):
        self.driver = record.Driver()
        self.contexts, self.modules = [], []
        for index in range(plan["gpus"]):
            device, context = ctypes.c_int(), ctypes.c_void_p()
            self.call("cuDeviceGet", ctypes.byref(device), index)
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self.contexts.append(context)
        for a, one in enumerate(self.contexts):
            self.on(a)
            for b, other in enumerate(self.contexts):
                if a != b:
                    try:
                        self.call("cuCtxEnablePeerAccess", other, 0)
                    except record.DriverError as e:
                        if e.code != 704:  # it is on already
                            raise
            handle = ctypes.c_void_p()
            self.call("cuModuleLoad", ctypes.byref(handle), module.encode())
            self.modules.append(handle)

    def call(self, name, *args):
        return self.driver.call(name, *args)

    def on(self, gpu):
        self.call("cuCtxSetCurrent", self.contexts[gpu])


class Run:
    def __init__(self, machine, plan):
        self.m, self.plan, self.at, self.host = machine, plan, {}, {}
        self.streams, self.events = {}, {}
        for name, b in plan["buffers"].items():
            self.place(name, b)
        for name, s in plan.get("streams", {}).items():
            self.streams[name] = self.stream(s.get("gpu", 0))
        self.own = [self.stream(g) for g in range(plan["gpus"])]

    def stream(self, gpu):
        self.m.on(gpu)
        s = ctypes.c_void_p()
        self.m.call("cuStreamCreate", ctypes.byref(s), NON_BLOCKING)
        return gpu, s

    def place(self, name, b):
        self.m.on(b.get("gpu", 0))
        first = record.contents(b, b["bytes"], PLANS)
        if b.get("kind") == "host":
            p, d = ctypes.c_void_p(), ctypes.c_uint64()
            self.m.call("cuMemHostAlloc", ctypes.byref(p), ctypes.c_size_t(b["bytes"]), PORTABLE_MAPPED)
            ctypes.memmove(p, bytes(first), b["bytes"])
            self.m.call("cuMemHostGetDevicePointer_v2", ctypes.byref(d), p, 0)
            self.host[name], self.at[name] = p.value, d.value
        else:
            self.at[name] = self.m.driver.allocate(b["bytes"])
            self.m.driver.write(self.at[name], bytes(first))

    def read(self, name):
        b = self.plan["buffers"][name]
        if name in self.host:
            return ctypes.string_at(self.host[name], b["bytes"])
        self.m.on(b.get("gpu", 0))
        return self.m.driver.read(self.at[name], b["bytes"])

    def free(self):
        for name, b in self.plan["buffers"].items():
            self.m.on(b.get("gpu", 0))
            if name in self.host:
                self.m.call("cuMemFreeHost", ctypes.c_void_p(self.host[name]))
            else:
                self.m.call("cuMemFree_v2", ctypes.c_uint64(self.at[name]))
        for gpu, s in list(self.streams.values()) + self.own:
            self.m.on(gpu)
            self.m.call("cuStreamDestroy_v2", s)

    def word(self, place):
        return self.at[place["buffer"]] + place.get("offset", 0)

    def launch(self, l):
        gpu, stream = self.streams[l["stream"]] if "stream" in l else self.own[l.get("gpu", 0)]
        self.m.on(gpu)
        for event in l.get("after", []):
            self.m.call("cuStreamWaitEvent", stream, self.events[event], 0)
        if "copy" in l:
            c = l["copy"]
            self.m.call("cuMemcpyAsync", ctypes.c_uint64(self.word(c["to"])), ctypes.c_uint64(self.word(c["from"])),
                        ctypes.c_size_t(c["bytes"]), stream)
        elif "waitValue" in l:
            w = l["waitValue"]
            self.m.call("cuStreamWaitValue32_v2", stream, ctypes.c_uint64(self.word(w)), ctypes.c_uint32(w["value"]),
                        TESTS[w["test"]])
        elif "writeValue" in l:
            w = l["writeValue"]
            self.m.call("cuStreamWriteValue32_v2", stream, ctypes.c_uint64(self.word(w)), ctypes.c_uint32(w["value"]), 0)
        else:
            self.kernel(gpu, stream, l)
        if "event" in l:
            event = ctypes.c_void_p()
            self.m.call("cuEventCreate", ctypes.byref(event), 2)
            self.m.call("cuEventRecord", event, stream)
            self.events[l["event"]] = event

    def kernel(self, gpu, stream, l):
        function = ctypes.c_void_p()
        self.m.call("cuModuleGetFunction", ctypes.byref(function), self.m.modules[gpu], l["kernel"].encode())
        held = []
        for a in l["args"]:
            held.append(ctypes.c_uint64(self.at[a["buffer"]]) if "buffer" in a else ctypes.c_int32(a["i32"]))
        pointers = (ctypes.c_void_p * len(held))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in held])
        self.m.call("cuLaunchKernel", function, l["grid"][0], 1, 1, l["block"][0], 1, 1, 0, stream, pointers, None)

    def step(self, s):
        """A host step. Of an atomic on memory of the host: the interpreter has none, so the driver's lock-free helper of GCC."""
        if "write" in s:
            w = s["write"]
            data = struct.pack("<%dI" % len(w["values"]), *w["values"])
            ctypes.memmove(self.host[w["buffer"]] + w.get("offset", 0), data, len(data))
        elif "waitUntil" in s:
            w = s["waitUntil"]
            seen, until = ctypes.c_uint32.from_address(self.host[w["buffer"]]), time.time() + 30
            while seen.value != w["value"]:
                if time.time() > until:
                    raise TimeoutError("waitUntil of '%s'" % w["buffer"])
        elif "atomic" in s:
            atomics = ctypes.CDLL("libatomic.so.1")
            add = getattr(atomics, "__atomic_fetch_add_4")  # in a class the name alone would be mangled
            add(ctypes.c_void_p(self.host[s["atomic"]["buffer"]]), s["atomic"]["value"], 5)

    def run(self):
        for l in self.plan["launches"]:
            self.launch(l)
        for s in self.plan.get("host", []):
            self.step(s)
        for gpu, stream in list(self.streams.values()) + self.own:
            self.m.on(gpu)
            self.m.call("cuStreamSynchronize", stream)


def differences(run):
    wrong = []
    for name, b in run.plan["buffers"].items():
        expect = b.get("expect")
        if not expect:
            continue
        got = run.read(name)
        if "sha256" in expect:
            if hashlib.sha256(got).hexdigest() != expect["sha256"]:
                wrong.append("%s: sha256 %s" % (name, hashlib.sha256(got).hexdigest()))
            continue
        size = 8 if expect["type"] == "u64" else 4
        values = list(struct.unpack("<%d%s" % (len(got) // size, "Q" if size == 8 else "I"), got))
        if values != expect["values"]:
            first = next(i for i, (a, b) in enumerate(zip(values, expect["values"])) if a != b)
            wrong.append("%s[%d]: %d, expected %d" % (name, first, values[first], expect["values"][first]))
    return wrong


def load(name, rounds):
    with open(os.path.join(PLANS, name + ".json")) as f:
        plan = json.load(f)
    if name in MESSAGES + STORES:
        for b in "data", "flag", "seen0", "seen1":
            if b in plan["buffers"]:
                plan["buffers"][b]["bytes"] = (4 if b.startswith("seen") else 128) * rounds
        for l in plan["launches"]:
            l["args"][5]["i32"] = rounds
    return plan


def one(name, rounds):
    plan = load(name, rounds)
    machine = Machine(plan, os.path.join(PLANS, "sm_90.cubin"))
    result = {"gpus": [], "driver": machine.driver.version()}
    result["gpus"] = [machine.driver.name()] * plan["gpus"]
    if name in EXACT:
        result["differences"] = []
        for _ in range(5):
            run = Run(machine, plan)
            run.run()
            result["differences"].append(differences(run))
            run.free()
        return result
    run = Run(machine, plan)
    run.run()
    if name in MESSAGES:
        counts = struct.unpack("<4I", run.read("counts"))
        result["outcomes"] = {"flag %d, data %d" % (i // 2, i % 2): c for i, c in enumerate(counts)}
    else:
        seen = [struct.unpack("<%dI" % rounds, run.read("seen%d" % g)) for g in (0, 1)]
        result["outcomes"] = {}
        for pair in zip(*seen):
            key = "%d, %d" % pair
            result["outcomes"][key] = result["outcomes"].get(key, 0) + 1
    run.free()
    return result


def show(path):
    with open(path) as f:
        results = json.load(f)
    for name, r in results.items():
        if "error" in r:
            print("%-16s %s" % (name, r["error"]))
        elif "outcomes" in r:
            print("%-16s %s" % (name, "  ".join("%s: %d" % o for o in sorted(r["outcomes"].items()))))
        else:
            wrong = [d for run in r["differences"] for d in run]
            print("%-16s %d runs, %s" % (name, len(r["differences"]), wrong[0] if wrong else "all equal"))


def main(args):
    if args[:1] == ["--show"]:
        return show(args[1])
    rounds = 20000
    if "--rounds" in args:
        at = args.index("--rounds")
        rounds = int(args[at + 1])
        del args[at : at + 2]
    out, names = args[0], args[1:] or EXACT + MESSAGES + STORES
    results = {}
    for name in names:
        try:
            results[name] = one(name, rounds)
        except (record.DriverError, TimeoutError, OSError) as e:  # the others go on
            results[name] = {"error": str(e)}
        with open(out, "w") as f:
            json.dump(results, f, indent=1)
    show(out)


if __name__ == "__main__":
    main(sys.argv[1:])
