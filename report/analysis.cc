#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "core/parallel.h"
#include "report/coverage.h"
#include "report/measured_run.h"
#include "report/report.h"
#include "report/sampled.h"

namespace reprise {
namespace {

std::int64_t Mean(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0}) /
         static_cast<std::int64_t>(values.size());
}

// Each iteration's step time: the longest rank's. Only what every rank finished.
std::vector<std::int64_t> StepTimesNs(std::span<const MeasuredRank> ranks,
                                      std::set<std::int32_t>& iterations) {
  struct Longest {
    std::size_t ranks = 0;
    std::int64_t duration_ns = 0;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, Longest> steps;
  for (const MeasuredRank& rank : ranks) {
    for (const StepRecord& step : rank.steps()) {
      Longest& longest = steps[{step.iteration, step.step}];
      ++longest.ranks;
      longest.duration_ns = std::max(longest.duration_ns, step.duration_ns);
    }
  }
  // Steps of one trace may differ: an iteration's step time is the mean over them, as the recorded
  // one is.
  std::map<std::int32_t, std::vector<std::int64_t>> of_iteration;
  for (const auto& [key, longest] : steps) {
    if (longest.ranks == ranks.size()) {
      of_iteration[key.first].push_back(longest.duration_ns);
      iterations.insert(key.first);
    }
  }
  std::vector<std::int64_t> times_ns;
  times_ns.reserve(of_iteration.size());
  for (const auto& [iteration, step_times_ns] : of_iteration) {
    times_ns.push_back(Mean(step_times_ns));
  }
  return times_ns;
}

std::optional<std::int64_t> MedianStepNs(const MeasuredRank& rank) {
  std::map<std::int32_t, std::vector<std::int64_t>> of_iteration;
  for (const StepRecord& step : rank.steps()) {
    of_iteration[step.iteration].push_back(step.duration_ns);
  }
  std::vector<std::int64_t> times_ns;
  times_ns.reserve(of_iteration.size());
  for (const auto& [iteration, step_times_ns] : of_iteration) {
    times_ns.push_back(Mean(step_times_ns));
  }
  return Median(times_ns);
}

void FillStepTimes(std::span<const MeasuredRank> ranks, Report& report) {
  std::set<std::int32_t> iterations;
  std::vector<std::int64_t> times_ns = StepTimesNs(ranks, iterations);
  report.iterations = static_cast<std::int32_t>(iterations.size());
  report.iteration_step_ns = times_ns;
  report.step_time_replayed_ns = Median(times_ns);
  if (!times_ns.empty()) {
    const auto [shortest, longest] = std::minmax_element(times_ns.begin(), times_ns.end());
    report.step_time_replayed_min_ns = *shortest;
    report.step_time_replayed_max_ns = *longest;
  } else {
    report.notes.emplace_back("no iteration was finished on every rank: nothing is measured");
  }
  std::int64_t recorded_ns = report.manifest.recorded_step_ns;
  for (const RankRow& row : report.ranks) {
    recorded_ns = std::max(recorded_ns, row.step_time_recorded_ns.value_or(0));
  }
  if (recorded_ns > 0) {
    report.step_time_recorded_ns = recorded_ns;
  }
  if (report.manifest.untraced_step_ns >= 0) {
    report.step_time_untraced_ns = report.manifest.untraced_step_ns;
  }
}

// By what `key_of` says of a node: its class, its phase.
template <typename KeyOf>
std::vector<ClassRow> SumNodes(std::span<const MeasuredRank> ranks,
                               const TransferSummary& transfers, KeyOf key_of) {
  struct Sum {
    ClassRow row;
    bool work = false;  // some node is no transfer
  };
  std::map<decltype(key_of(NodeInfo{})), Sum> sums;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t i = 0; i < ranks[r].data().nodes.size(); ++i) {
      const NodeInfo& node = ranks[r].data().nodes[i];
      if (!node.counts_for_coverage) {
        continue;
      }
      auto& [row, work] = sums[key_of(node)];
      row.name = Name(key_of(node));
      ++row.count;
      row.recorded_ns += node.recorded_duration_ns;
      work = work || node.op_class != OpClass::kComm;
      // A transfer's time counts from the last arrival, as it does in the recording.
      const auto own_ns = transfers.MedianOwnNs(r, i);
      const auto replayed_ns = own_ns ? own_ns : ranks[r].MedianDurationNs(i);
      if (replayed_ns) {
        row.replayed_ns = row.replayed_ns.value_or(0) + *replayed_ns;
        row.flops += node.flops;
        row.bytes += node.bytes;
      }
    }
  }
  std::vector<ClassRow> rows;
  for (auto& [key, sum] : sums) {
    ClassRow& row = sum.row;
    if (row.replayed_ns.value_or(0) > 0 && sum.work) {
      row.gflop_per_s = row.flops / static_cast<double>(*row.replayed_ns);
      row.gb_per_s = row.bytes / static_cast<double>(*row.replayed_ns);
    }
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ClassRow& a, const ClassRow& b) {
    return a.recorded_ns > b.recorded_ns;
  });
  return rows;
}

