// Low-rank adapters of linear layers (predict/workload/lora.h), and how tensor-parallel ranks share
// them: as Megatron-Bridge's ParallelLinearAdapter (megatron/bridge/peft/utils.py), which divides
// both matrices. Of a layer of n outputs and k inputs, with rank r and t ranks:
//
// | the layer is divided by | down       | behind it                   | up       | behind it | |
// columns                 | (r / t, k) | all-gather of r numbers     | (n/t, r) | | | rows | (r, k
// / t) | all-reduce of r numbers     | (n/t, r) | all-gather of n  |
//
// Backward, r numbers a token are summed in front of `up`. What the layer that is divided by
// columns takes is its own input: with sequence parallelism the gathered one, which is kept; else
// the gradient of it is summed by itself. With sequence parallelism each rank takes its part of the
// rows' result, whose gradient is gathered.
#pragma once

#include "predict/workload/builder.h"

namespace reprise {

// y and the adapter's result; y where there is no adapter. y: of the layer that is divided by
// columns, from `entered`, which EnterTensorParallel made of x.
[[nodiscard]] Var WithColumnAdapter(Builder& b, const Var& y, const Var& x, const Var& entered,
                                    const LoraAdapter& adapter);
// y: of the layer that is divided by rows, from x, behind LeaveTensorParallel.
[[nodiscard]] Var WithRowAdapter(Builder& b, const Var& y, const Var& x,
                                 const LoraAdapter& adapter);

}  // namespace reprise
