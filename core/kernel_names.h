// What the name of a device kernel says of its work, where nothing better is known.
#pragma once

#include <string_view>

#include "core/operators.h"

namespace reprise {

// By the first row of kernel_names.def that is a part of `name`, in any case; kOther without one.
// Names may be mangled, and have template arguments.
[[nodiscard]] OpClass ClassOfKernelName(std::string_view name);

// "triton_poi_fused_add_mul_0", "triton_red_fused_sum_1", "triton_per_…": a kernel that Inductor
// made of several operators. It reads or writes each of its tensors once.
[[nodiscard]] bool IsFusedKernelName(std::string_view name);

}  // namespace reprise
