// The order of a pipeline stage's passes: one row of predict/workload/schedule.cc each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "predict/workload/description.h"

namespace reprise {

// A pass of one micro-batch through one of the stage's chunks of layers.
struct Pass {
  bool forward = true;
  std::int64_t chunk = 0;  // of the stage: 0 … virtual stages − 1
  std::int64_t batch = 0;
  // Backward: gradients of matrices, which the backward pass of the same micro-batch left out.
  bool of_weights = false;
  // Backward, and such a pass follows.
  bool leaves_weights = false;
  bool operator==(const Pass&) const = default;
};

struct PipelineSchedule {
  std::string_view name, help;
  // Once the pipeline is full, a backward pass follows each forward pass, so that no more
  // micro-batches are under way in a job of many than in one of few.
  bool alternates = false;
  // Bad input: the rule that is broken and what works.
  Status (*check)(const Workload& workload);
  // Every chunk's forward pass of every micro-batch once, its backward pass after it, and, if that
  // leaves weights, one of weights after that.
  std::vector<Pass> (*passes)(std::int64_t stage, std::int64_t stages, std::int64_t batches,
                              std::int64_t chunks);
  // Two chunks a stage: the first of the first stage begins the model, the second one ends it, and
  // the last stage has both in the middle.
  bool v_shaped = false;
};
// What passes are called in a trace's ranges.
inline constexpr std::string_view kForwardPass = "forward", kBackwardPass = "backward",
                                  kWeightsPass = "backward of weights";

// A stage's passes that come again with more micro-batches, in a job of few. Before them are as
// many that do the same.
struct RepeatedPasses {
  std::int64_t batches = 0;       // of the job of few
  std::int64_t more_batches = 0;  // that each further repetition takes through the stage
  // Numbers of passes. Once a pass of the second micro-batch was made, from `earliest` on, passes
  // refer to nothing before it but what the first one made for all.
  std::size_t earliest = 0, begin = 0, end = 0;
};
// Nothing: the schedule has no such passes, or the workload fewer micro-batches.
[[nodiscard]] std::optional<RepeatedPasses> RepeatedPassesOf(const Workload& workload,
                                                             std::int64_t stage);

[[nodiscard]] std::span<const PipelineSchedule> BuiltinSchedules();
// Null: none of that name.
[[nodiscard]] const PipelineSchedule* FindSchedule(std::string_view name);
// As it is asked for: "interleaved:2".
[[nodiscard]] std::string ScheduleText(const Workload& workload);

// Chunks of layers are numbered through the model.
[[nodiscard]] std::int64_t NumberOfChunk(const Workload& workload, std::int64_t stage,
                                         std::int64_t chunk);
[[nodiscard]] std::int64_t StageOfChunk(const Workload& workload, std::int64_t number);

}  // namespace reprise
