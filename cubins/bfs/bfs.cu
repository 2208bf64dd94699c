// Breadth-first search over a compressed sparse graph: one launch per level, frontier queues filled by atomics.
// The queues' order varies, the distances do not.

// Turns degrees into row offsets; one thread, because it is small and comes first.
extern "C" __global__ void graph_rows(const unsigned char* degree, int* row, int n) {
    int at = 0;
    for (int i = 0; i < n; ++i) {
        row[i] = at;
        at += degree[i];
    }
    row[n] = at;
}

extern "C" __global__ void bfs_start(int* distance, int* queue, int* counts, int source) {
    distance[source] = 0;
    queue[0] = source;
    counts[0] = 1;
}

// counts[level] is this level's queue length; the queue of odd levels lies n further on.
extern "C" __global__ void bfs_level(const int* row, const int* edge, int* distance, int* queue, int* counts, int n, int level) {
    const int* from = queue + (level & 1) * n;
    int* to = queue + (1 - (level & 1)) * n;
    const int have = counts[level];
    for (int q = blockIdx.x * blockDim.x + threadIdx.x; q < have; q += gridDim.x * blockDim.x) {
        const int v = from[q];
        for (int e = row[v]; e < row[v + 1]; ++e) {
            const int w = edge[e];
            if (atomicCAS(&distance[w], -1, level + 1) == -1) to[atomicAdd(&counts[level + 1], 1)] = w;
        }
    }
}
