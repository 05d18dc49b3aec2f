#include "report/compare/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "report/compare/rows.h"
#include "report/text/verdict.h"
#include "report/text/verdict_warnings.h"

namespace reprise {
namespace {

// Fewer repeats make intervals that say little.
constexpr std::size_t kFewRepeats = 3;

using Settings = std::map<std::string, std::string>;

// Results of a prediction: its manifest holds them beside the options that were given.
bool IsFound(const std::string& option) {
  static constexpr std::array kFound = {
      "classes",       "default_share",   "memory_peak_bytes",
      "mfu",           "modelled_nodes",  "nodes_without_time",
      "tokens",        "power_rounds",    "power_limit_exceeded",
      "samples",       "simulated_ranks", "throttle_temperature_exceeded",
      "unknown_share", "without_rate"};
  return std::ranges::find(kFound, option) != kFound.end();
}

Settings SettingsOf(const Report& report) {
  const RunManifest& manifest = report.manifest;
  Settings settings = {{"trace", manifest.trace_name},
                       {"reprise version", manifest.reprise_version},
                       {"devices", DevicesText(report)},
                       {"ranks", std::to_string(JobRanks(report))},
                       {"iterations", std::to_string(manifest.iterations)},
                       {"warm-up", std::to_string(manifest.warmup)},
                       {"oversubscribed", manifest.oversubscribed ? "yes" : "no"}};
  const std::set<std::string> hosts(manifest.hosts.begin(), manifest.hosts.end());
  settings["hosts"] = fmt::format("{}", fmt::join(hosts, " "));
  for (const auto& [name, value] : manifest.options) {
    if (!IsFound(name)) {
      settings["option " + name] = value;
    }
  }
  for (const auto& [name, value] : manifest.versions) {
    settings["version of " + name] = value;
  }
  return settings;
}

std::vector<Setting> DifferingSettings(const std::vector<ComparedSide>& sides) {
  std::vector<Settings> all;
  std::set<std::string> names;
  for (const ComparedSide& side : sides) {
    all.push_back(SettingsOf(side.runs.front().report));
    for (const auto& [name, value] : all.back()) {
      names.insert(name);
    }
  }
  std::vector<Setting> out;
  for (const std::string& name : names) {
    Setting setting{.name = name, .values = {}};
    std::set<std::string> different;
    for (const Settings& settings : all) {
      const auto found = settings.find(name);
      setting.values.push_back(found == settings.end() ? "" : found->second);
      different.insert(setting.values.back());
    }
    if (different.size() > 1) {
      out.push_back(std::move(setting));
    }
  }
  return out;
}

// What limits one run.
std::vector<std::string> LimitsOf(const Report& report) {
  std::vector<std::string> limits;
  if (!report.manifest.complete) {
    limits.emplace_back(
        "the run is not complete: it was killed, it failed, or it is still being written");
  }
  if (report.manifest.oversubscribed) {
    limits.emplace_back("oversubscribed: more threads than cores");
  }
  if (report.processor_use.disturbed > 0) {
    limits.emplace_back("other programs disturbed it; repeat when the machine is idle");
  }
  if (report.iterations < report.manifest.iterations && !IsMonitored(report.manifest)) {
    limits.push_back(fmt::format("{} of {} iterations were finished on every rank",
                                 report.iterations, report.manifest.iterations));
  }
  if (IsSimulated(report.manifest)) {
    limits.emplace_back("simulated: its times are modelled, nothing was executed");
  }
  return limits;
}

// Each limit once, with whom it is of: a side where it is of all its runs.
void WarnOfLimits(const std::vector<ComparedSide>& sides, std::vector<std::string>& warnings) {
  std::map<std::string, std::vector<std::string>> of_whom;
  for (const ComparedSide& side : sides) {
    std::map<std::string, std::vector<std::string>> of_runs;
    for (const ComparedRun& run : side.runs) {
      for (const std::string& limit : LimitsOf(run.report)) {
        of_runs[limit].push_back(run.path);
      }
    }
    for (const auto& [limit, paths] : of_runs) {
      of_whom[limit].push_back(paths.size() == side.runs.size()
                                   ? side.label
                                   : fmt::format("{} ({})", side.label, fmt::join(paths, ", ")));
    }
  }
  for (const auto& [limit, whom] : of_whom) {
    warnings.push_back(fmt::format("{}: {}", fmt::join(whom, ", "), limit));
  }
}

// Of aligned sides: what the alignment notes, and what the executions themselves do.
void WarnOfAlignment(const std::vector<ComparedSide>& sides, std::vector<std::string>& warnings) {
  for (std::size_t s = 1; s < sides.size(); ++s) {
    const std::vector<std::string>& notes = MiddleRun(sides[s]).difference->notes;
    warnings.insert(warnings.end(), notes.begin(), notes.end());
  }
}

std::vector<std::string> FindWarnings(const std::vector<ComparedSide>& sides,
                                      const std::vector<Incomparable>& allowed,
                                      const Comparison& comparison) {
  std::vector<std::string> warnings;
  warnings.reserve(allowed.size());
  for (const Incomparable& reason : allowed) {
    warnings.push_back(fmt::format("not the same {}: {}", reason.key, reason.why));
  }
  for (std::string& text : DescribeParts(sides)) {
    warnings.push_back(std::move(text));
  }
  if (AreAligned(sides)) {
    WarnOfAlignment(sides, warnings);
  }
  WarnOfLimits(sides, warnings);
  std::set<std::string> versions;
  std::set<std::int32_t> iterations;
  for (const ComparedSide& side : sides) {
    for (const ComparedRun& run : side.runs) {
      versions.insert(run.report.manifest.reprise_version);
      iterations.insert(run.report.manifest.iterations);
    }
    if (comparison.repeats_are_runs && side.runs.size() < kFewRepeats) {
      warnings.push_back(fmt::format("{}: {} repeats, so its spread is hardly known", side.label,
                                     side.runs.size()));
    }
  }
  if (versions.size() > 1) {
    warnings.push_back(
        fmt::format("recorded by different versions of Reprise: {}", fmt::join(versions, ", ")));
  }
  if (iterations.size() > 1 && !comparison.recorded) {
    warnings.push_back(
        fmt::format("different numbers of iterations: {}; heat and clocks settle "
                    "over a run",
                    fmt::join(iterations, ", ")));
  }
  for (const ComparedRow& row : comparison.rows) {
    if (row.name == "energy" && !row.note.empty()) {
      warnings.push_back("no ratio of energy: " + row.note);
    }
  }
  return warnings;
}

// What was measured of each rank beside its times.
void AddMetrics(const HeatMap& heat, RankComparison& ranks) {
  for (std::size_t m = 0; m < heat.metrics.size(); ++m) {
    if (heat.metrics[m].unit == "seconds") {
      continue;
    }
    ranks.metrics.push_back({heat.metrics[m].name, heat.metrics[m].unit});
    for (RankLoad& rank : ranks.ranks) {
      const auto found = std::ranges::find(heat.ranks, rank.rank, &HeatMap::Rank::rank);
      rank.metrics.push_back(found == heat.ranks.end() ? std::nullopt : found->values[m]);
    }
  }
}

}  // namespace

std::int64_t JobRanks(const Report& report) {
  return report.manifest.world_size + RanksOf(report) -
         static_cast<std::int64_t>(report.ranks.size());
}

std::string DevicesText(const Report& report) {
  std::map<std::string, std::int64_t> counts;
  for (const std::string& device : report.manifest.devices) {
    // Of a trace set without a device: the processor.
    ++counts[device.empty() ? report.recorded_on.processor : device];
  }
  for (const RankRow& row : report.ranks) {
    if (row.alike > 1) {
      counts[row.device] += row.alike - 1;  // the ranks that this one stands for
    }
  }
  counts.erase("");  // not recorded
  std::vector<std::string> texts;
  texts.reserve(counts.size());
  for (const auto& [device, count] : counts) {
    texts.push_back(fmt::format("{} x {}", count, device));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

bool HasRecorded(const std::vector<ComparedSide>& sides) {
  return std::ranges::any_of(sides, [](const ComparedSide& side) {
    return std::ranges::any_of(
        side.runs, [](const ComparedRun& run) { return IsRecorded(run.report.manifest); });
  });
}

bool AreAligned(const std::vector<ComparedSide>& sides) {
  return sides.size() > 1 && sides.back().runs.front().difference.has_value();
}

const ComparedRun& MiddleRun(const ComparedSide& side) {
  std::vector<double> steps;
  for (const ComparedRun& run : side.runs) {
    steps.push_back(static_cast<double>(run.report.step_time_replayed_ns.value_or(0)));
  }
  const double median = Describe(steps)->value;
  const auto off = [median](const ComparedRun& run) {
    return std::abs(static_cast<double>(run.report.step_time_replayed_ns.value_or(0)) - median);
  };
  return *std::ranges::min_element(side.runs, {}, off);
}

void AlignSides(std::vector<ComparedSide>& sides) {
  const JobOperations& base = *MiddleRun(sides.front()).operations;
  for (ComparedSide& side : sides) {
    for (ComparedRun& run : side.runs) {
      run.difference = CompareOperations(base, *run.operations);
    }
  }
}

Comparison Compare(const std::vector<ComparedSide>& sides,
                   const std::vector<Incomparable>& allowed) {
  Comparison comparison;
  comparison.recorded = HasRecorded(sides);
  comparison.repeats_are_runs = RepeatsAreRuns(sides);
  comparison.rows = CompareQuantities(sides, comparison.repeats_are_runs);
  comparison.transfers = CompareTransfers(sides);
  comparison.settings = DifferingSettings(sides);
  for (std::size_t s = 1; s < sides.size(); ++s) {
    comparison.differences.push_back(ExplainParts(sides[s], sides.front()));
  }
  for (std::size_t s = 1; s < sides.size(); ++s) {
    comparison.verdicts.push_back(AreAligned(sides) ? MiddleRun(sides[s]).difference->verdict
                                                    : VerdictText(sides, comparison, s));
  }
  for (const ComparedSide& side : sides) {
    const ComparedRun& run = MiddleRun(side);
    if (run.operations) {
      comparison.ranks.push_back(CompareRanksOf(*run.operations));
    }
    RankComparison* const ranks = run.operations ? &comparison.ranks.back() : nullptr;
    comparison.heat.push_back(DescribeHeat(run.report, ranks));
    if (ranks != nullptr) {
      AddMetrics(comparison.heat.back(), *ranks);
    }
  }
  comparison.warnings = FindWarnings(sides, allowed, comparison);
  return comparison;
}

}  // namespace reprise
