#include "report/page/html_data.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/json_fields.h"
#include "report/sections/report_json.h"
#include "report/sections/section.h"

namespace reprise {
namespace {

// Five digits are more than any reading has, and keep the page small.
Json Short(double value) { return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr); }

Json Shorts(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) {
    json.push_back(Short(value));
  }
  return json;
}

// In whole microseconds, the resolution of telemetry.
Json Microseconds(const std::vector<std::int64_t>& times_ns) {
  Json json = Json::array();
  for (const std::int64_t time_ns : times_ns) {
    json.push_back(time_ns / 1'000);
  }
  return json;
}

}  // namespace

inline void to_json(Json& json, const StepClassRow& row) {
  json = {row.rank, row.step, row.iteration, row.step_ns, row.class_ns};
}
REPRISE_JSON_FIELDS(StepClasses, classes, recorded, replayed)
REPRISE_JSON_FIELDS(StragglerRow, rank, transfers, last, recorded_waited_ns, replayed_waited_ns,
                    caused_ns)
inline void to_json(Json& json, const TelemetrySeries& row) {
  REPRISE_ADD_FIELDS(json, row, device, metric, unit, source, modelled, ranks)
  json["mean"] = Short(row.mean);
  json["max"] = Short(row.max);
  json["binned"] = row.binned;
  json["times_us"] = Microseconds(row.times_ns);
  json["low"] = Shorts(row.low);
  json["high"] = Shorts(row.high);
}
REPRISE_JSON_FIELDS(TelemetryIteration, iteration, warmup, begin_ns, end_ns)
inline void to_json(Json& json, const TelemetryHost& host) {
  REPRISE_ADD_FIELDS(json, host, host, sampled_by, ranks, begin_ns, end_ns, series, iterations,
                     bin_ns, classes)
  json["running"] = Json::array();
  for (const std::vector<double>& of_class : host.running) {
    json["running"].push_back(Shorts(of_class));
  }
}

std::string HtmlDataJson(const Report& report, const PageDetails& details,
                         const HtmlLimits& limits) {
  auto [steps, stragglers, telemetry] = details;
  std::map<std::string, std::int64_t> left_out;
  Cutter cutter(left_out);
  Report cut = report;
  for (const Section& section : Sections()) {
    if (section.cut != nullptr) {
      section.cut(limits, cutter, cut);
    }
  }
  cutter.Cut("stragglers", limits.ranks, stragglers,
             [](const StragglerRow& row) { return row.caused_ns; });
  // One row a rank and step is the least; beyond that they are counted too.
  const std::size_t most_steps = 16 * limits.ranks;
  const auto step_ns = [](const StepClassRow& row) { return row.step_ns; };
  cutter.Cut("steps.recorded", most_steps, steps.recorded, step_ns);
  cutter.Cut("steps.replayed", most_steps, steps.replayed, step_ns);
  if (steps.iterations_left_out > 0) {
    left_out["iterations"] = steps.iterations_left_out;
  }
  if (telemetry.series_left_out > 0) {
    left_out["telemetry.series"] = telemetry.series_left_out;
  }
  Json json;
  json["report"] = ReportJson(cut);
  json["steps"] = steps;
  json["stragglers"] = stragglers;
  json["telemetry"] = telemetry.hosts;
  json["left_out"] = left_out;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace reprise
