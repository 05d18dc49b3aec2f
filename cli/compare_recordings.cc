#include "cli/compare_recordings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "cli/given_path.h"
#include "cli/output_file.h"
#include "core/shown_text.h"
#include "recordings/read.h"
#include "recordings/show.h"
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

}  // namespace

bool HasTraceSet(const std::vector<std::string>& sides) {
  return std::any_of(sides.begin(), sides.end(), [](const std::string& text) {
    return IsTrace(ParseGivenRecording(text).path);
  });
}

Result<int> CompareRecordingsCommand(const CompareRecordingsRequest& request, bool verbose) {
  std::vector<GivenRecording> given;
  for (const std::string& text : request.sides) {
    given.push_back(ParseGivenRecording(text));
  }
  NameRecordings(given);
  std::optional<OutputFile> page;
  if (!request.output.empty()) {
    REPRISE_ASSIGN(page, OutputFile::Create(request.output, request.force));
  }
  ComparedRecordings compared;
  for (const GivenRecording& of : given) {
    REPRISE_ASSIGN(RecordedJob recording, ReadGiven(of));
    compared.recordings.push_back(std::move(recording));
  }
  for (std::size_t s = 1; s < compared.recordings.size(); ++s) {
    compared.differences.push_back(
        CompareRecordings(compared.recordings[0], compared.recordings[s]));
  }
  REPRISE_TRY(CheckOneJob(compared, request.allow));
  if (request.json) {
    fmt::print("{}", RecordingsJson(compared, false));
  } else if (!request.quiet) {
    fmt::print("{}",
               ShownStyledLines(RecordingsText(compared, isatty(STDOUT_FILENO) == 1, verbose)));
  }
  return 0;
}

}  // namespace reprise
