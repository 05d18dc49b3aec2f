// Put before every program. From the backend: DEVICE_IS_CPU, HAVE_FP64, HAVE_FP16 (0 or 1).
#if HAVE_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

// ---- Element types, by the names that -DT=float32 and the like give (core/dtype.h).
// MEM(T): as stored. ARITH(T): as computed with. LOAD(T)(pointer, index), STORE(T)(pointer, index,
// value): between the two. bool is 0 or 1 in a byte; float16 and bfloat16 compute in float.
#define MEM(T) CAT(mem_, T)
#define ARITH(T) CAT(arith_, T)
#define LOAD(T) CAT(load_, T)
#define STORE(T) CAT(store_, T)

#define PLAIN_TYPE(name, mem, arith)                                                            \
  typedef mem mem_##name;                                                                       \
  typedef arith arith_##name;                                                                   \
  static inline arith load_##name(__global const mem* p, long i) { return (arith)p[i]; }        \
  static inline void store_##name(__global mem* p, long i, arith v) { p[i] = (mem)v; }

PLAIN_TYPE(float32, float, float)
PLAIN_TYPE(int8, char, int)
PLAIN_TYPE(uint8, uchar, int)
PLAIN_TYPE(int16, short, int)
PLAIN_TYPE(int32, int, int)
PLAIN_TYPE(int64, long, long)
#if HAVE_FP64
PLAIN_TYPE(float64, double, double)
#endif

typedef uchar mem_bool;
typedef int arith_bool;
static inline int load_bool(__global const uchar* p, long i) { return p[i] != 0; }
static inline void store_bool(__global uchar* p, long i, int v) { p[i] = v != 0; }

typedef ushort mem_float16;
typedef float arith_float16;
static inline float load_float16(__global const ushort* p, long i) {
  return vload_half(i, (__global const half*)p);
}
static inline void store_float16(__global ushort* p, long i, float v) {
  vstore_half_rte(v, i, (__global half*)p);
}

