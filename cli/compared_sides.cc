#include "cli/compared_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

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

bool IsDirectory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// A directory may have '=' and ',' in its name: what exists as it stands is taken as it stands.
SideText ParseSide(const std::string& text) {
  if (IsDirectory(text)) {
    return {.label = {}, .given = text, .runs = RunsAt(text)};
  }
  SideText side;
  std::string paths = text;
  if (const std::size_t equals = text.find('='); equals != std::string::npos) {
    side.label = text.substr(0, equals);
    paths = text.substr(equals + 1);
  }
  side.given = paths.substr(0, paths.find(','));
  if (IsDirectory(paths)) {
    side.given = paths;
    side.runs = RunsAt(paths);
    return side;
  }
  for (std::size_t at = 0; at <= paths.size();) {
    const std::size_t end = std::min(paths.find(',', at), paths.size());
    const std::vector<std::string> runs = RunsAt(paths.substr(at, end - at));
    side.runs.insert(side.runs.end(), runs.begin(), runs.end());
    at = end + 1;
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
  constexpr int kMostNames = 8;
  for (int names = 1; names <= kMostNames; ++names) {
    std::set<std::string> labels;
    for (const SideText& side : sides) {
      labels.insert(side.label.empty() ? EndOf(side.given, names) : side.label);
    }
    if (labels.size() == sides.size() || names == kMostNames) {
      for (SideText& side : sides) {
        side.label = side.label.empty() ? EndOf(side.given, names) : side.label;
      }
      return;
    }
  }
}

}  // namespace

Result<std::vector<ComparedSide>> ReadSides(const std::vector<std::string>& texts) {
  std::vector<SideText> parsed;
  parsed.reserve(texts.size());
  for (const std::string& text : texts) {
    parsed.push_back(ParseSide(text));
  }
  NameSides(parsed);
  std::vector<ComparedSide> sides;
  for (SideText& of : parsed) {
    ComparedSide& side = sides.emplace_back(ComparedSide{.label = std::move(of.label), .runs = {}});
    for (std::string& path : of.runs) {
      REPRISE_ASSIGN(Analysis analysis, AnalyzeRun(path));
      side.runs.push_back({std::move(path), std::move(analysis.report)});
    }
  }
  return sides;
}

}  // namespace reprise
