// Finds ThermalDetails. Only report/ sees this.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "report/nodes/measured_run.h"
#include "report/values/rank_values.h"
#include "report/values/thermal_values.h"

namespace reprise {

// Over each sampling rank's measured time. Takes ranks in any number of parts.
class ThermalExamination {
 public:
  // Of all ranks; must outlive it. `rank_rows` name the hosts.
  ThermalExamination(std::span<const MeasuredRank> outline, std::span<const RankRow> rank_rows);
  ~ThermalExamination();

  // Each rank once.
  void Add(const MeasuredRun& part);
  [[nodiscard]] ThermalDetails Finish();

 private:
  class Throttling;
  struct Sampler;
  std::vector<std::unique_ptr<Sampler>> samplers_;
};

}  // namespace reprise
