// Tensor and sequence parallelism (Megatron-LM): linear layers divided by columns, then by rows.
#pragma once

#include "predict/workload/builder.h"

namespace reprise {

// Overlap "tp" is that of Transformer Engine (transformer_engine/pytorch/module/base.py,
// initialize_ub), which Megatron-LM's --tp-comm-overlap turns on and which needs sequence
// parallelism. A gather before a product, or a scatter after it, is divided into parts, and the
// product into as many; part c's product runs beside part c + 1's transfer. Backward, the layer's
// input is gathered again beside the product for its gradient, and the weight's gradient is
// computed beside the scatter. Transformer Engine gathers by sends round a ring; here parts are
// collectives of the same bytes, which all ranks of a class write alike.

// Before the layer that is divided by columns. Sequence parallel: gathers the sequence; else
// nothing. Backward: reduces the gradient (sequence parallel: and scatters it). `linear`: a linear
// layer takes the result, before anything else does.
Var EnterTensorParallel(Builder& b, const Var& x, bool linear = false);
// After the layer that is divided by rows: the counterpart of the above.
Var LeaveTensorParallel(Builder& b, const Var& x);
// What these do without sequence parallelism. The first: x, whose gradient is summed, `async`
// beside deferred work. The second: the sum of all ranks' x, in its place.
Var CopyToTensorParallel(Builder& b, const Var& x, bool async = false);
Var SumTensorParallel(Builder& b, const Var& x);
// The layer that is divided by rows, and LeaveTensorParallel.
Var LinearAndLeave(Builder& b, const Var& x, Parameter& weight);
// weight: this rank's rows of the vocabulary. The result is not summed yet.
Var VocabParallelEmbedding(Builder& b, Parameter& weight, const TensorDesc& ids);
// Mean loss of this rank's part of the logits (n, V / tp).
Var VocabParallelCrossEntropy(Builder& b, const Var& logits, const TensorDesc& labels);

}  // namespace reprise
