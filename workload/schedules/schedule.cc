#include "workload/schedules/schedule.h"

#include <fmt/format.h>

namespace reprise {

const KindRegistry<PipelineSchedule>& BuiltinSchedules() {
  static const KindRegistry<PipelineSchedule> builtin = [] {
    KindRegistry<PipelineSchedule> all;
#define SCHEDULE(name) all.push_back(Make##name());
#include "workload/schedules.def"
#undef SCHEDULE
    return all;
  }();
  return builtin;
}

const PipelineSchedule* FindSchedule(std::string_view name) {
  return FindByName(BuiltinSchedules(), name);
}

Status PipelineSchedule::Check(const Workload& workload) const {
  if (workload.virtual_stages != 1) {
    return BadInput(fmt::format(
        "schedule \"{}\" has one chunk of layers a stage, not {}; \"interleaved:{}\" has several",
        name(), workload.virtual_stages, workload.virtual_stages));
  }
  return {};
}

}  // namespace reprise
