#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the plans on a GPU (the builds for sm_90) and records their results; stores them beside the plans.

  record.py OUT.tar.gz [NAME...]         on a GPU machine (needs numpy and the driver's libcuda.so.1)
  record.py --apply OUT.tar.gz           anywhere: writes recorded.json, the .bin files and all plans
  record.py --selftest                   anywhere with numpy: the random generator and the plan reader
  record.py --one NAME DIRECTORY         one plan, in this process

Here: the smallest faithful reading of a launch plan over the CUDA driver API. Not here: what the plans are
(descriptions.py) or how they are written (plans.py). Every plan runs in a process of its own, because a kernel that faults
takes its context along, and twice, because a result that differs between two runs is no expectation.
"""
import concurrent.futures
import ctypes
import hashlib
import json
import os
import struct
import subprocess
import sys
import tarfile
import time

import buffers
from buffers import contents, number

HERE = os.path.dirname(os.path.abspath(__file__))
SMALL = 65536        # results up to this size become files; larger ones a hash
KEEP = 1 << 19       # what a description marks `keep` may be this large
CARRY = 1 << 20      # results up to this size travel in the archive, for whoever looks into a difference
LIMIT_S = 60         # per plan
WORKERS = 4          # plans that run at the same time; most of a plan's time is the start of its process


# --- the driver -----------------------------------------------------------------------------------------------------

class Array3D(ctypes.Structure):
    _fields_ = [("width", ctypes.c_size_t), ("height", ctypes.c_size_t), ("depth", ctypes.c_size_t), ("format", ctypes.c_int),
                ("channels", ctypes.c_uint), ("flags", ctypes.c_uint)]


class Copy2D(ctypes.Structure):
    _fields_ = [(side + name, kind) for side in ("src", "dst")
                for name, kind in (("X", ctypes.c_size_t), ("Y", ctypes.c_size_t), ("Type", ctypes.c_int), ("Host", ctypes.c_void_p),
                                   ("Device", ctypes.c_uint64), ("Array", ctypes.c_void_p), ("Pitch", ctypes.c_size_t))
                ] + [("width", ctypes.c_size_t), ("height", ctypes.c_size_t)]


class Resource(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("array", ctypes.c_void_p), ("rest", ctypes.c_int * 30), ("flags", ctypes.c_uint)]


class Texture(ctypes.Structure):
    _fields_ = [("address", ctypes.c_int * 3), ("filter", ctypes.c_int), ("flags", ctypes.c_uint), ("anisotropy", ctypes.c_uint),
                ("mip_filter", ctypes.c_int), ("mip", ctypes.c_float * 3), ("border", ctypes.c_float * 4), ("reserved", ctypes.c_int * 12)]


FORMAT = {"u8": (1, 1), "u16": (2, 2), "u32": (3, 4), "i8": (8, 1), "i16": (9, 2), "i32": (10, 4), "f16": (16, 2), "f32": (32, 4)}
ADDRESS = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute: an id, and 64 bytes of value."""
    _fields_ = [("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_uint * 16)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("dims", ctypes.c_uint * 6), ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(LaunchAttribute)), ("count", ctypes.c_uint)]


def launch_config(dims, shared, entry):
    """For cuLaunchKernelEx: with the cluster and the attributes of a plan's launch."""
    config = LaunchConfig((ctypes.c_uint * 6)(*[d.value for d in dims]), shared)
    attributes = []
    if entry.get("cluster"):
        attributes.append(LaunchAttribute(4))  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        attributes[-1].value[:3] = entry["cluster"]
    if entry.get("attributes", {}).get("programmaticStreamSerialization"):
        attributes.append(LaunchAttribute(6))  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        attributes[-1].value[0] = 1
    config.attributes, config.count = (LaunchAttribute * len(attributes))(*attributes), len(attributes)
    return config


class DriverError(Exception):
    def __init__(self, call, code, name):
        super().__init__("%s: %s (%d)" % (call, name, code))
        self.code = code


class Driver:
    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.device = device.value
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorName(code, ctypes.byref(text))
            raise DriverError(name, code, (text.value or b"unknown error").decode())

    def name(self):
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, 256, self.device)
        return text.value.decode()

    def version(self):
        v = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(v))
        return v.value

    def allocate(self, nbytes):
        p = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(p), ctypes.c_size_t(max(nbytes, 1)))
        return p.value

    def write(self, address, held):
        if held:
            self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.c_char_p(held), ctypes.c_size_t(len(held)))

    def read(self, address, nbytes):
        out = ctypes.create_string_buffer(max(nbytes, 1))
        self.call("cuMemcpyDtoH_v2", out, ctypes.c_uint64(address), ctypes.c_size_t(nbytes))
        return out.raw[:nbytes]

    def symbol(self, module, name):
        p, n = ctypes.c_uint64(), ctypes.c_size_t()
        self.call("cuModuleGetGlobal_v2", ctypes.byref(p), ctypes.byref(n), module, name.encode())
        return p.value, n.value


