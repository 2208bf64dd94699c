// SPDX-License-Identifier: Apache-2.0
// Frees a block that it has not made. See capture_test.cpp; made by ./rebuild.
extern "C" __global__ void drop(int* block, int* out) {
    *out = *block;
    free(block);
}
