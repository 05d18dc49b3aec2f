// The software stack of a job, in what is predicted of it.
#pragma once

#include <optional>
#include <string>

#include "core/result.h"
#include "predict/machine/stack.h"
#include "predict/prediction.h"
#include "predict/workload/job/facts.h"

namespace reprise {

// Nothing of kNoStack, and of a set that names none. Bad input: no such stack.
[[nodiscard]] Result<std::optional<SoftwareStack>> StackOfJob(const std::string& name);

// What no operator names is added to each class of ranks.
void AddMemory(const SoftwareStack& stack, JobFacts& job);

// Puts the stack into the machine. One that was fitted to captures has the stack of these in its
// numbers already.
[[nodiscard]] StackPrediction AddStack(const SoftwareStack& stack, const JobFacts& job,
                                       MachineModel& machine);

}  // namespace reprise
