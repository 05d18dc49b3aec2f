#include "core/denormals.h"

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace reprise {
namespace {

std::atomic<bool>& Flushed() {
  static std::atomic<bool> flushed = false;
  return flushed;
}

// The control register is a thread's own; new threads begin with their creator's.
bool SetControlRegister() {
#if defined(__x86_64__)
  // Intel 64 manual, volume 1, 10.2.3: bit 15 flushes results, bit 6 takes operands as zero.
  constexpr unsigned kFlushToZero = 1U << 15;
  constexpr unsigned kDenormalsAreZero = 1U << 6;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
  return true;
#elif defined(__aarch64__)
  // Arm Architecture Reference Manual, FPCR: bit 24 (FZ) does both, bit 19 (FZ16) for halves.
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  control |= (std::uint64_t{1} << 24) | (std::uint64_t{1} << 19);
  asm volatile("msr fpcr, %0" : : "r"(control));
  return true;
#else
  return false;
#endif
}

}  // namespace

bool FlushDenormals() {
  if (!SetControlRegister()) {
    return false;
  }
  Flushed().store(true);
  return true;
}

bool FlushesDenormals() { return Flushed().load(); }

}  // namespace reprise
