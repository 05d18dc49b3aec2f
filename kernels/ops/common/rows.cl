// Rows of elements by work-groups. For programs built with options such as -DX=float32 -DV=16 -DL=1
// (RowLowering of kernels/ops/common/row_lowering.h):
//   TYPE(X)            what a buffer holds       GET(X, p, i)       one element, as ACC
//   PUT(X, p, i, v)    one element from ACC      VGET, VPUT         V elements from element i
// ACC_NAME (float32, float64 or int64) is the type that the program computes in. V is the vector
// width, L the work-group size: 16 and 1 on CPUs, where a work-group is a loop; 4 and 256 elsewhere.
#define TYPE_float32 float
#define TYPE_float64 double
#define TYPE_float16 ushort
#define TYPE_bfloat16 ushort
#define TYPE_int8 char
#define TYPE_uint8 uchar
#define TYPE_int16 short
#define TYPE_int32 int
#define TYPE_int64 long
#define TYPE_bool uchar
#define TYPE(D) CAT(TYPE_, D)

#ifdef ACC_NAME
typedef TYPE(ACC_NAME) ACC;
typedef CAT(TYPE(ACC_NAME), V) VACC;
#define INTEGER_int64 1
#define INTEGER_ACC CAT(INTEGER_, ACC_NAME)
#if INTEGER_ACC
#define IS_NAN(v) 0
#else
#define IS_NAN(v) isnan(v)
#endif
#define TO_ACC CAT(convert_, TYPE(ACC_NAME))
#define TO_VACC CAT(CAT(convert_, TYPE(ACC_NAME)), V)

#define WIDE_GET_(i, p) CAT(vload, V)(0, (p) + (i))

#define GET(D, p, i) CAT(GET_, D)(p, i)
#define GET_float32(p, i) TO_ACC((p)[i])
#define GET_float64(p, i) TO_ACC((p)[i])
#define GET_float16(p, i) TO_ACC(load_float16(p, i))
#define GET_bfloat16(p, i) TO_ACC(load_bfloat16(p, i))
#define GET_int8(p, i) TO_ACC((p)[i])
#define GET_uint8(p, i) TO_ACC((p)[i])
#define GET_int16(p, i) TO_ACC((p)[i])
#define GET_int32(p, i) TO_ACC((p)[i])
#define GET_int64(p, i) TO_ACC((p)[i])
#define GET_bool(p, i) TO_ACC((p)[i])

#define PUT(D, p, i, v) CAT(PUT_, D)(p, i, v)
#define PUT_float32(p, i, v) ((p)[i] = (float)(v))
#define PUT_float64(p, i, v) ((p)[i] = (double)(v))
#define PUT_float16(p, i, v) store_float16(p, i, (float)(v))
#define PUT_bfloat16(p, i, v) store_bfloat16(p, i, (float)(v))
#define PUT_int8(p, i, v) ((p)[i] = (char)(v))
#define PUT_uint8(p, i, v) ((p)[i] = (uchar)(v))
#define PUT_int16(p, i, v) ((p)[i] = (short)(v))
#define PUT_int32(p, i, v) ((p)[i] = (int)(v))
#define PUT_int64(p, i, v) ((p)[i] = (long)(v))
#define PUT_bool(p, i, v) ((p)[i] = (v) != 0)

#define VGET(D, p, i) CAT(VGET_, D)(p, i)
#define VGET_float32(p, i) TO_VACC(WIDE_GET_(i, p))
#define VGET_float64(p, i) TO_VACC(WIDE_GET_(i, p))
#define VGET_float16(p, i) TO_VACC(CAT(vload_half, V)(0, (__global const half*)((p) + (i))))
#define VGET_bfloat16(p, i) \
  TO_VACC(CAT(as_float, V)(CAT(convert_uint, V)(WIDE_GET_(i, p)) << 16))
#define VGET_int8(p, i) TO_VACC(WIDE_GET_(i, p))
#define VGET_uint8(p, i) TO_VACC(WIDE_GET_(i, p))
#define VGET_int16(p, i) TO_VACC(WIDE_GET_(i, p))
#define VGET_int32(p, i) TO_VACC(WIDE_GET_(i, p))
#define VGET_int64(p, i) TO_VACC(WIDE_GET_(i, p))
#define VGET_bool(p, i) TO_VACC(WIDE_GET_(i, p))

// As store_bfloat16 of common.cl.
static CAT(ushort, V) bf16_bits_v(CAT(float, V) v) {
  CAT(uint, V) u = CAT(as_uint, V)(v);
  CAT(uint, V) r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return CAT(convert_ushort, V)(select(r, (CAT(uint, V))(0x7fc0u), isnan(v)));
}

#define VPUT(D, p, i, v) CAT(VPUT_, D)(p, i, v)
#define WIDE_PUT_(T, p, i, v) CAT(vstore, V)(CAT(CAT(convert_, T), V)(v), 0, (p) + (i))
#define VPUT_float32(p, i, v) WIDE_PUT_(float, p, i, v)
#define VPUT_float64(p, i, v) WIDE_PUT_(double, p, i, v)
#define VPUT_float16(p, i, v) \
  CAT(CAT(vstore_half, V), _rte)(CAT(convert_float, V)(v), 0, (__global half*)((p) + (i)))
#define VPUT_bfloat16(p, i, v) \
  CAT(vstore, V)(bf16_bits_v(CAT(convert_float, V)(v)), 0, (p) + (i))
