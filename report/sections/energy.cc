// Energy by meter, and by operation class.

#include "core/json_fields.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/energy_text.h"

namespace reprise {

REPRISE_JSON_FIELDS(Spread, median, half_range, standard_error, iterations)
REPRISE_JSON_FIELDS(StepAmount, per_step, per_joule, from)
REPRISE_JSON_FIELDS(EnergyRow, host, device, metric, source, modelled, in_total, joules, mean_watts,
                    ranks, devices)
REPRISE_JSON_FIELDS(MeterEnergyRow, host, device, metric, source, modelled, ranks, devices, joules,
                    idle_joules, idle_watts, above_idle_joules, gaps, gap_ns, gap_joules, update_ns,
                    boundary_joules)
REPRISE_JSON_FIELDS(HostEnergyRow, host, joules, idle_joules, gap_joules)
REPRISE_JSON_FIELDS(StepEnergyRow, iteration, step, joules)
// The members of `use` stand beside the row's own.
REPRISE_JSON_FIELDS(EnergyUse, joules, above_idle_joules, step_joules, active_ns, estimate)
inline void to_json(Json& json, const EnergyUseRow& row) {
  json["name"] = row.name;
  json.update(row.use);
}
inline void to_json(Json& json, const TransferEnergyRow& row) {
  REPRISE_ADD_FIELDS(json, row, name, group, group_size, bytes)
  json.update(row.use);
}
REPRISE_JSON_FIELDS(EnergyAttribution, modelled, of_operations, joules, idle_joules, gap_joules,
                    idle_watts, above_idle_joules, boundary_joules, step_joules, tokens, samples,
                    phases, classes, transfers, ranks, meters, hosts, steps)

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

void AddEnergyJson(const Report& report, Json& json) {
  json["energy_joules"] = report.energy_joules;
  json["energy_source"] = NullIfEmpty(report.energy_source);
  json["mean_watts"] = report.energy_joules ? Json(report.mean_watts) : Json(nullptr);
  REPRISE_ADD_FIELDS(json, report, measured_ns, energy)
  json["metrics"] = nullptr;  // its place among the members; telemetry fills it
  REPRISE_ADD_FIELDS(json, report, tokens, samples, attribution)
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
