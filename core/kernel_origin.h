// How a run says whose kernels its operations ran as: versions["device_kernels"] of its manifest.
#pragma once

#include <string_view>

namespace reprise {

// Its text begins so where they are Reprise's own: their times are not the original's.
inline constexpr std::string_view kOwnKernelsPrefix = "Reprise's own";

}  // namespace reprise
