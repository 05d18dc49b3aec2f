// The step as a whole: coverage, times, errors, and the machines they are of.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/json_fields.h"
#include "core/text_in.h"
#include "report/nodes/measured.h"
#include "report/sections/report_json.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/time_sources.h"
#include "report/text/verdict.h"
#include "report/text/verdict_warnings.h"

namespace reprise {

REPRISE_JSON_FIELDS(Machine, processor, device, threads)
REPRISE_JSON_FIELDS(HostLoad, host, ranks, threads, cores)
REPRISE_JSON_FIELDS(CoreShares, others, stolen)
REPRISE_JSON_FIELDS(IterationUse, shares, pressure, load, involuntary_switches, disturbed)
REPRISE_JSON_FIELDS(ProcessorUse, shares, cores, disturbed, iterations)
REPRISE_JSON_FIELDS(Fidelity, work_error, untraced_work_error, step_error, untraced_error)

namespace {

std::string FactOrEmpty(const std::string& text) { return text; }
std::string FactOrEmpty(std::optional<std::int64_t> number) {
  return number ? std::to_string(*number) : "";
}

// What the ranks have of a fact; empty where one lacks it.
template <typename Fact>
std::string JoinedFact(const RunData& run, Fact RankFacts::*fact) {
  std::set<std::string> values;
  for (const RankData& rank : run.ranks) {
    values.insert(FactOrEmpty(rank.facts.*fact));
  }
  return values.contains("") ? "" : fmt::format("{}", fmt::join(values, ", "));
}

// By name; empty where a rank does not have its threads.
std::vector<HostLoad> HostLoads(const RunData& run) {
  std::map<std::string, HostLoad> loads;
  std::map<std::string, std::set<std::int64_t>> cores;
  for (const RankData& rank : run.ranks) {
    const auto threads = rank.facts.compute_threads;
    if (!threads) {
      return {};
    }
    HostLoad& load = loads[rank.host];
    load.host = rank.host;
    ++load.ranks;
    load.threads += static_cast<std::int32_t>(*threads);
    cores[rank.host].insert(rank.facts.cores.begin(), rank.facts.cores.end());
    load.cores = static_cast<std::int32_t>(cores[rank.host].size());
  }
  std::vector<HostLoad> out;
  out.reserve(loads.size());
  for (auto& [host, load] : loads) {
    out.push_back(std::move(load));
  }
  return out;
}

// Each recorded step's time, of the rank that took longest; empty where a rank does not have it.
std::vector<std::int64_t> RecordedStepsNs(const RunData& run) {
  std::vector<std::int64_t> longest_ns;
  for (const RankData& rank : run.ranks) {
    const std::vector<std::int64_t>& own_ns = rank.facts.recorded_steps_ns;
    if (own_ns.empty() || (!longest_ns.empty() && own_ns.size() != longest_ns.size())) {
      return {};
    }
    longest_ns.resize(own_ns.size());
    std::ranges::transform(own_ns, longest_ns, longest_ns.begin(), std::ranges::max);
  }
  return longest_ns;
}

void AnalyseStep(const RunData& outline, Report& report) {
  report.recorded_on = {.processor = JoinedFact(outline, &RankFacts::recorded_processor),
                        .device = JoinedFact(outline, &RankFacts::recorded_device),
                        .threads = JoinedFact(outline, &RankFacts::recorded_threads)};
  if (report.recorded_on.device.empty() && !report.recorded_on.processor.empty()) {
    report.recorded_on.device = "cpu";  // a capture that names the processor names accelerators too
  }
  report.replayed_on = {.processor = JoinedFact(outline, &RankFacts::processor),
                        .device = JoinedFact(outline, &RankFacts::computes_on),
                        .threads = JoinedFact(outline, &RankFacts::compute_threads)};
  report.on_recorded_machine =
      std::ranges::all_of(outline.ranks, IsOnRecordedMachine, &RankData::facts);
  report.host_loads = HostLoads(outline);
  report.recorded_steps_ns = RecordedStepsNs(outline);
}

std::string MonitoredHead(const Report& report, const Style& style) {
  const std::string launcher = TextIn(report.manifest.options, "launcher");
  return fmt::format(
      "\n{}Monitored{}       {}\n{}Time{}            {} ({} rank{}{})\n", style.bold, style.reset,
      Fit(TextIn(report.manifest.options, "monitored", "this host"), 80), style.bold, style.reset,
      DurationText(report.step_time_replayed_ns), report.manifest.world_size,
      report.manifest.world_size == 1 ? "" : "s", launcher.empty() ? "" : " of " + launcher);
}

std::string StretchText(const std::vector<ClassFactor>& factors) {
  std::string text;
  for (const ClassFactor& row : factors) {
    text += fmt::format("{}{}={:.2f}", text.empty() ? "" : ",", row.name, row.factor);
  }
  return text;
}

// Replayed beside recorded: the step, and operations alone.
std::string RatioLines(const Report& report, const Style& style) {
  const Verdict& verdict = report.verdict;
  const auto text = [&verdict](std::optional<double> error) {
    return IsError(verdict) ? ErrorText(error)
                            : NumberText(error ? std::optional(1 + *error) : std::nullopt);
  };
  const Fidelity& fidelity = report.fidelity;
  std::string lines = Label(IsError(verdict) ? "Error" : "Ratio", style) +
                      fmt::format("step {} against the traced step", text(fidelity.step_error));
  lines += report.step_time_untraced_ns
               ? fmt::format(", {} against the untraced one\n", text(fidelity.untraced_error))
               : "; untraced step time unknown\n";
  lines += Label("", style) + fmt::format("operations {}", text(fidelity.work_error));
  if (fidelity.untraced_work_error) {
    lines += fmt::format(", {} without the {} that tracing took of them (estimated)",
                         text(fidelity.untraced_work_error), DurationText(report.work_tracing_ns));
  }
  lines += "\n";
  if (!report.stretches.empty()) {
    lines += Wrap(
        fmt::format("{}operations would last as long{} with --stretch {}", std::string(16, ' '),
                    report.work_tracing_ns > 0 ? ", without tracing," : "",
                    StretchText(report.stretches)),
        kConsoleWidth, 16);
  }
  return lines;
}

std::string StepText(const Report& report, const Style& style) {
  if (IsMonitored(report.manifest)) {
    return MonitoredHead(report, style);
  }
  const bool recorded = HasRecordedTimes(report);
  std::string text = "\n" + CoverageLine(report, style) + Label("Step time", style);
  text += fmt::format(
      "{}{} {}",
      recorded ? fmt::format("recorded {}, ", DurationText(report.step_time_recorded_ns)) : "",
      ReplayedName(report.verdict), DurationText(report.step_time_replayed_ns));
  if (IsReplay(report.manifest)) {
    text += fmt::format(" (median of {} iterations", report.iterations);
    if (report.step_time_replayed_min_ns) {
      text += fmt::format(", {} to {}", DurationText(report.step_time_replayed_min_ns),
                          DurationText(report.step_time_replayed_max_ns));
    }
    if (report.processor_use.disturbed > 0) {
      text += fmt::format("; {} disturbed by other programs", report.processor_use.disturbed);
    }
    text += ")";
  }
  if (IsRecorded(report.manifest)) {
    return text + "\n";
  }
  if (!recorded) {
    return text + fmt::format("; {}\n", kNoRecordedStep) + SourceLine(report, style);
  }
  return text + "\n" + SourceLine(report, style) + RatioLines(report, style);
}

void AddStepJson(const Report& report, Json& json) {
  REPRISE_ADD_FIELDS(json, report, coverage, coverage_basis, unknown_work)
  json["oversubscribed"] = report.manifest.oversubscribed;
  REPRISE_ADD_FIELDS(json, report, recorded_on, replayed_on, host_loads, recorded_steps_ns,
                     step_time_recorded_ns, step_time_untraced_ns, step_time_replayed_ns,
                     step_time_replayed_min_ns, step_time_replayed_max_ns, iterations,
                     iteration_step_ns, processor_use)
  json["covered_ns"] = report.recorded_ns;
  REPRISE_ADD_FIELDS(json, report, host_ns, wait_ns, delay_ns, work_tracing_ns)
  json["stretches"] = Json::object();
  for (const ClassFactor& row : report.stretches) {
    json["stretches"][row.name] = row.factor;
  }
  const RunSources sources = SourcesOf(report);
  json["time_from_ns"] = {{"operations", SourcesJson(sources.operations_ns)},
                          {"transfers", SourcesJson(sources.transfers_ns)}};
  json["recorded"] = HasRecordedTimes(report);
  json["total_ranks"] = RanksOf(report);
  json["fidelity"] = report.fidelity;
}

}  // namespace

Section StepSection() {
  return {.name = "step", .analyse = AnalyseStep, .console = StepText, .json = AddStepJson};
}

}  // namespace reprise
