// What the operators that select by a mask mean.
#pragma once

#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/row_lowering.h"

namespace reprise {

// A table (batch, mask's elements, width); where the mask is not zero, its rows. How many those
// are is data: `count` is the capture's.
struct MaskedCall {
  enum class Kind {
    kPositions,  // rows are where they are, as coordinates
    kRead,       // rows = table[mask]
    kWrite,      // table[mask] = rows, or += rows
    kScatter,    // table[mask] = rows in order; `count` is only how many there are to take
    kFill,       // table[mask] = one value
  } kind = Kind::kPositions;
  TensorDesc mask;                   // of as many elements as the table has rows
  TensorDesc table;                  // read, or what is written to
  const TensorDesc* self = nullptr;  // to be copied to `table` first
  TensorDesc rows;
  std::int64_t batch = 1, n = 0, count = 0, width = 1;
  bool accumulate = false;
};

// Nothing if the call is not one of them, or has indices that are no mask.
[[nodiscard]] std::optional<MaskedCall> ParseMasked(const OpCall& call);

}  // namespace reprise
