// A product of matrices, D = alpha A B + beta C, as gemm_cpu.cl and gemm_tiled.cl take it:
// GemmArgs of gemm_launch.cc. Each of the indices m, n, k is split in three,
// i = i0 + e0 (i1 + e1 i2), and an element's offset is the sum over its two indices of parts times
// strides. So plain and transposed matrices, but also images under a convolution's window, are read
// in place.
#include "rows.cl"

typedef struct {
  long a_at, b_at, c_at, d_at, part_at;  // first elements
  long a_z[2], b_z[2], c_z[2], d_z[2];   // strides of the batch index z = z0 + z_e0 z1
  long c_m, c_n;                         // C is plain
  int M, N, K, z_e0;
  int m_e[2], n_e[2], k_e[2];
  int a_m[3], a_k[3], b_k[3], b_n[3], d_m[3], d_n[3];
  int triangle;  // 1: only n <= m matters, 2: A is 0 for k > m, 3: A is 0 for k < m
  int m_block, n_block, k_block;
  float alpha, beta;
} GemmArgs;

static int strided(int i, const int* e, const int* s) {
  if (i < e[0]) return i * s[0];  // all that plain matrices take
  const int rest = i / e[0];
  return i % e[0] * s[0] + rest % e[1] * s[1] + rest / e[1] * s[2];
}
