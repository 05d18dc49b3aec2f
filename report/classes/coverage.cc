#include "report/classes/coverage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "report/nodes/intervals.h"
#include "report/nodes/step_times.h"

namespace reprise {
namespace {

// Amounts in place of fractions while summing up.
void Add(const NodeInfo& node, ReplayMode mode, double amount, Coverage& sums) {
  sums.amount += amount;
  switch (mode) {
    case ReplayMode::kReal:
      sums.real += amount;
      break;
    case ReplayMode::kSurrogate:
      sums.surrogate += amount;
      sums.capped += node.capped ? amount : 0;
      break;
    case ReplayMode::kTimed:
      sums.timed += amount;
      sums.unknown += node.work_from == WorkSource::kUnknown ? amount : 0;
      break;
    case ReplayMode::kSkip:
      sums.skipped += amount;
      break;
  }
}

constexpr std::array kShares = {&Coverage::real,    &Coverage::surrogate, &Coverage::timed,
                                &Coverage::skipped, &Coverage::capped,    &Coverage::unknown};

Coverage Scaled(Coverage coverage, double factor) {
  for (const auto share : kShares) {
    coverage.*share *= factor;
  }
  return coverage;
}

Coverage ToFractions(const Coverage& sums) {
  return sums.amount > 0 ? Scaled(sums, 1 / sums.amount) : Coverage{};
}

// Time between one node's end and the next one's start on each host thread, within a step.
std::int64_t GapsNs(const RankData& data) {
  std::map<std::pair<std::string, std::int32_t>, std::vector<const NodeInfo*>> threads;
  for (const NodeInfo& node : data.nodes) {
    if (IsOfHostThread(node)) {
      threads[{node.actor, node.step}].push_back(&node);
    }
  }
  std::int64_t gaps_ns = 0;
  for (auto& [unused, nodes] : threads) {
    std::ranges::sort(nodes, {}, [](const NodeInfo* node) { return node->recorded_start_ns; });
    std::int64_t end_ns = nodes.front()->recorded_start_ns;
    for (const NodeInfo* node : nodes) {
      gaps_ns += std::max<std::int64_t>(0, node->recorded_start_ns - end_ns);
      end_ns = std::max(end_ns, node->recorded_start_ns + node->recorded_duration_ns);
    }
  }
  return gaps_ns;
}

// Time in which a node ran that is replayed as the real operation.
std::int64_t RealUnionNs(const MeasuredRank& rank) {
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < rank.data().nodes.size(); ++i) {
    const NodeInfo& node = rank.data().nodes[i];
    if (node.counts_for_coverage && rank.Mode(i) == ReplayMode::kReal) {
      intervals.emplace_back(node.recorded_start_ns,
                             node.recorded_start_ns + node.recorded_duration_ns);
    }
  }
  return Length(Union(std::move(intervals)));
}

}  // namespace

std::string_view Name(CoverageBasis basis) {
  constexpr std::array<std::string_view, kCoverageBases> kNames = {"time", "flops", "bytes",
                                                                   "nodes"};
  return kNames.at(static_cast<std::size_t>(basis));
}

bool IsOfHostThread(const NodeInfo& node) { return node.actor.starts_with("thread"); }

RankRow IdentifyRank(const MeasuredRank& rank, const RunManifest& manifest) {
  const RankData& data = rank.data();
  RankRow row;
  row.rank = data.rank;
  row.iterations = rank.iterations();
  row.alike = rank.alike();
  row.members = data.facts.class_members;
  const auto index = static_cast<std::size_t>(data.rank);
  row.clock_uncertainty_ns = data.clock_uncertainty_ns;
  row.host = index < manifest.hosts.size() ? manifest.hosts[index] : data.host;
  if (index < manifest.devices.size()) {
    row.device = manifest.devices[index];
  } else if (!data.devices.empty()) {
    row.device = data.devices.front().backend + ": " + data.devices.front().name;
  }
  row.step_time_recorded_ns = data.facts.recorded_step_ns;
  row.step_time_replayed_ns = MedianStepNs(rank);
  return row;
}

