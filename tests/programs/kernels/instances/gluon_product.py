# SPDX-License-Identifier: Apache-2.0
"""A product of matrices by wgmma, in Gluon."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma, warpgroup_mma_wait


@gluon.jit
def product(a_ptr, b_ptr, d_ptr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    down: gl.constexpr = gl.SliceLayout(1, rows)
    right: gl.constexpr = gl.SliceLayout(0, rows)
    m, n = gl.arange(0, M, down), gl.arange(0, N, right)
    k_right, k_down = gl.arange(0, K, right), gl.arange(0, K, down)
    a = gl.load(a_ptr + m[:, None] * K + k_right[None, :])
    b = gl.load(b_ptr + k_down[:, None] * N + n[None, :])
    a_shared = gl.allocate_shared_memory(gl.bfloat16, [M, K], gl.NVMMASharedLayout.get_default_for([M, K], gl.bfloat16), a)
    b_shared = gl.allocate_shared_memory(gl.bfloat16, [K, N], gl.NVMMASharedLayout.get_default_for([K, N], gl.bfloat16), b)
    fence_async_shared()
    sums: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, N, 16])
    d = warpgroup_mma(a_shared, b_shared, gl.zeros([M, N], gl.float32, sums), is_async=True)
    d = warpgroup_mma_wait(0, deps=[d])
    i, j = gl.arange(0, M, gl.SliceLayout(1, sums)), gl.arange(0, N, gl.SliceLayout(0, sums))
    gl.store(d_ptr + i[:, None] * N + j[None, :], d)
