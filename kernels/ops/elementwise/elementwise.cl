// All element-wise operators of one compute type in one kernel: compiling a kernel costs far more
// than a switch per block. Options: -DC=float|double|long the compute type, -DC_TYPE= the DType
// that is C in memory, -DC_IS_DOUBLE or -DC_IS_INTEGER where it is, -DGROUP= of elementwise.def.

// ---- Helpers that elementwise.def names.
#if !defined(C_IS_INTEGER) && GROUP >= 2
#if DEVICE_IS_CPU && !defined(C_IS_DOUBLE)
// PoCL's erf, pow and log are calls into libm, one element at a time; these vectorise.
#define log_(x) fast_log(x)
// Where infinity is as good as 2e38, and 0 as 1e-38.
#define exp_(x) fast_exp(x)
// A polynomial in u = 2 x² / end² - 1 for the odd part of Φ: that of kernels/ops/common/float_math.h,
// where it is explained.
static inline float cdf_odd_part(float x) {
  const float u = x * x * (2 / (5.5507882f * 5.5507882f)) - 1, square = u * u;
  float tail = -3.055949018e-4f * u + 7.584102289e-4f;
  tail = tail * square + (-4.980222385e-4f * u + 6.794626049e-4f);
  tail = tail * square + (-2.742422745e-3f * u + 5.080967303e-3f);
  tail = tail * square + (-7.118739374e-3f * u + 1.054872554e-2f);
  tail = tail * square + (-1.541126700e-2f * u + 2.068857197e-2f);
  tail = tail * square + (-2.618866946e-2f * u + 3.202363142e-2f);
  float sum = tail * u - 3.856909253e-2f;
  sum = sum * u + 4.735252856e-2f;
  sum = sum * u - 6.359868074e-2f;
  sum = sum * u + 1.273774834e-1f;
  return fabs(x) > 5.5507882f ? copysign(0.5f, x) : x * sum;
}
// |x| Φ(-|x|) and gelu's slope at -|x|, by polynomials in u = 1 - 2 d / end of the distance d to
// their ends: those of float_math.h as well.
static inline float up_to(float end, float x) { return end < fabs(x) ? end : fabs(x); }
static inline float gelu_(float x) {
  const float a = up_to(5.2f, x), d = 5.2f - a, u = 1 - d * (2 / 5.2f), square = u * u;
  float tail = -1.392577076e-3f * u - 2.313831588e-3f;
  tail = tail * square + (8.682549931e-3f * u + 6.133668125e-3f);
  tail = tail * square + (-2.532330342e-2f * u + 5.230399314e-3f);
  tail = tail * square + (3.489541635e-2f * u - 4.025699198e-2f);
  tail = tail * square + (8.548900951e-4f * u + 4.337873310e-2f);
  float sum = tail * u - 5.400326848e-2f;
  sum = sum * u + 3.411180526e-2f;
  sum = sum * u - 1.179082971e-2f;
  sum = sum * u + 1.792834373e-3f;
  return (0 < x ? x : 0) - a * d * sum;
}
static inline float gelu_slope(float x) {
  const float a = up_to(5.6f, x), d = 5.6f - a, u = 1 - d * (2 / 5.6f), square = u * u;
  float tail = -1.797135919e-2f * u + 1.688835584e-2f;
  tail = tail * square + (9.255273640e-2f * u - 1.079312786e-1f);
  tail = tail * square + (-1.710167080e-1f * u + 2.966205180e-1f);
  tail = tail * square + (6.133384258e-2f * u - 3.966307044e-1f);
  tail = tail * square + (2.412797958e-1f * u + 1.562205553e-1f);
  tail = tail * square + (-3.196687996e-1f * u + 1.663871109e-1f);
  float sum = tail * u + 2.962888032e-2f;
  sum = sum * u - 7.990514487e-2f;
  sum = sum * u + 3.922219574e-2f;
  sum = sum * u - 7.003050297e-3f;
  const float slope = d * sum;
  return x < 0 ? slope : 1 - slope;
}
#define erf_(x) (2 * cdf_odd_part((x) * M_SQRT2_F))
static inline float pow_(float x, float y) {
  float r = exp(y * fast_log(fabs(x)));
  bool whole = y == rint(y);
  bool odd = whole && fabs(y * 0.5f - rint(y * 0.5f)) > 0.25f;
  r = x < 0 ? (whole ? (odd ? -r : r) : NAN) : r;
  return y == 0 ? 1 : r;
}
#else
#define erf_(x) erf(x)
#define gelu_(x) ((C)0.5 * (x) * (1 + erf((x) * (C)M_SQRT1_2)))
#define log_(x) log(x)
#define exp_(x) exp(x)
#define pow_(x, y) pow(x, y)
// d/dx of x Φ(x) = Φ(x) + x φ(x)
static inline C gelu_slope(C x) {
  C cdf = (C)0.5 * (1 + erf(x * (C)M_SQRT1_2));
  return cdf + x * (C)0.3989422804014327 * exp((C)-0.5 * x * x);
}
#endif
static inline C silu_slope(C x) {
  C s = 1 / (1 + exp_(-x));
  return s * (1 + x * (1 - s));
}
static inline C mish_slope(C x) {
  C t = tanh(x > 20 ? x : log1p(exp(x)));
  return t + x * (1 - t * t) / (1 + exp(-x));
}
static inline C gelu_inner(C x) { return (C)0.7978845608028654 * (x + (C)0.044715 * x * x * x); }
static inline C gelu_tanh_slope(C x) {
  C t = tanh(gelu_inner(x));
  C inner = (C)0.7978845608028654 * (1 + 3 * (C)0.044715 * x * x);
  return (C)0.5 * (1 + t) + (C)0.5 * x * (1 - t * t) * inner;
}
#endif
#if defined(C_IS_INTEGER)
static inline long floor_div(long x, long y) {
  if (y == 0) return 0;
  long q = x / y;
  return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
}
static inline long int_pow(long x, long y) {
  if (y < 0) return x == 1 ? 1 : (x == -1 ? ((y & 1) ? -1 : 1) : 0);
  long r = 1;
  for (; y > 0; y >>= 1, x *= x) r *= (y & 1) ? x : 1;
  return r;
}
#endif

