// GEMM on GPUs: 16 x 16 work-items compute a tile of 64 x 64 from slices of 16 in local memory,
// 4 x 4 elements each. Options as for gemm_cpu.cl.
#include "gemm.cl"

#define TILE 64
#define DEPTH 16
#define WORKERS 256

// Global size: 16 for each tile of n, m and batch; 16; 1. GPUs take few work-groups in other
// dimensions than the first.
__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void gemm_tiled(
    const __global TYPE(TA) * a, const __global TYPE(TB) * b, const __global TYPE(TD) * c,
    __global TYPE(TD) * d, GemmArgs g) {
  __local float a_tile[DEPTH][TILE + 1], b_tile[DEPTH][TILE + 1];
  __local int a_m[TILE], b_n[TILE], a_k[DEPTH], b_k[DEPTH];
  const int x = get_local_id(0), y = get_local_id(1), worker = y * 16 + x;
  const long across = (g.N + TILE - 1) / TILE, down = (g.M + TILE - 1) / TILE;
  const long tiles_row = (long)get_group_id(0) / across, z = tiles_row / down;
  const int m_begin = tiles_row % down * TILE, n_begin = (long)get_group_id(0) % across * TILE;
  const int m_end = min(g.M, m_begin + TILE);
  if (g.triangle == 1 && n_begin >= m_end) return;  // the whole work-group
  const int k_start = g.triangle == 3 ? min(m_begin, g.K) : 0, k_end = g.triangle == 2 ? min(g.K, m_end) : g.K;
  const long z0 = z % g.z_e0, z1 = z / g.z_e0;
  a += g.a_at + z0 * g.a_z[0] + z1 * g.a_z[1];
  b += g.b_at + z0 * g.b_z[0] + z1 * g.b_z[1];
  c += g.c_at + z0 * g.c_z[0] + z1 * g.c_z[1];
  d += g.d_at + z0 * g.d_z[0] + z1 * g.d_z[1];
  // Neighbouring work-items read along the direction that is dense in memory.
  const bool a_by_k = g.a_k[0] == 1, b_by_k = g.b_n[0] != 1 && g.b_k[0] == 1;
  if (worker < TILE) {
    a_m[worker] = strided(min(m_begin + worker, g.M - 1), g.m_e, g.a_m);
    b_n[worker] = strided(min(n_begin + worker, g.N - 1), g.n_e, g.b_n);
  }

  float sum[4][4] = {{0}};
  for (int k = k_start; k < k_end; k += DEPTH) {
    if (worker < DEPTH) {
      a_k[worker] = strided(min(k + worker, g.K - 1), g.k_e, g.a_k);
      b_k[worker] = strided(min(k + worker, g.K - 1), g.k_e, g.b_k);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = worker; i < TILE * DEPTH; i += WORKERS) {
      const int am = a_by_k ? i / DEPTH : i % TILE, ak = a_by_k ? i % DEPTH : i / TILE;
      const int bn = b_by_k ? i / DEPTH : i % TILE, bk = b_by_k ? i % DEPTH : i / TILE;
      a_tile[ak][am] =
          k + ak < k_end && m_begin + am < g.M ? GET(TA, a, a_m[am] + a_k[ak]) : 0.0f;
      b_tile[bk][bn] =
          k + bk < k_end && n_begin + bn < g.N ? GET(TB, b, b_n[bn] + b_k[bk]) : 0.0f;
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
    if (m >= g.M) continue;
    const int row = strided(m, g.m_e, g.d_m);
    for (int j = 0; j < 4; ++j) {
      const int n = n_begin + x + 16 * j;
      if (n >= g.N) continue;
      float v = g.alpha * sum[i][j];
      if (g.beta != 0) v += g.beta * GET(TD, c, m * g.c_m + n * g.c_n);
      PUT(TD, d, row + strided(n, g.n_e, g.d_n), v);
    }
  }
}