std::optional<double> RelativeError(std::optional<std::int64_t> replayed_ns,
                                    std::optional<std::int64_t> recorded_ns) {
  if (!replayed_ns || !recorded_ns || *recorded_ns <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(*replayed_ns) / static_cast<double>(*recorded_ns) - 1.0;
}

// Work alone: nodes whose class is not communication and that have a replayed time.
std::optional<double> WorkError(std::span<const MeasuredRank> ranks) {
  std::int64_t recorded_ns = 0;
  std::int64_t replayed_ns = 0;
  for (const MeasuredRank& rank : ranks) {
    for (std::size_t i = 0; i < rank.data().nodes.size(); ++i) {
      const NodeInfo& node = rank.data().nodes[i];
      if (!node.counts_for_coverage || node.kind == OpKind::kComm) {
        continue;
      }
      if (const auto median_ns = rank.MedianDurationNs(i)) {
        recorded_ns += node.recorded_duration_ns;
        replayed_ns += *median_ns;
      }
    }
  }
  return RelativeError(replayed_ns, recorded_ns);
}

// The limits that ranks measured before they ran.
std::vector<DeviceLimitRow> CollectLimits(const RunData& run, const std::vector<RankRow>& rows) {
  const auto rate = [](const RankData& rank, const char* fact) {
    const auto found = rank.facts.find(fact);
    return found == rank.facts.end() ? 0 : std::strtod(found->second.c_str(), nullptr) * 1e-9;
  };
  std::map<std::string, DeviceLimitRow> limits;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const double gflop_per_s = rate(run.ranks[r], kFactDeviceFlopsPerSecond);
    const double gb_per_s = rate(run.ranks[r], kFactDeviceBytesPerSecond);
    if (gflop_per_s > 0 && gb_per_s > 0) {
      DeviceLimitRow& row = limits[rows[r].device];
      row.device = rows[r].device;
      row.ranks.push_back(rows[r].rank);
      row.gflop_per_s = std::max(row.gflop_per_s, gflop_per_s);
      row.gb_per_s = std::max(row.gb_per_s, gb_per_s);
    }
  }
  std::vector<DeviceLimitRow> out;
  out.reserve(limits.size());
  for (auto& [device, row] : limits) {
    out.push_back(std::move(row));
  }
  return out;
}

// Counters that ranks left as facts: "diagnostic.x", "trace.x", "sampler.x".
void CollectFacts(const RunData& run, Report& report) {
  std::map<std::string, std::set<std::int32_t>> unavailable;
  for (const RankData& rank : run.ranks) {
    for (const auto& [name, value] : rank.facts) {
      constexpr std::string_view kTelemetry = "telemetry.";
      if (name.starts_with(kTelemetry)) {
        unavailable["no telemetry from " + name.substr(kTelemetry.size()) + ": " + value].insert(
            rank.rank);
        continue;
      }
      if (name == kFactExitCode && value != "0") {
        report.notes.push_back(
            fmt::format("rank {}: the command ended with exit code {}", rank.rank, value));
      }
      const bool counter = name.starts_with("diagnostic.") || name.starts_with("trace.") ||
                           name.starts_with("sampler.");
      std::int64_t count = 0;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), count);
      if (counter && parsed.ec == std::errc()) {
        report.diagnostics[name] += count;
      }
    }
  }
  for (const auto& [text, unused] : unavailable) {
    report.notes.push_back(text);
  }
  const bool modelled = std::any_of(run.ranks.begin(), run.ranks.end(), [](const RankData& rank) {
    const auto found = rank.facts.find(kFactModelled);
    return found != rank.facts.end() && found->second == "true";
  });
  if (modelled) {
    report.notes.emplace_back("dry run: all replayed times are simulated, nothing was executed");
  }
}