class Image:
    """A texture or surface object over an array that holds a buffer's texels."""

    def __init__(self, driver, spec, address, surface):
        code, size = FORMAT[spec["format"]]
        if spec.get("depth"):
            raise ValueError("three-dimensional textures are outside what this recorder does")
        self.driver, self.address, self.surface = driver, address, surface
        channels = spec.get("channels", 1)
        self.row = spec["width"] * channels * size
        self.rows = max(spec.get("height", 0), 1)
        self.array = ctypes.c_void_p()
        shape = Array3D(spec["width"], spec.get("height", 0), 0, code, channels, 2 if surface else 0)
        driver.call("cuArray3DCreate_v2", ctypes.byref(self.array), ctypes.byref(shape))
        self.copy(to_array=True)
        resource = Resource(type=0, array=self.array)
        handle = ctypes.c_uint64()
        if surface:
            driver.call("cuSurfObjectCreate", ctypes.byref(handle), ctypes.byref(resource))
        else:
            texture = Texture(filter=1 if spec.get("filter") == "linear" else 0)
            modes = spec.get("addressMode", [])
            for d in range(3):
                texture.address[d] = ADDRESS[modes[d]] if d < len(modes) else 1
            integer = spec["format"][0] in "ui" and spec.get("readMode", "element") == "element"
            texture.flags = (1 if integer else 0) | (2 if spec.get("normalizedCoords") else 0)
            driver.call("cuTexObjectCreate", ctypes.byref(handle), ctypes.byref(resource), ctypes.byref(texture), None)
        self.handle = handle.value

    def copy(self, to_array):
        memory, array = ("src", "dst") if to_array else ("dst", "src")
        c = Copy2D(width=self.row, height=self.rows)
        setattr(c, memory + "Type", 2)
        setattr(c, memory + "Device", self.address)
        setattr(c, memory + "Pitch", self.row)
        setattr(c, array + "Type", 3)
        setattr(c, array + "Array", self.array)
        self.driver.call("cuMemcpy2DUnaligned_v2", ctypes.byref(c))


SCALAR = {"i32": "<i", "u32": "<I", "i64": "<q", "u64": "<Q", "f32": "<f", "f64": "<d"}


def tensor_map(driver, m, address):
    """The 128 bytes of cuTensorMapEncodeTiled, or of cuTensorMapEncodeIm2col."""
    def numbers(kind, values):
        return (kind * max(len(values), 1))(*values)

    def index(words, word):
        return words.index(m.get(word, words[0]))

    rank = len(m["dims"])
    space = (ctypes.c_uint8 * 256)()
    at = (ctypes.addressof(space) + 127) // 128 * 128
    types = ["u8", "u16", "u32", "i32", "u64", "i64", "f16", "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz"]
    image = m.get("im2col")
    part = ([numbers(ctypes.c_int32, image["lower"]), numbers(ctypes.c_int32, image["upper"]), image["channels"], image["pixels"]] if image
            else [numbers(ctypes.c_uint32, m["box"])])
    driver.call("cuTensorMapEncode" + ("Im2col" if image else "Tiled"), ctypes.c_void_p(at), types.index(m["type"]), rank, ctypes.c_void_p(address),
                numbers(ctypes.c_uint64, m["dims"]), numbers(ctypes.c_uint64, m["strides"]), *part,
                numbers(ctypes.c_uint32, m.get("elementStrides", [1] * rank)), index(["none", "16B", "32B"], "interleave"),
                index(["none", "32B", "64B", "128B"], "swizzle"), index(["none", "64B", "128B", "256B"], "l2"), index(["zero", "nan"], "oob"))
    return ctypes.string_at(at, 128)


