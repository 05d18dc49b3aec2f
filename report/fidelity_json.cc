#include "report/fidelity_json.h"

#include "report/rows_json.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

Json DifferenceJson(const Difference& difference) {
  Json parts = Json::array();
  for (const DifferenceRow& row : difference.rows) {
    parts.push_back({{"name", row.name},
                     {"class", row.kind == DifferenceRow::Kind::kClass},
                     {"difference_ns", row.ns}});
  }
  return {{"iteration", difference.iteration},
          {"recorded_ns", difference.recorded_ns},
          {"replayed_ns", difference.replayed_ns},
          {"parts", std::move(parts)}};
}

Json NodesJson(const NodeErrors& nodes) {
  return {{"count", nodes.nodes}, {"mean_absolute_error", nodes.mean_absolute},
          {"p05", nodes.p05},     {"p25", nodes.p25},
          {"p50", nodes.p50},     {"p75", nodes.p75},
          {"p95", nodes.p95},     {"within_tenth", nodes.within_tenth}};
}

Json TopDifferenceJson(const TopDifferenceRow& row) {
  return {{"name", row.name},
          {"class", row.op_class},
          {"kernel", row.kernel},
          {"count", row.count},
          {"recorded_ns", row.recorded_ns},
          {"replayed_ns", row.replayed_ns},
          {"likely_cause", row.cause}};
}

Json ActorJson(const ActorRow& row) {
  return {{"name", row.name},
          {"nodes", row.nodes},
          {"recorded_busy_ns", row.recorded_busy_ns},
          {"replayed_busy_ns", row.replayed_busy_ns},
          {"recorded_gaps_ns", row.recorded_gaps_ns},
          {"replayed_gaps_ns", row.replayed_gaps_ns},
          {"order_changes", row.order_changes}};
}

Json PathJson(const PathRow& row) {
  return {{"name", row.name}, {"recorded_ns", row.recorded_ns}, {"replayed_ns", row.replayed_ns}};
}

Json OverlapJson(const OverlapRow& row) {
  return {{"rank", row.rank},
          {"group", row.group},
          {"recorded_ns", row.recorded_ns},
          {"replayed_ns", row.replayed_ns},
          {"recorded_exposed_ns", row.recorded_exposed_ns},
          {"replayed_exposed_ns", row.replayed_exposed_ns}};
}

}  // namespace

void AddFidelityJson(const FidelityDetails& details, Json& json) {
  json["difference"] = details.difference ? DifferenceJson(*details.difference) : Json(nullptr);
  json["difference_unknown_because"] =
      details.why_not.empty() ? Json(nullptr) : Json(details.why_not);
  json["nodes"] = details.nodes ? NodesJson(*details.nodes) : Json(nullptr);
  json["offenders"] = RowsJson(details.top_differences, TopDifferenceJson);
  json["critical_path"] = RowsJson(details.critical_path, PathJson);
  json["actors"] = RowsJson(details.actors, ActorJson);
  json["overlap"] = RowsJson(details.overlap, OverlapJson);
}

}  // namespace reprise
