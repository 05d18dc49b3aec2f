// reprise stats: what is in a trace, before anything is done with it.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands.h"
#include "cli/link_summary.h"
#include "cli/range_summary.h"
#include "et_schema/json.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct ClassRow {
  std::uint64_t nodes = 0;
  std::int64_t duration_ns = 0;
};
struct ReasonRow {
  std::uint64_t edges = 0;
  std::uint64_t inferred = 0;
};
struct TransferRow {
  std::uint64_t count = 0;
  std::uint64_t unmatched = 0;  // across ranks: no transfer time
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;
  std::int64_t duration_ns = 0;
  std::int64_t transfer_ns = 0;
};
struct GroupRow {
  ProcessGroup group;
  std::uint64_t transfers = 0;
};
struct RankRow {
  std::string file;
  TraceMetadata metadata;
  std::uint64_t nodes = 0, edges = 0;
  std::size_t memory_bytes = 0;
};

struct Stats {
  std::vector<RankRow> ranks;
  std::string missing_ranks;  // in words
  std::uint64_t nodes = 0, edges = 0;
  std::map<NodeType, std::uint64_t> types;
  std::map<OpKind, ClassRow> kinds;
  std::map<OpClass, ClassRow> classes;
  std::map<EdgeReason, ReasonRow> reasons;
  std::map<CommKind, TransferRow> transfers;
  std::map<GroupCertainty, std::uint64_t> certainty;
  std::map<std::string, GroupRow> groups;
  RangeSummary ranges;
  std::map<std::string, std::uint64_t> converter;  // kept in the files
  std::map<std::string, Diagnostics::Counter> reader;
};

std::string_view CertaintyName(GroupCertainty certainty) {
  constexpr std::array<std::string_view, 3> kNames = {"recorded", "inferred", "unknown"};
  return kNames.at(static_cast<std::size_t>(certainty));
}

void AddTransfer(const Graph& graph, Graph::Index i, const CommSpec& spec, Stats& stats) {
  TransferRow& row = stats.transfers[spec.kind];
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
  GroupRow& group = stats.groups[spec.group];
  group.group.id = spec.group;
  ++group.transfers;
}

Status AddFile(const std::string& path, Stats& stats) {
  REPRISE_ASSIGN(const Graph graph, Graph::Load(path));
  RankRow rank{.file = path, .metadata = graph.metadata(), .nodes = graph.size()};
  rank.memory_bytes = graph.MemoryBytes();
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    ++stats.types[graph.type(i)];
    for (ClassRow* row : {&stats.kinds[graph.kind(i)], &stats.classes[graph.op_class(i)]}) {
      ++row->nodes;
      row->duration_ns += graph.duration_ns(i);
    }
    for (std::size_t d = 0; d < graph.deps(i).size(); ++d) {
      ReasonRow& row = stats.reasons[graph.reasons(i)[d]];
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

Result<Stats> Collect(const std::string& path) {
  Stats stats;
  std::error_code code;
  if (!fs::is_directory(path, code)) {
    REPRISE_TRY(AddFile(path, stats));
    return stats;
  }
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(path));
  stats.missing_ranks = set.MissingRanks();
  for (const auto& [id, group] : set.groups) {
    stats.groups[id].group = group;
  }
  for (const auto& [rank, file] : set.files) {
    REPRISE_TRY(AddFile(file, stats));
  }
  return stats;
}

template <typename Key>
Json ClassesJson(std::string_view label, const std::map<Key, ClassRow>& rows) {
  Json out = Json::array();
  for (const auto& [key, row] : rows) {
    out.push_back({{label, Name(key)}, {"nodes", row.nodes}, {"duration_ns", row.duration_ns}});
  }
  return out;
}

Json RanksJson(const Stats& stats) {
  Json out = Json::array();
  for (const RankRow& rank : stats.ranks) {
    const TraceMetadata& metadata = rank.metadata;
    Json steps = Json::array();
    for (const Step& step : metadata.steps) {
      steps.push_back(
          {{"name", step.name}, {"start_ns", step.start_ns}, {"duration_ns", step.duration_ns}});
    }
    out.push_back({{"rank", metadata.rank},
                   {"file", rank.file},
                   {"source", metadata.source},
                   {"nodes", rank.nodes},
                   {"edges", rank.edges},
                   {"memory_bytes", rank.memory_bytes},
                   {"steps", std::move(steps)},
                   {"untraced_step_ns", metadata.untraced_step_ns},
                   {"clock_offset_ns", metadata.clock_offset_ns},
                   {"clock_drift", metadata.clock_drift},
                   {"clock_uncertainty_ns", metadata.clock_uncertainty_ns},
                   {"link", ToJson(metadata.link)}});
  }
  return out;
}

Json TransfersJson(const Stats& stats) {
  Json out = Json::array();
  for (const auto& [kind, row] : stats.transfers) {
    out.push_back({{"kind", Name(kind)},
                   {"count", row.count},
                   {"in_bytes", row.in_bytes},
                   {"out_bytes", row.out_bytes},
                   {"duration_ns", row.duration_ns},
                   {"transfer_ns", row.transfer_ns},
                   {"unmatched", row.unmatched}});
  }
  return out;
}

Json ToJson(const std::string& path, const Stats& stats) {
  Json types = Json::object();
  for (const auto& [type, count] : stats.types) {
    types[std::string(Name(type))] = count;
  }
  Json reasons = Json::array();
  for (const auto& [reason, row] : stats.reasons) {
    reasons.push_back({{"reason", Name(reason)}, {"edges", row.edges}, {"inferred", row.inferred}});
  }
  Json certainty = Json::object();
  for (const auto& [value, count] : stats.certainty) {
    certainty[std::string(CertaintyName(value))] = count;
  }
  Json groups = Json::array();
  for (const auto& [id, row] : stats.groups) {
    groups.push_back({{"id", id},
                      {"description", row.group.description},
                      {"ranks", row.group.ranks},
                      {"transfers", row.transfers}});
  }
  Json reader = Json::object();
  for (const auto& [name, counter] : stats.reader) {
    reader[name] = {{"count", counter.count}, {"examples", counter.examples}};
  }
  return {{"path", path},
          {"nodes", stats.nodes},
          {"edges", stats.edges},
          {"ranks", RanksJson(stats)},
          {"missing_ranks", stats.missing_ranks},
          {"types", std::move(types)},
          {"kinds", ClassesJson("kind", stats.kinds)},
          {"classes", ClassesJson("class", stats.classes)},
          {"reasons", std::move(reasons)},
          {"transfers", TransfersJson(stats)},
          {"certainty", std::move(certainty)},
          {"groups", std::move(groups)},
          {"ranges", stats.ranges.ToJson()},
          {"diagnostics", {{"converter", stats.converter}, {"reader", std::move(reader)}}}};
}

double Ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

std::string Bytes(std::int64_t bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) {
    value /= 1000;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, kUnits.at(unit));
}

