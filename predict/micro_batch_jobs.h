// Jobs that differ in their micro-batches alone, in memory. A class of ranks is generated once,
// with few of them; in a job of more the part of its program that takes one more comes again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/result.h"
#include "predict/folded_job.h"
#include "predict/workload/description.h"
#include "predict/workload/job/generate.h"
#include "predict/workload/schedule.h"

namespace reprise {

// The workload with another global batch.
[[nodiscard]] Workload WithMicroBatches(const Workload& workload, std::int64_t micro_batches);

struct GeneratedJob {
  FoldedJob folded;
  GenerateSummary summary;
};

class MicroBatchJobs {
 public:
  // Whether jobs are described, so that a run can be written: twice the work for the few.
  enum class For : std::uint8_t { kTimes, kRun };
  // The workload is checked. `repeat` false: every job is generated with all its micro-batches; the
  // result is the same.
  explicit MicroBatchJobs(const Workload& workload, bool repeat = true, For use = For::kTimes);

  // The workload with so many micro-batches; these are checked, too. Nodes and headers keep no more
  // than what times need. Bad input: more nodes of a class than InputLimits has.
  [[nodiscard]] Result<GeneratedJob> Generate(std::int64_t micro_batches);
  // The sums of the same job.
  [[nodiscard]] Result<GenerateSummary> Sum(std::int64_t micro_batches);
  // Classes, each with some number of micro-batches, that were generated and not repeated.
  [[nodiscard]] std::int64_t generated() const { return generated_; }

 private:
  struct Class {
    Totals totals{false};
    std::optional<Graph> program;  // unless sums alone are wanted
    std::vector<OperatorWork> work;
    DescribedNodes described;  // of a program, for a run
  };
  struct Generated {
    Class made;
    std::vector<std::uint32_t> passes;  // numbers of the nodes with which they begin
  };
  struct Few {
    Class made;
    std::optional<RepeatedPart> part;  // nothing: the class is generated anew for each job
  };
  [[nodiscard]] Result<Generated> GenerateNodes(std::size_t number, std::int64_t micro_batches,
                                                bool program, bool repeatable);
  [[nodiscard]] Status FindFew(std::size_t number, const RepeatedPasses& passes, bool program);
  [[nodiscard]] Result<Class> ClassOf(std::size_t number, std::int64_t micro_batches, bool program);

  Workload workload_;
  bool repeat_;
  For use_;
  RankPlan plan_;
  std::int64_t parameters_, trainable_;
  std::shared_ptr<const RankClasses> classes_;
  std::vector<std::optional<Few>> few_;  // by class
  std::int64_t generated_ = 0;
};

}  // namespace reprise
