#include "cli/trace_stats.h"

#include <array>
#include <filesystem>
#include <utility>

namespace reprise {
namespace {

namespace fs = std::filesystem;

void AddTransfer(const Graph& graph, Graph::Index i, const CommSpec& spec, TraceStats& stats) {
  TraceStats::TransferRow& row = stats.transfers[spec.kind];
  ++row.count;
  row.in_bytes += spec.in_bytes;
  row.out_bytes += spec.out_bytes;
  row.duration_ns += graph.duration_ns(i);
  if (graph.transfer_ns(i) >= 0) {
    row.transfer_ns += graph.transfer_ns(i);
  } else {
    ++row.unmatched;
  }
  ++stats.certainty[spec.certainty];
  TraceStats::GroupRow& group = stats.groups[spec.group];
  group.group.id = spec.group;
  ++group.transfers;
}

Status AddFile(const std::string& path, TraceStats& stats) {
  REPRISE_ASSIGN(const Graph graph, Graph::Load(path));
  TraceStats::RankRow rank{.file = path, .metadata = graph.metadata(), .nodes = graph.size()};
  rank.memory_bytes = graph.MemoryBytes();
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    ++stats.types[graph.type(i)];
    for (TraceStats::ClassRow* row :
         {&stats.kinds[graph.kind(i)], &stats.classes[graph.op_class(i)]}) {
      ++row->nodes;
      row->duration_ns += graph.duration_ns(i);
    }
    for (std::size_t d = 0; d < graph.deps(i).size(); ++d) {
      TraceStats::ReasonRow& row = stats.reasons[graph.reasons(i)[d]];
      ++row.edges;
      row.inferred += graph.inferred(i, d) ? 1 : 0;
    }
    rank.edges += graph.deps(i).size();
    if (const CommSpec* spec = graph.comm(i)) {
      AddTransfer(graph, i, *spec, stats);
    }
  }
  stats.ranges.Add(graph.metadata());
  stats.nodes += rank.nodes;
  stats.edges += rank.edges;
  for (const auto& [name, count] : graph.metadata().diagnostics) {
    stats.converter[name] += count;
  }
  for (const auto& [name, counter] : graph.diagnostics().Snapshot()) {
    Diagnostics::Counter& total = stats.reader[name];
    total.count += counter.count;
    total.examples.insert(total.examples.end(), counter.examples.begin(), counter.examples.end());
  }
  stats.ranks.push_back(std::move(rank));
  return {};
}

}  // namespace

Result<TraceStats> CollectTraceStats(const std::string& path) {
  TraceStats stats;
  std::error_code code;
  if (!fs::is_directory(path, code)) {
    REPRISE_TRY(AddFile(path, stats));
    return stats;
  }
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(path));
  REPRISE_TRY(set.CheckRankByRank("stats"));
  REPRISE_TRY(set.Verify());
  stats.missing_ranks = set.MissingRanks();
  for (const auto& [id, group] : set.groups) {
    stats.groups[id].group = group;
  }
  for (const auto& [rank, file] : set.files) {
    REPRISE_TRY(AddFile(file, stats));
  }
  return stats;
}

}  // namespace reprise
