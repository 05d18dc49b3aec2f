#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/json_fields.h"
#include "core/text_in.h"
#include "report/compare/compare_runs.h"
#include "report/compare/rows.h"

namespace reprise {
namespace {

// The first number in a label: a sweep's place on its axis.
Json NumberIn(const std::string& label) {
  std::size_t at = 0;
  while (at < label.size() && std::isdigit(static_cast<unsigned char>(label[at])) == 0) {
    ++at;
  }
  if (at == label.size()) {
    return nullptr;
  }
  // Inf and NaN have no JSON.
  const double number = std::strtod(label.c_str() + at, nullptr);
  return std::isfinite(number) ? Json(number) : Json(nullptr);
}

}  // namespace

REPRISE_JSON_FIELDS(Ratio, value, low, high)
inline void to_json(Json& json, const ComparedRun& run) {
  const RunManifest& manifest = run.report.manifest;
  json["path"] = run.path;
  REPRISE_ADD_FIELDS(json, manifest, trace_name, trace_hash, started_at, reprise_version, command)
  json["mode"] = TextIn(manifest.options, "mode");
  REPRISE_ADD_FIELDS(json, manifest, complete, oversubscribed)
  json["iterations"] = run.report.iterations;
  json["step_seconds"] = Json::array();
  for (const std::int64_t step_ns : run.report.iteration_step_ns) {
    json["step_seconds"].push_back(static_cast<double>(step_ns) * 1e-9);
  }
}
inline void to_json(Json& json, const ComparedCapture& capture) {
  json = {{"path", capture.path},    {"mode", "capture"},
          {"complete", true},        {"iterations", 1},
          {"oversubscribed", false}, {"step_seconds", capture.step_seconds}};
}
inline void to_json(Json& json, const ComparedSide& side) {
  json = {{"label", side.label}, {"number", NumberIn(side.label)}};
  if (side.runs.empty()) {
    REPRISE_ADD_FIELDS(json, side.captures.front(), devices, hosts, world_size, ranks)
    json["runs"] = side.captures;
    return;
  }
  const Report& report = side.runs.front().report;
  const std::vector<std::string>& hosts = report.manifest.hosts;
  json["devices"] = DevicesText(report);
  json["hosts"] = std::set<std::string>(hosts.begin(), hosts.end()).size();
  json["world_size"] = JobRanks(report);
  json["runs"] = side.runs;
}
inline void to_json(Json& json, const ComparedCell& cell) {
  const auto& quantity = cell.quantity;
  json = {{"value", quantity ? Json(quantity->value) : Json(nullptr)},
          {"least", quantity ? Json(quantity->least) : Json(nullptr)},
          {"most", quantity ? Json(quantity->most) : Json(nullptr)},
          {"repeats", quantity ? quantity->repeats : 0}};
  REPRISE_ADD_FIELDS(json, cell, modelled, ratio, runs_needed, difference)
}
REPRISE_JSON_FIELDS(ComparedRow, name, label, group, unit, better, cells, note)
inline void to_json(Json& json, const ComparedTransfer::Cell& cell) {
  json["count"] = cell.count;
  json["seconds"] = cell.seconds.value;
  REPRISE_ADD_FIELDS(json, cell, busbw_gb_per_s, ratio)
}
REPRISE_JSON_FIELDS(ComparedTransfer, name, group_size, bytes, cells)
REPRISE_JSON_FIELDS(DifferenceParts::Part, name, seconds)
inline void to_json(Json& json, const DifferenceParts& difference) {
  json["of"] = difference.on_critical_path ? "critical path" : "busy time";
  REPRISE_ADD_FIELDS(json, difference, seconds, base_seconds)
  json["rows"] = difference.parts;
}
REPRISE_JSON_FIELDS(HeatMap::MetricName, name, unit)
REPRISE_JSON_FIELDS(HeatMap::Rank, rank, host, device, values)
REPRISE_JSON_FIELDS(HeatMap, metrics, ranks)
REPRISE_JSON_FIELDS(Setting, name, values)

std::string_view RepeatsName(const Comparison& comparison) {
  if (comparison.recorded) {
    return comparison.repeats_are_runs ? "recordings" : "none";
  }
  return comparison.repeats_are_runs ? "runs" : "iterations";
}

nlohmann::ordered_json QuantitiesJson(const Comparison& comparison) { return comparison.rows; }

std::string ComparisonJson(const std::vector<ComparedSide>& sides, const Comparison& comparison,
                           const std::vector<std::string>& figures) {
  Json json;
  json["figures"] = figures;
  json["repeats"] = RepeatsName(comparison);
  json["sides"] = sides;
  REPRISE_ADD_FIELDS(json, comparison, verdicts, warnings, settings)
  json["quantities"] = comparison.rows;
  json["collectives"] = comparison.transfers;
  REPRISE_ADD_FIELDS(json, comparison, differences, heat)
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace reprise
