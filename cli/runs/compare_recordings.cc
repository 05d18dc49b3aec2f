#include "cli/runs/compare_recordings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "cli/program/given_path.h"
#include "cli/runs/execution.h"
#include "core/shown_text.h"
#include "report/analysis.h"
#include "report/compare/rows.h"
#include "report/page/html.h"
#include "report/recordings/quantities.h"
#include "report/recordings/ranks.h"
#include "report/recordings/read.h"
#include "report/recordings/show.h"

namespace reprise {
namespace {

bool Allows(const CompareRequest& request, const char* key) {
  return std::ranges::find(request.allow, key) != request.allow.end();
}

struct RecordedSide {
  std::vector<RecordedJob> repeats;
  std::vector<Report> reports;  // of the repeats
  std::size_t middle = 0;       // the repeat whose step is the median
  [[nodiscard]] const RecordedJob& Middle() const { return repeats[middle]; }
};

double StepNs(const RecordedJob& job) {
  double longest = 0;
  for (const RankRecording& rank : job.ranks) {
    const double sum = std::accumulate(rank.step_ns.begin(), rank.step_ns.end(), 0.0);
    longest = std::max(longest, sum / std::max<double>(1, static_cast<double>(rank.steps)));
  }
  return longest;
}

// What the ranks and steps of a recording are, so that repeats are of the same.
std::vector<std::pair<std::int32_t, std::int32_t>> PartOf(const RecordedJob& job) {
  std::vector<std::pair<std::int32_t, std::int32_t>> part;
  for (const RankRecording& rank : job.ranks) {
    part.emplace_back(rank.rank, rank.steps);
  }
  return part;
}

Result<RecordedSide> ReadSide(const GivenSide& given) {
  const auto traces = std::ranges::count_if(given.paths, IsTrace);
  if (traces != 0 && std::cmp_not_equal(traces, given.paths.size())) {
    return UsageError(fmt::format(
        "compare: {}: repeats are runs or trace sets, not both; give each kind a side of its own",
        given.label));
  }
  RecordedSide side;
  std::vector<std::pair<double, std::size_t>> steps;
  for (const std::string& path : given.paths) {
    REPRISE_ASSIGN(const RunData run, ReadExecution(path));
    auto read = RecordingOf(run);
    if (!read) {
      return BadInput(fmt::format("{}: {}", path, read.error().message));
    }
    RecordedJob& recording = *read;
    if (recording.ranks.empty()) {
      return BadInput(path + ": has no rank");
    }
    recording.label = given.label;
    recording.path = path;
    side.reports.push_back(Analyze(run));
    recording.critical_path = CriticalPathOf(side.reports.back());
    steps.emplace_back(StepNs(recording), side.repeats.size());
    side.repeats.push_back(std::move(*read));
  }
  std::ranges::sort(steps);
  side.middle = steps[(steps.size() - 1) / 2].second;
  return side;
}

Status CheckParts(const std::vector<RecordedSide>& sides) {
  const RecordedJob& first = sides.front().repeats.front();
  for (const RecordedSide& side : sides) {
    for (const RecordedJob& job : side.repeats) {
      if (PartOf(job) != PartOf(first)) {
        return BadInput(
            fmt::format("{} and {} have other ranks or steps, so repeats do not show how one "
                        "recording differs from the next\nTo compare them all the same: --allow "
                        "part",
                        first.path, job.path));
      }
    }
  }
  return {};
}

Result<std::vector<RecordedSide>> ReadRecordedSides(const CompareRequest& request) {
  std::vector<RecordedSide> sides;
  bool repeated = false;
  for (const GivenSide& given : request.sides) {
    REPRISE_ASSIGN(sides.emplace_back(), ReadSide(given));
    repeated = repeated || sides.back().repeats.size() > 1;
  }
  if (repeated && !Allows(request, "part")) {
    REPRISE_TRY(CheckParts(sides));
  }
  return sides;
}

Status CheckOneJob(const RecordingDifference& of) {
  if (of.ranks.empty()) {
    return BadInput(fmt::format("{}: no rank is in both; they have ranks {} and {}", of.verdict,
                                of.only_a.size(), of.only_b.size()));
  }
  return of.share() < kOneJobShare
             ? BadInput(of.verdict + "\nTo compare them all the same: --allow trace")
             : Status();
}

// Aligns what is to be compared and finds the numbers of all sides.
class RecordingComparer {
 public:
  RecordingComparer(const CompareRequest& request, std::vector<RecordedSide> sides)
      : request_(request), sides_(std::move(sides)), any_job_(request.any_job) {}

  Result<ComparedRecordings> Compare() {
    Describe();
    std::vector<SideQuantities> quantities(sides_.size());
    REPRISE_TRY(AlignSides(quantities));
    out_.comparison = CompareRecordedSides(out_.sides, quantities);
    for (std::size_t s = 0; s < out_.differences.size(); ++s) {
      out_.comparison.verdicts.push_back(out_.differences[s].verdict);
      if (!any_job_) {
        const auto& notes = out_.differences[s].notes;
        out_.comparison.warnings.insert(out_.comparison.warnings.end(), notes.begin(), notes.end());
      }
    }
    for (RecordedSide& side : sides_) {
      out_.recordings.push_back(std::move(side.repeats[side.middle]));
    }
    AddRanks();
    return std::move(out_);
  }

