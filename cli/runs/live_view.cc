#include "cli/runs/live_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "report/text/table.h"

namespace reprise {
namespace {

// A total's growth from one reading to the next is too coarse to be read.
constexpr std::int64_t kRateNs = 1'000'000'000;

// Values as shown: of a total, growth per second, each over kRateNs or what there is of it.
std::vector<double> Shown(const Metric& metric, const std::vector<Sample>& samples) {
  std::vector<double> values;
  std::size_t from = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int64_t span_ns = samples[i].time_ns - samples[from].time_ns;
    if (!IsTotal(metric.kind)) {
      values.push_back(samples[i].value);
    } else if (span_ns >= kRateNs || (span_ns > 0 && values.empty() && i + 1 == samples.size())) {
      values.push_back((samples[i].value - samples[from].value) * 1e9 /
                       static_cast<double>(span_ns));
      from = i;
    }
  }
  return values;
}

std::string UnitText(const Metric& metric) {
  if (!IsTotal(metric.kind)) {
    return metric.unit == "count" ? "" : metric.unit == "fraction" ? "%" : metric.unit;
  }
  return metric.unit == "joules"    ? "watts"
         : metric.unit == "seconds" ? "s/s"
         : metric.unit == "count"   ? "/s"
                                    : metric.unit + "/s";
}

std::string ValueText(const Metric& metric, double value) {
  if (metric.unit == "bytes") {
    return BytesText(static_cast<std::int64_t>(value));
  }
  return NumberText(metric.unit == "fraction" && !IsTotal(metric.kind) ? 100 * value : value);
}

std::string StatesText(const Metric& metric, double value) {
  std::string text;
  auto bits = static_cast<std::uint64_t>(value);
  for (const std::string_view state : StateNames(metric.states)) {
    if ((bits & 1) != 0) {
      text += text.empty() ? "" : " ";
      text += state;
    }
    bits >>= 1;
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string LiveTable(std::span<const Metric> metrics, const RecentSamples& recent, bool colour) {
  Table table({"device", "metric", "source", "now", "mean", "min", "max", "unit"});
  for (const Metric& metric : metrics) {
    const std::vector<double> values = Shown(metric, recent.Of(metric.id));
    if (values.empty()) {
      continue;
    }
    const std::string source = metric.source + (metric.modelled ? " (modelled)" : "");
    if (metric.kind == MetricKind::kState) {
      table.Add({Fit(metric.device, 20), metric.name, source, StatesText(metric, values.back()), "",
                 "", "", ""});
      continue;
    }
    double sum = 0;
    for (const double value : values) {
      sum += value;
    }
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    table.Add({Fit(metric.device, 20), metric.name, source, ValueText(metric, values.back()),
               ValueText(metric, sum / static_cast<double>(values.size())),
               ValueText(metric, *least), ValueText(metric, *greatest), UnitText(metric)});
  }
  const Style style = MakeStyle(colour);
  return Heading(style, "Telemetry", "now, and over the last 10 s") + table.Text(3);
}

}  // namespace reprise
