// What a simulated set says of itself: the facts of its run, and JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cli/simulated_set.h"
#include "core/json_fields.h"
#include "machine/machine.h"
#include "report/analysis.h"
#include "report/text/verdict_warnings.h"
#include "report/values/report.h"
#include "run/run.h"

namespace reprise {
namespace {

double Share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// Of the operations' time; of sets without durations, of the modelled one.
double UnknownShare(const ScaleSummary& summary) {
  return summary.operations_recorded_ns > 0
             ? 1 - Share(summary.known_recorded_ns, summary.operations_recorded_ns)
         : summary.operations_ns > 0 ? 1 - Share(summary.known_ns, summary.operations_ns)
                                     : 0;
}

// What the machine was fitted to: its file's `calibration`, in base units.
Json CalibrationJson(const std::optional<MachineModel>& machine) {
  if (!machine || !machine->calibration) {
    return nullptr;
  }
  const Calibration& calibration = *machine->calibration;
  return {{"on", calibration.on},
          {"points", calibration.points ? Json(std::llround(calibration.points->value)) : Json()},
          {"error", calibration.error ? Json(calibration.error->value) : Json()}};
}

}  // namespace

std::map<std::string, std::string> SimulatedSet::Describe() const {
  std::map<std::string, std::string> described = {{"mode", "simulate"}, {"machine", machine}};
  if (options.to) {
    described["machine"] = options.to->name;
  }
  if (options.from) {
    described["captured_on"] = options.from->name;
  }
  if (options.to && options.to->calibration) {
    described["calibrated_on"] = Described(*options.to->calibration);
  }
  if (ranks > 0) {
    described["simulated_ranks"] = std::to_string(ranks);
    described["classes"] = std::to_string(classes);
  }
  if (options.network == NetworkModel::kFlow) {
    described["network"] = "flow";
  }
  if (!without_rate.empty()) {
    described["without_rate"] = fmt::format("{}", fmt::join(without_rate, ", "));
  }
  described.merge(power.Describe());
  if (summary.modelled > 0) {
    described["modelled_nodes"] = std::to_string(summary.modelled);
  }
  if (summary.without_time > 0) {
    described["nodes_without_time"] = std::to_string(summary.without_time);
  }
  const auto share = [](double value) { return fmt::format("{:.4f}", value); };
  described["unknown_share"] = share(UnknownShare(summary));
  described["default_share"] = share(Share(summary.by_default_ns, summary.operations_ns));
  for (const SlowRank& slow : options.slow_ranks) {
    described[fmt::format("slow.{}", slow.rank)] = fmt::format("{}", slow.factor);
  }
  for (const SlowLink& slow : options.slow_links) {
    described[slow.domain < 0 ? fmt::format("link.{}", slow.name)
                              : fmt::format("link.{}@{}", slow.name, slow.domain)] =
        fmt::format("{}", slow.factor);
  }
  for (const std::string& assignment : overrides) {
    const std::size_t equals = assignment.find('=');
    described["set." + assignment.substr(0, equals)] = assignment.substr(equals + 1);
  }
  if (options.jitter > 0) {
    described["jitter"] = fmt::format("{}", options.jitter);
    described["seed"] = fmt::format("{}", options.seed);
  }
  return described;
}

std::vector<std::string> SimulatedSet::Warnings() const { return PredictionWarnings(Describe()); }

Result<Json> SimulatedSet::ToJson(const std::string& run) const {
  std::int64_t step_time_ns = step_ns.value_or(0);
  Json recorded_ns = nullptr;
  std::int64_t of_ranks = ranks;
  if (!step_ns) {
    REPRISE_ASSIGN(const RunData data, ReadRun(run));
    const Report report = Analyze(data);
    step_time_ns = report.step_time_replayed_ns.value_or(0);
    recorded_ns = schedule ? Json(nullptr) : Json(report.step_time_recorded_ns.value_or(0));
    of_ranks = static_cast<std::int64_t>(data.ranks.size());
  }
  Json json = {{"warnings", Warnings()},
               {"step_time_ns", step_time_ns},
               {"step_time_recorded_ns", recorded_ns},
               {"ranks", of_ranks},
               {"classes", classes},
               {"machine", options.to ? options.to->name : machine},
               {"captured_on", options.from ? Json(options.from->name) : Json(nullptr)},
               {"calibrated_on", CalibrationJson(options.to)},
               {"energy_joules", power.StepJoules(steps)},
               {"memory", nullptr}};
  const double of_each = std::max(idle.ranks, 1.0) * static_cast<double>(steps);
  json["exposed_communication_ns"] = std::llround(idle.exposed_ns / of_each);
  json["bubble_ns"] = std::llround(idle.bubble_ns / of_each);
  const double long_ns = static_cast<double>(step_time_ns);
  json["hfu"] =
      options.to && long_ns > 0 ? Json(products_at_peak_ns / of_each / long_ns) : Json(nullptr);
  json["mfu"] = nullptr;
  json["tokens_per_second"] = nullptr;
  json["samples_per_second"] = nullptr;
  if (traced) {
    const double of_bytes = options.to ? options.to->device.memory_bytes.value : 0;
    const auto peak = static_cast<double>(traced->peak_bytes);
    json["memory"] = {
        {"fits", of_bytes > 0 ? Json(peak <= of_bytes) : Json(nullptr)},
        {"peak_bytes", traced->peak_bytes},
        {"of_bytes", of_bytes > 0 ? Json(static_cast<std::int64_t>(of_bytes)) : Json(nullptr)},
        {"rank", traced->rank}};
  } else if (!job) {
    json["memory_reason"] =
        "the set does not name the storages of its tensors; capture the host trace with shapes, "
        "too";
  }
  if (job && options.to) {
    AddJobFacts(*job, options.to->device, long_ns, json);
  }
  json["device_time_ns"] = summary.operations_ns;
  json["device_time_recorded_ns"] = summary.operations_recorded_ns;
  json["linked_device_time_ns"] = summary.known_ns;
  json["linked_device_time_recorded_ns"] = summary.known_recorded_ns;
  json["unknown_share"] = UnknownShare(summary);
  json["default_share"] = Share(summary.by_default_ns, summary.operations_ns);
  json["without_rate"] =
      without_rate.empty() ? Json(nullptr) : Json(fmt::format("{}", fmt::join(without_rate, ", ")));
  json["power"] = power.ToJson(steps);
  return json;
}

}  // namespace reprise
