# SPDX-License-Identifier: Apache-2.0
"""Kernels that compilers make of seeded random programs: Triton, Gluon, Inductor; and what of PyTorch is a feature of its own (grouped products, nested and
sparse tensors, quantised ones, recurrent networks, optimisers): programs of programs.py.
"""
import importlib.util
import os
import random
import tempfile

from special import tried

SECONDS = float(os.environ.get("SASSEMU_PROGRAM_SECONDS", "60"))


def torch_():
    import torch
    torch.manual_seed(9)
    return torch


def module_of(text, name):
    """Triton reads the source of a kernel from its file."""
    path = os.path.join(tempfile.mkdtemp(), name + ".py")
    with open(path, "w") as f:
        f.write(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


UNARY = ["tl.exp({})", "tl.log(tl.abs({}) + 1)", "tl.sqrt(tl.abs({}))", "tl.sin({})", "tl.cos({})", "tl.abs({})", "tl.sigmoid({})", "tl.erf({})", "tl.floor({})", "tl.rsqrt(tl.abs({}) + 0.5)", "-{}", "tl.exp2({} * 0.25)",
         "({}).to(tl.float16).to(tl.float32)", "({}).to(tl.bfloat16).to(tl.float32)", "({}).to(tl.int32).to(tl.float32)", "({}).to(tl.float8e4nv).to(tl.float32)"]
BINARY = ["{} + {}", "{} - {}", "{} * {}", "{} / ({} * {} + 1)", "tl.maximum({}, {})", "tl.minimum({}, {})", "tl.where({} > {}, {}, 0.5)", "tl.fma({}, {}, 0.25)"]
REDUCE = ["tl.sum({}, {})", "tl.max({}, {})", "tl.min({}, {})", "tl.argmax({}, {}).to(tl.float32)", "tl.xor_sum(({}).to(tl.int32), {}).to(tl.float32)"]
SCAN = ["tl.cumsum({}, {})", "tl.cumprod({} * 0.001 + 1, {})", "tl.sort({}, {})", "tl.flip({}, {})"]


def expression(r, values, depth):
    if depth == 0:
        return r.choice(values)
    form = r.choice(UNARY + BINARY * 2)
    return "(%s)" % form.format(*(expression(r, values, depth - 1) for _ in range(form.count("{}"))))


def triton_text(r, number, two):
    lines = ["@triton.jit", "def kernel_%d(a, b, out, n, M: tl.constexpr, N: tl.constexpr):" % number]
    if two:
        lines += ["    m, k = tl.arange(0, M), tl.arange(0, N)", "    i = m[:, None] * N + k[None, :]", "    x, y = tl.load(a + i, i < n, 0.0), tl.load(b + i, i < n, 1.0)"]
    else:
        lines += ["    i = tl.program_id(0) * N + tl.arange(0, N)", "    x, y = tl.load(a + i, i < n, 0.0), tl.load(b + i, i < n, 1.0)"]
    for k in range(r.randrange(1, 4)):
        lines.append("    v%d = %s" % (k, expression(r, ["x", "y"] + ["v%d" % p for p in range(k)], r.randrange(1, 4))))
        axis = r.randrange(2) if two else 0
        what = r.randrange(5)
        if what == 0:
            of = r.choice(REDUCE).format("v%d" % k, axis)
            lines.append("    v%d = v%d + %s" % (k, k, "(%s)[%s]" % (of, "None, :" if axis == 0 else ":, None") if two else of))
        elif what == 1 and (not two or axis == 1):
            lines.append("    v%d = %s" % (k, r.choice(SCAN).format("v%d" % k, axis)))
        elif what == 2 and two:
            lines.append("    v%d = tl.dot(v%d.to(tl.float16), tl.trans(y).to(tl.float16)) if M == N else v%d * 2" % (k, k, k))
        elif what == 3:
            lines.append("    for j in range(%d):" % r.randrange(2, 6))
            lines.append("        v%d = v%d * 0.5 + %s" % (k, k, expression(r, ["x", "v%d" % k], 1)))
    lines.append("    tl.store(out + i, v%d, i < n)" % k)
    return "\n".join(lines) + "\n"


def triton_random(seed):
    torch = torch_()
    import time
    end, r = time.monotonic() + SECONDS, random.Random(seed)
    a, b = torch.randn(16384, device="cuda"), torch.randn(16384, device="cuda")
    for number in range(150):
        if time.monotonic() > end:
            print("out of time at", number)
            break
        two = r.random() < 0.6
        m, n = r.choice([(16, 16), (32, 32), (64, 64), (16, 64), (8, 128)]) if two else (1, r.choice([128, 256, 1024]))
        warps, stages = r.choice([1, 2, 4, 8]), r.choice([1, 2, 3])

        def one():
            text = "import triton\nimport triton.language as tl\n" + triton_text(r, number, two)
            kernel = getattr(module_of(text, "random_%d" % number), "kernel_%d" % number)
            kernel[(1 if two else 2,)](a, b, torch.empty_like(a), m * n - 3 if two else 2 * n - 5, M=m, N=n, num_warps=warps, num_stages=stages)
        tried(number, one)
    torch.cuda.synchronize()


GLUON = '''
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def scale(x, out, n, B: gl.constexpr, layout: gl.constexpr):
    i = gl.program_id(0) * B + gl.arange(0, B, layout=layout)
    v = gl.load(x + i, mask=i < n)
    gl.store(out + i, v * 2 + gl.sum(v, 0), mask=i < n)


@gluon.jit
def transposed(x, out, M: gl.constexpr, N: gl.constexpr, first: gl.constexpr, second: gl.constexpr):
    m, k = gl.arange(0, M, layout=gl.SliceLayout(1, first)), gl.arange(0, N, layout=gl.SliceLayout(0, first))
    v = gl.load(x + m[:, None] * N + k[None, :])
    w = gl.convert_layout(v, second)
    m2, k2 = gl.arange(0, M, layout=gl.SliceLayout(1, second)), gl.arange(0, N, layout=gl.SliceLayout(0, second))
    gl.store(out + k2[None, :] * M + m2[:, None], w * gl.max(w, 1)[:, None])


@gluon.jit
def through_shared(x, out, M: gl.constexpr, N: gl.constexpr, layout: gl.constexpr, shared: gl.constexpr):
    m, k = gl.arange(0, M, layout=gl.SliceLayout(1, layout)), gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    v = gl.load(x + m[:, None] * N + k[None, :])
    memory = gl.allocate_shared_memory(v.dtype, [M, N], shared, v)
    gl.store(out + m[:, None] * N + k[None, :], memory.load(layout) + 1)
'''


def triton_gluon():
    torch = torch_()
    from triton.experimental.gluon import language as gl
    g = module_of(GLUON, "gluon_kernels")
    for t in (torch.float32, torch.float16, torch.bfloat16, torch.int32):
        x = (torch.randn(64, 64, device="cuda") * 9).to(t)
        for vector in (1, 2, 4, 8):
            for warps in (1, 4, 8):
                flat = gl.BlockedLayout([vector], [32], [warps], [0])
                first, second = gl.BlockedLayout([1, vector], [8, 4], [warps, 1], [1, 0]), gl.BlockedLayout([vector, 1], [4, 8], [1, warps], [0, 1])
                tried((t, vector, warps), lambda: g.scale[(4,)](x, torch.empty_like(x), 4000, B=1024, layout=flat, num_warps=warps),
                      lambda: g.transposed[(1,)](x, torch.empty_like(x), M=64, N=64, first=first, second=second, num_warps=warps),
                      lambda: g.through_shared[(1,)](x, torch.empty_like(x), M=64, N=64, layout=first, shared=gl.SwizzledSharedLayout(vector, 1, 4, [1, 0]), num_warps=warps),
                      lambda: g.through_shared[(1,)](x, torch.empty_like(x), M=64, N=64, layout=second, shared=gl.NVMMASharedLayout.get_default_for([64, 64], {torch.float32: gl.float32, torch.float16: gl.float16, torch.bfloat16: gl.bfloat16, torch.int32: gl.int32}[t]), num_warps=warps))
    torch.cuda.synchronize()


def inductor_random(seed):
    torch = torch_()
    import time
    end, r = time.monotonic() + SECONDS, random.Random(seed)
    point = ["torch.sin({})", "torch.relu({})", "torch.exp({} * 0.1)", "torch.sigmoid({})", "torch.tanh({})", "{} * {}", "{} + {}", "{} - {}", "torch.where({} > 0, {}, {})", "torch.maximum({}, {})", "torch.nn.functional.gelu({})", "torch.log1p({}.abs())", "{}.clamp(-1, 1)", "torch.erf({})"]
    whole = ["{}.sum(1, keepdim=True) + x", "{}.mean(0) + x", "torch.softmax({}, 1)", "torch.cumsum({}, 1)", "{}.amax(0, keepdim=True) * x", "torch.nn.functional.layer_norm({}, (x.shape[1],))", "{}.t().contiguous().t()", "torch.var({}, 1, keepdim=True) + x", "{}[:, torch.arange(x.shape[1] - 1, -1, -1, device='cuda')]", "torch.cat([{}, x], 1)[:, :x.shape[1]]",
             "torch.nn.functional.dropout({}, 0.3)", "{} @ w", "torch.sort({}, 1)[0]", "torch.roll({}, 3, 1)", "torch.nn.functional.pad({}, (1, 1))[:, 1:-1]", "torch.std({}, 0) * x", "torch.argmax({}, 1, keepdim=True) * x", "torch.nn.functional.embedding({}.abs().long() % 9, w[:, 0]).reshape(x.shape)"]

    def tree(depth):
        if depth == 0:
            return r.choice("xxyz")
        form = r.choice(point * 2 + whole)
        return "(%s)" % form.format(*(tree(depth - 1) for _ in range(form.count("{}"))))
    for number in range(60):
        if time.monotonic() > end:
            print("out of time at", number)
            break
        text = "import torch\n\n\ndef f(x, y, z, w):\n    return %s\n" % tree(r.randrange(2, 5))
        t = r.choice([torch.float32, torch.float16, torch.bfloat16])
        rows, columns = r.choice([(33, 100), (64, 64), (7, 300), (128, 48)])

        def one():
            f = torch.compile(module_of(text, "inductor_%d" % number).f, dynamic=r.random() < 0.3)
            x, y, z = (torch.randn(rows, columns, device="cuda").to(t).requires_grad_(r.random() < 0.3) for _ in range(3))
            out = f(x, y, z, torch.randn(columns, columns, device="cuda").to(t))
            if out.requires_grad:
                out.float().sum().backward()
        tried(number, one)
    torch.cuda.synchronize()


def inductor_tuned():
    """Templates that are tuned: every candidate is launched."""
    torch = torch_()

    def product(a, b):
        return torch.relu(a @ b) + 1

    def batched(a, b):
        return torch.bmm(a, b) * 0.5

    def convolved(x, w):
        return torch.nn.functional.conv2d(x, w, padding=1)
    for t in (torch.float16, torch.bfloat16, torch.float32):
        tried(t, lambda: torch.compile(product, mode="max-autotune-no-cudagraphs")(torch.randn(96, 64, device="cuda").to(t), torch.randn(64, 80, device="cuda").to(t)),
              lambda: torch.compile(batched, mode="max-autotune-no-cudagraphs")(torch.randn(3, 64, 48, device="cuda").to(t), torch.randn(3, 48, 64, device="cuda").to(t)),
              lambda: torch.compile(convolved, mode="max-autotune-no-cudagraphs")(torch.randn(1, 16, 14, 14, device="cuda").to(t), torch.randn(32, 16, 3, 3, device="cuda").to(t)))
    torch.cuda.synchronize()


def torch_flex():
    torch = torch_()
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    flex = torch.compile(flex_attention)
    for t in (torch.float16, torch.bfloat16, torch.float32):
        q, k, v = (torch.randn(1, 2, 128, 64, device="cuda").to(t).requires_grad_() for _ in range(3))
        for score in (None, lambda s, b, h, i, j: s + (i - j), lambda s, b, h, i, j: torch.tanh(s / 20) * 20):
            tried(t, lambda: flex(q, k, v, score_mod=score).sum().backward())
        for mask in (lambda b, h, i, j: i >= j, lambda b, h, i, j: (i - j).abs() < 40):
            tried(t, lambda: flex(q, k, v, block_mask=create_block_mask(mask, None, None, 128, 128)).sum().backward())
    torch.cuda.synchronize()


def torch_reduce_overhead():
    """PyTorch's own graphs, again and again."""
    torch = torch_()
    model = torch.nn.Sequential(torch.nn.Linear(40, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 40)).cuda()
    step = torch.compile(model, mode="reduce-overhead")
    x = torch.randn(16, 40, device="cuda")
    for _ in range(5):
        y = step(x)
        y.square().mean().backward()
        x = torch.randn(16, 40, device="cuda")
    for t in (torch.float32, torch.float16):
        a = torch.randn(48, 48, device="cuda").to(t)
        out = torch.cuda.make_graphed_callables(torch.nn.Linear(48, 48).cuda().to(t), (a,))(a)
        out.sum()
    torch.cuda.synchronize()


def torch_grouped():
    torch = torch_()
    ends = torch.tensor([16, 48, 96], device="cuda", dtype=torch.int32)
    for k, n in ((64, 128), (128, 64), (256, 256)):
        a, b = torch.randn(96, k, device="cuda", dtype=torch.bfloat16), torch.randn(3, n, k, device="cuda", dtype=torch.bfloat16).transpose(1, 2)
        tried((k, n), lambda: torch._grouped_mm(a, b, offs=ends), lambda: torch._grouped_mm(a, b.contiguous(), offs=ends), lambda: torch._grouped_mm(torch.randn(3, 32, k, device="cuda", dtype=torch.bfloat16), b),
              lambda: torch._grouped_mm(torch.randn(k, 96, device="cuda", dtype=torch.bfloat16), torch.randn(n, 96, device="cuda", dtype=torch.bfloat16).t(), offs=ends),
              lambda: torch._scaled_grouped_mm(a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn), torch.rand(96, device="cuda"), torch.rand(3, n, device="cuda"), offs=ends, out_dtype=torch.bfloat16))
    for m, k, n in ((64, 128, 64), (17, 64, 96), (256, 256, 128)):
        a, b = torch.randn(m, k, device="cuda").to(torch.float8_e4m3fn), torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn).t()
        for out in (torch.bfloat16, torch.float16, torch.float32):
            tried((m, k, n), lambda: torch._scaled_mm(a, b, torch.rand(m, 1, device="cuda"), torch.rand(1, n, device="cuda"), out_dtype=out), lambda: torch._scaled_mm(a, b, torch.tensor(0.5, device="cuda"), torch.tensor(2.0, device="cuda"), out_dtype=out, use_fast_accum=True))
    torch.cuda.synchronize()


