// GEMM on CPUs: a work-item computes a block of D from panels that it packs into its private memory
// (which the caches hold), by register tiles of MR rows and two vectors.
// Options: ACC_NAME=float32, V=16, L=1; TA, TB, TD: element types.
#include "gemm.cl"

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
// Inlining would only lengthen the compilation, which a first call waits for.
#define NOINLINE WIDE __attribute__((noinline))
#define NR (2 * VW)
#define KC 256        // depth of a packed block
#define NB 256        // columns of a packed block
#define KS (KC + 16)  // pitch of packed rows of A: they then miss each other's cache sets

// Offsets of `count` consecutive indices.
static NOINLINE void fill(int* t, int start, int count, const int* e, const int* s) {
  int i0 = start % e[0], i1 = start / e[0] % e[1], i2 = start / e[0] / e[1];
  for (int i = 0; i < count; ++i) {
    t[i] = i0 * s[0] + i1 * s[1] + i2 * s[2];
    if (++i0 == e[0]) {
      i0 = 0;
      if (++i1 == e[1]) {
        i1 = 0;
        ++i2;
      }
    }
  }
}

static NOINLINE bool run16(const int* t) {  // 16 neighbours in memory?
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
static NOINLINE void transpose(float16* r, float* dst, int pitch, int keep) {
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
static NOINLINE void pack_a(const __global TYPE(TA) * a, const int* row, int rows, const int* k,
                   const bool* k_run, int kc, float* tile) {
  const bool row_run = rows >= 16 && run16(row);
  for (int k0 = 0; k0 < kc; k0 += 16) {
    float* dst = tile + k0;
    const bool whole = k0 + 16 <= kc;
    if (whole && k_run[k0 / 16]) {
      for (int i = 0; i < MR; ++i)
        vstore16(i < rows ? VGET(TA, a, row[i] + k[k0]) : (float16)0, 0, dst + i * KS);
    } else if (whole && row_run) {
      float16 r[16];
#pragma unroll
      for (int i = 0; i < 16; ++i) r[i] = VGET(TA, a, row[0] + k[k0 + i]);
      transpose(r, dst, KS, MR);
    } else {
      for (int i = 0; i < MR; ++i)
        for (int j = 0; j < min(16, kc - k0); ++j)
          dst[i * KS + j] = i < rows ? GET(TA, a, row[i] + k[k0 + j]) : 0.0f;
    }
  }
}

// What a window over an image reads where its rows are short.
static void gather16(const __global TYPE(TB) * restrict b, const int* restrict at,
                     float* restrict to) {
  for (int j = 0; j < 16; ++j) to[j] = GET(TB, b, at[j]);
}

// Panels of NR columns of B, each row by row, padded with zeros.
static NOINLINE void pack_b(const __global TYPE(TB) * b, const int* k, const bool* k_run, int kc,
                   const int* col, const bool* col_run, int cols, float* block) {
  for (int j0 = 0; j0 < (cols + NR - 1) / NR * NR; j0 += 16) {
    float* dst = block + j0 / NR * (NR * KC) + j0 % NR;
    const bool whole = j0 + 16 <= cols;
    for (int k0 = 0; k0 < kc; k0 += 16, dst += 16 * NR) {
      const int depth = min(16, kc - k0);
      if (whole && col_run[j0 / 16]) {
        for (int i = 0; i < depth; ++i)
          vstore16(VGET(TB, b, k[k0 + i] + col[j0]), 0, dst + i * NR);
      } else if (whole && depth == 16 && k_run[k0 / 16]) {
        float16 r[16];
#pragma unroll
        for (int j = 0; j < 16; ++j) r[j] = VGET(TB, b, k[k0] + col[j0 + j]);
        transpose(r, dst, NR, 16);
      } else if (whole) {
        for (int i = 0; i < depth; ++i) gather16(b + k[k0 + i], col + j0, dst + i * NR);
      } else {
        for (int i = 0; i < depth; ++i)
          for (int j = 0; j < 16; ++j)
            dst[i * NR + j] = j0 + j < cols ? GET(TB, b, k[k0 + i] + col[j0 + j]) : 0.0f;
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

// Writes a tile of D: alpha v, plus beta C in the first block of k, plus what `part` holds in the
// others; to D in the last, else to `part`. Both are laid out alike (one and the same for float32).
static NOINLINE void finish(const float* v, int rows, int cols, const __global TYPE(TD) * c,
                            long c_m, long c_n, float alpha, float beta, __global float* part,
                            __global TYPE(TD) * d, const int* d_m, const int* d_n,
                            const bool* d_run, bool first, bool last) {
  const bool add = first && beta != 0;
  for (int i = 0; i < rows; ++i, v += NR, c += c_m) {
    __global TYPE(TD)* to = d + d_m[i];
    __global float* partial = part + d_m[i];
    for (int j0 = 0; j0 < cols; j0 += 16) {
      const int at = d_n[j0];
      if (j0 + 16 <= cols && d_run[j0 / 16] && (!add || c_n < 2)) {
        float16 r = alpha * vload16(0, v + j0);
        if (!first) r += vload16(0, partial + at);
        if (add) r += beta * (c_n == 1 ? VGET(TD, c, j0) : (float16)GET(TD, c, 0));
        if (last)
          VPUT(TD, to, at, r);
        else
          vstore16(r, 0, partial + at);
        continue;
      }
      for (int j = j0; j < min(cols, j0 + 16); ++j) {
        float r = alpha * v[j];
        if (!first) r += partial[d_n[j]];
        if (add) r += beta * GET(TD, c, j * c_n);
        if (last)
          PUT(TD, to, d_n[j], r);
        else
          partial[d_n[j]] = r;
      }
    }
  }
}

// `part` holds partial sums in float32, laid out as D. Global size: blocks of n, blocks of m, batch.
__kernel WIDE __attribute__((reqd_work_group_size(1, 1, 1))) void gemm_cpu(
    const __global TYPE(TA) * a, const __global TYPE(TB) * b, const __global TYPE(TD) * c,
    __global TYPE(TD) * d, __global float* part, GemmArgs g) {
  const long z0 = get_global_id(2) % g.z_e0, z1 = get_global_id(2) / g.z_e0;
  const int m_begin = get_global_id(1) * g.m_block, m_end = min(g.M, m_begin + g.m_block);
  const int n_begin = get_global_id(0) * g.n_block, cols = min(g.N - n_begin, g.n_block);
  if (g.triangle == 1 && n_begin >= m_end) return;
  const int k_start = g.triangle == 3 ? min(m_begin, g.K) : 0;
  const int k_end = g.triangle == 2 ? min(g.K, m_end) : g.K;
  a += g.a_at + z0 * g.a_z[0] + z1 * g.a_z[1];
  b += g.b_at + z0 * g.b_z[0] + z1 * g.b_z[1];
  c += g.c_at + z0 * g.c_z[0] + z1 * g.c_z[1] + n_begin * g.c_n;
  d += g.d_at + z0 * g.d_z[0] + z1 * g.d_z[1];
  part += g.part_at + z0 * g.d_z[0] + z1 * g.d_z[1];

  float block[KC * NB], tile[MR * KS], out[MR * NR];
  int a_k[KC], b_k[KC], b_n[NB], d_n[NB], a_m[16], d_m[16];
  bool ak_run[KC / 16], bk_run[KC / 16], bn_run[NB / 16], dn_run[NB / 16];
  fill(b_n, n_begin, cols, g.n_e, g.b_n);
  fill(d_n, n_begin, cols, g.n_e, g.d_n);
  for (int i = 0; i < cols / 16; ++i) {
    bn_run[i] = run16(b_n + i * 16);
    dn_run[i] = run16(d_n + i * 16);
  }
  int k = k_start;
  do {  // once even where K is 0: D = beta C
    const int kc = min(g.k_block, k_end - k);
    fill(a_k, k, kc, g.k_e, g.a_k);
    fill(b_k, k, kc, g.k_e, g.b_k);
    for (int i = 0; i < kc / 16; ++i) {
      ak_run[i] = run16(a_k + i * 16);
      bk_run[i] = run16(b_k + i * 16);
    }
    pack_b(b, b_k, bk_run, kc, b_n, bn_run, cols, block);
    for (int m = m_begin; m < m_end; m += MR) {
      const int readable = min(16, g.M - m), rows = min(MR, m_end - m);
      fill(a_m, m, readable, g.m_e, g.a_m);
      fill(d_m, m, rows, g.m_e, g.d_m);
      pack_a(a, a_m, readable, a_k, ak_run, kc, tile);
      for (int n = 0; n < cols; n += NR) {
        multiply(tile, block + n * KC, kc, out);
        finish(out, rows, min(NR, cols - n), c + m * g.c_m + n * g.c_n, g.c_m, g.c_n, g.alpha,
               g.beta, part, d, d_m, d_n + n, dn_run + n / 16, k == k_start, k + kc >= k_end);
      }
    }
    k += g.k_block;
  } while (k < k_end);
}
