#include "kernels/cpu/processor.h"

namespace reprise {

Processor OwnProcessor() {
#if defined(__x86_64__)
  static const Processor own = [] {
    __builtin_cpu_init();  // may run before the library's own
    const bool v3 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                    __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
    const bool v4 =
        v3 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
        __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
        __builtin_cpu_supports("avx512vl") != 0;
    return v4 ? Processor::kV4 : v3 ? Processor::kV3 : Processor::kAny;
  }();
  return own;
#else
  return Processor::kAny;
#endif
}

}  // namespace reprise
