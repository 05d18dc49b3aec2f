// Reductions, scans and sorts. Operations are counted for each element.
#include <algorithm>
#include <cmath>

#include "core/costs/call_meaning.h"
#include "core/costs/operands.h"
#include "core/costs/rules.h"
#include "core/costs/steps.h"
#include "core/operator_arguments.h"

namespace reprise::cost_rules {
namespace {

// Of the first argument; an out= argument behind it is a result.
std::optional<Cost> OfFirst(const OpCall& call, double flops) {
  const TensorDesc* x = call.InputTensor(0);
  return PerElement(x, flops, Bytes(x) + ResultBytes(call));
}

}  // namespace

// An addition, product or comparison; what is counted or left out is compared as well, and aminmax
// compares twice.
std::optional<Cost> Reduction(const OpCall& call) {
  const bool twice = call.name == "aten::nansum" || call.name == "aten::count_nonzero" ||
                     call.name == "aten::aminmax";
  return OfFirst(call, twice ? 2 : 1);
}

// max(self), max(self, dim), and max(self, other), which is maximum.
std::optional<Cost> Extremum(const OpCall& call) {
  const auto steps = ForEachSteps(call);
  return steps.empty() ? Reduction(call) : Elementwise(steps.front());
}

// norm(self, p, …), 2 if absent: a square, a magnitude or a comparison, and a sum; of other p a
// magnitude, a power and a sum.
std::optional<Cost> VectorNorm(const OpCall& call) {
  const double p = call.Argument(1).AsNumber<double>(2);
  const bool simple = p == 0 || p == 1 || p == 2 || std::isinf(p);
  return OfFirst(call, simple ? 2 : 3);
}

// Mean 1; difference, square, sum 3.
std::optional<Cost> Moments(const OpCall& call) { return OfFirst(call, 4); }

// Largest, difference, exponential, sum.
std::optional<Cost> LogSumExp(const OpCall& call) { return OfFirst(call, 4); }

std::optional<Cost> Scan(const OpCall& call) { return OfFirst(call, 1); }

std::optional<Cost> Bincount(const OpCall& call) {
  return PerElement(call.InputTensor(0), 1, OperandBytes(call));
}

// The comparisons of a merge sort: n log2 n for a line of n.
std::optional<Cost> Sort(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const auto dim = self == nullptr ? std::nullopt : SortDim(call);
  if (!dim) {
    return std::nullopt;
  }
  const std::int64_t n = self->shape.empty() ? 1 : self->shape[*dim];
  const double halvings = std::log2(static_cast<double>(std::max<std::int64_t>(n, 1)));
  return OfFirst(call, halvings);
}

// A comparison for each halving of n boundaries, which give n + 1 places.
std::optional<Cost> Search(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* values = places.Tensor(call, "values");
  const TensorDesc* boundaries = places.Tensor(call, "boundaries");
  if (values == nullptr || boundaries == nullptr || boundaries->shape.empty()) {
    return std::nullopt;
  }
  const auto n = static_cast<double>(boundaries->shape.back());
  return Cost{Elements(values) * std::log2(n + 1), OperandBytes(call)};
}

}  // namespace reprise::cost_rules
