// Backward references against finite differences of the forward ones.
#pragma once

#include <utility>
#include <vector>

#include "core/value.h"

namespace reprise {

// A forward call, its backward, and which output of the backward is whose gradient.
struct GradientPair {
  OpCall forward;
  OpCall backward;
  std::vector<std::pair<TensorDesc, TensorDesc>> input_and_gradient;
  TensorDesc output_gradient;  // an input of the backward
};

// The gradient of sum(output_gradient * output) by (a part of) every input.
void ExpectGradientsAgree(const GradientPair& pair);

}  // namespace reprise
