#include "report/sampled.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/energy.h"
#include "report/power_curve.h"

namespace reprise {
namespace {

bool MeasuresEnergy(const std::string& unit) { return unit == "joules" || unit == "watts"; }

// The chip of a sensor: "amdgpu" of "amdgpu/PPT".
std::string ChipOf(const std::string& device) { return device.substr(0, device.find('/')); }

EnergyRow MakeEnergyRow(const Metric& metric, const std::vector<Sample>& samples,
                        const MeasuredRank& rank, const std::string& host) {
  EnergyRow row{.host = host,
                .device = metric.device,
                .metric = metric.name,
                .source = metric.source,
                .modelled = metric.modelled};
  row.joules = IntegrateEnergyJoules(metric.kind, samples, rank.begin_ns(), rank.end_ns());
  row.mean_watts = row.joules / (static_cast<double>(rank.end_ns() - rank.begin_ns()) * 1e-9);
  return row;
}

std::optional<MetricRow> MakeMetricRow(const Metric& metric, const std::vector<Sample>& samples,
                                       const MeasuredRank& rank, const std::string& host) {
  std::vector<const Sample*> inside;
  for (const Sample& sample : samples) {
    if (sample.time_ns >= rank.begin_ns() && sample.time_ns <= rank.end_ns() &&
        !std::isnan(sample.value)) {
      inside.push_back(&sample);
    }
  }
  if (inside.empty() || (IsTotal(metric.kind) && inside.size() < 2)) {
    return std::nullopt;
  }
  MetricRow row{.host = host,
                .device = metric.device,
                .metric = metric.name,
                .unit = metric.unit,
                .source = metric.source,
                .modelled = metric.modelled,
                .is_rate = IsTotal(metric.kind),
                .update_ns = UpdateIntervalNs(samples)};
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

// Nothing is counted twice: of RAPL the packages and their memory (core and uncore lie within the
// package, psys contains everything); sensor chips only where a host has no RAPL, and a chip's
// power only where it has no energy counter; of any other source a device's power only where it has
// no counter.
bool BelongsInTotal(const EnergyRow& row, const std::vector<EnergyRow>& rows) {
  if (std::isnan(row.joules)) {
    return false;
  }
  if (row.source == "rapl") {
    return row.metric == "package_energy" || row.metric == "dram_energy";
  }
  return std::none_of(rows.begin(), rows.end(), [&row](const EnergyRow& other) {
    if (other.host != row.host || std::isnan(other.joules)) {
      return false;
    }
    const bool counter = other.metric.ends_with("energy");
    const bool power = !row.metric.ends_with("energy");
    if (row.source == "hwmon") {
      return other.source == "rapl" || (other.source == row.source && power && counter &&
                                        ChipOf(other.device) == ChipOf(row.device));
    }
    return other.source == row.source && power && counter && other.device == row.device;
  });
}

void SumEnergy(SampledSummary& summary) {
  std::set<std::string> sources;
  for (EnergyRow& row : summary.energy) {
    row.in_total = BelongsInTotal(row, summary.energy);
    if (row.in_total) {
      summary.joules = summary.joules.value_or(0) + row.joules;
      summary.watts += row.mean_watts;
      sources.insert(row.source + (row.modelled ? " (modelled)" : ""));
    }
  }
  for (const std::string& source : sources) {
    summary.source += (summary.source.empty() ? "" : " + ") + source;
  }
}

}  // namespace

SampledSummary SummarizeSamples(std::span<const MeasuredRank> ranks,
                                std::span<const RankRow> rows) {
  SampledSummary summary;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankData& data = ranks[r].data();
    if (!data.samples.empty()) {
      summary.measured_ns = std::max(summary.measured_ns, ranks[r].end_ns() - ranks[r].begin_ns());
    }
    std::map<std::int32_t, std::vector<Sample>> samples;
    for (const Sample& sample : data.samples) {
      samples[sample.metric].push_back(sample);
    }
    for (const Metric& metric : data.metrics) {
      if (MeasuresEnergy(metric.unit)) {
        summary.energy.push_back(MakeEnergyRow(metric, samples[metric.id], ranks[r], rows[r].host));
      } else if (metric.kind == MetricKind::kState) {
        continue;  // conditions have no mean; report/thermal tells those that matter
      } else if (auto row = MakeMetricRow(metric, samples[metric.id], ranks[r], rows[r].host)) {
        summary.metrics.push_back(std::move(*row));
      }
    }
  }
  SumEnergy(summary);
  std::erase_if(summary.energy, [](const EnergyRow& row) { return std::isnan(row.joules); });
  return summary;
}

}  // namespace reprise
