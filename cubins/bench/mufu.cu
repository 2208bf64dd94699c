// Benchmark: the special-function unit, one kernel per function. Eight independent chains, 64 MUFU per turn of the loop
// (and as many FMUL in sine and cosine, whose operands count turns). `sassemu run` prints the rate of each launch.
#define KERNEL(name, type, constraint, instruction)                                                            \
    extern "C" __global__ void __launch_bounds__(256) name(type* out, int turns) {                             \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                                   \
        type v[8];                                                                                             \
        _Pragma("unroll") for (int k = 0; k < 8; ++k) v[k] = type(0.03125) * type((i * 7 + k * 3) % 61 + 3);   \
        _Pragma("unroll 1") for (int t = 0; t < turns; ++t) {                                                  \
            _Pragma("unroll") for (int r = 0; r < 8; ++r) {                                                    \
                _Pragma("unroll") for (int k = 0; k < 8; ++k) asm volatile(instruction : "+" constraint(v[k])); \
            }                                                                                                  \
        }                                                                                                      \
        type sum = 0;                                                                                          \
        for (int k = 0; k < 8; ++k) sum += v[k];                                                               \
        out[i] = sum;                                                                                          \
    }

KERNEL(reciprocal, float, "f", "{.reg .f32 n; neg.f32 n, %0; rcp.approx.ftz.f32 %0, n;}")
KERNEL(root_reciprocal, float, "f", "rsqrt.approx.ftz.f32 %0, %0;")
KERNEL(root, float, "f", "sqrt.approx.ftz.f32 %0, %0;")
KERNEL(power, float, "f", "{.reg .f32 n; neg.f32 n, %0; ex2.approx.ftz.f32 %0, n;}")
KERNEL(logarithm, float, "f", "{.reg .f32 n; abs.f32 n, %0; lg2.approx.ftz.f32 %0, n;}")
KERNEL(sine, float, "f", "sin.approx.ftz.f32 %0, %0;")
KERNEL(cosine, float, "f", "cos.approx.ftz.f32 %0, %0;")
KERNEL(tangent, float, "f", "tanh.approx.f32 %0, %0;")
KERNEL(reciprocal_high, double, "d", "rcp.approx.ftz.f64 %0, %0;")
KERNEL(root_reciprocal_high, double, "d", "rsqrt.approx.ftz.f64 %0, %0;")
