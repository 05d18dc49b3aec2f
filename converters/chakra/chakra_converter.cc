// MLCommons Chakra's own files: `.et` of any schema, their JSON, and linked PyTorch traces.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "converters/chakra/foreign_trace.h"
#include "converters/chakra/groups.h"
#include "converters/chakra/input_files.h"
#include "converters/chakra/json_nodes.h"
#include "converters/chakra/linked.h"
#include "converters/comm_sizes.h"
#include "converters/converter.h"
#include "converters/finish_trace.h"
#include "converters/output_files.h"
#include "core/for_each_read.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace chakra {
namespace {

namespace fs = std::filesystem;

Status ReadEt(RankTrace& trace) {
  REPRISE_ASSIGN(const auto reader, ForeignReader::Open(trace.path));
  if (reader->native()) {
    return UsageError(
        fmt::format("{}: written by Reprise already; there is nothing to convert", trace.path));
  }
  std::vector<ForeignNode> nodes;
  REPRISE_TRY(ForEachRead<ForeignNode>(*reader, [&nodes](ForeignNode& node) -> Status {
    nodes.push_back(std::move(node));
    return {};
  }));
  return BuildNodes(std::string(reader->schema()), reader->header(), std::move(nodes), trace);
}

Status DecodeNative(const std::vector<ForeignNode>& nodes, RankTrace& trace) {
  const auto decoder = ForeignDecoder::Create(trace.path, true);
  trace.recorded_operations = nodes.size();
  trace.nodes.reserve(nodes.size());
  for (const ForeignNode& node : nodes) {
    REPRISE_ASSIGN(trace.nodes.emplace_back(), decoder->Decode(node));
  }
  trace.diagnostics.Merge(decoder->diagnostics());
  return {};
}

Status ReadJson(RankTrace& trace) {
  REPRISE_ASSIGN(const TextFile file, TextFile::Read(trace.path));
  REPRISE_ASSIGN(JsonTrace json, ReadJsonTrace(file, trace.diagnostics));
  REPRISE_ASSIGN(std::optional<TraceMetadata> native,
                 DecodeNativeHeader(json.header, trace.path, trace.diagnostics));
  if (native) {
    trace.native = true;
    trace.metadata = std::move(*native);
    return DecodeNative(json.nodes, trace);
  }
  return BuildNodes("JSON", json.header, std::move(json.nodes), trace);
}

bool IsJsonName(const std::string& path) {
  return fs::path(path).filename().string().find(".json") != std::string::npos;
}

Result<RankTrace> ReadRank(std::int32_t rank, const std::string& path) {
  RankTrace trace{.rank = rank, .path = path};
  switch (FormOf(path)) {
    case Form::kLinked: {
      REPRISE_ASSIGN(const TextFile file, TextFile::Read(path));
      REPRISE_TRY(ReadLinked(file, trace));
      break;
    }
    case Form::kJson:
      REPRISE_TRY(ReadJson(trace));
      break;
    case Form::kEt:
    case Form::kNone:  // its reader says what is wrong
      REPRISE_TRY(IsJsonName(path) ? ReadJson(trace) : ReadEt(trace));
      break;
  }
  return trace;
}

// As many as there are files or members of groups; of one file alone also as its transfers let on.
std::int32_t WorldSize(const std::vector<RankTrace>& traces,
                       const std::map<std::string, ProcessGroup>& groups, bool whole_set) {
  constexpr std::int32_t kMax = 1 << 20;
  auto size = static_cast<std::int32_t>(traces.size());
  const auto include = [&](std::int32_t rank) { size = std::clamp(rank + 1, size, kMax); };
  for (const auto& [name, group] : groups) {
    std::for_each(group.ranks.begin(), group.ranks.end(), include);
  }
  if (whole_set) {
    return size;
  }
  for (const RankTrace& trace : traces) {
    include(trace.rank);
    for (const GroupRecord& group : trace.groups) {
      std::for_each(group.ranks.begin(), group.ranks.end(), include);
      include(std::max(group.size, 1) - 1);
    }
    for (const Node& node : trace.nodes) {
      if (node.comm) {
        include(std::min(node.comm->peer, kMax));
      }
    }
  }
  return size;
}

void Summarise(const std::vector<RankTrace>& traces,
               const std::map<std::string, ProcessGroup>& groups, ConvertReport& report) {
  for (const RankTrace& trace : traces) {
    report.diagnostics.Merge(trace.diagnostics);
    for (const Node& node : trace.nodes) {
      if (!node.comm) {
        continue;
      }
      const GroupCertainty certainty = node.comm->certainty;
      report.recorded_groups += certainty == GroupCertainty::kRecorded ? 1 : 0;
      report.inferred_groups += certainty == GroupCertainty::kInferred ? 1 : 0;
      report.unknown_groups += certainty == GroupCertainty::kUnknown ? 1 : 0;
      const std::string& description = groups.at(node.comm->group).description;
      ++report.groups[description.empty() ? node.comm->group
                                          : fmt::format("{} ({})", node.comm->group, description)];
    }
  }
}

// What --strict does not let pass.
Status CheckChakraLosses(const Diagnostics& diagnostics) {
  return RefuseLosses(diagnostics,
                      {"dangling_dependency", "dependency_ends_too_late", "operation_without_time",
                       "transfer_without_peer", "comm_without_type", "group_unknown",
                       "json_value_type", "missing_comm_size", "unparsable_arguments"});
}

Status Finish(std::vector<RankTrace>& traces, std::int32_t world_size) {
  for (RankTrace& trace : traces) {
    REPRISE_ASSIGN(FinishedTrace finished,
                   FinishTrace(trace.path, trace.rank, std::move(trace.nodes), trace.diagnostics));
    trace.nodes = std::move(finished.nodes);
    trace.metadata.world_size = world_size;
    trace.metadata.base_ns = finished.base_ns;
    trace.metadata.steps = std::move(finished.steps);
    trace.metadata.diagnostics = trace.diagnostics.Counts();
  }
  return {};
}

// By group and position, which the order of the nodes has just given them.
void ShareLargest(std::vector<RankTrace>& traces) {
  std::map<std::pair<std::string, std::int64_t>, std::vector<CommSpec*>> collectives;
  for (RankTrace& trace : traces) {
    for (Node& node : trace.nodes) {
      if (node.comm && !IsPointToPoint(node.comm->kind) &&
          node.comm->certainty != GroupCertainty::kUnknown) {
        collectives[{node.comm->group, node.comm->index}].push_back(&*node.comm);
      }
    }
  }
  for (const auto& [key, members] : collectives) {
    const CommKind kind = members.front()->kind;
    if (std::all_of(members.begin(), members.end(),
                    [&](const CommSpec* member) { return member->kind == kind; })) {
      ShareLargestBytes(members);
    }
  }
}

// Sends of simulators beyond the receives of their pair. Only where all ranks are known.
void MarkUnreceived(std::vector<RankTrace>& traces) {
  std::map<SequenceKey, std::int64_t> receives;
  const auto for_each = [&traces](CommKind kind, const auto& visit) {
    for (RankTrace& trace : traces) {
      for (Node& node : trace.nodes) {
        if (node.comm && node.comm->kind == kind) {
          visit(trace, node, SequenceOf(*node.comm, trace.rank));
        }
      }
    }
  };
  for_each(CommKind::kRecv,
           [&](const RankTrace&, const Node&, const SequenceKey& key) { ++receives[key]; });
  for_each(CommKind::kSend, [&](RankTrace& trace, Node& node, const SequenceKey& key) {
    CommSpec& spec = *node.comm;
    const auto known = receives.find(key);
    if (spec.send_end == SendEnd::kSent &&
        spec.index >= (known == receives.end() ? 0 : known->second)) {
      spec.send_end = SendEnd::kUnreceived;
      spec.outside = true;
      trace.diagnostics.Count(
          "send_without_receive",
          fmt::format("{}: node {} ({}), to rank {}", trace.path, node.id, node.name, spec.peer));
      trace.metadata.diagnostics = trace.diagnostics.Counts();
    }
  });
}

struct Inputs {
  InputFiles files;
  std::string directory;  // where the groups are
  bool whole_set = true;
};

Result<Inputs> FindInputs(const ConvertRequest& request) {
  Inputs out;
  if (!request.input_directory.empty()) {
    out.directory = request.input_directory;
    REPRISE_ASSIGN(out.files, FindRanks(request.input_directory));
    return out;
  }
  if (request.input_file.empty()) {
    return UsageError("chakra: give a trace file or a directory of them");
  }
  const std::int32_t named = RankInName(request.input_file);
  const std::int32_t rank = request.rank >= 0 ? request.rank : std::max(named, 0);
  const fs::path path(request.input_file);
  out.directory = path.has_parent_path() ? path.parent_path().string() : ".";
  out.files.name = path.stem().string();
  out.files.name = out.files.name.substr(0, out.files.name.find('.'));
  out.files.ranks[rank] = request.input_file;
  out.whole_set = false;
  return out;
}

Result<OutputFiles> OpenOutput(const ConvertRequest& request, const Inputs& inputs) {
  if (!request.output_file.empty()) {
    if (inputs.files.ranks.size() > 1) {
      return UsageError("one file cannot hold a set of ranks; give a directory to write to");
    }
    return OutputFiles::OneFile(request.output_file, request.force);
  }
  if (inputs.files.ranks.begin()->first != 0) {
    return UsageError(
        fmt::format("rank {} alone is no trace set; give a file to write to (-o FILE.et)",
                    inputs.files.ranks.begin()->first));
  }
  return OutputFiles::Directory(request, inputs.files.name);
}

Status WriteRanks(std::vector<RankTrace>& traces, const OutputFiles& output,
                  ConvertReport& report) {
  for (RankTrace& trace : traces) {
    trace.metadata.rank = trace.rank;
    REPRISE_ASSIGN(ConvertedRank rank, output.WriteRank(trace.nodes, trace.metadata));
    rank.recorded_operations = trace.recorded_operations;
    report.ranks.push_back(std::move(rank));
  }
  return {};
}

// Times, edges and groups are as they were when the JSON was written.
Result<ConvertReport> WriteNative(std::vector<RankTrace>& traces, const std::string& directory,
                                  OutputFiles& output) {
  ConvertReport report;
  REPRISE_ASSIGN(auto groups, ReadGroups(directory));
  for (RankTrace& trace : traces) {
    for (const Node& node : trace.nodes) {
      if (node.comm) {
        groups.try_emplace(node.comm->group, ProcessGroup{.id = node.comm->group});
      }
    }
  }
  Summarise(traces, groups, report);
  REPRISE_TRY(WriteRanks(traces, output, report));
  std::erase_if(groups, [](const auto& group) { return group.second.ranks.empty(); });
  REPRISE_TRY(output.Publish(groups));
  return report;
}

Result<ConvertReport> ConvertChakra(const ConvertRequest& request) {
  REPRISE_ASSIGN(const Inputs inputs, FindInputs(request));
  REPRISE_ASSIGN(OutputFiles output, OpenOutput(request, inputs));
  REPRISE_ASSIGN(const auto given, GroupsBeside(inputs.directory, inputs.files.name));
  std::vector<RankTrace> traces;
  for (const auto& [rank, path] : inputs.files.ranks) {
    REPRISE_ASSIGN(traces.emplace_back(), ReadRank(rank, path));
  }
  if (const auto own = std::ranges::count(traces, true, &RankTrace::native); own > 0) {
    if (static_cast<std::size_t>(own) < traces.size()) {
      return BadInput(fmt::format(
          "{}: {} of {} files are Reprise's own traces as JSON, and the others are not; convert "
          "them apart",
          inputs.directory, own, traces.size()));
    }
    return WriteNative(traces, inputs.directory, output);
  }
  const std::int32_t world_size = WorldSize(traces, given, inputs.whole_set);
  ConvertReport report;
  const auto groups = AssignGroups(traces, given, world_size, report.diagnostics);
  REPRISE_TRY(Finish(traces, world_size));
  ShareLargest(traces);
  if (traces.size() == static_cast<std::size_t>(world_size)) {
    MarkUnreceived(traces);
  }
  for (RankTrace& trace : traces) {
    for (Node& node : trace.nodes) {
      AddCost(request.costs, node);
    }
    for (const auto& [id, group] : groups) {
      if (!request.output_file.empty()) {
        trace.metadata.groups.push_back(group);
      }
    }
  }
  Summarise(traces, groups, report);
  if (request.strict) {
    REPRISE_TRY(CheckChakraLosses(report.diagnostics));
  }
  REPRISE_TRY(WriteRanks(traces, output, report));
  REPRISE_TRY(output.Publish(groups));
  return report;
}

}  // namespace
}  // namespace chakra

ConverterKind ChakraConverter() {
  return {
      .name = "chakra",
      .help = "MLCommons Chakra: .et of schemas 0.0.1 to 0.0.4, their JSON, linked PyTorch JSON",
      .sniff = &chakra::LooksLikeChakra,
      .convert = &chakra::ConvertChakra};
}

}  // namespace reprise
