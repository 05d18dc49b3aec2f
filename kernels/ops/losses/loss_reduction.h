// PyTorch's `reduction` argument of losses (torch/nn/_reduction.py).
#pragma once

#include <cstdint>

namespace reprise {

inline constexpr std::int32_t kReduceNone = 0;
inline constexpr std::int32_t kReduceMean = 1;
inline constexpr std::int32_t kReduceSum = 2;

}  // namespace reprise