// ---- The operators of this program: the lines of its group.
#define FLOAT_0(name, expression)
#define FLOAT_1(name, expression)
#define FLOAT_2(name, expression)
#define FLOAT_3(name, expression)
#define INTEGER_0(name, expression)
#define INTEGER_1(name, expression)
#if GROUP == 0 && defined(C_IS_INTEGER)
#undef INTEGER_0
#define INTEGER_0(name, expression) OP(name, expression)
#elif GROUP == 1 && defined(C_IS_INTEGER)
#undef INTEGER_1
#define INTEGER_1(name, expression) OP(name, expression)
#elif GROUP == 0
#undef FLOAT_0
#define FLOAT_0(name, expression) OP(name, expression)
#elif GROUP == 1
#undef FLOAT_1
#define FLOAT_1(name, expression) OP(name, expression)
#elif GROUP == 2
#undef FLOAT_2
#define FLOAT_2(name, expression) OP(name, expression)
#else
#undef FLOAT_3
#define FLOAT_3(name, expression) OP(name, expression)
#endif
#define FLOAT(group, name, device, host) FLOAT_##group(name, (device))
#define INTEGER(group, name, device, host) INTEGER_##group(name, (device))

enum {
#define OP(name, expression) OP_##name,
#include "elementwise.def"
#undef OP
};

// As in elementwise_device.cc.
typedef struct {
  IndexSpace space;  // operand 0 is the result, then a, b, c
  long value[4];     // the bits of a C, where the mode is VALUE
  int mode[4];
  int type[4];  // DType
  int op;
  int result_type;
  int non_temporal;  // of a CPU
} Args;
enum { VALUE, ONE_ELEMENT, TENSOR };

#if HAVE_FP64
static inline C load_float64_as_c(__global const uchar* p, long i) {
  return (C)((__global const double*)p)[i];
}
#else
// PyTorch gives a Python number as a float64 of one element.
static inline C load_float64_as_c(__global const uchar* p, long i) {
  const ulong bits = ((__global const ulong*)p)[i];
  const uint sign = (uint)(bits >> 63) << 31;
  const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  const ulong fraction = bits & 0xfffffffffffffUL;
  if (exponent == 1024) return (C)as_float(sign | 0x7f800000u | (fraction != 0 ? 0x400000u : 0u));
  const float size = ldexp((float)(fraction | 1UL << 52), exponent - 52);
  return (C)as_float(sign | as_uint(size));
}
#endif

static inline C load_any(__global const uchar* p, int type, long i) {
  switch (type) {
    case DTYPE_FLOAT32: return (C)((__global const float*)p)[i];
    case DTYPE_FLOAT64: return load_float64_as_c(p, i);
    case DTYPE_FLOAT16: return (C)load_float16((__global const ushort*)p, i);
    case DTYPE_BFLOAT16: return (C)load_bfloat16((__global const ushort*)p, i);
    case DTYPE_INT8: return (C)((__global const char*)p)[i];
    case DTYPE_UINT8: return (C)p[i];
    case DTYPE_INT16: return (C)((__global const short*)p)[i];
    case DTYPE_INT32: return (C)((__global const int*)p)[i];
    case DTYPE_INT64: return (C)((__global const long*)p)[i];
    default: return (C)(p[i] != 0);
  }
}

