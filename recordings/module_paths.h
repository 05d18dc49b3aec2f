// Where in a model each operation was called, by the ranges around its call: modules that a
// profiler recorded (with_modules or with_stack), and what the program marked itself.
#pragma once

#include <vector>

#include "et_schema/graph.h"
#include "recordings/recording.h"

namespace reprise {

// Sets RecordedOperation::module of operations called on a thread.
void FillModulePaths(const Graph& graph, std::vector<RecordedOperation>& operations);

// "nn.Module: Linear_3" → "Linear_3"; other names stay.
[[nodiscard]] std::string_view ModuleNameOf(std::string_view range);

}  // namespace reprise