 private:
  // Labels, and the reports of runs, which have energy, power and temperature.
  void Describe() {
    for (std::size_t s = 0; s < sides_.size(); ++s) {
      ComparedSide side{.label = request_.sides[s].label, .runs = {}};
      for (std::size_t k = 0; k < sides_[s].repeats.size(); ++k) {
        RecordedJob& job = sides_[s].repeats[k];
        if (job.run) {
          side.runs.push_back(AsShown(job.path, std::move(sides_[s].reports[k])));
          job.path = side.runs.back().path;
        } else {
          job.path = SetPathAsShown(job.path);
          side.captures.push_back(DescribeCapture(job));
        }
      }
      out_.sides.push_back(std::move(side));
    }
  }

  Status AlignSides(std::vector<SideQuantities>& quantities) {
    const RecordedJob& base = sides_.front().Middle();
    const bool base_follows = sides_.size() > 1 && !any_job_ && sides_.front().repeats.size() == 1;
    for (std::size_t s = base_follows ? 1 : 0; s < sides_.size(); ++s) {
      for (std::size_t k = 0; k < sides_[s].repeats.size(); ++k) {
        const RecordedJob& job = sides_[s].repeats[k];
        // What is drawn of any job is of that alone.
        const RecordedJob& other = any_job_ ? job : base;
        RecordingDifference difference = CompareRecordings(other, job);
        if (!any_job_ && !Allows(request_, "trace")) {
          REPRISE_TRY(CheckOneJob(difference));
        }
        quantities[s].repeats.push_back(QuantitiesOf(job, difference, false));
        if (base_follows) {
          quantities[s].base = {QuantitiesOf(base, difference, true)};
        }
        if (s > 0 && k == sides_[s].middle) {
          out_.differences.push_back(any_job_ ? CompareRecordings(base, job)
                                              : std::move(difference));
        }
      }
    }
    for (std::size_t s = 1; s < sides_.size(); ++s) {
      if (quantities[s].base.empty()) {
        quantities[s].base = quantities[0].repeats;
      }
    }
    if (base_follows) {
      quantities[0].repeats = quantities[1].base;  // over what is compared
    }
    return {};
  }

  // What was measured of each rank: times, and of runs power, temperature and the like.
  void AddRanks() {
    for (std::size_t s = 0; s < out_.recordings.size(); ++s) {
      const RecordedJob& job = out_.recordings[s];
      RankComparison ranks = CompareRanksOf(job);
      const HeatMap reported = out_.sides[s].runs.empty()
                                   ? HeatMap()
                                   : DescribeHeat(out_.sides[s].runs[sides_[s].middle].report);
      out_.comparison.heat.push_back(HeatOf(job, ranks, reported));
      for (const HeatMap::MetricName& metric : reported.metrics) {
        ranks.metrics.push_back({metric.name, metric.unit});
      }
      for (RankLoad& rank : ranks.ranks) {
        const auto found = std::ranges::find(reported.ranks, rank.rank, &HeatMap::Rank::rank);
        if (found != reported.ranks.end()) {
          rank.metrics = found->values;
        }
      }
      out_.ranks.push_back(std::move(ranks));
    }
  }

  const CompareRequest& request_;
  std::vector<RecordedSide> sides_;
  bool any_job_;
  ComparedRecordings out_;
};

std::string PageOf(const CompareRequest& request, const ComparedRecordings& compared) {
  return request.figures.empty()
             ? HtmlPage(RecordingsJson(compared, true), PageKind::kRecordings)
             : HtmlPage(ComparisonJson(compared.sides, compared.comparison, request.figures),
                        PageKind::kComparison);
}

std::string TextOf(const CompareRequest& request, const ComparedRecordings& compared,
                   bool verbose) {
  const bool alone = compared.recordings.size() == 1;
  const auto ranks = [&compared](const Style& style, bool full) {
    return RanksText(compared.recordings[0], compared.ranks[0], style, full);
  };
  if (request.json) {
    return RecordingsJson(compared, false);
  }
  if (request.markdown) {
    return alone ? "## Ranks\n\n" + ranks(MarkdownStyle(), true) : RecordingsMarkdown(compared);
  }
  const bool colour = isatty(STDOUT_FILENO) == 1;
  return request.quiet ? ""
                       : ShownStyledLines(alone ? ranks(MakeStyle(colour), verbose)
                                                : RecordingsText(compared, colour, verbose));
}

}  // namespace

bool HasTraceSet(const std::vector<GivenSide>& sides) {
  return std::ranges::any_of(
      sides, [](const GivenSide& side) { return std::ranges::any_of(side.paths, IsTrace); });
}

bool IsOneRun(const std::vector<GivenSide>& sides) {
  return sides.size() == 1 && sides[0].paths.size() == 1 &&
         FindPathKind(sides[0].paths[0]) == PathKind::kRun;
}

Result<ShownComparison> ShowRecordings(const CompareRequest& request, bool verbose) {
  REPRISE_ASSIGN(std::vector<RecordedSide> sides, ReadRecordedSides(request));
  REPRISE_ASSIGN(const ComparedRecordings compared,
                 RecordingComparer(request, std::move(sides)).Compare());
  ShownComparison shown;
  REPRISE_ASSIGN(shown.violations,
                 FindViolations(request.conditions, compared.sides, compared.comparison));
  shown.page = request.output.empty() ? "" : PageOf(request, compared);
  shown.text = TextOf(request, compared, verbose);
  return shown;
}

}  // namespace reprise