static inline void store_any(__global uchar* p, int type, long i, C v) {
  switch (type) {
    case DTYPE_FLOAT32: ((__global float*)p)[i] = (float)v; break;
#if HAVE_FP64
    case DTYPE_FLOAT64: ((__global double*)p)[i] = (double)v; break;
#endif
    case DTYPE_FLOAT16: store_float16((__global ushort*)p, i, (float)v); break;
    case DTYPE_BFLOAT16: store_bfloat16((__global ushort*)p, i, (float)v); break;
    case DTYPE_INT8: ((__global char*)p)[i] = (char)(int)v; break;
    case DTYPE_UINT8: p[i] = (uchar)(int)v; break;
    case DTYPE_INT16: ((__global short*)p)[i] = (short)(int)v; break;
    case DTYPE_INT32: ((__global int*)p)[i] = (int)v; break;
    case DTYPE_INT64: ((__global long*)p)[i] = (long)v; break;
    default: p[i] = v != 0; break;
  }
}

static inline C bits_to_value(long bits) {
#if defined(C_IS_INTEGER)
  return bits;
#elif defined(C_IS_DOUBLE)
  return as_double(bits);
#else
  return as_float((int)bits);
#endif
}

// An operand that is the same for all elements.
static inline C uniform_operand(const Args* args, int k, __global const uchar* memory) {
  if (args->mode[k] == VALUE) return bits_to_value(args->value[k]);
  if (args->mode[k] == ONE_ELEMENT) return load_any(memory, args->type[k], args->space.offset[k + 1]);
  return 0;
}

#if DEVICE_IS_CPU
// A work-item takes runs along the innermost dimension, in blocks: operands that are not plain C in
// a row are first gathered into a private block, then one simple loop computes.
#define BLOCK 512

static inline void gather(C* block, __global const uchar* p, int type, long at, long stride, int n) {
  if (type == C_TYPE) {
    __global const C* q = (__global const C*)p + at;
    for (int k = 0; k < n; ++k) block[k] = q[k * stride];
  } else if (type == DTYPE_BFLOAT16) {  // common enough for a loop that vectorises
    for (int k = 0; k < n; ++k) block[k] = load_bfloat16((__global const ushort*)p, at + k * stride);
  } else {
    for (int k = 0; k < n; ++k) block[k] = load_any(p, type, at + k * stride);
  }
}

static inline void scatter(const C* block, __global uchar* p, int type, long at, long stride, int n) {
  if (type == C_TYPE) {
    __global C* q = (__global C*)p + at;
    for (int k = 0; k < n; ++k) q[k * stride] = block[k];
  } else if (type == DTYPE_BFLOAT16) {
    for (int k = 0; k < n; ++k) {
      store_bfloat16((__global ushort*)p, at + k * stride, (float)block[k]);
    }
  } else {
    for (int k = 0; k < n; ++k) store_any(p, type, at + k * stride, block[k]);
  }
}

// po may be pa, pb or pc (in-place operators), element by element.
static inline void compute(int op, const C* pa, const C* pb, const C* pc, C d, C* po, int n) {
  switch (op) {
#define OP(name, expression)                                   \
  case OP_##name:                                              \
    _Pragma("clang loop vectorize(assume_safety)")             \
    for (int k = 0; k < n; ++k) {                              \
      C a = pa[k], b = pb[k], c = pc[k];                       \
      po[k] = expression;                                      \
    }                                                          \
    break;
#include "elementwise.def"
#undef OP
  }
}

// A CPU has one address space, so that global memory can stand in for a private block.
#define IN_PLACE(p, at) ((C*)(ulong)((__global const C*)(p) + (at)))

#if CAN_STREAM && !defined(C_IS_INTEGER) && !defined(C_IS_DOUBLE)
// Elements that are computed before they are stored non-temporally: so few that the memory takes
// them while the next are computed.
#define NON_TEMPORAL_BLOCK 128
#define LINE 16

static inline int into_line(__global const uchar* out, long at) {
  return (int)((ulong)((__global const C*)out + at) / sizeof(C) % LINE);
}
// Of the next n elements: those before a line begins, else those up to the end of the last line.
static inline int to_next_lines(__global const uchar* out, long at, int n) {
  const int into = into_line(out, at);
  return into != 0 ? min(n, LINE - into) : n > LINE ? n - n % LINE : n;
}
static inline void store_non_temporal(const C* block, __global uchar* out, long at, int n) {
  __global C* to = (__global C*)out + at;
  if (into_line(out, at) != 0 || n % LINE != 0) {
    for (int k = 0; k < n; ++k) to[k] = block[k];
    return;
  }
  for (int k = 0; k < n; k += LINE) {
    __builtin_nontemporal_store(CAT(vload, 16)(0, block + k), (__global float16*)(to + k));
  }
}
static inline void fetch_ahead(__global const uchar* p, long at, int n) {
  for (int k = 0; k < n; k += LINE) FETCH((__global const C*)p, at + AHEAD + k);
}
#else
#define NON_TEMPORAL_BLOCK BLOCK
#define to_next_lines(out, at, n) (n)
#define store_non_temporal(block, out, at, n)
#define fetch_ahead(p, at, n)
#endif

