#include "cli/traces/trace_stats_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "cli/traces/counter_lines.h"
#include "cli/traces/link_summary.h"
#include "core/bytes.h"
#include "core/counted.h"
#include "core/shown_text.h"

namespace reprise {
namespace {

double Ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

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
    const std::string alike =
        rank.alike > 1 ? fmt::format("  and {} others", rank.alike - 1) : std::string();
    if (rank.metadata.steps.empty()) {
      fmt::print("{}  {:<24} {:>12} {:>14} {:>14}{}\n", head, "none", "-", untraced, tracing,
                 alike);
    }
    for (const Step& step : rank.metadata.steps) {
      fmt::print("{}  {:<24} {:>9.3f} ms {:>14} {:>14}{}\n", head, ShownText(step.name),
                 Ms(step.duration_ns), untraced, tracing, alike);
      head.assign(head.size(), ' ');
    }
  }
  if (!stats.missing_ranks.empty()) {
    fmt::print("{}\n", ShownText(stats.missing_ranks));
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
      fmt::print("  no partner: {}\n", ShownText(record));
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

// What is known of them.
std::string BytesOfTransfers(const TraceStats::TransferRow& row, std::int64_t bytes) {
  return row.of_unknown_size == row.count ? "unknown" : SizeText(bytes);
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
               row.count, BytesOfTransfers(row, row.in_bytes), BytesOfTransfers(row, row.out_bytes),
               Ms(row.duration_ns), Ms(row.transfer_ns), row.unmatched);
  }
  for (const auto& [kind, row] : stats.transfers) {
    if (row.of_unknown_size > 0) {
      fmt::print("size unknown: {} of {} {}\n", row.of_unknown_size, row.count, Name(kind));
    }
  }
  std::string certainty;
  for (const auto& [value, count] : stats.certainty) {
    certainty += fmt::format("{}{} {}", certainty.empty() ? "" : ", ", count, Name(value));
  }
  fmt::print("process group of a transfer: {}\n", certainty);
}

void PrintStorage(const TraceStats& stats) {
  if (stats.storage.empty()) {
    return;
  }
  fmt::print("\n{:<28} {:>9} {:>12} {:>15}\n", "storage", "nodes", "bytes", "recorded");
  for (const auto& [operation, row] : stats.storage) {
    fmt::print("{:<28} {:>9} {:>12} {:>12.3f} ms\n", operation, row.nodes,
               row.of_unknown_size == row.nodes ? "-" : SizeText(row.bytes), Ms(row.duration_ns));
  }
}

void PrintRoles(const TraceStats& stats) {
  fmt::print("\n{:<14} {:<36} {:>9} {:>12} {:>12}\n", "groups of", "description", "groups",
             "ranks each", "transfers");
  for (const auto& [role, row] : stats.roles) {
    fmt::print("{:<14} {:<36} {:>9} {:>12} {:>12}\n", ShownText(role), ShownText(row.description),
               row.groups,
               row.least_ranks == row.most_ranks
                   ? fmt::format("{}", row.most_ranks)
                   : fmt::format("{} to {}", row.least_ranks, row.most_ranks),
               row.transfers);
  }
}

void PrintGroups(const TraceStats& stats) {
  if (!stats.roles.empty()) {
    PrintRoles(stats);
    return;
  }
  if (stats.groups.empty()) {
    return;
  }
  fmt::print("\n{:<14} {:<20} {:>9}  ranks\n", "group", "description", "transfers");
  for (const auto& [id, row] : stats.groups) {
    fmt::print("{:<14} {:<20} {:>9}  {}\n", id.empty() ? "(unnamed)" : ShownText(id),
               row.group.description.empty() ? "-" : ShownText(row.group.description),
               row.transfers,
               row.group.ranks.empty() ? "not in the set"
                                       : fmt::format("{}", fmt::join(row.group.ranks, " ")));
  }
}

void PrintDiagnostics(const TraceStats& stats, bool verbose) {
  CounterMap counters = stats.reader;
  for (const auto& [name, count] : stats.converter) {
    counters[name].count += count;
  }
  const std::vector<std::string> lines = CounterLines(counters, verbose);
  fmt::print("{}", verbose && !lines.empty() ? "\n" : "");
  for (const std::string& line : lines) {
    fmt::print("note: {}\n", ShownText(line));
  }
}

// "1 step per rank, 603.840 to 876.813 ms".
void PrintStepSummary(const TraceStats& stats) {
  std::size_t least = SIZE_MAX;
  std::size_t most = 0;
  std::int64_t shortest_ns = INT64_MAX;
  std::int64_t longest_ns = 0;
  for (const TraceStats::RankRow& rank : stats.ranks) {
    least = std::min(least, rank.metadata.steps.size());
    most = std::max(most, rank.metadata.steps.size());
    for (const Step& step : rank.metadata.steps) {
      shortest_ns = std::min(shortest_ns, step.duration_ns);
      longest_ns = std::max(longest_ns, step.duration_ns);
    }
  }
  if (most == 0) {
    fmt::print("steps: none marked\n");
    return;
  }
  fmt::print("steps: {} per rank, {}\n",
             least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most),
             shortest_ns == longest_ns
                 ? fmt::format("{:.3f} ms", Ms(longest_ns))
                 : fmt::format("{:.3f} to {:.3f} ms", Ms(shortest_ns), Ms(longest_ns)));
}

