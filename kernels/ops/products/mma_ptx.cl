// The instructions of NVIDIA's tensor cores that gemm_mma.cl is made of, as inline PTX for compute
// capability 8.0 and later. mma_emulated.cl has the same functions for any device.
// A "matrix" is 8 rows of 16 bytes; a fragment is what PTX ISA calls the part of it that a lane of
// the warp holds.
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("unroll")

typedef struct {
  uint base;  // of the work-group's tile in the window of shared memory
} Tile;

// Drivers have handed a __local pointer to inline PTX both as an address within shared memory and
// as a generic one; which of the two it is can be asked.
INLINE uint shared_address(__local uchar* memory) {
  uint base;
  const ulong address = (ulong)(size_t)memory;
  asm volatile(
      "{\n\t"
      ".reg .pred generic;\n\t"
      ".reg .u64 address;\n\t"
      "mov.u64 address, %1;\n\t"
      "isspacep.shared generic, address;\n\t"
      "@generic cvta.to.shared.u64 address, address;\n\t"
      "cvt.u32.u64 %0, address;\n\t"
      "}"
      : "=r"(base)
      : "l"(address)
      : "memory");
  return base;
}

#define DECLARE_TILE(tile, bytes)                                \
  __local uchar tile_memory[bytes] __attribute__((aligned(128))); \
  Tile tile;                                                     \
  tile.base = shared_address(tile_memory)

// ---- From global memory to the tile, in the background: `bytes` of 16 or 4, the rest zeros.
INLINE void copy16(Tile* tile, uint to, const __global uchar* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(tile->base + to), "l"(from), "r"(bytes)
               : "memory");
}
INLINE void copy4(Tile* tile, uint to, const __global uchar* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
               :
               : "r"(tile->base + to), "l"(from), "r"(bytes)
               : "memory");
}
// Ends a group of copies.
INLINE void commit_copies(Tile* tile) { asm volatile("cp.async.commit_group;" : : : "memory"); }
// Until all groups of this work-item but the latest `N` have arrived.
#define WAIT_COPIES_(tile, N) asm volatile("cp.async.wait_group " #N ";" : : : "memory")
#define WAIT_COPIES(tile, N) WAIT_COPIES_(tile, N)

INLINE void store16(Tile* tile, uint to, uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "r"(tile->base + to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

// ---- Fragments. Lanes 8i to 8i + 7 name the rows of matrix i; r[i] is the lane's part of it:
// 4 bytes of row lane / 4, or, transposed, two elements of 2 bytes of column lane / 4.
INLINE void load_matrices(Tile* tile, uint* r, uint at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(tile->base + at)
               : "memory");
}
INLINE void load_matrices_transposed(Tile* tile, uint* r, uint at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(tile->base + at)
               : "memory");
}
INLINE uint load_word(Tile* tile, uint at) {
  uint word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(tile->base + at) : "memory");
  return word;
}

// ---- d += a b of a warp: 16 x 8 of 16 deep (float32, as TF32: 8 deep).
#define MULTIPLY(TYPES)                                                                     \
  asm volatile("mma.sync.aligned." TYPES                                                    \
               " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"           \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                             \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
INLINE void multiply_bfloat16(Tile* tile, float* d, const uint* a, const uint* b) {
  MULTIPLY("m16n8k16.row.col.f32.bf16.bf16.f32");
}
INLINE void multiply_float16(Tile* tile, float* d, const uint* a, const uint* b) {
  MULTIPLY("m16n8k16.row.col.f32.f16.f16.f32");
}
INLINE void multiply_float32(Tile* tile, float* d, const uint* a, const uint* b) {
  MULTIPLY("m16n8k8.row.col.f32.tf32.tf32.f32");
}
INLINE uint round_to_tf32(uint v) {
  uint rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(as_float(v)));
  return rounded;
}

// ---- Two floats as neighbours in memory, to nearest.
INLINE uint pair_bfloat16(float low, float high) {
  uint pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
INLINE uint pair_float16(float low, float high) {
  uint pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
