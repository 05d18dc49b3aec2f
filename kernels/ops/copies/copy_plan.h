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

// Of operators that only move elements within a tensor, for PlanCopy: copy_moves.cc has
// flip(self, dims) and roll(self, shifts, dims),
[[nodiscard]] std::optional<CopyPlan> PlanFlip(const OpCall& call);
[[nodiscard]] std::optional<CopyPlan> PlanRoll(const OpCall& call);
// copy_shuffles.cc pixel_shuffle(self, upscale_factor), pixel_unshuffle(self, downscale_factor) and
// channel_shuffle(self, groups).
[[nodiscard]] std::optional<CopyPlan> PlanPixelShuffle(const OpCall& call);
[[nodiscard]] std::optional<CopyPlan> PlanChannelShuffle(const OpCall& call);

}  // namespace reprise
