// D = alpha A B + beta C on CPUs: a work-item computes a block of D from panels that it packs into
// its private memory (which the caches hold), by register tiles of MR rows and two vectors.
//
// Each of the indices m, n, k is split in three, i = i0 + e0 (i1 + e1 i2), and an element's offset
// is the sum over its two indices of parts times strides. So plain and transposed matrices, but
// also images under a convolution's window, are read in place.
// Options: ACC_NAME=F32, V=16, L=1; TA, TB, TD: element types.
#include "values.cl"

#ifdef __AVX512F__  // the compiler's word on the device that it compiles for
#define VW 16
#define MR 12
#define WIDE __attribute__((min_vector_width(512)))
typedef float16 vec;
#else
#define VW 8
#define MR 6
#define WIDE
typedef float8 vec;
#endif
#define VEC_LOAD(p) CAT(vload, VW)(0, p)
#define VEC_STORE(v, p) CAT(vstore, VW)(v, 0, p)
#define NR (2 * VW)
#define KC 256        // depth of a packed block
#define NB 256        // columns of a packed block
#define KS (KC + 16)  // pitch of packed rows of A: they then miss each other's cache sets

// Offsets of `count` consecutive indices.
static void fill(int* t, int start, int count, int e0, int e1, int s0, int s1, int s2) {
  int i0 = start % e0, i1 = start / e0 % e1, i2 = start / e0 / e1;
  for (int i = 0; i < count; ++i) {
    t[i] = i0 * s0 + i1 * s1 + i2 * s2;
    if (++i0 == e0) {
      i0 = 0;
      if (++i1 == e1) {
        i1 = 0;
        ++i2;
      }
    }
  }
}

static bool run16(const int* t) {  // 16 neighbours in memory?
  bool ok = true;
  for (int i = 1; i < 16; ++i) ok &= t[i] - t[i - 1] == 1;
  return ok;
}

#define ZIP(a, b, h)                                                                        \
  (float16)(a.h.s0, b.h.s0, a.h.s1, b.h.s1, a.h.s2, b.h.s2, a.h.s3, b.h.s3, a.h.s4, b.h.s4, \
            a.h.s5, b.h.s5, a.h.s6, b.h.s6, a.h.s7, b.h.s7)
static void zip(const float16* in, float16* out) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    out[2 * i] = ZIP(in[i], in[i + 8], lo);
    out[2 * i + 1] = ZIP(in[i], in[i + 8], hi);
  }
}
// Writes the first `keep` columns of the 16 rows r as rows, `pitch` apart.
static void transpose(float16* r, float* dst, int pitch, int keep) {
  float16 t[16];
  zip(r, t);
  zip(t, r);
  zip(r, t);
  zip(t, r);
#pragma unroll
  for (int i = 0; i < 16; ++i)
    if (i < keep) vstore16(r[i], 0, dst + i * pitch);
}

// MR rows of A, k innermost. `rows` are readable; offsets of 16 are in `row`.
static void pack_a(const __global TYPE(TA) * a, const int* row, int rows, const int* k,
                   const bool* k_run, int kc, float* tile) {
  const bool row_run = rows >= 16 && run16(row);
  for (int k0 = 0; k0 < kc; k0 += 16) {
    float* dst = tile + k0;
    const bool whole = k0 + 16 <= kc;
    if (whole && k_run[k0 / 16]) {
      for (int i = 0; i < MR; ++i)
        vstore16(i < rows ? VLOAD(TA, a, row[i] + k[k0]) : (float16)0, 0, dst + i * KS);
    } else if (whole && row_run) {
      float16 r[16];
#pragma unroll
      for (int i = 0; i < 16; ++i) r[i] = VLOAD(TA, a, row[0] + k[k0 + i]);
      transpose(r, dst, KS, MR);
    } else {
      for (int i = 0; i < MR; ++i)
        for (int j = 0; j < min(16, kc - k0); ++j)
          dst[i * KS + j] = i < rows ? LOAD(TA, a, row[i] + k[k0 + j]) : 0.0f;
    }
  }
}

// Panels of NR columns of B, each row by row, padded with zeros.
static void pack_b(const __global TYPE(TB) * b, const int* k, const bool* k_run, int kc,
                   const int* col, const bool* col_run, int cols, float* block) {
  for (int j0 = 0; j0 < (cols + NR - 1) / NR * NR; j0 += 16) {
    float* dst = block + j0 / NR * (NR * KC) + j0 % NR;
    const bool whole = j0 + 16 <= cols;
    for (int k0 = 0; k0 < kc; k0 += 16, dst += 16 * NR) {
      const int depth = min(16, kc - k0);
      if (whole && col_run[j0 / 16]) {
        for (int i = 0; i < depth; ++i)
          vstore16(VLOAD(TB, b, k[k0 + i] + col[j0]), 0, dst + i * NR);
      } else if (whole && depth == 16 && k_run[k0 / 16]) {
        float16 r[16];
#pragma unroll
        for (int j = 0; j < 16; ++j) r[j] = VLOAD(TB, b, k[k0] + col[j0 + j]);
        transpose(r, dst, NR, 16);
      } else {
        for (int i = 0; i < depth; ++i)
          for (int j = 0; j < 16; ++j)
            dst[i * NR + j] = j0 + j < cols ? LOAD(TB, b, k[k0 + i] + col[j0 + j]) : 0.0f;
      }
    }
  }
}

