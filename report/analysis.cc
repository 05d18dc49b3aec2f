#include "report/analysis.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <variant>

#include "core/median.h"
#include "core/parallel.h"
#include "report/analyzed_ranks.h"
#include "report/classes/coverage.h"
#include "report/energy/sampled.h"
#include "report/fidelity/other_programs.h"
#include "report/in_order.h"
#include "report/nodes/step_times.h"
#include "report/part_sums.h"
#include "report/run/memory_need.h"
#include "report/run/run_reader.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/verdict.h"
#include "report/text/verdict_warnings.h"
#include "report/values/energy_values.h"

namespace reprise {
namespace {

void FillStepTimes(std::span<const MeasuredRank> ranks, Report& report) {
  std::vector<std::int64_t> times_ns = StepTimesNs(ranks);
  report.iterations = static_cast<std::int32_t>(times_ns.size());
  report.iteration_step_ns = times_ns;
  report.step_time_replayed_ns = Median(times_ns);
  if (!times_ns.empty()) {
    const auto [shortest, longest] = std::ranges::minmax_element(times_ns);
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

// Counters by their names in the run's files: "diagnostic.x", "trace.x", "sampler.x".
void AddCounters(const RankData& rank, std::map<std::string, std::int64_t>& sums) {
  for (const RankFactRow& row : kRankFacts) {
    if (const auto* const member = std::get_if<Named<std::uint64_t> RankFacts::*>(&row.member)) {
      for (const auto& [name, count] : rank.facts.*(*member)) {
        sums[std::string(row.name) + name] += static_cast<std::int64_t>(count) * RanksAlike(rank);
      }
    }
  }
}

void CollectFacts(const RunData& run, Report& report) {
  std::set<std::string> notes, missing, unknown;
  for (const RankData& rank : run.ranks) {
    for (const auto& [source, why] : rank.facts.missing_telemetry) {
      missing.insert(source);
      notes.insert(fmt::format("no telemetry from {}: {}", source, why));
    }
    if (rank.facts.exit_code.value_or(0) != 0) {
      report.failed_commands.push_back(fmt::format("rank {}: the command ended with exit code {}",
                                                   rank.rank, *rank.facts.exit_code));
    }
    for (const auto& [name, value] : rank.facts.others) {
      unknown.insert(name);
    }
    AddCounters(rank, report.diagnostics);
  }
  report.notes.insert(report.notes.end(), notes.begin(), notes.end());
  report.missing_sources.assign(missing.begin(), missing.end());
  if (!unknown.empty()) {
    report.notes.push_back(fmt::format("facts that this version does not know: {}",
                                       Fit(fmt::format("{}", fmt::join(unknown, ", ")), 200)));
  }
  if (std::ranges::any_of(run.ranks, IsModelled)) {
    report.notes.emplace_back("simulated: every time is modelled, nothing was executed");
    if (HasClasses(report)) {
      report.notes.push_back(
          fmt::format("equal ranks are simulated once: {} ranks in {} classes; sums and counts are "
                      "of all ranks",
                      RanksOf(report), report.ranks.size()));
    }
  }
}

// "conv by 1.3, norm by 1.5": as the manifest has it; empty for a run that was not stretched.
std::string StretchedText(const RunManifest& manifest) {
  constexpr std::string_view kOption = "stretch";
  std::string text;
  for (const auto& [option, factor] : manifest.options) {
    if (option.starts_with(kOption)) {
      text += fmt::format(
          "{}{} by {}", text.empty() ? "" : ", ",
          option == kOption ? "operations" : std::string_view(option).substr(kOption.size() + 1),
          factor);
    }
  }
  return text;
}

void AddNotes(std::int64_t never_ran, Report& report) {
  if (const std::string stretched = StretchedText(report.manifest); !stretched.empty()) {
    report.notes.push_back(
        fmt::format("stretched: {}; what that adds to their times is modelled", stretched));
  }
  if (report.attribution) {
    report.notes.insert(report.notes.end(), report.attribution->notes.begin(),
                        report.attribution->notes.end());
  }
  if (never_ran > 0) {
    report.notes.push_back(fmt::format(
        "{} nodes that were planned to run have no record; they count as skipped", never_ran));
  }
  const auto unrelated = std::ranges::count_if(report.collectives, [](const CollectiveRow& row) {
    return row.clock == TransferClock::kShortest;
  });
  if (unrelated > 0) {
    report.notes.push_back(fmt::format(
        "{} rows of transfers are timed by their shortest member: not all members' clocks are "
        "related",
        unrelated));
  }
}

// Who the ranks are and what their samples say.
void DescribeOutline(const MeasuredRun& outline, Report& report) {
  report.manifest = outline.data->manifest;
  report.notes = outline.data->notes;
  for (const MeasuredRank& rank : outline.ranks) {
    report.ranks.push_back(IdentifyRank(rank, report.manifest));
  }
  FillStepTimes(outline.ranks, report);
  report.processor_use = ProcessorUseOf(*outline.data, report.manifest.warmup, report.iterations);
  SampledSummary sampled = SummarizeSamples(outline.ranks, report.ranks);
  report.measured_ns = sampled.measured_ns;
  report.energy = std::move(sampled.energy);
  report.metrics = std::move(sampled.metrics);
  EnergyTotal total = TotalOf(report.energy);
  report.energy_joules = total.joules;
  report.mean_watts = total.watts;
  report.energy_source = std::move(total.source);
}

std::optional<double> RelativeError(std::optional<std::int64_t> replayed_ns,
                                    std::optional<std::int64_t> recorded_ns) {
  if (!replayed_ns || !recorded_ns || *recorded_ns <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(*replayed_ns) / static_cast<double>(*recorded_ns) - 1.0;
}

void Conclude(const MeasuredRun& outline, const PartSums& sums, Report& report) {
  report.collectives = outline.transfers.times->Rows();
  // Known without meters too, but then not per joule.
  report.tokens = report.attribution ? report.attribution->tokens : InferTokens(outline.ranks);
  report.samples = report.attribution ? report.attribution->samples : InferSamples(outline.ranks);
  CollectFacts(*outline.data, report);
  AddNotes(sums.never_ran(), report);
  if (IsRecorded(report.manifest)) {  // nothing to compare with
    report.details.difference.reset();
    report.details.nodes.reset();
    report.details.top_differences.clear();
    return;
  }
  const WorkTimes::Sum& work = sums.work().all();
  report.fidelity.work_error = RelativeError(work.replayed_ns, work.recorded_ns);
  report.work_tracing_ns = work.tracing_ns;
  if (work.tracing_ns > 0) {
    report.fidelity.untraced_work_error =
        RelativeError(work.replayed_ns, work.recorded_ns - work.tracing_ns);
  }
  if (StretchedText(report.manifest).empty()) {
    report.stretches = sums.work().Stretches();
  }
  report.fidelity.step_error =
      RelativeError(report.step_time_replayed_ns, report.step_time_recorded_ns);
  report.fidelity.untraced_error =
      RelativeError(report.step_time_replayed_ns, report.step_time_untraced_ns);
}

// `add_parts` hands all ranks to the sums.
template <typename AddParts>
Result<Analysis> AnalyzeParts(const MeasuredRun& outline, const AnalysisOptions& options,
                              const AddParts& add_parts) {
  Analysis analysis;
  DescribeOutline(outline, analysis.report);
  PartSums sums(outline, options.page ? std::optional(options.limits) : std::nullopt,
                analysis.report);
  REPRISE_TRY(add_parts(sums));
  analysis.page = sums.Finish();
  Conclude(outline, sums, analysis.report);
  for (const Section& section : Sections()) {
    if (section.analyse != nullptr) {
      section.analyse(*outline.data, analysis.report);
    }
  }
  analysis.report.verdict = FindVerdict(analysis.report, options.same_machine);
  return analysis;
}

// Positions: those of one host together, hosts in the order of their first.
std::vector<std::size_t> RanksByHost(const MeasuredRun& outline) {
  std::map<std::string, std::vector<std::size_t>> by_host;
  std::vector<std::vector<std::size_t>*> hosts;
  for (std::size_t r = 0; r < outline.ranks.size(); ++r) {
    std::vector<std::size_t>& ranks =
        by_host[IdentifyRank(outline.ranks[r], outline.data->manifest).host];
    if (ranks.empty()) {
      hosts.push_back(&ranks);
    }
    ranks.push_back(r);
  }
  std::vector<std::size_t> in_order;
  for (const std::vector<std::size_t>* const ranks : hosts) {
    in_order.insert(in_order.end(), ranks->begin(), ranks->end());
  }
  return in_order;
}

// A rank's transfers in memory.
struct RankTransfers {
  explicit RankTransfers(RunData&& read) : data(std::move(read)), measured(data.ranks.front()) {}
  RunData data;
  MeasuredRank measured;
};

// When the members of all transfers had arrived. Of `most` ranks at a time.
Status AddTransfers(const RunReader& reader, const MeasuredRun& outline, std::size_t most) {
  std::size_t position = 0;
  REPRISE_TRY(ForEachInOrder(
      outline.ranks.size(), most,
      [&](std::size_t r) {
        const std::array ranks = {outline.data->ranks[r].rank};
        return reader.Read(ranks, RankContent::kTransfers).map([](RunData&& data) {
          return std::make_unique<RankTransfers>(std::move(data));
        });
      },
      [&](const std::unique_ptr<RankTransfers>& rank) {
        outline.transfers.times->Add(rank->measured, position++);
      }));
  outline.transfers.times->Close();
  return {};
}

Result<Analysis> AnalyzeByRank(RunReader& reader, RankSizes& sizes, const AnalysisOptions& options,
                               std::int64_t memory_bytes) {
  REPRISE_ASSIGN(const RunData outline_data, reader.ReadAll(RankContent::kOutline));
  const MeasuredRun outline = MeasuredRun::OfOutline(outline_data);
  std::vector<std::int32_t> numbers;
  for (const RankData& rank : outline_data.ranks) {
    REPRISE_TRY(CheckMemory(sizes, std::array{rank.rank}, memory_bytes));
    numbers.push_back(rank.rank);
  }
  const std::vector<std::size_t> ranks = RanksByHost(outline);
  const std::size_t most = RanksAtATime(sizes, numbers, memory_bytes);
  REPRISE_TRY(AddTransfers(reader, outline, most));
  return AnalyzeParts(outline, options, [&](PartSums& sums) {
    AnalyzedRanks analyzed(reader, outline, sums);
    Status added = ForEachInOrder(
        ranks.size(), most, [&](std::size_t i) { return analyzed.Take(ranks[i]); },
        [&sums](const std::unique_ptr<AnalyzedRank>& part) {
          sums.Add(part->measured, std::move(part->found));
        });
    analyzed.WarnOfUnusable();
    return added;
  });
}

Result<Analysis> AnalyzeAnew(RankSizes& sizes, const AnalysisOptions& options,
                             std::int64_t memory_bytes) {
  REPRISE_ASSIGN(RunReader reader, RunReader::Open(sizes.directory()));
  if (!FitsInMemory(sizes.BytesOf(reader.AllRanks()), memory_bytes)) {
    return AnalyzeByRank(reader, sizes, options, memory_bytes);
  }
  REPRISE_ASSIGN(const RunData run, reader.ReadAll());
  return AnalyzeRun(MeasuredRun(run), options);
}

std::int64_t MemoryFor(const AnalysisOptions& options) {
  return options.memory_bytes > 0 ? options.memory_bytes : MachineMemoryBytes();
}

StoredAnalysis StoredOf(RankSizes& sizes, const AnalysisOptions& options) {
  return {sizes,
          {.least_bytes = options.stored_from_bytes,
           .memory_bytes = MemoryFor(options),
           .limits = options.limits}};
}

}  // namespace

Report Analyze(const RunData& run) { return AnalyzeRun(MeasuredRun(run), {}).report; }

Analysis AnalyzeRun(const MeasuredRun& run, const AnalysisOptions& options) {
  return *AnalyzeParts(run, options, [&run](PartSums& sums) -> Status {
    sums.Add(run, sums.Find(run));
    return {};
  });
}

Result<Analysis> AnalyzeRun(const std::string& directory, const AnalysisOptions& options) {
  RankSizes sizes(directory);
  const StoredAnalysis stored = StoredOf(sizes, options);
  if (auto found = stored.Read(); found && (found->page || !options.page)) {
    found->report.verdict = FindVerdict(found->report, options.same_machine);
    return std::move(*found);
  }
  REPRISE_ASSIGN(Analysis analysis, AnalyzeAnew(sizes, options, MemoryFor(options)));
  stored.Write(analysis);
  return analysis;
}

bool IsReadByRank(const std::string& directory, const AnalysisOptions& options) {
  RankSizes sizes(directory);
  if (const auto found = StoredOf(sizes, options).Read(); found && (found->page || !options.page)) {
    return false;
  }
  const Result<RunReader> reader = RunReader::Open(directory);
  return reader && !FitsInMemory(sizes.BytesOf(reader->AllRanks()), MemoryFor(options));
}

}  // namespace reprise
