#include "cli/runs/compared_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "cli/program/given_path.h"
#include "cli/runs/execution.h"
#include "cli/runs/repeated_runs.h"
#include "report/analysis.h"
#include "report/operations/operations_of.h"
#include "report/run/run_part.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Runs or trace sets in a directory of such, else the path itself.
std::vector<std::string> RepeatsAt(const std::string& path) {
  std::vector<std::string> repeats = RunsAt(path);
  if (repeats != std::vector<std::string>{path} || FindPathKind(path) != PathKind::kOther) {
    return repeats;
  }
  std::vector<std::string> sets = DirectoriesOfKind(path, PathKind::kTraceSet);
  return sets.empty() ? repeats : sets;
}

// The last `names` names of a path.
std::string EndOf(const std::string& path, int names) {
  fs::path normal = fs::path(path).lexically_normal();
  if (normal.filename().empty()) {
    normal = normal.parent_path();
  }
  fs::path end = normal.filename();
  for (int k = 1; k < names && normal.has_parent_path() && normal != normal.parent_path(); ++k) {
    normal = normal.parent_path();
    end = normal.filename() / end;
  }
  return end.string();
}

// Gives labels to sides without one. `given`: of each side the path, or the first of them.
void NameSides(const std::vector<std::string>& given, std::vector<GivenSide>& sides) {
  constexpr int kMaxNames = 8;
  for (int names = 1; names <= kMaxNames; ++names) {
    std::vector<std::string> labels;
    for (std::size_t s = 0; s < sides.size(); ++s) {
      labels.push_back(sides[s].label.empty() ? EndOf(given[s], names) : sides[s].label);
    }
    const bool distinct = std::set(labels.begin(), labels.end()).size() == labels.size();
    if (distinct || names == kMaxNames) {
      for (std::size_t s = 0; s < sides.size(); ++s) {
        sides[s].label = std::move(labels[s]);
      }
      return;
    }
  }
}

// The path that outputs show: of a run without provenance the last name.
std::string PathAsShown(const std::string& path, const RunManifest& manifest) {
  return manifest.provenance == Name(Provenance::kFull) ? path : EndOf(path, 1);
}

// `part`: what is kept; null: all.
Result<ComparedRun> ReadCompared(const std::string& path, const std::string& label, ReadOf what,
                                 const RunPart* part) {
  if (what == ReadOf::kReports && !IsTrace(path)) {
    REPRISE_ASSIGN(Analysis analysis, AnalyzeRun(path));
    return ComparedRun{PathAsShown(path, analysis.report.manifest), std::move(analysis.report)};
  }
  REPRISE_ASSIGN(RunData data, ReadExecution(path));
  ComparedRun run{.path = PathAsShown(path, data.manifest), .report = {}};
  if (what == ReadOf::kCommon) {
    run.part = PartOf(data);
  }
  if (part != nullptr) {
    KeepPart(*part, data);
  }
  if (what != ReadOf::kReports) {
    auto operations = OperationsOf(data);
    if (!operations) {
      return BadInput(fmt::format("{}: {}", path, operations.error().message));
    }
    if (operations->ranks.empty()) {
      return BadInput(path + ": has no rank");
    }
    run.operations = std::move(*operations);
    run.operations->label = label;
  }
  run.report = Analyze(data);
  return run;
}

// Reads those again that have more than what is compared.
Status ReadInPart(const std::vector<GivenSide>& given, const std::vector<RunPart>& parts,
                  std::vector<ComparedSide>& sides) {
  if (parts.front().empty()) {
    return BadInput("compare: no rank is in all sides, so there is nothing to compare");
  }
  std::size_t at = 0;
  for (std::size_t s = 0; s < sides.size(); ++s) {
    for (std::size_t k = 0; k < sides[s].runs.size(); ++k, ++at) {
      if (sides[s].runs[k].part != parts[at]) {
        REPRISE_ASSIGN(sides[s].runs[k], ReadCompared(given[s].paths[k], given[s].label,
                                                      ReadOf::kCommon, &parts[at]));
      }
    }
  }
  return {};
}

}  // namespace

std::vector<GivenSide> ParseSides(const std::vector<std::string>& texts) {
  std::vector<GivenSide> sides;
  std::vector<std::string> given;
  for (const std::string& text : texts) {
    GivenSide& side = sides.emplace_back();
    const std::vector<std::string> paths = PathsIn(text);
    given.push_back(paths.front());
    std::error_code error;
    if (const std::size_t equals = text.find('='); equals != std::string::npos) {
      side.label = fs::exists(text, error) ? "" : text.substr(0, equals);
    }
    for (const std::string& path : paths) {
      const std::vector<std::string> repeats = RepeatsAt(path);
      side.paths.insert(side.paths.end(), repeats.begin(), repeats.end());
    }
  }
  NameSides(given, sides);
  std::map<std::string, int> same;
  for (GivenSide& side : sides) {
    if (const int before = same[side.label]++; before > 0) {
      side.label = fmt::format("{} ({})", side.label, before + 1);
    }
  }
  return sides;
}

Result<std::vector<ComparedSide>> ReadSides(const std::vector<GivenSide>& given, ReadOf what) {
  std::vector<ComparedSide> sides;
  std::vector<RunPart> parts;
  for (const GivenSide& of : given) {
    ComparedSide& side = sides.emplace_back(ComparedSide{.label = of.label, .runs = {}});
    for (const std::string& path : of.paths) {
      REPRISE_ASSIGN(ComparedRun run, ReadCompared(path, of.label, what, nullptr));
      parts.push_back(run.part);
      side.runs.push_back(std::move(run));
    }
  }
  if (what == ReadOf::kCommon) {
    REPRISE_TRY(ReadInPart(given, CommonParts(parts), sides));
  }
  return sides;
}

}  // namespace reprise
