/* SPDX-License-Identifier: Apache-2.0 */
/* The NVSHMEM API on emulated GPUs, source-compatible with NVSHMEM 3 for what docs/nvshmem.md
 * lists; names and meanings are those of its public documentation. In CUDA code: the device's part,
 * whole in these headers. In C and C++ for the host: the host's part, of libsassemu_nvshmem. */
#ifndef SASSEMU_NVSHMEM_H
#define SASSEMU_NVSHMEM_H

#include <stddef.h>
#include <stdint.h>

#include "sassemu_nvshmem/state.h"

typedef int32_t nvshmem_team_t;
#define NVSHMEM_TEAM_INVALID ((nvshmem_team_t)-1)
#define NVSHMEM_TEAM_WORLD ((nvshmem_team_t)SASSEMU_NVSHMEM_WORLD)
#define NVSHMEM_TEAM_SHARED ((nvshmem_team_t)SASSEMU_NVSHMEM_SHARED)
#define NVSHMEMX_TEAM_NODE ((nvshmem_team_t)SASSEMU_NVSHMEM_NODE)
#define NVSHMEMX_TEAM_SAME_MYPE_NODE ((nvshmem_team_t)SASSEMU_NVSHMEM_SAME_PLACE)

enum {
    NVSHMEM_CMP_EQ,
    NVSHMEM_CMP_NE,
    NVSHMEM_CMP_GT,
    NVSHMEM_CMP_LE,
    NVSHMEM_CMP_LT,
    NVSHMEM_CMP_GE
};
enum { NVSHMEM_SIGNAL_SET = SASSEMU_NVSHMEM_SWAP, NVSHMEM_SIGNAL_ADD = SASSEMU_NVSHMEM_ADD };

#ifdef __CUDACC__
#include "sassemu_nvshmem/device_api.h"
#else
#include "sassemu_nvshmem/host_api.h"
#endif

#endif