def torch_quantised():
    torch = torch_()
    x = torch.randn(16, 64, device="cuda")
    tried("quantised", lambda: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127), lambda: torch.fake_quantize_per_channel_affine(x, torch.rand(16, device="cuda"), torch.zeros(16, device="cuda").int(), 0, -8, 7),
          lambda: torch._weight_int8pack_mm(x.bfloat16(), torch.randint(-128, 127, (32, 64), device="cuda", dtype=torch.int8), torch.rand(32, device="cuda").bfloat16()),
          lambda: torch._weight_int4pack_mm(torch.randn(16, 128, device="cuda", dtype=torch.bfloat16), torch._convert_weight_to_int4pack(torch.randint(0, 255, (32, 64), device="cuda", dtype=torch.uint8), 8), 32, torch.rand(4, 32, 2, device="cuda", dtype=torch.bfloat16)),
          lambda: torch._int_mm(torch.randint(-9, 9, (32, 64), device="cuda").to(torch.int8), torch.randint(-9, 9, (64, 48), device="cuda").to(torch.int8)),
          lambda: torch.quantize_per_tensor(x, 0.1, 3, torch.quint8).dequantize())
    for t in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e8m0fnu"):
        tried(t, lambda: x.to(getattr(torch, t)).float(), lambda: x.half().to(getattr(torch, t)).bfloat16(), lambda: x.double().to(getattr(torch, t)).double())
    torch.cuda.synchronize()


