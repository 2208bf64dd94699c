/* SPDX-License-Identifier: Apache-2.0 */
/* The extensions of the NVSHMEM API (nvshmemx_*): they come with nvshmem.h. */
#ifndef SASSEMU_NVSHMEMX_H
#define SASSEMU_NVSHMEMX_H
#include "nvshmem.h"
#endif
