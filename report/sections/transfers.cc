#include <fmt/format.h>

#include <optional>
#include <vector>

#include "core/json_fields.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/verdict.h"
#include "report/text/verdict_warnings.h"

namespace reprise {

REPRISE_JSON_FIELDS(CollectiveRow, name, group, group_size, bytes, count, mode, recorded_ns,
                    replayed_ns, algbw_gb_per_s, busbw_gb_per_s, clock)

namespace {

constexpr std::size_t kMaxCollectives = 24;

std::int64_t TotalNs(const CollectiveRow& row) {
  return row.count * row.replayed_ns.value_or(row.recorded_ns.value_or(0));
}

std::string TransfersText(const Report& report, const Style& style) {
  // Where not all fit, those that take the most time do.
  const std::vector<const CollectiveRow*> rows = LargestFirst(report.collectives, TotalNs);
  const bool recorded = HasRecordedTimes(report);
  const bool replayed = IsReplay(report.manifest);  // else every mode is timed
  Table table({"collective", "group", If(replayed, "mode"), "ranks", "bytes", "count",
               If(recorded, "recorded"), ReplayedName(report.verdict), "algbw", "busbw"});
  for (const CollectiveRow* row : First(kMaxCollectives, rows)) {
    table.Add({row->name, Fit(row->group, 12), std::string(Name(row->mode)),
               fmt::format("{}", row->group_size), BytesText(row->bytes),
               fmt::format("{}", row->count), DurationText(row->recorded_ns),
               DurationText(row->replayed_ns), NumberText(row->algbw_gb_per_s),
               NumberText(row->busbw_gb_per_s)});
  }
  const std::string more = fmt::format("{}median from the last arrival; GB/s of 10^9 bytes",
                                       HasClasses(report) ? "all groups of a role; " : "");
  return TitledTable(style, "Transfers", more, table, replayed ? 3 : 2) +
         RowsLeftOut(rows.size(), kMaxCollectives, "rows more");
}

void AddTransfersJson(const Report& report, Json& json) {
  json["collectives"] = report.collectives;
}

void CutTransfers(const HtmlLimits& limits, Cutter& cutter, Report& report) {
  cutter.Cut("collectives", limits.rows, report.collectives, TotalNs);
}

}  // namespace

Section TransfersSection() {
  return {
      .name = "transfers", .console = TransfersText, .json = AddTransfersJson, .cut = CutTransfers};
}

}  // namespace reprise