void PrintRanks(const Stats& stats) {
  fmt::print("\n{:>5} {:>9} {:>9}  {:<24} {:>12} {:>14}\n", "rank", "nodes", "edges", "step",
             "duration", "untraced step");
  for (const RankRow& rank : stats.ranks) {
    const std::string untraced = rank.metadata.untraced_step_ns < 0
                                     ? "-"
                                     : fmt::format("{:.3f} ms", Ms(rank.metadata.untraced_step_ns));
    std::string head = fmt::format("{:>5} {:>9} {:>9}", rank.metadata.rank, rank.nodes, rank.edges);
    if (rank.metadata.steps.empty()) {
      fmt::print("{}  {:<24} {:>12} {:>14}\n", head, "none", "-", untraced);
    }
    for (const Step& step : rank.metadata.steps) {
      fmt::print("{}  {:<24} {:>9.3f} ms {:>14}\n", head, step.name, Ms(step.duration_ns),
                 untraced);
      head.assign(head.size(), ' ');
    }
  }
  if (!stats.missing_ranks.empty()) {
    fmt::print("{}\n", stats.missing_ranks);
  }
}

void PrintLinks(const Stats& stats) {
  for (const RankRow& rank : stats.ranks) {
    const LinkReport& link = rank.metadata.link;
    if (link.method.empty()) {
      continue;
    }
    fmt::print("{}rank {} {}\n", &rank == &stats.ranks.front() ? "\n" : "", rank.metadata.rank,
               Summary(link));
    for (const std::string& record : link.unmatched) {
      fmt::print("  no partner: {}\n", record);
    }
  }
}

template <typename Key>
void PrintClasses(std::string_view title, const std::map<Key, ClassRow>& rows) {
  std::int64_t total = 0;
  for (const auto& [key, row] : rows) {
    total += row.duration_ns;
  }
  fmt::print("\n{:<14} {:>9} {:>15} {:>8}\n", title, "nodes", "duration", "share");
  for (const auto& [key, row] : rows) {
    const double share =
        total == 0 ? 0 : 100.0 * static_cast<double>(row.duration_ns) / static_cast<double>(total);
    fmt::print("{:<14} {:>9} {:>12.3f} ms {:>6.1f} %\n", Name(key), row.nodes, Ms(row.duration_ns),
               share);
  }
}

