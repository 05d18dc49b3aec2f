#include "workload/schedules/schedule.h"

#include <fmt/format.h>

namespace reprise {

const std::vector<std::unique_ptr<PipelineSchedule>>& BuiltinSchedules() {
  static const std::vector<std::unique_ptr<PipelineSchedule>> builtin = [] {
    std::vector<std::unique_ptr<PipelineSchedule>> all;
#define SCHEDULE(name) all.push_back(Make##name());
#include "workload/schedules.def"
#undef SCHEDULE
    return all;
  }();
  return builtin;
}

const PipelineSchedule* FindSchedule(std::string_view name) {
  for (const auto& schedule : BuiltinSchedules()) {
    if (schedule->name() == name) {
      return schedule.get();
    }
  }
  return nullptr;
}

Status CheckOneChunk(std::string_view schedule, const Workload& workload) {
  if (workload.virtual_stages != 1) {
    return BadInput(fmt::format(
        "schedule \"{}\" has one chunk of layers a stage, not {}; \"interleaved:{}\" has several",
        schedule, workload.virtual_stages, workload.virtual_stages));
  }
  return {};
}

}  // namespace reprise
