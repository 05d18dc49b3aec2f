// What mma_ptx.cl does, on any device: a warp's lanes meet at barriers of the whole work-group and
// hand each other what they hold through local memory. Slow; the tests run gemm_mma.cl with it
// where there is no tensor core. Copies in the background are done as late as they may be, or with
// -DMMA_EARLY as early, so that a missing wait shows.
// Options: those of gemm_mma.cl, whose THREADS it uses.
#define INLINE static inline
#define UNROLL

#define MAX_PENDING 256
#define MAX_GROUPS 8
typedef struct {
  __local uchar* memory;
  __local uint* exchange;  // 8 words of each work-item
  uint to[MAX_PENDING];
  const __global uchar* from[MAX_PENDING];
  int bytes[MAX_PENDING], size[MAX_PENDING];
  int next, end, groups, group_end[MAX_GROUPS];
} Tile;

#define DECLARE_TILE(tile, bytes)                   \
  __local uint tile_memory[(bytes) / 4];            \
  __local uint tile_exchange[THREADS * 8];          \
  Tile tile;                                        \
  tile.memory = (__local uchar*)tile_memory;        \
  tile.exchange = tile_exchange;                    \
  tile.next = tile.end = tile.groups = 0

#define LANE ((int)get_local_id(0) & 31)
#define EXCHANGE_OF(lane) (tile->exchange + ((int)get_local_id(0) - LANE + (lane)) * 8)

static void finish_copy(Tile* tile) {
  const int i = tile->next++ % MAX_PENDING;
  for (int b = 0; b < tile->size[i]; ++b)
    tile->memory[tile->to[i] + b] = b < tile->bytes[i] ? tile->from[i][b] : 0;
}
static void copy(Tile* tile, uint to, const __global uchar* from, int bytes, int size) {
  const int i = tile->end++ % MAX_PENDING;
  tile->to[i] = to;
  tile->from[i] = from;
  tile->bytes[i] = bytes;
  tile->size[i] = size;
#ifdef MMA_EARLY
  finish_copy(tile);
#endif
}
static void copy16(Tile* tile, uint to, const __global uchar* from, int bytes) {
  copy(tile, to, from, bytes, 16);
}
static void copy4(Tile* tile, uint to, const __global uchar* from, int bytes) {
  copy(tile, to, from, bytes, 4);
}
static void commit_copies(Tile* tile) {
  tile->group_end[tile->groups++ % MAX_GROUPS] = tile->end;
}
static void wait_copies(Tile* tile, int groups) {
  if (tile->groups <= groups) return;
  const int end = tile->group_end[(tile->groups - 1 - groups) % MAX_GROUPS];
  while (tile->next < end) finish_copy(tile);
}
#define WAIT_COPIES(tile, N) wait_copies(tile, N)

static void store16(Tile* tile, uint to, uint4 v) {
  vstore4(v, 0, (__local uint*)(tile->memory + to));
}

INLINE void load_matrices(Tile* tile, uint* r, uint at) {
  EXCHANGE_OF(LANE)[0] = at;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 4; ++i)
    r[i] = *(__local uint*)(tile->memory + EXCHANGE_OF(8 * i + LANE / 4)[0] + LANE % 4 * 4);
  barrier(CLK_LOCAL_MEM_FENCE);
}
INLINE void load_matrices_transposed(Tile* tile, uint* r, uint at) {
  EXCHANGE_OF(LANE)[0] = at;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 4; ++i) {
    const int row = 8 * i + LANE % 4 * 2;
    const __local ushort* low = (__local ushort*)(tile->memory + EXCHANGE_OF(row)[0]);
    const __local ushort* high = (__local ushort*)(tile->memory + EXCHANGE_OF(row + 1)[0]);
    r[i] = low[LANE / 4] | (uint)high[LANE / 4] << 16;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}
static uint load_word(Tile* tile, uint at) { return *(__local uint*)(tile->memory + at); }

static float widen_bfloat16(ushort v) { return as_float((uint)v << 16); }
static float widen_float16(ushort v) { return vload_half(0, (const half*)&v); }

// Element k of the row (of A) or column (of B) that 4 lanes hold from `lane` on, in the fragments
// that begin at word `first` of theirs: words of k < K / 2, then, `apart` words on, the others.
static float part(Tile* tile, int lane, int first, int apart, int k) {
#if SIZE == 2
  const uint word = EXCHANGE_OF(lane + k % 8 / 2)[first + k / 8 * apart];
  const ushort bits = (ushort)(word >> (k % 2 * 16));
  return CAT(widen_, TA)(bits);
#else  // what the hardware ignores
  return as_float(EXCHANGE_OF(lane + k % 4)[first + k / 4 * apart] & 0xffffe000u);
#endif
}
INLINE void multiply(Tile* tile, float* d, const uint* a, const uint* b) {
  for (int i = 0; i < 4; ++i) EXCHANGE_OF(LANE)[i] = a[i];
  for (int i = 0; i < 2; ++i) EXCHANGE_OF(LANE)[4 + i] = b[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 4; ++i) {
    const int row = LANE / 4, column = LANE % 4 * 2 + i % 2;
    for (int k = 0; k < 32 / SIZE; ++k)
      d[i] += part(tile, row * 4, i / 2, 2, k) * part(tile, column * 4, 4, 1, k);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}
#define multiply_bfloat16 multiply
#define multiply_float16 multiply
#define multiply_float32 multiply
static uint round_to_tf32(uint v) { return (v + 0x1000u) & 0xffffe000u; }

static uint pair_bfloat16(float low, float high) {
  const uint l = as_uint(low), h = as_uint(high);
  return (l + 0x7fffu + ((l >> 16) & 1u)) >> 16 |
         ((h + 0x7fffu + ((h >> 16) & 1u)) & 0xffff0000u);
}
static uint pair_float16(float low, float high) {
  ushort pair[2];
  vstore_half_rte(low, 0, (half*)pair);
  vstore_half_rte(high, 1, (half*)pair);
  return pair[0] | (uint)pair[1] << 16;
}
