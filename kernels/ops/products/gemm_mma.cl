// GEMM on NVIDIA's tensor cores, for plain matrices of bfloat16, float16 or float32 (as TF32).
// A work-group computes a tile of D from slices of A and B that are copied to local memory in the
// background, STAGES - 1 ahead; each warp takes a part of the tile, by products of 16 x 8.
// Options: TA: type of A and B; TD: of C and D; TILE_M, TILE_N, DEPTH: the tile and its slices;
// WARP_M, WARP_N: a warp's part; STAGES; A_BY_K, B_BY_K: 1 where elements of neighbouring k are
// neighbours in memory, 0 where those of neighbouring m or n are; COPY_A, COPY_B: 16 or 4 bytes at
// a time, as every row allows, or 2 for what is on no such boundary; MMA_EMULATED: for the tests.
#define SIZE_float32 4
#define SIZE_float16 2
#define SIZE_bfloat16 2
#define SIZE CAT(SIZE_, TA)
#define ELEMENT MEM(TA)
#define PER_CHUNK (16 / SIZE)  // elements in 16 bytes
#define WARPS_M (TILE_M / WARP_M)
#define THREADS (32 * WARPS_M * (TILE_N / WARP_N))
#define PARTS_M (WARP_M / 16)
#define PARTS_N (WARP_N / 8)
#define STEPS (DEPTH * SIZE / 32)  // a product is 32 bytes deep
#define A_BYTES (TILE_M * DEPTH * SIZE)
#define B_BYTES (TILE_N * DEPTH * SIZE)
#define STAGE_BYTES (A_BYTES + B_BYTES)
#define AHEAD_2 0
#define AHEAD_3 1
#define AHEAD_4 2
#define AHEAD_5 3
#define GROUPS_IN_FLIGHT CAT(AHEAD_, STAGES)  // STAGES - 2, as a literal

#ifdef MMA_EMULATED
#include "mma_emulated.cl"
#else
#include "mma_ptx.cl"
#endif

// The same struct as in gemm_mma.cc.
typedef struct {
  long a_at, b_at, c_at, d_at;          // first elements
  long a_z[2], b_z[2], c_z[2], d_z[2];  // strides of the batch index z = z0 + z_e0 z1
  int a_pitch, b_pitch;                 // of the direction that is not dense
  int c_m, c_n, d_m, d_n;
  int M, N, K, z_e0;
  int triangle;  // as in gemm.cl
  int d_pairs;   // D's rows are dense, and elements 2i and 2i + 1 of one can be stored together
  float alpha, beta;
} MmaArgs;

// ---- A slice in local memory is rows of 16-byte chunks: rows of m (or n) where neighbours in k
// are dense, else rows of k. Chunk c of row r is at place c ^ mixed(r), so that the lanes of a
// warp, which read one column of chunks, find them in different banks.
INLINE int mixed(int row, int chunks, int by_k) {
  if (SIZE == 4 && !by_k) return (row & 3) << 1;  // read by words, from 4 rows
  return chunks == 4 ? (row >> 1) & 3 : row & 7;
}

