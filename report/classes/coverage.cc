#include "report/classes/coverage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "report/nodes/intervals.h"
#include "report/nodes/step_times.h"

namespace reprise {
namespace {

constexpr std::array kShares = {&Coverage::real,    &Coverage::surrogate, &Coverage::timed,
                                &Coverage::skipped, &Coverage::waiting,   &Coverage::host,
                                &Coverage::capped,  &Coverage::unknown,   &Coverage::compiled};

Coverage Scaled(Coverage coverage, double factor) {
  for (const auto share : kShares) {
    coverage.*share *= factor;
  }
  return coverage;
}

Coverage ToFractions(const Coverage& sums) {
  return sums.amount > 0 ? Scaled(sums, 1 / sums.amount) : Coverage{};
}

// What a moment of a step is, the first that applies: what runs beside another counts once.
enum class StepPart : std::uint8_t {
  kReal,
  kSurrogate,
  kCapped,
  kTimed,
  kCompiled,
  kUnknown,
  kSkipped,
  kWaiting,
};
struct PartShare {
  double Coverage::*share;
  double Coverage::*of_it = nullptr;  // a part of that share
};
constexpr std::array kPartShares = {PartShare{&Coverage::real},
                                    PartShare{&Coverage::surrogate},
                                    PartShare{&Coverage::surrogate, &Coverage::capped},
                                    PartShare{&Coverage::timed},
                                    PartShare{&Coverage::timed, &Coverage::compiled},
                                    PartShare{&Coverage::timed, &Coverage::unknown},
                                    PartShare{&Coverage::skipped},
                                    PartShare{&Coverage::waiting}};

StepPart PartOf(const NodeInfo& node, ReplayMode mode) {
  if (node.op_class == OpClass::kCompiled && mode != ReplayMode::kSkip) {
    return StepPart::kCompiled;  // also of a set, of which nothing is replayed
  }
  switch (mode) {
    case ReplayMode::kReal:
      return StepPart::kReal;
    case ReplayMode::kSurrogate:
      return node.capped ? StepPart::kCapped : StepPart::kSurrogate;
    case ReplayMode::kTimed:
      return node.work_from == WorkSource::kUnknown ? StepPart::kUnknown : StepPart::kTimed;
    case ReplayMode::kSkip:
      break;
  }
  return StepPart::kSkipped;
}

// Amounts in place of fractions while summing up.
void Add(StepPart part, double amount, Coverage& sums) {
  const PartShare& of = kPartShares.at(static_cast<std::size_t>(part));
  sums.*of.share += amount;
  if (of.of_it != nullptr) {
    sums.*of.of_it += amount;
  }
}

// From the first recorded step's begin to the last one's end: steps follow each other. Runs of
// earlier versions do not say when these are: there the first of their nodes begins the steps.
Interval StepsOf(const RankData& data) {
  const RankFacts& facts = data.facts;
  if (facts.first_step_ns && !facts.recorded_steps_ns.empty()) {
    return {*facts.first_step_ns,
            std::accumulate(facts.recorded_steps_ns.begin(), facts.recorded_steps_ns.end(),
                            *facts.first_step_ns)};
  }
  Interval span{INT64_MAX, INT64_MIN};
  for (const NodeInfo& node : data.nodes) {
    if (node.step >= 0) {
      span.first = std::min(span.first, node.recorded_start_ns);
      span.second = std::max(span.second, node.recorded_start_ns + node.recorded_duration_ns);
    }
  }
  if (span.first > span.second) {
    return {0, 0};
  }
  if (const std::int64_t step_ns = facts.recorded_step_ns.value_or(0); step_ns > 0) {
    span.second = span.first + step_ns * CountRecordedSteps(data);
  }
  return span;
}

// Every nanosecond of the rank's recorded steps, once.
Coverage CoverSteps(const MeasuredRank& rank) {
  const RankData& data = rank.data();
  const Interval steps = StepsOf(data);
  std::array<std::vector<Interval>, kPartShares.size()> parts;
  const auto add = [&](StepPart part, std::int64_t begin_ns, std::int64_t end_ns) {
    begin_ns = std::max(begin_ns, steps.first);
    end_ns = std::min(end_ns, steps.second);
    if (begin_ns < end_ns) {
      parts.at(static_cast<std::size_t>(part)).emplace_back(begin_ns, end_ns);
    }
  };
  for (std::size_t i = 0; i < data.nodes.size(); ++i) {
    const NodeInfo& node = data.nodes[i];
    const std::int64_t start_ns = node.recorded_start_ns;
    // A transfer's own time is the end of its time.
    const std::int64_t own_ns =
        node.kind != OpKind::kComm || node.recorded_elapsed_ns == NodeInfo::kUnknownNs
            ? start_ns
            : start_ns +
                  std::max<std::int64_t>(0, node.recorded_elapsed_ns - node.recorded_duration_ns);
    const std::int64_t end_ns = own_ns + node.recorded_duration_ns;
    if (node.counts_for_coverage) {
      add(StepPart::kWaiting, start_ns, own_ns);
      add(PartOf(node, rank.Mode(i)), own_ns, end_ns);
    } else if (node.kind == OpKind::kWait) {
      add(StepPart::kWaiting, start_ns, end_ns);
    }
  }
  Coverage sums{.amount = static_cast<double>(steps.second - steps.first)};
  std::vector<Interval> covered;
  std::int64_t left_ns = steps.second - steps.first;
  for (std::size_t part = 0; part < kPartShares.size(); ++part) {
    const std::vector<Interval> own = Union(std::move(parts.at(part)));
    const std::int64_t ns = LengthOutside(own, covered);
    left_ns -= ns;
    Add(static_cast<StepPart>(part), static_cast<double>(ns), sums);
    covered = Union(covered, own);
  }
  sums.host = static_cast<double>(left_ns);
  return sums;
}

// Time between one node's end and the next one's start on each host thread, within a step.
std::int64_t GapsNs(const RankData& data) {
  std::map<std::pair<std::string_view, std::int32_t>, std::vector<const NodeInfo*>> threads;
  for (const NodeInfo& node : data.nodes) {
    if (IsOfHostThread(node)) {
      threads[{node.actor, node.step}].push_back(&node);
    }
  }
  std::int64_t gaps_ns = 0;
  for (auto& [unused, nodes] : threads) {
    const auto start_of = [](const NodeInfo* node) { return node->recorded_start_ns; };
    if (!std::ranges::is_sorted(nodes, {}, start_of)) {  // as recorded they mostly are
      std::ranges::sort(nodes, {}, start_of);
    }
    std::int64_t end_ns = nodes.front()->recorded_start_ns;
    for (const NodeInfo* node : nodes) {
      gaps_ns += std::max<std::int64_t>(0, node->recorded_start_ns - end_ns);
      end_ns = std::max(end_ns, node->recorded_start_ns + node->recorded_duration_ns);
    }
  }
  return gaps_ns;
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
      const StepPart part = PartOf(node, rank.Mode(i));
      row.recorded_ns += node.recorded_duration_ns;
      row.unknown_ns += part == StepPart::kUnknown ? node.recorded_duration_ns : 0;
      row.work_known = row.work_known || node.work_from == WorkSource::kArguments ||
                       node.work_from == WorkSource::kCounts;
      const std::array<double, kCoverageBases> amounts = {0, node.flops, node.bytes, 1};
      for (std::size_t basis = 1; basis < kCoverageBases; ++basis) {
        Add(part, amounts[basis], sums[basis]);
        sums[basis].amount += amounts[basis];
      }
    } else if (node.kind == OpKind::kWait) {
      row.wait_ns += node.recorded_duration_ns;
    } else {
      row.host_ns += node.recorded_duration_ns;
    }
  }
  if (row.recorded_ns > 0) {
    sums.front() = CoverSteps(rank);
  }
  std::transform(sums.begin(), sums.end(), row.coverages.begin(), ToFractions);
  row.coverage = row.coverages.front();
  row.delay_ns = GapsNs(data);
  row.recorded_steps = CountRecordedSteps(data);
}

void TakeNodes(const RankRow& described, RankRow& row) {
  row.nodes = described.nodes;
  row.coverage = described.coverage;
  row.coverages = described.coverages;
  row.recorded_ns = described.recorded_ns;
  row.unknown_ns = described.unknown_ns;
  row.work_known = described.work_known;
  row.host_ns = described.host_ns;
  row.wait_ns = described.wait_ns;
  row.delay_ns = described.delay_ns;
  row.recorded_steps = std::max<std::int64_t>(described.recorded_steps, 1);
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
  std::int64_t unknown_ns = 0;
  for (RankRow& row : report.ranks) {
    row.coverage = row.coverages.at(chosen);
    report.recorded_ns += row.alike * row.recorded_ns;
    unknown_ns += row.alike * row.unknown_ns;
    report.work_known = report.work_known || row.work_known;
  }
  // What is unknown has neither FLOPs nor bytes: without times it is a share of the nodes.
  report.unknown_work = report.recorded_ns > 0 ? static_cast<double>(unknown_ns) /
                                                     static_cast<double>(report.recorded_ns)
                                               : sums.back().unknown;
}

}  // namespace reprise
