// Consumes the nodes of a run, part by part. Only report/ sees this.
#pragma once

#include <cstdint>
#include <optional>

#include "report/energy/energy_attributor.h"
#include "report/energy/throttling.h"
#include "report/nodes/measured_run.h"
#include "report/page/html_data.h"
#include "report/page/html_telemetry.h"
#include "report/rank_sums.h"
#include "report/values/report.h"

namespace reprise {

// What is found of a rank without those before it. Of its times as replayed, those of transfers
// are in it, too.
struct FoundOfRank {
  RankSums sums;
  TelemetryReduction::Running running;  // for the page
};
struct FoundOfPart {
  std::vector<std::optional<FoundOfRank>> ranks;  // parallel to MeasuredRun::ranks
  PartTimes times;                                // of all of them together
};

class PartSums {
 public:
  // `report`, to be filled, has the ranks' rows and the energy already; all must outlive it.
  // `page`: the limits of what Finish returns, where it is asked for.
  PartSums(const MeasuredRun& outline, const std::optional<HtmlLimits>& page, Report& report);

  // Of a run that is in memory.
  [[nodiscard]] FoundOfPart Find(const MeasuredRun& run) const;
  // Of one rank by itself; of several at once.
  [[nodiscard]] RankSums SumsOf(const MeasuredRank& rank) const;
  // Of a part that is one rank, of which `sums` are. They may have been found before: of its nodes
  // and records, those of transfers must be there, and all on hosts that are sampled. Of several
  // at once.
  [[nodiscard]] FoundOfPart Find(const MeasuredRun& part, RankSums sums) const;
  // Nothing: no iteration was finished on every rank.
  [[nodiscard]] const std::optional<MedianPass>& pass() const { return fidelity_.pass(); }
  // Parts in order; ranks of one host in order. What comes of them does not depend on the parts.
  void Add(const MeasuredRun& part, FoundOfPart found);
  // After the last part, once. What the page shows, where it was asked for.
  [[nodiscard]] std::optional<PageDetails> Finish();

  [[nodiscard]] const WorkTimes& work() const { return work_; }
  // Nodes that were planned to run and have no record.
  [[nodiscard]] std::int64_t never_ran() const { return never_ran_; }

 private:
  [[nodiscard]] FoundOfRank WithTransfers(const MeasuredRun& part, std::size_t r,
                                          RankSums sums) const;
  void Add(FoundOfRank found, RankRow& row);

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
