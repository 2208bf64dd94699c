# SPDX-License-Identifier: Apache-2.0
"""NPP, called by its own headers: each function of some of them whose parameters are images, signals, sizes and numbers. Programs of programs.py.

    NPP_HOME   where include/ and lib/ are; else a toolkit's are taken, or those of the package nvidia-npp
"""
import ctypes
import glob
import os
import re
import site
import time

STEP, ROWS, SECONDS = 1280, 64, float(os.environ.get("SASSEMU_PROGRAM_SECONDS", "60"))
WIDTH, HEIGHT, LENGTH = 37, 21, 777
LEFT_OUT = re.compile(r"LUT|Histogram|GraphCut|Label|Watershed|Compress|Flood|Flag|Adv|Resize|Batch|Boundary|Contour|Hough|Magnitude.*P2|Proximity|Signed")
# Program -> library, header, and which functions.
PROGRAMS = {
    "npp_arithmetic_8": ("nppial", "nppi_arithmetic_and_logical_operations.h", r"_8[us]"),
    "npp_arithmetic_16": ("nppial", "nppi_arithmetic_and_logical_operations.h", r"_16"),
    "npp_arithmetic_32": ("nppial", "nppi_arithmetic_and_logical_operations.h", r"_(32|64)"),
    "npp_morphology": ("nppim", "nppi_morphological_operations.h", r""),
    "npp_exchange": ("nppidei", "nppi_data_exchange_and_initialization.h", r""),
    "npp_threshold": ("nppitc", "nppi_threshold_and_compare_operations.h", r""),
    "npp_filter_8": ("nppif", "nppi_filtering_functions.h", r"_8[us]"),
    "npp_filter_16": ("nppif", "nppi_filtering_functions.h", r"_16"),
    "npp_filter_32": ("nppif", "nppi_filtering_functions.h", r"_32"),
    "npp_color": ("nppicc", "nppi_color_conversion.h", r""),
    "npp_statistics": ("nppist", "nppi_statistics_functions.h", r""),
    "npp_signal_arithmetic": ("npps", "npps_arithmetic_and_logical_operations.h", r""),
    "npp_signal_statistics": ("npps", "npps_statistics_functions.h", r""),
    "npp_signal_conversion": ("npps", "npps_conversion_functions.h", r""),
    "npp_signal_filter": ("npps", "npps_filtering_functions.h", r""),
}

INTEGERS = {"Npp8u": ctypes.c_uint8, "Npp8s": ctypes.c_int8, "Npp16u": ctypes.c_uint16, "Npp16s": ctypes.c_int16, "Npp32u": ctypes.c_uint32,
            "Npp32s": ctypes.c_int32, "Npp64u": ctypes.c_uint64, "Npp64s": ctypes.c_int64, "int": ctypes.c_int, "size_t": ctypes.c_size_t}
FLOATS = {"Npp32f": ctypes.c_float, "Npp64f": ctypes.c_double}
ENUMS = {"NppCmpOp": 1, "NppiBorderType": 2, "NppiMaskSize": 200, "NppRoundMode": 0, "NppHintAlgorithm": 0, "NppiAxis": 1, "NppiAlphaOp": 0,
         "NppiBayerGridPosition": 0, "NppiNorm": 0, "NppsZCType": 0}


