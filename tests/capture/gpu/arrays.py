# SPDX-License-Identifier: Apache-2.0
"""JAX with its defaults (its allocator's arena, its graphs), CuPy and Numba: programs of programs.py."""
import os

from special import tried


def jax_():
    # Its default is three quarters of the GPU, which programs that run beside it need; an arena larger than a capsule it is all the same.
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.04")
    import jax
    return jax, jax.numpy


UNARY = "abs exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil rint trunc sign square reciprocal isnan isfinite sinc i0 cbrt deg2rad " \
        "logical_not positive negative conj angle nan_to_num".split()
BINARY = "add subtract multiply divide power arctan2 maximum minimum fmax fmin hypot copysign nextafter equal less logaddexp fmod remainder floor_divide bitwise_and bitwise_or left_shift gcd ldexp heaviside".split()
REDUCE = "sum prod mean std var max min argmax argmin cumsum cumprod any all median nansum ptp sort argsort".split()
SHAPE = "flip transpose ravel diff triu tril diag trace".split()


def jax_numpy(*types):
    jax, jnp = jax_()
    key = jax.random.PRNGKey(0)
    for name in types:
        t = getattr(jnp, name)
        x, y = (jax.random.normal(k, (33, 40)) * 5 for k in jax.random.split(key))
        x, y = x.astype(t), y.astype(t)
        for f in UNARY:
            tried(f, lambda: jax.jit(getattr(jnp, f))(x))
        for f in BINARY:
            tried(f, lambda: jax.jit(getattr(jnp, f))(x, y))
        for f in REDUCE:
            tried(f, lambda: jax.jit(lambda v: getattr(jnp, f)(v, axis=1))(x), lambda: jax.jit(lambda v: getattr(jnp, f)(v, axis=0))(x))
        for f in SHAPE:
            tried(f, lambda: jax.jit(getattr(jnp, f))(x))
        tried("product", lambda: jax.jit(lambda a, b: a @ b.T)(x, y), lambda: jax.jit(lambda a, b: jnp.einsum("ij,kj->k", a, b))(x, y))
    jax.block_until_ready(jnp.zeros(1))


def jax_numpy_float():
    jax_numpy("float32")


def jax_numpy_half():
    jax_numpy("bfloat16", "float16")


def jax_numpy_double():
    os.environ["JAX_ENABLE_X64"] = "1"
    jax_numpy("float64", "complex64")


def jax_numpy_integer():
    jax_numpy("int32", "uint8", "int8", "uint32")


def jax_graphs():
    """What runs as graphs by default: functions of many operations, loops, branches; again with other buffers."""
    jax, jnp = jax_()
    key = jax.random.PRNGKey(1)
    x = jax.random.normal(key, (64, 48))
    w = [jax.random.normal(k, (48, 48)) * 0.2 for k in jax.random.split(key, 6)]

    @jax.jit
    def layers(x, w):
        for a in w:
            x = jax.nn.gelu(x @ a) + jnp.sort(x, axis=1) * 0.1
            x = x / jnp.linalg.norm(x, axis=1, keepdims=True)
        return x

    @jax.jit
    def step(x, w):
        loss = lambda w: jnp.mean(layers(x, w) ** 2)
        value, gradient = jax.value_and_grad(loss)(w)
        return value, [a - 0.1 * g for a, g in zip(w, gradient)]

    for _ in range(4):
        _, w = step(x, w)
        x = layers(x, w) + 1
    tried("loop", lambda: jax.jit(lambda x: jax.lax.fori_loop(0, 5, lambda i, v: jnp.tanh(v @ w[0]) + i, x))(x))
    tried("while", lambda: jax.jit(lambda x: jax.lax.while_loop(lambda v: jnp.sum(v) < 1e4, lambda v: v * 1.5 + jnp.abs(v[::-1]), jnp.abs(x)))(x))
    tried("scan", lambda: jax.jit(lambda x: jax.lax.scan(lambda c, v: (jnp.tanh(c + v), c.sum()), jnp.zeros(48), x))(x))
    for flag in (True, False):
        tried("branch", lambda: jax.jit(lambda p, x: jax.lax.cond(p, lambda v: jnp.sort(v) @ w[1], lambda v: jnp.cos(v), x))(flag, x))
    tried("switch", lambda: jax.jit(lambda i, x: jax.lax.switch(i, [jnp.sin, lambda v: v @ w[2], lambda v: jnp.cumsum(v, 0)], x))(1, x))
    tried("map", lambda: jax.jit(lambda x: jax.lax.map(lambda v: jnp.fft.fft(v).real, x))(x), lambda: jax.jit(jax.vmap(lambda v: jnp.outer(v, v) @ v))(x),
          lambda: jax.jit(jax.hessian(lambda v: jnp.sum(jnp.sin(v) ** 3)))(x[0]), lambda: jax.jit(jax.jacfwd(lambda v: jnp.cumsum(v) ** 2))(x[0]))
    jax.block_until_ready(layers(x, w))


