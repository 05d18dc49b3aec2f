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

// Takes ranks in any number of parts. Of a device that one rank uses nothing is kept between parts;
// what ran on others is kept until the last of their ranks has come.
class EnergyAttributor {
 public:
  // Of all ranks; must outlive it. `rank_rows` name the hosts; `rows` are SummarizeSamples's, whose
  // in_total says which meters count.
  EnergyAttributor(std::span<const MeasuredRank> outline, std::span<const RankRow> rank_rows,
                   std::span<const EnergyRow> rows);

  // Each rank once; ranks of one host in order.
  void Add(const MeasuredRun& part);
  // Nothing where no meter counts.
  [[nodiscard]] std::optional<EnergyAttribution> Finish();

 private:
  // A metered device of a host, or for no name the host itself, and what ran on it.
  struct Device {
    std::vector<const RunMeter*> meters;
    std::size_t users_to_come = 0;
    std::vector<Interval> times;
    std::vector<EnergyUser> users;                // parallel to times
    std::vector<double> modelled_joules;          // likewise; empty where no model says them
    std::vector<MeterRemainder> of_no_operation;  // by meter, once all has come
  };
  struct Host {
    const HostMeters* meters = nullptr;
    std::size_t ranks_to_come = 0;
    std::map<std::string, Device> devices;
  };

  void AddRank(const MeasuredRun& part, std::size_t r, Host& host);
  // What the rank ran on the device.
  void AddLoad(const MeasuredRun& part, std::size_t r, const HostMeters& host,
               const std::string& name, Device& device);
  void Split(Device& device);
  void Finish(Host& host);
  void AddMeter(const HostMeters& host, const RunMeter& meter, const MeterRemainder& remainder,
                HostEnergyRow& host_row);
  template <typename Member>
  [[nodiscard]] std::optional<double> Sum(Member MeterEnergyRow::*member) const;
  void Total();
  void AddSteps();
  [[nodiscard]] std::optional<StepAmount> PerJoule(std::optional<StepAmount> amount) const;

  std::span<const MeasuredRank> outline_;
  EnergyUses uses_;
  std::vector<HostMeters> meters_;
  std::vector<Host> hosts_;                                        // parallel to meters_
  std::vector<std::size_t> host_of_;                               // by position of the rank
  std::map<std::pair<std::int32_t, std::int32_t>, double> steps_;  // by iteration and step
  EnergyAttribution out_;
};

// What the ranks' tokens or samples of a step add up to, not yet per joule. Nothing where no rank
// has them.
[[nodiscard]] std::optional<StepAmount> InferTokens(std::span<const MeasuredRank> ranks);
[[nodiscard]] std::optional<StepAmount> InferSamples(std::span<const MeasuredRank> ranks);

}  // namespace reprise