__kernel void elementwise(__global uchar* out, __global const uchar* a, __global const uchar* b,
                          __global const uchar* c, const Args args) {
  C va[BLOCK], vb[BLOCK], vc[BLOCK], __attribute__((aligned(64))) vo[BLOCK];
  const IndexSpace* s = &args.space;
  const int last = (int)s->dims - 1;
  const long inner = s->shape[last], s0 = s->strides[0][last], sa = s->strides[1][last],
             sb = s->strides[2][last], sc = s->strides[3][last];
  const C ua = uniform_operand(&args, 0, a), ub = uniform_operand(&args, 1, b),
          uc = uniform_operand(&args, 2, c), d = bits_to_value(args.value[3]);
  const int used = (int)min((long)BLOCK, s->count);
  for (int k = 0; k < used; ++k) {
    va[k] = ua;
    vb[k] = ub;
    vc[k] = uc;
  }
  const bool ta = args.mode[0] == TENSOR, tb = args.mode[1] == TENSOR, tc = args.mode[2] == TENSOR;
  const bool da = args.type[0] == C_TYPE && sa == 1, db = args.type[1] == C_TYPE && sb == 1,
             dc = args.type[2] == C_TYPE && sc == 1, d0 = args.result_type == C_TYPE && s0 == 1;
  const bool non_temporal = args.non_temporal && d0 && NON_TEMPORAL_BLOCK < BLOCK;
  const long end = LAST(s->count);
  for (long i = FIRST(s->count); i < end;) {
    const long run = min(inner - i % inner, end - i);
    long o0 = offset_of(s, 0, i), oa = ta ? offset_of(s, 1, i) : 0, ob = tb ? offset_of(s, 2, i) : 0,
         oc = tc ? offset_of(s, 3, i) : 0;
    int n;
    for (long done = 0; done < run; done += n) {
      n = (int)min((long)(non_temporal ? NON_TEMPORAL_BLOCK : BLOCK), run - done);
      n = non_temporal ? to_next_lines(out, o0, n) : n;
      if (ta && !da) gather(va, a, args.type[0], oa, sa, n);
      if (tb && !db) gather(vb, b, args.type[1], ob, sb, n);
      if (tc && !dc) gather(vc, c, args.type[2], oc, sc, n);
      compute(args.op, ta && da ? IN_PLACE(a, oa) : va, tb && db ? IN_PLACE(b, ob) : vb,
              tc && dc ? IN_PLACE(c, oc) : vc, d, d0 && !non_temporal ? IN_PLACE(out, o0) : vo, n);
      if (non_temporal) {
        if (ta && da) fetch_ahead(a, oa, n);
        if (tb && db) fetch_ahead(b, ob, n);
        if (tc && dc) fetch_ahead(c, oc, n);
        store_non_temporal(vo, out, o0, n);
      } else if (!d0) {
        scatter(vo, out, args.result_type, o0, s0, n);
      }
      o0 += n * s0;
      oa += n * sa;
      ob += n * sb;
      oc += n * sc;
    }
    i += run;
  }
  END_STREAM();
}
#else
static inline C compute(int op, C a, C b, C c, C d) {
  switch (op) {
#define OP(name, expression) \
  case OP_##name:            \
    return expression;
#include "elementwise.def"
#undef OP
  }
  return 0;
}

__kernel void elementwise(__global uchar* out, __global const uchar* a, __global const uchar* b,
                          __global const uchar* c, const Args args) {
  const IndexSpace* s = &args.space;
  C va = uniform_operand(&args, 0, a), vb = uniform_operand(&args, 1, b),
    vc = uniform_operand(&args, 2, c);
  const C vd = bits_to_value(args.value[3]);
  for (long i = FIRST(s->count); i < LAST(s->count); i += STEP) {
    if (args.mode[0] == TENSOR) va = load_any(a, args.type[0], offset_of(s, 1, i));
    if (args.mode[1] == TENSOR) vb = load_any(b, args.type[1], offset_of(s, 2, i));
    if (args.mode[2] == TENSOR) vc = load_any(c, args.type[2], offset_of(s, 3, i));
    store_any(out, args.result_type, offset_of(s, 0, i), compute(args.op, va, vb, vc, vd));
  }
}
#endif
