// D = alpha A B + beta C for the types without a tiled kernel (float64, integers), one work-item an
// element. Integers wrap, as PyTorch's do. Options: ACC_NAME=float64|int64, T: element type; V=16, L=1.
#include "rows.cl"

// Global size: n rounded up to whole work-groups, times m, times batch, in one dimension: GPUs take
// few work-groups in others.
__kernel void gemm_plain(const __global TYPE(T) * a, long a_at, long az, long am, long ak,
                         const __global TYPE(T) * b, long b_at, long bz, long bk, long bn,
                         const __global TYPE(T) * c, long c_at, long cz, long cm, long cn,
                         __global TYPE(T) * d, long d_at, long dz, long dm, long dn, long N,
                         long M, long K, ACC alpha, ACC beta) {
  const long across = (N + (long)get_local_size(0) - 1) / (long)get_local_size(0);
  const long row = (long)get_group_id(0) / across, m = row % M, z = row / M;
  const long n = (long)get_group_id(0) % across * (long)get_local_size(0) + (long)get_local_id(0);
  if (n >= N) return;
  const long a0 = a_at + z * az + m * am, b0 = b_at + z * bz + n * bn;
  ACC sum = 0;
  for (long k = 0; k < K; ++k) sum += GET(T, a, a0 + k * ak) * GET(T, b, b0 + k * bk);
  ACC v = alpha * sum;
  if (beta != 0) v += beta * GET(T, c, c_at + z * cz + m * cm + n * cn);
  PUT(T, d, d_at + z * dz + m * dm + n * dn, v);
}
