// Jobs of many micro-batches, from jobs of few: once a pipeline is full, one more micro-batch adds
// the same to everything. Baccelli, Cohen, Olsder, Quadrat, "Synchronization and Linearity" (1992),
// section 3.7: such schedules become periodic. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/result.h"
#include "predict/machine/machine.h"
#include "predict/prediction.h"
#include "predict/workload/description.h"

namespace reprise {

// Predicts a job with all its micro-batches.
using PredictWhole = std::function<Result<Prediction>(const Workload& workload)>;

// From four jobs with few micro-batches whose differences are equal, to the nanosecond and byte,
// and whose last operations start as long before the end (Prediction::last_starts): no stage has a
// lead that more micro-batches would use up. Nothing: the job has few itself, several steps, or
// differences that are not equal (tokens that choose experts anew in each micro-batch, power or
// heat that lowers clocks). Under a limit on means the small jobs are longer than its window.
// Temperatures follow from power over time (PowerPrediction::OfDevice::stretches, which `predict`
// keeps) and the thermal model of `device`, exactly.
[[nodiscard]] Result<std::optional<Prediction>> PredictExtended(const Workload& workload,
                                                                const DeviceModel& device,
                                                                const PredictWhole& predict);

// The same of a number that follows from the job alone, such as its peak of memory.
[[nodiscard]] Result<std::int64_t> NumberOfJob(
    const Workload& workload,
    const std::function<Result<std::int64_t>(const Workload& workload)>& number);

}  // namespace reprise
