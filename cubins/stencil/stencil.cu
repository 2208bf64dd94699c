// Seven-point stencil on a 3-D grid: planes in shared memory with a halo, the third dimension in registers.
constexpr int tx = 32, ty = 8;

extern "C" __global__ void __launch_bounds__(tx* ty)
stencil(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz, float centre, float side) {
    __shared__ float plane[ty + 2][tx + 2];
    const int x = blockIdx.x * tx + threadIdx.x, y = blockIdx.y * ty + threadIdx.y;
    const int cx = threadIdx.x + 1, cy = threadIdx.y + 1;
    const bool inside = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;
    float below = in[y * nx + x], here = in[(ny + y) * nx + x];
    for (int z = 1; z < nz - 1; ++z) {
        const float* at = in + (z * ny + y) * nx + x;
        const float above = at[ny * nx];
        __syncthreads();
        plane[cy][cx] = here;
        if (threadIdx.x == 0 && x > 0) plane[cy][0] = at[-1];
        if (threadIdx.x == tx - 1 && x < nx - 1) plane[cy][tx + 1] = at[1];
        if (threadIdx.y == 0 && y > 0) plane[0][cx] = at[-nx];
        if (threadIdx.y == ty - 1 && y < ny - 1) plane[ty + 1][cx] = at[nx];
        __syncthreads();
        if (inside) {
            const float around = ((plane[cy][cx - 1] + plane[cy][cx + 1]) + (plane[cy - 1][cx] + plane[cy + 1][cx])) + (below + above);
            out[(z * ny + y) * nx + x] = fmaf(centre, here, side * around);
        }
        below = here;
        here = above;
    }
}
