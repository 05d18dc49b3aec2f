#include "predict/prediction_json.h"

#include <cmath>

#include "core/json_fields.h"
#include "predict/transform/rule_effect_json.h"

namespace reprise {

// What the machine was fitted to: its file's `calibration`, in base units.
inline void to_json(Json& json, const Calibration& calibration) {
  json = {{"on", calibration.on},
          {"points", calibration.points ? Json(std::llround(calibration.points->value)) : Json()},
          {"error", calibration.error ? Json(calibration.error->value) : Json()}};
}
REPRISE_JSON_FIELDS(StackPrediction, name, about, changes, model, error, error_of)
REPRISE_JSON_FIELDS(PowerPrediction::OfDevice, first_rank, ranks, joules, mean_watts, peak_watts,
                    peak_at_ns, peak_ns, peak_operations, throttled_ns, throttled_by_power_ns,
                    throttled_by_heat_ns, air_celsius, mean_celsius, max_celsius)
REPRISE_JSON_FIELDS(PowerPrediction::OfNode, nodes, joules, mean_watts, total_joules, total_watts)
inline void to_json(Json& json, const PowerPrediction::OfClass& of) {
  json["name"] = of.op_class;
  REPRISE_ADD_FIELDS(json, of, above_idle_joules, mean_watts)
}
REPRISE_JSON_FIELDS(PowerPrediction, joules, idle_joules, mean_watts, nodes_joules, nodes_watts,
                    limit_watts, limit_window_ns, until_steady, rounds, settled, limit_met,
                    heat_met, classes, devices, nodes)

REPRISE_JSON_FIELDS(WhatIf, step_time_without_ns, rules)

namespace {

Json MemoryJson(const MemoryPrediction& memory) {
  Json json = {{"fits", memory.fits()}};
  REPRISE_ADD_FIELDS(json, memory, peak_bytes, of_bytes)
  if (memory.rank) {
    json["rank"] = memory.rank;
    return json;
  }
  json["micro_batch"] = memory.micro_batch;
  if (memory.largest_micro_batch) {
    json["largest_micro_batch"] = memory.largest_micro_batch;
  }
  Json classes = Json::array();
  for (const ClassMemory& of_class : memory.classes) {
    const MemorySums& bytes = of_class.bytes;
    Json& row = classes.emplace_back();
    REPRISE_ADD_FIELDS(row, of_class, stage, first_rank, ranks)
    REPRISE_ADD_FIELDS(row, bytes, parameters, gradients, optimizer, activations)
    row["buffers"] = bytes.buffers();
    row["stack"] = bytes.stack;
    row["peak"] = bytes.peak;
    row["fits"] = memory.of_bytes ? Json(bytes.peak <= *memory.of_bytes) : Json(nullptr);
  }
  json["classes"] = std::move(classes);
  return json;
}

Json JobJson(const Workload& of) {
  Json json;
  REPRISE_ADD_FIELDS(json, of, name)
  json["sequence"] = of.model.sequence;
  json["dtype"] = Name(of.model.dtype);
  REPRISE_ADD_FIELDS(json, of, fp8, fp8_param_gather)
  REPRISE_ADD_FIELDS(json, of.layout, tp, pp, dp, ep, etp, cp, fsdp, shards, sequence_parallel,
                     distributed_optimizer)
  json["zero"] = of.layout.zero();
  json["cp_comm_type"] = Name(of.layout.cp_comm_type);
  REPRISE_ADD_FIELDS(json, of, global_batch, micro_batch, documents)
  json["micro_batches"] = of.micro_batches();
  REPRISE_ADD_FIELDS(json, of, schedule, virtual_stages)
  json["recompute"] = Name(of.recompute);
  REPRISE_ADD_FIELDS(json, of, recompute_modules, recompute_layers)
  json["lora"] = nullptr;  // all parameters are trained
  if (of.lora) {
    REPRISE_ADD_FIELDS(json["lora"], *of.lora, rank, targets, dropout)
  }
  return json;
}

}  // namespace

Json PredictionJson(const Prediction& of) {
  Json json;
  json["job"] = of.job ? JobJson(*of.job) : Json(nullptr);
  REPRISE_ADD_FIELDS(json, of, warnings, notes, step_time_ns, step_time_recorded_ns, ranks, classes,
                     machine, captured_on, calibrated_on, energy_joules)
  json["stack"] = of.stack;
  json["memory"] = of.memory ? MemoryJson(*of.memory) : Json(nullptr);
  json["working_ns"] = of.working_ns();
  REPRISE_ADD_FIELDS(json, of, exposed_communication_ns, bubble_ns, hfu, mfu)
  json["tokens_per_second"] = of.PerSecond(of.tokens);
  json["samples_per_second"] = of.PerSecond(of.samples);
  if (!of.memory) {
    json["memory_reason"] =
        "the set does not name the storages of its tensors; capture the host trace with shapes, "
        "too";
  }
  REPRISE_ADD_FIELDS(json, of, device_time_ns, device_time_recorded_ns, linked_device_time_ns)
  REPRISE_ADD_FIELDS(json, of, linked_device_time_recorded_ns, unknown_share, default_share)
  json["without_rate"] = NullIfEmpty(of.without_rate);
  json["power"] = of.power;
  if (of.what_if) {
    json["what_if"] = of.what_if;
  }
  return json;
}

}  // namespace reprise
