#include "predict/rescale/rescale.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "core/checksums.h"
#include "core/json_fields.h"
#include "core/output_kind.h"
#include "core/temporary_output.h"
#include "et_schema/trace_set.h"
#include "predict/rescale/layer_set.h"
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
    REPRISE_TRY(ChangeAll(output.path()));
    REPRISE_TRY(WriteManifest(output.path()));
    REPRISE_TRY(WriteChecksums(output.path(), OutputKind::kTraceSet));
    REPRISE_TRY(output.Publish([](const std::string& name) { return !IsTraceSetFile(name); }));
    return std::move(summary_);
  }

 private:
  using Change = Status (Rescaling::*)(const TraceSet& set, const std::string& directory);

  // One after the other, by way of sets that nobody keeps.
  Status ChangeAll(const std::string& directory) {
    std::vector<Change> changes;
    if (request_.layers != 0) {
      changes.push_back(&Rescaling::ChangeLayers);
    }
    if (request_.micro_batches != 0) {
      changes.push_back(&Rescaling::ChangeMicroBatches);
    }
    if (request_.tensor_parallel != 0) {
      changes.push_back(&Rescaling::ChangeTensorRanks);
    }
    if (request_.expert_parallel != 0) {
      changes.push_back(&Rescaling::ChangeExpertRanks);
    }
    if (request_.data_parallel != 0) {
      changes.push_back(&Rescaling::ChangeReplicas);
    }
    TraceSet set = set_;
    std::vector<TemporaryOutput> between;
    for (const Change change : changes) {
      if (change == changes.back()) {
        return (this->*change)(set, directory);
      }
      REPRISE_ASSIGN(TemporaryOutput output, TemporaryOutput::Directory(request_.directory));
      REPRISE_TRY((this->*change)(set, output.path()));
      REPRISE_ASSIGN(set, TraceSet::OpenPresent(output.path()));
      between.push_back(std::move(output));
    }
    return {};
  }

  void Count(const RepeatSummary& repeated) {
    summary_.nodes_written = repeated.nodes_written;
    summary_.changed.clear();  // labels of an earlier change are counted with the rest
    if (repeated.copies > 0) {
      summary_.changed[Rescaled::kRepeat] = repeated.copies;
    }
  }
  Status ChangeLayers(const TraceSet& set, const std::string& directory) {
    REPRISE_ASSIGN(summary_.layers, WriteLayers(set, request_, directory));
    Count(*summary_.layers);
    return {};
  }
  Status ChangeMicroBatches(const TraceSet& set, const std::string& directory) {
    REPRISE_ASSIGN(summary_.micro_batches,
                   WriteMicroBatches(set, request_.micro_batches, directory));
    Count(*summary_.micro_batches);
    return {};
  }
  Status ChangeRanks(const TraceSet& set, GroupKind kind, const std::string& directory) {
    summary_.nodes_written = 0;
    summary_.changed.clear();
    // What was known of the source's groups is known of those that were made of them.
    RescaleRequest request = request_;
    if (!summary_.groups.empty()) {
      request.kinds.clear();
    }
    for (const RescaledGroups& group : summary_.groups) {
      if (group.size_after > 1) {
        request.kinds[group.role] = group.kind;
      }
    }
    summary_.groups.clear();
    return WriteReplicas(set, request, kind, directory, summary_);
  }
  Status ChangeTensorRanks(const TraceSet& set, const std::string& directory) {
    return ChangeRanks(set, GroupKind::kTensor, directory);
  }
  Status ChangeExpertRanks(const TraceSet& set, const std::string& directory) {
    return ChangeRanks(set, GroupKind::kExpert, directory);
  }
  Status ChangeReplicas(const TraceSet& set, const std::string& directory) {
    return ChangeRanks(set, GroupKind::kData, directory);
  }

  Status WriteManifest(const std::string& directory) const {
    REPRISE_ASSIGN(const std::string content, set_.ContentHash());
    Json json = {{"format", "reprise-rescaled"}, {"version", 1}};
    json["source"] = {{"name", set_.name}, {"ranks", summary_.ranks_before}, {"content", content}};
    const auto add = [&json](const char* name, const std::optional<RepeatSummary>& repeated) {
      if (repeated) {
        json[name] = {{"from", repeated->before}, {"to", repeated->after}};
      }
    };
    add("layers", summary_.layers);
    add("micro_batches", summary_.micro_batches);
    if (request_.data_parallel != 0) {
      json["data_parallel"] = {{"from", summary_.data_parallel_before},
                               {"to", summary_.data_parallel_after}};
      json["one_copy"] = request_.one_copy;
    }
    if (request_.tensor_parallel != 0) {
      json["tensor_parallel"] = {{"from", summary_.tensor_parallel_before},
                                 {"to", summary_.tensor_parallel_after}};
    }
    if (request_.expert_parallel != 0) {
      json["expert_parallel"] = {{"from", summary_.expert_parallel_before},
                                 {"to", summary_.expert_parallel_after}};
      json["routing"] = "even";  // as it was: every expert gets as many tokens
    }
    if (!summary_.source_ranks.empty()) {
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
