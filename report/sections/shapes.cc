#include <fmt/format.h>

#include "core/json_fields.h"
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
  Table table({"operation", "shapes of inputs", "count", If(recorded, "recorded"),
               ReplayedName(verdict), If(recorded, RatioName(verdict)), If(sources, "times from")});
  for (const ShapeRow& row : First(kMaxShapes, report.shapes)) {
    const std::int64_t compared_ns = ComparedNs(verdict, row.recorded_ns, row.tracing_ns);
    table.Add({Fit(row.name, sources ? 22 : 26),
               row.shape.empty() ? "-" : Fit(row.shape, sources ? 24 : 34),
               fmt::format("{}", row.count), DurationText(compared_ns),
               DurationText(row.replayed_ns), RatioText(verdict, row.replayed_ns, compared_ns),
               MainSourceText(row.from_ns)});
  }
  const std::string more =
      fmt::format("{} first; all ranks and {}steps{}", recorded ? "largest difference" : "longest",
                  recorded ? "recorded " : "", verdict.untraced ? "; recorded less tracing" : "");
  return TitledTable(style, "Operations by shape", more, table, 2) +
         RowsLeftOut(report.shapes.size(), kMaxShapes, "rows more");
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
