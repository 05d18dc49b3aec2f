#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "core/counters.h"
#include "core/nearest.h"
#include "report/console_lines.h"
#include "report/energy_text.h"
#include "report/fidelity_text.h"
#include "report/monitored_text.h"
#include "report/report.h"
#include "report/table.h"
#include "report/thermal_text.h"
#include "report/time_sources.h"
#include "report/verdict_warnings.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxCollectives = 24;
constexpr std::size_t kMaxShapes = 40;

std::string StretchText(const std::vector<ClassFactor>& factors) {
  std::string text;
  for (const ClassFactor& row : factors) {
    text += fmt::format("{}{}={:.2f}", text.empty() ? "" : ",", row.name, row.factor);
  }
  return text;
}

// Replayed beside recorded: the step, and operations alone.
std::string RatioLines(const Report& report, const Style& style) {
  const Verdict& verdict = report.verdict;
  const auto text = [&verdict](std::optional<double> error) {
    return IsError(verdict) ? ErrorText(error)
                            : NumberText(error ? std::optional(1 + *error) : std::nullopt);
  };
  const Fidelity& fidelity = report.fidelity;
  std::string lines = Label(IsError(verdict) ? "Error" : "Ratio", style) +
                      fmt::format("step {} against the traced step", text(fidelity.step_error));
  lines += report.step_time_untraced_ns
               ? fmt::format(", {} against the untraced one\n", text(fidelity.untraced_error))
               : "; untraced step time unknown\n";
  lines += Label("", style) + fmt::format("operations {}", text(fidelity.work_error));
  if (fidelity.untraced_work_error) {
    lines += fmt::format(", {} without the {} that tracing took of them (estimated)",
                         text(fidelity.untraced_work_error), DurationText(report.work_tracing_ns));
  }
  lines += "\n";
  if (!report.stretches.empty()) {
    lines += Wrap(
        fmt::format("{}operations would last as long{} with --stretch {}", std::string(16, ' '),
                    report.work_tracing_ns > 0 ? ", without tracing," : "",
                    StretchText(report.stretches)),
        kConsoleWidth, 16);
  }
  return lines;
}

std::string StepSection(const Report& report, const Style& style) {
  if (IsMonitored(report.manifest)) {
    return MonitoredHead(report, style);
  }
  const bool recorded = HasRecordedTimes(report);
  std::string text = "\n" + CoverageLine(report, style) + Label("Step time", style);
  text += fmt::format(
      "{}{} {}",
      recorded ? fmt::format("recorded {}, ", DurationText(report.step_time_recorded_ns)) : "",
      ReplayedName(report.verdict), DurationText(report.step_time_replayed_ns));
  if (!IsSimulated(report.manifest)) {
    text += fmt::format(" (median of {} iterations", report.iterations);
    if (report.step_time_replayed_min_ns) {
      text += fmt::format(", {} to {}", DurationText(report.step_time_replayed_min_ns),
                          DurationText(report.step_time_replayed_max_ns));
    }
    text += ")";
  }
  if (!recorded) {
    return text + fmt::format("; {}\n", kNoRecordedStep) + SourceLine(report, style);
  }
  return text + "\n" + SourceLine(report, style) + RatioLines(report, style) +
         Label("Recorded time", style) +
         fmt::format("covered {}, host {}, wait {}, gaps {} (all ranks)\n",
                     DurationText(report.recorded_ns), DurationText(report.host_ns),
                     DurationText(report.wait_ns), DurationText(report.delay_ns));
}

// Adds cells to a row of a table where `condition` holds.
void AddIf(bool condition, std::vector<std::string>& row,
           std::initializer_list<std::string> cells) {
  if (condition) {
    row.insert(row.end(), cells);
  }
}

