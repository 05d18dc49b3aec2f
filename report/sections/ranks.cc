#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/json_fields.h"
#include "report/sections/report_json.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/verdict.h"
#include "report/text/verdict_warnings.h"

namespace reprise {

REPRISE_JSON_FIELDS(DeviceLimitRow, device, ranks, gflop_per_s, gb_per_s)
inline void to_json(Json& json, const RankRow& row) {
  REPRISE_ADD_FIELDS(json, row, rank, alike)
  json["members"] = NullIfEmpty(row.members);
  REPRISE_ADD_FIELDS(json, row, host, device, nodes, iterations, coverage)
  json["covered_ns"] = row.recorded_ns;
  REPRISE_ADD_FIELDS(json, row, step_time_recorded_ns, step_time_replayed_ns, clock_uncertainty_ns,
                     host_ns, wait_ns, delay_ns)
}

namespace {

// The limits that ranks measured before they ran.
std::vector<DeviceLimitRow> CollectLimits(const RunData& run, const std::vector<RankRow>& rows) {
  std::map<std::string, DeviceLimitRow> limits;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const RankFacts& facts = run.ranks[r].facts;
    const double gflop_per_s = facts.device_flops_per_second.value_or(0) * 1e-9;
    const double gb_per_s = facts.device_bytes_per_second.value_or(0) * 1e-9;
    if (gflop_per_s > 0 && gb_per_s > 0) {
      DeviceLimitRow& row = limits[rows[r].device];
      row.device = rows[r].device;
      row.ranks.push_back(rows[r].rank);
      row.gflop_per_s = std::max(row.gflop_per_s, gflop_per_s);
      row.gb_per_s = std::max(row.gb_per_s, gb_per_s);
    }
  }
  std::vector<DeviceLimitRow> out;
  out.reserve(limits.size());
  for (auto& [device, row] : limits) {
    out.push_back(std::move(row));
  }
  return out;
}

void AnalyseRanks(const RunData& outline, Report& report) {
  report.device_limits = CollectLimits(outline, report.ranks);
}

std::string MonitoredRanks(const Report& report, const Style& style) {
  if (report.ranks.size() < 2) {
    return "";
  }
  Table table({"rank", "host", "time"});
  for (const RankRow& row : First(kMaxRankRows, report.ranks)) {
    table.Add(
        {fmt::format("{}", row.rank), Fit(row.host, 24), DurationText(row.step_time_replayed_ns)});
  }
  return TitledTable(style, "Ranks", "the command's time on each", table, 2) +
         RanksLeftOut(report.ranks.size());
}

std::string RanksText(const Report& report, const Style& style) {
  if (IsMonitored(report.manifest)) {
    return MonitoredRanks(report, style);
  }
  const bool recorded = HasRecordedTimes(report);
  const bool hosts = !IsSimulated(report.manifest);
  const bool replayed = IsReplay(report.manifest);
  const bool classes = HasClasses(report);
  Table table({classes ? "class" : "rank", If(classes, "ranks"), If(classes, "which"),
               If(hosts, "host"), "device", If(recorded, "recorded"), ReplayedName(report.verdict),
               If(replayed, "real"), If(recorded, "host"), If(recorded, "wait"),
               If(recorded, "gaps")});
  for (const RankRow& row : First(kMaxRankRows, report.ranks)) {
    table.Add({fmt::format("{}", row.rank), fmt::format("{}", row.alike), Fit(row.members, 30),
               Fit(row.host, 12), Fit(row.device, 22), DurationText(row.step_time_recorded_ns),
               DurationText(row.step_time_replayed_ns),
               fmt::format("{:.1f} %", 100 * row.coverage.real), DurationText(row.host_ns),
               DurationText(row.wait_ns), DurationText(row.delay_ns)});
  }
  return Heading(style, classes ? "Classes of equal ranks" : "Ranks",
                 recorded ? "step times; host, wait and gaps as recorded" : "step times") +
         table.Text(hosts || classes ? 3 : 2) + RanksLeftOut(report.ranks.size());
}

void AddRanksJson(const Report& report, Json& json) {
  REPRISE_ADD_FIELDS(json, report, ranks, device_limits)
}

void CutRanks(const HtmlLimits& limits, Cutter& cutter, Report& report) {
  cutter.Cut("ranks", limits.ranks, report.ranks, [](const RankRow& row) {
    return row.step_time_replayed_ns.value_or(row.step_time_recorded_ns.value_or(0));
  });
}

}  // namespace

Section RanksSection() {
  return {.name = "ranks",
          .analyse = AnalyseRanks,
          .console = RanksText,
          .json = AddRanksJson,
          .cut = CutRanks};
}

}  // namespace reprise
