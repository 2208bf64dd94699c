/* SPDX-License-Identifier: Apache-2.0 */
/* What the generated program of all calls consists of (emu/driver/gen/generate.py --calls). */
#pragma once
#include "cuda_driver.h"

/* Two calls of one function: with nulls and zeros; with handles of nobody and odd numbers. */
struct call {
    const char* name;
    CUresult (*nulls)(uintptr_t foreign, uintptr_t number);
    CUresult (*wrong)(uintptr_t foreign, uintptr_t number);
};
extern const struct call every_call[];
extern const unsigned call_count;