#define VPUT_int8(p, i, v) WIDE_PUT_(char, p, i, v)
#define VPUT_uint8(p, i, v) WIDE_PUT_(uchar, p, i, v)
#define VPUT_int16(p, i, v) WIDE_PUT_(short, p, i, v)
#define VPUT_int32(p, i, v) WIDE_PUT_(int, p, i, v)
#define VPUT_int64(p, i, v) WIDE_PUT_(long, p, i, v)
#define VPUT_bool(p, i, v) WIDE_PUT_(uchar, p, i, v)

// ---- exp() of V elements.
#define FLOAT_float32 1
#if DEVICE_IS_CPU && CAT(FLOAT_, ACC_NAME)
DEFINE_FAST_EXP(exp_v, CAT(float, V), CAT(int, V), CAT(uint, V))
#else
#define exp_v(x) exp(x)
#endif

// ---- Large results on a CPU: NON_TEMPORAL among a kernel's flags (common.cl).
#define NON_TEMPORAL 256
#if CAN_STREAM
static void vstream_float32(__global float* p, CAT(float, V) v, int flags) {
  if ((flags & NON_TEMPORAL) && (uintptr_t)p % sizeof(v) == 0) {
    __builtin_nontemporal_store(v, (__global CAT(float, V)*)p);
  } else {
    CAT(vstore, V)(v, 0, p);
  }
}
#else
#define vstream_float32(p, v, flags) CAT(vstore, V)(v, 0, p)
#endif
// VPUT of a result.
#define VSTREAM(D, p, i, v, flags) CAT(VSTREAM_, D)(p, i, v, flags)
#define VSTREAM_float32(p, i, v, flags) \
  vstream_float32((p) + (i), CAT(convert_float, V)(v), flags)
#define VSTREAM_float64(p, i, v, flags) VPUT_float64(p, i, v)
#define VSTREAM_float16(p, i, v, flags) VPUT_float16(p, i, v)
#define VSTREAM_bfloat16(p, i, v, flags) VPUT_bfloat16(p, i, v)

// One lane out of V.
#if V == 16
#define FOLD(OP, v)                                                               \
  OP(OP(OP(OP((v).s0, (v).s1), OP((v).s2, (v).s3)), OP(OP((v).s4, (v).s5), OP((v).s6, (v).s7))), \
     OP(OP(OP((v).s8, (v).s9), OP((v).sa, (v).sb)), OP(OP((v).sc, (v).sd), OP((v).se, (v).sf))))
#else
#define FOLD(OP, v) OP(OP((v).s0, (v).s1), OP((v).s2, (v).s3))
#endif
#define PLUS(a, b) ((a) + (b))

// Combines one value of each work-item of a work-group; every work-item gets the result.
#define DEFINE_GROUP_FOLD(NAME, OP)                                     \
  static ACC NAME(ACC v, __local ACC* tmp) {                            \
    uint lid = get_local_id(0);                                         \
    barrier(CLK_LOCAL_MEM_FENCE);                                       \
    tmp[lid] = v;                                                       \
    barrier(CLK_LOCAL_MEM_FENCE);                                       \
    for (uint half_size = L / 2; half_size > 0; half_size /= 2) {       \
      if (lid < half_size) tmp[lid] = OP(tmp[lid], tmp[lid + half_size]); \
      barrier(CLK_LOCAL_MEM_FENCE);                                     \
    }                                                                   \
    return tmp[0];                                                      \
  }
// END_CONDITION() stands after a condition that a fold is under. Without it PoCL 3.1 runs what
// follows that fold for work-items whose own conditions are false, too.
#if L > 1
#define GROUP_LOCAL(name) __local ACC name[L]
DEFINE_GROUP_FOLD(group_sum, PLUS)
#define END_CONDITION() barrier(CLK_LOCAL_MEM_FENCE)
#else
#define GROUP_LOCAL(name) __local ACC* name = 0
#define group_sum(v, tmp) (v)
#define END_CONDITION()
#endif
#endif  // ACC_NAME

// Rows of this work-group: a contiguous block.
#define FOR_ROWS(row, rows)                                                                   \
  for (long row##_block = ((rows) + get_num_groups(0) - 1) / get_num_groups(0),               \
            row = get_group_id(0) * row##_block, row##_end = min((long)(rows), row + row##_block); \
       row < row##_end; ++row)
// Elements of a row by this work-item: whole vectors, then the tail.
#define FOR_VECTORS(i, n) for (long i = (long)get_local_id(0) * V; i + V <= (n); i += (long)L * V)
#define FOR_TAIL(i, n) for (long i = (n) - (n) % V + get_local_id(0); i < (n); i += L)
// The same with vectors from element `h` on, where a CPU's row of `p` is aligned, and the elements
// before and after them.
#if L == 1
#define ALIGNED_FROM(p, n) \
  min((long)(n), (long)(-(uintptr_t)(p) % (V * sizeof(*(p))) / sizeof(*(p))))
#else
#define ALIGNED_FROM(p, n) 0L
#endif
#define FOR_VECTORS_FROM(h, i, n) \
  for (long i = (h) + (long)get_local_id(0) * V; i + V <= (n); i += (long)L * V)
#define AFTER_VECTORS(h, n) ((h) + ((n) - (h)) / V * V)
#define FOR_ENDS(h, i, n)                                                                \
  for (long i = (h) > 0 ? 0 : AFTER_VECTORS(h, n) + get_local_id(0); i < (n);            \
       i = i + 1 == (h) ? AFTER_VECTORS(h, n) : i + L)

// Every index read from memory passes here: negative ones count from the end, as in PyTorch, and
// what is out of range is clamped (replayed indices may be synthetic).
static long in_range(long index, long extent) {
  return clamp(index < 0 ? index + extent : index, 0L, extent - 1);
}