// `from`: the slice's first element; `across`: how many rows or columns of the matrix there are
// from it on in the direction of m or n, `left`: in the direction of k. What is beyond is zeros.
INLINE void load_slice(Tile* tile, uint at, const __global ELEMENT* from, int pitch, int by_k,
                       int width, int across, int left, int copy) {
  const int rows = by_k ? width : DEPTH;
  const int chunks = (by_k ? DEPTH : width) / PER_CHUNK;
  const int row_limit = by_k ? across : left, column_limit = by_k ? left : across;
  const int row = (int)get_local_id(0) / chunks, chunk = (int)get_local_id(0) % chunks;
  // Rows that one work-item copies are multiples of 8 (or, mixed by 4, of 4) apart: mixed alike.
  const uint to = at + (row * chunks + (chunk ^ mixed(row, chunks, by_k))) * 16;
  const int columns_left = column_limit - chunk * PER_CHUNK;
  const int columns = columns_left < 0 ? 0 : columns_left > PER_CHUNK ? PER_CHUNK : columns_left;
  const __global ELEMENT* source = from + (row * pitch + chunk * PER_CHUNK);
  UNROLL
  for (int i = 0; i < rows * chunks / THREADS; ++i) {
    const int below = i * (THREADS / chunks);
    const uint chunk_to = to + below * chunks * 16;
    const __global ELEMENT* chunk_from = source + below * pitch;
    const int bytes = row + below < row_limit ? columns * SIZE : 0;
    if (copy == 16) {
      copy16(tile, chunk_to, (const __global uchar*)chunk_from, bytes);
    } else if (copy == 4) {
      UNROLL
      for (int b = 0; b < 16; b += 4)
        copy4(tile, chunk_to + b, (const __global uchar*)chunk_from + b,
              bytes < b       ? 0
              : bytes - b > 4 ? 4
                              : bytes - b);
    } else {
      uint word[4];
      UNROLL
      for (int w = 0; w < 4; ++w) {
        word[w] = 4 * w < bytes ? (uint)chunk_from[2 * w] : 0;
        if (4 * w + 2 < bytes) word[w] |= (uint)chunk_from[2 * w + 1] << 16;
      }
      store16(tile, chunk_to, (uint4)(word[0], word[1], word[2], word[3]));
    }
  }
}

// Element x of row k of a slice whose rows are of k, of 4 bytes.
INLINE uint load_element(Tile* tile, uint at, int k, int x, int width) {
  const int chunks = width / PER_CHUNK;
  return load_word(tile, at + (k * chunks + ((x >> 2) ^ mixed(k, chunks, 0))) * 16 + (x & 3) * 4);
}

// ---- Fragments of one step for a warp whose part begins at row `m` of the tile of A: a[i] of rows
// m + 16 i. A warp's part begins at a multiple of 16, so that mixing depends on the lane alone.
INLINE void load_a(Tile* tile, uint at, int m, int step, int lane, uint a[PARTS_M][4]) {
  UNROLL
  for (int i = 0; i < PARTS_M; ++i) {
#if A_BY_K
    const int chunks = DEPTH / PER_CHUNK, row = lane & 15;
    const int chunk = (step * 2 + (lane >> 4)) ^ mixed(row, chunks, 1);
    load_matrices(tile, a[i], at + ((m + i * 16 + row) * chunks + chunk) * 16);
#elif SIZE == 2
    const int chunks = TILE_M / PER_CHUNK, row = (lane & 7) + (lane >> 4) * 8;
    const int chunk = ((m + i * 16) / 8 + (lane >> 3 & 1)) ^ mixed(row, chunks, 0);
    load_matrices_transposed(tile, a[i], at + ((step * 16 + row) * chunks + chunk) * 16);
#else
    UNROLL
    for (int j = 0; j < 4; ++j) {
      const int k = step * 8 + (lane & 3) + (j >> 1) * 4;
      a[i][j] = load_element(tile, at, k, m + i * 16 + (lane >> 2) + (j & 1) * 8, TILE_M);
    }
#endif
#if SIZE == 4
    UNROLL
    for (int j = 0; j < 4; ++j) a[i][j] = round_to_tf32(a[i][j]);
#endif
  }
}

// The same for columns n + 16 i of B: two fragments of 8 columns in b[i], of 2 words each.
INLINE void load_b(Tile* tile, uint at, int n, int step, int lane, uint b[PARTS_N / 2][4]) {
  UNROLL
  for (int i = 0; i < PARTS_N / 2; ++i) {
#if B_BY_K
    const int chunks = DEPTH / PER_CHUNK, row = (lane & 7) + (lane >> 4) * 8;
    const int chunk = (step * 2 + (lane >> 3 & 1)) ^ mixed(row, chunks, 1);
    load_matrices(tile, b[i], at + ((n + i * 16 + row) * chunks + chunk) * 16);
#elif SIZE == 2
    const int chunks = TILE_N / PER_CHUNK, row = lane & 15;
    const int chunk = ((n + i * 16) / 8 + (lane >> 4)) ^ mixed(row, chunks, 0);
    load_matrices_transposed(tile, b[i], at + ((step * 16 + row) * chunks + chunk) * 16);
#else
    UNROLL
    for (int j = 0; j < 4; ++j) {
      const int k = step * 8 + (lane & 3) + (j & 1) * 4;
      b[i][j] = load_element(tile, at, k, n + i * 16 + (lane >> 2) + (j >> 1) * 8, TILE_N);
    }
#endif
#if SIZE == 4
    UNROLL
    for (int j = 0; j < 4; ++j) b[i][j] = round_to_tf32(b[i][j]);
#endif
  }
}

