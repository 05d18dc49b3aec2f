// One copy of a loop for AVX-512, AVX2 and any x86-64; the loader chooses by the processor's
// features: v4 and v3 are sets of features (v3 has multiply-adds, v4 64-bit products), any other
// "arch=…" would be a processor's name. It chooses before sanitizers' runtimes have started.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#if __GNUC__ >= 12
#define REPRISE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define REPRISE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define REPRISE_CLONES
#endif
