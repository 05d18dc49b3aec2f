// Moves `bytes` of traffic and does `flops` of arithmetic on scratch memory: what a call without a
// kernel is replayed as. Half of the traffic is read, half written.
__kernel void surrogate(__global float* scratch, long words, long passes, int fma_per_word) {
  for (long pass = 0; pass < passes; ++pass) {
    for (long i = FIRST(words); i < LAST(words); i += STEP) {
      float x = scratch[i];
      for (int k = 0; k < fma_per_word; ++k) {
        x = fma(x, 0.5f, 0.25f);  // stays within [0, 0.5]
      }
      scratch[i] = x + 0.0f;
    }
  }
}
