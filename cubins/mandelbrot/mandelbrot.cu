// Escape-time iteration counts: neighbouring lanes leave the loop at different times (divergence).
extern "C" __global__ void mandelbrot(unsigned short* out, int width, int height, float x0, float y0, float step, int limit) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float cx = fmaf(static_cast<float>(x), step, x0), cy = fmaf(static_cast<float>(y), step, y0);
    float zx = 0, zy = 0;
    int n = 0;
    while (n < limit && fmaf(zx, zx, zy * zy) <= 4.0f) {
        const float t = fmaf(zx, zx, fmaf(-zy, zy, cx));
        zy = fmaf(2.0f * zx, zy, cy);
        zx = t;
        ++n;
    }
    out[y * width + x] = static_cast<unsigned short>(n);
}
