#include "converters/astra_sim/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "converters/astra_sim/order.h"
#include "converters/astra_sim/rank_nodes.h"
#include "converters/astra_sim/tensors.h"
#include "converters/output_files.h"
#include "core/text.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"

namespace reprise::astra_sim {
namespace {

// Group ids number the messages of groups in steps of a million, in 32 bits.
constexpr std::int32_t kHighestGroup = 2000;

bool IsWorld(const std::string& id) { return id.empty() || id == "0"; }

bool IsGroupNumber(const std::string& id) {
  const auto number = ParseNumber<std::int32_t>(id);
  return number && *number > 0 && *number <= kHighestGroup;
}

// Of the groups that transfers use, what they are called in the export. Numbers stay where all are
// numbers. All ranks are group "0" only if there is no other: ASTRA-sim numbers the messages of
// that group by all collectives that a rank has done, so that ranks of different groups never meet
// in it.
std::map<std::string, std::string> GroupIds(const SetTransfers& transfers) {
  std::map<std::string, std::string> out;
  for (const Match& match : transfers.matches) {
    if (!IsPointToPoint(match.kind)) {
      out[match.group];
    }
  }
  const bool alone =
      std::all_of(out.begin(), out.end(), [](const auto& id) { return IsWorld(id.first); });
  const bool keep = std::all_of(out.begin(), out.end(), [](const auto& id) {
    return IsWorld(id.first) || IsGroupNumber(id.first);
  });
  std::int32_t next = 1;
  std::string world = "0";
  if (!alone) {
    for (; keep && out.contains(std::to_string(next)); ++next) {
    }
    world = std::to_string(next++);
  }
  for (auto& [id, written] : out) {
    written = IsWorld(id) ? world : keep ? id : std::to_string(next++);
  }
  return out;
}

Result<std::map<std::string, ProcessGroup>> WrittenGroups(
    const Ranks& ranks, const std::map<std::string, std::string>& ids) {
  if (ids.size() > static_cast<std::size_t>(kHighestGroup)) {
    return BadInput(fmt::format("{}: {} process groups, ASTRA-sim can number {}", ranks.directory,
                                ids.size(), kHighestGroup));
  }
  ProcessGroup world{.id = "0"};
  world.ranks.resize(ranks.graphs.size());
  std::iota(world.ranks.begin(), world.ranks.end(), 0);
  std::map<std::string, ProcessGroup> out = {{"0", world}};  // messages may be of none
  for (const auto& [id, written] : ids) {
    const auto known = ranks.groups.find(id);
    ProcessGroup& group = out[written];
    group = known == ranks.groups.end() ? world : known->second;
    group.id = written;
  }
  return out;
}

HostPlace DecideHost(const Request& request, const std::vector<Graph>& graphs) {
  if (request.host != HostPlace::kAuto) {
    return request.host;
  }
  for (const Graph& graph : graphs) {
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      if (graph.actor(i).kind == Actor::Kind::kStream) {
        return HostPlace::kCpu;
      }
    }
  }
  return HostPlace::kNpu;
}

// What a shell and ASTRA-sim's options take without quoting.
std::string PlainName(const std::string& name) {
  std::string out = name;
  for (char& c : out) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '.' || c == '-' || c == '_';
    c = plain ? c : '_';
  }
  return out.empty() ? "trace" : out;
}

class RankWriter {
 public:
  RankWriter(const SetPlan& set, const RankPlan& rank, const RankTensors* tensors)
      : nodes_(set, rank), tensors_(tensors) {}