def jax_linalg():
    jax, jnp = jax_()
    key = jax.random.PRNGKey(2)
    for n in (5, 16, 40):
        a = jax.random.normal(key, (n, n))
        s = a @ a.T + n * jnp.eye(n)
        l = jnp.linalg
        for f in (l.cholesky, l.inv, l.det, l.qr, l.svd, l.eigh, l.slogdet, l.pinv, jax.scipy.linalg.lu, jax.scipy.linalg.expm, lambda v: l.solve(v, a), lambda v: jax.scipy.linalg.solve_triangular(v, a, lower=True),
                  lambda v: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(v), a), lambda v: l.matrix_power(v, 3), jax.lax.linalg.tridiagonal, lambda v: l.cond(v), lambda v: jax.scipy.linalg.sqrtm(v)):
            tried(f, lambda: jax.block_until_ready(jax.jit(f)(s)))
        tried("batch", lambda: jax.block_until_ready(jax.jit(l.inv)(jnp.stack([s, s * 2, s + 1]))), lambda: jax.block_until_ready(jax.grad(lambda v: l.slogdet(v)[1])(s)))
    for n in (16, 60, 77):
        x = jax.random.normal(key, (4, n))
        tried("fft", lambda: jnp.fft.fft(x), lambda: jnp.fft.rfft(x), lambda: jnp.fft.ifft2(x), lambda: jnp.fft.irfft(jnp.fft.rfft(x)))
    jax.block_until_ready(jnp.zeros(1))


def jax_random():
    jax, jnp = jax_()
    for kind in ("threefry2x32", "rbg", "unsafe_rbg"):
        key = jax.random.key(3, impl=kind)
        r = jax.random
        for f in (r.normal, r.uniform, r.exponential, r.gumbel, r.laplace, r.cauchy, r.logistic, r.rademacher, r.bits, lambda k, s: r.gamma(k, 2.0, s), lambda k, s: r.beta(k, 2.0, 3.0, s), lambda k, s: r.poisson(k, 4.0, s),
                  lambda k, s: r.randint(k, s, 0, 1000), lambda k, s: r.truncated_normal(k, -1.0, 2.0, s), lambda k, s: r.t(k, 3.0, s), lambda k, s: r.binomial(k, 10, 0.3, s), lambda k, s: r.categorical(k, jnp.zeros((s[0], 5))),
                  lambda k, s: r.permutation(k, jnp.arange(200)), lambda k, s: r.choice(k, 100, (20,), replace=False), lambda k, s: r.dirichlet(k, jnp.ones(4), s), lambda k, s: r.ball(k, 3, shape=s), lambda k, s: r.orthogonal(k, 6)):
            tried(f, lambda: f(key, (50,)))
    jax.block_until_ready(jnp.zeros(1))


