#include "predict/job_stack.h"

#include "predict/workload/description.h"

namespace reprise {
namespace {

constexpr std::int64_t kFloat32Bytes = 4;

}  // namespace

Result<std::optional<SoftwareStack>> StackOfJob(const std::string& name) {
  if (name.empty() || name == kNoStack) {
    return std::nullopt;
  }
  REPRISE_ASSIGN(SoftwareStack stack, LoadStack(name));
  return stack;
}

void AddMemory(const SoftwareStack& stack, JobFacts& job) {
  const auto bytes = [](const OptionalNumber& number) {
    return number ? static_cast<std::int64_t>(number->value) : 0;
  };
  const std::int64_t element_bytes = SizeOf(job.dtype);
  for (ClassMemory& of_class : job.memory) {
    MemorySums& sums = of_class.bytes;
    const std::int64_t parameters = element_bytes > 0 ? sums.parameters / element_bytes : 0;
    std::int64_t more = bytes(stack.context_bytes);
    if (stack.reserved) {
      more += static_cast<std::int64_t>(stack.reserved->value *
                                        static_cast<double>(sums.activations + sums.buffers()));
    }
    if (element_bytes < kFloat32Bytes && sums.gradients >= kFloat32Bytes * parameters) {
      more += bytes(stack.gradient_bytes) * parameters;
    }
    sums.stack = more;
    sums.peak += more;
  }
}

StackPrediction AddStack(const SoftwareStack& stack, const JobFacts& job, MachineModel& machine) {
  StackPrediction prediction{.name = stack.name, .about = stack.about, .model = job.model};
  if (machine.calibration) {
    return prediction;
  }
  ApplyStack(stack, machine.device);
  prediction.changes = ChangesText(stack, machine.device);
  if (const SourcedNumber* const error = FindOf(stack.errors, machine.device, job.model)) {
    prediction.error = error->value;
    prediction.error_of = error->reference;
  }
  return prediction;
}

}  // namespace reprise