std::string ClassSection(const Report& report, const Style& style) {
  const Verdict& verdict = report.verdict;
  const bool recorded = HasRecordedTimes(report);
  const bool sources = HasSources(SourcesOf(report));
  std::vector<std::string> header = {"class", "nodes"};
  AddIf(recorded, header, {"recorded", "tracing"});
  AddIf(true, header, {ReplayedName(verdict)});
  AddIf(recorded, header, {RatioName(verdict)});
  AddIf(true, header, {"GFLOP/s", "GB/s"});
  AddIf(sources, header, {"times from"});
  Table table(std::move(header));
  for (const ClassRow& row : report.classes) {
    std::vector<std::string> cells = {row.name, fmt::format("{}", row.count)};
    AddIf(recorded, cells, {DurationText(row.recorded_ns), DurationText(row.tracing_ns)});
    AddIf(true, cells, {DurationText(row.replayed_ns)});
    AddIf(recorded, cells,
          {RatioText(verdict, row.replayed_ns,
                     ComparedNs(verdict, row.recorded_ns, row.tracing_ns))});
    AddIf(true, cells,
          {row.flops > 0 ? NumberText(row.gflop_per_s) : "-",
           row.bytes > 0 ? NumberText(row.gb_per_s) : "-"});
    AddIf(sources, cells, {MainSourceText(row.from_ns)});
    table.Add(std::move(cells));
  }
  if (table.Empty()) {
    return "";
  }
  const std::string ranks =
      HasClasses(report) ? fmt::format("all {} ranks", RanksOf(report)) : "all ranks";
  return Heading(style, "By class",
                 recorded ? fmt::format(
                                "{} and recorded steps; {} {}", ranks, RatioName(verdict),
                                verdict.untraced ? "against recorded less tracing" : "with tracing")
                          : ranks + " and steps") +
         table.Text();
}

std::string PhaseSection(const Report& report, const Style& style) {
  return PhaseUsesText(report, style, report.phase_uses.size());
}

std::string ShapeSection(const Report& report, const Style& style) {
  const Verdict& verdict = report.verdict;
  const bool recorded = HasRecordedTimes(report);
  const bool sources = HasSources(SourcesOf(report));
  std::vector<std::string> header = {"operation", "shapes of inputs", "count"};
  AddIf(recorded, header, {"recorded"});
  AddIf(true, header, {ReplayedName(verdict)});
  AddIf(recorded, header, {RatioName(verdict)});
  AddIf(sources, header, {"times from"});
  Table table(std::move(header));
  for (std::size_t i = 0; i < std::min(report.shapes.size(), kMaxShapes); ++i) {
    const ShapeRow& row = report.shapes[i];
    const std::int64_t compared_ns = ComparedNs(verdict, row.recorded_ns, row.tracing_ns);
    std::vector<std::string> cells = {Fit(row.name, sources ? 22 : 26),
                                      row.shape.empty() ? "-" : Fit(row.shape, sources ? 24 : 34),
                                      fmt::format("{}", row.count)};
    AddIf(recorded, cells, {DurationText(compared_ns)});
    AddIf(true, cells, {DurationText(row.replayed_ns)});
    AddIf(recorded, cells, {RatioText(verdict, row.replayed_ns, compared_ns)});
    AddIf(sources, cells, {MainSourceText(row.from_ns)});
    table.Add(std::move(cells));
  }
  std::string text = table.Empty()
                         ? ""
                         : Heading(style, "Operations by shape",
                                   fmt::format("{} first; all ranks and {}steps{}",
                                               recorded ? "largest difference" : "longest",
                                               recorded ? "recorded " : "",
                                               verdict.untraced ? "; recorded less tracing" : "")) +
                               table.Text(2);
  if (report.shapes.size() > kMaxShapes) {
    text +=
        fmt::format("  .. and {} rows more; --json has all\n", report.shapes.size() - kMaxShapes);
  }
  return text;
}

