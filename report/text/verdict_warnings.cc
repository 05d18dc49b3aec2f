#include "report/text/verdict_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/text_in.h"
#include "report/text/odd_values.h"
#include "report/text/table.h"
#include "report/values/report.h"

namespace reprise {
namespace {

// Longest over shortest: repeats beyond this spread widely.
constexpr double kWideSpread = 1.2;
// Of operations and transfers whose operators are known.
constexpr double kMinReal = 0.9;
// Of the step.
constexpr double kMuchCompiled = 0.02;

std::string OversubscribedText(const std::vector<HostLoad>& loads) {
  const auto busiest = std::ranges::max_element(loads, [](const HostLoad& a, const HostLoad& b) {
    return a.threads * std::max(b.cores, 1) < b.threads * std::max(a.cores, 1);
  });
  if (busiest == loads.end()) {
    return "Oversubscribed: more threads than cores. Ranks wait for each other's cores.";
  }
  const std::string what =
      fmt::format("Oversubscribed: the {} rank{} on host {} compute with {} threads on {} core{}. ",
                  busiest->ranks, busiest->ranks == 1 ? "" : "s", Fit(busiest->host, 20),
                  busiest->threads, busiest->cores, busiest->cores == 1 ? "" : "s");
  if (busiest->ranks > busiest->cores) {
    return what +
           fmt::format("Use {} cores a host or more, or fewer ranks on each host.", busiest->ranks);
  }
  const std::int32_t threads = std::max(busiest->cores / std::max(busiest->ranks, 1), 1);
  return what + fmt::format("Set OMP_NUM_THREADS={}.", threads);
}

void AddRecordedSpread(const Report& report, std::vector<std::string>& warnings) {
  const auto& steps_ns = report.recorded_steps_ns;
  if (steps_ns.empty()) {
    return;
  }
  const auto [shortest, longest] = std::ranges::minmax_element(steps_ns);
  if (static_cast<double>(*longest) > kWideSpread * static_cast<double>(*shortest)) {
    warnings.push_back(
        fmt::format("The {} recorded steps took {} to {}, with tracing. The job, or tracing it, "
                    "was unsteady: a "
                    "single number for its step is uncertain.",
                    steps_ns.size(), DurationText(*shortest), DurationText(*longest)));
  }
}

void AddReplaySpread(const Report& report, std::vector<std::string>& warnings) {
  const auto shortest_ns = report.step_time_replayed_min_ns;
  const auto longest_ns = report.step_time_replayed_max_ns;
  if (shortest_ns && longest_ns &&
      static_cast<double>(*longest_ns) > kWideSpread * static_cast<double>(*shortest_ns)) {
    constexpr std::int64_t kEnoughIterations = 10;
    warnings.push_back(fmt::format(
        "The replay's {} iterations took {} to {}. {}", report.iterations,
        DurationText(shortest_ns), DurationText(longest_ns),
        report.iterations < kEnoughIterations ? "More of them give a steadier median: --iterations."
                                              : "--runs shows what repeats."));
  }
}

void AddBusyMachine(const ProcessorUse& use, std::vector<std::string>& warnings) {
  constexpr double kNoticed = 0.1;
  const auto add = [&](std::optional<double> share, std::string_view who) {
    if (share && *share > kNoticed && use.disturbed > 0) {
      warnings.push_back(fmt::format(
          "{} used {:.0f} % of the {} cores, and disturbed {} of {} iterations. Repeat when the "
          "machine is idle.",
          who, 100 * *share, use.cores, use.disturbed, use.iterations.size()));
    }
  };
  add(use.shares.others, "Other programs");
  add(use.shares.stolen, "Other virtual machines");
}

// Operations and transfers of the recording alone, beside the untraced step.
void AddBusyCapture(const Report& report, const Verdict& verdict,
                    std::vector<std::string>& warnings) {
  constexpr double kNoticed = 1.05;
  std::int64_t steps = 0;
  double work_ns = -static_cast<double>(report.work_tracing_ns);
  for (const RankRow& row : report.ranks) {
    const auto alike = static_cast<double>(row.alike);
    work_ns += alike * row.coverage.Work() * row.coverage.amount;
    steps += row.alike * row.recorded_steps;
  }
  const double step_ns = work_ns / static_cast<double>(std::max<std::int64_t>(steps, 1));
  if (report.coverage_basis == CoverageBasis::kTime && verdict.untraced &&
      step_ns > kNoticed * static_cast<double>(*verdict.job_ns)) {
    warnings.push_back(fmt::format(
        "Captured while the machine was busy: operations and transfers of a recorded "
        "step took {}, without what tracing took, and a whole untraced step {}. "
        "Capture again.",
        DurationText(static_cast<std::int64_t>(step_ns)), DurationText(verdict.job_ns)));
  }
}

void AddCoverage(const Report& report, const Verdict& verdict, std::vector<std::string>& warnings) {
  const Coverage& coverage = report.coverage;
  if (coverage.compiled > kMuchCompiled) {
    warnings.push_back(
        fmt::format("{:.1f} % of the step is compiled code: the capture does not have its "
                    "operators, so the replay waited for its recorded time. Capture the job "
                    "without torch.compile to run them.",
                    100 * coverage.compiled));
  }
  constexpr std::array<std::string_view, kCoverageBases> kTexts = {
      "time of operations and transfers was", "FLOPs were", "bytes were", "nodes were"};
  const double known = coverage.Work() - coverage.compiled;
  if (verdict.caution.empty() && coverage.real < kMinReal * known) {
    warnings.push_back(fmt::format("{:.1f} % of the {} not replayed as the real operation.",
                                   100 * (1 - coverage.real / known),
                                   kTexts.at(static_cast<std::size_t>(report.coverage_basis))));
  }
}

// Of a simulation whose pauses have what tracing took in them.
std::string TracedPauses(const Report& report, const Verdict& verdict) {
  constexpr double kMuch = 1.1;
  const double traced_ns = static_cast<double>(report.step_time_recorded_ns.value_or(0));
  const double untraced_ns = static_cast<double>(report.step_time_untraced_ns.value_or(0));
  if (!IsSimulated(report.manifest) || verdict.untraced || untraced_ns <= 0 ||
      traced_ns < kMuch * untraced_ns) {
    return {};
  }
  return fmt::format(
      "Both steps have the time that tracing took in them: the job takes {} untraced, {} traced. "
      "--host-gaps untraced deducts what tracing is estimated to have taken.",
      DurationText(*report.step_time_untraced_ns), DurationText(*report.step_time_recorded_ns));
}

using RunOptions = std::map<std::string, std::string>;

double NumberOption(const RunOptions& options, const std::string& name) {
  const std::string text = TextIn(options, name);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// What a limit or heat could not do.
void AddPowerWarnings(const RunOptions& options, std::vector<std::string>& warnings) {
  if (const std::string rounds = TextIn(options, "power_rounds"); !rounds.empty()) {
    warnings.push_back(
        fmt::format("Clocks and times had not settled after {} rounds: some moments may be above "
                    "the power limit or too warm.",
                    rounds));
  }
  if (const std::string watts = TextIn(options, "power_limit_exceeded"); !watts.empty()) {
    warnings.push_back(
        fmt::format("Some moments are above the power limit of {} W even at the lowest clock: "
                    "transfers, memory and idle power do not follow it. Raise --power-limit.",
                    watts));
  }
  if (TextIn(options, "throttle_temperature_exceeded") == "true") {
    warnings.emplace_back(
        "Some devices are warmer than device.thermal.throttle even at the lowest clock. Check the "
        "machine's thermal numbers.");
  }
}

}  // namespace

std::vector<std::string> PredictionWarnings(const std::map<std::string, std::string>& options) {
  constexpr double kMuch = 0.1;
  std::vector<std::string> warnings;
  if (const std::string types = TextIn(options, "without_rate"); !types.empty()) {
    warnings.push_back(
        fmt::format("The machine has no rate for {}: such products take the time of float32's. "
                    "--set device.matrix.{}=… gives it one.",
                    types, types.substr(0, types.find(','))));
  }
  const double by_default = NumberOption(options, "default_share");
  if (by_default > kMuch) {
    warnings.push_back(fmt::format(
        "Not calibrated: {:.0f} % of the operations' time assumes the machine's default share of "
        "its peak. `reprise calibrate` improves it, and so does --set device.efficiency.gemm=… and "
        "its like.",
        100 * by_default));
  }
  const double unknown =
      options.contains("captured_on") ? NumberOption(options, "unknown_share") : 0;
  if (unknown > kMuch) {
    warnings.push_back(fmt::format(
        "{:.0f} % of the operations' recorded time is of kernels whose operation is not known: "
        "their times are scaled by the ratio of all others.",
        100 * unknown));
  }
  if (const std::string nodes = TextIn(options, "modelled_nodes"); !nodes.empty()) {
    warnings.push_back(fmt::format(
        "No time was recorded for {} nodes: the machine's model says what they take.", nodes));
  }
  if (const std::string nodes = TextIn(options, "nodes_without_time"); !nodes.empty()) {
    warnings.push_back(fmt::format(
        "No time was recorded for {} nodes, and they count as 0: {}", nodes,
        TextIn(options, "machine") == "recorded"
            ? "--machine NAME models transfers, and work whose FLOPs or bytes are known."
            : "neither FLOPs nor bytes of them are known."));
  }
  AddPowerWarnings(options, warnings);
  return warnings;
}

bool IsMonitored(const RunManifest& manifest) { return HasOption(manifest, "mode", kMonitorMode); }

bool Runs(const RunManifest& manifest) { return !IsRecorded(manifest) && !IsSimulated(manifest); }

bool IsReplay(const RunManifest& manifest) { return Runs(manifest) && !IsMonitored(manifest); }

bool IsRecorded(const RunManifest& manifest) { return HasOption(manifest, "mode", kRecordedMode); }

bool IsSimulated(const RunManifest& manifest) { return HasOption(manifest, "mode", kSimulateMode); }

std::string SimulatedMachine(const RunManifest& manifest) {
  return HasOption(manifest, "mode", kSimulateMode) ? TextIn(manifest.options, "machine") : "";
}

std::vector<std::string> VerdictWarnings(const Report& report, const Verdict& verdict) {
  const RunManifest& manifest = report.manifest;
  std::vector<std::string> warnings;
  const bool predicted = !SimulatedMachine(manifest).empty();
  if (predicted) {
    warnings = PredictionWarnings(manifest.options);
    if (const std::string on = TextIn(manifest.options, "calibrated_on"); !on.empty()) {
      warnings.push_back(fmt::format("The machine is calibrated on {}.", on));
    }
    warnings.emplace_back("Every time is modelled: nothing was executed.");
  }
  if (!manifest.complete) {
    warnings.emplace_back("The run is not complete: it was killed, it failed, or it still runs.");
  }
  const auto missing = manifest.world_size - static_cast<std::int64_t>(report.ranks.size());
  if (missing > 0) {
    warnings.push_back(fmt::format("{} rank{} of {} left no file that could be read.", missing,
                                   missing == 1 ? "" : "s", manifest.world_size));
  }
  if (verdict.kind == Verdict::Kind::kMonitored) {
    warnings.insert(warnings.end(), report.failed_commands.begin(), report.failed_commands.end());
    return warnings;
  }
  if (report.iterations > 0 && report.iterations < manifest.iterations) {
    warnings.push_back(fmt::format("{} of {} iterations finished on every rank.", report.iterations,
                                   manifest.iterations));
  }
  if (manifest.oversubscribed) {
    warnings.push_back(OversubscribedText(report.host_loads));
  }
  if (std::string values = OddValuesWarning(report); !values.empty()) {
    warnings.push_back(std::move(values));
  }
  AddBusyMachine(report.processor_use, warnings);
  AddBusyCapture(report, verdict, warnings);
  AddRecordedSpread(report, warnings);
  AddReplaySpread(report, warnings);
  if (verdict.ratio && !report.step_time_untraced_ns) {
    warnings.emplace_back(
        "The job's step has the time that tracing took in it: the capture does not say how long a "
        "step takes untraced.");
  } else if (std::string traced = TracedPauses(report, verdict); !traced.empty()) {
    warnings.push_back(std::move(traced));
  } else if (verdict.untraced && HasOption(manifest, "host_gap_factor", "1") &&
             report.work_tracing_ns > 0) {
    warnings.emplace_back(
        "Gaps between operations lasted as recorded, with what tracing took of them. --host-gaps "
        "untraced deducts it.");
  }
  if (IsReplay(manifest)) {
    AddCoverage(report, verdict, warnings);
  }
  return warnings;
}

bool HasOption(const RunManifest& manifest, const std::string& name, std::string_view value) {
  return TextIn(manifest.options, name) == value;
}

}  // namespace reprise
