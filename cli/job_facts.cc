#include "cli/job_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/json_fields.h"
#include "workload/job/generate.h"
#include "workload/job/nearest_layout.h"

namespace reprise {
namespace {

constexpr double kGigabyte = 1e9;
constexpr double kSecondNs = 1e9;

// The highest peak of all ranks.
std::int64_t PeakBytes(const JobFacts& facts) {
  std::int64_t peak = 0;
  for (const ClassMemory& of_class : facts.memory) {
    peak = std::max(peak, of_class.bytes.peak);
  }
  return peak;
}

// Model FLOPs, or executed ones, at the device's dense peak for the job's type, over the step's
// time. Nothing: the device has no such rate, or the step no time.
std::optional<double> UtilizationOf(const JobFacts& facts, double flops, const DeviceModel& device,
                                    double step_ns) {
  const SourcedNumber* rate = PeakRate(device, facts.dtype, true, false);
  rate = rate != nullptr ? rate : PeakRate(device, facts.dtype, false, false);
  if (rate == nullptr || step_ns <= 0) {
    return std::nullopt;
  }
  return flops / (rate->value * static_cast<double>(facts.ranks)) / (step_ns / kSecondNs);
}

Json MemoryJson(const JobFacts& facts, double of_bytes) {
  const std::int64_t peak = PeakBytes(facts);
  Json json = {{"fits", static_cast<double>(peak) <= of_bytes},
               {"peak_bytes", peak},
               {"of_bytes", static_cast<std::int64_t>(of_bytes)},
               {"micro_batch", facts.micro_batch}};
  if (facts.largest_micro_batch) {
    json["largest_micro_batch"] = *facts.largest_micro_batch;
  }
  Json classes = Json::array();
  for (const ClassMemory& of_class : facts.memory) {
    const MemorySums& bytes = of_class.bytes;
    Json& row = classes.emplace_back();
    REPRISE_ADD_FIELDS(row, of_class, stage, first_rank, ranks)
    REPRISE_ADD_FIELDS(row, bytes, parameters, gradients, optimizer, activations)
    row["buffers"] = bytes.buffers();
    row["peak"] = bytes.peak;
    row["fits"] = static_cast<double>(bytes.peak) <= of_bytes;
  }
  json["classes"] = std::move(classes);
  return json;
}

// That divide what each data-parallel rank gets, ascending.
std::vector<std::int64_t> MicroBatchesOf(const Workload& workload) {
  const std::int64_t each = workload.global_batch / workload.layout.dp;
  std::vector<std::int64_t> batches;
  for (std::int64_t batch = 1; batch <= each; ++batch) {
    if (each % batch == 0) {
      batches.push_back(batch);
    }
  }
  return batches;
}

}  // namespace

Result<std::int64_t> LargestMicroBatch(const Workload& workload, double memory_bytes) {
  const std::vector<std::int64_t> batches = MicroBatchesOf(workload);
  std::size_t fitting = 0;  // of the first `fitting` all fit; more take more memory
  std::size_t end = batches.size();
  while (fitting < end) {
    const std::size_t middle = fitting + (end - fitting) / 2;
    GenerateRequest request{.workload = workload};
    request.workload.micro_batch = batches[middle];
    bool fits = false;
    // What breaks a rule of the schedule does not count as fitting.
    if (CheckRules(request.workload)) {
      REPRISE_ASSIGN(const GenerateSummary summary, Generate(request));
      const std::int64_t peak = PeakBytes(FactsOf(request.workload, summary));
      fits = static_cast<double>(peak) <= memory_bytes;
    }
    (fits ? fitting : end) = fits ? middle + 1 : middle;
  }
  return fitting > 0 ? batches[fitting - 1] : 0;
}

void AddJobFacts(const JobFacts& facts, const DeviceModel& device, double step_ns, Json& json) {
  json["memory"] = MemoryJson(facts, device.memory_bytes.value);
  const double seconds = step_ns / kSecondNs;
  const auto rate = [seconds](std::int64_t count) {
    return count > 0 && seconds > 0 ? Json(static_cast<double>(count) / seconds) : Json(nullptr);
  };
  json["tokens_per_second"] = rate(facts.tokens);
  json["samples_per_second"] = rate(facts.samples);
  json["mfu"] = UtilizationOf(facts, facts.model_flops, device, step_ns);
  json["hfu"] = UtilizationOf(facts, facts.executed_flops, device, step_ns);
}

std::string MemoryText(const JobFacts& facts, const DeviceModel& device) {
  const double of_bytes = device.memory_bytes.value;
  const auto gigabytes = [](double bytes) { return fmt::format("{:.2f}", bytes / kGigabyte); };
  const auto shown = [&gigabytes](std::int64_t bytes) {
    return gigabytes(static_cast<double>(bytes));
  };
  const std::int64_t peak = PeakBytes(facts);
  std::string text = fmt::format("Memory          {} GB of {} GB at the peak: {}{}\n", shown(peak),
                                 gigabytes(of_bytes),
                                 static_cast<double>(peak) <= of_bytes ? "fits" : "does not fit",
                                 !facts.largest_micro_batch ? std::string()
                                 : *facts.largest_micro_batch > 0
                                     ? fmt::format("; micro-batch {}, the largest that fits is {}",
                                                   facts.micro_batch, *facts.largest_micro_batch)
                                     : "; no micro-batch fits");
  text += fmt::format("  {:>5} {:>10} {:>7} {:>10} {:>10} {:>10} {:>11} {:>8} {:>8}\n", "stage",
                      "first rank", "ranks", "parameters", "gradients", "optimizer", "activations",
                      "buffers", "peak, GB");
  for (const ClassMemory& of_class : facts.memory) {
    const MemorySums& bytes = of_class.bytes;
    text += fmt::format("  {:>5} {:>10} {:>7} {:>10} {:>10} {:>10} {:>11} {:>8} {:>8}{}\n",
                        of_class.stage, of_class.first_rank, of_class.ranks,
                        shown(bytes.parameters), shown(bytes.gradients), shown(bytes.optimizer),
                        shown(bytes.activations), shown(bytes.buffers()), shown(bytes.peak),
                        static_cast<double>(bytes.peak) <= of_bytes ? "" : "  too much");
  }
  return text;
}

}  // namespace reprise
