#include "report/timeline/samples_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "core/host_clock.h"
#include "core/shown_text.h"

namespace reprise {
namespace {

std::string Plain(std::string text) {
  for (char& c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
    c = plain ? c : '-';
  }
  return text;
}

std::string UniqueName(const std::string& host, const Metric& metric,
                       std::set<std::string>& taken) {
  const std::string stem = fmt::format("{}.{}.{}.{}", Plain(host), Plain(metric.device),
                                       Plain(metric.name), Plain(metric.unit));
  std::string name = stem + ".csv";
  for (int k = 2; !taken.insert(name).second; ++k) {
    name = fmt::format("{}.{}.csv", stem, k);
  }
  return name;
}

// Rank 0's host has the clock that all times are on.
std::optional<double> UnixSeconds(const RunData& run, std::int64_t time_ns) {
  for (const RankData& rank : run.ranks) {
    if (!rank.facts.wall_readings.empty() && rank.host == run.ranks.front().host) {
      return static_cast<double>(HostClock(rank.facts.wall_readings).ToReference(time_ns)) * 1e-9;
    }
  }
  return std::nullopt;
}

}  // namespace

ExportedSamples TabulateSamples(const RunData& run) {
  ExportedSamples table{.zero_ns = INT64_MAX};
  std::set<std::string> taken;
  for (const RankData& rank : run.ranks) {
    std::map<std::int32_t, std::vector<Sample>> by_metric;
    for (const Sample& sample : rank.samples) {
      if (!std::isnan(sample.value)) {
        by_metric[sample.metric].push_back(sample);
        table.zero_ns = std::min(table.zero_ns, sample.time_ns);
      }
    }
    for (const Metric& metric : rank.metrics) {
      std::vector<Sample>& samples = by_metric[metric.id];
      if (samples.empty()) {
        continue;
      }
      std::ranges::stable_sort(samples, {}, &Sample::time_ns);
      table.series.push_back(
          {UniqueName(rank.host, metric, taken), rank.host, &metric, std::move(samples)});
    }
  }
  if (!table.series.empty()) {
    table.zero_unix_s = UnixSeconds(run, table.zero_ns);
  }
  return table;
}

void WriteSeriesCsv(const ExportedSamples& table, const SampleSeries& series, std::ostream& out) {
  out << "time,value\n";
  for (const Sample& sample : series.samples) {
    out << fmt::format("{:.6f},{}\n", static_cast<double>(sample.time_ns - table.zero_ns) * 1e-9,
                       sample.value);
  }
}

void WriteIndexCsv(const ExportedSamples& table, std::ostream& out) {
  out << "file,host,device,metric,unit,kind,source,modelled,states,unix_time_of_zero,help\n";
  for (const SampleSeries& series : table.series) {
    const Metric& metric = *series.metric;
    out << fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{}\n", CsvField(series.file), CsvField(series.host),
        CsvField(metric.device), CsvField(metric.name), CsvField(metric.unit), Name(metric.kind),
        CsvField(metric.source), metric.modelled ? 1 : 0, CsvField(metric.states),
        table.zero_unix_s ? fmt::format("{:.6f}", *table.zero_unix_s) : "", CsvField(metric.help));
  }
}

}  // namespace reprise
