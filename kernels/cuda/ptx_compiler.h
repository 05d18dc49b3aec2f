// PTX of the OpenCL C programs (kernels/ops/*.cl), by a clang of this machine and its libclc.
// NVIDIA's driver makes machine code of PTX.
#pragma once

#include <string>

#include "core/result.h"

namespace reprise {

// `options`: as for an OpenCL compiler. `compute_capability`: 80 for 8.0. Environment error where
// there is no clang or no libclc, or the program does not compile: with the compiler's words.
[[nodiscard]] Result<std::string> CompileToPtx(const std::string& source,
                                               const std::string& options, int compute_capability);

// What is put before PTX, so that it says what it was made of.
[[nodiscard]] std::string PtxTitle(const std::string& program, const std::string& options);

}  // namespace reprise
