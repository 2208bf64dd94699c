// SPDX-License-Identifier: Apache-2.0
// Checks of calls that nobody makes here: kernels alone are compiled.
#pragma once
#define C10_CUDA_CHECK(call) call
#define C10_CUDA_KERNEL_LAUNCH_CHECK()
