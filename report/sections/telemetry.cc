#include <algorithm>

#include "core/json_fields.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/verdict_warnings.h"

namespace reprise {

REPRISE_JSON_FIELDS(MetricRow, host, device, metric, unit, source, modelled, rate, min, mean, max,
                    update_ns, ranks, devices)

namespace {

std::string TelemetryText(const Report& report, const Style& style) {
  const std::string rows = MetricRows(report, report.metrics.size());
  const bool temperatures = std::ranges::any_of(
      report.metrics, [](const MetricRow& row) { return row.unit == "celsius"; });
  return (rows.empty() ? "" : Heading(style, "Telemetry", "measured iterations") + rows) +
         (temperatures || !Runs(report.manifest) ? ""
                                                 : "  temperatures: no source on this machine\n");
}

void AddTelemetryJson(const Report& report, Json& json) { json["metrics"] = report.metrics; }

void CutTelemetry(const HtmlLimits& limits, Cutter& cutter, Report& report) {
  cutter.Cut("metrics", limits.rows, report.metrics);
}

}  // namespace

Section TelemetrySection() {
  return {
      .name = "telemetry", .console = TelemetryText, .json = AddTelemetryJson, .cut = CutTelemetry};
}

}  // namespace reprise
