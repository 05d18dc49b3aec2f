#include "cli/runs/compared_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "cli/program/given_path.h"
#include "cli/runs/repeated_runs.h"
#include "core/output_kind.h"
#include "report/analysis.h"

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

ComparedRun AsShown(const std::string& path, Report report) {
  const bool shown = report.manifest.provenance == Name(Provenance::kFull);
  return {shown ? path : EndOf(path, 1), std::move(report)};
}

std::string SetPathAsShown(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::path(path) / kAnonymizedFile, error) ? EndOf(path, 1) : path;
}

Result<std::vector<ComparedSide>> ReadSides(const std::vector<GivenSide>& given) {
  std::vector<ComparedSide> sides;
  for (const GivenSide& of : given) {
    ComparedSide& side = sides.emplace_back(ComparedSide{.label = of.label, .runs = {}});
    for (const std::string& path : of.paths) {
      REPRISE_ASSIGN(Analysis analysis, AnalyzeRun(path));
      side.runs.push_back(AsShown(path, std::move(analysis.report)));
    }
  }
  return sides;
}

}  // namespace reprise