std::string CollectiveSection(const Report& report, const Style& style) {
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
  const bool recorded = HasRecordedTimes(report);
  const bool replayed = !IsSimulated(report.manifest);  // else every mode is timed
  std::vector<std::string> header = {"collective", "group"};
  AddIf(replayed, header, {"mode"});
  AddIf(true, header, {"ranks", "bytes", "count"});
  AddIf(recorded, header, {"recorded"});
  AddIf(true, header, {ReplayedName(report.verdict), "algbw", "busbw"});
  Table table(std::move(header));
  for (std::size_t i = 0; i < std::min(rows.size(), kMaxCollectives); ++i) {
    const CollectiveRow& row = *rows[i];
    std::vector<std::string> cells = {row.name, Fit(row.group, 12)};
    AddIf(replayed, cells, {std::string(Name(row.mode))});
    AddIf(true, cells,
          {fmt::format("{}", row.group_size), BytesText(row.bytes), fmt::format("{}", row.count)});
    AddIf(recorded, cells, {DurationText(row.recorded_ns)});
    AddIf(true, cells,
          {DurationText(row.replayed_ns), NumberText(row.algbw_gb_per_s),
           NumberText(row.busbw_gb_per_s)});
    table.Add(std::move(cells));
  }
  std::string text = Heading(style, "Transfers",
                             fmt::format("{}median from the last arrival; GB/s of 10^9 bytes",
                                         HasClasses(report) ? "all groups of a role; " : "")) +
                     table.Text(replayed ? 3 : 2);
  if (rows.size() > kMaxCollectives) {
    text += fmt::format("  .. and {} rows more; --json has all\n", rows.size() - kMaxCollectives);
  }
  return text;
}

std::string RankSection(const Report& report, const Style& style) {
  if (IsMonitored(report.manifest)) {
    return MonitoredRanks(report, style);
  }
  const bool recorded = HasRecordedTimes(report);
  const bool replayed = !IsSimulated(report.manifest);  // else on no host, and nothing is real
  const bool classes = HasClasses(report);
  std::vector<std::string> header = {classes ? "class" : "rank"};
  AddIf(classes, header, {"ranks", "which"});
  AddIf(replayed, header, {"host"});
  AddIf(true, header, {"device"});
  AddIf(recorded, header, {"recorded"});
  AddIf(true, header, {ReplayedName(report.verdict)});
  AddIf(replayed, header, {"real"});
  AddIf(recorded, header, {"host", "wait", "gaps"});
  Table table(std::move(header));
  for (std::size_t i = 0; i < std::min(report.ranks.size(), kMaxRankRows); ++i) {
    const RankRow& row = report.ranks[i];
    std::vector<std::string> cells = {fmt::format("{}", row.rank)};
    AddIf(classes, cells, {fmt::format("{}", row.alike), Fit(row.members, 30)});
    AddIf(replayed, cells, {Fit(row.host, 12)});
    AddIf(true, cells, {Fit(row.device, 22)});
    AddIf(recorded, cells, {DurationText(row.step_time_recorded_ns)});
    AddIf(true, cells, {DurationText(row.step_time_replayed_ns)});
    AddIf(replayed, cells, {fmt::format("{:.1f} %", 100 * row.coverage.real)});
    AddIf(recorded, cells,
          {DurationText(row.host_ns), DurationText(row.wait_ns), DurationText(row.delay_ns)});
    table.Add(std::move(cells));
  }
  return Heading(style, classes ? "Classes of equal ranks" : "Ranks",
                 recorded ? "step times; host, wait and gaps as recorded" : "step times") +
         table.Text(replayed || classes ? 3 : 2) + RanksLeftOut(report.ranks.size());
}

