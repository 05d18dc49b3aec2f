#include "report/report_json.h"

#include <nlohmann/json.hpp>

#include "report/energy_json.h"
#include "report/fidelity_json.h"
#include "report/report.h"
#include "report/rows_json.h"
#include "report/time_sources.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

Json CoverageJson(const Coverage& coverage) {
  return {{"real", coverage.real},     {"surrogate", coverage.surrogate},
          {"timed", coverage.timed},   {"skipped", coverage.skipped},
          {"capped", coverage.capped}, {"unknown", coverage.unknown}};
}

// {"scaled": ns, …}; null where no time has a source.
Json SourcesJson(const SourceTimes& from_ns) {
  Json json;
  for (std::size_t i = 1; i < from_ns.size(); ++i) {
    if (from_ns[i] > 0) {
      json[std::string(Name(static_cast<TimeSource>(i)))] = from_ns[i];
    }
  }
  return json;
}

Json ClassJson(const ClassRow& row) {
  return {{"name", row.name},
          {"count", row.count},
          {"recorded_ns", row.recorded_ns},
          {"tracing_ns", row.tracing_ns},
          {"replayed_ns", OrNull(row.replayed_ns)},
          {"flops", row.flops},
          {"bytes", row.bytes},
          {"gflop_per_s", OrNull(row.gflop_per_s)},
          {"gb_per_s", OrNull(row.gb_per_s)},
          {"time_from_ns", SourcesJson(row.from_ns)}};
}

Json ShapeJson(const ShapeRow& row) {
  return {{"name", row.name},
          {"class", row.op_class},
          {"shape", row.shape},
          {"count", row.count},
          {"recorded_ns", row.recorded_ns},
          {"tracing_ns", row.tracing_ns},
          {"replayed_ns", row.replayed_ns},
          {"time_from_ns", SourcesJson(row.from_ns)}};
}

Json VerdictJson(const Verdict& verdict) {
  return {{"kind", Name(verdict.kind)},
          {"caution", verdict.caution.empty() ? Json(nullptr) : Json(verdict.caution)},
          {"text", verdict.text},
          {"replayed_ns", OrNull(verdict.replayed_ns)},
          {"job_ns", OrNull(verdict.job_ns)},
          {"untraced", verdict.untraced},
          {"ratio", OrNull(verdict.ratio)},
          {"is_error", IsError(verdict)},
          {"mostly", verdict.mostly.empty() ? Json(nullptr) : Json(verdict.mostly)},
          {"mostly_ns", verdict.mostly_ns},
          {"mostly_ratio", OrNull(verdict.mostly_ratio)},
          {"operation_speed", OrNull(verdict.operation_speed)},
          {"warnings", verdict.warnings}};
}

Json MachineJson(const Machine& machine) {
  return {
      {"processor", machine.processor}, {"device", machine.device}, {"threads", machine.threads}};
}

Json LoadJson(const HostLoad& load) {
  return {
      {"host", load.host}, {"ranks", load.ranks}, {"threads", load.threads}, {"cores", load.cores}};
}

Json CollectiveJson(const CollectiveRow& row) {
  return {{"name", row.name},
          {"group", row.group},
          {"group_size", row.group_size},
          {"bytes", row.bytes},
          {"count", row.count},
          {"mode", Name(row.mode)},
          {"recorded_ns", row.recorded_ns},
          {"replayed_ns", OrNull(row.replayed_ns)},
          {"algbw_gb_per_s", OrNull(row.algbw_gb_per_s)},
          {"busbw_gb_per_s", OrNull(row.busbw_gb_per_s)},
          {"clock", Name(row.clock)}};
}

Json RankJson(const RankRow& row) {
  return {{"rank", row.rank},
          {"alike", row.alike},
          {"members", row.members.empty() ? Json(nullptr) : Json(row.members)},
          {"host", row.host},
          {"device", row.device},
          {"nodes", row.nodes},
          {"iterations", row.iterations},
          {"coverage", CoverageJson(row.coverage)},
          {"covered_ns", row.recorded_ns},
          {"step_time_recorded_ns", OrNull(row.step_time_recorded_ns)},
          {"step_time_replayed_ns", OrNull(row.step_time_replayed_ns)},
          {"clock_uncertainty_ns", OrNull(row.clock_uncertainty_ns)},
          {"host_ns", row.host_ns},
          {"wait_ns", row.wait_ns},
          {"delay_ns", row.delay_ns}};
}

Json LimitJson(const DeviceLimitRow& row) {
  return {{"device", row.device},
          {"ranks", row.ranks},
          {"gflop_per_s", row.gflop_per_s},
          {"gb_per_s", row.gb_per_s}};
}

Json ValueJson(const ValueRow& row) {
  return {{"operation", row.name},
          {"values", row.counts.values},
          {"denormals", row.counts.denormals},
          {"infinities", row.counts.infinities},
          {"nans", row.counts.nans}};
}

Json EnergyJson(const EnergyRow& row) {
  return {{"host", row.host},      {"device", row.device},         {"metric", row.metric},
          {"source", row.source},  {"modelled", row.modelled},     {"in_total", row.in_total},
          {"joules", row.joules},  {"mean_watts", row.mean_watts}, {"ranks", row.ranks},
          {"devices", row.devices}};
}

