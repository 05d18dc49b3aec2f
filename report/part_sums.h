// Consumes the nodes of a run, part by part. Only report/ sees this.
#pragma once

#include <cstdint>
#include <optional>

#include "report/classes/class_sums.h"
#include "report/classes/shape_sums.h"
#include "report/energy/energy_attributor.h"
#include "report/energy/throttling.h"
#include "report/fidelity/fidelity_examination.h"
#include "report/nodes/measured_run.h"
#include "report/page/html_data.h"
#include "report/page/html_steps.h"
#include "report/page/html_telemetry.h"
#include "report/values/report.h"

namespace reprise {

// What one rank's nodes say by themselves.
struct RankSums {
  std::vector<NodeErrorSums::Node> errors;
  TopDifferences top_differences;
  ClassSums<OpClass> classes;
  ClassSums<Phase> phases;
  ShapeSums shapes;
  WorkTimes work;
  StepClassSums steps;                  // for the page
  TelemetryReduction::Running running;  // likewise
};

// What is found of a part without those before it.
struct FoundOfPart {
  std::vector<std::optional<RankSums>> ranks;  // parallel to MeasuredRun::ranks
  PartTimes times;
};

class PartSums {
 public:
  // `report`, to be filled, has the ranks' rows and the energy already; all must outlive it.
  // `page`: the limits of what Finish returns, where it is asked for.
  PartSums(const MeasuredRun& outline, const std::optional<HtmlLimits>& page, Report& report);

  // Of several parts at once, each rank once.
  [[nodiscard]] FoundOfPart Find(const MeasuredRun& part);
  // Parts in order; ranks of one host in order. What comes of them does not depend on the parts.
  void Add(const MeasuredRun& part, FoundOfPart found);
  // After the last part, once. What the page shows, where it was asked for.
  [[nodiscard]] std::optional<PageDetails> Finish();

  [[nodiscard]] const WorkTimes& work() const { return work_; }
  // Nodes that were planned to run and have no record.
  [[nodiscard]] std::int64_t never_ran() const { return never_ran_; }

 private:
  [[nodiscard]] RankSums SumsOf(const MeasuredRun& part, std::size_t r);
  void Add(RankSums sums);

  std::optional<HtmlLimits> page_;
  Report& report_;
  FidelityExamination fidelity_;
  EnergyAttributor energy_;
  ThermalExamination thermal_;
  ClassSums<OpClass> classes_{&NodeInfo::op_class};
  ClassSums<Phase> phases_{&NodeInfo::phase};
  ShapeSums shapes_;
  WorkTimes work_;
  StepClassSums steps_;
  std::optional<TelemetryReduction> telemetry_;  // for the page
  std::optional<StragglerSums> stragglers_;      // likewise
  std::int64_t never_ran_ = 0;
};

}  // namespace reprise
