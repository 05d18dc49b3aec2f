#include "report/energy_json.h"

#include "report/rows_json.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

Json SpreadJson(const std::optional<Spread>& spread) {
  return spread ? Json{{"median", spread->median},
                       {"half_range", spread->half_range},
                       {"standard_error", spread->standard_error},
                       {"iterations", spread->iterations}}
                : Json(nullptr);
}

void AddUse(const EnergyUse& use, Json& json) {
  json["joules"] = use.joules;
  json["above_idle_joules"] = OrNull(use.above_idle_joules);
  json["step_joules"] = SpreadJson(use.step_joules);
  json["active_ns"] = use.active_ns;
  json["estimate"] = use.estimate;
}

Json UseJson(const EnergyUseRow& row) {
  Json json = {{"name", row.name}};
  AddUse(row.use, json);
  return json;
}

Json TransferJson(const TransferEnergyRow& row) {
  Json json = {{"name", row.name},
               {"group", row.group},
               {"group_size", row.group_size},
               {"bytes", row.bytes}};
  AddUse(row.use, json);
  return json;
}

Json MeterJson(const MeterEnergyRow& row) {
  return {{"host", row.host},
          {"device", row.device},
          {"metric", row.metric},
          {"source", row.source},
          {"modelled", row.modelled},
          {"ranks", row.ranks},
          {"devices", row.devices},
          {"joules", row.joules},
          {"idle_joules", row.idle_joules},
          {"idle_watts", OrNull(row.idle_watts)},
          {"above_idle_joules", OrNull(row.above_idle_joules)},
          {"gaps", row.gaps},
          {"gap_ns", row.gap_ns},
          {"gap_joules", row.gap_joules},
          {"update_ns", OrNull(row.update_ns)},
          {"boundary_joules", OrNull(row.boundary_joules)}};
}

Json HostJson(const HostEnergyRow& row) {
  return {{"host", row.host},
          {"joules", row.joules},
          {"idle_joules", row.idle_joules},
          {"gap_joules", row.gap_joules}};
}

Json StepJson(const StepEnergyRow& row) {
  return {{"iteration", row.iteration}, {"step", row.step}, {"joules", row.joules}};
}

Json TimeJson(const NamedTime& row) { return {{"name", row.name}, {"ns", row.ns}}; }

Json IntervalJson(const ThrottleInterval& row) {
  return {{"begin_ns", row.begin_ns},
          {"length_ns", row.length_ns},
          {"reasons", row.reasons},
          {"clock_hertz", OrNull(row.clock_hertz)},
          {"lost_ns", OrNull(row.lost_ns)},
          {"classes", RowsJson(row.classes, TimeJson)},
          {"operations", RowsJson(row.operations, TimeJson)}};
}

Json ThrottleJson(const ThrottleRow& row) {
  return {{"host", row.host},
          {"device", row.device},
          {"source", row.source},
          {"modelled", row.modelled},
          {"devices", row.devices},
          {"measured_ns", row.measured_ns},
          {"throttled_ns", row.throttled_ns},
          {"reasons", RowsJson(row.reasons, TimeJson)},
          {"unthrottled_hertz", OrNull(row.unthrottled_hertz)},
          {"unthrottled_from",
           row.unthrottled_from.empty() ? Json(nullptr) : Json(row.unthrottled_from)},
          {"lost_ns", OrNull(row.lost_ns)},
          {"intervals", RowsJson(row.intervals, IntervalJson)}};
}

Json PeakJson(const PowerPeakRow& row) {
  return {{"host", row.host},
          {"device", row.device},
          {"metric", row.metric},
          {"source", row.source},
          {"modelled", row.modelled},
          {"devices", row.devices},
          {"mean_watts", row.mean_watts},
          {"deviation_watts", row.deviation_watts},
          {"max_watts", row.max_watts},
          {"threshold_watts", row.threshold_watts},
          {"excursions", row.excursions},
          {"excursion_ns", row.excursion_ns},
          {"longest_ns", row.longest_ns},
          {"coefficient_of_variation", row.coefficient_of_variation},
          {"burstiness", OrNull(row.burstiness)},
          {"limit_watts", OrNull(row.limit_watts)},
          {"above_limit", row.above_limit},
          {"above_limit_ns", row.above_limit_ns}};
}

Json HeatingJson(const HeatingRow& row) {
  return {{"host", row.host},
          {"device", row.device},
          {"metric", row.metric},
          {"source", row.source},
          {"modelled", row.modelled},
          {"devices", row.devices},
          {"begin_celsius", row.begin_celsius},
          {"end_celsius", row.end_celsius},
          {"max_celsius", row.max_celsius},
          {"celsius_per_minute", row.celsius_per_minute}};
}

}  // namespace

Json AmountJson(const std::optional<StepAmount>& amount) {
  return amount ? Json{{"per_step", amount->per_step},
                       {"per_joule", OrNull(amount->per_joule)},
                       {"from", amount->from}}
                : Json(nullptr);
}

Json AttributionJson(const EnergyAttribution& attribution) {
  return {{"modelled", attribution.modelled},
          {"of_operations", attribution.of_operations},
          {"joules", attribution.joules},
          {"idle_joules", attribution.idle_joules},
          {"gap_joules", attribution.gap_joules},
          {"idle_watts", OrNull(attribution.idle_watts)},
          {"above_idle_joules", OrNull(attribution.above_idle_joules)},
          {"boundary_joules", OrNull(attribution.boundary_joules)},
          {"step_joules", SpreadJson(attribution.step_joules)},
          {"tokens", AmountJson(attribution.tokens)},
          {"samples", AmountJson(attribution.samples)},
          {"phases", RowsJson(attribution.phases, UseJson)},
          {"classes", RowsJson(attribution.classes, UseJson)},
          {"transfers", RowsJson(attribution.transfers, TransferJson)},
          {"ranks", RowsJson(attribution.ranks, UseJson)},
          {"meters", RowsJson(attribution.meters, MeterJson)},
          {"hosts", RowsJson(attribution.hosts, HostJson)},
          {"steps", RowsJson(attribution.steps, StepJson)}};
}

Json ThermalJson(const ThermalDetails& thermal) {
  return {{"throttling", RowsJson(thermal.throttling, ThrottleJson)},
          {"peaks", RowsJson(thermal.peaks, PeakJson)},
          {"heating", RowsJson(thermal.heating, HeatingJson)}};
}

}  // namespace reprise