Json MetricJson(const MetricRow& row) {
  return {{"host", row.host},
          {"device", row.device},
          {"metric", row.metric},
          {"unit", row.unit},
          {"source", row.source},
          {"modelled", row.modelled},
          {"rate", row.is_rate},
          {"min", row.min},
          {"mean", row.mean},
          {"max", row.max},
          {"update_ns", OrNull(row.update_ns)},
          {"ranks", row.ranks},
          {"devices", row.devices}};
}

Json PhaseUseJson(const PhaseUse& use) {
  return {{"name", use.name},
          {"time_ns", OrNull(use.time_ns)},
          {"tokens", OrNull(use.tokens)},
          {"tokens_per_second", OrNull(use.TokensPerSecond())},
          {"joules", OrNull(use.joules)},
          {"joules_per_token", OrNull(use.JoulesPerToken())}};
}

Json ManifestJson(const RunManifest& manifest) {
  return {{"command", manifest.command},       {"reprise_version", manifest.reprise_version},
          {"trace_name", manifest.trace_name}, {"trace_path", manifest.trace_path},
          {"trace_hash", manifest.trace_hash}, {"started_at", manifest.started_at},
          {"world_size", manifest.world_size}, {"complete", manifest.complete},
          {"options", manifest.options},       {"versions", manifest.versions}};
}

}  // namespace

Json ReportJson(const Report& report) {
  Json json;
  json["verdict"] = VerdictJson(report.verdict);
  json["coverage"] = CoverageJson(report.coverage);
  json["coverage_basis"] = Name(report.coverage_basis);
  json["unknown_work"] = report.unknown_work;
  json["coverage_of_step"] = report.coverage_of_step;
  json["oversubscribed"] = report.manifest.oversubscribed;
  json["recorded_on"] = MachineJson(report.recorded_on);
  json["replayed_on"] = MachineJson(report.replayed_on);
  json["host_loads"] = RowsJson(report.host_loads, LoadJson);
  json["recorded_steps_ns"] = report.recorded_steps_ns;
  json["step_time_recorded_ns"] = OrNull(report.step_time_recorded_ns);
  json["step_time_untraced_ns"] = OrNull(report.step_time_untraced_ns);
  json["step_time_replayed_ns"] = OrNull(report.step_time_replayed_ns);
  json["step_time_replayed_min_ns"] = OrNull(report.step_time_replayed_min_ns);
  json["step_time_replayed_max_ns"] = OrNull(report.step_time_replayed_max_ns);
  json["iterations"] = report.iterations;
  json["iteration_step_ns"] = report.iteration_step_ns;
  json["covered_ns"] = report.recorded_ns;
  json["host_ns"] = report.host_ns;
  json["wait_ns"] = report.wait_ns;
  json["delay_ns"] = report.delay_ns;
  json["work_tracing_ns"] = report.work_tracing_ns;
  json["stretches"] = Json::object();
  for (const ClassFactor& row : report.stretches) {
    json["stretches"][row.name] = row.factor;
  }
  const RunSources sources = SourcesOf(report);
  json["time_from_ns"] = {{"operations", SourcesJson(sources.operations_ns)},
                          {"transfers", SourcesJson(sources.transfers_ns)}};
  json["recorded"] = HasRecordedTimes(report);
  json["total_ranks"] = RanksOf(report);
  json["fidelity"] = {{"work_error", OrNull(report.fidelity.work_error)},
                      {"untraced_work_error", OrNull(report.fidelity.untraced_work_error)},
                      {"step_error", OrNull(report.fidelity.step_error)},
                      {"untraced_error", OrNull(report.fidelity.untraced_error)}};
  AddFidelityJson(report.details, json["fidelity"]);
  json["classes"] = RowsJson(report.classes, ClassJson);
  json["phases"] = RowsJson(report.phases, ClassJson);
  json["phase_uses"] = RowsJson(report.phase_uses, PhaseUseJson);
  json["shapes"] = RowsJson(report.shapes, ShapeJson);
  json["values"] = RowsJson(report.values, ValueJson);
  json["collectives"] = RowsJson(report.collectives, CollectiveJson);
  json["ranks"] = RowsJson(report.ranks, RankJson);
  json["device_limits"] = RowsJson(report.device_limits, LimitJson);
  json["energy_joules"] = OrNull(report.energy_joules);
  json["energy_source"] = report.energy_source.empty() ? Json(nullptr) : Json(report.energy_source);
  json["mean_watts"] = report.energy_joules ? Json(report.mean_watts) : Json(nullptr);
  json["measured_ns"] = report.measured_ns;
  json["energy"] = RowsJson(report.energy, EnergyJson);
  json["metrics"] = RowsJson(report.metrics, MetricJson);
  json["tokens"] = AmountJson(report.tokens);
  json["samples"] = AmountJson(report.samples);
  json["attribution"] = report.attribution ? AttributionJson(*report.attribution) : Json(nullptr);
  json["thermal"] = ThermalJson(report.thermal);
  json["run"] = ManifestJson(report.manifest);
  json["diagnostics"] = report.diagnostics;
  json["notes"] = report.notes;
  return json;
}

std::string JsonText(const Report& report) {
  return ReportJson(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace reprise
