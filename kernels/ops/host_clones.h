// One copy of a loop for AVX-512, AVX2 and any x86-64; the loader chooses, by what the processor
// can do (by "arch=…" it would be by its name). Sanitizers' runtimes are not up yet when it does.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define REPRISE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define REPRISE_CLONES
#endif
