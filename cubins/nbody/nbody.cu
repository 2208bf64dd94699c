// All-pairs gravity, one step: tiles of bodies in shared memory, reciprocal square root by MUFU.
extern "C" __global__ void __launch_bounds__(128)
nbody(const float4* __restrict__ body, float4* __restrict__ velocity, float4* __restrict__ next, int n, float dt, float soft) {
    __shared__ float4 tile[128];
    const int i = blockIdx.x * 128 + threadIdx.x;
    const float4 me = body[i];
    float ax = 0, ay = 0, az = 0;
    for (int base = 0; base < n; base += 128) {
        __syncthreads();
        tile[threadIdx.x] = body[base + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 128; ++j) {
            const float4 o = tile[j];
            const float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
            const float inv = rsqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, soft))));
            const float s = (o.w * inv) * (inv * inv);
            ax = fmaf(dx, s, ax);
            ay = fmaf(dy, s, ay);
            az = fmaf(dz, s, az);
        }
    }
    float4 v = velocity[i];
    v.x = fmaf(ax, dt, v.x);
    v.y = fmaf(ay, dt, v.y);
    v.z = fmaf(az, dt, v.z);
    velocity[i] = v;
    next[i] = make_float4(fmaf(v.x, dt, me.x), fmaf(v.y, dt, me.y), fmaf(v.z, dt, me.z), me.w);
}
