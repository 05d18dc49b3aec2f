// PTX of the OpenCL C programs (kernels/ops/*.cl), by a clang of this machine and its libclc.
// NVIDIA's driver makes machine code of PTX.
#pragma once

#include <string>

#include "core/result.h"

namespace reprise {

// The one of two versions of PTX that suits devices of a compute capability, 80 for 8.0.
[[nodiscard]] int PtxTarget(int compute_capability);

// A program of kernels/ops. Its first line says what it was made of: "// reprise: PROGRAM OPTIONS".
// `options`: as for an OpenCL compiler. Environment error where there is no clang or no libclc, or
// the program does not compile: with the compiler's words.
[[nodiscard]] Result<std::string> CompileToPtx(const std::string& program,
                                               const std::string& options, int target);
// Where a DiskCache has it.
[[nodiscard]] Result<std::string> PtxKey(const std::string& program, const std::string& options,
                                         int target);

}  // namespace reprise
