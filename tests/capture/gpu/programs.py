#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA programs whose launches are captured: libraries and compilers that people use, on small inputs.

    programs.py NAME        runs one program
    programs.py             lists them

SASSEMU_PROGRAM_SECONDS: about how long those run that could go on for minutes (default: 60).

Floating-point inputs have NaN payloads, infinities and subnormals among them (bits()); sizes are small, since every launch is replayed on
a CPU. More of such inputs: special.py. Needs what the program imports: PyTorch with Triton, CuPy, JAX.
"""
import os
import sys

import arrays
import generated
import native
import networks
import npp
import ops
import special

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def torch_():
    import torch
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    return torch


def bits(torch, *shape, dtype=None, seed=0):
    """Random bits as floats: every class of number."""
    dtype = dtype or torch.float32
    g = torch.Generator(device="cuda").manual_seed(seed)
    n = torch.empty(0, dtype=dtype).element_size()
    whole = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[n]
    low, high = -(2 ** (8 * n - 1)), 2 ** (8 * n - 1) - 1
    return torch.randint(low, high, shape, dtype=whole, device="cuda", generator=g).view(dtype)


FLOATS = ("float32", "float64", "float16", "bfloat16")


@program
def torch_unary():
    torch = torch_()
    names = "abs neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid erf erfc " \
            "erfinv floor ceil round trunc frac sign reciprocal square digamma lgamma i0 isnan isinf isfinite relu".split()
    for d in FLOATS:
        x = bits(torch, 1024, dtype=getattr(torch, d))
        for name in names:
            try:
                getattr(torch, name)(x)
            except Exception:  # not for this type
                pass
    torch.cuda.synchronize()


@program
def torch_binary():
    torch = torch_()
    names = "add sub mul div fmod remainder pow atan2 maximum minimum fmax fmin hypot copysign nextafter eq lt ge logaddexp".split()
    for d in FLOATS + ("int32", "int64", "uint8"):
        t = getattr(torch, d)
        if t.is_floating_point:
            x, y = bits(torch, 64, 33, dtype=t), bits(torch, 33, dtype=t, seed=1)
        else:
            x, y = torch.randint(1, 100, (64, 33), device="cuda").to(t), torch.randint(1, 100, (33,), device="cuda").to(t)
        for name in names:
            try:
                getattr(torch, name)(x, y)
            except Exception:
                pass
    a, b = torch.randint(-2**31, 2**31 - 1, (2, 4096), device="cuda", dtype=torch.int32)
    for name in "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split():
        getattr(torch, name)(a, b & 31)
    torch.cuda.synchronize()


@program
def torch_reduce():
    torch = torch_()
    for d in FLOATS:
        x = torch.randn(65, 257, device="cuda").to(getattr(torch, d))
        for name in "sum prod mean std var amax amin argmax argmin norm logsumexp cumsum cumprod median any all nansum".split():
            for dim in (0, 1, None):
                try:
                    getattr(torch, name)(x) if dim is None else getattr(torch, name)(x, dim)
                except Exception:
                    pass
        torch.softmax(x, 1), torch.log_softmax(x, 0), torch.nn.functional.layer_norm(x, (257,)), torch.nn.functional.gelu(x)
    torch.cuda.synchronize()


@program
def torch_sort():
    torch = torch_()
    for d in ("int32", "int64", "uint8", "float32", "float64", "float16", "bfloat16"):
        t = getattr(torch, d)
        for n in (100, 3000):
            x = bits(torch, n, dtype=t) if t.is_floating_point else torch.randint(0, 120, (n,), device="cuda").to(t)
            torch.sort(x), torch.topk(x, 5), torch.unique(x)
            torch.sort(x.view(-1, 50), 1)
    x = torch.randint(0, 100, (4000,), device="cuda")
    torch.bincount(x), torch.histc(x.float(), 16), torch.nonzero(x > 50), torch.searchsorted(torch.sort(x)[0], x), torch.kthvalue(x, 7)
    torch.cuda.synchronize()


@program
def torch_index():
    torch = torch_()
    x = torch.randn(64, 48, device="cuda")
    i = torch.randint(0, 64, (100,), device="cuda")
    x[i], x.index_select(0, i), x.gather(0, torch.randint(0, 64, (7, 48), device="cuda")), x.t().contiguous(), x.flip(0), x.roll(3, 1)
    torch.cat([x, x], 1), torch.where(x > 0, x, -x), x.masked_select(x > 1), x.triu(), x.repeat(2, 3), torch.nn.functional.pad(x, (1, 2))
    y = torch.zeros(64, 48, device="cuda")
    y.index_add_(0, i, torch.ones(100, 48, device="cuda")), y.scatter_add_(0, torch.zeros(1, 48, dtype=torch.long, device="cuda"), x[:1])
    torch.nn.functional.embedding(i, x), torch.nn.functional.one_hot(i), torch.tril_indices(9, 9, device="cuda"), torch.arange(1000, device="cuda")
    torch.nn.functional.interpolate(x[None, None], scale_factor=2.0, mode="bilinear"), torch.rand(1000, device="cuda"), torch.randperm(1000, device="cuda")
    x.half().to(torch.float8_e4m3fn).float(), x.to(torch.float8_e5m2).half(), x.long().float(), x.bfloat16().double()
    torch.cuda.synchronize()


@program
def torch_gemm():
    torch = torch_()
    for d in FLOATS:
        t = getattr(torch, d)
        for m, n, k in ((64, 64, 64), (100, 36, 77), (128, 256, 192), (1, 512, 256)):
            a, b = torch.randn(m, k, device="cuda").to(t), torch.randn(k, n, device="cuda").to(t)
            a @ b, torch.addmm(torch.zeros(n, device="cuda").to(t), a, b)
    torch.bmm(torch.randn(5, 40, 24, device="cuda").half(), torch.randn(5, 24, 56, device="cuda").half())
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.randn(96, 64, device="cuda") @ torch.randn(64, 96, device="cuda")
    try:
        one = torch.tensor(1.0, device="cuda")
        torch._scaled_mm(torch.randn(64, 64, device="cuda").to(torch.float8_e4m3fn), torch.randn(64, 64, device="cuda").to(torch.float8_e4m3fn).t(), one, one,
                         out_dtype=torch.bfloat16)
    except Exception as e:
        print(e)
    torch._int_mm(torch.randint(-9, 9, (32, 64), device="cuda").to(torch.int8), torch.randint(-9, 9, (64, 32), device="cuda").to(torch.int8))
    torch.cuda.synchronize()


@program
def torch_conv():
    torch = torch_()
    f = torch.nn.functional
    for d in ("float32", "float16", "bfloat16"):
        t = getattr(torch, d)
        for fmt in (torch.contiguous_format, torch.channels_last):
            x = torch.randn(2, 16, 14, 14, device="cuda").to(t).to(memory_format=fmt).requires_grad_()
            w = torch.randn(32, 16, 3, 3, device="cuda").to(t).to(memory_format=fmt).requires_grad_()
            f.conv2d(x, w, padding=1).sum().backward()
            f.conv2d(x, w[:, :1].repeat(1, 1, 1, 1)[:16], groups=16)
        f.max_pool2d(x, 2), f.avg_pool2d(x, 3), f.batch_norm(x, None, None, training=True), f.group_norm(x, 4), f.conv1d(x[0], w[:, :14, 0])
    f.conv3d(torch.randn(1, 4, 6, 6, 6, device="cuda"), torch.randn(8, 4, 3, 3, 3, device="cuda"))
    f.conv_transpose2d(torch.randn(1, 8, 7, 7, device="cuda"), torch.randn(8, 4, 3, 3, device="cuda"), stride=2)
    torch.cuda.synchronize()


@program
def torch_attention():
    torch = torch_()
    from torch.nn.attention import SDPBackend, sdpa_kernel
    for t in (torch.float16, torch.bfloat16):
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH):
            for causal in (False, True):
                try:
                    q, k, v = (torch.randn(1, 2, 80, 64, device="cuda").to(t).requires_grad_() for _ in range(3))
                    with sdpa_kernel(backend):
                        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).sum().backward()
                except Exception as e:
                    print(backend, e)
    torch.cuda.synchronize()


@program
def torch_linalg():
    torch = torch_()
    for t in (torch.float32, torch.float64):
        a = torch.randn(24, 24, device="cuda", dtype=t)
        s = a @ a.t() + 24 * torch.eye(24, device="cuda", dtype=t)
        torch.linalg.cholesky(s), torch.linalg.lu_factor(a), torch.linalg.solve(a, a), torch.linalg.qr(a), torch.linalg.eigh(s), torch.linalg.svd(a), torch.linalg.inv(a)
    for t in (torch.float32, torch.float64, torch.complex64):
        for n in (64, 60, 77, 1024):
            torch.fft.fft(torch.randn(4, n, device="cuda").to(t))
    torch.fft.rfft2(torch.randn(32, 48, device="cuda")), torch.fft.irfft(torch.fft.rfft(torch.randn(100, device="cuda")))
    m = torch.randn(60, 50, device="cuda").relu().sub(0.8).relu().to_sparse_csr()
    m @ torch.randn(50, 8, device="cuda"), m @ torch.randn(50, device="cuda"), m.to_sparse_coo().coalesce().to_dense()
    torch.cuda.synchronize()


@program
def torch_train():
    torch = torch_()
    model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.LayerNorm(64), torch.nn.GELU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 10)).cuda()
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop):
        optimizer = kind(model.parameters(), lr=0.01)
        for _ in range(2):
            loss = torch.nn.functional.cross_entropy(model(torch.randn(32, 20, device="cuda")), torch.randint(0, 10, (32,), device="cuda"))
            optimizer.zero_grad(), loss.backward(), optimizer.step()
    lstm = torch.nn.LSTM(12, 16, batch_first=True).cuda()
    lstm(torch.randn(3, 7, 12, device="cuda"))[0].sum().backward()
    torch.nn.functional.ctc_loss(torch.randn(20, 2, 6, device="cuda").log_softmax(2), torch.randint(1, 6, (2, 5), device="cuda"), torch.tensor([20, 20]), torch.tensor([5, 4]))
    torch.cuda.synchronize()


@program
def torch_graph():
    torch = torch_()
    x = torch.randn(64, 64, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(2):
            y = torch.tanh(x @ x).sum(1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.tanh(x @ x).sum(1)
    for _ in range(2):
        graph.replay()
    torch.cuda.synchronize()


@program
def torch_compile():
    torch = torch_()

    @torch.compile
    def chain(x, y):
        return (torch.softmax(x * y + 1, -1) * torch.sigmoid(y)).cumsum(-1), torch.nn.functional.layer_norm(x + y, (x.shape[-1],))

    @torch.compile(mode="max-autotune-no-cudagraphs")
    def product(a, b):
        return torch.relu(a @ b) + 1

    for t in (torch.float32, torch.float16):
        chain(torch.randn(33, 100, device="cuda").to(t), torch.randn(33, 100, device="cuda").to(t))
    product(torch.randn(64, 64, device="cuda").half(), torch.randn(64, 64, device="cuda").half())
    torch.cuda.synchronize()


@program
def nccl_one():
    torch = torch_()
    import torch.distributed as dist
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", RANK="0", WORLD_SIZE="1")
    dist.init_process_group("nccl", rank=0, world_size=1)
    x = torch.arange(1000.0, device="cuda")
    dist.all_reduce(x), dist.broadcast(x, 0)
    out = [torch.empty_like(x)]
    dist.all_gather(out, x)
    torch.cuda.synchronize()
    dist.destroy_process_group()


@program
def triton_kernels():
    torch = torch_()
    import triton
    import triton.language as tl

    @triton.jit
    def add(x, y, out, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)

    @triton.jit
    def softmax(x, out, n, B: tl.constexpr):
        row = tl.program_id(0)
        i = tl.arange(0, B)
        v = tl.load(x + row * n + i, i < n, float("-inf"))
        e = tl.exp(v - tl.max(v, 0))
        tl.store(out + row * n + i, e / tl.sum(e, 0), i < n)

    @triton.jit
    def matmul(a, b, c, K, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
        m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, B)
        total = tl.zeros((M, N), tl.float32)
        for at in range(0, K, B):
            total += tl.dot(tl.load(a + m[:, None] * K + at + k[None, :]), tl.load(b + (at + k[:, None]) * N + n[None, :]))
        tl.store(c + m[:, None] * N + n[None, :], total)

    @triton.jit
    def scan(x, out, total, B: tl.constexpr):
        i = tl.arange(0, B)
        v = tl.load(x + i)
        tl.store(out + i, tl.cumsum(v, 0))
        tl.atomic_add(total, tl.sum(v, 0))
        tl.store(x + i, tl.sort(v))

    x, y = bits(torch, 1000), bits(torch, 1000, seed=1)
    add[(4,)](x, y, torch.empty_like(x), 1000, B=256)
    for n in (17, 100, 1000):
        v = torch.randn(5, n, device="cuda")
        softmax[(5,)](v, torch.empty_like(v), n, B=triton.next_power_of_2(n))
    for t in (torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn, torch.int8):
        for warps in (4, 8):
            a, b = (torch.randn(64, 128, device="cuda") * 3).to(t), (torch.randn(128, 64, device="cuda") * 3).to(t)
            try:
                matmul[(1,)](a, b, torch.empty(64, 64, device="cuda"), 128, M=64, N=64, B=32, num_warps=warps)
            except Exception as e:
                print(t, e)
    for t in (torch.int32, torch.float32):
        v = torch.randint(0, 100, (512,), device="cuda").to(t)
        scan[(1,)](v, torch.empty_like(v), torch.zeros(1, device="cuda", dtype=t), B=512)
    torch.cuda.synchronize()


@program
def cupy_math():
    import cupy as cp
    x = cp.random.randint(-2**31, 2**31 - 1, 2000, dtype=cp.int32).view(cp.float32)
    for name in "sin cos tan arcsin exp log sqrt cbrt floor rint isnan sinc i0 deg2rad exp2 log1p tanh".split():
        getattr(cp, name)(x), getattr(cp, name)(x.astype(cp.float64)), getattr(cp, name)(x.astype(cp.float16))
    a = cp.random.rand(30, 40)
    a @ a.T, a.sum(0), a.var(1), cp.sort(a, axis=None), cp.argsort(a, axis=1), cp.median(a), cp.percentile(a, 30), cp.unique(a.astype(int)), cp.einsum("ij,kj->ik", a, a)
    cp.convolve(a[0], a[1]), cp.histogram(a, 10), cp.cumsum(a), cp.linalg.norm(a), cp.fft.fft2(a), cp.kron(a[:3, :3], a[:2, :2]), cp.interp(a[0], cp.arange(10.0), cp.arange(10.0))
    complex_ = a[:, :30] + 1j * a[:, :30].T
    cp.exp(complex_), abs(complex_), cp.linalg.solve(complex_, complex_), complex_ @ complex_
    cp.random.standard_normal(100), cp.random.poisson(3.0, 100), cp.random.gamma(2.0, size=100)
    import cupyx.scipy.ndimage as nd
    import cupyx.scipy.sparse as sp
    import cupyx.scipy.special as special
    nd.gaussian_filter(a, 1.5), nd.label(a > 0.5), nd.distance_transform_edt(a > 0.2), nd.rotate(a, 20, order=1)
    m = sp.random(50, 50, 0.1, format="csr")
    m @ m, m.T @ a.T[:50 - 10, :10].repeat(2, 0)[:50], m.sum(1)
    special.gamma(a), special.erf(a), special.j0(a), special.zeta(a + 2, a + 1)
    cp.cuda.Device().synchronize()


@program
def cupy_textures():
    import cupy as cp
    from cupy.cuda import runtime, texture
    code = r"""
    extern "C" __global__ void sample(float* out, cudaTextureObject_t t, cudaSurfaceObject_t s, int w, int h) {
        int x = threadIdx.x, y = blockIdx.x;
        if (x >= w || y >= h) return;
        out[y * w + x] = tex2D<float>(t, x + 0.5f, y + 0.5f) + surf2Dread<float>(s, x * 4, y);
        surf2Dwrite(out[y * w + x], s, x * 4, y);
    }
    extern "C" __global__ void line(float* out, cudaTextureObject_t t) { out[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }"""
    module = cp.RawModule(code=code)
    w, h = 20, 12
    form = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = texture.CUDAarray(form, w, h, 0, runtime.cudaArraySurfaceLoadStore)
    array.copy_from(cp.random.rand(h, w).astype(cp.float32))
    res = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    tex = texture.TextureObject(res, texture.TextureDescriptor((runtime.cudaAddressModeClamp,) * 2, runtime.cudaFilterModePoint, runtime.cudaReadModeElementType))
    surf = texture.SurfaceObject(res)
    module.get_function("sample")((h,), (32,), (cp.zeros((h, w), cp.float32), tex, surf, w, h))
    flat = cp.random.rand(64).astype(cp.float32)
    lin = texture.ResourceDescriptor(runtime.cudaResourceTypeLinear, arr=flat, chDesc=form, sizeInBytes=256)
    module.get_function("line")((1,), (64,), (cp.zeros(64, cp.float32), texture.TextureObject(lin, texture.TextureDescriptor())))
    cp.cuda.Device().synchronize()


@program
def cupy_raw():
    import cupy as cp
    code = r"""
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    struct Node { Node* next; int value; };
    __device__ int total; __constant__ int factor[4] = {3, 1, 4, 1};
    extern "C" __global__ void list(Node** heads, int* out) { int s = 0; for (Node* n = heads[threadIdx.x]; n; n = n->next) s += n->value * factor[s & 3]; out[threadIdx.x] = s; atomicAdd(&total, s); }
    extern "C" __global__ void __cluster_dims__(2, 1, 1) pair(int* out) {
        __shared__ int mine; auto c = cg::this_cluster(); if (threadIdx.x == 0) mine = blockIdx.x * 7; c.sync();
        out[blockIdx.x * 32 + threadIdx.x] = *c.map_shared_rank(&mine, 1 - c.block_rank()) + threadIdx.x; c.sync(); }
    extern "C" __global__ void grid(int* data) { auto g = cg::this_grid(); data[g.thread_rank()] += 1; g.sync(); data[g.thread_rank()] += data[(g.thread_rank() + 77) % g.size()] * 0 + 5; }
    extern "C" __global__ void heap(int** kept, int* out, int step) {
        if (step == 0) { kept[threadIdx.x] = (int*)malloc(16); kept[threadIdx.x][0] = threadIdx.x * 3; }
        else { out[threadIdx.x] = kept[threadIdx.x][0]; free(kept[threadIdx.x]); } }"""
    module = cp.RawModule(code=code, options=("-std=c++17", "-arch=sm_90"), backend="nvcc")
    nodes = cp.zeros((8, 2), cp.int64)
    base = nodes.data.ptr
    nodes[:, 1] = cp.arange(8)
    nodes[:7, 0] = base + 16 * cp.arange(1, 8)
    module.get_function("list")((1,), (8,), (cp.array([base + 16 * i for i in range(8)], dtype=cp.int64), cp.zeros(8, cp.int32)))
    module.get_function("pair")((4,), (32,), (cp.zeros(128, cp.int32),))
    kept, out = cp.zeros(32, cp.int64), cp.zeros(32, cp.int32)
    for step in (0, 1):
        module.get_function("heap")((1,), (32,), (kept, out, step))
    cp.cuda.Device().synchronize()


@program
def jax_programs():
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = "platform"
    import jax
    import jax.numpy as jnp
    key = jax.random.PRNGKey(0)
    for t in (jnp.float32, jnp.bfloat16, jnp.float16):
        x = jax.random.normal(key, (48, 64)).astype(t)
        jax.jit(lambda x: jax.nn.softmax(jnp.sin(x) @ x.T))(x).block_until_ready()
        jax.jit(lambda x: jnp.cumsum(jnp.sort(x, axis=1), axis=1).mean(0))(x).block_until_ready()
        jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2))(x).block_until_ready()
    x = jax.random.normal(key, (1, 8, 16, 16))
    jax.lax.conv(x, jax.random.normal(key, (4, 8, 3, 3)), (1, 1), "SAME").block_until_ready()
    jnp.fft.fft(x).block_until_ready(), jnp.linalg.cholesky(jnp.eye(16) * 2).block_until_ready(), jnp.linalg.eigh(jnp.eye(9))[0].block_until_ready()
    jax.random.permutation(key, 1000).block_until_ready(), jnp.argsort(x.ravel()).block_until_ready(), jnp.unique(x.astype(int)).block_until_ready()


for other in (special.torch_sort_special, special.cupy_sort_special, special.torch_attention_special, *networks.PROGRAMS, *generated.PROGRAMS, *arrays.PROGRAMS, *ops.programs(),
              *npp.programs(), *native.programs()):
    program(other)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in PROGRAMS:
        print("\n".join(PROGRAMS))
        sys.exit(0 if len(sys.argv) == 1 else 2)
    PROGRAMS[sys.argv[1]]()
