// One copy of a loop for each kind of processor, for loops whose source differs by processor. For
// loops that differ only in the compiler's code, kernels/ops/common/host_clones.h is simpler.
#pragma once

#include <cstdint>

namespace reprise {

// x86-64-v3 has AVX2 and multiply-adds, v4 AVX-512.
enum class Processor : std::uint8_t { kAny, kV3, kV4 };
[[nodiscard]] Processor OwnProcessor();

template <typename Function>
[[nodiscard]] Function* ByProcessor(Function* any, Function* v3, Function* v4) {
  const Processor own = OwnProcessor();
  return own == Processor::kV4 ? v4 : own == Processor::kV3 ? v3 : any;
}

}  // namespace reprise

// Defines name##Here, a pointer to the copy of name##On<Processor> for this machine; that template
// must be [[gnu::always_inline]]. It lists single features, since functions for
// another "arch=…" would not be inlined.
#if defined(__x86_64__)
#define REPRISE_V3 "avx2,fma,f16c,bmi,bmi2"
#define REPRISE_V4 REPRISE_V3 ",avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
#define REPRISE_BY_PROCESSOR(result, name, parameters, arguments)                      \
  static result name##OnAny parameters { return name##On<Processor::kAny> arguments; } \
  [[gnu::target(REPRISE_V3)]] static result name##OnV3 parameters {                    \
    return name##On<Processor::kV3> arguments;                                         \
  }                                                                                    \
  [[gnu::target(REPRISE_V4)]] static result name##OnV4 parameters {                    \
    return name##On<Processor::kV4> arguments;                                         \
  }                                                                                    \
  static result(*const name##Here) parameters = ByProcessor(name##OnAny, name##OnV3, name##OnV4)
#else
#define REPRISE_BY_PROCESSOR(result, name, parameters, arguments)                      \
  static result name##OnAny parameters { return name##On<Processor::kAny> arguments; } \
  static result(*const name##Here) parameters = name##OnAny
#endif
