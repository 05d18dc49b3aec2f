// The report as `reprise report` and the end of a replay print it: at most 40 lines.
#include "report/text/short_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/counted.h"
#include "core/text_in.h"
#include "report/text/console_lines.h"
#include "report/text/table.h"
#include "report/text/verdict.h"
#include "report/text/verdict_warnings.h"
#include "report/values/report.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxShortClasses = 5;
constexpr std::size_t kMaxShortMetrics = 12;
constexpr std::size_t kMaxShortPhases = 4;
// The command adds two lines below.
constexpr std::size_t kMaxShortLines = 38;
constexpr std::size_t kMaxShortWarnings = 5;

std::string ShortVerdict(const Report& report, const Style& style) {
  const std::size_t warnings = report.verdict.warnings.size();
  return VerdictLines(report.verdict, kMaxShortWarnings, style) +
         (warnings > kMaxShortWarnings
              ? fmt::format("  ! {} more: --section verdict\n", warnings - kMaxShortWarnings)
              : "") +
         "\n";
}

std::string StepLine(const Report& report, const Style& style) {
  std::string text =
      ReplayedName(report.verdict) + " " + DurationText(report.step_time_replayed_ns);
  if (report.iterations > 1) {
    text += fmt::format(" ({} iterations: {} to {})", report.iterations,
                        DurationText(report.step_time_replayed_min_ns),
                        DurationText(report.step_time_replayed_max_ns));
  }
  if (IsRecorded(report.manifest)) {
    return "";  // the verdict has it
  }
  if (!HasRecordedTimes(report)) {
    return SummaryLine("Step", text + "; " + kNoRecordedStep, style);
  }
  text += "; job ";
  text += report.step_time_untraced_ns ? DurationText(report.step_time_untraced_ns) + " untraced, "
                                       : "unknown untraced, ";
  return SummaryLine("Step", text + DurationText(report.step_time_recorded_ns) + " traced", style);
}

std::string OperationLine(const Report& report, const Style& style) {
  const Fidelity& fidelity = report.fidelity;
  const bool deducted =
      fidelity.untraced_work_error &&
      (report.verdict.untraced || report.verdict.kind != Verdict::Kind::kSimulated);
  const auto error = deducted ? fidelity.untraced_work_error : fidelity.work_error;
  if (!error) {
    return "";
  }
  const std::string ratio = IsError(report.verdict) ? PercentChangeText(*error) + " against"
                                                    : NumberText(1 + *error) + " of";
  return SummaryLine("Operations",
                     fmt::format("{} their recorded time, {} tracing", ratio,
                                 deducted ? "without the estimated cost of" : "with the cost of"),
                     style);
}

// Whose kernels the operations' times are of.
std::string KernelLine(const Report& report, const Style& style) {
  if (report.coverage.real <= 0 || !Runs(report.manifest)) {
    return "";
  }
  const std::string kernels = TextIn(report.manifest.versions, "device_kernels");
  return kernels.empty() ? "" : SummaryLine("Kernels", kernels, style);
}

// The classes that take most time, of one step on one rank, and what is left of the step: the
// column of differences ends at the verdict's. Of sets without recorded times, shares of the step.
class ShortClassTable {
 public:
  explicit ShortClassTable(const Report& report)
      : report_(report),
        recorded_(HasRecordedTimes(report)),
        beside_(!recorded_ || RanBesideOthers(report)),
        steps_(RankSteps(report)),
        table_({"class", If(recorded_, "recorded"), ReplayedName(report.verdict),
                If(recorded_, "difference"), If(recorded_, RatioName(report.verdict)),
                If(!recorded_, "of the step")}) {}