  Status Write(const Graph& graph, const std::string& path, Report& report) {
    TraceMetadata metadata = graph.metadata();
    metadata.source = fmt::format("{}, exported for ASTRA-sim", metadata.source);
    metadata.ranges.clear();
    metadata.clock_offset_ns = 0;
    metadata.clock_drift = 0;
    REPRISE_ASSIGN(const auto file, EtWriter::Create(path, metadata));
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      REPRISE_ASSIGN(const ExportedNode made, nodes_.Build(i, report));
      if (made.has_delay) {
        ++report.delay_nodes;
        REPRISE_TRY(Add(made.delay, metadata.rank, {}, {}, *file));
      }
      REPRISE_TRY(tensors_ == nullptr ? Add(made.node, metadata.rank, {}, {}, *file)
                                      : Add(made.node, metadata.rank, tensors_->List(i, false),
                                            tensors_->List(i, true), *file));
      report.nodes += made.has_delay ? 2 : 1;
    }
    report.recorded_us = std::max(report.recorded_us, nodes_.LastEndUs());
    return file->Close();
  }

 private:
  Status Add(const Node& node, std::int32_t rank, std::vector<std::string> read,
             std::vector<std::string> written, EtWriter& file) {
    if (tensors_ == nullptr) {
      return file.Write(node);
    }
    const TextListAttribute lists[] = {{"inputs", std::move(read)},
                                       {"outputs", std::move(written)}};
    bytes_.clear();
    REPRISE_TRY(EncodeNode(node, rank, bytes_, lists));
    return file.WriteEncoded(bytes_, 1);
  }

  RankNodes nodes_;
  const RankTensors* tensors_;
  std::string bytes_;
};

// Each transfer after the one before it in the rank's order.
std::vector<Graph::Index> After(std::size_t nodes, const std::vector<Graph::Index>& order) {
  std::vector<Graph::Index> out(nodes);
  std::iota(out.begin(), out.end(), 0);
  for (std::size_t k = 1; k < order.size(); ++k) {
    out[order[k]] = order[k - 1];
  }
  return out;
}

}  // namespace

Result<Ranks> LoadRanks(const std::string& directory) {
  REPRISE_ASSIGN(const TraceSet set, TraceSet::Open(directory));
  Ranks ranks{.directory = directory, .name = set.name, .groups = set.Groups()};
  for (const auto& [rank, file] : set.RankPaths()) {
    REPRISE_ASSIGN(Graph graph, Graph::Load(file));
    if (graph.metadata().rank != rank) {
      return BadInput(fmt::format("{}: its header says rank {}, its name {}", file,
                                  graph.metadata().rank, rank));
    }
    ranks.graphs.push_back(std::move(graph));
  }
  return ranks;
}

Result<Report> Export(const Ranks& ranks, const Request& request) {
  const std::vector<Graph>& graphs = ranks.graphs;
  const auto size = static_cast<std::int32_t>(graphs.size());
  if (size < 2) {
    return UsageError(
        fmt::format("{}: one rank, and ASTRA-sim simulates networks of at least two; `reprise "
                    "simulate --ranks` simulates one",
                    ranks.directory));
  }
  REPRISE_TRY(Check(request.machine, request.mode, size));
  const std::string name = PlainName(ranks.name);
  REPRISE_ASSIGN(OutputFiles output,
                 OutputFiles::Directory(request.output_directory, name, request.force));
  Report report{.ranks = size};
  const SetTransfers transfers = MatchSet(graphs, ranks.groups, report.diagnostics);
  std::vector<RankTensors> tensors;
  std::vector<std::vector<std::vector<Graph::Index>>> more_deps;
  for (const Graph& graph : graphs) {
    if (request.track_memory) {
      REPRISE_ASSIGN(tensors.emplace_back(), RankTensors::Create(graph));
      more_deps.push_back(tensors.back().Writers());
    } else {
      more_deps.emplace_back(graph.size());
    }
  }
  std::vector<std::vector<Graph::Index>> order(graphs.size());
  if (request.mode != Mode::kReplay) {
    REPRISE_ASSIGN(order, OrderTransfers(graphs, transfers, more_deps));
  }
  const std::map<std::string, std::string> ids = GroupIds(transfers);
  REPRISE_ASSIGN(const auto groups, WrittenGroups(ranks, ids));
  const SetPlan plan{request, DecideHost(request, graphs), transfers, ids};
  for (std::size_t r = 0; r < graphs.size(); ++r) {
    const RankPlan rank{graphs[r], transfers.match_of[r], After(graphs[r].size(), order[r]),
                        std::move(more_deps[r])};
    RankWriter writer(plan, rank, request.track_memory ? &tensors[r] : nullptr);
    REPRISE_TRY(writer.Write(graphs[r], output.Temporary(static_cast<std::int32_t>(r)), report));
  }
  const std::string directory = std::filesystem::path(output.Temporary(0)).parent_path().string();
  REPRISE_TRY(WriteMachineFiles(directory, name, request.machine, request.mode,
                                request.track_memory, size));
  REPRISE_TRY(output.Publish(groups));
  return report;
}

}  // namespace reprise::astra_sim
