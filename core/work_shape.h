// The sizes of a product or an attention that a device's rate depends on, from the call's
// arguments (core/costs/cost.h).
#pragma once

#include <cstdint>

#include "core/enum_names.h"

namespace reprise {

enum class WorkShapeKind : std::uint8_t {
  kNone,               // neither, or the arguments do not say
  kProduct,            // `batch` times D (m x n) = A (m x k) B (k x n)
  kAttention,          // of `batch` sequences and heads: m queries, n keys, k the head's size
  kAttentionBackward,  // the same
};
REPRISE_NAMES(WorkShapeKind, "none", "product", "attention", "attention_backward");

// Four bytes each: there is one for every operation of a simulated set.
struct WorkShape {
  WorkShapeKind kind = WorkShapeKind::kNone;
  float m = 0, n = 0, k = 0, batch = 0;
  bool operator==(const WorkShape&) const = default;
};

}  // namespace reprise
