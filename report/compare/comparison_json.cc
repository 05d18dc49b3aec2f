#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/json_fields.h"
#include "core/text_in.h"
#include "report/compare/compare.h"
#include "report/compare/operations_json.h"
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
inline void to_json(Json& json, const ComparedSide& side) {
  const Report& report = side.runs.front().report;
  const std::vector<std::string>& hosts = report.manifest.hosts;
  std::set<std::string> distinct(hosts.begin(), hosts.end());
  distinct.erase("");  // not recorded
  json = {{"label", side.label},
          {"number", NumberIn(side.label)},
          {"devices", DevicesText(report)},
          {"hosts", distinct.size()},
          {"world_size", JobRanks(report)},
          {"runs", side.runs}};
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
REPRISE_JSON_FIELDS(DifferenceParts::Calls, name, shape, seconds, ratio)
inline void to_json(Json& json, const DifferenceParts& difference) {
  json["of"] = difference.on_critical_path ? "critical path" : "busy time";
  REPRISE_ADD_FIELDS(json, difference, seconds, base_seconds)
  json["rows"] = difference.parts;
  json["above_all"] = difference.above_all;
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

namespace {

Json SidesJson(const std::vector<ComparedSide>& sides, const Comparison& comparison,
               bool timelines) {
  Json json = sides;
  for (std::size_t s = 0; s < comparison.ranks.size(); ++s) {
    const ComparedRun& run = MiddleRun(sides[s]);
    json[s].update(OperationsJson(*run.operations, CriticalPathOf(run.report)));
    json[s]["load"] = RanksJson(*run.operations, comparison.ranks[s]);
    if (timelines && !run.operations->ranks.empty()) {
      json[s]["timeline"] = TimelineJson(run.operations->ranks.front());
    }
  }
  return json;
}

Json AlignmentsJson(const std::vector<ComparedSide>& sides) {
  Json json = Json::array();
  for (std::size_t s = 1; s < sides.size() && AreAligned(sides); ++s) {
    json.push_back(DifferenceJson(*MiddleRun(sides[s]).difference));
  }
  return json;
}

}  // namespace

std::string ComparisonJson(const std::vector<ComparedSide>& sides, const Comparison& comparison,
                           const std::vector<std::string>& figures, bool timelines) {
  Json json;
  if (sides.size() == 1 && !comparison.ranks.empty() && figures.empty() && !timelines) {
    const ComparedRun& run = MiddleRun(sides.front());
    json = RanksJson(*run.operations, comparison.ranks.front());
    json["path"] = run.path;
    json["repeats"] = RepeatsName(comparison);
    json["quantities"] = QuantitiesJson(comparison);
  } else {
    json["kind"] = "comparison";
    json["figures"] = figures;
    json["repeats"] = RepeatsName(comparison);
    json["sides"] = SidesJson(sides, comparison, timelines);
    REPRISE_ADD_FIELDS(json, comparison, verdicts, warnings, settings)
    json["quantities"] = QuantitiesJson(comparison);
    json["collectives"] = comparison.transfers;
    REPRISE_ADD_FIELDS(json, comparison, differences, heat)
    json["alignments"] = AlignmentsJson(sides);
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace reprise
