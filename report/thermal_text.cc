#include "report/thermal_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace reprise {
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
  for (std::size_t i = 0; i < std::min(rows.size(), most); ++i) {
    text += (i == 0 ? "" : ", ") + Fit(rows[i].name, 24);
  }
  return text.empty() ? "nothing" : text;
}

// The longest intervals of a device.
std::string IntervalTable(const ThrottleRow& row) {
  std::vector<const ThrottleInterval*> longest;
  for (const ThrottleInterval& interval : row.intervals) {
    longest.push_back(&interval);
  }
  std::stable_sort(longest.begin(), longest.end(),
                   [](const auto* a, const auto* b) { return a->length_ns > b->length_ns; });
  Table table({"from", "for", "reasons", "clock", "lost", "ran meanwhile"});
  for (std::size_t i = 0; i < std::min(longest.size(), kMaxIntervals); ++i) {
    const ThrottleInterval& interval = *longest[i];
    table.Add({DurationText(interval.begin_ns), DurationText(interval.length_ns),
               Fit(fmt::format("{}", fmt::join(interval.reasons, ", ")), 28),
               ClockText(interval.clock_hertz), DurationText(interval.lost_ns),
               Fit(MostText(interval.classes, 3), 32)});
  }
  std::string text = table.Text(1);
  if (longest.size() > kMaxIntervals) {
    text +=
        fmt::format("  .. and {} shorter ones; --json has all\n", longest.size() - kMaxIntervals);
  }
  return text;
}

std::string ThrottleSection(const ThermalDetails& thermal, const Style& style) {
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

std::string PeakSection(const ThermalDetails& thermal, const Style& style) {
  Table table({"power of", "mean", "max/mean", "CV", "peaks", "longest", "burstiness", "> limit"});
  for (std::size_t i = 0; i < std::min(thermal.peaks.size(), kMaxThermalRows); ++i) {
    const PowerPeakRow& row = thermal.peaks[i];
    table.Add({DeviceText(row.device, row.devices, 18) + " " + Fit(row.metric, 14) +
                   Modelled(row.modelled),
               NumberText(row.mean_watts) + " W",
               row.mean_watts > 0 ? NumberText(row.max_watts / row.mean_watts) : "-",
               NumberText(row.coefficient_of_variation), fmt::format("{}", row.excursions),
               row.excursions > 0 ? DurationText(row.longest_ns) : "-", NumberText(row.burstiness),
               row.limit_watts ? fmt::format("{}", row.above_limit) : "-"});
  }
  std::string text = table.Empty() ? ""
                                   : Heading(style, "Power peaks",
                                             "stretches above mean + 2 standard deviations") +
                                         table.Text();
  if (thermal.peaks.size() > kMaxThermalRows) {
    text += fmt::format("  .. and {} rows more; --json has all\n",
                        thermal.peaks.size() - kMaxThermalRows);
  }
  return text;
}

std::string HeatingSection(const ThermalDetails& thermal, const Style& style) {
  Table table({"temperature of", "host", "begin", "end", "max", "C a minute"});
  for (std::size_t i = 0; i < std::min(thermal.heating.size(), kMaxThermalRows); ++i) {
    const HeatingRow& row = thermal.heating[i];
    table.Add({DeviceText(row.device, row.devices, 24) + " " + Fit(row.metric, 20) +
                   Modelled(row.modelled),
               Fit(row.host, 12), fmt::format("{:.1f} C", row.begin_celsius),
               fmt::format("{:.1f} C", row.end_celsius), fmt::format("{:.1f} C", row.max_celsius),
               fmt::format("{:+.1f}", row.celsius_per_minute)});
  }
  std::string text = table.Empty() ? "" : Heading(style, "Heating", "") + table.Text(2);
  if (thermal.heating.size() > kMaxThermalRows) {
    text += fmt::format("  .. and {} rows more; --json has all\n",
                        thermal.heating.size() - kMaxThermalRows);
  }
  return text;
}

}  // namespace

std::string ThermalText(const ThermalDetails& thermal, const Style& style) {
  return ThrottleSection(thermal, style) + PeakSection(thermal, style) +
         HeatingSection(thermal, style);
}

}  // namespace reprise
