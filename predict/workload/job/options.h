// The options that describe a training job. They go over a preset or a description: on the command
// line (`--tp 8`), as keys of a sweep (`tp=4,8`) and in sweep files (`"tp": 8`).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"
#include "predict/workload/description.h"

namespace reprise {

struct JobOptions {
  std::string what;  // a preset or a file
  std::optional<std::int64_t> ranks, tp, pp, dp, ep, etp, cp, global_batch, micro_batch, sequence,
      steps, seed, shards, zero, recompute_layers, lora, document_length;
  std::optional<std::vector<std::int64_t>> layers_per_stage, documents;
  std::optional<std::vector<std::string>> overlap, recompute_modules, lora_targets;
  std::optional<bool> fsdp, sp, distributed_optimizer, fp8_param_gather;
  std::optional<std::string> schedule, recompute, dtype, fp8, routing, stack, name, cp_comm_type;
};

struct JobOption {
  using Number = std::optional<std::int64_t> JobOptions::*;
  using Numbers = std::optional<std::vector<std::int64_t>> JobOptions::*;
  using Text = std::optional<std::string> JobOptions::*;
  using Texts = std::optional<std::vector<std::string>> JobOptions::*;
  using Switch = std::optional<bool> JobOptions::*;
  enum class Part : std::uint8_t { kName, kLayout, kStep };

  const char* name;
  Part part;
  const char* help;
  std::variant<Number, Numbers, Text, Texts, Switch> member;
  std::int64_t least = 1;  // of a number
};
// All but `what`.
[[nodiscard]] std::span<const JobOption> AllJobOptions();
// nullptr: there is none of this name. '_' counts as '-'.
[[nodiscard]] const JobOption* FindJobOption(std::string name);

// By name: "tp" and "8", "overlap" and "tp+grad", "fsdp" and "on". Usage error: no such option
// (with the nearest), or no value of its kind.
[[nodiscard]] Status SetJobOption(const std::string& name, const std::string& text,
                                  JobOptions& options);
// Those that are set, as SetJobOption takes them: name → text.
[[nodiscard]] std::map<std::string, std::string> GivenJobOptions(const JobOptions& options);

// Complete; its rules are not checked yet.
[[nodiscard]] Result<Workload> DescribeJob(const JobOptions& options);
// Complete and checked. Bad input: what the description breaks; usage: what an option breaks.
[[nodiscard]] Result<Workload> MakeJob(const JobOptions& options);

// What has an effect, but not the one that it is for.
[[nodiscard]] std::vector<std::string> EffectNotes(const Workload& workload);

// Usage error: an option that changes nothing in the job, with the reason, so that a prediction is
// not taken for one of what it asked for. `workload`: as DescribeJob gives it. `swept`: options
// that a sweep varies; what depends on one of these is left alone, for it may have an effect in
// some configuration.
[[nodiscard]] Status CheckEffects(const JobOptions& options, const Workload& workload,
                                  const std::set<std::string>& swept = {});

}  // namespace reprise
