// Which experts a token takes, and how much of each.
#pragma once

#include "predict/workload/builder.h"

namespace reprise {

// What each chosen expert's result is multiplied by (tokens, top_k), from the router's logits
// (tokens, experts). `chosen`: the experts' numbers.
Var Gates(Builder& b, const Var& logits, TensorDesc& chosen);

}  // namespace reprise
