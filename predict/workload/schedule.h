// The order of a pipeline stage's passes: one row of predict/workload/schedule.cc each.
#pragma once

#include <cstdint>
#include <span>
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
  bool operator==(const Pass&) const = default;
};

struct PipelineSchedule {
  std::string_view name, help;
  // Once the pipeline is full, a backward pass follows each forward pass, so that no more
  // micro-batches are under way in a job of many than in one of few.
  bool alternates = false;
  // Bad input: the rule that is broken and what works.
  Status (*check)(const Workload& workload);
  // Every chunk's forward pass of every micro-batch once, and its backward pass after it.
  std::vector<Pass> (*passes)(std::int64_t stage, std::int64_t stages, std::int64_t batches,
                              std::int64_t chunks);
};

[[nodiscard]] std::span<const PipelineSchedule> BuiltinSchedules();
// Null: none of that name.
[[nodiscard]] const PipelineSchedule* FindSchedule(std::string_view name);

}  // namespace reprise
