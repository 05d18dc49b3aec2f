// The ranges that a program marked.
#include <algorithm>
#include <string_view>

#include "converters/pytorch/rank/stages.h"

namespace reprise::pytorch {
namespace {

// Kineto of 1.11 and before tells annotations from operators as little as a category "Operator"
// does; the host trace's scope does.
bool IsRange(const RankCapture& rank, const Operation& op) {
  constexpr std::string_view kStepPrefix = "ProfilerStep#";
  const HostNode* host = rank.HostOf(op);
  const bool user = op.annotation || (host != nullptr && host->scope == Scope::kUser);
  return user && !op.transfer && !op.name->starts_with(kStepPrefix);
}

// `item`: a call of the thread.
void AddRange(const RankCapture& rank, const OperationThread& thread, const auto& item,
              std::vector<Range>& ranges) {
  ranges.push_back({.name = *item.name,
                    .thread = thread.number,
                    .start_ns = item.start_ns - rank.base_ns,
                    .duration_ns = item.end_ns - item.start_ns,
                    .step = rank.StepAt(item.start_ns)});
}

// Modules within what is kept of a thread. Names longer than files hold are a model's mistake.
void AddModules(const RankCapture& rank, const OperationThread& thread,
                std::vector<Range>& ranges) {
  if (thread.first == thread.last) {
    return;
  }
  const std::int64_t first_ns = rank.Op(thread.first).start_ns;
  std::int64_t last_ns = first_ns;
  for (std::int32_t i = thread.first; i < thread.last; ++i) {
    last_ns = std::max(last_ns, rank.Op(i).end_ns);
  }
  for (const ModuleCall& call : rank.kineto.modules) {
    if (call.thread == thread.kineto_id && call.end_ns > first_ns && call.start_ns < last_ns &&
        call.name->size() <= kLongestRangeName) {
      AddRange(rank, thread, call, ranges);
    }
  }
}

void KeepFirstRanges(RankCapture& rank, std::size_t most, std::vector<Range>& ranges) {
  if (ranges.size() > most) {
    rank.diagnostics.Count("range_left_out", rank.label + ": " + ranges[most].name,
                           ranges.size() - most);
    ranges.resize(most);
  }
}

}  // namespace

std::vector<Range> FindRanges(RankCapture& rank, std::size_t most) {
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
        rank.diagnostics.Count("range_left_out", rank.label + ": a name of over 1,024 bytes");
        continue;
      }
      AddRange(rank, thread, op, ranges);
    }
  }
  const std::size_t marked = ranges.size();
  for (const OperationThread& thread : rank.list.threads) {
    AddModules(rank, thread, ranges);
  }
  if (marked < most) {  // what the program marked itself comes first
    KeepFirstRanges(rank, most, ranges);
  }
  std::stable_sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  });
  KeepFirstRanges(rank, most, ranges);
  return ranges;
}

}  // namespace reprise::pytorch
