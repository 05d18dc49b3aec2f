// Which meters count, and whose operations they measure. Only report/ sees this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/energy/power_curve.h"
#include "report/nodes/measured.h"
#include "report/values/energy_values.h"
#include "report/values/rank_values.h"

namespace reprise {

// One meter over the time that the rank which samples it measured.
struct RunMeter {
  const Metric* metric = nullptr;
  PowerCurve curve;
  std::optional<std::int64_t> update_ns;  // UpdateIntervalNs
  std::optional<double> idle_watts;       // mean before the run, where the run has such a window
  std::string device;                     // metered compute device; empty: the host's own
  std::vector<std::size_t> users;         // positions of the ranks that use it
  std::int64_t devices = 1;               // as EnergyRow::devices
};

struct HostMeters {
  std::string host;
  std::vector<std::size_t> ranks;  // positions of the host's ranks
  std::vector<RunMeter> meters;    // none: nothing samples here, or too seldom
};

// `rows` are SummarizeSamples's: their in_total says what counts. By host, in the order of ranks.
[[nodiscard]] std::vector<HostMeters> FindMeters(std::span<const MeasuredRank> ranks,
                                                 std::span<const RankRow> rank_rows,
                                                 std::span<const EnergyRow> rows);

// The ranks among `candidates` (positions) that compute on the device of a metric; nothing where it
// is the host's own and no device that computes.
[[nodiscard]] std::optional<std::vector<std::size_t>> RanksOnDevice(
    const Metric& metric, const RankData& sampled_by, std::span<const MeasuredRank> ranks,
    const std::vector<std::size_t>& candidates);

// The numbers of these ranks; none where RanksOnDevice has nothing.
[[nodiscard]] std::vector<std::int32_t> UsersOf(const Metric& metric, const RankData& sampled_by,
                                                std::span<const MeasuredRank> ranks,
                                                const std::vector<std::size_t>& candidates);

// Positions of the ranks that run on a host.
[[nodiscard]] std::vector<std::size_t> RanksOfHost(std::span<const RankRow> rows,
                                                   const std::string& host);

// Whether the rank at this position computes on its host's processors: on no device with a meter or
// a PCI address of its own.
[[nodiscard]] bool ComputesOnHost(std::size_t rank, const RankData& data, const HostMeters& host);

}  // namespace reprise
