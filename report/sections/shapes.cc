#include <fmt/format.h>

#include <algorithm>

#include "report/sections/json_fields.h"
#include "report/sections/report_json.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/time_sources.h"
#include "report/text/verdict.h"

namespace reprise {

inline void to_json(Json& json, const ShapeRow& row) {
  json = {{"name", row.name}, {"class", row.op_class}};
  REPRISE_ADD_FIELDS(json, row, shape, count, recorded_ns, tracing_ns, replayed_ns)
  json["time_from_ns"] = SourcesJson(row.from_ns);
}

namespace {

constexpr std::size_t kMaxShapes = 40;

std::string ShapesText(const Report& report, const Style& style) {
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
  const std::string text =
      table.Empty() ? ""
                    : Heading(style, "Operations by shape",
                              fmt::format("{} first; all ranks and {}steps{}",
                                          recorded ? "largest difference" : "longest",
                                          recorded ? "recorded " : "",
                                          verdict.untraced ? "; recorded less tracing" : "")) +
                          table.Text(2);
  return text + RowsLeftOut(report.shapes.size(), kMaxShapes, "rows more");
}

void AddShapesJson(const Report& report, Json& json) { json["shapes"] = report.shapes; }

void CutShapes(const HtmlLimits& limits, Cutter& cutter, Report& report) {
  cutter.Cut("shapes", limits.rows, report.shapes);  // the largest difference comes first
}

}  // namespace

Section ShapesSection() {
  return {.name = "shapes", .console = ShapesText, .json = AddShapesJson, .cut = CutShapes};
}

}  // namespace reprise
