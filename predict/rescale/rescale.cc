#include "predict/rescale/rescale.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "core/checksums.h"
#include "core/json_fields.h"
#include "core/output_kind.h"
#include "core/temporary_output.h"
#include "et_schema/trace_set.h"
#include "predict/rescale/micro_batch_set.h"
#include "predict/rescale/replicas.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class Rescaling {
 public:
  explicit Rescaling(const RescaleRequest& request) : request_(request) {}

  Result<RescaleSummary> Run() {
    if (fs::exists(fs::path(request_.set) / kRescaledFile)) {
      return BadInput(
          fmt::format("{}: it was rescaled already ({}); rescale the set that it was made from",
                      request_.set, kRescaledFile));
    }
    REPRISE_TRY(CheckIsAnother(request_.set, request_.directory));
    REPRISE_TRY(CheckReplaceable(request_.directory, OutputKind::kTraceSet, request_.force));
    REPRISE_ASSIGN(set_, TraceSet::OpenPresent(request_.set));
    summary_.missing = set_.MissingRanks();
    summary_.ranks_before = summary_.ranks_after = set_.world_size;
    REPRISE_ASSIGN(TemporaryOutput output, TemporaryOutput::Directory(request_.directory));
    if (request_.data_parallel == 0) {
      REPRISE_TRY(ChangeMicroBatches(output.path()));
    } else if (request_.micro_batches == 0) {
      REPRISE_TRY(WriteReplicas(set_, request_, output.path(), summary_));
    } else {
      REPRISE_TRY(ChangeBoth(output.path()));
    }
    REPRISE_TRY(WriteManifest(output.path()));
    REPRISE_TRY(WriteChecksums(output.path(), OutputKind::kTraceSet));
    REPRISE_TRY(output.Publish([](const std::string& name) { return !IsTraceSetFile(name); }));
    return std::move(summary_);
  }

 private:
  Status ChangeMicroBatches(const std::string& directory) {
    REPRISE_ASSIGN(summary_.micro_batches,
                   WriteMicroBatches(set_, request_.micro_batches, directory));
    summary_.nodes_written = summary_.micro_batches->nodes_written;
    if (summary_.micro_batches->copies > 0) {
      summary_.changed[Rescaled::kRepeat] = summary_.micro_batches->copies;
    }
    return {};
  }

  // One after the other, by way of a set that nobody keeps.
  Status ChangeBoth(const std::string& directory) {
    REPRISE_ASSIGN(const TemporaryOutput between, TemporaryOutput::Directory(request_.directory));
    REPRISE_TRY(ChangeMicroBatches(between.path()));
    summary_.nodes_written = 0;
    summary_.changed.clear();
    REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(between.path()));
    return WriteReplicas(set, request_, directory, summary_);
  }

  Status WriteManifest(const std::string& directory) const {
    REPRISE_ASSIGN(const std::string content, set_.ContentHash());
    Json json = {{"format", "reprise-rescaled"}, {"version", 1}};
    json["source"] = {{"name", set_.name}, {"ranks", summary_.ranks_before}, {"content", content}};
    if (summary_.micro_batches) {
      json["micro_batches"] = {{"from", summary_.micro_batches->before},
                               {"to", summary_.micro_batches->after}};
    }
    if (request_.data_parallel != 0) {
      json["data_parallel"] = {{"from", summary_.data_parallel_before},
                               {"to", summary_.data_parallel_after}};
      json["one_copy"] = request_.one_copy;
      json["source_ranks"] = summary_.source_ranks;
    }
    for (const auto& [rule, nodes] : summary_.changed) {
      json["changed"][std::string(Name(rule))] = nodes;
    }
    return WriteTextFile((fs::path(directory) / kRescaledFile).string(), json.dump(1) + "\n");
  }

  const RescaleRequest& request_;
  TraceSet set_;
  RescaleSummary summary_;
};

}  // namespace

Result<RescaleSummary> RescaleSet(const RescaleRequest& request) {
  return Rescaling(request).Run();
}

}  // namespace reprise