typedef ushort mem_bfloat16;
typedef float arith_bfloat16;
static inline float load_bfloat16(__global const ushort* p, long i) {
  return as_float((uint)p[i] << 16);
}
static inline void store_bfloat16(__global ushort* p, long i, float v) {
  uint bits = as_uint(v);
  // To nearest, ties to even; a NaN stays one.
  p[i] = isnan(v) ? (ushort)0x7fc0 : (ushort)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// ---- log() and exp() of a float: PoCL's are calls for each element, these vectorise.
#if DEVICE_IS_CPU
// Of normal positive numbers: Cephes' logf, as Log of random_loops.cc, without a division.
static inline float log_of_normal(float x) {
  const int bits = as_int(x);
  const int exponent = (bits - 0x3f3504f3) >> 23;  // x = 2^exponent m, sqrt(1/2) <= m < sqrt(2)
  const float e = (float)exponent;
  const float r = as_float(bits - (exponent << 23)) - 1;
  float p = r * 7.0376836292e-2f - 1.1514610310e-1f;
  p = p * r + 1.1676998740e-1f;
  p = p * r - 1.2420140846e-1f;
  p = p * r + 1.4249322787e-1f;
  p = p * r - 1.6668057665e-1f;
  p = p * r + 2.0000714765e-1f;
  p = p * r - 2.4999993993e-1f;
  p = p * r + 3.3333331174e-1f;
  const float square = r * r;
  const float tail = p * r * square - e * 2.12194440e-4f - 0.5f * square;
  return r + tail + e * 0.693359375f;
}
// exp(), whose call takes far longer, of a float or of a vector; explained at ExpOf of
// softmax_loops.cc. Of less than -87.3 it is 1e-38, of more than 88.3 2e38, of NaN either.
#define DEFINE_FAST_EXP(NAME, FLOATS, INTS, UINTS)                              \
  static inline FLOATS NAME(FLOATS x) {                                         \
    const INTS bits = CAT(as_, INTS)(min(CAT(as_, UINTS)(x), (UINTS)(0xc2aeac4fu))); \
    const FLOATS bounded = CAT(as_, FLOATS)(min(bits, (INTS)(0x42b0999a)));     \
    const FLOATS whole = bounded * 1.44269504f + (12582912.0f + 127);           \
    const FLOATS k = whole - (12582912.0f + 127);                               \
    const FLOATS r = (bounded - k * 0.693359375f) + k * 2.12194440e-4f;         \
    FLOATS p = r * 8.290306194e-3f + 4.189797535e-2f;                           \
    p = p * r + 1.666763658e-1f;                                                \
    p = p * r + 4.999914919e-1f;                                                \
    p = p * r + 9.999997070e-1f;                                                \
    const FLOATS power = CAT(as_, FLOATS)(CAT(as_, INTS)(whole) << 23);         \
    return p * r * power + power;                                               \
  }
DEFINE_FAST_EXP(fast_exp, float, int, uint)
static inline float fast_log(float x) {
  const bool tiny = x < 0x1p-126f;
  float result = log_of_normal(tiny ? x * 0x1p25f : x) - (tiny ? 17.32867951f : 0.0f);  // 25 ln 2
  result = x < INFINITY ? result : x;  // NaN, too
  result = x > 0 ? result : x;
  return x == 0 ? -INFINITY : (x < 0 ? NAN : result);
}
#else
#define log_of_normal(x) log(x)
#define fast_exp(x) exp(x)
#define fast_log(x) log(x)
#endif

// ---- Large results on a CPU are stored non-temporally while what will be read soon is fetched:
// kernels/cpu/non_temporal_store.h.
// Not where the driver compiles to SPIR first (Intel's), which has no such operations.
#if DEVICE_IS_CPU && defined(__has_builtin) && !defined(__SPIR__) && !defined(__SPIRV__)
#define CAN_STREAM (__has_builtin(__builtin_prefetch) && __has_builtin(__builtin_nontemporal_store))
#endif
#define AHEAD 1024  // floats from what is computed to what is fetched
#if CAN_STREAM
#define FETCH(p, i) __builtin_prefetch((const void*)(uintptr_t)((p) + (i)))
#else
#define FETCH(p, i)
#endif
// At the end of each kernel that stores so: what it stored is seen by the threads after it.
#if CAN_STREAM && (defined(__x86_64__) || defined(__i386__))
#define END_STREAM() __builtin_ia32_sfence()
#else
#define END_STREAM()
#endif

// ---- Which of n items a work-item handles: `for (long i = FIRST(n); i < LAST(n); i += STEP)`.
// A CPU's work-item takes one contiguous piece (LLVM then vectorises the loop), a GPU's strides
// over the grid (neighbours then read neighbours). Launch with ItemsLaunch (kernels/device_lowering.h).
static inline long items_per_worker(long n) {
  return (n + (long)get_global_size(0) - 1) / (long)get_global_size(0);
}
#if DEVICE_IS_CPU
#define FIRST(n) (items_per_worker(n) * (long)get_global_id(0))
#define LAST(n) min((long)(n), items_per_worker(n) * ((long)get_global_id(0) + 1))
#define STEP 1
#else
#define FIRST(n) ((long)get_global_id(0))
#define LAST(n) ((long)(n))
#define STEP ((long)get_global_size(0))
#endif

// ---- Strided operands: struct IndexSpace of kernels/device_lowering.h. Operand k of element i is at
// offset_of(&space, k, i), counted in elements from the start of its buffer.
#define MAX_DIMS 8
#define MAX_OPERANDS 4
typedef struct {
  long count;
  long dims;
  long shape[MAX_DIMS];
  long offset[MAX_OPERANDS];
  long strides[MAX_OPERANDS][MAX_DIMS];
} IndexSpace;

static inline long offset_of(const IndexSpace* s, int operand, long i) {
  long at = s->offset[operand];
  if (s->count <= 0xffffffffL) {  // 32-bit division is several times faster
    uint rest = (uint)i;
    for (int d = (int)s->dims - 1; d > 0; --d) {
      uint extent = (uint)s->shape[d];
      uint next = rest / extent;
      at += (long)(rest - next * extent) * s->strides[operand][d];
      rest = next;
    }
    return at + (long)rest * s->strides[operand][0];
  }
  for (int d = (int)s->dims - 1; d > 0; --d) {
    long next = i / s->shape[d];
    at += (i - next * s->shape[d]) * s->strides[operand][d];
    i = next;
  }
  return at + i * s->strides[operand][0];
}

// ---- DType of core/dtype.h, for programs that learn types at run time.
enum {
  DTYPE_FLOAT32 = 1,
  DTYPE_FLOAT64,
  DTYPE_FLOAT16,
  DTYPE_BFLOAT16,
  DTYPE_INT8,
  DTYPE_UINT8,
  DTYPE_INT16,
  DTYPE_INT32,
  DTYPE_INT64,
  DTYPE_BOOL
};
