#include "cli/compare_recordings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "cli/given_path.h"
#include "cli/output_file.h"
#include "core/shown_text.h"
#include "recordings/ranks.h"
#include "recordings/read.h"
#include "recordings/show.h"
#include "report/analysis.h"
#include "report/compare/compare.h"
#include "report/compare/rows.h"
#include "report/html.h"

namespace reprise {
namespace {

struct GivenRecording {
  std::string label, path;
};

GivenRecording ParseGivenRecording(const std::string& text) {
  std::error_code error;
  const std::size_t equals = text.find('=');
  if (std::filesystem::exists(text, error) || equals == std::string::npos) {
    return {.label = {}, .path = text};
  }
  return {.label = text.substr(0, equals), .path = text.substr(equals + 1)};
}

bool IsTrace(const std::string& path) {
  const PathKind kind = FindPathKind(path);
  return kind == PathKind::kTraceSet || kind == PathKind::kTraceFile;
}

std::string NameOfPath(const std::string& path) {
  std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  return normal.filename().empty() ? normal.parent_path().filename().string()
                                   : normal.filename().string();
}

void NameRecordings(std::vector<GivenRecording>& given) {
  std::vector<std::string> names;
  for (GivenRecording& of : given) {
    if (of.label.empty()) {
      of.label = NameOfPath(of.path);
    }
    const auto same = std::count(names.begin(), names.end(), of.label);
    names.push_back(of.label);
    of.label += same > 0 ? fmt::format(" ({})", same + 1) : "";
  }
}

Result<RecordedJob> ReadGiven(const GivenRecording& of) {
  auto recording = IsTrace(of.path) ? ReadTraceRecording(of.path) : ReadRunRecording(of.path);
  if (recording) {
    recording->label = of.label;
    if (recording->ranks.empty()) {
      return BadInput(of.path + ": has no rank");
    }
  }
  return recording;
}

Status CheckOneJob(const ComparedRecordings& compared, const std::vector<std::string>& allow) {
  if (std::find(allow.begin(), allow.end(), "trace") != allow.end()) {
    return {};
  }
  for (const RecordingDifference& of : compared.differences) {
    if (of.ranks.empty()) {
      return BadInput(fmt::format("{}: no rank is in both; they have ranks {} and {}", of.verdict,
                                  of.only_a.size(), of.only_b.size()));
    }
    if (of.share() < kOneJobShare) {
      return BadInput(of.verdict + "\nTo compare them all the same: --allow trace");
    }
  }
  return {};
}

// What was measured of each rank of a run: power, temperature and the like.
Status AddMetrics(const RecordedJob& job, RankComparison& ranks) {
  if (!job.run) {
    return {};
  }
  REPRISE_ASSIGN(const Analysis analysis, AnalyzeRun(job.path));
  const HeatMap heat = DescribeHeat(analysis.report);
  for (const HeatMap::MetricName& metric : heat.metrics) {
    ranks.metrics.push_back({metric.name, metric.unit});
  }
  for (RankLoad& rank : ranks.ranks) {
    const auto found =
        std::find_if(heat.ranks.begin(), heat.ranks.end(),
                     [&rank](const HeatMap::Rank& of) { return of.rank == rank.rank; });
    if (found != heat.ranks.end()) {
      rank.metrics = found->values;
    }
  }
  return {};
}

}  // namespace

bool HasTraceSet(const std::vector<std::string>& sides) {
  return std::any_of(sides.begin(), sides.end(), [](const std::string& text) {
    return IsTrace(ParseGivenRecording(text).path);
  });
}

bool IsOneRun(const std::string& side) {
  return FindPathKind(ParseGivenRecording(side).path) == PathKind::kRun;
}

Result<int> CompareRecordingsCommand(const CompareRecordingsRequest& request, bool verbose) {
  std::vector<GivenRecording> given;
  for (const std::string& text : request.sides) {
    given.push_back(ParseGivenRecording(text));
  }
  NameRecordings(given);
  if (given.size() == 1 && !request.output.empty()) {
    return UsageError(
        "compare: -o draws two recordings or more; of one, the text and --json show "
        "how its ranks differ");
  }
  std::optional<OutputFile> page;
  if (!request.output.empty()) {
    REPRISE_ASSIGN(page, OutputFile::Create(request.output, request.force));
  }
  ComparedRecordings compared;
  for (const GivenRecording& of : given) {
    REPRISE_ASSIGN(RecordedJob recording, ReadGiven(of));
    compared.recordings.push_back(std::move(recording));
  }
  if (compared.recordings.size() == 1) {
    const RecordedJob& job = compared.recordings.front();
    RankComparison ranks = CompareRanksOf(job);
    REPRISE_TRY(AddMetrics(job, ranks));
    fmt::print("{}", request.json ? RanksJson(job, ranks)
                                  : ShownStyledLines(RanksText(
                                        job, ranks, isatty(STDOUT_FILENO) == 1, verbose)));
    return 0;
  }
  for (std::size_t s = 1; s < compared.recordings.size(); ++s) {
    compared.differences.push_back(
        CompareRecordings(compared.recordings[0], compared.recordings[s]));
  }
  REPRISE_TRY(CheckOneJob(compared, request.allow));
  if (page) {
    page->stream() << HtmlPage(RecordingsJson(compared, true), PageKind::kRecordings);
    REPRISE_TRY(page->Commit());
  }
  if (request.json) {
    fmt::print("{}", RecordingsJson(compared, false));
  } else if (!request.quiet) {
    fmt::print("{}",
               ShownStyledLines(RecordingsText(compared, isatty(STDOUT_FILENO) == 1, verbose)));
  }
  return 0;
}

}  // namespace reprise
