// A description → a trace set.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "et_schema/rank_classes.h"
#include "predict/workload/description.h"
#include "predict/workload/job/facts.h"
#include "predict/workload/job/totals.h"

namespace reprise {

// Bad input: the first rule that the workload breaks.
[[nodiscard]] Status CheckWorkload(const Workload& workload);
// Its part about low-rank adapters.
[[nodiscard]] Status CheckLora(const Workload& workload);
// Its part about products in 8 bits.
[[nodiscard]] Status CheckFp8(const Workload& workload);

// Sets num_ops and tensor_bytes of a work node; it may change nothing else. None: unknown.
using NodeCosts = std::function<void(Node& node)>;

struct GenerateRequest {
  Workload workload;
  std::string directory;  // empty: nothing is written, only summed
  bool expand = false;    // one file a rank in place of one a class
  bool force = false;     // replace an output that exists
  bool compress = false;  // classes as .et.zst
  NodeCosts costs;
  // Gets the nodes, for tests: one class after the other, in the order of PlanRanks.
  NodeSink observe;
};

struct StageMemory {
  std::int64_t stage = 0;
  MemorySums bytes;  // of the rank with the highest peak
};

struct TransferRow {
  std::string kind, group;  // "all_reduce", "dp"
  TransferSums sums;        // over all ranks
};

struct GenerateSummary {
  std::int64_t ranks = 0, classes = 0;
  std::int64_t nodes = 0, nodes_written = 0;              // of all ranks; in the files
  std::int64_t parameters = 0, trainable_parameters = 0;  // of the whole model
  // Of a step of the whole job, mean of the steps. Doubles: a large job's do not fit 64 bits. Exact
  // below 2^53.
  double model_flops = 0, executed_flops = 0;
  std::int64_t micro_batches = 0;
  std::vector<StageMemory> memory;
  std::vector<ClassMemory> class_memory;  // in the order of PlanRanks
  std::vector<TransferRow> transfers;
  std::int64_t files = 0, bytes_on_disk = 0;
};

[[nodiscard]] Result<GenerateSummary> Generate(const GenerateRequest& request);

// The classes of ranks that do the same, and the groups.
struct RankPlan {
  std::vector<std::vector<std::int32_t>> classes;
  std::vector<GroupRole> roles;
};
[[nodiscard]] RankPlan PlanRanks(const Workload& workload);
// The same as a written set has it. `suffix` follows ".et" in the names of its files.
[[nodiscard]] Result<RankClasses> ClassesOfRanks(const Workload& workload, const RankPlan& plan,
                                                 std::string_view suffix = {});
// Of the whole model, each number once.
[[nodiscard]] std::int64_t CountParameters(const Workload& workload);
[[nodiscard]] std::int64_t CountTrainableParameters(const Workload& workload);

// A line that says what a generated trace is of: TraceMetadata::source.
[[nodiscard]] std::string SourceText(const Workload& workload);

// The program of one class of ranks, by its number in the plan: every node goes to `sink`.
struct ClassProgram {
  TraceMetadata header;  // that its file has
  Totals totals;
};
[[nodiscard]] Result<ClassProgram> GenerateClass(const Workload& workload, const RankPlan& plan,
                                                 std::size_t number, const NodeSink& sink,
                                                 bool repeatable = false);

// Sums of a job, from those of its classes in the order of the plan.
class JobSums {
 public:
  // Both must outlive it. The numbers: CountParameters, CountTrainableParameters.
  JobSums(const Workload& workload, const RankPlan& plan, std::int64_t parameters,
          std::int64_t trainable);
  void Add(const Totals& of_class);
  [[nodiscard]] GenerateSummary Finish();

 private:
  const Workload& workload_;
  const RankPlan& plan_;
  GenerateSummary summary_;
  std::map<std::int64_t, MemorySums> memory_;
  std::map<std::pair<std::string, std::string>, TransferSums> transfers_;
};

}  // namespace reprise
