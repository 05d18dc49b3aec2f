// Whether this process computes with denormal numbers (smaller than the smallest normal one).
#pragma once

namespace reprise {

// From now on this thread, and the threads that it or they start, take denormal operands as zero
// and make zeros of denormal results. Call it before anything else starts threads. False, and
// nothing done, on processors where this is not known how to do (known: x86-64, AArch64).
[[nodiscard]] bool FlushDenormals();

// FlushDenormals() was called, and did it. What compiles programs for a device asks for the same.
[[nodiscard]] bool FlushesDenormals();

}  // namespace reprise
