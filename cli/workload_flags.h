// The options that describe a training job, shared by what generates and what simulates one. They
// go over a preset or a description.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "workload/description.h"

namespace reprise {

struct WorkloadFlags {
  std::string what;  // a preset or a file
  std::optional<std::int64_t> ranks, tp, pp, dp, ep, cp, global_batch, micro_batch, sequence, steps,
      seed;
  std::optional<std::vector<std::int64_t>> layers_per_stage;
  std::optional<std::vector<std::string>> overlap;
  std::optional<bool> fsdp, sp, distributed_optimizer;
  std::optional<std::string> schedule, recompute, dtype, routing, name;
};

// All of them but `what`, and those that the command has options of its own for.
void AddWorkloadOptions(CLI::App& app, WorkloadFlags& flags,
                        const std::vector<std::string>& without = {});

// The same by name, as a sweep gives them: "tp" and "8", "overlap" and "tp+grad", "fsdp" and "on".
// Usage error: no such option (with the nearest), or no value of its kind.
[[nodiscard]] Status SetWorkloadOption(const std::string& name, const std::string& text,
                                       WorkloadFlags& flags);
// Those that are set, as SetWorkloadOption takes them: name → text.
[[nodiscard]] std::map<std::string, std::string> GivenWorkloadOptions(const WorkloadFlags& flags);

// Complete; its rules are not checked yet.
[[nodiscard]] Result<Workload> DescribeWorkload(const WorkloadFlags& flags);
// Complete and checked. Bad input: what the description breaks; usage: what an option breaks.
[[nodiscard]] Result<Workload> MakeWorkload(const WorkloadFlags& flags);

}  // namespace reprise
