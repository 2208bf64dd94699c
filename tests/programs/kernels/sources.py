# SPDX-License-Identifier: Apache-2.0
"""Which files of the packages are compiled, for which architecture, in which order.

Packages are unpacked wheels: flashinfer-python (its data folder) and nvidia-cutlass (cutlass_library/source). Nothing of them is kept.
"""
import os
import re

# What nvcc brings itself. A file that includes nothing else needs nothing else of its package.
TOOLKIT = set("""math_constants.h cuda_runtime.h cuda.h cuda_fp16.h cuda_bf16.h cuda_fp8.h cuda_fp4.h stdint.h cstdint math.h cmath cuda_runtime_api.h
type_traits cooperative_groups.h mma.h float.h cfloat""".split())
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
NAMED = re.compile(r"sm_?(90a|100a|103a|120a|121a)\b")
# The numbers of CUTLASS' examples whose kernels are Hopper's, and Blackwell's: of the data centre, of sm_103, of GeForce.
CUTLASS = [(range(48, 58), "sm_90a"), (range(61, 70), "sm_90a"), ([88], "sm_90a"), (range(70, 79), "sm_100a"), ([81, 83, 84, 86, 92], "sm_100a"),
           ([89, 90], "sm_103a"), ([79, 80, 87], "sm_120a")]


def architectures(path, text):
    """What a freestanding file may be meant for, the likeliest first: the first that compiles is taken."""
    named = NAMED.findall(path)
    first = [f"sm_{name}" for name in named]
    if "tcgen05" in text or "cta_group" in text:
        first += ["sm_100a", "sm_103a"]
    elif "wgmma" in text:
        first += ["sm_90a"]
    elif "block_scale" in text or "kind::f8f6f4" in text:
        first += ["sm_120a", "sm_100a"]
    else:
        first += [f"sm_{name}" for name in NAMED.findall(text[:4000])] + ["sm_90a", "sm_100a", "sm_120a"]
    return list(dict.fromkeys(first))


def freestanding(data):
    """(name, path, architectures, options) of FlashInfer's files that need no other file, smaller ones first."""
    found = []
    for folder, _, files in sorted(os.walk(os.path.join(data, "csrc"))):
        for file in sorted(files):
            path = os.path.join(folder, file)
            if not file.endswith(".cu"):
                continue
            with open(path, errors="replace") as f:
                text = f.read()
            if "__global__" in text and all(name in TOOLKIT for name in INCLUDE.findall(text)):
                name = os.path.relpath(path, data)
                found.append((len(text), (f"flashinfer {name}", path, architectures(name, text), [])))
    return [entry for _, entry in sorted(found, key=lambda pair: pair[0])]


def cutlass(source):
    """Two such lists of CUTLASS: the tutorials and one file of each example, and the others."""
    options = ["--expt-relaxed-constexpr"]
    options += [f"-I{os.path.join(source, folder)}" for folder in ("include", "tools/util/include", "examples/common")]
    units = []
    for folder, architecture in (("hopper", "sm_90a"), ("blackwell", "sm_100a")):
        place = os.path.join(source, "examples/cute/tutorial", folder)
        units += [(False, os.path.join(place, file), architecture) for file in sorted(os.listdir(place)) if file.endswith(".cu")]
    examples = os.path.join(source, "examples")
    for numbers, architecture in CUTLASS:
        for example in sorted(os.listdir(examples)):
            if example[:2].isdigit() and int(example[:2]) in numbers:
                files = sorted(file for file in os.listdir(os.path.join(examples, example)) if file.endswith(".cu"))
                units += [(at > 0, os.path.join(examples, example, file), architecture) for at, file in enumerate(files)]
    lists = ([], [])
    for later, path, architecture in units:
        lists[later].append((f"cutlass {os.path.relpath(path, source)}", path, [architecture], [*options, f"-I{os.path.dirname(path)}"]))
    return lists
