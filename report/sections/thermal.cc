// Throttling, power peaks and heating (report/values/thermal_values.h). Only what there is data
// for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/json_fields.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/table.h"

namespace reprise {

REPRISE_JSON_FIELDS(NamedTime, name, ns)
REPRISE_JSON_FIELDS(ThrottleInterval, begin_ns, length_ns, reasons, clock_hertz, lost_ns, classes,
                    operations)
inline void to_json(Json& json, const ThrottleRow& row) {
  REPRISE_ADD_FIELDS(json, row, host, device, source, modelled, devices, measured_ns, throttled_ns,
                     reasons, unthrottled_hertz)
  json["unthrottled_from"] = NullIfEmpty(row.unthrottled_from);
  REPRISE_ADD_FIELDS(json, row, lost_ns, intervals)
}
REPRISE_JSON_FIELDS(PowerPeakRow, host, device, metric, source, modelled, devices, mean_watts,
                    deviation_watts, max_watts, threshold_watts, excursions, excursion_ns,
                    longest_ns, coefficient_of_variation, burstiness, limit_watts, above_limit,
                    above_limit_ns)
REPRISE_JSON_FIELDS(HeatingRow, host, device, metric, source, modelled, devices, begin_celsius,
                    end_celsius, max_celsius, celsius_per_minute)
REPRISE_JSON_FIELDS(ThermalDetails, throttling, peaks, heating)

namespace {

constexpr std::size_t kMaxIntervals = 8;
constexpr std::size_t kMaxThermalRows = 12;

std::string Modelled(bool modelled) { return modelled ? " (modelled)" : ""; }

std::string ClockText(std::optional<double> hertz) {
  return hertz ? NumberText(*hertz * 1e-9) + " GHz" : "-";
}

std::string PercentText(std::int64_t part_ns, std::int64_t whole_ns) {
  return whole_ns > 0 ? fmt::format("{:.1f} %", 100 * static_cast<double>(part_ns) /
                                                    static_cast<double>(whole_ns))
                      : "-";
}

std::string MostText(const std::vector<NamedTime>& rows, std::size_t most) {
  std::string text;
  for (const NamedTime& row : First(most, rows)) {
    text += (text.empty() ? "" : ", ") + Fit(row.name, 24);
  }
  return text.empty() ? "nothing" : text;
}

// The longest intervals of a device.
std::string IntervalTable(const ThrottleRow& row) {
  const auto longest = LargestFirst(row.intervals, &ThrottleInterval::length_ns);
  Table table({"from", "for", "reasons", "clock", "lost", "ran meanwhile"});
  for (const ThrottleInterval* interval : First(kMaxIntervals, longest)) {
    table.Add({DurationText(interval->begin_ns), DurationText(interval->length_ns),
               Fit(fmt::format("{}", fmt::join(interval->reasons, ", ")), 28),
               ClockText(interval->clock_hertz), DurationText(interval->lost_ns),
               Fit(MostText(interval->classes, 3), 32)});
  }
  return table.Text() + RowsLeftOut(longest.size(), kMaxIntervals, "shorter ones");
}

std::string ThrottleText(const ThermalDetails& thermal, const Style& style) {
  if (thermal.throttling.empty()) {
    return "";
  }
  std::string text = Heading(style, "Throttling", "measured iterations");
  bool lost = false;
  std::vector<std::string> never;
  for (const ThrottleRow& row : thermal.throttling) {
    if (row.intervals.empty()) {
      never.push_back(DeviceText(row.device, row.devices, row.device.size()));
      continue;
    }
    std::string line = fmt::format(
        "  {} on {}{}: {} of the time ({} intervals)",
        DeviceText(row.device, row.devices, row.device.size()), row.host, Modelled(row.modelled),
        PercentText(row.throttled_ns, row.measured_ns), row.intervals.size());
    for (const NamedTime& reason : row.reasons) {
      line += fmt::format(", {} {}", reason.name, DurationText(reason.ns));
    }
    if (row.lost_ns) {
      line += fmt::format("; about {} lost against {} ({})", DurationText(row.lost_ns),
                          ClockText(row.unthrottled_hertz), row.unthrottled_from);
      lost = true;
    }
    text += Wrap(line, kConsoleWidth, 4) + IntervalTable(row);
  }
  if (!never.empty()) {
    text += Wrap(fmt::format("  never: {}", fmt::join(never, ", ")), kConsoleWidth, 4);
  }
  if (lost) {
    text +=
        "  lost: an estimate, time x (1 - clock / unthrottled clock), as if all work were bound by "
        "it\n";
  }
  return text;
}

std::string PeakText(const ThermalDetails& thermal, const Style& style) {
  Table table({"power of", "mean", "max/mean", "CV", "peaks", "longest", "burstiness", "> limit"});
  for (const PowerPeakRow& row : First(kMaxThermalRows, thermal.peaks)) {
    table.Add({DeviceText(row.device, row.devices, 18) + " " + Fit(row.metric, 14) +
                   Modelled(row.modelled),
               NumberText(row.mean_watts) + " W",
               row.mean_watts > 0 ? NumberText(row.max_watts / row.mean_watts) : "-",
               NumberText(row.coefficient_of_variation), fmt::format("{}", row.excursions),
               row.excursions > 0 ? DurationText(row.longest_ns) : "-", NumberText(row.burstiness),
               row.limit_watts ? fmt::format("{}", row.above_limit) : "-"});
  }
  return TitledTable(style, "Power peaks", "intervals above mean + 2 standard deviations", table) +
         RowsLeftOut(thermal.peaks.size(), kMaxThermalRows, "rows more");
}

std::string HeatingText(const ThermalDetails& thermal, const Style& style) {
  Table table({"temperature of", "host", "begin", "end", "max", "C a minute"});
  for (const HeatingRow& row : First(kMaxThermalRows, thermal.heating)) {
    table.Add({DeviceText(row.device, row.devices, 24) + " " + Fit(row.metric, 20) +
                   Modelled(row.modelled),
               Fit(row.host, 12), fmt::format("{:.1f} C", row.begin_celsius),
               fmt::format("{:.1f} C", row.end_celsius), fmt::format("{:.1f} C", row.max_celsius),
               fmt::format("{:+.1f}", row.celsius_per_minute)});
  }
  return TitledTable(style, "Heating", "", table, 2) +
         RowsLeftOut(thermal.heating.size(), kMaxThermalRows, "rows more");
}

std::string ThermalText(const Report& report, const Style& style) {
  return ThrottleText(report.thermal, style) + PeakText(report.thermal, style) +
         HeatingText(report.thermal, style);
}

void AddThermalJson(const Report& report, Json& json) { json["thermal"] = report.thermal; }

void CutThermal(const HtmlLimits& limits, Cutter& cutter, Report& report) {
  const std::size_t most = limits.rows;
  ThermalDetails& thermal = report.thermal;
  cutter.Cut("throttling.devices", most, thermal.throttling,
             [](const ThrottleRow& row) { return row.throttled_ns; });
  // All devices' intervals together keep within the limit, tenfold.
  const std::size_t each =
      std::max<std::size_t>(10 * most / std::max<std::size_t>(thermal.throttling.size(), 1), 1);
  for (ThrottleRow& row : thermal.throttling) {
    cutter.Cut("throttling.intervals", std::min(most, each), row.intervals,
               [](const ThrottleInterval& interval) { return interval.length_ns; });
  }
  cutter.Cut("power_peaks", most, thermal.peaks,
             [](const PowerPeakRow& row) { return row.excursion_ns; });
  cutter.Cut("heating", most, thermal.heating,
             [](const HeatingRow& row) { return row.max_celsius; });
}

}  // namespace

Section ThermalSection() {
  return {.name = "thermal", .console = ThermalText, .json = AddThermalJson, .cut = CutThermal};
}

}  // namespace reprise
