// European option prices: logarithm, exponential, square root, division and a polynomial normal distribution.
__device__ float normal(float d) {
    const float k = 1.0f / fmaf(0.2316419f, fabsf(d), 1.0f);
    const float tail = 0.39894228f * expf(-0.5f * d * d) *
                       (k * fmaf(k, fmaf(k, fmaf(k, fmaf(k, 1.330274429f, -1.821255978f), 1.781477937f), -0.356563782f), 0.319381530f));
    return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(const float* price, const float* strike, const float* years, float* call, float* put, int n,
                                         float rate, float volatility) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float s = price[i], x = strike[i], t = years[i];
    const float root = sqrtf(t);
    const float d1 = (logf(s / x) + fmaf(0.5f * volatility, volatility, rate) * t) / (volatility * root);
    const float d2 = d1 - volatility * root;
    const float n1 = normal(d1), n2 = normal(d2), discount = x * expf(-rate * t);
    call[i] = s * n1 - discount * n2;
    put[i] = discount * (1.0f - n2) - s * (1.0f - n1);
}
