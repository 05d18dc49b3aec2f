// What a job's description says and its nodes do not: tokens, model FLOPs, memory.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "machine/machine.h"
#include "workload/description.h"
#include "workload/job/generate.h"

namespace reprise {

// Of one step of the whole job.
struct JobFacts {
  std::int64_t ranks = 0;
  std::int64_t samples = 0;  // sequences, images, samples
  std::int64_t tokens = 0;   // 0: no model of language
  DType dtype = DType::kUnknown;
  double model_flops = 0, executed_flops = 0;  // docs/definitions.md
  std::vector<ClassMemory> memory;             // by class of ranks
  std::int64_t micro_batch = 0;
  // That fits in the device's memory, with the same global batch; 0: none does.
  std::optional<std::int64_t> largest_micro_batch;
};
[[nodiscard]] JobFacts FactsOf(const Workload& workload, const GenerateSummary& summary);

// The highest peak of all ranks.
[[nodiscard]] std::int64_t PeakBytes(const JobFacts& facts);
// Model FLOPs, or executed ones, at the device's dense peak for the job's type, over the step's
// time. Nothing: the device has no such rate, or the step no time.
[[nodiscard]] std::optional<double> UtilizationOf(const JobFacts& facts, double flops,
                                                  const DeviceModel& device, double step_ns);

// Of the micro-batches that divide the job's batch, tried by generating them. Errors as Generate.
[[nodiscard]] Result<std::int64_t> LargestMicroBatch(const Workload& workload, double memory_bytes);

// tokens_per_second, samples_per_second, mfu, hfu, memory.
void AddJobFacts(const JobFacts& facts, const DeviceModel& device, double step_ns,
                 nlohmann::ordered_json& json);
// A table of what takes the memory, and whether it fits. Each line ends with a newline.
[[nodiscard]] std::string MemoryText(const JobFacts& facts, const DeviceModel& device);

}  // namespace reprise
