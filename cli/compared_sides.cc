#include "cli/compared_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cli/given_path.h"
#include "cli/repeated_runs.h"
#include "report/analysis.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

struct SideText {
  std::string label;  // empty: to be found
  std::string given;  // the path, or the first of them
  std::vector<std::string> runs;
};

// Runs or trace sets in a directory of such, else the path itself.
std::vector<std::string> RepeatsAt(const std::string& path) {
  std::vector<std::string> repeats = RunsAt(path);
  std::error_code error;
  if (repeats != std::vector<std::string>{path} || FindPathKind(path) != PathKind::kOther ||
      !fs::is_directory(path, error)) {
    return repeats;
  }
  std::vector<std::string> sets;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (FindPathKind(it->path().string()) == PathKind::kTraceSet) {
      sets.push_back(it->path().string());
    }
  }
  std::ranges::sort(sets);
  return sets.empty() ? repeats : sets;
}

SideText ParseSide(const std::string& text) {
  const std::vector<std::string> paths = PathsIn(text);
  SideText side{.label = {}, .given = paths.front(), .runs = {}};
  std::error_code error;
  if (const std::size_t equals = text.find('='); equals != std::string::npos) {
    side.label = fs::exists(text, error) ? "" : text.substr(0, equals);
  }
  for (const std::string& path : paths) {
    const std::vector<std::string> runs = RepeatsAt(path);
    side.runs.insert(side.runs.end(), runs.begin(), runs.end());
  }
  return side;
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

void NameSides(std::vector<SideText>& sides) {
  constexpr int kMaxNames = 8;
  for (int names = 1; names <= kMaxNames; ++names) {
    std::set<std::string> labels;
    for (const SideText& side : sides) {
      labels.insert(side.label.empty() ? EndOf(side.given, names) : side.label);
    }
    if (labels.size() == sides.size() || names == kMaxNames) {
      for (SideText& side : sides) {
        side.label = side.label.empty() ? EndOf(side.given, names) : side.label;
      }
      return;
    }
  }
}

}  // namespace

std::vector<GivenSide> ParseSides(const std::vector<std::string>& texts) {
  std::vector<SideText> parsed;
  parsed.reserve(texts.size());
  for (const std::string& text : texts) {
    parsed.push_back(ParseSide(text));
  }
  NameSides(parsed);
  std::vector<GivenSide> sides;
  std::map<std::string, int> same;
  for (SideText& of : parsed) {
    const int before = same[of.label]++;
    sides.push_back({.label = before == 0 ? of.label : fmt::format("{} ({})", of.label, before + 1),
                     .paths = std::move(of.runs)});
  }
  return sides;
}

Result<std::vector<ComparedSide>> ReadSides(const std::vector<GivenSide>& given) {
  std::vector<ComparedSide> sides;
  for (const GivenSide& of : given) {
    ComparedSide& side = sides.emplace_back(ComparedSide{.label = of.label, .runs = {}});
    for (const std::string& path : of.paths) {
      REPRISE_ASSIGN(Analysis analysis, AnalyzeRun(path));
      side.runs.push_back({path, std::move(analysis.report)});
    }
  }
  return sides;
}

}  // namespace reprise
