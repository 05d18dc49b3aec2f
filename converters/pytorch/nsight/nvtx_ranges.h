// What texts of NVTX ranges say.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converters/pytorch/nsight/nsight_tables.h"
#include "core/result.h"

namespace reprise::pytorch {

// Whether a row of NVTX_EVENTS with this eventType is a range: pushed and popped, or started and
// ended.
[[nodiscard]] bool IsNvtxRange(std::int64_t event_type);

struct NvtxRange {
  std::string_view name;  // of the text
  std::optional<std::int64_t> sequence = std::nullopt;
  bool is_operator = false;
  bool is_backward = false;  // runs for the operator with its sequence number
};
// torch.autograd.profiler.emit_nvtx writes "aten::mm, seq = 5, op_id = 12, sizes = [[2, 3], …]".
// Other programs' texts are names. Sizes have no types with them: what they say is not read.
[[nodiscard]] NvtxRange ParseNvtxRange(std::string_view text);

// "Step 12", "train_step", "iteration=3" → the number, where there is one: such ranges count steps.
// Nothing: another text. "forward_step" and "optimizer.step" are parts of one.
struct StepText {
  std::string stem;  // "train_step"
  std::optional<std::int64_t> number;
};
[[nodiscard]] std::optional<StepText> ParseStepText(std::string_view text);

struct FoundStep {
  std::int64_t start_ns = 0, end_ns = 0, number = 0;
};
struct FoundSteps {
  std::string stem;
  std::int64_t thread = 0;
  std::vector<FoundStep> steps;  // in time; none: no range counts steps
};
// Which of the ranges of one process are its steps: of all that look like it, those of the stem and
// thread that take most time together, if they do not overlap. None where the profiler's own
// ("ProfilerStep#1") are there. Those without a number count from 0.
class StepFinder {
 public:
  void Add(std::string_view text, std::int64_t thread, std::int64_t start_ns, std::int64_t end_ns);
  [[nodiscard]] FoundSteps Find();

 private:
  struct Span {
    std::int64_t start_ns = 0, end_ns = 0;
    std::optional<std::int64_t> number;
  };
  static std::optional<std::int64_t> TimeOf(std::vector<Span>& spans);

  std::map<std::pair<std::int64_t, std::string>, std::vector<Span>> candidates_;  // thread, stem
  bool has_profiler_steps_ = false;
};

// The steps of one process of an export.
class StepRanges {
 public:
  // The number of the step that this range is; nothing: it is none.
  [[nodiscard]] std::optional<std::int64_t> NumberOf(std::string_view text, std::int64_t thread,
                                                     std::int64_t start_ns) const;

 private:
  friend Result<StepRanges> FindStepRanges(NsightTables& tables, const std::string& threads);
  std::string stem_;
  std::int64_t thread_ = 0;
  std::map<std::int64_t, std::int64_t> numbers_;  // by start
};
// `threads`: a condition of SQL, empty for all.
[[nodiscard]] Result<StepRanges> FindStepRanges(NsightTables& tables, const std::string& threads);

}  // namespace reprise::pytorch
