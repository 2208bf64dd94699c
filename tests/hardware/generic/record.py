#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a chip does with generic addresses (make.py has the kernels).

  record.py OUT [SECTION...]     on a GPU machine (sm_90, libcuda.so.1): runs the cases; OUT/SECTION.json
  record.py --store OUT          anywhere (zstd): OUT/*.json become the records of generic_test.cpp, SECTION.txt.zst; what they hold already
                                 stays, and what differs from it is named
  record.py --show OUT           how the cases ended, by kernel

Sections: addresses, arrivals, atoms. A case that faults takes its context along: then a new process goes on. Faults may come late, so each
case is followed by a launch of nothing.
"""
import concurrent.futures
import ctypes as C
import json
import os
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WORKERS, LIMIT_S = 7, float(os.environ.get("LIMIT", "140"))
SHARED = [0, 8, 512, 516, 513, 1016, 1024, 1 << 16, 1 << 20, 0xffffff, 0x1000000, 0x2000000, (1 << 32) - 8, (1 << 32) - 1]
MEMORY = [(0x3c003f80 + i * 0x01010101) & 0xffffffff for i in range(256)]


def fnv(data, h=0x811c9dc5):
    for b in data:
        h = ((h ^ b) * 0x01000193) & 0xffffffff
    return h


# --- the cases ------------------------------------------------------------------------------------------------------

COMMON = ("valid", "valid+1", "valid+4", "map", "zeros", "badmap", "freedmap", "host", "end-4", "null+0", "null+64", "null+4096", "unmapped+0",
          "unmapped+64", "freed", "end", "ones", "sign48", "1<<47", "1<<49", "1<<56", "1<<63", "shared", "shared+1", "shared+1000000",
          "shared_rank9", "local", "local+far", "const", "const+far")
FEW = ("valid+1", "null+0", "unmapped+0", "freed", "1<<56", "shared", "local", "const")


def addresses_cases():
    import make
    for name in make.operations():
        at = COMMON
        if name.startswith("cctl_") and name[5] != "D":
            at = FEW
        elif name.startswith("mb_inval"):
            at = ["@%x" % a for a in SHARED]
        elif name.startswith("ld_L2"):
            at = ("end-4",)
        elif name.startswith(("cpasync", "bulk_")):
            at = ("valid", "null+0", "null+1", "unmapped+0", "unmapped+16", "unmapped+4", "freed", "1<<63", "shared", "const")
        yield from ([name, a] for a in at)


def arrivals_cases():
    import make
    for name in make.ARRIVALS:
        counted = "count" in name or "nocomplete" in name or name in ("expect", "complete", "expect_complete", "expect_arrive")
        for count in (1, 2, 4, 8, 16, 31, 32, 33, 64, 128):
            for mask in (0xffffffff, 0xf, 0xff00, 1):
                for operand in ((1, 4) if counted else (0,)):
                    yield [name, count, mask, operand, 32]


def atoms_cases():
    import make
    some = ("CAS_U32", "CAS_U64", "CAS_B128", "CAST_SPIN_U64", "EXCH_U64", "EXCH_B128", "ADD_U32", "ADD_U64", "ADD_F32FTZ", "ADD_F16x2",
            "ADD_F64", "ADD_F16x8")
    for name, (_, _, size) in make.atom_words().items():
        for predicate in (6, 7):
            kernel = "%s_P%d" % (name, predicate)
            for space in range(5):
                for equal in (0, 1) if name.startswith("CAS") and predicate == 6 else (0,):
                    yield [kernel, space, 64, 1, 0, equal]
                if predicate == 6 and (name in some or name[:3] in ("CAS", "EXC")) and space != 2:
                    yield [kernel, space, 0, 0xffffffff, 0, 1]
                    yield [kernel, space, 0, 0xffffffff, 16, 1]
                    yield [kernel, space, 0, 0xf0f3, 4 if size == 4 else 16, 0]
        if name in some:
            kernel = name + "_P6"
            yield from ([kernel, space, 0, 1, 0, 1] for space in (10, 11, 12))
            yield from ([kernel, space, size // 2, 1, 0, 1] for space in (0, 1, 4))
            yield from ([kernel, space, 0x100000, 1, 0, 0] for space in (1, 3, 4))
            yield [kernel, 1, 0x7000000, 1, 0, 0]


# --- a GPU ----------------------------------------------------------------------------------------------------------

class Gpu:
    def __init__(self, section):
        self.cuda = C.CDLL("libcuda.so.1")
        context, device, self.module = C.c_void_p(), C.c_int(), C.c_void_p()
        self.ok(self.cuda.cuInit(0))
        self.ok(self.cuda.cuDeviceGet(C.byref(device), 0))
        self.ok(self.cuda.cuCtxCreate_v2(C.byref(context), 0, device))
        plain = os.path.join(HERE, section + ".cubin")  # where there is no zstd
        if os.path.exists(plain):
            with open(plain, "rb") as f:
                image = f.read()
        else:
            image = subprocess.run(["zstd", "-dc", plain + ".zst"], check=True, stdout=subprocess.PIPE).stdout
        self.ok(self.cuda.cuModuleLoadData(C.byref(self.module), image))
        self.size = 2 << 20
        self.buffer, self.out, self.mine = self.allocate(self.size), self.allocate(1 << 17), self.allocate(4096)

    def ok(self, code):
        if code:
            raise SystemExit("CUDA error %d" % code)

    def allocate(self, size):
        at = C.c_uint64()
        self.ok(self.cuda.cuMemAlloc_v2(C.byref(at), C.c_size_t(size)))
        return at.value

    def read(self, at, size):
        held = C.create_string_buffer(size)
        self.ok(self.cuda.cuMemcpyDtoH_v2(held, C.c_uint64(at), C.c_size_t(size)))
        return held.raw

    def write(self, at, data):
        self.ok(self.cuda.cuMemcpyHtoD_v2(C.c_uint64(at), bytes(data), C.c_size_t(len(data))))

    def launch(self, kernel, grid, block, *arguments):
        function = C.c_void_p()
        self.ok(self.cuda.cuModuleGetFunction(C.byref(function), self.module, kernel.encode()))
        pointers = (C.c_void_p * len(arguments))(*[C.addressof(a) for a in arguments])
        return self.cuda.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, None, pointers, None) or self.cuda.cuCtxSynchronize()

    def late(self):
        time.sleep(0.003)
        return self.cuda.cuMemsetD8_v2(C.c_uint64(self.mine), C.c_ubyte(0), C.c_size_t(4)) or self.cuda.cuCtxSynchronize()


def tensor_map(gpu, at):
    raw = C.create_string_buffer(256)
    base = (C.addressof(raw) + 63) // 64 * 64
    gpu.ok(gpu.cuda.cuTensorMapEncodeTiled(C.c_void_p(base), 2, C.c_uint32(2), C.c_void_p(at), (C.c_uint64 * 2)(256, 256),
                                           (C.c_uint64 * 1)(1024), (C.c_uint32 * 2)(16, 16), (C.c_uint32 * 2)(1, 1), 0, 0, 0, 0))
    return C.string_at(base, 128)


class Addresses:
    def __init__(self, gpu):
        self.gpu = gpu
        freed = gpu.allocate(64 << 20)
        gpu.ok(gpu.cuda.cuMemFree_v2(C.c_uint64(freed)))
        host, device = C.c_void_p(), C.c_uint64()
        gpu.ok(gpu.cuda.cuMemHostAlloc(C.byref(host), C.c_size_t(4096), 2))
        gpu.ok(gpu.cuda.cuMemHostGetDevicePointer_v2(C.byref(device), host, 0))
        self.map = tensor_map(gpu, gpu.buffer)
        maps = {"map": self.map, "zeros": bytes(128), "badmap": bytes(range(128)), "freedmap": tensor_map(gpu, freed)}
        gpu.launch("win", 1, 32, C.c_uint64(gpu.out), C.c_uint64(0))
        shared, local, constant = struct.unpack("<3Q", gpu.read(gpu.out, 24))
        end = gpu.buffer + gpu.size
        self.named = {"valid": gpu.buffer, "null": 0, "unmapped": 0x123456000, "freed": freed, "end": end, "end-4": end - 4, "end-16": end - 16,
                      "ones": (1 << 64) - 128, "sign48": 0xffff800000000000, "shared": shared,
                      "shared+1000000": (shared & ~0xffffff) + 0xf00000, "shared_rank9": (shared & ~0xffffffff) + 0x9000000, "local": local,
                      "local+far": (local & ~0xffffffff) + 0xfffff0, "const": constant, "const+far": constant + 0x100000,
                      "host": device.value}
        for name, data in maps.items():
            self.named[name] = gpu.allocate(256)
            gpu.write(self.named[name], data)

    def address(self, name):
        if name[0] == "@":
            return int(name[1:], 16)
        if name.startswith("1<<"):
            return 1 << int(name[3:])
        if name in self.named:
            return self.named[name]
        base, by = name.rsplit("+", 1)
        return self.named[base] + int(by)

    def run(self, kernel, name):
        gpu = self.gpu
        before = bytes((i * 7 + i // 256 * 13) & 255 for i in range(1024))
        gpu.write(gpu.buffer, before)
        gpu.write(gpu.mine, before)
        gpu.write(gpu.buffer + gpu.size - 16, before[:16])
        arguments = [C.c_uint64(gpu.out), C.c_uint64(self.address(name)), C.c_uint64(0x14f0000000000000), C.c_uint64(gpu.mine), C.c_uint32(0)]
        if kernel.endswith("_param"):
            arguments.append(C.create_string_buffer(self.map, 128))
        code = gpu.launch(kernel, 1, 32, *arguments) or gpu.late()
        if code:
            return [code]
        values = {x - 5 - i for i, x in enumerate(struct.unpack("<32I", gpu.read(gpu.out, 128)))}
        assert len(values) == 1, values
        return [0, *values] + (["changed"] if gpu.read(gpu.buffer, 1024) != before else [])


class Arrivals:
    def __init__(self, gpu):
        self.gpu = gpu

    def run(self, kernel, count, mask, operand, threads):
        gpu = self.gpu
        code = gpu.launch(kernel, 1, threads, C.c_uint64(gpu.out), C.c_uint32(count), C.c_uint32(mask), C.c_uint32(operand)) or gpu.late()
        return [code] if code else [0, "%08x" % fnv(gpu.read(gpu.out, 16 * threads))]


class Atoms:
    def __init__(self, gpu):
        self.gpu = gpu

    def run(self, kernel, space, offset, mask, stride, equal):
        gpu = self.gpu
        memory, operands = struct.pack("<256I", *MEMORY), bytearray(64 * 64)
        for t in range(64):
            at = (offset + t % 32 * stride) % 1000
            expected = memory[at:at + 16].ljust(16, b"\1") if equal else bytes((t * 5 + i * 11) & 127 for i in range(16))
            operands[64 * t:64 * t + 32] = expected + struct.pack("<4I", *[(0x40003e80 + t * 0x00110013 + i * 0x01000100) & 0xffffffff
                                                                           for i in range(4)])
        gpu.write(gpu.out, bytes(1 << 17))
        gpu.write(gpu.out + 8192, memory)
        gpu.write(gpu.out + 12288, operands)
        gpu.write(gpu.buffer, memory)
        at = {0: gpu.buffer, 11: 0x123456000, 12: 1 << 57}.get(space, 0)
        code = gpu.launch(kernel, 2, 32, C.c_uint64(gpu.out), C.c_uint64(at), C.c_uint64(offset), C.c_uint32(0 if space >= 10 else space),
                          C.c_uint32(mask), C.c_uint32(stride), C.create_string_buffer(memory[:64], 64)) or gpu.late()
        if code:
            return [code]
        got = gpu.read(gpu.out, 1 << 17)
        return [0, "%08x" % self.digest(kernel, {t: (got[40968 + 64 * t], got[40976 + 64 * t:40992 + 64 * t])
                                                 for t in range(32) if mask >> t & 1},
                                        got[61440:63488] + got[65536:66560] + gpu.read(gpu.buffer, 1024))]

    @staticmethod
    def digest(kernel, lanes, memory):
        h = fnv(b"")
        for t in sorted(lanes):
            if kernel.endswith("P6"):  # where the predicate goes
                h = fnv(bytes([lanes[t][0]]), h)
            h = fnv(lanes[t][1], h)
        return fnv(memory, h)


SECTIONS = {"addresses": (Addresses, addresses_cases), "arrivals": (Arrivals, arrivals_cases), "atoms": (Atoms, atoms_cases)}


def work(section):
    unit = SECTIONS[section][0](Gpu(section))
    for case in json.load(sys.stdin):
        print("S", flush=True)
        got = unit.run(*case)
        print("R" + json.dumps(got), flush=True)
        if got[0]:
            return


def record(out, sections):
    end = time.time() + LIMIT_S
    for section in sections:
        cases = list(SECTIONS[section][1]())

        def share(mine):
            results = []
            while len(results) < len(mine) and time.time() < end:
                p = subprocess.Popen([sys.executable, os.path.join(HERE, "record.py"), "--work", section], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                try:
                    text, _ = p.communicate(json.dumps(mine[len(results):]), timeout=60)
                except subprocess.TimeoutExpired:
                    p.kill()
                    text, _ = p.communicate()
                lines = text.splitlines()
                got = [json.loads(line[1:]) for line in lines if line.startswith("R[")]
                if len(got) < lines.count("S"):
                    got.append(["died: " + text[-100:]])
                if not got:
                    print(text[-300:])
                    break
                results += got
            return results

        shares = [cases[i::WORKERS] for i in range(WORKERS)]
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            found = list(pool.map(share, shares))
        done = [[*case, *result] for mine, results in zip(shares, found) for case, result in zip(mine, results)]
        with open(os.path.join(out, section + ".json"), "w") as f:
            json.dump(done, f)
        print("%s: %d of %d cases" % (section, len(done), len(cases)))


# --- what was found -------------------------------------------------------------------------------------------------

def width_of(section):
    return {"addresses": 2, "arrivals": 5, "atoms": 6}[section]


def words(section, row):
    return [("%x" % v if section != "addresses" and i == width_of(section) // 2 else str(v)) for i, v in enumerate(row)]


def store(out):
    for section in SECTIONS:
        path, record_path = os.path.join(out, section + ".json"), os.path.join(HERE, section + ".txt.zst")
        held = {}
        n = width_of(section)
        if os.path.exists(record_path):
            text = subprocess.run(["zstd", "-dc", record_path], check=True, stdout=subprocess.PIPE).stdout.decode()
            held = {tuple(line.split()[:n]): line.split()[n:] for line in text.splitlines()}
        if os.path.exists(path):
            with open(path) as f:
                rows = json.load(f)
            for row in rows:
                if isinstance(row[n], str):
                    continue  # it died
                row = words(section, row)
                if held.setdefault(tuple(row[:n]), row[n:]) != row[n:]:
                    print("differs", section, row, held[tuple(row[:n])])
        known = {case[0] for case in SECTIONS[section][1]()}
        held = {key: value for key, value in held.items() if key[0] in known}
        text = "".join(" ".join(key + tuple(value)) + "\n" for key, value in sorted(held.items()))
        with open(record_path[:-4], "w") as f:
            f.write(text)
        subprocess.run(["zstd", "-19", "-q", "-f", "--rm", record_path[:-4]], check=True)
        print("%s: %d cases" % (section, len(held)))


def show(out):
    for section in SECTIONS:
        if not os.path.exists(os.path.join(out, section + ".json")):
            continue
        with open(os.path.join(out, section + ".json")) as f:
            rows, by = json.load(f), {}
        n = width_of(section)
        for row in rows:
            by.setdefault(row[0], {}).setdefault(str(row[n]), []).append(":".join(words(section, row)[1:n]))
        for kernel, codes in by.items():
            print(kernel, {code: at if code != "0" else len(at) for code, at in codes.items()})


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2])
    elif sys.argv[1:2] == ["--store"]:
        store(sys.argv[2])
    elif sys.argv[1:2] == ["--show"]:
        show(sys.argv[2])
    elif len(sys.argv) > 1:
        record(sys.argv[1], sys.argv[2:] or list(SECTIONS))
    else:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
