#include "predict/rescale/micro_batch_set.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "core/output_kind.h"
#include "core/temporary_output.h"
#include "predict/rescale/micro_batch_places.h"
#include "predict/rescale/micro_batches.h"
#include "predict/rescale/repeated_nodes.h"
#include "predict/workload/job/facts.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class MicroBatchSet {
 public:
  MicroBatchSet(const TraceSet& set, std::int64_t micro_batches, const std::string& directory)
      : set_(set), directory_(directory) {
    summary_.after = micro_batches;
  }

  Result<RepeatSummary> Write() {
    for (const TraceSet::DistinctRank& one : set_.DistinctRanks()) {
      REPRISE_TRY(set_.VerifyFile(one.rank));
      REPRISE_TRY(WriteFile(one));
    }
    REPRISE_TRY(WriteSameGroups(set_, directory_));
    REPRISE_TRY(WriteJob());
    REPRISE_TRY(
        CheckRepeatedSet(set_, fmt::format("{} micro-batches", summary_.after), directory_));
    return summary_;
  }

 private:
  Status WriteFile(const TraceSet::DistinctRank& one) {
    REPRISE_ASSIGN(const Graph graph, Graph::Load(one.path));
    const auto found = FindMicroBatches(graph);
    if (!found) {
      return BadInput(fmt::format("{}: {}", one.file, found.error().message));
    }
    const std::int64_t before = found->count * found->together;
    if (summary_.before == 0) {
      summary_.before = before;
      first_ = one.rank;
      forward_first_ = found->forward_first;
    }
    if (found->forward_first != forward_first_) {
      return BadInput(fmt::format(
          "{}: on one of the ranks {} and {} all forward passes come before the backward ones, on "
          "the other they take turns: so few micro-batches do not show the pipeline's order; it "
          "takes more of them than ranks",
          one.file, first_, one.rank));
    }
    REPRISE_TRY(CheckNumber(one, before, found->together));
    const std::int64_t more = (summary_.after - before) / found->together;
    const Status allowed = CheckRepetition(graph.size(), found->parts, more);
    if (!allowed) {
      return Refused(one, before, allowed.error());
    }
    const MicroBatchPlaces places(*found, more);
    const Status in_order = places.CheckOrder(graph);
    if (!in_order) {
      return Refused(one, before, in_order.error());
    }
    auto nodes = RepeatedNodes::Create(graph, places, nullptr, one.rank);
    if (!nodes) {
      return Refused(one, before, nodes.error());
    }
    return WriteRepeatedFile(set_, one, *nodes,
                             fmt::format("micro-batches {} for {}", summary_.after, before), {},
                             directory_, summary_);
  }

  [[nodiscard]] tl::unexpected<Error> Refused(const TraceSet::DistinctRank& one,
                                              std::int64_t before, const Error& why) const {
    return BadInput(fmt::format("{}: --micro-batches {} instead of {}: {}", one.file,
                                summary_.after, before, why.message));
  }

  Status CheckNumber(const TraceSet::DistinctRank& one, std::int64_t before,
                     std::int64_t together) const {
    if (before != summary_.before) {
      return BadInput(fmt::format("{}: rank {} has {} micro-batches in a step, rank {} has {}",
                                  one.file, one.rank, before, first_, summary_.before));
    }
    if (summary_.after == before) {
      return UsageError(
          fmt::format("--micro-batches {}: the set has as many already", summary_.after));
    }
    if ((summary_.after - before) % together != 0) {
      return BadInput(
          fmt::format("--micro-batches {}: on rank {} chunks of layers take turns at {} "
                      "micro-batches; give {}, "
                      "and more or fewer by multiples of {}",
                      summary_.after, one.rank, together, before, together));
    }
    return {};
  }

  // As many more samples and FLOPs. Memory stays where as many micro-batches are under way at a
  // time; where all of them are, it is not known.
  [[nodiscard]] Status WriteJob() const {
    REPRISE_ASSIGN(std::optional<JobFacts> job, ReadJobFacts(set_.directory));
    if (!job) {
      return {};
    }
    const auto scaled = [&](std::int64_t number) {
      return number * summary_.after / summary_.before;
    };
    job->samples = scaled(job->samples);
    job->tokens = scaled(job->tokens);
    const double ratio = static_cast<double>(summary_.after) / static_cast<double>(summary_.before);
    job->model_flops *= ratio;
    job->executed_flops *= ratio;
    if (forward_first_) {
      job->memory.clear();
    }
    return WriteTextFile((fs::path(directory_) / kJobFile).string(), JobFactsText(*job));
  }

  const TraceSet& set_;
  const std::string& directory_;
  RepeatSummary summary_;
  std::int32_t first_ = 0;
  bool forward_first_ = false;  // of the first rank
};

}  // namespace

Result<RepeatSummary> WriteMicroBatches(const TraceSet& set, std::int64_t micro_batches,
                                        const std::string& directory) {
  return MicroBatchSet(set, micro_batches, directory).Write();
}

}  // namespace reprise