def torch_nested():
    torch = torch_()
    parts = [torch.randn(n, 64, device="cuda") for n in (3, 17, 40)]
    for layout in (torch.strided, torch.jagged):
        def one():
            n = torch.nested.nested_tensor(parts, layout=layout, requires_grad=True)
            out = torch.nn.functional.gelu(torch.nn.functional.linear(n, torch.randn(32, 64, device="cuda")))
            torch.nested.to_padded_tensor(out, 0.0).sum().backward()
        tried(layout, one)
    n = torch.nested.nested_tensor(parts, layout=torch.jagged)
    tried("jagged", lambda: (n * 2 + n.sin()).values(), lambda: torch.nn.functional.layer_norm(n, (64,)), lambda: n.sum(-1), lambda: torch.softmax(n, -1), lambda: torch.ops.aten._padded_dense_to_jagged_forward(torch.randn(3, 40, 64, device="cuda"), [n.offsets()], 60))
    q = torch.nested.nested_tensor([p.view(-1, 2, 32).half() for p in parts], layout=torch.jagged).transpose(1, 2)
    tried("attention", lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q))
    torch.cuda.synchronize()


def torch_sparse():
    torch = torch_()
    for t in (torch.float32, torch.float64, torch.complex64):
        d = torch.randn(48, 40, device="cuda", dtype=t) * (torch.rand(48, 40, device="cuda") > 0.8)
        m = torch.randn(40, 9, device="cuda", dtype=t)
        for s in (d.to_sparse(), d.to_sparse_csr(), d.to_sparse_csc(), d.to_sparse_bsr((8, 8)), d.to_sparse_bsc((4, 8))):
            tried(s.layout, lambda: s @ m, lambda: s.to_dense(), lambda: s * 2, lambda: torch.sparse.sum(s), lambda: s + s, lambda: torch.sparse.softmax(s, 1), lambda: torch.sparse.mm(s, s.t()), lambda: s.t(), lambda: torch.sparse.sampled_addmm(s, torch.randn(48, 7, device="cuda", dtype=t), torch.randn(7, 40, device="cuda", dtype=t)),
                  lambda: torch.triangular_solve(m[:, :3], s), lambda: s.coalesce(), lambda: s.abs(), lambda: torch.sparse.log_softmax(s, 1))
    for t in (torch.float16, torch.bfloat16, torch.int8):
        def half():
            w = torch.randn(128, 128, device="cuda").view(-1, 4)
            w[:, 2:] = 0
            s = torch.sparse.to_sparse_semi_structured(w.view(128, 128).to(t))
            s @ torch.randn(128, 128, device="cuda").to(t)
        tried(t, half)
    torch.cuda.synchronize()


