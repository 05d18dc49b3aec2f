// Copying operators as a list of strided copies.
#pragma once

#include <optional>
#include <vector>

#include "core/value.h"

namespace reprise {

struct CopyPlan {
  struct Piece {
    TensorDesc dst, src;  // views; src broadcasts to dst
  };
  std::optional<TensorDesc> fill;  // first set to `fill_value` (padding)
  Value fill_value;
  std::vector<Piece> pieces;
};

// Nothing if the operator is none of copy.cc's or its arguments are none that it describes.
[[nodiscard]] std::optional<CopyPlan> PlanCopy(const OpCall& call);

}  // namespace reprise
