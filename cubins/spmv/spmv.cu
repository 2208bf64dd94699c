// Sparse matrix times vector, compressed rows: one thread a row, and one warp a row with a shuffle reduction.
extern "C" __global__ void spmv_rows(const unsigned char* degree, int* row, int n) {
    int at = 0;
    for (int i = 0; i < n; ++i) {
        row[i] = at;
        at += degree[i];
    }
    row[n] = at;
}

extern "C" __global__ void spmv_scalar(const int* row, const int* column, const float* value, const float* x, float* y, int n) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    float sum = 0;
    for (int e = row[r]; e < row[r + 1]; ++e) sum = fmaf(value[e], __ldg(x + column[e]), sum);
    y[r] = sum;
}

extern "C" __global__ void spmv_warp(const int* row, const int* column, const double* value, const double* x, double* y, int n) {
    const int r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (r >= n) return;
    double sum = 0;
    for (int e = row[r] + lane; e < row[r + 1]; e += 32) sum = fma(value[e], x[column[e]], sum);
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0) y[r] = sum;
}
