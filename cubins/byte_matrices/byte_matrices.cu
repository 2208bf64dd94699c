// SPDX-License-Identifier: Apache-2.0
// archs: sm_100a sm_120a
// ldmatrix and stmatrix of bytes, and of numbers of 4 and 6 bits that become bytes: every shape and count that PTX has.
// A thread names another row than its own, so that rows and fragments cannot be mistaken for each other.
#include <cstdint>

__device__ uint32_t named_row(const void* rows) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(rows)) + threadIdx.x * 5 % 32 * 16;
}

#define LOAD1(form) asm volatile("ldmatrix.sync.aligned." form " {%0}, [%1];" : "=r"(r[0]) : "r"(at) : "memory")
#define LOAD2(form) asm volatile("ldmatrix.sync.aligned." form " {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at) : "memory")
#define LOAD4(form)                                                                     \
    asm volatile("ldmatrix.sync.aligned." form " {%0, %1, %2, %3}, [%4];"               \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory")
// out: forms x 4 registers x 32 lanes
#define FORM(number, load)                                                              \
    {                                                                                   \
        uint32_t r[4] = {};                                                             \
        load;                                                                           \
        for (int i = 0; i < 4; ++i) out[(number * 4 + i) * 32 + threadIdx.x] = r[i];    \
    }

extern "C" __global__ void load(const uint32_t* in, uint32_t* out) {
    __shared__ __align__(128) uint32_t rows[128];
    for (int i = 0; i < 4; ++i) rows[i * 32 + threadIdx.x] = in[i * 32 + threadIdx.x];
    __syncwarp();
    const uint32_t at = named_row(rows);
    FORM(0, LOAD2("m16n16.x1.trans.shared.b8"));
    FORM(1, LOAD4("m16n16.x2.trans.shared.b8"));
    FORM(2, LOAD2("m16n16.x1.trans.shared.b8x16.b4x16_p64"));
    FORM(3, LOAD4("m16n16.x2.trans.shared.b8x16.b4x16_p64"));
    FORM(4, LOAD2("m16n16.x1.trans.shared.b8x16.b6x16_p32"));
    FORM(5, LOAD4("m16n16.x2.trans.shared.b8x16.b6x16_p32"));
    FORM(6, LOAD1("m8n16.x1.shared.b8x16.b4x16_p64"));
    FORM(7, LOAD2("m8n16.x2.shared.b8x16.b4x16_p64"));
    FORM(8, LOAD4("m8n16.x4.shared.b8x16.b4x16_p64"));
    FORM(9, LOAD1("m8n16.x1.shared.b8x16.b6x16_p32"));
    FORM(10, LOAD2("m8n16.x2.shared.b8x16.b6x16_p32"));
    FORM(11, LOAD4("m8n16.x4.shared.b8x16.b6x16_p32"));
}

// out: three counts x 32 rows x 16 bytes
extern "C" __global__ void store(const uint32_t* in, uint32_t* out) {
    __shared__ __align__(128) uint32_t rows[128];
    const uint32_t at = named_row(rows);
    uint32_t r[4];
    for (int i = 0; i < 4; ++i) r[i] = in[i * 32 + threadIdx.x];
    for (int count = 0; count < 3; ++count) {
        for (int i = 0; i < 4; ++i) rows[i * 32 + threadIdx.x] = 0;
        __syncwarp();
        if (count == 0)
            asm volatile("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%0], {%1};" ::"r"(at), "r"(r[0]) : "memory");
        else if (count == 1)
            asm volatile("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%0], {%1, %2};" ::"r"(at), "r"(r[0]), "r"(r[1]) : "memory");
        else
            asm volatile("stmatrix.sync.aligned.m16n8.x4.trans.shared.b8 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
        __syncwarp();
        for (int i = 0; i < 4; ++i) out[count * 128 + i * 32 + threadIdx.x] = rows[i * 32 + threadIdx.x];
        __syncwarp();
    }
}
