// A job's facts on a machine: utilization, and whether its memory fits.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/result.h"
#include "machine/machine.h"
#include "workload/description.h"
#include "workload/job/facts.h"

namespace reprise {

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
