#include "converters/pytorch/rank/marked_ranges.h"

#include <algorithm>
#include <string_view>

namespace reprise::pytorch {
namespace {

// Kineto of 1.11 and before tells annotations from operators as little as a category "Operator"
// does; the host trace's scope does.
bool IsRange(const RankCapture& rank, const Operation& op) {
  constexpr std::string_view kStepPrefix = "ProfilerStep#";
  const bool user =
      op.annotation ||
      (op.host >= 0 && rank.host.nodes[static_cast<std::size_t>(op.host)].scope == Scope::kUser);
  return user && !op.transfer && !op.name->starts_with(kStepPrefix);
}

std::int32_t StepAt(const RankCapture& rank, std::int64_t start_ns) {
  std::int32_t step = 0;
  for (std::size_t i = 0; i < rank.steps.size(); ++i) {
    step = rank.steps[i].start_ns <= start_ns ? static_cast<std::int32_t>(i) : step;
  }
  return step;
}

// Modules within what is kept of a thread. Names longer than files hold are a model's mistake.
void AddModules(const RankCapture& rank, const OperationThread& thread,
                std::vector<Range>& ranges) {
  if (thread.first == thread.last) {
    return;
  }
  const auto& operations = rank.list.operations;
  const std::int64_t first_ns = operations[static_cast<std::size_t>(thread.first)].start_ns;
  std::int64_t last_ns = first_ns;
  for (std::int32_t i = thread.first; i < thread.last; ++i) {
    last_ns = std::max(last_ns, operations[static_cast<std::size_t>(i)].end_ns);
  }
  for (const ModuleCall& call : rank.kineto.modules) {
    if (call.thread == thread.kineto_id && call.end_ns > first_ns && call.start_ns < last_ns &&
        call.name->size() <= kLongestRangeName) {
      const std::int64_t start_ns = call.start_ns - rank.base_ns;
      ranges.push_back({.name = *call.name,
                        .thread = thread.number,
                        .start_ns = start_ns,
                        .duration_ns = call.end_ns - call.start_ns,
                        .step = StepAt(rank, start_ns)});
    }
  }
}

}  // namespace

std::vector<Range> FindRanges(const RankCapture& rank, Diagnostics& diagnostics, std::size_t most) {
  std::vector<Range> ranges;
  if (rank.kineto.untimed) {
    return ranges;
  }
  for (const OperationThread& thread : rank.list.threads) {
    for (std::int32_t i = thread.first; i < thread.last; ++i) {
      const Operation& op = rank.Op(i);
      if (!IsRange(rank, op)) {
        continue;
      }
      if (op.name->size() > kLongestRangeName) {
        diagnostics.Count("range_left_out", rank.label + ": a name of over 1,024 bytes");
        continue;
      }
      const std::int64_t start_ns = op.start_ns - rank.base_ns;
      ranges.push_back({.name = *op.name,
                        .thread = thread.number,
                        .start_ns = start_ns,
                        .duration_ns = op.end_ns - op.start_ns,
                        .step = StepAt(rank, start_ns)});
    }
  }
  const std::size_t marked = ranges.size();
  for (const OperationThread& thread : rank.list.threads) {
    AddModules(rank, thread, ranges);
  }
  if (ranges.size() > most && marked < most) {  // what the program marked itself comes first
    diagnostics.Count("range_left_out", rank.label + ": " + ranges[most].name,
                      ranges.size() - most);
    ranges.resize(most);
  }
  std::stable_sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  });
  if (ranges.size() > most) {
    diagnostics.Count("range_left_out", rank.label + ": " + ranges[most].name,
                      ranges.size() - most);
    ranges.resize(most);
  }
  return ranges;
}

}  // namespace reprise::pytorch