def structure(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


Size = structure("Size", ("width", ctypes.c_int), ("height", ctypes.c_int))
Point = structure("Point", ("x", ctypes.c_int), ("y", ctypes.c_int))
Rect = structure("Rect", ("x", ctypes.c_int), ("y", ctypes.c_int), ("width", ctypes.c_int), ("height", ctypes.c_int))
Half = structure("Half", ("bits", ctypes.c_int16))
COMPLEX = {"Npp%dsc" % bits: structure("Complex", ("re", c), ("im", c)) for bits, c in ((16, ctypes.c_int16), (32, ctypes.c_int32), (64, ctypes.c_int64))}
COMPLEX.update({"Npp%dfc" % bits: structure("Complex", ("re", c), ("im", c)) for bits, c in ((32, ctypes.c_float), (64, ctypes.c_double))})
Context = structure("Context", ("stream", ctypes.c_void_p), ("device", ctypes.c_int), ("processors", ctypes.c_int), ("threads", ctypes.c_int),
                    ("block", ctypes.c_int), ("shared", ctypes.c_size_t), ("major", ctypes.c_int), ("minor", ctypes.c_int), ("flags", ctypes.c_uint),
                    ("reserved", ctypes.c_int))


def home():
    places = [os.environ.get("NPP_HOME", ""), "/usr/local/cuda/targets/x86_64-linux", "/usr/local/cuda"]
    places += [os.path.join(p, "nvidia", d) for p in site.getsitepackages() for d in ("cu13", "npp")]
    return next(p for p in places if p and os.path.exists(os.path.join(p, "include", "npp.h")))


def library(name):
    lib = os.path.join(home(), "lib")
    ctypes.CDLL(os.path.join(lib, "libnppc.so.13"), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(glob.glob(os.path.join(lib, "lib%s.so.13" % name))[0])


def prototypes(header):
    with open(os.path.join(home(), "include", header)) as f:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", f.read(), flags=re.S)
    for name, parameters in re.findall(r"NppStatus\s+(npp\w+_Ctx)\s*\(([^)]*)\)", text):
        yield name, [re.sub(r"\s+", " ", p.replace("*", " * ")).strip() for p in parameters.split(",")]


class Memory:
    """An image or signal on the GPU for each parameter that is one."""

    def __init__(self, cupy):
        random = cupy.random.RandomState(5)
        self.images = [random.randint(0, 256, STEP * ROWS, dtype=cupy.uint8) for _ in range(12)]
        self.scratch = cupy.zeros(1 << 18, cupy.uint8)
        self.next = 0

    def pointer(self, parameter):
        if "Buffer" in parameter:
            return self.scratch.data.ptr
        self.next = (self.next + 1) % len(self.images)
        return self.images[self.next].data.ptr + 8 * STEP + 64


def argument(parameter, memory, context):
    """Of a function, what to give for that parameter; None: nobody knows."""
    words = parameter.replace("const ", "").split()
    kind, name, pointers = words[0], words[-1], words.count("*")
    array = re.search(r"\[(\d+)\]", parameter)
    if kind == "NppStreamContext":
        return context
    if array:
        count = int(array.group(1))
        if pointers:
            return (ctypes.c_void_p * count)(*(memory.pointer(parameter) for _ in range(count)))
        scalar = INTEGERS.get(kind) or FLOATS.get(kind)
        if not scalar:
            return None
        value = STEP if "Step" in name else 3
        return (scalar * count)(*(value + (i if value == 3 else 0) for i in range(count)))
    if pointers == 1:
        return ctypes.c_void_p(memory.pointer(parameter)) if kind.startswith("Npp") or name in ("pIndx", "pMinIndx", "pMaxIndx") else None
    if pointers:
        return None
    if kind == "NppiSize":
        return Size(3, 3) if "Mask" in name or "Kernel" in name else Size(WIDTH, HEIGHT)
    if kind == "NppiPoint":
        return Point(1, 1) if "Anchor" in name else Point(0, 0)
    if kind == "NppiRect":
        return Rect(2, 2, WIDTH - 4, HEIGHT - 4)
    if kind in ENUMS:
        return ctypes.c_int(ENUMS[kind])
    if kind in COMPLEX:
        return COMPLEX[kind](3, 2)
    if kind == "Npp16f":
        return Half(0x4200)
    if kind in FLOATS:
        return FLOATS[kind](1.75)
    if kind in INTEGERS:
        value = STEP if "Step" in name else LENGTH if "Length" in name else 1 if "Scale" in name else 3
        return INTEGERS[kind](value)
    return None


def run(name):
    import cupy
    lib, header, which = PROGRAMS[name]
    lib = library(lib)
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    context = Context(None, 0, properties["multiProcessorCount"], properties["maxThreadsPerMultiProcessor"], properties["maxThreadsPerBlock"],
                      properties["sharedMemPerBlock"], properties["major"], properties["minor"], 0, 0)
    memory, called, failed, unknown, end = Memory(cupy), 0, 0, 0, time.monotonic() + SECONDS
    for function, parameters in prototypes(header):
        if LEFT_OUT.search(function) or not re.search(which, function) or not hasattr(lib, function):
            continue
        arguments = [argument(p, memory, context) for p in parameters]
        if any(a is None for a in arguments):
            unknown += 1
            continue
        called += 1
        if getattr(lib, function)(*arguments) < 0:
            failed += 1
        if time.monotonic() > end:
            print("out of time at", function)
            break
    cupy.cuda.Device().synchronize()
    print("%d functions called, %d refused, %d not understood" % (called, failed, unknown))


def programs():
    for name in PROGRAMS:
        def one(name=name):
            run(name)
        one.__name__ = name
        yield one
