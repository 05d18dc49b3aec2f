// Products on NVIDIA's tensor cores (gemm_mma.cl), as gemm_launch.cc chooses them.
#pragma once

#include <optional>
#include <string>

#include "kernels/ops/products/gemm_launch.h"

namespace reprise {

// DeviceInfo::compute_capability of the first whose tensor cores have what mma_ptx.cl uses.
inline constexpr int kMmaCapability = 80;

// Options of gemm_mma.cl that run it on any device, for tests: slowly, and not optimised, because
// compiling takes longer still.
inline constexpr const char* kMmaEmulated = " -DMMA_EMULATED -cl-opt-disable";

// The launch, if the device has tensor cores that work and the product suits them: A and B plain
// matrices of one type, row-major or column-major, neither side of D below 16; float32 only where
// the device's tuning allows TF32.
[[nodiscard]] std::optional<DeviceKernel> MmaLaunch(const GemmProblem& problem,
                                                    const DeviceInfo& device);

// Runs two small products with exact results through `device`, as if it had tensor cores. An error
// if the program does not compile or a result is wrong. `options` are added to the program's.
[[nodiscard]] Status CheckTensorCores(Device& device, const std::string& options = "");
// Whether the device has tensor cores that pass this check; a warning says where they do not.
[[nodiscard]] bool TensorCoresWork(Device& device);

}  // namespace reprise
