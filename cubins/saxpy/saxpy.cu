// y = alpha * x + y with a grid-stride loop: one fused multiply-add per element.
extern "C" __global__ void saxpy(float alpha, const float* __restrict__ x, float* __restrict__ y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = fmaf(alpha, x[i], y[i]);
}