def jax_networks():
    jax, jnp = jax_()
    import optax
    from flax import linen as nn
    key = jax.random.PRNGKey(4)

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x, train=True):
            x = nn.Conv(8, (3, 3))(x)
            x = nn.BatchNorm(use_running_average=not train)(x)
            x = nn.max_pool(nn.relu(x), (2, 2), (2, 2)).reshape(x.shape[0], -1, 8)
            x = nn.SelfAttention(2)(nn.LayerNorm()(x))
            return nn.Dense(5)(nn.GroupNorm(4)(x).mean(1))

    x, y = jax.random.normal(key, (4, 12, 12, 3)), jnp.arange(4)
    net = Net()
    variables = net.init(key, x)
    for optimizer in (optax.sgd(0.1, momentum=0.9), optax.adam(1e-3), optax.adamw(1e-3), optax.lion(1e-3), optax.adafactor(1e-3), optax.rmsprop(1e-3), optax.lamb(1e-3), optax.sm3(1e-2)):
        def one():
            state = optimizer.init(variables["params"])

            @jax.jit
            def step(params, state):
                def loss(p):
                    out, _ = net.apply({"params": p, "batch_stats": variables["batch_stats"]}, x, mutable=["batch_stats"])
                    return optax.softmax_cross_entropy_with_integer_labels(out, y).mean()
                gradient = jax.grad(loss)(params)
                updates, state = optimizer.update(gradient, state, params)
                return optax.apply_updates(params, updates), state
            params = variables["params"]
            for _ in range(2):
                params, state = step(params, state)
            jax.block_until_ready(params)
        tried(optimizer, one)
    tried("lstm", lambda: nn.RNN(nn.LSTMCell(16)).init_with_output(key, jax.random.normal(key, (2, 7, 12))), lambda: nn.RNN(nn.GRUCell(16)).init_with_output(key, jax.random.normal(key, (2, 7, 12))))
    q = jax.random.normal(key, (1, 64, 2, 64)).astype(jnp.bfloat16)
    for implementation in ("xla", "cudnn"):
        tried(implementation, lambda: jax.block_until_ready(jax.jit(lambda q: jax.nn.dot_product_attention(q, q, q, is_causal=True, implementation=implementation))(q)),
              lambda: jax.block_until_ready(jax.jit(jax.grad(lambda q: jax.nn.dot_product_attention(q, q, q, implementation=implementation).astype(jnp.float32).sum()))(q)))
    for window, strides, padding, groups in (((3, 3), (1, 1), "SAME", 1), ((5, 5), (2, 2), "VALID", 1), ((3, 3), (1, 1), "SAME", 8), ((1, 1), (1, 1), "VALID", 1)):
        for t in (jnp.float32, jnp.bfloat16):
            def conv():
                a, b = jax.random.normal(key, (2, 16, 16, 8)).astype(t), jax.random.normal(key, (*window, 8 // groups, 16)).astype(t)
                f = lambda a, b: jax.lax.conv_general_dilated(a, b, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups)
                jax.block_until_ready(jax.jit(f)(a, b)), jax.block_until_ready(jax.jit(jax.grad(lambda a, b: f(a, b).astype(jnp.float32).sum(), (0, 1)))(a, b))
            tried(window, conv)


def jax_sciences():
    jax, jnp = jax_()
    key = jax.random.PRNGKey(5)

    def equations():
        import diffrax
        for solver in (diffrax.Tsit5(), diffrax.Dopri5(), diffrax.Heun(), diffrax.Euler()):
            diffrax.diffeqsolve(diffrax.ODETerm(lambda t, y, a: jnp.sin(y) - y * t), solver, 0, 1, 0.1, jnp.linspace(0, 1, 40))

    def sampling():
        import numpyro
        import numpyro.distributions as d
        from numpyro.infer import MCMC, NUTS

        def model(x, y):
            w, s = numpyro.sample("w", d.Normal(0, 1)), numpyro.sample("s", d.HalfNormal(1))
            numpyro.sample("y", d.Normal(w * x, s), obs=y)
        x = jnp.linspace(0, 1, 20)
        MCMC(NUTS(model), num_warmup=3, num_samples=3, progress_bar=False).run(key, x, 2 * x)

    def modules():
        import equinox as eqx
        model = eqx.nn.MLP(4, 3, 32, 2, key=key)
        eqx.filter_jit(eqx.filter_grad(lambda m, x: jnp.sum(jax.vmap(m)(x) ** 2)))(model, jax.random.normal(key, (9, 4)))

    def solvers():
        import lineax
        import optimistix
        a = jax.random.normal(key, (9, 9)) + 9 * jnp.eye(9)
        for solver in (lineax.LU(), lineax.QR(), lineax.SVD(), lineax.GMRES(1e-5, 1e-5), lineax.BiCGStab(1e-5, 1e-5)):
            lineax.linear_solve(lineax.MatrixLinearOperator(a), jnp.ones(9), solver)
        optimistix.minimise(lambda y, a: jnp.sum((y - 2) ** 4 + y ** 2), optimistix.BFGS(1e-4, 1e-4), jnp.zeros(5))
        optimistix.root_find(lambda y, a: y - jnp.cos(y), optimistix.Newton(1e-5, 1e-5), jnp.zeros(5))

    tried("sciences", equations, sampling, modules, solvers)
    s = jax.scipy.special
    x = jax.random.uniform(key, (400,)) * 3 + 0.1
    for f in (s.gammaln, s.digamma, s.erf, s.erfinv, s.i0e, s.i1e, s.expit, s.logit, s.ndtr, s.log_ndtr, s.entr, s.exp1, lambda v: s.betainc(v, v, 0.3), lambda v: s.gammainc(v, v), lambda v: s.zeta(v + 1, v), lambda v: s.polygamma(1, v), lambda v: s.hyp1f1(v, 2.0, 0.5),
              lambda v: s.bessel_jn(v, v=3), lambda v: s.expi(v), lambda v: s.spence(v)):
        tried(f, lambda: jax.block_until_ready(jax.jit(f)(x)))
    tried("signal", lambda: jax.scipy.signal.convolve(x, x[:9]), lambda: jax.scipy.signal.stft(x, nperseg=64), lambda: jax.scipy.ndimage.map_coordinates(x[:100].reshape(10, 10), [x[:5], x[5:10]], 1), lambda: jax.image.resize(x.reshape(20, 20), (33, 9), "cubic"),
          lambda: jax.scipy.interpolate.RegularGridInterpolator((jnp.arange(20.0), jnp.arange(20.0)), x.reshape(20, 20))(jnp.ones((3, 2))), lambda: jax.scipy.stats.gaussian_kde(x)(x[:9]), lambda: jnp.histogram(x, 10), lambda: jnp.unique(jnp.floor(x * 4)),
          lambda: jnp.searchsorted(jnp.sort(x), x), lambda: jnp.convolve(x, x[:5]), lambda: jnp.interp(x, x, x), lambda: jax.ops.segment_sum(x, jnp.arange(400) // 7), lambda: jax.lax.top_k(x, 7), lambda: jax.lax.approx_max_k(x, 7), lambda: x.at[jnp.arange(9) * 3].add(2.0),
          lambda: jax.lax.reduce_window(x, 0.0, jax.lax.add, (5,), (2,), "VALID"), lambda: jax.lax.associative_scan(jnp.maximum, x))


def jax_pallas():
    jax, jnp = jax_()
    from jax.experimental import pallas as pl

    def add(x, y, o):
        o[...] = x[...] + y[...] * 2

    def softmax(x, o):
        v = x[...]
        e = jnp.exp(v - v.max(-1, keepdims=True))
        o[...] = e / e.sum(-1, keepdims=True)

    def matmul(a, b, o):
        o[...] = jnp.dot(a[...], b[...])
    for t in (jnp.float32, jnp.float16, jnp.bfloat16):
        x = jax.random.normal(jax.random.PRNGKey(6), (64, 64)).astype(t)
        spec = pl.BlockSpec((16, 64), lambda i: (i, 0))
        tried(t, lambda: jax.block_until_ready(pl.pallas_call(add, out_shape=jax.ShapeDtypeStruct(x.shape, t), grid=(4,), in_specs=[spec, spec], out_specs=spec)(x, x)),
              lambda: jax.block_until_ready(pl.pallas_call(softmax, out_shape=jax.ShapeDtypeStruct(x.shape, t), grid=(4,), in_specs=[spec], out_specs=spec)(x)),
              lambda: jax.block_until_ready(pl.pallas_call(matmul, out_shape=jax.ShapeDtypeStruct(x.shape, t), grid=(4,), in_specs=[spec, pl.BlockSpec((64, 64), lambda i: (0, 0))], out_specs=spec)(x, x)))


def cupy_():
    import cupy
    return cupy


def cupy_special():
    cp = cupy_()
    import cupyx.scipy.special as s
    for t in (cp.float32, cp.float64):
        x, y = (cp.random.rand(300) * 4 + 0.05).astype(t), (cp.random.rand(300) * 3 + 0.1).astype(t)
        for name in sorted(n for n in dir(s) if isinstance(getattr(s, n), cp.ufunc)):
            f = getattr(s, name)
            if t is cp.float64 or f.nin == 1:
                tried(name, lambda: f(*([x, y, x, y][: f.nin])))
    cp.cuda.Device().synchronize()


def cupy_ufuncs():
    cp = cupy_()
    for d in ("int8", "uint16", "int32", "uint64", "float16", "complex64", "complex128"):
        x = (cp.random.rand(200) * 20).astype(d)
        for name in sorted(n for n in dir(cp) if isinstance(getattr(cp, n), cp.ufunc))[:: 2 if d in ("float16", "int32") else 5]:
            f = getattr(cp, name)
            tried(name, lambda: f(*([x, x[::-1]][: f.nin])))
    cp.cuda.Device().synchronize()


def cupy_signal():
    cp = cupy_()
    import cupyx.scipy.signal as s
    x, y = cp.random.rand(400), cp.random.rand(40, 30)
    for f in (lambda: s.convolve(x, x[:20]), lambda: s.fftconvolve(x, x), lambda: s.convolve2d(y, y[:3, :3]), lambda: s.lfilter([1.0, 0.3], [1.0, 0.2, 0.1], x), lambda: s.sosfilt(s.butter(4, 0.3, output="sos"), x), lambda: s.filtfilt([1.0, 0.3], [1.0, 0.2], x),
              lambda: s.savgol_filter(x, 9, 3), lambda: s.medfilt(x, 5), lambda: s.wiener(y), lambda: s.hilbert(x), lambda: s.resample(x, 150), lambda: s.resample_poly(x, 3, 2), lambda: s.decimate(x, 3), lambda: s.detrend(x), lambda: s.stft(x, nperseg=64), lambda: s.welch(x, nperseg=64),
              lambda: s.csd(x, x[::-1], nperseg=64), lambda: s.spectrogram(x, nperseg=64), lambda: s.lombscargle(cp.sort(x), x, cp.linspace(1, 9, 20)), lambda: s.find_peaks(x), lambda: s.argrelmax(x), lambda: s.correlate(x, x), lambda: s.chirp(x, 1, 1, 9), lambda: s.gausspulse(x),
              lambda: s.upfirdn(x[:9], x, 3, 2), lambda: s.czt(x), lambda: s.bspline(x, 3), lambda: s.cspline1d(x), lambda: s.sepfir2d(y, x[:5], x[:5]), lambda: s.order_filter(y, cp.ones((3, 3)), 4), lambda: s.firwin(21, 0.3), lambda: s.freqz(x[:9]), lambda: s.symiirorder1(x, 0.5, 0.2)):
        tried("signal", f)
    cp.cuda.Device().synchronize()


def cupy_images():
    cp = cupy_()
    import cupyx.scipy.ndimage as n
    for t in (cp.float32, cp.float64, cp.uint8):
        x = (cp.random.rand(31, 28) * 200).astype(t)
        for f in (lambda: n.gaussian_filter(x, 2), lambda: n.median_filter(x, 3), lambda: n.maximum_filter(x, 5), lambda: n.minimum_filter(x, 3), lambda: n.percentile_filter(x, 30, 3), lambda: n.rank_filter(x, 2, 3), lambda: n.uniform_filter(x, 4), lambda: n.sobel(x), lambda: n.prewitt(x),
                  lambda: n.laplace(x), lambda: n.gaussian_laplace(x, 1.0), lambda: n.gaussian_gradient_magnitude(x, 1.0), lambda: n.convolve(x, cp.ones((3, 3), t)), lambda: n.correlate1d(x, cp.arange(5.0)), lambda: n.affine_transform(x, cp.array([[0.9, 0.1], [0.2, 1.1]]), order=3),
                  lambda: n.zoom(x, 1.7, order=2), lambda: n.rotate(x, 33, order=3), lambda: n.shift(x, 1.5, order=1), lambda: n.map_coordinates(x, cp.random.rand(2, 50) * 20, order=3), lambda: n.spline_filter(x), lambda: n.grey_erosion(x, 3), lambda: n.grey_dilation(x, 3), lambda: n.grey_closing(x, 3),
                  lambda: n.morphological_gradient(x, 3), lambda: n.white_tophat(x, 3), lambda: n.binary_erosion(x > 90), lambda: n.binary_dilation(x > 90, iterations=2), lambda: n.binary_fill_holes(x > 90), lambda: n.label(x > 90), lambda: n.sum_labels(x, n.label(x > 150)[0], cp.arange(5)), lambda: n.mean(x, n.label(x > 150)[0], cp.arange(5)),
                  lambda: n.center_of_mass(x), lambda: n.histogram(x, 0, 200, 9), lambda: n.fourier_gaussian(cp.fft.fft2(x), 1.0), lambda: n.distance_transform_edt(x > 90), lambda: n.value_indices((x / 50).astype(cp.int32))):
            tried("image", f)
    cp.cuda.Device().synchronize()


def cupy_sparse():
    cp = cupy_()
    import cupyx.scipy.sparse as s
    import cupyx.scipy.sparse.linalg as l
    for t in (cp.float32, cp.float64, cp.complex64):
        a = s.random(40, 40, 0.15, format="csr", dtype=cp.float64).astype(t) + s.eye(40, dtype=t, format="csr") * 9
        b, d = cp.random.rand(40).astype(t), cp.random.rand(40, 6).astype(t)
        for f in (lambda: a @ b, lambda: a @ d, lambda: a @ a, lambda: a + a.T, lambda: a.multiply(a), lambda: a.tocsc() @ b, lambda: a.tocoo().tocsr(), lambda: a.toarray(), lambda: a.sum(0), lambda: a.max(1), lambda: a[3:9], lambda: a[:, 5], lambda: a[cp.array([1, 5, 7])], lambda: abs(a), lambda: a.power(2), lambda: a.sort_indices(),
                  lambda: a.todia(), lambda: s.kron(a[:5, :5], a[:4, :4]), lambda: s.vstack([a, a]), lambda: s.triu(a), lambda: s.find(a), lambda: l.spsolve(a, b), lambda: l.cg(a @ a.T, b, maxiter=5), lambda: l.gmres(a, b, maxiter=4), lambda: l.minres(a @ a.T, b, maxiter=4), lambda: l.lsqr(a, b), lambda: l.eigsh(a @ a.T, 3), lambda: l.svds(a, 3), lambda: l.norm(a),
                  lambda: l.spsolve_triangular(s.tril(a).tocsr(), b), lambda: l.cgs(a, b, maxiter=3), lambda: l.spilu(a.tocsc()).solve(b), lambda: a.eliminate_zeros(), lambda: s.csgraph.connected_components(a)):
            tried("sparse", f)
    cp.cuda.Device().synchronize()


def cupy_numbers():
    cp = cupy_()
    import cupyx.scipy.interpolate as i
    import cupyx.scipy.linalg as l
    import cupyx.scipy.stats as st
    import cupyx.scipy.spatial as sp
    import cupyx.scipy.fft as fft
    r = cp.random.default_rng(3)
    for f in (r.random, r.standard_normal, r.standard_exponential, lambda n: r.integers(0, 99, n), lambda n: r.gamma(2.0, size=n), lambda n: r.beta(2.0, 3.0, n), lambda n: r.poisson(4.0, n), lambda n: r.binomial(9, 0.3, n), lambda n: r.chisquare(3.0, n), lambda n: r.geometric(0.3, n), lambda n: r.hypergeometric(9, 8, 7, n), lambda n: r.logseries(0.4, n),
              lambda n: r.power(2.0, n), lambda n: r.dirichlet([1.0, 2.0], n), lambda n: r.f(3.0, 4.0, n)):
        tried("random", lambda: f(200))
    for name in "normal uniform exponential gumbel laplace logistic lognormal pareto rayleigh standard_cauchy vonmises wald weibull zipf triangular negative_binomial multinomial multivariate_normal noncentral_chisquare".split():
        f = getattr(cp.random, name)
        arguments = {"pareto": (3.0,), "vonmises": (0.0, 1.0), "wald": (1.0, 1.0), "weibull": (2.0,), "zipf": (2.0,), "triangular": (0.0, 1.0, 2.0), "negative_binomial": (5, 0.4), "multinomial": (9, [0.2, 0.8]), "multivariate_normal": (cp.zeros(2), cp.eye(2)), "noncentral_chisquare": (3.0, 1.0)}.get(name, ())
        tried(name, lambda: f(*arguments, size=100))
    x, y = cp.sort(cp.random.rand(50)), cp.random.rand(50)
    a = cp.random.rand(20, 20) + 9 * cp.eye(20)
    for f in (lambda: i.CubicSpline(x, y)(x), lambda: i.Akima1DInterpolator(x, y)(x), lambda: i.PchipInterpolator(x, y)(x), lambda: i.make_interp_spline(x, y)(x), lambda: i.BarycentricInterpolator(x[:9], y[:9])(x), lambda: i.RBFInterpolator(a[:, :2], a[:, 3])(a[:5, :2]), lambda: i.RegularGridInterpolator((x[:20], x[20:40]), a)(a[:3, :2] * 0 + 0.3),
              lambda: i.KroghInterpolator(x[:7], y[:7])(x), lambda: l.lu(a), lambda: l.solve_triangular(a, y[:20]), lambda: l.expm(a * 0.01), lambda: l.khatri_rao(a, a), lambda: l.block_diag(a, a), lambda: l.toeplitz(y), lambda: cp.linalg.eigh(a @ a.T), lambda: cp.linalg.svd(a), lambda: cp.linalg.qr(a), lambda: cp.linalg.lstsq(a, y[:20]), lambda: cp.linalg.matrix_power(a, 5),
              lambda: cp.linalg.slogdet(a), lambda: cp.linalg.tensorsolve(a, y[:20]), lambda: st.entropy(y), lambda: st.trim_mean(y, 0.1), lambda: st.boxcox_llf(0.5, y + 1), lambda: st.zscore(y), lambda: fft.dct(y), lambda: fft.dst(y), lambda: fft.fftn(a), lambda: fft.hfft(y), lambda: fft.fht(x, 0.1, 1.0), lambda: sp.distance.cdist(a, a), lambda: sp.KDTree(a[:, :3]).query(a[:4, :3]),
              lambda: sp.Delaunay(a[:, :2]), lambda: cp.cov(a), lambda: cp.corrcoef(a), lambda: cp.quantile(a, 0.3), lambda: cp.gradient(a), lambda: cp.unwrap(y), lambda: cp.polyfit(x, y, 3), lambda: cp.roots(y[:4]), lambda: cp.histogram2d(x, y), lambda: cp.digitize(y, x), lambda: cp.apply_along_axis(cp.sort, 0, a), lambda: cp.piecewise(x, [x < 0.3, x > 0.6], [1, 2]),
              lambda: cp.in1d(x, y), lambda: cp.packbits(x > 0.5), lambda: cp.nanmedian(a, 0), lambda: cp.trapz(y, x), lambda: cp.convolve(x, y), lambda: cp.bincount((y * 9).astype(int)), lambda: cp.tensordot(a, a), lambda: cp.take_along_axis(a, cp.argsort(a, 1), 1), lambda: cp.vander(y), lambda: cp.tri(9), lambda: cp.select([x > 0.5], [x]), lambda: cp.extract(x > 0.5, x)):
        tried("number", f)

    @cp.fuse()
    def fused(a, b):
        return cp.sqrt(cp.sin(a) ** 2 + b * 3) / (1 + a)
    import cupyx.jit as jit

    @jit.rawkernel()
    def raw(a, b, n):
        shared = jit.shared_memory(cp.float32, 64)
        t = jit.threadIdx.x
        shared[t] = a[t]
        jit.syncthreads()
        b[t] = shared[n - 1 - t] + jit.shfl_down_sync(0xffffffff, shared[t], 1)
    tried("fused", lambda: fused(x, y), lambda: raw((1,), (64,), (x[:64].astype(cp.float32).repeat(2)[:64], cp.zeros(64, cp.float32), cp.uint32(64))), lambda: cp.ElementwiseKernel("T a, T b", "T c", "c = a * b + __popc((int)a)", "own")(x, y),
          lambda: cp.ReductionKernel("T a", "T b", "a * a", "a + b", "b = sqrt(a)", "0", "length")(x))
    cp.cuda.Device().synchronize()


def numba_kernels():
    import math

    import numpy as np
    if not hasattr(np, "row_stack"):  # some versions of Numba ask for it, and NumPy has it no more
        np.row_stack = np.vstack
    from numba import cuda, float32, float64, int32

    @cuda.jit
    def saxpy(out, x, y, a):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a * x[i] + math.sin(y[i])

    @cuda.jit
    def tiled(a, b, c):
        sa, sb = cuda.shared.array((8, 8), float32), cuda.shared.array((8, 8), float32)
        x, y = cuda.grid(2)
        total = float32(0.0)
        for k in range(a.shape[1] // 8):
            sa[cuda.threadIdx.x, cuda.threadIdx.y], sb[cuda.threadIdx.x, cuda.threadIdx.y] = a[x, k * 8 + cuda.threadIdx.y], b[k * 8 + cuda.threadIdx.x, y]
            cuda.syncthreads()
            for j in range(8):
                total += sa[cuda.threadIdx.x, j] * sb[j, cuda.threadIdx.y]
            cuda.syncthreads()
        c[x, y] = total

    @cuda.jit
    def histogram(v, bins):
        i = cuda.grid(1)
        if i < v.size:
            cuda.atomic.add(bins, int(v[i]) % bins.size, 1)

    @cuda.jit
    def warp(v, out):
        i = cuda.grid(1)
        x = v[i]
        for k in (16, 8, 4, 2, 1):
            x += cuda.shfl_down_sync(0xFFFFFFFF, x, k)
        if i % 32 == 0:
            out[i // 32] = x
        out[i // 32 + 8] = cuda.popc(cuda.ballot_sync(0xFFFFFFFF, v[i] > 5)) if i % 32 == 0 else out[i // 32 + 8]

    @cuda.jit
    def mandelbrot(out):
        i, j = cuda.grid(2)
        if i < out.shape[0] and j < out.shape[1]:
            z, c, n = complex(0, 0), complex(i * 0.1 - 2, j * 0.1 - 1), 0
            while abs(z) < 2 and n < 50:
                z, n = z * z + c, n + 1
            out[i, j] = n

    @cuda.reduce
    def total(a, b):
        return a + b

    @cuda.jit
    def local(out, n):
        a = cuda.local.array(16, float64)
        for i in range(16):
            a[i] = math.exp(i * 0.1)
        s = float64(0)
        for i in range(n):
            s += a[(i * 7) % 16] * math.lgamma(i + 1.5)
        out[cuda.grid(1)] = s
    for t in (np.float32, np.float64, np.int32):
        x, y = (np.random.default_rng(k).random(256).astype(t) * 10 for k in (1, 2))
        x, y = x.astype(t), y.astype(t)
        tried(t, lambda: saxpy[4, 64](np.zeros_like(x), x, y, 3), lambda: histogram[4, 64](x, np.zeros(17, np.int32)), lambda: warp[8, 32](x, np.zeros(16, t)), lambda: total(x))
    a = np.random.default_rng(3).random((16, 16)).astype(np.float32)
    tried("others", lambda: tiled[(2, 2), (8, 8)](a, a, a.copy()), lambda: mandelbrot[(4, 4), (8, 8)](np.zeros((30, 20), np.int32)), lambda: local[1, 32](np.zeros(32), 20))

    from numba import guvectorize, vectorize
    for name, body in (("hypot", lambda a, b: math.sqrt(a * a + b * b)), ("mixed", lambda a, b: a if a > b else b * a)):
        tried(name, lambda: vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")(body)(a, a))
    cuda.synchronize()


PROGRAMS = [jax_numpy_float, jax_numpy_half, jax_numpy_double, jax_numpy_integer, jax_graphs, jax_linalg, jax_random, jax_networks, jax_sciences, jax_pallas, cupy_special, cupy_ufuncs, cupy_signal, cupy_images, cupy_sparse,
            cupy_numbers, numba_kernels]