  std::string Text(const Style& style) {
    if (report_.classes.empty() || steps_ == 0) {
      return "";
    }
    AddClasses();
    const Verdict& verdict = report_.verdict;
    bool overlaps = false;
    if (verdict.replayed_ns && (verdict.job_ns || !recorded_)) {
      const std::int64_t job_ns = recorded_ ? *verdict.job_ns : 0;
      // Classes that overlap add up to more than the step. That is no pause of negative length.
      const Times rest{job_ns - sum_.recorded_ns, *verdict.replayed_ns - sum_.replayed_ns};
      overlaps = (recorded_ && rest.recorded_ns < 0) || rest.replayed_ns < 0;
      Add("pauses, waits", std::max<std::int64_t>(rest.recorded_ns, 0),
          std::max<std::int64_t>(rest.replayed_ns, 0));
      if (overlaps) {
        Add(beside_ ? "overlap *" : "slowed down *", std::min<std::int64_t>(rest.recorded_ns, 0),
            std::min<std::int64_t>(rest.replayed_ns, 0));
      }
      Add("step", job_ns, *verdict.replayed_ns);
    }
    const std::int64_t ranks = RanksOf(report_);
    return Heading(style, "Where the time is",
                   fmt::format("one step on a rank, the mean{}{}",
                               ranks > 1 ? fmt::format(" of {}", ranks) : "",
                               report_.verdict.untraced ? "; recorded: without tracing" : "")) +
           table_.Text() + (overlaps ? OverlapNote() : "");
  }

 private:
  // Which of the two it is, the estimate of what tracing took does not say.
  [[nodiscard]] std::string OverlapNote() const {
    if (!beside_) {
      return "  * more than the untraced step: the recorded operations were slowed down, by other\n"
             "    programs or by tracing beyond its estimated cost\n";
    }
    return report_.verdict.untraced ? "  * ran beside another class, counted in both; recorded: "
                                      "also tracing beyond its estimated cost\n"
                                    : "  * ran beside another class, counted in both\n";
  }

  struct Times {
    std::int64_t recorded_ns = 0, replayed_ns = 0;
  };

  void AddClasses() {
    const auto rows = LargestFirst(report_.classes, [](const ClassRow& row) {
      return std::max(row.recorded_ns, row.replayed_ns.value_or(0));
    });
    Times others;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t recorded_ns =
          ComparedNs(report_.verdict, rows[i]->recorded_ns, rows[i]->tracing_ns);
      const Times times{recorded_ns / steps_, rows[i]->replayed_ns.value_or(0) / steps_};
      sum_.recorded_ns += times.recorded_ns;
      sum_.replayed_ns += times.replayed_ns;
      if (i < kMaxShortClasses) {
        Add(rows[i]->name, times.recorded_ns, times.replayed_ns);
      } else {
        others.recorded_ns += times.recorded_ns;
        others.replayed_ns += times.replayed_ns;
      }
    }
    if (rows.size() > kMaxShortClasses) {
      Add(fmt::format("{} more classes", rows.size() - kMaxShortClasses), others.recorded_ns,
          others.replayed_ns);
    }
  }

  void Add(const std::string& name, std::int64_t recorded_ns, std::int64_t replayed_ns) {
    const auto step_ns = static_cast<double>(report_.verdict.replayed_ns.value_or(0));
    table_.Add({name, DurationText(recorded_ns), DurationText(replayed_ns),
                SignedDurationText(replayed_ns - recorded_ns),
                RatioText(report_.verdict, replayed_ns, recorded_ns),
                step_ns > 0
                    ? fmt::format("{:.1f} %", 100 * static_cast<double>(replayed_ns) / step_ns)
                    : "-"});
  }

  const Report& report_;
  const bool recorded_;
  const bool beside_;  // classes may overlap
  std::int64_t steps_ = 0;
  Table table_;
  Times sum_;  // of all classes
};

std::string TransferLine(const Report& report, const Style& style) {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t recorded_ns = 0;
  std::int64_t replayed_ns = 0;
  for (const CollectiveRow& row : report.collectives) {
    count += row.count;
    bytes += row.count * row.bytes;
    recorded_ns += row.recorded_sum_ns;
    replayed_ns += row.replayed_sum_ns;
  }
  if (count == 0) {
    return "";
  }
  const std::int64_t steps = report.ranks.front().recorded_steps;
  return SummaryLine(
      "Transfers",
      fmt::format(
          "{}{}, {} in all: {}{} {}, from the last arrival on", count,
          steps > 1 ? fmt::format(" in {} steps", steps) : "", BytesText(bytes),
          HasRecordedTimes(report) ? fmt::format("recorded {}, ", DurationText(recorded_ns)) : "",
          ReplayedName(report.verdict), DurationText(replayed_ns)),
      style);
}

