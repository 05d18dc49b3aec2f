#include <algorithm>

#include "report/sections/rows_json.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/verdict_warnings.h"

namespace reprise {
namespace {

std::string TelemetryText(const Report& report, const Style& style) {
  const std::string rows = MetricRows(report, report.metrics.size());
  const bool temperatures = std::any_of(report.metrics.begin(), report.metrics.end(),
                                        [](const MetricRow& row) { return row.unit == "celsius"; });
  return (rows.empty() ? "" : Heading(style, "Telemetry", "measured iterations") + rows) +
         (temperatures || IsSimulated(report.manifest)
              ? ""
              : "  temperatures: no source on this machine\n");
}

Json MetricJson(const MetricRow& row) {
  return {{"host", row.host},
          {"device", row.device},
          {"metric", row.metric},
          {"unit", row.unit},
          {"source", row.source},
          {"modelled", row.modelled},
          {"rate", row.is_rate},
          {"min", row.min},
          {"mean", row.mean},
          {"max", row.max},
          {"update_ns", OrNull(row.update_ns)},
          {"ranks", row.ranks},
          {"devices", row.devices}};
}

void AddTelemetryJson(const Report& report, Json& json) {
  json["metrics"] = RowsJson(report.metrics, MetricJson);
}

void CutTelemetry(const HtmlLimits& limits, Cutter& cutter, Report& report) {
  cutter.Cut("metrics", limits.rows, report.metrics);
}

}  // namespace

Section TelemetrySection() {
  return {
      .name = "telemetry", .console = TelemetryText, .json = AddTelemetryJson, .cut = CutTelemetry};
}

}  // namespace reprise