void AddNotes(std::span<const MeasuredRank> ranks, Report& report) {
  if (report.attribution) {
    report.notes.insert(report.notes.end(), report.attribution->notes.begin(),
                        report.attribution->notes.end());
  }
  std::int64_t never_ran = 0;
  for (const MeasuredRank& rank : ranks) {
    never_ran += rank.never_ran();
  }
  if (never_ran > 0) {
    report.notes.push_back(fmt::format(
        "{} nodes that were planned to run have no record; they count as skipped", never_ran));
  }
  if (report.manifest.oversubscribed) {
    report.notes.emplace_back(
        "oversubscribed: more threads than cores; the step error is shown, not claimed");
  }
  const auto unrelated =
      std::count_if(report.collectives.begin(), report.collectives.end(),
                    [](const CollectiveRow& row) { return row.clock == TransferClock::kShortest; });
  if (unrelated > 0) {
    report.notes.push_back(fmt::format(
        "{} rows of transfers are timed by their shortest member: not all members' clocks are "
        "related",
        unrelated));
  }
}

void DescribeRanks(const MeasuredRun& run, Report& report) {
  report.ranks.resize(run.ranks.size());
  ForEachInParallel(run.ranks.size(), [&](std::size_t r) {
    report.ranks[r] = DescribeRank(run.ranks[r], run.data->manifest);
    report.ranks[r].step_time_replayed_ns = MedianStepNs(run.ranks[r]);
  });
  for (const RankRow& row : report.ranks) {
    report.host_ns += row.host_ns;
    report.wait_ns += row.wait_ns;
    report.delay_ns += row.delay_ns;
  }
  report.device_limits = CollectLimits(*run.data, report.ranks);
  report.coverage = SumCoverage(report.ranks);
  report.coverage_of_step = CoverageOfStep(run.ranks, report.ranks);
}

// What telemetry says.
void DescribeSamples(const MeasuredRun& run, Report& report) {
  SampledSummary sampled = SummarizeSamples(run.ranks, report.ranks);
  report.energy_joules = sampled.joules;
  report.mean_watts = sampled.watts;
  report.measured_ns = sampled.measured_ns;
  report.energy_source = std::move(sampled.source);
  report.energy = std::move(sampled.energy);
  report.metrics = std::move(sampled.metrics);
  report.attribution = AttributeEnergy(run.ranks, report.ranks, report.energy, run.transfers);
  // Known without meters too, but then not per joule.
  report.tokens =
      report.attribution ? report.attribution->tokens : InferAmount(run.ranks, kFactStepTokens);
  report.samples =
      report.attribution ? report.attribution->samples : InferAmount(run.ranks, kFactStepSamples);
  report.thermal = ExamineThermal(run.ranks, report.ranks, run.transfers);
}

}  // namespace

Report Analyze(const RunData& run) { return Analyze(MeasuredRun(run)); }

Report Analyze(const MeasuredRun& run) {
  Report report;
  report.manifest = run.data->manifest;
  report.notes = run.data->notes;
  DescribeRanks(run, report);
  FillStepTimes(run.ranks, report);
  report.collectives = run.transfers.rows;
  // Each fills members of its own.
  const std::array<std::function<void()>, 3> parts = {
      [&] { report.details = ExamineFidelity(run.ranks, run.transfers.matches, report.manifest); },
      [&] { DescribeSamples(run, report); },
      [&] {
        report.classes =
            SumNodes(run.ranks, run.transfers, [](const NodeInfo& node) { return node.op_class; });
        report.phases =
            SumNodes(run.ranks, run.transfers, [](const NodeInfo& node) { return node.phase; });
        report.fidelity.work_error = WorkError(run.ranks);
      }};
  ForEachInParallel(parts.size(), [&parts](std::size_t i) { parts[i](); });
  report.fidelity.step_error =
      RelativeError(report.step_time_replayed_ns, report.step_time_recorded_ns);
  report.fidelity.untraced_error =
      RelativeError(report.step_time_replayed_ns, report.step_time_untraced_ns);
  CollectFacts(*run.data, report);
  AddNotes(run.ranks, report);
  return report;
}

}  // namespace reprise
