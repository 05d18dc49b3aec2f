// Finds EnergyAttribution. Only report/ sees this.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/energy/energy_meters.h"
#include "report/energy/energy_split.h"
#include "report/energy/energy_uses.h"
#include "report/energy/load.h"
#include "report/nodes/measured_run.h"
#include "report/values/energy_values.h"
#include "report/values/rank_values.h"

namespace reprise {

// Takes ranks in any number of parts; those of one host come together.
class EnergyAttributor {
 public:
  // Of all ranks; must outlive it.
  EnergyAttributor(std::span<const MeasuredRank> outline, const TransferMatches& matches);

  // `rank_rows` are the part's and name the hosts; `rows` are SummarizeSamples's, whose in_total
  // says which meters count.
  void Add(const MeasuredRun& part, std::span<const RankRow> rank_rows,
           std::span<const EnergyRow> rows);
  // Nothing where no meter counts.
  [[nodiscard]] std::optional<EnergyAttribution> Finish();

 private:
  [[nodiscard]] Load LoadOf(const HostMeters& host, const std::string& device,
                            const std::vector<std::size_t>& users) const;
  [[nodiscard]] std::vector<double> JoulesOf(const Load& load,
                                             const std::vector<const RunMeter*>& meters) const;
  void AddHost(const HostMeters& host);
  void AddDevice(const HostMeters& host, const std::string& device,
                 const std::vector<const RunMeter*>& meters, HostEnergyRow& row);
  void AddMeter(const HostMeters& host, const RunMeter& meter, const MeterRemainder& remainder,
                HostEnergyRow& host_row);
  template <typename Member>
  [[nodiscard]] std::optional<double> Sum(Member MeterEnergyRow::*member) const;
  void Total();
  void AddSteps();
  [[nodiscard]] std::optional<StepAmount> PerJoule(std::optional<StepAmount> amount) const;

  std::span<const MeasuredRank> outline_;
  EnergyUses uses_;
  std::map<std::pair<std::int32_t, std::int32_t>, double> steps_;  // by iteration and step
  EnergyAttribution out_;
  // Of the part.
  std::span<const MeasuredRank> ranks_;
  const TransferSummary* transfers_ = nullptr;
};

// What the ranks' tokens or samples of a step add up to, not yet per joule. Nothing where no rank
// has them.
[[nodiscard]] std::optional<StepAmount> InferTokens(std::span<const MeasuredRank> ranks);
[[nodiscard]] std::optional<StepAmount> InferSamples(std::span<const MeasuredRank> ranks);

}  // namespace reprise
