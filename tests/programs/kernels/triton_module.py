#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles a Triton or Gluon function of a file, without a GPU: triton_module.py ROOT FILE FUNCTION ARCH OUT SPEC

FILE is ROOT's, a folder of packages, of which nothing else is imported than what the file itself imports. SPEC is JSON: the "types" of the parameters (those that are
left out are constants), "constants", the names of those "divisible" by 16, and the compiler's "options". OUT gets the cubin, OUT.json the bytes of shared memory."""

import importlib
import json
import os
import re
import sys
import types

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # it has paths of this machine
import triton  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402


def function_of(root, file, name):
    """The function as its decorators left it, without the tuner's. Packages are entered without their __init__, which may want a framework."""
    parts = os.path.splitext(file)[0].split("/")
    for at in range(1, len(parts)):
        package = types.ModuleType(".".join(parts[:at]))
        package.__path__ = [os.path.join(root, *parts[:at])]
        sys.modules[package.__name__] = package
    sys.path.insert(0, root)
    function = getattr(importlib.import_module(".".join(parts)), name)
    while not hasattr(function, "arg_names") or hasattr(function, "configs"):
        function = function.fn
    return function


def main(root, file, name, architecture, out, spec):
    spec = json.loads(spec)
    function = function_of(root, file, name)
    names = list(function.arg_names)
    source = ASTSource
    if getattr(function, "is_gluon", lambda: False)():
        from triton.experimental.gluon._runtime import GluonASTSource as source
    unit = source(
        function,
        {name: spec["types"].get(name, "constexpr") for name in names},
        constexprs={(names.index(name),): value for name, value in spec["constants"].items()},
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in spec["divisible"]},
    )
    target = GPUTarget("cuda", int(re.search(r"\d+", architecture).group()), 32)
    made = triton.compile(unit, target=target, options=spec["options"])
    with open(out, "wb") as f:
        f.write(made.asm["cubin"])
    print(json.dumps({"shared": made.metadata.shared}))


main(*sys.argv[1:])
