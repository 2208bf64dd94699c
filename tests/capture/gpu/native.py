# SPDX-License-Identifier: Apache-2.0
"""Programs of our own in native/, against the libraries of a CUDA toolkit: programs of programs.py. Each is built by nvcc when it is run, unless it is
in the folder that SASSEMU_NATIVE names.
"""
import os
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# Program -> source, options.
PROGRAMS = {
    "native_graphs": ("graphs.cu", ["-rdc=true", "-lcudadevrt"]),
    "native_textures": ("textures.cu", []),
    "native_virtuals": ("virtuals.cu", ["-rdc=true", "-lcudadevrt"]),
    "native_numbers_of_functions": ("virtuals.cu", []),
    "native_dynamic": ("dynamic.cu", ["-rdc=true", "-lcudadevrt"]),
    "native_blas": ("blas.cu", ["-lcublas"]),
    "native_blas_lt": ("blas_lt.cu", ["-lcublasLt"]),
    "native_fft": ("fft.cu", ["-lcufft"]),
    "native_sparse": ("sparse.cu", ["-lcusparse"]),
    "native_solver": ("solver.cu", ["-lcusolver"]),
    "native_random": ("random.cu", ["-lcurand"]),
}
PROGRAMS.update({"native_thrust_" + name: ("thrust.cu", ["--extended-lambda", "-DTYPE=" + of])
                 for name, of in (("int", "int"), ("float", "float"), ("double", "double"), ("short", "short"), ("long", "long long"), ("byte", "unsigned char"))})


def build(name, to):
    source, options = PROGRAMS[name]
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    subprocess.run([nvcc, "-std=c++17", "-O2", "-arch=sm_90", "-o", to, os.path.join(HERE, "native", source), *options], check=True)


def run(name):
    ready = os.path.join(os.environ.get("SASSEMU_NATIVE", "/nowhere"), name)
    if not os.path.exists(ready):
        ready = os.path.join(tempfile.mkdtemp(), name)
        build(name, ready)
    os.execv(ready, [ready])


def programs():
    for name in PROGRAMS:
        def one(name=name):
            run(name)
        one.__name__ = name
        yield one