// ---- D.
#define PUT_ONE(T, p, i, v) CAT(PUT_ONE_, T)(p, i, v)
#define PUT_ONE_float32(p, i, v) ((p)[i] = (v))
#define PUT_ONE_float16(p, i, v) ((p)[i] = (ushort)pair_float16(v, 0))
#define PUT_ONE_bfloat16(p, i, v) ((p)[i] = (ushort)pair_bfloat16(v, 0))
#define PUT_PAIR(T, p, i, v, w) CAT(PUT_PAIR_, T)(p, i, v, w)
#define PUT_PAIR_float32(p, i, v, w) (*(__global float2*)((p) + (i)) = (float2)(v, w))
#define PUT_PAIR_float16(p, i, v, w) (*(__global uint*)((p) + (i)) = pair_float16(v, w))
#define PUT_PAIR_bfloat16(p, i, v, w) (*(__global uint*)((p) + (i)) = pair_bfloat16(v, w))

// D(m, n) and D(m, n + 1).
INLINE void put_pair(const __global MEM(TD) * c, __global MEM(TD) * d, const MmaArgs* g, int m,
                     int n, float v, float w) {
  if (m >= g->M || n >= g->N) return;
  const int two = n + 1 < g->N;
  v *= g->alpha;
  w *= g->alpha;
  if (g->beta != 0) {
    v += g->beta * LOAD(TD)(c, m * g->c_m + n * g->c_n);
    if (two) w += g->beta * LOAD(TD)(c, m * g->c_m + (n + 1) * g->c_n);
  }
  const int at = m * g->d_m + n * g->d_n;
  if (two && g->d_pairs) {
    PUT_PAIR(TD, d, at, v, w);
  } else {
    PUT_ONE(TD, d, at, v);
    if (two) PUT_ONE(TD, d, at + g->d_n, w);
  }
}

// Tiles in the order of the work-groups: down 8 tiles of m before the next of n, so that those that
// run together share what they read.
#define BAND 8
INLINE int2 tile_of_group(int group, int tiles_m, int tiles_n) {
  const int in_band = BAND * tiles_n, first = group / in_band * BAND;
  const int rows = tiles_m - first < BAND ? tiles_m - first : BAND;
  const int rest = group % in_band;
  return (int2)(first + rest % rows, rest / rows);
}

