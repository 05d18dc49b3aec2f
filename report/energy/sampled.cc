#include "report/energy/sampled.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/sampled_energy.h"
#include "report/energy/energy_meters.h"
#include "report/energy/power_curve.h"
#include "report/energy/series.h"

namespace reprise {
namespace {

// Where an energy row comes from.
struct Meter {
  EnergyRow row;
  std::string gpu_bus_id;  // empty: not a GPU, or unknown
};

// The chip of a sensor: "amdgpu" of "amdgpu/PPT".
std::string ChipOf(const std::string& device) { return device.substr(0, device.find('/')); }

EnergyRow MakeEnergyRow(const Metric& metric, std::span<const Sample> samples,
                        const MeasuredRank& rank, const std::string& host) {
  EnergyRow row{.host = host,
                .device = metric.device,
                .metric = metric.name,
                .source = metric.source,
                .modelled = metric.modelled,
                .devices = RanksAlike(rank.data())};
  row.joules = IntegrateEnergyJoules(metric.kind, samples, rank.begin_ns(), rank.end_ns());
  row.mean_watts = row.joules / (static_cast<double>(rank.end_ns() - rank.begin_ns()) * 1e-9);
  return row;
}

std::optional<MetricRow> MakeMetricRow(const Metric& metric, std::span<const Sample> samples,
                                       const MeasuredRank& rank, const std::string& host) {
  std::vector<const Sample*> inside;
  for (const Sample& sample : samples) {
    if (sample.time_ns >= rank.begin_ns() && sample.time_ns <= rank.end_ns() &&
        !std::isnan(sample.value)) {
      inside.push_back(&sample);
    }
  }
  const bool has_mean = metric.kind != MetricKind::kState;  // bits have none
  if (inside.empty() || !has_mean || (IsTotal(metric.kind) && inside.size() < 2)) {
    return std::nullopt;
  }
  MetricRow row{.host = host,
                .device = metric.device,
                .metric = metric.name,
                .unit = metric.unit,
                .source = metric.source,
                .modelled = metric.modelled,
                .rate = IsTotal(metric.kind),
                .update_ns = UpdateIntervalNs(samples),
                .devices = RanksAlike(rank.data())};
  if (IsTotal(metric.kind)) {
    const double seconds =
        static_cast<double>(inside.back()->time_ns - inside.front()->time_ns) * 1e-9;
    row.mean = seconds > 0 ? (inside.back()->value - inside.front()->value) / seconds : 0;
    row.min = row.max = row.mean;
    return row;
  }
  row.min = row.max = inside.front()->value;
  for (const Sample* sample : inside) {
    row.min = std::min(row.min, sample->value);
    row.max = std::max(row.max, sample->value);
    row.mean += sample->value / static_cast<double>(inside.size());
  }
  return row;
}

// Of the metrics of one chip or device the highest counts: its counter, else power, else its mean.
int Preference(const std::string& metric) {
  return metric.ends_with("energy") ? 2 : (metric == "average_power" ? 0 : 1);
}

// CPU sensors are RAPL and the chips of hwmon that are no GPUs.
bool MeasuresCpu(const Meter& meter) {
  return meter.row.source == "rapl" || (meter.row.source == "hwmon" && meter.gpu_bus_id.empty());
}

// Whether `other`, of the same host, measures what `meter` does, and better.
bool Replaces(const Meter& other, const Meter& meter) {
  const EnergyRow& row = meter.row;
  const bool better = Preference(other.row.metric) > Preference(row.metric);
  const bool same_device = other.row.source == row.source && other.row.device == row.device;
  if (row.modelled) {
    return MeasuresCpu(other) || (same_device && better);
  }
  if (row.source != "hwmon") {
    return same_device && better;
  }
  if (other.row.source == row.source) {
    return ChipOf(other.row.device) == ChipOf(row.device) && better &&
           other.gpu_bus_id == meter.gpu_bus_id;
  }
  return meter.gpu_bus_id.empty() ? other.row.source == "rapl"
                                  : other.gpu_bus_id == meter.gpu_bus_id;
}

// Nothing is counted twice: of RAPL the packages and their memory (core and uncore lie within the
// package, psys contains everything); sensor chips only where a host has no RAPL, but GPUs where no
// other source reads the GPU; a chip's or device's power only where it has no energy counter, and
// never that of its memory, a part of it; what is modelled only where nothing measures CPUs.
bool BelongsInTotal(const Meter& meter, const std::vector<Meter>& meters) {
  const EnergyRow& row = meter.row;
  if (std::isnan(row.joules) || row.metric == "memory_power") {
    return false;
  }
  if (row.source == "rapl") {
    return row.metric == "package_energy" || row.metric == "dram_energy";
  }
  return std::ranges::none_of(meters, [&meter](const Meter& other) {
    return other.row.host == meter.row.host && !std::isnan(other.row.joules) &&
           Replaces(other, meter);
  });
}

std::string BusIdOf(const RankData& rank, const Metric& metric) {
  const auto found = std::ranges::find_if(rank.meters, [&metric](const MeteredDevice& device) {
    return device.source == metric.source && device.device == metric.device;
  });
  return found == rank.meters.end() ? std::string() : found->pci_bus_id;
}

std::vector<EnergyRow> ChooseForTotal(const std::vector<Meter>& meters) {
  std::vector<EnergyRow> rows;
  for (const Meter& meter : meters) {
    if (!std::isnan(meter.row.joules)) {
      rows.push_back(meter.row);
      rows.back().in_total = BelongsInTotal(meter, meters);
    }
  }
  return rows;
}

}  // namespace

SampledSummary SummarizeSamples(std::span<const MeasuredRank> ranks,
                                std::span<const RankRow> rows) {
  SampledSummary summary;
  std::vector<Meter> meters;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankData& data = ranks[r].data();
    if (!data.samples.empty()) {
      summary.measured_ns = std::max(summary.measured_ns, ranks[r].end_ns() - ranks[r].begin_ns());
    }
    if (data.metrics.empty()) {
      continue;
    }
    const SampleTable samples(data);
    const std::vector<std::size_t> host_ranks = RanksOfHost(rows, rows[r].host);
    for (const Metric& metric : data.metrics) {
      std::vector<std::int32_t> users = UsersOf(metric, data, ranks, host_ranks);
      if (MeasuresEnergy(metric)) {
        meters.push_back({MakeEnergyRow(metric, samples.Of(metric), ranks[r], rows[r].host),
                          BusIdOf(data, metric)});
        meters.back().row.ranks = std::move(users);
      } else if (auto row = MakeMetricRow(metric, samples.Of(metric), ranks[r], rows[r].host)) {
        row->ranks = std::move(users);
        summary.metrics.push_back(std::move(*row));
      }
    }
  }
  summary.energy = ChooseForTotal(meters);
  return summary;
}

EnergyTotal TotalOf(std::span<const EnergyRow> rows) {
  EnergyTotal total;
  std::set<std::string> sources;
  for (const EnergyRow& row : rows) {
    if (row.in_total) {
      const auto devices = static_cast<double>(row.devices);
      total.joules = total.joules.value_or(0) + devices * row.joules;
      total.watts += devices * row.mean_watts;
      sources.insert(row.source + (row.modelled ? " (modelled)" : ""));
    }
  }
  for (const std::string& source : sources) {
    total.source += (total.source.empty() ? "" : " + ") + source;
  }
  return total;
}

}  // namespace reprise