void DescribeNodes(const MeasuredRank& rank, RankRow& row) {
  const RankData& data = rank.data();
  row.nodes = static_cast<std::int64_t>(data.nodes.size());
  std::array<Coverage, kCoverageBases> sums;
  for (std::size_t i = 0; i < data.nodes.size(); ++i) {
    const NodeInfo& node = data.nodes[i];
    if (node.counts_for_coverage) {
      row.recorded_ns += node.recorded_duration_ns;
      row.work_known = row.work_known || node.work_from == WorkSource::kArguments ||
                       node.work_from == WorkSource::kCounts;
      const std::array<double, kCoverageBases> amounts = {
          static_cast<double>(node.recorded_duration_ns), node.flops, node.bytes, 1.0};
      for (std::size_t basis = 0; basis < kCoverageBases; ++basis) {
        Add(node, rank.Mode(i), amounts[basis], sums[basis]);
      }
    } else if (node.kind == OpKind::kWait) {
      row.wait_ns += node.recorded_duration_ns;
    } else {
      row.host_ns += node.recorded_duration_ns;
    }
  }
  std::transform(sums.begin(), sums.end(), row.coverages.begin(), ToFractions);
  row.coverage = row.coverages.front();
  row.delay_ns = GapsNs(data);
  row.real_ns = RealUnionNs(rank);
  row.recorded_steps = CountRecordedSteps(data);
}

Coverage SumCoverage(std::span<const RankRow> ranks, CoverageBasis basis) {
  Coverage sums;
  for (const RankRow& row : ranks) {
    const Coverage& mine = row.coverages.at(static_cast<std::size_t>(basis));
    const auto alike = static_cast<double>(row.alike);
    const Coverage amounts = Scaled(mine, alike * mine.amount);
    for (const auto share : kShares) {
      sums.*share += amounts.*share;
    }
    sums.amount += alike * mine.amount;
  }
  return ToFractions(sums);
}

void FillCoverage(Report& report) {
  std::array<Coverage, kCoverageBases> sums;
  std::size_t chosen = kCoverageBases;
  for (std::size_t basis = 0; basis < kCoverageBases; ++basis) {
    sums[basis] = SumCoverage(report.ranks, static_cast<CoverageBasis>(basis));
    chosen = chosen == kCoverageBases && sums[basis].amount > 0 ? basis : chosen;
  }
  chosen = chosen == kCoverageBases ? 0 : chosen;
  report.coverage_basis = static_cast<CoverageBasis>(chosen);
  report.coverage = sums[chosen];
  report.coverage_of_bytes = sums[static_cast<std::size_t>(CoverageBasis::kBytes)];
  // What is unknown has neither FLOPs nor bytes: without times it is a share of the nodes.
  const bool by_time = report.coverage_basis == CoverageBasis::kTime;
  const Coverage& of_all = by_time ? sums.front() : sums.back();
  report.unknown_work = of_all.unknown;
  for (RankRow& row : report.ranks) {
    row.coverage = row.coverages.at(chosen);
    report.recorded_ns += row.alike * row.recorded_ns;
    report.work_known = report.work_known || row.work_known;
  }
}

double CoverageOfStep(std::span<const RankRow> ranks) {
  double covered_ns = 0;
  double steps_ns = 0;
  for (const RankRow& row : ranks) {
    if (row.step_time_recorded_ns) {
      const auto alike = static_cast<double>(row.alike);
      covered_ns += alike * static_cast<double>(row.real_ns);
      steps_ns += alike * static_cast<double>(*row.step_time_recorded_ns) *
                  static_cast<double>(row.recorded_steps);
    }
  }
  return steps_ns > 0 ? std::min(1.0, covered_ns / steps_ns) : 0;
}

}  // namespace reprise
