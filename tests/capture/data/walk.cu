// SPDX-License-Identifier: Apache-2.0
// A list in memory, variables of both spaces and a texture: what a capsule has to find. See capture_test.cpp; made by ./rebuild.
struct Node {
    Node* next;
    unsigned value;
};

__device__ Node* head;
__device__ unsigned total;
__constant__ unsigned factor = 1;

extern "C" __global__ void walk(Node* first, unsigned* out, cudaTextureObject_t texels, unsigned* const* where) {
    unsigned sum = 0;
    for (Node* n = first; n; n = n->next) sum += n->value;
    for (Node* n = head; n; n = n->next) {
        sum += 1000 * n->value;
        n->value += 1;
    }
    sum = sum * factor + tex1Dfetch<unsigned>(texels, threadIdx.x);
    out[threadIdx.x] = sum;
    **where = 77;
    if (threadIdx.x == 0) total = sum;
}
