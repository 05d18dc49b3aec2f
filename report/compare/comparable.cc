#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "core/counted.h"
#include "core/text_in.h"
#include "report/compare/compare.h"
#include "report/compare/rows.h"
#include "report/text/verdict_warnings.h"

namespace reprise {
namespace {

// Real coverage that differs by no more is the same work.
constexpr double kCoverageTolerance = 0.01;

// Whether an option decides which part of the trace was replayed, and how fast.
bool ChoosesPart(const std::string& option) {
  static constexpr std::array kOptions = {"one_trace", "ranks", "group_sizes",
                                          "steps",     "range", "streams"};
  return option.starts_with("time_scale") || option.starts_with("stretch") ||
         std::ranges::find(kOptions, option) != kOptions.end();
}

// Whether it decides what runs as the real operation, and what as its recorded time.
bool ChoosesMode(const std::string& option) {
  return option == "mode" || option == "ops" || option == "comms" || option.starts_with("ops.") ||
         option.starts_with("comms.") || option == "host_gap_factor";
}

std::string OptionOf(const RunManifest& manifest, const std::string& name) {
  return TextIn(manifest.options, name, "not given");
}

// Of a factor on times, which simulations name and replays leave out where it is 1.
std::string FactorOf(const RunManifest& manifest, const std::string& name) {
  std::string value = OptionOf(manifest, name);
  return value == "1" ? "not given" : value;
}

bool IsPrediction(const RunManifest& manifest) { return !SimulatedMachine(manifest).empty(); }

// What a comparison reads of a recording: operations by class, transfers and steps. A set that
// was anonymized has other bytes and names than its original, and the same of these.
struct RecordedWork {
  // By class, and by collective, members and bytes: how many, and their recorded time.
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> parts;
  std::vector<std::int64_t> rank_steps_ns;
};

RecordedWork WorkOf(const Report& report) {
  RecordedWork work;
  for (const ClassRow& row : report.classes) {
    work.parts[row.name] = {row.count, row.recorded_ns};
  }
  for (const CollectiveRow& row : report.collectives) {
    auto& [count, recorded_ns] =
        work.parts[fmt::format("{} of {} bytes on {} ranks", row.name, row.bytes, row.group_size)];
    count += row.count;
    recorded_ns += row.recorded_ns.value_or(0);
  }
  for (const RankRow& rank : report.ranks) {
    work.rank_steps_ns.push_back(rank.step_time_recorded_ns.value_or(0));
  }
  return work;
}

// The part whose counts differ most: the work itself is another.
std::optional<std::string> FindOtherCount(const RecordedWork& a, const RecordedWork& b) {
  const auto count_in = [](const RecordedWork& work, const std::string& name) {
    const auto found = work.parts.find(name);
    return found == work.parts.end() ? 0 : found->second.first;
  };
  std::int64_t most = 0;
  std::string text;
  for (const RecordedWork* work : {&a, &b}) {
    for (const auto& [name, unused] : work->parts) {
      const std::int64_t of_a = count_in(a, name);
      const std::int64_t of_b = count_in(b, name);
      if (std::abs(of_a - of_b) > most) {
        most = std::abs(of_a - of_b);
        text = fmt::format("{} {} times and {} times", name, of_a, of_b);
      }
    }
  }
  return most > 0 ? std::optional(text) : std::nullopt;
}

// Of the same counts.
std::optional<std::string> FindOtherTime(const RecordedWork& a, const RecordedWork& b) {
  for (const auto& [name, of_a] : a.parts) {
    const auto& of_b = b.parts.at(name);
    if (of_a.second != of_b.second) {
      return fmt::format(
          "as many operations, recorded at other times ({} {:.4g} and {:.4g} ms): two captures of "
          "one job",
          name, static_cast<double>(of_a.second) / 1e6, static_cast<double>(of_b.second) / 1e6);
    }
  }
  return std::nullopt;
}

// The first difference in words; nothing where the runs replayed the same recorded work. Without
// recorded times there is too little to show that two are the same.
std::optional<std::string> FindWorkDifference(const Report& a, const Report& b) {
  const RecordedWork of_a = WorkOf(a);
  const RecordedWork of_b = WorkOf(b);
  if (auto count = FindOtherCount(of_a, of_b)) {
    return count;
  }
  if (auto time = FindOtherTime(of_a, of_b)) {
    return time;
  }
  if (of_a.rank_steps_ns != of_b.rank_steps_ns) {
    return "their recorded steps differ";
  }
  const bool timed =
      std::ranges::any_of(of_a.rank_steps_ns, [](std::int64_t step_ns) { return step_ns > 0; });
  return timed ? std::nullopt : std::optional<std::string>("they have no recorded steps");
}

// "4 ranks, 2 steps".
std::string PartText(const RunPart& part) {
  std::int32_t steps = 0;
  for (const auto& [rank, of_rank] : part) {
    steps = std::max(steps, of_rank);
  }
  return fmt::format("{}, {}", Counted(part.size(), "rank"), Counted(steps, "step"));
}

class SettingsExamination {
 public:
  SettingsExamination(const ComparedRun& base, const std::string& label)
      : base_(base), label_(label) {}

