// archs: sm_90
// Sums over a cluster through distributed shared memory: every CTA pushes its part to rank 0, pulls its
// neighbour's, and adds with atomics on a remote word. Rank 0 stores what it collected.
#include <cooperative_groups.h>
#include <cstdint>

namespace cg = cooperative_groups;

extern "C" __global__ void push_pull(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t mine[128], pushed[8 * 128], pulled[128], total;
    cg::cluster_group cluster = cg::this_cluster();
    const uint32_t rank = cluster.block_rank(), size = cluster.num_blocks(), t = threadIdx.x;
    if (t == 0) total = 0;
    mine[t] = in[blockIdx.x * 128 + t] ^ rank;
    cluster.sync();
    cluster.map_shared_rank(pushed, 0)[rank * 128 + t] = mine[t] * 3 + rank;
    pulled[t] = cluster.map_shared_rank(mine, (rank + 1) % size)[127 - t];
    atomicAdd(cluster.map_shared_rank(&total, t % size), mine[t] >> 8);
    const uint32_t before = atomicMax(cluster.map_shared_rank(&pulled[t], rank), 5u);
    cluster.sync();
    uint32_t sum = before + pulled[t] + total;
    if (rank == 0)
        for (uint32_t r = 0; r < size; ++r) sum = sum * 31 + pushed[r * 128 + t];
    out[blockIdx.x * 128 + t] = sum;
    cluster.sync();
}

// The dot product of a cluster: each CTA reduces its slice, rank 0 adds the slices in order.
extern "C" __global__ void __cluster_dims__(4, 1, 1) split_k(const float* a, const float* b, float* out) {
    __shared__ float part[64], slices[4];
    cg::cluster_group cluster = cg::this_cluster();
    const uint32_t rank = cluster.block_rank(), t = threadIdx.x, first = blockIdx.x / 4 * 1024 + rank * 256;
    cluster.sync();  // all CTAs have begun before one writes to another's shared memory
    float sum = 0;
    for (uint32_t i = 0; i < 4; ++i) sum = __fmaf_rn(a[first + i * 64 + t], b[first + i * 64 + t], sum);
    part[t] = sum;
    __syncthreads();
    for (uint32_t half = 32; half; half /= 2) {
        if (t < half) part[t] = __fadd_rn(part[t], part[t + half]);
        __syncthreads();
    }
    if (t == 0) cluster.map_shared_rank(slices, 0)[rank] = part[0];
    cluster.sync();
    if (rank == 0 && t == 0)
        out[blockIdx.x / 4] = __fadd_rn(__fadd_rn(__fadd_rn(slices[0], slices[1]), slices[2]), slices[3]);
}

// A cluster in two dimensions: who is where.
extern "C" __global__ void where(uint32_t* out) {
    cg::cluster_group cluster = cg::this_cluster();
    uint32_t id[3], count[3];
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(id[0]));
    asm("mov.u32 %0, %%clusterid.y;" : "=r"(id[1]));
    asm("mov.u32 %0, %%clusterid.z;" : "=r"(id[2]));
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(count[0]));
    asm("mov.u32 %0, %%nclusterid.y;" : "=r"(count[1]));
    asm("mov.u32 %0, %%nclusterid.z;" : "=r"(count[2]));
    const dim3 at = cluster.block_index(), dims = cluster.dim_blocks();
    const uint32_t cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    uint32_t* o = out + cta * 16;
    o[0] = cluster.block_rank(), o[1] = cluster.num_blocks();
    o[2] = at.x, o[3] = at.y, o[4] = at.z, o[5] = dims.x, o[6] = dims.y, o[7] = dims.z;
    o[8] = id[0], o[9] = id[1], o[10] = id[2], o[11] = count[0], o[12] = count[1], o[13] = count[2];
    o[14] = blockIdx.x, o[15] = blockIdx.y;
}