// "time: elementwise 41.0 %, gemm 28.4 %, …": the classes that take most of it.
void PrintClassSummary(const TraceStats& stats) {
  constexpr std::size_t kMaxClasses = 5;
  std::vector<std::pair<std::int64_t, OpClass>> classes;
  std::int64_t total_ns = 0;
  for (const auto& [op_class, row] : stats.classes) {
    classes.emplace_back(row.duration_ns, op_class);
    total_ns += row.duration_ns;
  }
  std::sort(classes.rbegin(), classes.rend());
  if (total_ns == 0) {
    return;
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(classes.size(), kMaxClasses); ++i) {
    const auto& [duration_ns, op_class] = classes[i];
    parts.push_back(
        fmt::format("{} {:.1f} %", Name(op_class),
                    100.0 * static_cast<double>(duration_ns) / static_cast<double>(total_ns)));
  }
  fmt::print("time: {}{}\n", fmt::join(parts, ", "),
             classes.size() > kMaxClasses
                 ? fmt::format(", {} more classes", classes.size() - kMaxClasses)
                 : "");
}

void PrintTransferSummary(const TraceStats& stats) {
  std::vector<std::string> parts;
  for (const auto& [kind, row] : stats.transfers) {
    parts.push_back(
        fmt::format("{} {} ({})", row.count, Name(kind), BytesOfTransfers(row, row.in_bytes)));
  }
  if (parts.empty()) {
    fmt::print("no transfers between ranks\n");
    return;
  }
  fmt::print("transfers: {}, in {}\n", fmt::join(parts, ", "), Counted(stats.group_count, "group"));
}

// The ranges of most time, and how many more there are.
void PrintRanges(const RangeSummary& ranges) {
  constexpr std::size_t kMax = 20;
  const std::vector<RangeRow> rows = ranges.Rows();
  if (rows.empty()) {
    return;
  }
  fmt::print("\n{:<48} {:>6} {:>9} {:>15}\n", "marked ranges (replay --range)", "ranks", "count",
             "median");
  for (std::size_t i = 0; i < std::min(rows.size(), kMax); ++i) {
    fmt::print("{:<48} {:>6} {:>9} {:>12.3f} ms\n", ShownText(rows[i].name), rows[i].ranks,
               rows[i].count, static_cast<double>(rows[i].median_ns) / 1e6);
  }
  if (rows.size() > kMax) {
    fmt::print("… and {} more names\n", rows.size() - kMax);
  }
}

// "storage: 16 nodes, 29.158 ms, 50.6 MB"; the bytes are those of operations that say them.
void PrintStorageSummary(const TraceStats& stats) {
  TraceStats::StorageRow all;
  for (const auto& [operation, row] : stats.storage) {
    all.nodes += row.nodes;
    all.bytes += row.bytes;
    all.duration_ns += row.duration_ns;
  }
  if (all.nodes > 0) {
    fmt::print("storage: {}, {:.3f} ms, {}\n", Counted(all.nodes, "node"), Ms(all.duration_ns),
               SizeText(all.bytes));
  }
}

void PrintStatsSummary(const TraceStats& stats) {
  std::vector<const LinkReport*> links;
  for (const TraceStats::RankRow& rank : stats.ranks) {
    links.push_back(&rank.metadata.link);
  }
  PrintStepSummary(stats);
  if (const std::string linked = Summary(links); !linked.empty()) {
    fmt::print("{}\n", linked);
  }
  PrintClassSummary(stats);
  PrintTransferSummary(stats);
  PrintStorageSummary(stats);
  if (!stats.missing_ranks.empty()) {
    fmt::print("{}\n", ShownText(stats.missing_ranks));
  }
  PrintDiagnostics(stats, false);
  fmt::print("-v shows ranks, types, kinds, edges, groups and marked ranges\n");
}

void PrintStatsDetails(const TraceStats& stats) {
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
  PrintStorage(stats);
  PrintGroups(stats);
  PrintRanges(stats.ranges);
  PrintDiagnostics(stats, true);
}

}  // namespace

void PrintTraceStats(const std::string& path, const TraceStats& stats, bool verbose) {
  std::set<std::string> sources;
  std::size_t memory_bytes = 0;
  std::uint64_t read = 0;  // nodes, those of a class once
  std::int64_t ranks = 0;
  for (const TraceStats::RankRow& rank : stats.ranks) {
    read += rank.nodes;
    ranks += rank.alike;
    sources.insert(rank.metadata.source.empty() ? "source not named"
                                                : ShownText(rank.metadata.source));
    memory_bytes += rank.memory_bytes;
  }
  const bool folded = static_cast<std::size_t>(ranks) != stats.ranks.size();
  fmt::print("{}: {}{}, {} nodes, {} edges; {}\n", ShownText(path), Counted(ranks, "rank"),
             folded ? " in " + Counted(stats.ranks.size(), "class") : "", stats.nodes, stats.edges,
             fmt::join(sources, "; "));
  if (read > 0 && verbose) {
    fmt::print("in memory: {} ({} bytes a node)\n",
               SizeText(static_cast<std::int64_t>(memory_bytes)), memory_bytes / read);
  }
  verbose ? PrintStatsDetails(stats) : PrintStatsSummary(stats);
}

}  // namespace reprise