def torch_recurrent():
    torch = torch_()
    for t in (torch.float32, torch.float16, torch.float64):
        for kind, more in ((torch.nn.LSTM, {}), (torch.nn.LSTM, dict(proj_size=8)), (torch.nn.GRU, {}), (torch.nn.RNN, dict(nonlinearity="relu")), (torch.nn.RNN, {})):
            for layers, both in ((1, False), (2, True)):
                tried((t, kind), lambda: kind(12, 16, layers, bidirectional=both, batch_first=True, **more).cuda().to(t)(torch.randn(3, 9, 12, device="cuda", dtype=t))[0].sum().backward())
        tried("cells", lambda: torch.nn.LSTMCell(12, 16).cuda().to(t)(torch.randn(3, 12, device="cuda", dtype=t))[0].sum().backward(), lambda: torch.nn.GRUCell(12, 16).cuda().to(t)(torch.randn(3, 12, device="cuda", dtype=t)).sum().backward(),
              lambda: torch.nn.Transformer(32, 2, 1, 1, 48, batch_first=True).cuda().to(t)(torch.randn(2, 9, 32, device="cuda", dtype=t), torch.randn(2, 7, 32, device="cuda", dtype=t)).sum().backward(),
              lambda: torch.nn.TransformerEncoderLayer(32, 2, 48, batch_first=True).cuda().to(t).eval()(torch.randn(2, 9, 32, device="cuda", dtype=t)),
              lambda: torch.nn.functional.ctc_loss(torch.randn(20, 2, 6, device="cuda", dtype=t).log_softmax(2), torch.randint(1, 6, (2, 5), device="cuda"), torch.tensor([20, 20]), torch.tensor([5, 4])))
    torch.cuda.synchronize()


