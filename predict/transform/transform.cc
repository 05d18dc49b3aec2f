#include "predict/transform/transform.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "core/checksums.h"
#include "core/output_kind.h"
#include "core/temporary_output.h"
#include "et_schema/io.h"
#include "predict/transform/rule_effect_json.h"
#include "replayer/plan/set_checks.h"
#include "replayer/plan/timing_graph.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class Transformation {
 public:
  Transformation(const TransformRequest& request, RuleSet& rules)
      : request_(request), rules_(rules) {}

  Result<TransformSummary> Run() {
    REPRISE_TRY(CheckIsAnother(request_.set, request_.directory));
    REPRISE_TRY(CheckReplaceable(request_.directory, OutputKind::kTraceSet, request_.force));
    REPRISE_ASSIGN(set_, TraceSet::OpenPresent(request_.set));
    REPRISE_ASSIGN(TemporaryOutput output, TemporaryOutput::Directory(request_.directory));
    if (set_.classes) {
      REPRISE_ASSIGN(classes_, rules_.Divided(*set_.classes));
      for (const RankClass& one : classes_->classes()) {
        REPRISE_TRY(WriteFile(one.ranks.front().first, fs::path(output.path()) / one.file));
      }
      REPRISE_TRY(classes_->Write(output.path()));
    } else {
      for (const auto& [rank, path] : set_.files) {
        REPRISE_TRY(WriteFile(rank, fs::path(output.path()) / fs::path(path).filename()));
      }
      if (!set_.groups.empty()) {
        REPRISE_TRY(WriteGroups(output.path(), set_.groups));
      }
    }
    REPRISE_TRY(rules_.CheckEffects());
    REPRISE_TRY(CheckTimes());
    REPRISE_TRY(CopyJob(output.path()));
    REPRISE_TRY(CheckResult(output.path()));
    REPRISE_TRY(WriteManifest(output.path()));
    REPRISE_TRY(WriteChecksums(output.path(), OutputKind::kTraceSet));
    REPRISE_TRY(output.Publish([](const std::string& name) { return !IsTraceSetFile(name); }));
    summary_.ranks = static_cast<std::int64_t>(set_.RankCount());
    summary_.missing = set_.MissingRanks();
    return summary_;
  }

 private:
  Status WriteFile(std::int32_t rank, const fs::path& path) {
    REPRISE_TRY(set_.VerifyFile(rank));
    REPRISE_ASSIGN(const Graph graph, Graph::Load(set_.RankPath(rank)));
    TraceMetadata header = graph.metadata();
    header.source += "; transformed";
    REPRISE_ASSIGN(const auto writer, EtWriter::Create(path.string(), header));
    REPRISE_TRY(rules_.ForEachEdited(graph, rank, set_, [&](Node& node) -> Status {
      if (classes_ && node.comm) {
        REPRISE_TRY(set_.classes->Unresolve(rank, *node.comm));
      }
      ++summary_.nodes_after;
      return writer->Write(node);
    }));
    summary_.nodes_before += graph.size();
    ++summary_.files;
    return writer->Close();
  }

  // A set keeps times of recordings alone.
  [[nodiscard]] Status CheckTimes() const {
    for (std::size_t r = 0; r < rules_.rules().size(); ++r) {
      const Rule& rule = rules_.rules()[r];
      const RuleEffect& effect = rules_.effects()[r];
      if (!rule.ChangesStructure() && effect.nodes == effect.nodes_without_time) {
        return BadInput(fmt::format(
            "rule \"{}\": none of the nodes that it finds has a recorded time; `reprise simulate "
            "{} --what-if` changes those that a machine's model gives them",
            rule.text, request_.set));
      }
    }
    return {};
  }

  [[nodiscard]] Status CopyJob(const std::string& directory) const {
    const fs::path job = fs::path(request_.set) / kJobFile;
    std::error_code error;
    if (fs::exists(job, error)) {
      fs::copy_file(job, fs::path(directory) / kJobFile, error);
    }
    return error ? EnvironmentError(
                       fmt::format("{}: cannot be copied: {}", job.string(), error.message()))
                 : Status{};
  }

  // Ranks must agree on their transfers still, and nothing may wait for itself.
  [[nodiscard]] Status CheckResult(const std::string& directory) const {
    REPRISE_ASSIGN(const TraceSet result, TraceSet::OpenPresent(directory));
    REPRISE_ASSIGN(SetFindings findings, CheckSet(result));
    if (findings.errors.empty()) {
      REPRISE_ASSIGN(const std::string circle, CircleOfRanks(result, findings.graphs));
      if (!circle.empty()) {
        findings.errors.push_back(circle);
      }
    }
    if (findings.errors.empty()) {
      return {};
    }
    std::string why = findings.errors.front();
    if (const std::size_t at = why.find(directory); at != std::string::npos) {
      why.replace(at, directory.size(), request_.directory);
    }
    return BadInput(
        fmt::format("with these rules the set would not replay: {}; a transfer must change on all "
                    "of its ranks, and no rule may make nodes wait for each other (whether the set "
                    "had this before: `reprise validate {}`)",
                    why, request_.set));
  }

  // Ranks that wait for each other without end. Empty: none do, or the set has too many ranks to
  // look at each.
  [[nodiscard]] static Result<std::string> CircleOfRanks(const TraceSet& result,
                                                         const std::vector<Graph>& classes) {
    constexpr std::size_t kMostRanks = 64;
    if (result.RankCount() > kMostRanks || !result.missing.empty()) {
      return std::string();
    }
    std::vector<Graph> of_ranks;
    std::vector<const Graph*> graphs;
    if (result.classes) {
      for (const auto& [rank, path] : result.RankPaths()) {
        REPRISE_ASSIGN(Graph graph, Graph::Load(path));
        of_ranks.push_back(std::move(graph));
      }
    }
    for (const Graph& graph : result.classes ? of_ranks : classes) {
      graphs.push_back(&graph);
    }
    const TimingTrace timing = TimingOfSet(graphs);
    const auto order = EventOrder::Find(timing.graph);
    return order ? std::string() : order.error().message;
  }

  [[nodiscard]] Status WriteManifest(const std::string& directory) const {
    REPRISE_ASSIGN(const std::string content, set_.ContentHash());
    Json json = {{"format", "reprise-transformed"}, {"version", 1}};
    json["source"] = {{"name", set_.name}, {"content", content}};
    json["rules"] = Json::array();
    for (const RuleEffect& effect : rules_.effects()) {
      json["rules"].push_back(effect);
    }
    return WriteTextFile((fs::path(directory) / kTransformedFile).string(), json.dump(1) + "\n");
  }

  const TransformRequest& request_;
  RuleSet& rules_;
  TraceSet set_;
  std::optional<RankClasses> classes_;  // of a folded set
  TransformSummary summary_;
};

}  // namespace

Result<TransformSummary> TransformSet(const TransformRequest& request, RuleSet& rules) {
  return Transformation(request, rules).Run();
}

}  // namespace reprise
