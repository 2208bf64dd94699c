// SPDX-License-Identifier: Apache-2.0
// cuSPARSE: products of sparse matrices in each format with vectors, dense and sparse ones; triangular solves; conversions.
#include <cusparse.h>

#include "check.hpp"

cusparseHandle_t handle;
char* work;
constexpr int n = 60;

struct Pattern {
    std::vector<int> rows{0}, columns, row_of;
    Pattern() {
        uint32_t seed = 5;
        for (int r = 0; r < n; ++r) {
            for (int c = 0; c < n; ++c) {
                seed = seed * 1664525 + 1013904223;
                if (c != r && seed >> 29) continue;
                columns.push_back(c);
                row_of.push_back(r);
            }
            rows.push_back(static_cast<int>(columns.size()));
        }
    }
};
int* upload(const std::vector<int>& v) {
    int* p;
    CHECK(cudaMalloc(&p, v.size() * 4));
    CHECK(cudaMemcpy(p, v.data(), v.size() * 4, cudaMemcpyHostToDevice));
    return p;
}

template <class T>
void all(cudaDataType type) {
    const Pattern pattern;
    const int64_t nnz = static_cast<int64_t>(pattern.columns.size());
    int *rows = upload(pattern.rows), *columns = upload(pattern.columns), *row_of = upload(pattern.row_of);
    constexpr auto i32 = CUSPARSE_INDEX_32I;
    constexpr auto zero = CUSPARSE_INDEX_BASE_ZERO;
    using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const int parts = type == CUDA_C_32F || type == CUDA_C_64F ? 2 : 1;
    F *values = device<F>(nnz * parts, 4), *dense = device<F>(n * n * parts, 5), *more = device<F>(n * n * parts, 6), *result = device<F>(n * n * parts, 7);
    const F a[2] = {0.5, 0}, b[2] = {0.25, 0};
    cusparseSpMatDescr_t csr, csc, coo, out;
    CHECK(cusparseCreateCsr(&csr, n, n, nnz, rows, columns, values, i32, i32, zero, type));
    CHECK(cusparseCreateCsc(&csc, n, n, nnz, rows, columns, values, i32, i32, zero, type));
    CHECK(cusparseCreateCoo(&coo, n, n, nnz, row_of, columns, values, i32, zero, type));
    cusparseDnVecDescr_t x, y;
    CHECK(cusparseCreateDnVec(&x, n, dense, type));
    CHECK(cusparseCreateDnVec(&y, n, result, type));
    for (const auto op : {CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE}) {
        for (const auto m : {csr, csc, coo})
            for (const auto algorithm : {CUSPARSE_SPMV_ALG_DEFAULT, CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2, CUSPARSE_SPMV_COO_ALG1, CUSPARSE_SPMV_COO_ALG2})
                cusparseSpMV(handle, op, a, m, x, b, y, type, algorithm, work);
        for (const auto order : {CUSPARSE_ORDER_COL, CUSPARSE_ORDER_ROW})
            for (const int width : {1, 7, 32}) {
                cusparseDnMatDescr_t in, to;
                CHECK(cusparseCreateDnMat(&in, n, width, order == CUSPARSE_ORDER_COL ? n : width, dense, type, order));
                CHECK(cusparseCreateDnMat(&to, n, width, order == CUSPARSE_ORDER_COL ? n : width, result, type, order));
                for (const auto m : {csr, csc, coo})
                    for (const auto algorithm : {CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3, CUSPARSE_SPMM_COO_ALG1, CUSPARSE_SPMM_COO_ALG2, CUSPARSE_SPMM_COO_ALG3, CUSPARSE_SPMM_COO_ALG4})
                        cusparseSpMM(handle, op, CUSPARSE_OPERATION_NON_TRANSPOSE, a, m, in, b, to, type, algorithm, work);
                if (op == CUSPARSE_OPERATION_NON_TRANSPOSE) {
                    cusparseDnMatDescr_t left, right;
                    CHECK(cusparseCreateDnMat(&left, n, width, width, dense, type, CUSPARSE_ORDER_ROW));
                    CHECK(cusparseCreateDnMat(&right, width, n, n, more, type, CUSPARSE_ORDER_ROW));
                    cusparseSDDMM(handle, op, op, a, left, right, b, csr, type, CUSPARSE_SDDMM_ALG_DEFAULT, work);
                }
            }
        for (auto fill : {CUSPARSE_FILL_MODE_LOWER, CUSPARSE_FILL_MODE_UPPER}) {
            auto diagonal = CUSPARSE_DIAG_TYPE_UNIT;
            CHECK(cusparseSpMatSetAttribute(csr, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
            CHECK(cusparseSpMatSetAttribute(csr, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
            cusparseSpSVDescr_t solve;
            CHECK(cusparseSpSV_createDescr(&solve));
            cusparseSpSV_analysis(handle, op, a, csr, x, y, type, CUSPARSE_SPSV_ALG_DEFAULT, solve, work);
            cusparseSpSV_solve(handle, op, a, csr, x, y, type, CUSPARSE_SPSV_ALG_DEFAULT, solve);
            CHECK(cudaDeviceSynchronize());
        }
    }
    // A product of sparse matrices.
    CHECK(cusparseCreateCsr(&csr, n, n, nnz, rows, columns, values, i32, i32, zero, type));
    for (const auto algorithm : {CUSPARSE_SPGEMM_DEFAULT, CUSPARSE_SPGEMM_ALG2}) {
        int* out_rows;
        CHECK(cudaMalloc(&out_rows, 4 * (n + 1)));
        CHECK(cusparseCreateCsr(&out, n, n, 0, out_rows, nullptr, nullptr, i32, i32, zero, type));
        cusparseSpGEMMDescr_t product;
        CHECK(cusparseSpGEMM_createDescr(&product));
        size_t first = 0, second = 0;
        const auto none = CUSPARSE_OPERATION_NON_TRANSPOSE;
        if (cusparseSpGEMM_workEstimation(handle, none, none, a, csr, csr, b, out, type, algorithm, product, &first, nullptr)) continue;
        cusparseSpGEMM_workEstimation(handle, none, none, a, csr, csr, b, out, type, algorithm, product, &first, work);
        if (algorithm == CUSPARSE_SPGEMM_ALG2) {
            size_t third = 0;
            if (cusparseSpGEMM_estimateMemory(handle, none, none, a, csr, csr, b, out, type, algorithm, product, 0.5f, &third, nullptr, nullptr)) continue;
            cusparseSpGEMM_estimateMemory(handle, none, none, a, csr, csr, b, out, type, algorithm, product, 0.5f, &third, work + (512 << 10), &second);
        } else {
            cusparseSpGEMM_compute(handle, none, none, a, csr, csr, b, out, type, algorithm, product, &second, nullptr);
        }
        cusparseSpGEMM_compute(handle, none, none, a, csr, csr, b, out, type, algorithm, product, &second, work + (1 << 20));
        int64_t r, c, count;
        CHECK(cusparseSpMatGetSize(out, &r, &c, &count));
        CHECK(cusparseCsrSetPointers(out, out_rows, device<int>(count), device<F>(count * parts)));
        cusparseSpGEMM_copy(handle, none, none, a, csr, csr, b, out, type, algorithm, product);
        CHECK(cudaDeviceSynchronize());
    }
    // Dense to sparse and back; gathered elements.
    cusparseDnMatDescr_t full;
    CHECK(cusparseCreateDnMat(&full, n, n, n, more, type, CUSPARSE_ORDER_ROW));
    CHECK(cusparseSparseToDense(handle, csr, full, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, work));
    CHECK(cusparseCreateCsr(&out, n, n, 0, upload(pattern.rows), nullptr, nullptr, i32, i32, zero, type));
    CHECK(cusparseDenseToSparse_analysis(handle, full, out, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, work));
    CHECK(cusparseCsrSetPointers(out, rows, device<int>(n * n), result));
    CHECK(cusparseDenseToSparse_convert(handle, full, out, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, work));
    cusparseSpVecDescr_t some;
    CHECK(cusparseCreateSpVec(&some, n, 10, columns, values, i32, zero, type));
    cusparseGather(handle, x, some);
    cusparseScatter(handle, some, y);
    cusparseAxpby(handle, a, some, b, y);
    F dot[2];
    cusparseSpVV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, some, x, dot, type, work);
    CHECK(cudaDeviceSynchronize());
    int* order = upload(pattern.columns);
    CHECK(cusparseCreateIdentityPermutation(handle, static_cast<int>(nnz), order));
    row_of = upload(pattern.row_of);
    cusparseXcoo2csr(handle, row_of, static_cast<int>(nnz), n, rows, zero);
    cusparseXcsr2coo(handle, rows, static_cast<int>(nnz), n, row_of, zero);
    cusparseXcoosortByColumn(handle, n, n, static_cast<int>(nnz), row_of, columns, order, work);
    CHECK(cudaDeviceSynchronize());
}

int main() {
    CHECK(cusparseCreate(&handle));
    CHECK(cudaMalloc(&work, 2 << 20));
    all<float>(CUDA_R_32F);
    all<double>(CUDA_R_64F);
    all<float>(CUDA_C_32F);
    all<double>(CUDA_C_64F);
}
