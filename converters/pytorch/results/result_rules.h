// Rules of InferResults: a function for each family of operators, in the file of that family. Which
// operator follows which rule is the column `result` of core/operators.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "converters/pytorch/results/infer_results.h"
#include "core/value.h"

namespace reprise::pytorch {

using Results = std::optional<ValueList>;
using ResultRule = Results (*)(const CallInputs& in);

// One result of an operator with `arity` arguments; one argument more is the out= tensor, which is
// then the result if its shape needed no change. Nothing if `result` is nothing.
[[nodiscard]] Results One(const CallInputs& in, std::size_t arity,
                          std::optional<TensorDesc> result);
// Several; none of these operators is used with out=.
[[nodiscard]] Results Several(std::initializer_list<std::optional<TensorDesc>> results);
// `mask` has a boolean for each result: None where it is false. Nothing if a result that it asks
// for is unknown.
[[nodiscard]] Results Masked(const std::optional<std::vector<std::int64_t>>& mask,
                             std::initializer_list<std::optional<TensorDesc>> results);

// All rules that the table names, and its word None, which is no function.
#define OPERATOR(name, op_class, kind, kernels, arguments, cost, result, bounds, signature) \
  Results result(const CallInputs& in);
#include "core/operators.def"
#undef OPERATOR

}  // namespace reprise::pytorch
