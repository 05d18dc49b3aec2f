#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "report/compare/compare.h"
#include "report/compare/quantities_json.h"
#include "report/compare/rows.h"
#include "report/sections/rows_json.h"

namespace reprise {
namespace {

Json RatioJson(const std::optional<Ratio>& ratio) {
  return ratio ? Json{{"value", ratio->value},
                      {"low", OrNull(ratio->low)},
                      {"high", OrNull(ratio->high)}}
               : Json(nullptr);
}

Json RunJson(const ComparedRun& run) {
  const RunManifest& manifest = run.report.manifest;
  Json steps = Json::array();
  for (const std::int64_t step_ns : run.report.iteration_step_ns) {
    steps.push_back(static_cast<double>(step_ns) * 1e-9);
  }
  const auto mode = manifest.options.find("mode");
  return {{"path", run.path},
          {"trace_name", manifest.trace_name},
          {"trace_hash", manifest.trace_hash},
          {"started_at", manifest.started_at},
          {"reprise_version", manifest.reprise_version},
          {"command", manifest.command},
          {"mode", mode == manifest.options.end() ? "" : mode->second},
          {"complete", manifest.complete},
          {"oversubscribed", manifest.oversubscribed},
          {"iterations", run.report.iterations},
          {"step_seconds", std::move(steps)}};
}

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

Json CaptureJson(const ComparedCapture& capture) {
  return {{"path", capture.path},    {"mode", "capture"},
          {"complete", true},        {"iterations", 1},
          {"oversubscribed", false}, {"step_seconds", capture.step_seconds}};
}

Json CaptureSideJson(const ComparedSide& side) {
  const ComparedCapture& first = side.captures.front();
  return {{"label", side.label},
          {"number", NumberIn(side.label)},
          {"devices", first.devices},
          {"hosts", first.hosts},
          {"world_size", first.world_size},
          {"ranks", first.ranks},
          {"runs", RowsJson(side.captures, CaptureJson)}};
}

Json SideJson(const ComparedSide& side) {
  if (side.runs.empty()) {
    return CaptureSideJson(side);
  }
  const RunManifest& manifest = side.runs.front().report.manifest;
  return {{"label", side.label},
          {"number", NumberIn(side.label)},
          {"devices", DevicesText(side.runs.front().report)},
          {"hosts", std::set<std::string>(manifest.hosts.begin(), manifest.hosts.end()).size()},
          {"world_size", JobRanks(side.runs.front().report)},
          {"runs", RowsJson(side.runs, RunJson)}};
}

Json CellJson(const ComparedCell& cell) {
  const auto& quantity = cell.quantity;
  return {{"value", quantity ? Json(quantity->value) : Json(nullptr)},
          {"least", quantity ? Json(quantity->least) : Json(nullptr)},
          {"most", quantity ? Json(quantity->most) : Json(nullptr)},
          {"repeats", quantity ? quantity->repeats : 0},
          {"modelled", cell.modelled},
          {"ratio", RatioJson(cell.ratio)},
          {"runs_needed", cell.runs_needed ? Json(*cell.runs_needed) : Json(nullptr)},
          {"difference", OrNull(cell.difference)}};
}

Json RowJson(const ComparedRow& row) {
  return {
      {"name", row.name}, {"label", row.label},         {"group", row.group},
      {"unit", row.unit}, {"better", Name(row.better)}, {"cells", RowsJson(row.cells, CellJson)},
      {"note", row.note}};
}

Json TransferCellJson(const std::optional<ComparedTransfer::Cell>& cell) {
  return cell ? Json{{"count", cell->count},
                     {"seconds", cell->seconds.value},
                     {"busbw_gb_per_s", OrNull(cell->busbw_gb_per_s)},
                     {"ratio", RatioJson(cell->ratio)}}
              : Json(nullptr);
}

Json TransferJson(const ComparedTransfer& row) {
  return {{"name", row.name},
          {"group_size", row.group_size},
          {"bytes", row.bytes},
          {"cells", RowsJson(row.cells, TransferCellJson)}};
}

Json PartJson(const DifferenceParts::Part& part) {
  return {{"name", part.name}, {"seconds", part.seconds}};
}

Json DifferenceJson(const std::optional<DifferenceParts>& difference) {
  return difference ? Json{{"of", difference->on_critical_path ? "critical path" : "busy time"},
                           {"seconds", difference->seconds},
                           {"base_seconds", difference->base_seconds},
                           {"rows", RowsJson(difference->parts, PartJson)}}
                    : Json(nullptr);
}

Json MetricNameJson(const HeatMap::MetricName& metric) {
  return {{"name", metric.name}, {"unit", metric.unit}};
}

Json HeatRankJson(const HeatMap::Rank& rank) {
  Json values = Json::array();
  for (const auto& value : rank.values) {
    values.push_back(OrNull(value));
  }
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"device", rank.device},
          {"values", std::move(values)}};
}

Json HeatJson(const HeatMap& heat) {
  return {{"metrics", RowsJson(heat.metrics, MetricNameJson)},
          {"ranks", RowsJson(heat.ranks, HeatRankJson)}};
}

Json SettingJson(const Setting& setting) {
  return {{"name", setting.name}, {"values", setting.values}};
}

}  // namespace

std::string_view RepeatsName(const Comparison& comparison) {
  if (comparison.recorded) {
    return comparison.repeats_are_runs ? "recordings" : "none";
  }
  return comparison.repeats_are_runs ? "runs" : "iterations";
}

nlohmann::ordered_json QuantitiesJson(const Comparison& comparison) {
  return RowsJson(comparison.rows, RowJson);
}

std::string ComparisonJson(const std::vector<ComparedSide>& sides, const Comparison& comparison,
                           const std::vector<std::string>& figures) {
  Json json;
  json["figures"] = figures;
  json["repeats"] = RepeatsName(comparison);
  json["sides"] = RowsJson(sides, SideJson);
  json["verdicts"] = comparison.verdicts;
  json["warnings"] = comparison.warnings;
  json["settings"] = RowsJson(comparison.settings, SettingJson);
  json["quantities"] = QuantitiesJson(comparison);
  json["collectives"] = RowsJson(comparison.transfers, TransferJson);
  json["differences"] = RowsJson(comparison.differences, DifferenceJson);
  json["heat"] = RowsJson(comparison.heat, HeatJson);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace reprise
