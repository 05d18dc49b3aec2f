// A job's facts on a machine: utilization, and whether its memory fits.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/result.h"
#include "machine/machine.h"
#include "workload/description.h"
#include "workload/job/facts.h"

namespace reprise {

// Of the micro-batches that divide the job's batch, tried by generating them. Errors as Generate.
[[nodiscard]] Result<std::int64_t> LargestMicroBatch(const Workload& workload, double memory_bytes);

// tokens_per_second, samples_per_second, mfu, hfu, memory.
void AddJobFacts(const JobFacts& facts, const DeviceModel& device, double step_ns,
                 nlohmann::ordered_json& json);
// A table of what takes the memory, and whether it fits. Each line ends with a newline.
[[nodiscard]] std::string MemoryText(const JobFacts& facts, const DeviceModel& device);

}  // namespace reprise
