#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/sections/json_fields.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/verdict.h"
#include "report/text/verdict_warnings.h"

namespace reprise {

REPRISE_JSON_FIELDS(CollectiveRow, name, group, group_size, bytes, count, mode, recorded_ns,
                    replayed_ns, algbw_gb_per_s, busbw_gb_per_s, clock)

namespace {

constexpr std::size_t kMaxCollectives = 24;

std::string TransfersText(const Report& report, const Style& style) {
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
  const std::string text =
      Heading(style, "Transfers",
              fmt::format("{}median from the last arrival; GB/s of 10^9 bytes",
                          HasClasses(report) ? "all groups of a role; " : "")) +
      table.Text(replayed ? 3 : 2);
  return text + RowsLeftOut(rows.size(), kMaxCollectives, "rows more");
}

void AddTransfersJson(const Report& report, Json& json) {
  json["collectives"] = report.collectives;
}

void CutTransfers(const HtmlLimits& limits, Cutter& cutter, Report& report) {
  cutter.Cut("collectives", limits.rows, report.collectives, [](const CollectiveRow& row) {
    return row.count * row.replayed_ns.value_or(row.recorded_ns);
  });
}

}  // namespace

Section TransfersSection() {
  return {
      .name = "transfers", .console = TransfersText, .json = AddTransfersJson, .cut = CutTransfers};
}

}  // namespace reprise
