// Tensor and sequence parallelism (Megatron-LM): linear layers divided by columns, then by rows.
#pragma once

#include "workload/builder.h"

namespace reprise {

// Before the layer that is divided by columns. Sequence parallel: gathers the sequence; else
// nothing. Backward: reduces the gradient (sequence parallel: and scatters it).
Var EnterTensorParallel(Builder& b, const Var& x);
// After the layer that is divided by rows: the counterpart of the above.
Var LeaveTensorParallel(Builder& b, const Var& x);
// weight: this rank's rows of the vocabulary. The result is not summed yet.
Var VocabParallelEmbedding(Builder& b, Parameter& weight, const TensorDesc& ids);
// Mean loss of this rank's part of the logits (n, V / tp).
Var VocabParallelCrossEntropy(Builder& b, const Var& logits, const TensorDesc& labels);

}  // namespace reprise
