// Energy by meter, and by operation class.
#include <fmt/format.h>

#include "report/sections/rows_json.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/energy_text.h"

namespace reprise {
namespace {

std::string EnergyRows(const Report& report) {
  // A row of equal devices has the numbers of one.
  const bool classes = HasClasses(report);
  Table table({"device", "metric", "host", "source", classes ? "energy of each" : "energy",
               classes ? "power of each" : "mean power", ""});
  for (const EnergyRow& row : report.energy) {
    table.Add({DeviceText(row.device, row.devices, 20), Fit(row.metric, 16), Fit(row.host, 10),
               row.source + (row.modelled ? " (modelled)" : ""), NumberText(row.joules) + " J",
               NumberText(row.mean_watts) + " W", row.in_total ? "" : "(within another)"});
  }
  return table.Empty() ? "" : table.Text(4);
}

std::string EnergySectionText(const Report& report, const Style& style) {
  const std::string line = EnergyLine(report, style);
  return (line.empty() ? "" : "\n" + line) + EnergyRows(report) + EnergyText(report, style);
}

Json EnergyRowJson(const EnergyRow& row) {
  return {{"host", row.host},      {"device", row.device},         {"metric", row.metric},
          {"source", row.source},  {"modelled", row.modelled},     {"in_total", row.in_total},
          {"joules", row.joules},  {"mean_watts", row.mean_watts}, {"ranks", row.ranks},
          {"devices", row.devices}};
}

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

void AddEnergyJson(const Report& report, Json& json) {
  json["energy_joules"] = OrNull(report.energy_joules);
  json["energy_source"] = report.energy_source.empty() ? Json(nullptr) : Json(report.energy_source);
  json["mean_watts"] = report.energy_joules ? Json(report.mean_watts) : Json(nullptr);
  json["measured_ns"] = report.measured_ns;
  json["energy"] = RowsJson(report.energy, EnergyRowJson);
  json["metrics"] = nullptr;  // its place among the members; telemetry fills it
  json["tokens"] = AmountJson(report.tokens);
  json["samples"] = AmountJson(report.samples);
  json["attribution"] = report.attribution ? AttributionJson(*report.attribution) : Json(nullptr);
}

void CutAttribution(std::size_t most, std::size_t most_ranks, Cutter& cutter,
                    EnergyAttribution& attribution) {
  const auto joules = [](const auto& row) { return row.joules; };
  const auto used = [](const auto& row) { return row.use.joules; };
  cutter.Cut("energy.meters", most, attribution.meters, joules);
  cutter.Cut("energy.hosts", most, attribution.hosts, joules);
  cutter.Cut("energy.steps", most, attribution.steps);
  cutter.Cut("energy.transfers", most, attribution.transfers, used);
  cutter.Cut("energy.ranks", most_ranks, attribution.ranks, used);
}

void CutEnergy(const HtmlLimits& limits, Cutter& cutter, Report& report) {
  cutter.Cut("energy", limits.rows, report.energy, [](const EnergyRow& row) { return row.joules; });
  if (report.attribution) {
    CutAttribution(limits.rows, limits.ranks, cutter, *report.attribution);
  }
}

}  // namespace

Section EnergySection() {
  return {.name = "energy", .console = EnergySectionText, .json = AddEnergyJson, .cut = CutEnergy};
}

}  // namespace reprise
