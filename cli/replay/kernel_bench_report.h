// How `reprise bench kernels` is asked for and what it says, apart from the flags and stdout.
#pragma once

#include <string>
#include <vector>

#include "core/json_fields.h"
#include "core/result.h"
#include "kernels/bench/kernel_bench.h"

namespace reprise {

// "float32,bfloat16"; usage error for what is no floating type.
[[nodiscard]] Result<std::vector<DType>> ParseFloatingTypes(const std::string& text);

// What --list prints.
[[nodiscard]] Json KernelBenchListJson(const std::vector<KernelBenchCase>& cases);
[[nodiscard]] std::string KernelBenchListText(const std::vector<KernelBenchCase>& cases);

[[nodiscard]] Json KernelBenchJson(const DeviceInfo& device, const KernelBenchOptions& options,
                                   const KernelBenchResult& result);
[[nodiscard]] std::string KernelBenchText(const DeviceInfo& device,
                                          const KernelBenchOptions& options,
                                          const KernelBenchResult& result);

}  // namespace reprise
