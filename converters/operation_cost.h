// What an operation computes and moves, for traces whose readers have no table of operators.
#pragma once

#include <cstdint>
#include <functional>

#include "et_schema/node.h"

namespace reprise {

// A multiply-add counts 2; bytes are those of operands and results, each once. Negative: unknown.
struct OperationCost {
  double flops = -1;
  double bytes = -1;
};

// Of a node's operator and arguments. The converters have no table of their own: the caller brings
// one. It may take the arguments out of the node if it puts them back. Thread-safe.
using CostTable = std::function<OperationCost(Node& node)>;

// Sets num_ops and tensor_bytes of a work node that has neither, from the table or, of a copy, from
// the bytes that it moves. Both are at least 1: simulators divide by them. A null table changes
// nothing.
void AddCost(const CostTable& table, Node& node);

}  // namespace reprise
