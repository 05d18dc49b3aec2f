// ASTRA-sim's text workloads: one file says what every rank does.
#include <fmt/format.h>

#include <filesystem>

#include "converters/astra_text/iterations.h"
#include "converters/converter.h"
#include "converters/finish_trace.h"
#include "converters/output_files.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace astra_text {
namespace {

Status CheckRequest(const ConvertRequest& request) {
  constexpr std::int32_t kMaxRanks = 1 << 16;
  constexpr std::int32_t kMaxPasses = 1 << 16;
  if (request.input_file.empty() || request.output_directory.empty()) {
    return UsageError("astra_text: give one workload file and a directory to write to");
  }
  if (!request.world_size) {
    return UsageError(
        fmt::format("{}: a text workload does not say how many ranks run it; give --ranks N",
                    request.input_file));
  }
  if (*request.world_size < 1 || *request.world_size > kMaxRanks || request.passes < 1 ||
      request.passes > kMaxPasses) {
    return UsageError(
        fmt::format("--ranks must be from 1 to {}, --passes from 1 to {}", kMaxRanks, kMaxPasses));
  }
  return {};
}

Result<ConvertReport> ConvertAstraText(const ConvertRequest& request) {
  REPRISE_TRY(CheckRequest(request));
  const std::int32_t ranks = *request.world_size;
  REPRISE_ASSIGN(const TextFile file, TextFile::Read(request.input_file));
  REPRISE_ASSIGN(const Workload workload, ReadWorkload(file));
  const std::string name = request.name.empty()
                               ? std::filesystem::path(request.input_file).stem().stem().string()
                               : request.name;
  REPRISE_ASSIGN(OutputFiles output,
                 OutputFiles::Directory(request.output_directory, name, request.force));
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
  metadata.source = fmt::format("astra-sim text workload {}", workload.type);
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
          .help = "ASTRA-sim text workloads (a parallelism type, then a line a layer); --ranks N",
          .sniff = &astra_text::LooksLikeWorkload,
          .convert = &astra_text::ConvertAstraText};
}

}  // namespace reprise