def torch_optimisers():
    torch = torch_()
    for name in ("SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop", "Adafactor", "LBFGS", "SparseAdam", "Muon"):
        for more in (dict(foreach=True), dict(foreach=False), dict(fused=True), dict(capturable=True), {}):
            def one():
                parameters = [torch.nn.Parameter(torch.randn(n, 8, device="cuda", dtype=t)) for n, t in ((5, torch.float32), (40, torch.float32), (9, torch.float64), (300, torch.bfloat16))]
                if name == "Muon":
                    parameters = parameters[:2]
                optimiser = getattr(torch.optim, name)(parameters, lr=0.01, **more)
                for _ in range(2):
                    for p in parameters:
                        p.grad = torch.randn_like(p)
                    optimiser.step(*([lambda: torch.tensor(1.0)] if name == "LBFGS" else []))
                torch.nn.utils.clip_grad_norm_(parameters, 0.5, foreach=True)
            tried((name, more), one)
    torch.cuda.synchronize()


def torch_functions():
    torch = torch_()
    from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vmap
    f = torch.nn.Sequential(torch.nn.Linear(6, 9), torch.nn.Tanh(), torch.nn.Linear(9, 3)).cuda()
    x = torch.randn(7, 6, device="cuda")
    parameters = dict(f.named_parameters())
    tried("functions", lambda: vmap(jacrev(f))(x), lambda: vmap(jacfwd(f))(x), lambda: hessian(lambda v: f(v).sum())(x[0]), lambda: vmap(grad(lambda p, v: functional_call(f, p, v).square().sum()), (None, 0))(parameters, x), lambda: jvp(f, (x,), (x,)),
          lambda: vmap(torch.linalg.solve)(torch.randn(5, 4, 4, device="cuda"), torch.randn(5, 4, device="cuda")), lambda: vmap(lambda v: torch.histc(v, 5))(x), lambda: vmap(torch.sort)(x))
    for name in ("Normal", "Gamma", "Beta", "Dirichlet", "Poisson", "Categorical", "MultivariateNormal", "StudentT", "LogNormal", "Gumbel", "Laplace", "Weibull", "Binomial", "Geometric", "VonMises", "Cauchy", "Bernoulli", "Exponential", "Pareto", "Wishart", "Kumaraswamy"):
        one, two = torch.ones(30, device="cuda"), torch.full((30,), 2.5, device="cuda")
        arguments = {"Dirichlet": (two,), "Poisson": (two,), "Categorical": (one,), "MultivariateNormal": (one[:4], torch.eye(4, device="cuda")), "StudentT": (two,), "Binomial": (5, one * 0.3), "Geometric": (one * 0.4,), "Bernoulli": (one * 0.4,), "Exponential": (two,), "Wishart": (torch.tensor(5.0, device="cuda"), torch.eye(3, device="cuda"))}.get(name, (one, two))

        def draw():
            d = getattr(torch.distributions, name)(*arguments)
            s = d.rsample((3,)) if d.has_rsample else d.sample((3,))
            d.log_prob(s).sum(), d.entropy()
        tried(name, draw)
    torch.cuda.synchronize()


def numbered(f, name, count):
    for seed in range(count):
        def one(seed=seed):
            f(seed)
        one.__name__ = "%s_%d" % (name, seed)
        yield one


PROGRAMS = [*numbered(triton_random, "triton_random", 5), triton_gluon, *numbered(inductor_random, "inductor_random", 4), inductor_tuned, torch_flex, torch_reduce_overhead, torch_grouped, torch_quantised, torch_nested, torch_sparse, torch_recurrent,
            torch_optimisers, torch_functions]