def argument(driver, module, arg, addresses, images):
    (form, value), = ((k, v) for k, v in arg.items() if k not in ("offset", "pointers", "tensorMaps"))
    if form == "buffer":
        return struct.pack("<Q", addresses[value] + number(arg.get("offset", 0)))
    if form == "symbol":
        return struct.pack("<Q", driver.symbol(module, value)[0])
    if form in ("texture", "surface"):
        images.append(Image(driver, value, addresses[value["buffer"]], form == "surface"))
        return struct.pack("<Q", images[-1].handle)
    if form == "tensorMap":
        return tensor_map(driver, value, addresses[value["buffer"]])
    if form == "bytes":
        held = bytearray.fromhex(value)
        for p in arg.get("pointers", []):
            struct.pack_into("<Q", held, p["offset"], addresses[p["buffer"]] + p.get("add", 0))
        for m in arg.get("tensorMaps", []):
            held[m["offset"]:m["offset"] + 128] = tensor_map(driver, m["tensorMap"], addresses[m["tensorMap"]["buffer"]])
        return bytes(held)
    if form in SCALAR:
        return struct.pack(SCALAR[form], float(value) if form[0] == "f" else number(value))
    raise ValueError("argument form '%s' is outside what this recorder does" % form)


STATUS = {700: "fault:out-of-bounds", 710: "assert", 714: "fault:other", 715: "fault:illegal-instruction", 716: "fault:misaligned-address",
          717: "fault:other", 718: "fault:invalid-pc", 719: "trap"}


def set_limits(driver, plan):
    """Once per context: the driver refuses a new heap size after the first launch that uses it."""
    for name, limit in (("stack", 0), ("printf", 1), ("heap", 2)):
        if name in plan.get("limits", {}):
            driver.call("cuCtxSetLimit", limit, ctypes.c_size_t(plan["limits"][name]))


def run_plan(driver, plan, directory, wanted_buffers, wanted_globals):
    """-> (status, buffers, globals, milliseconds of the launches)"""
    with open(os.path.join(directory, module_of(plan)), "rb") as f:
        image = f.read()
    module = ctypes.c_void_p()
    driver.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(image))
    addresses = {}
    for name, b in plan.get("buffers", {}).items():
        addresses[name] = driver.allocate(b["bytes"])
        driver.write(addresses[name], contents(b, b["bytes"], directory))
    for name, b in plan.get("buffers", {}).items():
        for p in b.get("pointers", []):
            driver.write(addresses[name] + p["offset"], struct.pack("<Q", addresses[p["buffer"]] + p.get("add", 0)))
    for name, g in plan.get("globals", {}).items():
        address, nbytes = driver.symbol(module, name)
        if any(k in g for k in ("random", "file", "fill")):
            driver.write(address, contents(g, nbytes, directory))
    driver.call("cuCtxSynchronize")
    spent = 0.0
    for entry in plan["launches"]:
        function = ctypes.c_void_p()
        driver.call("cuModuleGetFunction", ctypes.byref(function), module, entry["kernel"].encode())
        images = []
        packed = [argument(driver, module, a, addresses, images) for a in entry["args"]]
        held = [ctypes.create_string_buffer(p, len(p)) for p in packed]
        params = (ctypes.c_void_p * max(len(held), 1))(*[ctypes.cast(h, ctypes.c_void_p) for h in held])
        shared = entry.get("dynamicShared", 0)
        if shared > 32 << 10:  # with static shared memory it may be more than 48 KiB
            driver.call("cuFuncSetAttribute", function, 8, shared)
        start = time.monotonic()
        for _ in range(entry.get("repeat", 1)):
            dims = [ctypes.c_uint(v) for v in entry["grid"] + entry["block"]]
            try:
                if entry.get("cooperative"):
                    driver.call("cuLaunchCooperativeKernel", function, *dims, ctypes.c_uint(shared), None, params)
                else:
                    driver.call("cuLaunchKernelEx", ctypes.byref(launch_config(dims, shared, entry)), function, params, None)
                driver.call("cuCtxSynchronize")
            except DriverError as e:
                if e.code not in STATUS:
                    raise
                return STATUS[e.code] + " " + str(e), {}, {}, spent
        spent += time.monotonic() - start
        for i in images:
            if i.surface:
                i.copy(to_array=False)
    buffers = {n: driver.read(addresses[n], plan["buffers"][n]["bytes"]) for n in wanted_buffers}
    symbols = {}
    for n in wanted_globals:
        symbols[n] = driver.read(*driver.symbol(module, n))
    for a in addresses.values():
        driver.call("cuMemFree_v2", ctypes.c_uint64(a))
    driver.call("cuModuleUnload", module)
    return "ok", buffers, symbols, spent * 1000


