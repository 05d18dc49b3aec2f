#include "report/page/html_data.h"

#include <fmt/format.h>

#include <cstdlib>

#include "report/sections/report_json.h"
#include "report/sections/rows_json.h"
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

// Whole microseconds: telemetry knows no finer.
Json Microseconds(const std::vector<std::int64_t>& times_ns) {
  Json json = Json::array();
  for (const std::int64_t time_ns : times_ns) {
    json.push_back(time_ns / 1'000);
  }
  return json;
}

Json StepJson(const StepClassRow& row) {
  return {row.rank, row.step, row.iteration, row.step_ns, row.class_ns};
}

Json StragglerJson(const StragglerRow& row) {
  return {{"rank", row.rank},
          {"transfers", row.transfers},
          {"last", row.last},
          {"recorded_waited_ns", row.recorded_waited_ns},
          {"replayed_waited_ns", row.replayed_waited_ns},
          {"caused_ns", row.caused_ns}};
}

Json SeriesJson(const TelemetrySeries& row) {
  return {{"device", row.device},     {"metric", row.metric},
          {"unit", row.unit},         {"source", row.source},
          {"modelled", row.modelled}, {"ranks", row.ranks},
          {"mean", Short(row.mean)},  {"max", Short(row.max)},
          {"binned", row.binned},     {"times_us", Microseconds(row.times_ns)},
          {"low", Shorts(row.low)},   {"high", Shorts(row.high)}};
}

Json IterationJson(const TelemetryIteration& row) {
  return {{"iteration", row.iteration},
          {"warmup", row.warmup},
          {"begin_ns", row.begin_ns},
          {"end_ns", row.end_ns}};
}

Json HostJson(const TelemetryHost& host) {
  Json running = Json::array();
  for (const std::vector<double>& of_class : host.running) {
    running.push_back(Shorts(of_class));
  }
  return {{"host", host.host},
          {"sampled_by", host.sampled_by},
          {"ranks", host.ranks},
          {"begin_ns", host.begin_ns},
          {"end_ns", host.end_ns},
          {"series", RowsJson(host.series, SeriesJson)},
          {"iterations", RowsJson(host.iterations, IterationJson)},
          {"bin_ns", host.bin_ns},
          {"classes", host.classes},
          {"running", std::move(running)}};
}

}  // namespace

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
  json["steps"] = {{"classes", steps.classes},
                   {"recorded", RowsJson(steps.recorded, StepJson)},
                   {"replayed", RowsJson(steps.replayed, StepJson)}};
  json["stragglers"] = RowsJson(stragglers, StragglerJson);
  json["telemetry"] = RowsJson(telemetry.hosts, HostJson);
  json["left_out"] = left_out;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace reprise