std::string RankLine(const Report& report, const Style& style) {
  std::set<std::string> hosts;
  const RankRow* slowest = nullptr;
  const RankRow* fastest = nullptr;
  for (const RankRow& row : report.ranks) {
    hosts.insert(row.host);
    if (row.step_time_replayed_ns) {
      slowest = slowest == nullptr || row.step_time_replayed_ns > slowest->step_time_replayed_ns
                    ? &row
                    : slowest;
      fastest = fastest == nullptr || row.step_time_replayed_ns < fastest->step_time_replayed_ns
                    ? &row
                    : fastest;
    }
  }
  const bool folded = HasClasses(report);
  std::string text =
      folded ? fmt::format("{} in {} of equal ones", RanksOf(report),
                           Counted(report.ranks.size(), "class"))
      : IsSimulated(report.manifest)
          ? fmt::format("{} simulated", report.ranks.size())
          : fmt::format("{} on {}", report.ranks.size(), Counted(hosts.size(), "host"));
  if (slowest != nullptr && slowest == fastest && report.ranks.size() > 1) {
    text += ": all with " + DurationText(slowest->step_time_replayed_ns);
  } else if (slowest != fastest) {
    const auto name = [folded](const RankRow& row) {
      return folded ? ClassText(row) : fmt::format("rank {}", row.rank);
    };
    text += fmt::format(": slowest {} with {}, fastest {} with {}", name(*slowest),
                        DurationText(slowest->step_time_replayed_ns), name(*fastest),
                        DurationText(fastest->step_time_replayed_ns));
  }
  return SummaryLine("Ranks", text, style);
}

// One line, however much is missing.
std::string MissingLine(const Report& report, const Style& style) {
  if (!Runs(report.manifest)) {
    return "";
  }
  std::vector<std::string> missing;
  const bool temperatures = std::ranges::any_of(
      report.metrics, [](const MetricRow& row) { return row.unit == "celsius"; });
  if (!temperatures) {
    missing.emplace_back("temperatures");
  }
  missing.insert(missing.end(), report.missing_sources.begin(), report.missing_sources.end());
  if (missing.empty()) {
    return "";
  }
  std::string text = fmt::format("{}", fmt::join(missing, ", "));
  constexpr std::size_t kRoom = 50;
  if (text.size() > kRoom) {
    text = text.substr(0, text.rfind(", ", kRoom)) + ", ..";
  }
  return SummaryLine("Not measured", text + " (why: --section notes)", style);
}

std::string ShortMonitored(const Report& report, const Style& style) {
  const std::string metrics = MetricRows(report, kMaxShortMetrics);
  return ShortVerdict(report, style) + RankLine(report, style) + EnergyLine(report, style) +
         MissingLine(report, style) +
         (metrics.empty() ? "" : Heading(style, "Telemetry", "") + metrics);
}

}  // namespace

std::string ShortText(const Report& report, bool colour) {
  const Style style = MakeStyle(colour);
  if (IsMonitored(report.manifest)) {
    return ShortMonitored(report, style);
  }
  const std::string text =
      ShortVerdict(report, style) + CoverageLine(report, style) + StepLine(report, style) +
      OperationLine(report, style) + SourceLine(report, style) + KernelLine(report, style) +
      TransferLine(report, style) + RankLine(report, style) + EnergyLine(report, style) +
      MissingLine(report, style) + ShortClassTable(report).Text(style);
  const std::string phases = PhaseUsesText(report, style, kMaxShortPhases);
  const auto lines =
      std::count(text.begin(), text.end(), '\n') + std::count(phases.begin(), phases.end(), '\n');
  return std::cmp_less_equal(lines, kMaxShortLines) ? text + phases : text;
}

}  // namespace reprise
