// SPDX-License-Identifier: Apache-2.0
// cuRAND: every generator with every distribution; and the device's own generators.
#include <curand.h>
#include <curand_kernel.h>

#include "check.hpp"

template <class State>
__global__ void draws(float* out, unsigned long long seed) {
    State state;
    curand_init(seed, threadIdx.x, 3, &state);
    float s = curand_uniform(&state) + curand_normal(&state) + curand_log_normal(&state, 0.1f, 0.5f) + curand_poisson(&state, 3.5);
    skipahead(11, &state);
    out[threadIdx.x] = s + curand(&state) * 1e-9f + static_cast<float>(curand_normal_double(&state));
}

int main() {
    constexpr size_t n = 2048;
    auto* out = device<float>(4 * n);
    for (const auto type : {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_MTGP32, CURAND_RNG_PSEUDO_MT19937, CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_QUASI_SOBOL32, CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, CURAND_RNG_QUASI_SOBOL64,
                            CURAND_RNG_QUASI_SCRAMBLED_SOBOL64}) {
        curandGenerator_t g;
        if (curandCreateGenerator(&g, type)) continue;
        curandSetPseudoRandomGeneratorSeed(g, 1234);
        curandSetQuasiRandomGeneratorDimensions(g, 4);
        curandGenerate(g, reinterpret_cast<unsigned*>(out), n);
        curandGenerateLongLong(g, reinterpret_cast<unsigned long long*>(out), n);
        curandGenerateUniform(g, out, n);
        curandGenerateUniformDouble(g, reinterpret_cast<double*>(out), n);
        curandGenerateNormal(g, out, n, 1, 2);
        curandGenerateNormalDouble(g, reinterpret_cast<double*>(out), n, 1, 2);
        curandGenerateLogNormal(g, out, n, 0, 0.5f);
        curandGenerateLogNormalDouble(g, reinterpret_cast<double*>(out), n, 0, 0.5);
        for (const double lambda : {0.5, 5.0, 50.0, 5000.0}) curandGeneratePoisson(g, reinterpret_cast<unsigned*>(out), n, lambda);
        (void)0;
        CHECK(cudaDeviceSynchronize());
        curandDestroyGenerator(g);
    }
    draws<curandStateXORWOW_t><<<1, 64>>>(out, 5);
    draws<curandStatePhilox4_32_10_t><<<1, 64>>>(out, 5);
    draws<curandStateMRG32k3a_t><<<1, 64>>>(out, 5);
    CHECK(cudaDeviceSynchronize());
}