void PrintEdges(const Stats& stats) {
  fmt::print("\n{:<14} {:>9} {:>9}\n", "edges", "count", "inferred");
  for (const auto& [reason, row] : stats.reasons) {
    fmt::print("{:<14} {:>9} {:>9}\n", Name(reason), row.edges, row.inferred);
  }
}

void PrintTransfers(const Stats& stats) {
  if (stats.transfers.empty()) {
    fmt::print("\nno transfers between ranks\n");
    return;
  }
  fmt::print("\n{:<14} {:>9} {:>12} {:>12} {:>15} {:>15} {:>10}\n", "transfers", "count", "in",
             "out", "recorded", "moving", "unmatched");
  for (const auto& [kind, row] : stats.transfers) {
    fmt::print("{:<14} {:>9} {:>12} {:>12} {:>12.3f} ms {:>12.3f} ms {:>10}\n", Name(kind),
               row.count, Bytes(row.in_bytes), Bytes(row.out_bytes), Ms(row.duration_ns),
               Ms(row.transfer_ns), row.unmatched);
  }
  std::string certainty;
  for (const auto& [value, count] : stats.certainty) {
    certainty += fmt::format("{}{} {}", certainty.empty() ? "" : ", ", count, CertaintyName(value));
  }
  fmt::print("process group of a transfer: {}\n", certainty);
}

void PrintGroups(const Stats& stats) {
  if (stats.groups.empty()) {
    return;
  }
  fmt::print("\n{:<14} {:<20} {:>9}  ranks\n", "group", "description", "transfers");
  for (const auto& [id, row] : stats.groups) {
    fmt::print("{:<14} {:<20} {:>9}  {}\n", id.empty() ? "(unnamed)" : id,
               row.group.description.empty() ? "-" : row.group.description, row.transfers,
               row.group.ranks.empty() ? "not in the set"
                                       : fmt::format("{}", fmt::join(row.group.ranks, " ")));
  }
}

void PrintDiagnostics(const Stats& stats) {
  if (!stats.converter.empty()) {
    fmt::print("\nnoted by the converter\n");
    for (const auto& [name, count] : stats.converter) {
      fmt::print("  {:<36} {:>9}\n", name, count);
    }
  }
  if (!stats.reader.empty()) {
    fmt::print("\nnoted while reading\n");
    for (const auto& [name, counter] : stats.reader) {
      fmt::print("  {:<36} {:>9}  {}\n", name, counter.count,
                 counter.examples.empty() ? "" : "e.g. " + counter.examples.front());
    }
  }
}

void Print(const std::string& path, const Stats& stats) {
  std::set<std::string> sources;
  std::size_t memory_bytes = 0;
  for (const RankRow& rank : stats.ranks) {
    sources.insert(rank.metadata.source.empty() ? "source not named" : rank.metadata.source);
    memory_bytes += rank.memory_bytes;
  }
  fmt::print("{}: {} rank{}, {} nodes, {} edges; {}\n", path, stats.ranks.size(),
             stats.ranks.size() == 1 ? "" : "s", stats.nodes, stats.edges,
             fmt::join(sources, "; "));
  if (stats.nodes > 0) {
    fmt::print("in memory: {} ({} bytes a node)\n", Bytes(static_cast<std::int64_t>(memory_bytes)),
               memory_bytes / stats.nodes);
  }
  PrintRanks(stats);
  PrintLinks(stats);
  fmt::print("\n{:<14} {:>9}\n", "type", "nodes");
  for (const auto& [type, count] : stats.types) {
    fmt::print("{:<14} {:>9}\n", Name(type), count);
  }
  PrintClasses("kind", stats.kinds);
  PrintClasses("class", stats.classes);
  PrintEdges(stats);
  PrintTransfers(stats);
  PrintGroups(stats);
  stats.ranges.Print();
  PrintDiagnostics(stats);
}

}  // namespace

CommandBody RegisterStats(CLI::App& app, const CommandContext& /*context*/) {
  app.description("show what is in a trace: nodes, edges, transfers, groups, steps");
  struct Flags {
    std::string path;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  app.add_option("path", flags->path, "an .et file, or the directory of a trace set")->required();
  app.add_flag("--json", flags->json, "machine-readable output");
  return [flags]() -> Result<int> {
    REPRISE_ASSIGN(const Stats stats, Collect(flags->path));
    if (flags->json) {
      constexpr int kIndent = 2;
      fmt::print(
          "{}\n",
          ToJson(flags->path, stats).dump(kIndent, ' ', false, Json::error_handler_t::replace));
    } else {
      Print(flags->path, stats);
    }
    return 0;
  };
}

}  // namespace reprise
