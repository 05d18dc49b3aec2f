// Sequences. Option: -DT=.
// arange and linspace: start + i × step.
__kernel void sequence_real(__global MEM(T)* out, long offset, long count, float start, float step) {
  for (long i = FIRST(count); i < LAST(count); i += STEP) {
    STORE(T)(out, offset + i, (ARITH(T))(start + step * (float)i));
  }
}

__kernel void sequence_integer(__global MEM(T)* out, long offset, long count, long start,
                               long step) {
  for (long i = FIRST(count); i < LAST(count); i += STEP) {
    STORE(T)(out, offset + i, (ARITH(T))(start + step * i));
  }
}

#if HAVE_FP64
__kernel void sequence_double(__global MEM(T)* out, long offset, long count, double start,
                              double step) {
  for (long i = FIRST(count); i < LAST(count); i += STEP) {
    STORE(T)(out, offset + i, (ARITH(T))(start + step * (double)i));
  }
}
#endif
