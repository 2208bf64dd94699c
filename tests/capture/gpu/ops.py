# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operators with its own sample inputs (torch.testing), one program for a type and a part of them, forward or with gradients: programs of
programs.py. What PyTorch itself tests is what its kernels are for: shapes, strides, reductions over each dimension, empty tensors.
"""
import os
import sys
import time
import types

SAMPLES, LARGEST, SECONDS = 6, 20000, float(os.environ.get("SASSEMU_PROGRAM_SECONDS", "60"))
# Parts for each type: as many as keep a program below SECONDS.
FORWARD = {"float32": 4, "float64": 3, "float16": 3, "bfloat16": 3, "complex64": 2, "complex128": 2, "int64": 2, "int32": 1, "int16": 1, "int8": 1, "uint8": 1,
           "bool": 1, "complex32": 1}
BACKWARD = {"float32": 3, "float64": 2, "bfloat16": 2, "complex64": 1}


def small(torch, sample):
    tensors = [x for x in (sample.input, *sample.args, *sample.kwargs.values()) if isinstance(x, torch.Tensor)]
    return all(x.numel() <= LARGEST for x in tensors)


def operators(part, parts):
    if "expecttest" not in sys.modules:
        try:
            import expecttest  # noqa: F401
        except ImportError:  # only tests of PyTorch itself need it
            stub = types.ModuleType("expecttest")
            stub.TestCase = __import__("unittest").TestCase
            stub.assert_expected_inline = None
            sys.modules["expecttest"] = stub
    from torch.testing._internal.common_methods_invocations import op_db
    return sorted(op_db, key=lambda op: (op.name, op.variant_test_name))[part::parts]


def run(dtype, part, parts, backward):
    import torch
    torch.manual_seed(7)
    t, end, failed = getattr(torch, dtype), time.monotonic() + SECONDS, 0
    for op in operators(part, parts):
        if time.monotonic() > end:
            print("out of time at", op.name)
            break
        if t not in (op.supported_backward_dtypes("cuda") if backward else op.supported_dtypes("cuda")) or backward and not op.supports_autograd:
            continue
        try:
            for i, sample in zip(range(SAMPLES), op.sample_inputs("cuda", t, requires_grad=backward)):
                if not small(torch, sample):
                    continue
                out = op(sample.input, *sample.args, **sample.kwargs)
                if backward:
                    outs = [x for x in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(x, torch.Tensor) and x.requires_grad]
                    sum((x.abs() if x.is_complex() else x).sum() for x in outs).backward()
        except Exception as e:  # what it does not do for such inputs
            failed += 1
            print(op.name, type(e).__name__, str(e).split("\n")[0][:100])
            if "CUDA error" in str(e):
                break
    torch.cuda.synchronize()
    print(failed, "operators raised")


def programs():
    for backward, of in ((False, FORWARD), (True, BACKWARD)):
        for dtype, parts in of.items():
            for part in range(parts):
                def one(dtype=dtype, part=part, parts=parts, backward=backward):
                    run(dtype, part, parts, backward)
                one.__name__ = "torch_%s_%s_%d" % ("grad" if backward else "ops", dtype, part)
                yield one
