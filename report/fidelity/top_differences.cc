#include "report/fidelity/top_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "report/nodes/found_by_texts.h"

namespace reprise {
namespace {

constexpr std::size_t kMax = 10;
// Below this, what PyTorch does around an operation is of the size of the operation.
constexpr std::int64_t kSmallNs = 20'000;

double Seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace

std::string TopDifferences::SpeedCause(const Operation& operation) {
  const double recorded_s = Seconds(operation.row.recorded_ns);
  const double replayed_s = Seconds(operation.row.replayed_ns);
  const bool compute = operation.flops > 4 * operation.bytes;
  const double work = (compute ? operation.flops : operation.bytes) * 1e-9;
  const bool slower = replayed_s > recorded_s;
  const char* const what =
      operation.elsewhere
          ? (slower ? "this machine or kernel is slower" : "this machine or kernel is faster")
      : slower ? "on the recorded machine: another kernel, or other programs run beside it"
               : "on the recorded machine: another kernel, or it was disturbed then";
  return fmt::format("{}: {:.3g} {} here, {:.3g} when recorded", what, work / replayed_s,
                     compute ? "GFLOP/s" : "GB/s", work / recorded_s);
}

bool TopDifferences::IsTracing(const Operation& operation) {
  const std::int64_t saved_ns = operation.row.recorded_ns - operation.row.replayed_ns;
  return saved_ns > 0 && 2 * operation.tracing_ns >= saved_ns;
}

std::string TopDifferences::ModelledCause(TimeSource source) {
  switch (source) {
    case TimeSource::kScaled:
      return "scaled: recorded time times the ratio of both machines' models";
    case TimeSource::kWhole:
      return "whole: its operation is not known; recorded time times the ratio of all that are";
    case TimeSource::kRecorded:
      return "recorded: the time does not depend on the simulated device";
    default:
      return fmt::format("{}: the machine's model alone", Name(source));
  }
}

std::string TopDifferences::LikelyCause(const Operation& operation, bool oversubscribed) {
  const TopDifferenceRow& row = operation.row;
  if (operation.mode == ReplayMode::kSurrogate) {
    return "surrogate: no kernel takes this call, another one of the same bytes and FLOPs ran";
  }
  if (operation.time_from != TimeSource::kNone) {
    return ModelledCause(operation.time_from);
  }
  if (operation.mode == ReplayMode::kTimed) {
    return "timed: not run, its recorded time (scaled, where asked for) was waited for";
  }
  if (operation.iterations > 1 &&
      operation.spread_ns > static_cast<double>(std::max(row.recorded_ns, row.replayed_ns)) / 2) {
    return fmt::format("unsteady: iterations differ by {:.0f} % of it{}",
                       100 * operation.spread_ns / static_cast<double>(row.replayed_ns),
                       oversubscribed ? " (oversubscribed)" : "");
  }
  if (IsTracing(operation)) {
    return fmt::format(
        "tracing: the profiler took {:.0f} % of its recorded time, estimated",
        100 * static_cast<double>(operation.tracing_ns) / static_cast<double>(row.recorded_ns));
  }
  if (row.replayed_ns < row.recorded_ns && row.recorded_ns < kSmallNs * row.count) {
    return "small: the recording has the framework's and the profiler's own time in it";
  }
  return SpeedCause(operation);
}

void TopDifferences::AddNode(const MeasuredRank& rank, std::size_t i, Operation& operation) {
  const NodeInfo& node = rank.data().nodes[i];
  if (operation.row.count == 0) {
    operation.row.name = node.name;
    operation.row.op_class = Name(node.op_class);
    operation.row.kernel = node.kernel;
  }
  operation.mode = rank.Mode(i);
  operation.time_from = node.time_from;
  const std::int64_t alike = rank.alike();
  operation.row.count += alike;
  operation.row.recorded_ns += alike * node.recorded_duration_ns;
  operation.tracing_ns += alike * node.recorded_tracing_ns;
  operation.row.replayed_ns += alike * *rank.MedianDurationNs(i);
  operation.flops += static_cast<double>(alike) * node.flops;
  operation.bytes += static_cast<double>(alike) * node.bytes;
  std::int64_t shortest_ns = INT64_MAX;
  std::int64_t longest_ns = 0;
  for (const std::uint32_t k : rank.Records(i)) {
    const std::int64_t duration_ns = rank.data().records[k].duration_ns;
    shortest_ns = std::min(shortest_ns, duration_ns);
    longest_ns = std::max(longest_ns, duration_ns);
    ++operation.iterations;
  }
  operation.spread_ns += static_cast<double>(longest_ns - shortest_ns);
}

TopDifferences::Operation& TopDifferences::Find(const NodeInfo& node) {
  const View view{node.name, node.op_class, node.kernel};
  const auto found = operations_.find(view);
  return found != operations_.end() ? found->second : operations_[Key(view)];
}

TopDifferences::TopDifferences(const MeasuredRank& rank) {
  FoundByTexts<Operation> by_texts;
  const bool elsewhere = !IsOnRecordedMachine(rank.data().facts);
  for (std::size_t i = 0; i < rank.data().nodes.size(); ++i) {
    const NodeInfo& node = rank.data().nodes[i];
    if (node.counts_for_coverage && node.op_class != OpClass::kComm &&
        rank.MedianDurationNs(i).value_or(0) > 0) {
      Operation& operation =
          by_texts.Of(node.name, node.kernel, static_cast<std::uint32_t>(node.op_class),
                      [&]() -> Operation& { return Find(node); });
      operation.elsewhere = operation.elsewhere || elsewhere;
      AddNode(rank, i, operation);
    }
  }
}

void TopDifferences::AddOperation(const Operation& other, Operation& operation) {
  operation.mode = other.mode;
  operation.time_from = other.time_from;
  operation.row.count += other.row.count;
  operation.row.recorded_ns += other.row.recorded_ns;
  operation.row.replayed_ns += other.row.replayed_ns;
  operation.flops += other.flops;
  operation.bytes += other.bytes;
  operation.spread_ns += other.spread_ns;
  operation.tracing_ns += other.tracing_ns;
  operation.elsewhere = operation.elsewhere || other.elsewhere;
  operation.iterations += other.iterations;
}

void TopDifferences::Add(TopDifferences&& others) {
  operations_.merge(others.operations_);  // leaves those that are there
  for (const auto& [key, operation] : others.operations_) {
    AddOperation(operation, operations_.find(key)->second);
  }
}

std::vector<TopDifferenceRow> TopDifferences::Finish(bool oversubscribed) const {
  std::vector<const Operation*> sorted;
  sorted.reserve(operations_.size());
  for (const auto& [unused, operation] : operations_) {
    sorted.push_back(&operation);
  }
  // Of a trace set both times are the recorded one.
  const auto apart_ns = [](const Operation* operation) {
    return std::pair(std::abs(operation->row.replayed_ns - operation->row.recorded_ns),
                     operation->row.replayed_ns);
  };
  std::ranges::stable_sort(sorted, std::greater{}, apart_ns);
  sorted.resize(std::min(sorted.size(), kMax));
  std::vector<TopDifferenceRow> rows;
  for (const Operation* operation : sorted) {
    rows.push_back(operation->row);
    rows.back().cause = LikelyCause(*operation, oversubscribed);
  }
  return rows;
}

}  // namespace reprise
