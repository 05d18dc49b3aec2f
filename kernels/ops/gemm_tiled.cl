// D = alpha A B + beta C on GPUs: 16 x 16 work-items compute a tile of 64 x 64 from slices of 16
// in local memory, 4 x 4 elements each. Arguments and options as in gemm_cpu.cl (V, L unused).
#include "values.cl"

#define TILE 64
#define DEPTH 16
#define WORKERS 256

static int offset_of(int i, int e0, int e1, int s0, int s1, int s2) {
  if (i < e0) return i * s0;  // all that plain matrices take
  const int rest = i / e0;
  return i % e0 * s0 + rest % e1 * s1 + rest / e1 * s2;
}

// Triangle and batch as in gemm_cpu.cl. Global size: 16 per tile of n, 16 per tile of m, batch.
__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void gemm_tiled(
    const __global TYPE(TA) * a, long a_at, long az0, long az1, const __global TYPE(TB) * b,
    long b_at, long bz0, long bz1, const __global TYPE(TD) * c, long c_at, long cz0, long cz1,
    __global TYPE(TD) * d, long d_at, long dz0, long dz1, int M, int N, int K, int z_e0, int m_e0,
    int m_e1, int n_e0, int n_e1, int k_e0, int k_e1, int am0, int am1, int am2, int ak0, int ak1,
    int ak2, int bk0, int bk1, int bk2, int bn0, int bn1, int bn2, int dm0, int dm1, int dm2,
    int dn0, int dn1, int dn2, long cm, long cn, float alpha, float beta, int triangle) {
  __local float a_tile[DEPTH][TILE + 1], b_tile[DEPTH][TILE + 1];
  __local int a_m[TILE], b_n[TILE], a_k[DEPTH], b_k[DEPTH];
  const int x = get_local_id(0), y = get_local_id(1), worker = y * 16 + x;
  const int m_begin = get_group_id(1) * TILE, n_begin = get_group_id(0) * TILE;
  const int m_end = min(M, m_begin + TILE);
  if (triangle == 1 && n_begin >= m_end) return;  // the whole work-group
  const int k_start = triangle == 3 ? min(m_begin, K) : 0, k_end = triangle == 2 ? min(K, m_end) : K;
  const long z0 = get_global_id(2) % z_e0, z1 = get_global_id(2) / z_e0;
  a += a_at + z0 * az0 + z1 * az1;
  b += b_at + z0 * bz0 + z1 * bz1;
  c += c_at + z0 * cz0 + z1 * cz1;
  d += d_at + z0 * dz0 + z1 * dz1;
  // Neighbouring work-items read along the direction that is dense in memory.
  const bool a_by_k = ak0 == 1, b_by_k = bn0 != 1 && bk0 == 1;
  if (worker < TILE) {
    a_m[worker] = offset_of(min(m_begin + worker, M - 1), m_e0, m_e1, am0, am1, am2);
    b_n[worker] = offset_of(min(n_begin + worker, N - 1), n_e0, n_e1, bn0, bn1, bn2);
  }

  float sum[4][4] = {{0}};
  for (int k = k_start; k < k_end; k += DEPTH) {
    if (worker < DEPTH) {
      a_k[worker] = offset_of(min(k + worker, K - 1), k_e0, k_e1, ak0, ak1, ak2);
      b_k[worker] = offset_of(min(k + worker, K - 1), k_e0, k_e1, bk0, bk1, bk2);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = worker; i < TILE * DEPTH; i += WORKERS) {
      const int am = a_by_k ? i / DEPTH : i % TILE, ak = a_by_k ? i % DEPTH : i / TILE;
      const int bn = b_by_k ? i / DEPTH : i % TILE, bk = b_by_k ? i % DEPTH : i / TILE;
      a_tile[ak][am] =
          k + ak < k_end && m_begin + am < M ? LOAD(TA, a, a_m[am] + a_k[ak]) : 0.0f;
      b_tile[bk][bn] =
          k + bk < k_end && n_begin + bn < N ? LOAD(TB, b, b_n[bn] + b_k[bk]) : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int l = 0; l < DEPTH; ++l) {
      float av[4], bv[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        av[i] = a_tile[l][y + 16 * i];
        bv[i] = b_tile[l][x + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] = av[i] * bv[j] + sum[i][j];
    }
  }
  for (int i = 0; i < 4; ++i) {
    const int m = m_begin + y + 16 * i;
    if (m >= M) continue;
    const int row = offset_of(m, m_e0, m_e1, dm0, dm1, dm2);
    for (int j = 0; j < 4; ++j) {
      const int n = n_begin + x + 16 * j;
      if (n >= N) continue;
      float v = alpha * sum[i][j];
      if (beta != 0) v += beta * LOAD(TD, c, m * cm + n * cn);
      STORE(TD, d, row + offset_of(n, n_e0, n_e1, dn0, dn1, dn2), v);
    }
  }
}
