// The order of a stage's passes. One file and one line of workload/schedules.def each.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "workload/description.h"

namespace reprise {

// A pass of one micro-batch through one of the stage's chunks of layers.
struct Pass {
  bool forward = true;
  std::int64_t chunk = 0;  // of the stage: 0 … virtual stages − 1
  std::int64_t batch = 0;
  bool operator==(const Pass&) const = default;
};

class PipelineSchedule {
 public:
  virtual ~PipelineSchedule() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view help() const = 0;
  // Bad input: the rule that is broken and what works.
  [[nodiscard]] virtual Status Check(const Workload& workload) const = 0;
  // Every chunk's forward pass of every micro-batch once, and its backward pass after it.
  [[nodiscard]] virtual std::vector<Pass> PassesOf(std::int64_t stage, std::int64_t stages,
                                                   std::int64_t batches,
                                                   std::int64_t chunks) const = 0;
};

[[nodiscard]] const std::vector<std::unique_ptr<PipelineSchedule>>& BuiltinSchedules();
// Null: none of that name.
[[nodiscard]] const PipelineSchedule* FindSchedule(std::string_view name);
#define SCHEDULE(name) [[nodiscard]] std::unique_ptr<PipelineSchedule> Make##name();
#include "workload/schedules.def"
#undef SCHEDULE

// The rule of schedules without virtual stages.
[[nodiscard]] Status CheckOneChunk(std::string_view schedule, const Workload& workload);

}  // namespace reprise
