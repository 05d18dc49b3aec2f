// A device's limits (kernels/bench/probe.h): copies of 16 bytes, and chains of multiply-adds in
// registers.
#if HAVE_FP16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

__kernel void probe_copy(__global const float4* restrict from, __global float4* restrict to,
                         long words) {
  for (long i = FIRST(words); i < LAST(words); i += STEP) {
    to[i] = from[i];
  }
}

#ifdef LANES
#if LANES == 1
typedef T Lane;
#define STORE_LANES(value, i, p) ((p)[i] = (value))
#else
typedef CAT(T, LANES) Lane;
#define STORE_LANES(value, i, p) CAT(vstore, LANES)(value, i, p)
#endif

// Enough chains to cover the latency of an FMA on CPUs with two units of it; a round is one FMA in
// each. Factor and term are arguments, so that nothing can be computed ahead.
#define CHAINS 8

__kernel void probe_fma(__global T* out, int rounds, float factor, float term) {
  const Lane m = (Lane)((T)factor);
  const Lane c = (Lane)((T)term);
  Lane x0 = c, x1 = c + m, x2 = c * m, x3 = m, x4 = m + m, x5 = m * m, x6 = c + c, x7 = c * c;
  for (int round = 0; round < rounds; ++round) {
    x0 = fma(x0, m, c);
    x1 = fma(x1, m, c);
    x2 = fma(x2, m, c);
    x3 = fma(x3, m, c);
    x4 = fma(x4, m, c);
    x5 = fma(x5, m, c);
    x6 = fma(x6, m, c);
    x7 = fma(x7, m, c);
  }
  STORE_LANES(((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7)), get_global_id(0), out);
}
#endif
