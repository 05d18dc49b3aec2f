#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/energy_text.h"
#include "report/fidelity_text.h"
#include "report/monitored_text.h"
#include "report/report.h"
#include "report/table.h"
#include "report/thermal_text.h"

namespace reprise {
namespace {

constexpr std::size_t kMostCollectives = 24;

double Percent(double fraction) { return 100 * fraction; }

std::string Headline(const Report& report, const Style& style) {
  const Coverage& coverage = report.coverage;
  return fmt::format(
      "{}Replay coverage {:.1f} % real, {:.1f} % surrogate, {:.1f} % timed, {:.1f} % skipped{}"
      " ({:.1f} % of the step)\n",
      style.bold, Percent(coverage.real), Percent(coverage.surrogate), Percent(coverage.timed),
      Percent(coverage.skipped), style.reset, Percent(report.coverage_of_step));
}

std::string StretchText(const std::vector<ClassFactor>& factors) {
  std::string text;
  for (const ClassFactor& row : factors) {
    text += fmt::format("{}{}={:.2f}", text.empty() ? "" : ",", row.name, row.factor);
  }
  return text;
}

std::string StepLines(const Report& report, const Style& style) {
  std::string text =
      fmt::format("{}Step time{}       recorded {}, replayed {} (median of {} iterations",
                  style.bold, style.reset, DurationText(report.step_time_recorded_ns),
                  DurationText(report.step_time_replayed_ns), report.iterations);
  if (report.step_time_replayed_min_ns) {
    text += fmt::format(", {} to {}", DurationText(report.step_time_replayed_min_ns),
                        DurationText(report.step_time_replayed_max_ns));
  }
  text += fmt::format(")\n{}Error{}           work {}, step {}{}", style.bold, style.reset,
                      ErrorText(report.fidelity.work_error), ErrorText(report.fidelity.step_error),
                      report.manifest.oversubscribed ? " (oversubscribed)" : "");
  text += report.step_time_untraced_ns
              ? fmt::format(", {} against {} untraced\n", ErrorText(report.fidelity.untraced_error),
                            DurationText(report.step_time_untraced_ns))
              : "; untraced step time unknown\n";
  if (report.fidelity.untraced_work_error) {
    text += fmt::format(
        "                work {} without the {} that tracing took of it (estimated)\n",
        ErrorText(report.fidelity.untraced_work_error), DurationText(report.work_tracing_ns));
  }
  if (!report.stretches.empty()) {
    text += fmt::format("                operations would last as long{} with --stretch {}\n",
                        report.work_tracing_ns > 0 ? ", without tracing," : "",
                        StretchText(report.stretches));
  }
  text += fmt::format("{}Recorded time{}   covered {}, host {}, wait {}, gaps {} (all ranks)\n",
                      style.bold, style.reset, DurationText(report.coverage.recorded_ns),
                      DurationText(report.host_ns), DurationText(report.wait_ns),
                      DurationText(report.delay_ns));
  return text;
}

std::string EnergyLine(const Report& report, const Style& style) {
  std::string text = fmt::format("{}Energy{}          ", style.bold, style.reset);
  if (!report.energy_joules) {
    return text + "unknown: no source, or too few samples\n";
  }
  text += fmt::format("{} J over {}, {} W mean, source: {}", NumberText(report.energy_joules),
                      DurationText(report.measured_ns), NumberText(report.mean_watts),
                      report.energy_source);
  return text + "\n";
}

std::string ClassTable(const Report& report, const Style& style) {
  Table table({"class", "nodes", "recorded", "replayed", "error", "GFLOP/s", "GB/s"});
  for (const ClassRow& row : report.classes) {
    std::optional<double> error;
    if (row.replayed_ns && row.recorded_ns > 0) {
      error = static_cast<double>(*row.replayed_ns) / static_cast<double>(row.recorded_ns) - 1;
    }
    table.Add({row.name, fmt::format("{}", row.count), DurationText(row.recorded_ns),
               DurationText(row.replayed_ns), ErrorText(error),
               row.flops > 0 ? NumberText(row.gflop_per_s) : "-",
               row.bytes > 0 ? NumberText(row.gb_per_s) : "-"});
  }
  return table.Empty() ? ""
                       : Heading(style, "By class", "one pass, all ranks, medians") + table.Text();
}

std::string CollectiveTable(const Report& report, const Style& style) {
  if (report.collectives.empty()) {
    return "";
  }
  std::vector<const CollectiveRow*> rows;
  for (const CollectiveRow& row : report.collectives) {
    rows.push_back(&row);
  }
  // Where not all fit, those that take the most time do.
  const auto total_ns = [](const CollectiveRow* row) {
    return row->count * row->replayed_ns.value_or(row->recorded_ns);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const CollectiveRow* a, const CollectiveRow* b) {
    return total_ns(a) > total_ns(b);
  });
  Table table({"collective", "group", "mode", "ranks", "bytes", "count", "recorded", "replayed",
               "algbw", "busbw"});
  for (std::size_t i = 0; i < std::min(rows.size(), kMostCollectives); ++i) {
    const CollectiveRow& row = *rows[i];
    table.Add({row.name, Fit(row.group, 12), std::string(Name(row.mode)),
               fmt::format("{}", row.group_size), BytesText(row.bytes),
               fmt::format("{}", row.count), DurationText(row.recorded_ns),
               DurationText(row.replayed_ns), NumberText(row.algbw_gb_per_s),
               NumberText(row.busbw_gb_per_s)});
  }
  std::string text =
      Heading(style, "Transfers", "median from the last arrival; GB/s of 10^9 bytes") +
      table.Text(3);
  if (rows.size() > kMostCollectives) {
    text += fmt::format("  .. and {} rows more; --json has all\n", rows.size() - kMostCollectives);
  }
  return text;
}

std::string RankTable(const Report& report, const Style& style) {
  Table table({"rank", "host", "device", "recorded", "replayed", "real", "host", "wait", "gaps"});
  for (std::size_t i = 0; i < std::min(report.ranks.size(), kMostRankRows); ++i) {
    const RankRow& row = report.ranks[i];
    table.Add({fmt::format("{}", row.rank), Fit(row.host, 12), Fit(row.device, 22),
               DurationText(row.step_time_recorded_ns), DurationText(row.step_time_replayed_ns),
               fmt::format("{:.1f} %", Percent(row.coverage.real)), DurationText(row.host_ns),
               DurationText(row.wait_ns), DurationText(row.delay_ns)});
  }
  return Heading(style, "Ranks", "step times; host, wait and gaps as recorded") + table.Text(3) +
         RanksLeftOut(report.ranks.size());
}

std::string EnergyTable(const Report& report, const Style& style) {
  Table table({"device", "metric", "host", "source", "energy", "mean power", ""});
  for (const EnergyRow& row : report.energy) {
    table.Add({Fit(row.device, 20), Fit(row.metric, 16), Fit(row.host, 10),
               row.source + (row.modelled ? " (modelled)" : ""), NumberText(row.joules) + " J",
               NumberText(row.mean_watts) + " W", row.in_total ? "" : "(within another)"});
  }
  return table.Empty() ? "" : Heading(style, "Energy", "measured iterations") + table.Text(4);
}

// Units that people read: hertz as GHz, bytes scaled, fractions as percent.
std::string MetricText(double value, const MetricRow& row) {
  if (row.unit == "bytes" && !row.is_rate) {
    return BytesText(static_cast<std::int64_t>(value));
  }
  if (row.unit == "hertz") {
    return NumberText(value * 1e-9) + " GHz";
  }
  if (row.unit == "fraction" || (row.unit == "seconds" && row.is_rate)) {
    return fmt::format("{:.1f} %", Percent(value));
  }
  if (row.unit == "celsius") {
    return fmt::format("{:.1f} C", value);
  }
  return NumberText(value) + (row.unit == "count" ? "" : " " + row.unit) +
         (row.is_rate ? "/s" : "");
}

std::string MetricTable(const Report& report, const Style& style) {
  Table table({"metric", "device", "host", "source", "min", "mean", "max", "updates"});
  for (const MetricRow& row : report.metrics) {
    if (row.device.starts_with("cpu-")) {
      continue;  // single cores, of which there may be hundreds, are in --json
    }
    table.Add({Fit(row.metric, 18), Fit(row.device, 17), Fit(row.host, 8),
               row.source + (row.modelled ? " (modelled)" : ""),
               row.is_rate ? "" : MetricText(row.min, row), MetricText(row.mean, row),
               row.is_rate ? "" : MetricText(row.max, row), DurationText(row.update_ns)});
  }
  const bool temperatures = std::any_of(report.metrics.begin(), report.metrics.end(),
                                        [](const MetricRow& row) { return row.unit == "celsius"; });
  return (table.Empty() ? "" : Heading(style, "Telemetry", "measured iterations") + table.Text(4)) +
         (temperatures ? "" : "  temperatures: no source on this machine\n");
}

std::string NoteLines(const Report& report, const Style& style) {
  if (report.notes.empty() && report.diagnostics.empty()) {
    return "";
  }
  std::string text = Heading(style, "Notes", "");
  for (const std::string& note : report.notes) {
    text += Wrap("  - " + note, kConsoleWidth, 4);
  }
  std::string counters;
  for (const auto& [name, count] : report.diagnostics) {
    counters += fmt::format("{}{} {}", counters.empty() ? "" : ", ", name, count);
  }
  if (!counters.empty()) {
    text += Wrap("  - counted: " + counters, kConsoleWidth, 4);
  }
  return text;
}

}  // namespace

std::string ConsoleText(const Report& report, bool colour) {
  const Style style = MakeStyle(colour);
  if (IsMonitored(report.manifest)) {
    return MonitoredText(report, style) + EnergyLine(report, style) + EnergyTable(report, style) +
           ThermalText(report.thermal, style) + MetricTable(report, style) +
           NoteLines(report, style);
  }
  return Headline(report, style) + StepLines(report, style) + EnergyLine(report, style) +
         ClassTable(report, style) + FidelityText(report.details, style) +
         CollectiveTable(report, style) + RankTable(report, style) + EnergyTable(report, style) +
         (report.attribution ? EnergyText(*report.attribution, style) : "") +
         ThermalText(report.thermal, style) + MetricTable(report, style) + NoteLines(report, style);
}

}  // namespace reprise