# --- recording ------------------------------------------------------------------------------------------------------

def descriptions():
    sys.path.insert(0, HERE)
    import plans
    import descriptions as filled  # noqa: F401
    return plans.PLANS


def plan_path(name):
    if name.startswith("bench/"):
        return os.path.join(HERE, name + ".json")
    return os.path.join(HERE, name, "plan.json")


def module_of(plan):
    """What an H200 loads of a plan's modules; another GPU, what its first architecture is built for."""
    archs = plan["arch"] if isinstance(plan["arch"], list) else [plan["arch"]]
    arch = next((a for a in ("sm_90", "sm_90a") if a in archs), archs[0])
    return plan["module"].replace("{arch}", arch)


def record_one(name, out):
    described = descriptions()[name]
    wanted = [k for k, b in described["buffers"].items() if "check" in b]
    wanted_globals = [k for k, g in described.get("globals", {}).items() if "check" in g]
    with open(plan_path(name)) as f:
        plan = json.load(f)
    result = {"status": "not run"}
    printed = os.path.join(out, "printed")
    libc = ctypes.CDLL(None)
    real = os.dup(1)
    runs = []
    try:
        driver = Driver()
        result["gpu"], result["driver"] = driver.name(), driver.version()
        set_limits(driver, plan)
        for attempt in range(1 if name.startswith("bench/") else 2):
            sink = os.open(printed, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
            os.dup2(sink, 1)
            try:
                got = run_plan(driver, plan, os.path.dirname(plan_path(name)), wanted, wanted_globals)
            finally:
                libc.fflush(None)
                os.dup2(real, 1)
                os.close(sink)
            with open(printed, "rb") as f:
                runs.append((got, f.read()))
            if got[0] != "ok":
                break
        (status, buffers, symbols, milliseconds), stdout = runs[0]
        result.update(status=status.split(" ")[0], detail=status, milliseconds=round(milliseconds, 3))
        result["stdout"] = stdout.decode("utf-8", "backslashreplace")
        if len(runs) == 2 and (runs[1][0][:3] != runs[0][0][:3] or runs[1][1] != stdout):
            result["unstable"] = [k for k in wanted if runs[1][0][1].get(k) != buffers.get(k)] or ["stdout or globals"]
        for kind, held in (("buffers", buffers), ("globals", symbols)):
            result[kind] = {}
            for key, value in held.items():
                result[kind][key] = {"sha256": hashlib.sha256(value).hexdigest(), "bytes": len(value)}
                if len(value) <= CARRY:
                    with open(os.path.join(out, key + ".bin"), "wb") as f:
                        f.write(value)
    except Exception as e:  # the index must say what went wrong with every plan
        result["error"] = "%s: %s" % (type(e).__name__, e)
    with open(os.path.join(out, "result.json"), "w") as f:
        json.dump(result, f, indent=1)
    return 0


def record_all(archive, names):
    import tempfile
    everything = descriptions()
    names = names or list(everything)
    index = {}
    with tempfile.TemporaryDirectory() as work:
        begin = time.monotonic()
        def one(name):
            out = os.path.join(work, name)
            os.makedirs(out)
            try:
                p = subprocess.run([sys.executable, os.path.abspath(__file__), "--one", name, out], timeout=LIMIT_S,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                tail = p.stdout.decode("utf-8", "replace").strip()[-500:]
                note = "exit %d; %s" % (p.returncode, tail) if p.returncode else tail
            except subprocess.TimeoutExpired as e:
                note = "timed out after %d s; %s" % (LIMIT_S, (e.stdout or b"").decode("utf-8", "replace")[-500:])
            try:
                with open(os.path.join(out, "result.json")) as f:
                    r = json.load(f)
            except (OSError, ValueError):
                r = {"status": "not run", "error": "no result"}
            if note:
                r["note"] = note
            return r

        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for name, r in zip(names, pool.map(one, names)):
                index[name] = r
                wrong = r.get("error") or r.get("unstable") or r["status"] != everything[name].get("status", "ok")
                print("%-6s %-20s %-26s %9s ms  %s" % ("WRONG" if wrong else "ok", name, r["status"], r.get("milliseconds", "-"),
                                                      "; ".join(str(r[k]) for k in ("error", "unstable", "note") if r.get(k))), flush=True)
        with open(os.path.join(work, "index.json"), "w") as f:
            json.dump(index, f, indent=1, sort_keys=True)
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(os.path.join(work, "index.json"), "index.json")
            for name, r in index.items():
                for key in list(r.get("buffers", {})) + list(r.get("globals", {})):
                    path = os.path.join(work, name, key + ".bin")
                    if os.path.exists(path):
                        tar.add(path, "%s/%s.bin" % (name, key))
        print("%d plans in %.1f s -> %s (%d bytes)" % (len(index), time.monotonic() - begin, archive, os.path.getsize(archive)))
    return 0


# --- storing --------------------------------------------------------------------------------------------------------

def apply(archive):
    everything = descriptions()
    path = os.path.join(HERE, "recorded.json")
    try:
        with open(path) as f:
            recorded = json.load(f)
    except FileNotFoundError:
        recorded = {"results": {}}
    failures = 0
    with tarfile.open(archive) as tar:
        index = json.load(tar.extractfile("index.json"))
        for name, r in sorted(index.items()):
            if name not in everything:
                print("no such kernel any more: " + name)
                continue
            described = everything[name]
            expected = described.get("status", "ok")
            if r.get("error") or r.get("unstable") or r["status"] != expected:
                print("left out: %s: %s, wanted %s %s" % (name, r["status"], expected, r.get("error") or r.get("unstable") or ""))
                failures += 1
                continue
            entry = {"gpu": r["gpu"], "driver": r["driver"], "status": r["status"]}
            if described.get("stdout"):
                entry["stdout"] = r["stdout"]
            for kind in ("buffers", "globals"):
                for key, value in r.get(kind, {}).items():
                    check = (described.get(kind, {}).get(key) or {}).get("check")
                    if check is None:
                        continue
                    target = os.path.join(HERE, name, key + ".expected.bin")
                    limit = KEEP if described.get("keep") else SMALL
                    if value["bytes"] <= limit and not name.startswith("bench/"):
                        held = tar.extractfile("%s/%s.bin" % (name, key)).read()
                        if hashlib.sha256(held).hexdigest() != value["sha256"]:
                            raise SystemExit("%s/%s: the bytes do not match their hash" % (name, key))
                        with open(target, "wb") as f:
                            f.write(held)
                        entry.setdefault(kind, {})[key] = {"file": key + ".expected.bin"}
                    else:
                        if os.path.exists(target):
                            os.remove(target)
                        if "rtol" in check:
                            raise SystemExit("%s/%s: a tolerance needs the bytes, and they are too many" % (name, key))
                        entry.setdefault(kind, {})[key] = {"sha256": value["sha256"]}
            recorded["results"][name] = entry
    with open(path, "w") as f:
        json.dump(recorded, f, indent=1, sort_keys=True)
        f.write("\n")
    subprocess.run([sys.executable, os.path.join(HERE, "plans.py")], check=True)
    print("%d results stored, %d left out" % (len(index) - failures, failures))
    return 1 if failures else 0


def selftest():
    buffers.selftest()
    assert ctypes.sizeof(Resource) == 144 and ctypes.sizeof(Texture) == 104 and ctypes.sizeof(Copy2D) == 128 and ctypes.sizeof(Array3D) == 40
    for name in descriptions():
        path = plan_path(name)
        with open(path) as f:
            plan = json.load(f)
        for key, b in plan.get("buffers", {}).items():
            if b["bytes"] <= 1 << 22:
                assert len(contents(b, b["bytes"], os.path.dirname(path))) == b["bytes"], (name, key)
        for entry in plan["launches"]:
            for a in entry["args"]:
                described = next((a[form] for form in ("texture", "surface", "tensorMap") if form in a), {})
                used = a.get("buffer") or described.get("buffer")
                assert used is None or used in plan["buffers"], (name, a)
                image = a.get("texture") or a.get("surface")
                if image:
                    size = image["width"] * max(image.get("height", 0), 1) * image.get("channels", 1) * FORMAT[image["format"]][1]
                    assert size == plan["buffers"][image["buffer"]]["bytes"], (name, image)
                if used is None and not a.get("pointers") and not a.get("tensorMaps"):
                    argument(None, None, a, {}, [])
    print("%d plans read" % len(descriptions()))
    return 0


def main(args):
    if args[:1] == ["--apply"] and len(args) == 2:
        return apply(args[1])
    if args == ["--selftest"]:
        return selftest()
    if args[:1] == ["--one"] and len(args) == 3:
        return record_one(args[1], args[2])
    if args and not args[0].startswith("-"):
        return record_all(args[0], args[1:])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
