#include <fmt/format.h>

#include <array>
#include <set>

#include "cli/link_summary.h"
#include "cli/trace_stats.h"

namespace reprise {
namespace {

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

void PrintRanks(const TraceStats& stats) {
  fmt::print("\n{:>5} {:>9} {:>9}  {:<24} {:>12} {:>14} {:>14}\n", "rank", "nodes", "edges", "step",
             "duration", "untraced step", "tracing a call");
  for (const TraceStats::RankRow& rank : stats.ranks) {
    const std::string untraced = rank.metadata.untraced_step_ns < 0
                                     ? "-"
                                     : fmt::format("{:.3f} ms", Ms(rank.metadata.untraced_step_ns));
    const std::string tracing =
        rank.metadata.tracing_call_ns == 0
            ? "-"
            : fmt::format("{:.1f} us", static_cast<double>(rank.metadata.tracing_call_ns) * 1e-3);
    std::string head = fmt::format("{:>5} {:>9} {:>9}", rank.metadata.rank, rank.nodes, rank.edges);
    if (rank.metadata.steps.empty()) {
      fmt::print("{}  {:<24} {:>12} {:>14} {:>14}\n", head, "none", "-", untraced, tracing);
    }
    for (const Step& step : rank.metadata.steps) {
      fmt::print("{}  {:<24} {:>9.3f} ms {:>14} {:>14}\n", head, step.name, Ms(step.duration_ns),
                 untraced, tracing);
      head.assign(head.size(), ' ');
    }
  }
  if (!stats.missing_ranks.empty()) {
    fmt::print("{}\n", stats.missing_ranks);
  }
}

void PrintLinks(const TraceStats& stats) {
  for (const TraceStats::RankRow& rank : stats.ranks) {
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
void PrintClasses(std::string_view title, const std::map<Key, TraceStats::ClassRow>& rows) {
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

void PrintEdges(const TraceStats& stats) {
  fmt::print("\n{:<14} {:>9} {:>9}\n", "edges", "count", "inferred");
  for (const auto& [reason, row] : stats.reasons) {
    fmt::print("{:<14} {:>9} {:>9}\n", Name(reason), row.edges, row.inferred);
  }
}

void PrintTransfers(const TraceStats& stats) {
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

void PrintGroups(const TraceStats& stats) {
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

void PrintDiagnostics(const TraceStats& stats) {
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

}  // namespace

void PrintTraceStats(const std::string& path, const TraceStats& stats) {
  std::set<std::string> sources;
  std::size_t memory_bytes = 0;
  for (const TraceStats::RankRow& rank : stats.ranks) {
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

}  // namespace reprise
