// Rules of InferResults: a function for each family of operators, in the file of that family. Which
// operator follows which rule is `result` of its row in the operator table.
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

#define RESULT_RULE(name) Results name(const CallInputs& in);
#include "core/operator_rules.def"

}  // namespace reprise::pytorch
