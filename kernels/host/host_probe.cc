#include "kernels/host/host_probe.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "core/parallel.h"

namespace reprise {
namespace {

constexpr int kChains = 10;  // two units, a latency of four or five cycles

// Vectors that fit the registers: wider ones would be split into more than there are.
enum class VectorBytes { kPlain = 16, kAvx2 = 32, kAvx512 = 64 };

VectorBytes WidestVector() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    return VectorBytes::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return VectorBytes::kAvx2;
  }
#endif
  return VectorBytes::kPlain;
}

std::size_t Cores() { return static_cast<std::size_t>(OwnCores()); }

// Started for each run: some 10 us, against the milliseconds that a probe takes.
void OnAllCores(const std::function<void(std::size_t core)>& body) {
  std::vector<std::thread> threads;
  for (std::size_t core = 1; core < Cores(); ++core) {
    threads.emplace_back(body, core);
  }
  body(0);
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// Inlined into a function of each instruction set.
template <typename T, VectorBytes kBytes>
[[gnu::always_inline]] inline T Chains(std::int32_t rounds, T factor, T term) {
  typedef T Lane __attribute__((vector_size(static_cast<int>(kBytes))));
  Lane x[kChains];
  for (int k = 0; k < kChains; ++k) {
    x[k] = Lane{} + term * static_cast<T>(k);
  }
  for (std::int32_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 10
    for (int k = 0; k < kChains; ++k) {
      x[k] = x[k] * factor + term;  // contracted: see CMakeLists.txt
    }
  }
  T sum = 0;
  for (const Lane& lane : x) {
    for (int i = 0; i < static_cast<int>(sizeof(Lane) / sizeof(T)); ++i) {
      sum += lane[i];
    }
  }
  return sum;
}

#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx2,fma")]] T ChainsAvx2(std::int32_t rounds, T factor, T term) {
  return Chains<T, VectorBytes::kAvx2>(rounds, factor, term);
}
template <typename T>
[[gnu::target("avx512f,avx2,fma")]] T ChainsAvx512(std::int32_t rounds, T factor, T term) {
  return Chains<T, VectorBytes::kAvx512>(rounds, factor, term);
}
#endif

template <typename T>
T RunChains(std::int32_t rounds, T factor, T term) {
  switch (WidestVector()) {
#if defined(__x86_64__)
    case VectorBytes::kAvx512:
      return ChainsAvx512(rounds, factor, term);
    case VectorBytes::kAvx2:
      return ChainsAvx2(rounds, factor, term);
#endif
    default:
      return Chains<T, VectorBytes::kPlain>(rounds, factor, term);
  }
}

}  // namespace

void CopyOnAllCores(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t part = (bytes + Cores() - 1) / Cores();
  OnAllCores([=](std::size_t core) {
    const std::size_t begin = std::min(bytes, core * part);
    std::memcpy(to + begin, from + begin, std::min(part, bytes - begin));
  });
}

void MultiplyAddOnAllCores(DType dtype, std::int32_t rounds) {
  OnAllCores([=](std::size_t) {
    // Kept alive, so that the chains are.
    [[maybe_unused]] volatile double sink =
        dtype == DType::kFloat64 ? RunChains(rounds, 0.999, 0.001)
                                 : static_cast<double>(RunChains(rounds, 0.999F, 0.001F));
  });
}

double MultiplyAddFlopsPerRound(DType dtype) {
  const int lanes = static_cast<int>(WidestVector()) / (dtype == DType::kFloat64 ? 8 : 4);
  return 2.0 * kChains * lanes * static_cast<double>(Cores());
}

}  // namespace reprise