  // `work`: how its trace is called, once for all runs of a side that replayed one.
  void Examine(const ComparedRun& run, const std::string& label, const std::string& work) {
    const RunManifest& a = base_.report.manifest;
    const RunManifest& b = run.report.manifest;
    if (run.report.iteration_step_ns.empty() && !run.report.energy_joules) {
      Add("iterations", fmt::format("{} ({}) finished no iteration on every rank and measured no "
                                    "energy: nothing to compare",
                                    label, run.path));
    }
    if (IsMonitored(run.report.manifest) != IsMonitored(base_.report.manifest)) {
      Add("mode", fmt::format("one of {} and {} watched a program (reprise monitor), the other "
                              "replayed a trace",
                              label_, label));
      return;
    }
    if (a.trace_hash != b.trace_hash) {
      ExamineWork(run, work);
    }
    if (IsMonitored(run.report.manifest) && OptionOf(a, "monitored") != OptionOf(b, "monitored")) {
      Add("trace", fmt::format("{} and {} watched different programs: '{}' and '{}'", label_, label,
                               OptionOf(a, "monitored"), OptionOf(b, "monitored")));
    }
    if (const std::int64_t ranks = JobRanks(run.report); ranks != JobRanks(base_.report)) {
      Add("part",
          fmt::format("{} ran {} ranks, {} {}", label_, JobRanks(base_.report), label, ranks));
    }
    const bool predicted = IsPrediction(a) != IsPrediction(b);
    ExamineOptions(a, b, predicted, label);
    if (predicted) {
      AddPrediction(a, b, label);
      return;
    }
    const double real = base_.report.coverage.real - run.report.coverage.real;
    if (std::abs(real) > kCoverageTolerance) {
      Add("coverage", fmt::format("{:.1f} % of {}'s step is real operations and transfers, {:.1f}"
                                  " % of {}'s",
                                  100 * base_.report.coverage.real, label_,
                                  100 * run.report.coverage.real, label));
    }
  }

  std::vector<Incomparable> Take() { return std::move(found_); }

 private:
  // Other files may hold the same work: an anonymized set and its original.
  void ExamineWork(const ComparedRun& run, const std::string& label) {
    if (const auto difference = FindWorkDifference(base_.report, run.report)) {
      Add("trace", fmt::format("{} replayed the trace '{}', {} '{}', which are not the same: {}",
                               label_, base_.report.manifest.trace_name, label,
                               run.report.manifest.trace_name, *difference));
    }
  }

  // A prediction beside a replay: what ran and what is modelled differs by nature, and is said.
  void AddPrediction(const RunManifest& a, const RunManifest& b, const std::string& label) {
    const bool first = IsPrediction(a);
    Add("mode",
        fmt::format(
            "{} is modelled (simulated on {}), {} was replayed (operations {}, transfers {})",
            first ? label_ : label, SimulatedMachine(first ? a : b), first ? label : label_,
            OptionOf(first ? b : a, "ops"), OptionOf(first ? b : a, "comms")),
        true);
  }

