// FLOPs and bytes of recorded operations, from their arguments alone: no device, no kernel. For
// replay, surrogates, reports, benchmarks and simulators. Thread-safe.
//
// The convention, for all operators:
//  - FLOPs: a multiply-add is 2. An addition, product, division, comparison with its selection, and
//    each call of a mathematical function (exp, sqrt, pow, erf, floor) is 1. A comparison is
//    counted whatever the dtype, moving and converting elements is 0.
//  - Operations that happen once for a row or for a result (the division of a mean, the root of a
//    norm, softmax's logarithm, attention's division by the sum) are left out.
//  - Padding counts as elements (as in PyTorch's torch/utils/flop_counter.py).
//  - Bytes: each operand is read once, each result is written once: what a perfect cache would
//    move. An operand that is broadcast, or whose windows overlap, counts the elements that it
//    has in memory. What is updated in place is read and written; what is overwritten is only
//    written. Of a table, the rows that indices name count, each as often as it is named.
//  - What the arguments turn off is not counted: an addend where beta is 0, gradients that nobody
//    asks for, an average's statistics in evaluation, and the operands that only those need.
//  - Attention. A causal mask leaves the pairs of a query and a key at or before it: n (n + 1) / 2
//    of n x n. Only these count, in flops and in model_flops alike (FlashAttention's convention;
//    PaLM's and PyTorch's counters take all pairs, twice as many for long sequences). A mask that
//    is a tensor, and dropout, hide nothing: the elements are data.
//  - Attention's backward has two numbers. `flops` is what is executed: the scores are computed
//    again, five products of matrices (Dao: FlashAttention-2, section 4.1). `model_flops` is twice
//    the forward's, as model FLOP utilisation counts (Chowdhery et al.: PaLM, appendix B). For all
//    other operations both are the same.
#pragma once

#include "core/value.h"
#include "core/work_shape.h"

namespace reprise {

struct Cost {
  double flops = 0;
  double bytes = 0;
  double model_flops = flops;

  Cost& operator+=(const Cost& other) {
    flops += other.flops;
    bytes += other.bytes;
    model_flops += other.model_flops;
    return *this;
  }
};

// By the rule of the operator (`cost` of its row, core/operator_table.h), whether or not a kernel
// runs it. Of Inductor's kernels (IsFusedKernelName), each tensor counts once for each point of the
// kernel at most, and one operation a point. By EstimateCost where there is no rule or the
// arguments are none that it describes.
[[nodiscard]] Cost CostOf(const OpCall& call);

// From the operands alone: every tensor once, and one operation for each element of the largest.
// For products of matrices 2 K for each element of the result. Of a table, the rows that a lookup
// touches count, and not the whole.
[[nodiscard]] Cost EstimateCost(const OpCall& call);

// False: CostOf estimates.
[[nodiscard]] bool HasCostRule(const OpCall& call);

// Leading dimensions of A are rows of the product where B is one matrix, and batches where B has
// them too. Thread-safe.
[[nodiscard]] WorkShape WorkShapeOf(const OpCall& call);

// Operations for each element of what the operator table names with `op=`; a name that
// core/costs/formulas.def lacks is a mistake in one of these files, and gives 0.
[[nodiscard]] double FormulaFlops(std::string_view op);

}  // namespace reprise
