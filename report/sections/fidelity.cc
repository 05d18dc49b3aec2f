// How near a replay came to its recording (report/values/fidelity_values.h), a section for each
// measure. Their JSON stands in the object "fidelity", which the step's begins.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/json_fields.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/part_meaning.h"
#include "report/text/verdict.h"
#include "report/text/verdict_warnings.h"

namespace reprise {

inline void to_json(Json& json, const DifferenceRow& row) {
  json = {{"name", row.name},
          {"class", row.kind == DifferenceRow::Kind::kClass},
          {"difference_ns", row.ns}};
}
REPRISE_JSON_FIELDS(Difference, iteration, recorded_ns, replayed_ns, parts)
REPRISE_JSON_FIELDS(NodeErrors, count, mean_absolute_error, p05, p25, p50, p75, p95, within_tenth)
inline void to_json(Json& json, const TopDifferenceRow& row) {
  json = {{"name", row.name}, {"class", row.op_class}};
  REPRISE_ADD_FIELDS(json, row, kernel, count, recorded_ns, replayed_ns)
  json["likely_cause"] = row.cause;
}
REPRISE_JSON_FIELDS(PathRow, name, recorded_ns, replayed_ns)
REPRISE_JSON_FIELDS(GainRow, name, time_ns, gain_ns)
REPRISE_JSON_FIELDS(ActorRow, name, nodes, recorded_busy_ns, replayed_busy_ns, recorded_gaps_ns,
                    replayed_gaps_ns, order_changes)
REPRISE_JSON_FIELDS(OverlapRow, rank, group, recorded_ns, replayed_ns, recorded_exposed_ns,
                    replayed_exposed_ns)

namespace {

constexpr std::size_t kMaxFidelityRows = 16;

std::string DifferenceTable(const Difference& difference, const std::string& replayed,
                            const Style& style) {
  Table table({"part", "difference", "of the step"});
  std::int64_t rest_ns = 0;
  for (std::size_t i = 0; i < difference.parts.size(); ++i) {
    const DifferenceRow& row = difference.parts[i];
    if (i >= kMaxFidelityRows) {
      rest_ns += row.ns;
      continue;
    }
    table.Add(
        {row.name, SignedDurationText(row.ns),
         ErrorText(static_cast<double>(row.ns) / static_cast<double>(difference.recorded_ns))},
        std::string(PartMeaning(row.name)));
  }
  if (rest_ns != 0) {
    table.Add({"others", SignedDurationText(rest_ns), ""});
  }
  const std::int64_t all_ns = difference.replayed_ns - difference.recorded_ns;
  table.Add({"all", SignedDurationText(all_ns),
             ErrorText(static_cast<double>(all_ns) / static_cast<double>(difference.recorded_ns))});
  return Heading(style, "What the difference is made of",
                 fmt::format("iteration {}, the whole trace: recorded {}, {} {}",
                             difference.iteration, DurationText(difference.recorded_ns), replayed,
                             DurationText(difference.replayed_ns))) +
         table.Text();
}

std::string DifferenceText(const Report& report, const Style& style) {
  if (IsMonitored(report.manifest) || !HasRecordedTimes(report)) {
    return "";
  }
  return report.details.difference
             ? DifferenceTable(*report.details.difference, ReplayedName(report.verdict), style)
             : Heading(style, "What the difference is made of", "") +
                   Wrap("  not known: " + report.details.why_not, kConsoleWidth, 2);
}

std::string NodeLine(const NodeErrors& nodes, bool error) {
  return Wrap(fmt::format("  {} of {} nodes, weighted by their recorded time: 5 % of it below {}, "
                          "25 % below {}, median {}, 25 % above {}, 5 % above {}; mean |{}| "
                          "{:.1f} %; {:.1f} % of the time within 10 %",
                          error ? "Error" : "Difference", nodes.count, ErrorText(nodes.p05),
                          ErrorText(nodes.p25), ErrorText(nodes.p50), ErrorText(nodes.p75),
                          ErrorText(nodes.p95), error ? "error" : "difference",
                          100 * nodes.mean_absolute_error, 100 * nodes.within_tenth),
              kConsoleWidth, 2);
}

std::string NodeErrorsText(const Report& report, const Style& style) {
  return report.details.nodes && HasRecordedTimes(report)
             ? Heading(style, "Nodes", "") +
                   NodeLine(*report.details.nodes, IsError(report.verdict))
             : "";
}

// Each row's cause is a line below it.
std::string TopDifferencesText(const Report& report, const Style& style) {
  const FidelityDetails& details = report.details;
  if (!HasRecordedTimes(report)) {
    return "";
  }
  Table table(
      {"operation", "count", "recorded", ReplayedName(report.verdict), RatioName(report.verdict)});
  for (const TopDifferenceRow& row : details.top_differences) {
    table.Add({Fit(row.name, 40), fmt::format("{}", row.count), DurationText(row.recorded_ns),
               DurationText(row.replayed_ns),
               RatioText(report.verdict, row.replayed_ns, row.recorded_ns)},
              row.cause);
  }
  return TitledTable(style, "Largest differences", "medians; with a likely cause", table);
}

std::string CriticalPathText(const Report& report, const Style& style) {
  const FidelityDetails& details = report.details;
  const bool recorded = HasRecordedTimes(report);
  Table table({"on the critical path", If(recorded, "recorded"), ReplayedName(report.verdict),
               If(recorded, RatioName(report.verdict))});
  for (const PathRow& row : details.critical_path) {
    table.Add({row.name, DurationText(row.recorded_ns), DurationText(row.replayed_ns),
               RatioText(report.verdict, row.replayed_ns, row.recorded_ns)});
  }
  return TitledTable(style, "Critical path", "", table);
}

std::string GainsText(const Report& report, const Style& style) {
  const std::int64_t step_ns =
      report.details.difference ? report.details.difference->replayed_ns : 0;
  Table table({"without the time of", "time", "gain", If(step_ns > 0, "of the step")});
  for (const GainRow& row : report.details.gains) {
    table.Add({row.name, DurationText(row.time_ns), DurationText(row.gain_ns),
               step_ns == 0 ? ""
                            : fmt::format("{:.1f} %", 100 * static_cast<double>(row.gain_ns) /
                                                          static_cast<double>(step_ns))});
  }
  return TitledTable(
      style, "Gains",
      "what the step would take less if a class took no time; times of all ranks of the run",
      table);
}

std::string ActorsText(const Report& report, const Style& style) {
  const FidelityDetails& details = report.details;
  const bool recorded = HasRecordedTimes(report);
  const std::string own = ReplayedName(report.verdict);
  Table table({"thread or stream", "nodes", If(recorded, "busy"), recorded ? own : "busy",
               If(recorded, RatioName(report.verdict)), If(recorded, "gaps"),
               recorded ? own : "gaps", If(recorded, "order")});
  for (const ActorRow& row : First(kMaxFidelityRows, details.actors)) {
    table.Add({Fit(row.name, 30), fmt::format("{}", row.nodes), DurationText(row.recorded_busy_ns),
               DurationText(row.replayed_busy_ns),
               RatioText(report.verdict, row.replayed_busy_ns, row.recorded_busy_ns),
               DurationText(row.recorded_gaps_ns), DurationText(row.replayed_gaps_ns),
               row.order_changes == 0 ? "kept" : fmt::format("{} changed", row.order_changes)});
  }
  return TitledTable(style, "Threads and streams", "gaps: between nodes that count", table) +
         RowsLeftOut(details.actors.size(), kMaxFidelityRows, "more");
}

std::string OverlapText(const Report& report, const Style& style) {
  const FidelityDetails& details = report.details;
  const bool recorded = HasRecordedTimes(report);
  const std::string own = ReplayedName(report.verdict);
  Table table({"rank", "group", If(recorded, "transfers"), recorded ? own : "transfers",
               If(recorded, "exposed"), recorded ? own : "exposed",
               If(recorded, RatioName(report.verdict))});
  for (const OverlapRow& row : First(kMaxFidelityRows, details.overlap)) {
    table.Add({fmt::format("{}", row.rank), Fit(row.group, 16), DurationText(row.recorded_ns),
               DurationText(row.replayed_ns), DurationText(row.recorded_exposed_ns),
               DurationText(row.replayed_exposed_ns),
               RatioText(report.verdict, row.replayed_exposed_ns, row.recorded_exposed_ns)});
  }
  return TitledTable(style, "Overlap",
                     "exposed: no operation of the rank runs meanwhile; waiting for other ranks "
                     "included",
                     table, 2) +
         RowsLeftOut(details.overlap.size(), kMaxFidelityRows, "more");
}

void AddDifferenceJson(const Report& report, Json& json) {
  json["fidelity"]["difference"] = report.details.difference;
  json["fidelity"]["difference_unknown_because"] = NullIfEmpty(report.details.why_not);
}

void AddNodesJson(const Report& report, Json& json) {
  json["fidelity"]["nodes"] = report.details.nodes;
}

void AddTopDifferencesJson(const Report& report, Json& json) {
  json["fidelity"]["offenders"] = report.details.top_differences;
}

void AddCriticalPathJson(const Report& report, Json& json) {
  json["fidelity"]["critical_path"] = report.details.critical_path;
}

void AddGainsJson(const Report& report, Json& json) {
  json["fidelity"]["gains"] = report.details.gains;
}

void AddActorsJson(const Report& report, Json& json) {
  json["fidelity"]["actors"] = report.details.actors;
}

void AddOverlapJson(const Report& report, Json& json) {
  json["fidelity"]["overlap"] = report.details.overlap;
}

void CutActors(const HtmlLimits& limits, Cutter& cutter, Report& report) {
  cutter.Cut("actors", limits.rows, report.details.actors, [](const ActorRow& row) {
    return std::abs(row.replayed_busy_ns - row.recorded_busy_ns);
  });
}

void CutOverlap(const HtmlLimits& limits, Cutter& cutter, Report& report) {
  cutter.Cut("overlap", 4 * limits.rows, report.details.overlap, [](const OverlapRow& row) {
    return std::max(row.replayed_exposed_ns, row.recorded_exposed_ns);
  });
}

}  // namespace

Section DifferenceSection() {
  return {.name = "difference", .console = DifferenceText, .json = AddDifferenceJson};
}

Section NodesSection() {
  return {.name = "nodes", .console = NodeErrorsText, .json = AddNodesJson};
}

Section OperationsSection() {
  return {.name = "operations", .console = TopDifferencesText, .json = AddTopDifferencesJson};
}

Section CriticalPathSection() {
  return {.name = "critical-path", .console = CriticalPathText, .json = AddCriticalPathJson};
}

Section GainsSection() { return {.name = "gains", .console = GainsText, .json = AddGainsJson}; }

Section ThreadsSection() {
  return {.name = "threads", .console = ActorsText, .json = AddActorsJson, .cut = CutActors};
}

Section OverlapSection() {
  return {.name = "overlap", .console = OverlapText, .json = AddOverlapJson, .cut = CutOverlap};
}

}  // namespace reprise
