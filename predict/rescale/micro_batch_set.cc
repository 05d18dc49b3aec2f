#include "predict/rescale/micro_batch_set.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "core/output_kind.h"
#include "core/temporary_output.h"
#include "et_schema/io.h"
#include "predict/rescale/micro_batches.h"
#include "predict/rescale/repeated_nodes.h"
#include "predict/workload/job/facts.h"
#include "replayer/plan/set_checks.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class MicroBatchSet {
 public:
  MicroBatchSet(const TraceSet& set, std::int64_t micro_batches, const std::string& directory)
      : set_(set), directory_(directory) {
    summary_.after = micro_batches;
  }

  Result<MicroBatchSummary> Write() {
    for (const TraceSet::DistinctRank& one : set_.DistinctRanks()) {
      REPRISE_TRY(set_.VerifyFile(one.rank));
      REPRISE_TRY(WriteFile(one));
    }
    if (set_.classes) {
      REPRISE_TRY(set_.classes->Write(directory_));
    } else if (!set_.groups.empty()) {
      REPRISE_TRY(WriteGroups(directory_, set_.groups));
    }
    REPRISE_TRY(WriteJob());
    REPRISE_TRY(CheckResult());
    return summary_;
  }

 private:
  Status WriteFile(const TraceSet::DistinctRank& one) {
    REPRISE_ASSIGN(const Graph graph, Graph::Load(one.path));
    const auto found = FindMicroBatches(graph);
    if (!found) {
      return BadInput(fmt::format("{}: {}", one.file, found.error().message));
    }
    const std::int64_t before = found->parts * found->together;
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
    auto nodes =
        RepeatedNodes::Create(graph, *found, (summary_.after - before) / found->together, one.rank);
    if (!nodes) {
      return BadInput(fmt::format("{}: --micro-batches {} instead of {}: {}", one.file,
                                  summary_.after, before, nodes.error().message));
    }
    TraceMetadata header = nodes->Header();
    header.source += fmt::format("; rescaled: micro-batches {} for {}", summary_.after, before);
    REPRISE_ASSIGN(
        const auto writer,
        EtWriter::Create((fs::path(directory_) / fs::path(one.file).filename()).string(), header));
    const Status written = nodes->ForEach([&](Node& node) -> Status {
      if (set_.classes && node.comm) {
        REPRISE_TRY(set_.classes->Unresolve(one.rank, *node.comm));
      }
      ++summary_.nodes_written;
      summary_.copies += node.rescaled == Rescaled::kRepeat ? 1 : 0;
      return writer->Write(node);
    });
    if (!written) {
      return Fail(written.error().kind, fmt::format("{}: {}", one.file, written.error().message));
    }
    return writer->Close();
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

  [[nodiscard]] Status CheckResult() const {
    REPRISE_ASSIGN(const TraceSet result, TraceSet::OpenPresent(directory_));
    REPRISE_ASSIGN(const SetFindings findings, CheckSet(result));
    if (findings.errors.empty()) {
      return {};
    }
    std::string why = findings.errors.front();
    if (const std::size_t at = why.find(directory_); at != std::string::npos) {
      why.replace(at, directory_.size(), set_.directory);
    }
    return BadInput(fmt::format(
        "with {} micro-batches the set would not replay: {} (whether it had this before: `reprise "
        "validate {}`)",
        summary_.after, why, set_.directory));
  }

  const TraceSet& set_;
  const std::string& directory_;
  MicroBatchSummary summary_;
  std::int32_t first_ = 0;
  bool forward_first_ = false;  // of the first rank
};

}  // namespace

Result<MicroBatchSummary> WriteMicroBatches(const TraceSet& set, std::int64_t micro_batches,
                                            const std::string& directory) {
  return MicroBatchSet(set, micro_batches, directory).Write();
}

}  // namespace reprise
