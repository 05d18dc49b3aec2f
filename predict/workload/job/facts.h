// What a job's description says and its nodes do not: tokens, model FLOPs, memory. A generated set
// keeps it in job.json, so that it can be simulated like the job itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "predict/workload/description.h"
#include "predict/workload/job/totals.h"

namespace reprise {

struct ClassMemory {
  std::int64_t stage = 0;
  std::int32_t first_rank = 0;
  std::int64_t ranks = 0;
  MemorySums bytes;
};

// Of one step of the whole job.
struct JobFacts {
  std::int64_t ranks = 0;
  std::int64_t samples = 0;  // sequences, images, samples
  std::int64_t tokens = 0;   // 0: no model of language
  // Of the whole model; none: of a set that does not say it.
  std::optional<std::int64_t> parameters, trainable_parameters;
  DType dtype = DType::kUnknown;
  double model_flops = 0, executed_flops = 0;  // docs/definitions.md
  std::int64_t micro_batch = 0;
  std::string stack;  // StackOf; empty: of a set that does not say it
  std::string model;  // KindOfModel; empty: the same
  // By class of ranks, of what operators name; empty: not known, as of a rescaled set.
  std::vector<ClassMemory> memory;

  [[nodiscard]] std::int64_t PeakBytes() const;  // the highest of all ranks
};

struct GenerateSummary;
[[nodiscard]] JobFacts FactsOf(const Workload& workload, const GenerateSummary& summary);

[[nodiscard]] std::string JobFactsText(const JobFacts& facts);
// Bad input: a damaged file. `origin` begins messages.
[[nodiscard]] Result<JobFacts> ParseJobFacts(std::string_view json, const std::string& origin);
// Of a set's directory; nothing: it has no such file, as captures have none.
[[nodiscard]] Result<std::optional<JobFacts>> ReadJobFacts(const std::string& directory);

}  // namespace reprise