// out = packed tile of A times a packed panel of B.
static WIDE void multiply(const float* a, const float* b, int kc, float* out) {
  vec c[MR][2];
#pragma unroll
  for (int i = 0; i < MR; ++i) c[i][0] = c[i][1] = (vec)0;
  for (int k = 0; k < kc; ++k) {
    const vec b0 = VEC_LOAD(b + k * NR), b1 = VEC_LOAD(b + k * NR + VW);
#pragma unroll
    for (int i = 0; i < MR; ++i) {
      const vec x = (vec)(a[i * KS + k]);
      c[i][0] = x * b0 + c[i][0];
      c[i][1] = x * b1 + c[i][1];
    }
  }
#pragma unroll
  for (int i = 0; i < MR; ++i) {
    VEC_STORE(c[i][0], out + i * NR);
    VEC_STORE(c[i][1], out + i * NR + VW);
  }
}

// One row of a tile: alpha v, plus beta C in the first block of k, plus what `part` holds in the
// others; to D in the last, else to `part`. Both are laid out alike (one and the same for float32).
static void finish(const float* v, int count, const __global TYPE(TD) * c, long cn, float alpha,
                   float beta, __global float* part, __global TYPE(TD) * d, const int* offset,
                   bool run, bool first, bool last) {
  if (run && count == 16 && (!first || beta == 0)) {
    float16 r = alpha * vload16(0, v);
    if (!first) r += vload16(0, part + offset[0]);
    if (last)
      VSTORE(TD, d, offset[0], r);
    else
      vstore16(r, 0, part + offset[0]);
    return;
  }
  for (int j = 0; j < count; ++j) {
    float r = alpha * v[j];
    if (!first)
      r += part[offset[j]];
    else if (beta != 0)
      r += beta * LOAD(TD, c, j * cn);
    if (last)
      STORE(TD, d, offset[j], r);
    else
      part[offset[j]] = r;
  }
}

// Per operand: buffer, offset, strides of the two-level batch index z = z0 + z_e0 z1. C has plain
// rows and columns. triangle: 1 only n <= m matters, 2 only k <= m is not zero, 3 only k >= m.
// Global size: blocks of n, blocks of m, batch.
__kernel WIDE __attribute__((reqd_work_group_size(1, 1, 1))) void gemm_cpu(
    const __global TYPE(TA) * a, long a_at, long az0, long az1, const __global TYPE(TB) * b,
    long b_at, long bz0, long bz1, const __global TYPE(TD) * c, long c_at, long cz0, long cz1,
    __global TYPE(TD) * d, long d_at, long dz0, long dz1, __global float* part, long part_at, int M,
    int N, int K, int z_e0, int m_e0, int m_e1, int n_e0, int n_e1, int k_e0, int k_e1, int am0,
    int am1, int am2, int ak0, int ak1, int ak2, int bk0, int bk1, int bk2, int bn0, int bn1,
    int bn2, int dm0, int dm1, int dm2, int dn0, int dn1, int dn2, long cm, long cn, float alpha,
    float beta, int triangle, int m_block, int n_block, int k_block) {
  const long z0 = get_global_id(2) % z_e0, z1 = get_global_id(2) / z_e0;
  const int m_begin = get_global_id(1) * m_block, m_end = min(M, m_begin + m_block);
  const int n_begin = get_global_id(0) * n_block, cols = min(N - n_begin, n_block);
  if (triangle == 1 && n_begin >= m_end) return;
  const int k_start = triangle == 3 ? min(m_begin, K) : 0, k_end = triangle == 2 ? min(K, m_end) : K;
  a += a_at + z0 * az0 + z1 * az1;
  b += b_at + z0 * bz0 + z1 * bz1;
  c += c_at + z0 * cz0 + z1 * cz1 + n_begin * cn;
  d += d_at + z0 * dz0 + z1 * dz1;
  part += part_at + z0 * dz0 + z1 * dz1;

  float block[KC * NB], tile[MR * KS], out[MR * NR];
  int a_k[KC], b_k[KC], b_n[NB], d_n[NB], a_m[16], d_m[16];
  bool a_run[KC / 16], bk_run[KC / 16], bn_run[NB / 16], dn_run[NB / 16];
  fill(b_n, n_begin, cols, n_e0, n_e1, bn0, bn1, bn2);
  fill(d_n, n_begin, cols, n_e0, n_e1, dn0, dn1, dn2);
  for (int i = 0; i < cols / 16; ++i) {
    bn_run[i] = run16(b_n + i * 16);
    dn_run[i] = run16(d_n + i * 16);
  }
  int k = k_start;
  do {  // once even where K is 0: D = beta C
    const int kc = min(k_block, k_end - k);
    fill(a_k, k, kc, k_e0, k_e1, ak0, ak1, ak2);
    fill(b_k, k, kc, k_e0, k_e1, bk0, bk1, bk2);
    for (int i = 0; i < kc / 16; ++i) {
      a_run[i] = run16(a_k + i * 16);
      bk_run[i] = run16(b_k + i * 16);
    }
    pack_b(b, b_k, bk_run, kc, b_n, bn_run, cols, block);
    for (int m = m_begin; m < m_end; m += MR) {
      fill(a_m, m, min(16, M - m), m_e0, m_e1, am0, am1, am2);
      fill(d_m, m, min(MR, m_end - m), m_e0, m_e1, dm0, dm1, dm2);
      pack_a(a, a_m, min(16, M - m), a_k, a_run, kc, tile);
      for (int n = 0; n < cols; n += NR) {
        multiply(tile, block + n * KC, kc, out);
        for (int i = 0; i < min(MR, m_end - m); ++i)
          for (int j = n; j < min(cols, n + NR); j += 16)
            finish(out + i * NR + j - n, min(16, cols - j), c + (m + i) * cm + j * cn, cn, alpha,
                   beta, part + d_m[i], d + d_m[i], d_n + j, dn_run[j / 16], k == k_start,
                   k + k_block >= k_end);
      }
    }
    k += k_block;
  } while (k < k_end);
}
