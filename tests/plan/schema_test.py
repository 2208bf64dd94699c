#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema accepts every committed plan and refuses what the reader refuses.

Here: schema against plans. Not here: the reader's own errors (read_plan_test.cpp).
"""
import copy
import glob
import json
import os
import sys

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOOD = {"$schema": "plan.schema.json", "capsule": {"version": 1, "gpu": "H100"}, "arch": ["sm_75", "sm_90a"], "module": "{arch}.cubin",
        "buffers": {"a": {"bytes": "0x10", "fill": 0}, "h": {"bytes": 16, "heap": True}},
        "globals": {"g": {"address": "0x7f0000000000", "fill": 0}, "g@1": {"symbol": "g", "module": 1, "fill": 0}},
        "handles": [{"handle": "0x100001", "texture": {"buffer": "a", "offset": 4, "width": 2, "format": "u32", "linear": True}},
                    {"handle": 2, "surface": {"buffer": "a", "width": 1, "height": 2, "pitch": 8, "format": "u32"}},
                    {"handle": 3, "texture": {"buffer": "a", "width": 2, "height": 2, "layers": 1, "cubemap": True, "mipmapLevels": 2, "format": "u8", "readMode": "normalized",
                                              "sRGB": True, "seamlessCubemap": True, "normalizedCoords": True, "borderColor": [0.5, 1], "mipmapFilter": "linear", "mipmapLevelBias": -0.5,
                                              "minMipmapLevelClamp": 0.5, "maxMipmapLevelClamp": 1, "maxAnisotropy": 2, "disableTrilinearOptimization": True}}],
        "launches": [{"kernel": "k", "grid": [1], "block": [32, 1, 1], "args": [{"buffer": "a", "offset": 4}, {"u64": "7"},
                                                                           {"bytes": "00" * 16, "pointers": [{"offset": 8, "buffer": "a", "add": 1}]},
                                                                           {"bytes": "00" * 136, "tensorMaps": [{"offset": 8, "tensorMap": {
                                                                               "buffer": "a", "type": "u8", "dims": [16], "strides": [], "box": [16]}}]}]}]}


def damaged(change):
    plan = copy.deepcopy(GOOD)
    change(plan)
    return plan


BAD = {
    "no architectures": damaged(lambda p: p.update(arch=[])),
    "an architecture twice": damaged(lambda p: p.update(arch=["sm_90", "sm_90"])),
    "unknown field": damaged(lambda p: p.update(lunches=[])),
    "unknown field of a buffer": damaged(lambda p: p["buffers"]["a"].update(fil=0)),
    "two contents": damaged(lambda p: p["buffers"]["a"].update(file="f")),
    "no size": damaged(lambda p: p["buffers"]["a"].pop("bytes")),
    "no launches": damaged(lambda p: p.pop("launches")),
    "module and modules": damaged(lambda p: p.update(modules=["n"])),
    "negative size": damaged(lambda p: p["buffers"]["a"].update(bytes=-1)),
    "four dimensions": damaged(lambda p: p["launches"][0].update(grid=[1, 1, 1, 1])),
    "two forms": damaged(lambda p: p["launches"][0]["args"].append({"i32": 1, "u32": 1})),
    "args and paramBytes": damaged(lambda p: p["launches"][0].update(paramBytes="00")),
    "addresses in a number": damaged(lambda p: p["launches"][0]["args"].append({"u64": 0, "pointers": [{"offset": 0, "buffer": "a"}]})),
    "a map in a number": damaged(lambda p: p["launches"][0]["args"].append({"u64": 0, "tensorMaps": []})),
    "odd bytes": damaged(lambda p: p["launches"][0]["args"].append({"bytes": "0"})),
    "a box and an image": damaged(lambda p: p["launches"][0]["args"].append({"tensorMap": {
        "buffer": "a", "type": "u8", "dims": [16, 1, 1], "strides": [16, 16], "box": [16, 1, 1], "im2col": {"lower": [0], "upper": [0], "channels": 16, "pixels": 1}}})),
    "status": damaged(lambda p: p.update(expect={"status": "fault:typo"})),
    "a capsule without a version": damaged(lambda p: p["capsule"].pop("version")),
    "a handle of nothing": damaged(lambda p: p["handles"][0].pop("texture")),
    "a handle of two things": damaged(lambda p: p["handles"][0].update(p["handles"][1])),
    "a surface in linear memory": damaged(lambda p: p["handles"][1]["surface"].update(linear=True)),
    "a surface with levels": damaged(lambda p: p["handles"][1]["surface"].update(mipmapLevels=2)),
    "a border of five colours": damaged(lambda p: p["handles"][0]["texture"].update(borderColor=[0] * 5)),
    "two expectations": damaged(lambda p: p["buffers"]["a"].update(expect={"file": "f", "sha256": "0" * 64})),
}


def main():
    with open(os.path.join(ROOT, "sdk", "plan.schema.json")) as f:
        schema = json.load(f)
    validator = jsonschema.validators.validator_for(schema)(schema)
    failures = 0
    plans = sorted(glob.glob(os.path.join(ROOT, "cubins", "*", "*.json")) + glob.glob(os.path.join(ROOT, "cubins", "sync", "*", "*.json")))
    plans.remove(os.path.join(ROOT, "cubins", "sync", "expected.json"))
    for path in plans:
        with open(path) as f:
            for error in validator.iter_errors(json.load(f)):
                print("%s: %s: %s" % (path, "/".join(map(str, error.absolute_path)), error.message))
                failures += 1
    if not validator.is_valid(GOOD):
        print("a good plan is refused")
        failures += 1
    for name, plan in BAD.items():
        if validator.is_valid(plan):
            print("accepted: " + name)
            failures += 1
    print("%d plans, %d failures" % (len(plans), failures))
    return 1 if failures or not plans else 0


if __name__ == "__main__":
    sys.exit(main())