std::string EnergyRows(const Report& report) {
  // A row of equal devices has the numbers of one.
  const bool classes = HasClasses(report);
  Table table({"device", "metric", "host", "source", classes ? "energy of each" : "energy",
               classes ? "power of each" : "mean power", ""});
  for (const EnergyRow& row : report.energy) {
    table.Add({DeviceText(row.device, row.devices, 20), Fit(row.metric, 16), Fit(row.host, 10),
               row.source + (row.modelled ? " (modelled)" : ""), NumberText(row.joules) + " J",
               NumberText(row.mean_watts) + " W", row.in_total ? "" : "(within another)"});
  }
  return table.Empty() ? "" : table.Text(4);
}

std::string EnergySection(const Report& report, const Style& style) {
  const std::string line = EnergyLine(report, style);
  return (line.empty() ? "" : "\n" + line) + EnergyRows(report) + EnergyText(report, style);
}

std::string ThermalSection(const Report& report, const Style& style) {
  return ThermalText(report.thermal, style);
}

std::string MetricSection(const Report& report, const Style& style) {
  const std::string rows = MetricRows(report, report.metrics.size());
  const bool temperatures = std::any_of(report.metrics.begin(), report.metrics.end(),
                                        [](const MetricRow& row) { return row.unit == "celsius"; });
  return (rows.empty() ? "" : Heading(style, "Telemetry", "measured iterations") + rows) +
         (temperatures || IsSimulated(report.manifest)
              ? ""
              : "  temperatures: no source on this machine\n");
}

std::string NoteSection(const Report& report, const Style& style) {
  if (report.notes.empty() && report.diagnostics.empty()) {
    return "";
  }
  std::string text = Heading(style, "Notes", "");
  for (const std::string& note : report.notes) {
    text += Wrap("  - " + note, kConsoleWidth, 4);
  }
  for (const CounterSentence& counted : DescribeCounters(report.diagnostics)) {
    text += Wrap("  - " + counted.text, kConsoleWidth, 4);
  }
  return text;
}

struct ReportSection {
  const char* name;
  std::string (*text)(const Report&, const Style&);  // empty: the run has nothing for it
};

constexpr ReportSection kReportSections[] = {
    {"verdict", VerdictLines},
    {"step", StepSection},
    {"classes", ClassSection},
    {"phases", PhaseSection},
    {"shapes", ShapeSection},
    {"difference", DifferenceText},
    {"nodes", NodeErrorsText},
    {"operations", TopDifferencesText},
    {"critical-path", CriticalPathText},
    {"threads", ActorsText},
    {"overlap", OverlapText},
    {"values", ValuesText},
    {"transfers", CollectiveSection},
    {"ranks", RankSection},
    {"energy", EnergySection},
    {"thermal", ThermalSection},
    {"telemetry", MetricSection},
    {"notes", NoteSection},
};

const ReportSection* FindRow(const std::string& name) {
  const auto* const found =
      std::find_if(std::begin(kReportSections), std::end(kReportSections),
                   [&name](const ReportSection& section) { return section.name == name; });
  return found == std::end(kReportSections) ? nullptr : found;
}

}  // namespace

std::string FullText(const Report& report, bool colour) {
  const Style style = MakeStyle(colour);
  std::string text;
  for (const ReportSection& section : kReportSections) {
    text += section.text(report, style);
  }
  return text;
}

Status FindSection(const std::string& name) {
  if (FindRow(name) == nullptr) {
    return UsageError(fmt::format("report: --section '{}' is none of {}{}", name,
                                  fmt::join(SectionNames(), ", "),
                                  DidYouMean(name, SectionNames())));
  }
  return {};
}

Result<std::string> SectionText(const Report& report, const std::string& name, bool colour) {
  REPRISE_TRY(FindSection(name));
  const std::string text = FindRow(name)->text(report, MakeStyle(colour));
  return text.empty() ? fmt::format("{}: this run has nothing for it\n", name)
                      : text.substr(text.front() == '\n' ? 1 : 0);
}

std::vector<std::string> SectionNames() {
  std::vector<std::string> names;
  for (const ReportSection& section : kReportSections) {
    names.emplace_back(section.name);
  }
  return names;
}

}  // namespace reprise