  // `predicted`: only what chooses the part of the set counts.
  void ExamineOptions(const RunManifest& a, const RunManifest& b, bool predicted,
                      const std::string& label) {
    std::map<std::string, int> names;
    for (const RunManifest* manifest : {&a, &b}) {
      for (const auto& [name, value] : manifest->options) {
        names[name];
      }
    }
    for (const auto& [name, unused] : names) {
      const char* key = ChoosesMode(name) ? "mode" : ChoosesPart(name) ? "part" : nullptr;
      if (predicted && (ChoosesMode(name) || FactorOf(a, name) == FactorOf(b, name))) {
        continue;
      }
      if (key != nullptr && OptionOf(a, name) != OptionOf(b, name)) {
        Add(key, fmt::format("option {} of {} is {}, of {} {}", name, label_, OptionOf(a, name),
                             label, OptionOf(b, name)));
      }
    }
  }

  void Add(const char* key, std::string why, bool expected = false) {
    const bool known =
        std::ranges::any_of(found_, [&why](const Incomparable& of) { return of.why == why; });
    if (!known) {
      found_.push_back({key, std::move(why), expected});
    }
  }

  const ComparedRun& base_;
  const std::string& label_;
  std::vector<Incomparable> found_;
};

// Whose operations do not align is another job.
void ExamineAlignment(const ComparedRun& run, std::vector<Incomparable>& found) {
  if (!run.difference->IsOneJob()) {
    found.push_back({"trace", run.difference->verdict});
  }
}

// Repeats of other ranks or steps do not show how one execution differs from the next.
void ExamineRepeats(const ComparedSide& side, std::vector<Incomparable>& found) {
  for (const ComparedRun& run : side.runs) {
    if (run.part != side.runs.front().part) {
      found.push_back(
          {"part", fmt::format("{}: {} has {}, {} has {}", side.label, side.runs.front().path,
                               PartText(side.runs.front().part), run.path, PartText(run.part))});
    }
  }
}

std::vector<Incomparable> FindUnaligned(const std::vector<ComparedSide>& sides) {
  std::vector<Incomparable> found;
  for (const ComparedSide& side : sides) {
    ExamineRepeats(side, found);
    for (const ComparedRun& run : side.runs) {
      ExamineAlignment(run, found);
    }
  }
  return found;
}

}  // namespace

std::vector<std::string> DescribeParts(const std::vector<ComparedSide>& sides) {
  std::vector<RunPart> parts;
  for (const ComparedSide& side : sides) {
    for (const ComparedRun& run : side.runs) {
      parts.push_back(run.part);
    }
  }
  const std::vector<RunPart> compared = CommonParts(parts);
  std::vector<std::string> texts;
  std::size_t at = 0;
  for (const ComparedSide& side : sides) {
    if (parts[at] != compared[at]) {
      texts.push_back(fmt::format("{} has {}; what all sides have is compared: {}", side.label,
                                  PartText(parts[at]), PartText(compared[at])));
    }
    at += side.runs.size();
  }
  return texts;
}

std::vector<Incomparable> FindIncomparable(const std::vector<ComparedSide>& sides) {
  if (AreAligned(sides)) {
    return FindUnaligned(sides);
  }
  SettingsExamination examination(sides.front().runs.front(), sides.front().label);
  for (const ComparedSide& side : sides) {
    const bool one_trace = std::ranges::all_of(side.runs, [&side](const ComparedRun& run) {
      return run.report.manifest.trace_hash == side.runs.front().report.manifest.trace_hash;
    });
    for (const ComparedRun& run : side.runs) {
      const std::string label = side.runs.size() == 1 ? side.label : side.label + ", " + run.path;
      examination.Examine(run, label, one_trace ? side.label : label);
    }
  }
  return examination.Take();
}

}  // namespace reprise