// Global size: THREADS for each tile of each product of the batch; 1; 1.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void gemm_mma(
    const __global MEM(TA) * a, const __global MEM(TA) * b, const __global MEM(TD) * c,
    __global MEM(TD) * d, MmaArgs g) {
  DECLARE_TILE(tile, STAGES * STAGE_BYTES);
  const int tiles_m = (g.M + TILE_M - 1) / TILE_M, tiles_n = (g.N + TILE_N - 1) / TILE_N;
  const long z = (long)get_group_id(0) / ((long)tiles_m * tiles_n);
  const int2 place = tile_of_group((long)get_group_id(0) - z * tiles_m * tiles_n, tiles_m, tiles_n);
  const int m_begin = place.x * TILE_M, n_begin = place.y * TILE_N;
  const int m_end = g.M < m_begin + TILE_M ? g.M : m_begin + TILE_M;
  if (g.triangle == 1 && n_begin >= m_end) return;  // the whole work-group
  const int k_start = g.triangle != 3 ? 0 : m_begin < g.K ? m_begin : g.K;
  const int k_end = g.triangle != 2 || g.K < m_end ? g.K : m_end;
  const long z0 = z % g.z_e0, z1 = z / g.z_e0;
  a += g.a_at + z0 * g.a_z[0] + z1 * g.a_z[1];
  b += g.b_at + z0 * g.b_z[0] + z1 * g.b_z[1];
  a += A_BY_K ? m_begin * g.a_pitch + k_start : m_begin + k_start * g.a_pitch;
  b += B_BY_K ? n_begin * g.b_pitch + k_start : n_begin + k_start * g.b_pitch;
  const int a_next = A_BY_K ? DEPTH : DEPTH * g.a_pitch;
  const int b_next = B_BY_K ? DEPTH : DEPTH * g.b_pitch;
  const int slices = (k_end - k_start + DEPTH - 1) / DEPTH;

  const int lane = (int)get_local_id(0) & 31, warp = (int)get_local_id(0) >> 5;
  const int m_warp = warp % WARPS_M * WARP_M, n_warp = warp / WARPS_M * WARP_N;
  float sum[PARTS_M][PARTS_N][4];
  UNROLL
  for (int i = 0; i < PARTS_M; ++i) UNROLL
  for (int j = 0; j < PARTS_N; ++j) UNROLL
  for (int l = 0; l < 4; ++l) sum[i][j][l] = 0;

#define LOAD_SLICE(stage)                                                                         \
  if (left > 0) {                                                                                 \
    load_slice(&tile, (stage)*STAGE_BYTES, a, g.a_pitch, A_BY_K, TILE_M, g.M - m_begin, left,     \
               COPY_A);                                                                           \
    load_slice(&tile, (stage)*STAGE_BYTES + A_BYTES, b, g.b_pitch, B_BY_K, TILE_N, g.N - n_begin, \
               left, COPY_B);                                                                     \
    a += a_next;                                                                                  \
    b += b_next;                                                                                  \
    left -= DEPTH;                                                                                \
  }                                                                                               \
  commit_copies(&tile)  // one group a slice, be it empty

  int left = k_end - k_start;  // from the next slice on that is copied
  UNROLL
  for (int i = 0; i < STAGES - 1; ++i) {
    LOAD_SLICE(i);
  }
  int stage = 0, free_stage = STAGES - 1;
  for (int slice = 0; slice < slices; ++slice) {
    WAIT_COPIES(&tile, GROUPS_IN_FLIGHT);
    // This slice has arrived for everyone, and everyone has done with the one before, whose place
    // is filled next.
    barrier(CLK_LOCAL_MEM_FENCE);
    LOAD_SLICE(free_stage);
    const uint a_at = stage * STAGE_BYTES, b_at = a_at + A_BYTES;
    uint part_a[2][PARTS_M][4], part_b[2][PARTS_N / 2][4];
    load_a(&tile, a_at, m_warp, 0, lane, part_a[0]);
    load_b(&tile, b_at, n_warp, 0, lane, part_b[0]);
    UNROLL
    for (int step = 0; step < STEPS; ++step) {
      if (step + 1 < STEPS) {
        load_a(&tile, a_at, m_warp, step + 1, lane, part_a[(step + 1) & 1]);
        load_b(&tile, b_at, n_warp, step + 1, lane, part_b[(step + 1) & 1]);
      }
      UNROLL
      for (int i = 0; i < PARTS_M; ++i) UNROLL
      for (int j = 0; j < PARTS_N; ++j)
        CAT(multiply_, TA)
        (&tile, sum[i][j], part_a[step & 1][i], part_b[step & 1][j / 2] + j % 2 * 2);
    }
    stage = stage + 1 == STAGES ? 0 : stage + 1;
    free_stage = free_stage + 1 == STAGES ? 0 : free_stage + 1;
  }

  c += g.c_at + z0 * g.c_z[0] + z1 * g.c_z[1];
  d += g.d_at + z0 * g.d_z[0] + z1 * g.d_z[1];
  UNROLL
  for (int i = 0; i < PARTS_M; ++i) {
    const int m = m_begin + m_warp + i * 16 + (lane >> 2);
    UNROLL
    for (int j = 0; j < PARTS_N; ++j) {
      const int n = n_begin + n_warp + j * 8 + (lane & 3) * 2;
      put_pair(c, d, &g, m, n, sum[i][j][0], sum[i][j][1]);
      put_pair(c, d, &g, m + 8, n, sum[i][j][2], sum[i][j][3]);
    }
  }
}
