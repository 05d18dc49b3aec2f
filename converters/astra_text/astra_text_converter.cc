// ASTRA-sim's text workloads: one file says what every rank does.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "converters/astra_text/iterations.h"
#include "converters/converter.h"
#include "converters/finish_trace.h"
#include "converters/output_files.h"
#include "core/input_file.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace astra_text {
namespace {

constexpr std::int32_t kMaxRanks = 1 << 16;

Status CheckRequest(const ConvertRequest& request) {
  constexpr std::int32_t kMaxPasses = 1 << 16;
  if (request.input_file.empty() || request.output_directory.empty()) {
    return UsageError("astra_text: give one workload file and a directory to write to");
  }
  if (request.world_size.value_or(1) < 1 || request.world_size.value_or(1) > kMaxRanks ||
      request.passes < 1 || request.passes > kMaxPasses) {
    return UsageError(
        fmt::format("--ranks must be from 1 to {}, --passes from 1 to {}", kMaxRanks, kMaxPasses));
  }
  return {};
}

// As asked for, else as the file says.
Result<std::int32_t> RanksOf(const ConvertRequest& request, const Workload& workload) {
  if (request.world_size) {
    return *request.world_size;
  }
  if (!workload.ranks) {
    return UsageError(fmt::format(
        "{}: this text workload does not say how many ranks run it (SimAI's do, as all_gpus:); "
        "give --ranks N",
        request.input_file));
  }
  const auto most =
      static_cast<std::int64_t>(std::min<std::uint64_t>(CurrentInputLimits().files, kMaxRanks));
  if (*workload.ranks > most) {
    return BadInput(fmt::format(
        "{}: line 1: all_gpus: {}: at most {} ranks are converted, each to a file; give "
        "the number with --ranks, or --limits files=…",
        request.input_file, *workload.ranks, most));
  }
  return static_cast<std::int32_t>(*workload.ranks);
}

// A broadcast's, which the file does not name.
void SetRoot(std::int32_t root, std::int32_t rank, CommSpec& spec) {
  spec.root = root;
  spec.in_bytes = rank == root ? spec.in_bytes : 0;
}

Result<ConvertReport> ConvertAstraText(const ConvertRequest& request) {
  REPRISE_TRY(CheckRequest(request));
  REPRISE_ASSIGN(const TextFile file, TextFile::Read(request.input_file));
  REPRISE_ASSIGN(const Workload workload, ReadWorkload(file));
  REPRISE_ASSIGN(const std::int32_t ranks, RanksOf(request, workload));
  const std::string name = std::filesystem::path(request.input_file).stem().stem().string();
  REPRISE_ASSIGN(OutputFiles output, OutputFiles::Directory(request, name));
  REPRISE_ASSIGN(const Groups groups, Groups::Create(request.input_file, workload, ranks));
  ConvertReport report;
  REPRISE_ASSIGN(const FinishedTrace finished,
                 FinishTrace(request.input_file, 0,
                             BuildIterations(workload, request.passes, groups, report.diagnostics),
                             report.diagnostics));
  if (request.strict && report.diagnostics.CountOf("transfer_not_used") > 0) {
    return BadInput(fmt::format("{}: transfers that {} does not use, and --strict was given",
                                request.input_file, workload.type));
  }
  TraceMetadata metadata;
  metadata.world_size = ranks;
  metadata.source =
      fmt::format("{} text workload {}", workload.simai ? "simai" : "astra-sim", workload.type);
  metadata.steps = finished.steps;
  metadata.diagnostics = report.diagnostics.Counts();
  const std::map<std::string, ProcessGroup> all = groups.All();
  for (metadata.rank = 0; metadata.rank < ranks; ++metadata.rank) {
    std::vector<Node> nodes = finished.nodes;
    for (Node& node : nodes) {
      if (node.comm) {
        node.comm->group = groups.IdOf(node.comm->group, metadata.rank);
        const ProcessGroup& group = all.at(node.comm->group);
        ++report.groups[fmt::format("{} ({})", group.id, group.description)];
        if (HasRoot(node.comm->kind)) {
          SetRoot(group.ranks.front(), metadata.rank, *node.comm);
          report.diagnostics.Count("root_assumed", node.name);
        }
      }
    }
    REPRISE_ASSIGN(ConvertedRank rank, output.WriteRank(nodes, metadata));
    rank.recorded_operations = workload.layers.size();
    report.inferred_groups += rank.transfers;
    report.ranks.push_back(std::move(rank));
  }
  REPRISE_TRY(output.Publish(all));
  return report;
}

}  // namespace
}  // namespace astra_text

ConverterKind AstraTextConverter() {
  return {.name = "astra_text",
          .help = "text workloads of ASTRA-sim and SimAI (a parallelism type, then a line a layer)",
          .sniff = &astra_text::LooksLikeWorkload,
          .convert = &astra_text::ConvertAstraText};
}

}  // namespace reprise
