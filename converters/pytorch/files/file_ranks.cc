#include "converters/pytorch/files/file_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/text.h"

namespace reprise::pytorch {
namespace {

constexpr std::string_view kWayOn =
    "--rank-pattern REGEX says where the rank is in their names, 'worker([0-9]+)_'; or name them "
    "rank<N>.et.json and rank<N>.kineto.json, or convert one file, or one pair with --host-trace, "
    "--device-trace and --rank";

// Which number it is of each file.
using Column = std::vector<std::string_view>;

// Whether the numbers are 0, 1, 2 … in some order.
bool CountsUp(std::vector<std::int32_t> ranks) {
  std::ranges::sort(ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != static_cast<std::int32_t>(i)) {
      return false;
    }
  }
  return true;
}

// Files of one kind, and of one form where there are several forms.
struct Regular {
  std::vector<CapturedFile*> files;
  std::set<std::string> forms;
  std::vector<Column> columns;  // by number of the name

  void Add(CapturedFile& file) {
    NumberedName name = NumbersIn(file.name);
    files.push_back(&file);
    forms.insert(std::move(name.form));
    columns.resize(std::max(columns.size(), name.numbers.size()));
    for (std::size_t n = 0; n < name.numbers.size(); ++n) {
      columns[n].push_back(name.numbers[n]);
    }
  }

  [[nodiscard]] bool Varies(std::size_t number) const {
    return std::ranges::adjacent_find(columns[number], std::not_equal_to<>()) !=
           columns[number].end();
  }
  // What one rank does one after the other: "step_5", or the time since 1970.
  [[nodiscard]] bool CountsTime(std::size_t number) const {
    std::size_t at = forms.begin()->find('#');
    for (std::size_t n = 0; n < number; ++n) {
      at = forms.begin()->find('#', at + 1);
    }
    const std::string before = LowerCase(forms.begin()->substr(0, at));
    for (const std::string_view word : {"step", "iter", "iteration", "epoch"}) {
      for (const std::string_view between : {"", "_", "-", "."}) {
        if (before.ends_with(fmt::format("{}{}", word, between))) {
          return true;
        }
      }
    }
    constexpr std::size_t kDigitsOfSeconds = 10;
    return std::ranges::all_of(
        columns[number], [](std::string_view digits) { return digits.size() >= kDigitsOfSeconds; });
  }
  // One file, or one rank's at several times.
  [[nodiscard]] bool IsOneRank() const {
    for (std::size_t n = 0; forms.size() == 1 && n < columns.size(); ++n) {
      if (Varies(n) && !CountsTime(n)) {
        return false;
      }
    }
    return forms.size() == 1;
  }
};

class Names {
 public:
  explicit Names(const Regular& of) : of_(of), columns_(of.columns) {}

  // Every way to read ranks out of the names, each once.
  [[nodiscard]] std::vector<std::vector<std::int32_t>> Readings() const {
    std::vector<std::vector<std::int32_t>> found;
    for (std::size_t n = 0; n < columns_.size(); ++n) {
      if (auto ranks = Reading(n); ranks && std::ranges::find(found, *ranks) == found.end()) {
        found.push_back(std::move(*ranks));
      }
    }
    return found;
  }

 private:
  // A number counts the ranks of one capture, or of several captures that each have all ranks.
  [[nodiscard]] std::optional<std::vector<std::int32_t>> Reading(std::size_t number) const {
    std::vector<std::int32_t> ranks;
    for (const std::string_view text : columns_[number]) {
      ranks.push_back(ParseNumber<std::int32_t>(text).value_or(-1));
    }
    if (!of_.Varies(number) || of_.CountsTime(number) || !IsPossible(ranks)) {
      return std::nullopt;
    }
    if (CountsUp(ranks)) {
      return ranks;
    }
    std::map<Column, std::vector<std::int32_t>> by_others;
    for (std::size_t file = 0; file < ranks.size(); ++file) {
      Column others;
      for (std::size_t n = 0; n < columns_.size(); ++n) {
        if (columns_[n] != columns_[number]) {
          others.push_back(columns_[n][file]);
        }
      }
      by_others[std::move(others)].push_back(ranks[file]);
    }
    const std::size_t world = by_others.begin()->second.size();
    const bool all = std::ranges::all_of(by_others, [world](const auto& of_capture) {
      return of_capture.second.size() == world && CountsUp(of_capture.second);
    });
    return all && world > 1 ? std::optional(ranks) : std::nullopt;
  }

  // A process has one rank. Ranks that are known already stay.
  [[nodiscard]] bool IsPossible(const std::vector<std::int32_t>& ranks) const {
    std::map<std::pair<std::string, std::int64_t>, std::int32_t> rank_of;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const CapturedFile& file = *of_.files[i];
      const auto [known, fresh] =
          rank_of.try_emplace({file.head.host, file.head.process}, ranks[i]);
      if ((file.rank >= 0 && file.rank != ranks[i]) ||
          (file.head.process >= 0 && known->second != ranks[i])) {
        return false;
      }
    }
    return true;
  }

  const Regular& of_;
  const std::vector<Column>& columns_;
};

class RankFinder {
 public:
  RankFinder(const std::string& directory, std::span<CapturedFile> files)
      : directory_(directory), files_(files) {}

  Status ByPattern(const std::string& pattern) {
    std::regex expression;
    try {
      expression = std::regex(pattern);
    } catch (const std::regex_error& error) {
      return UsageError(fmt::format("--rank-pattern {}: {}", pattern, error.what()));
    }
    if (expression.mark_count() != 1) {
      return UsageError(
          fmt::format("--rank-pattern {}: has {} groups; one group in round brackets is the rank: "
                      "'worker([0-9]+)_'",
                      pattern, expression.mark_count()));
    }
    for (CapturedFile& file : files_) {
      std::smatch match;
      const bool found = std::regex_search(file.name, match, expression);
      const auto rank = found ? ParseNumber<std::int32_t>(match[1].str()) : std::nullopt;
      if (!rank || *rank < 0) {
        return BadInput(fmt::format("{}: --rank-pattern {} finds {} in its name", file.path,
                                    pattern, found ? "no number" : "nothing"));
      }
      REPRISE_TRY(Take(file, *rank));
    }
    return {};
  }

  Status Run() {
    for (CapturedFile& file : files_) {
      REPRISE_TRY(Take(file, RankInName(file.name)));
    }
    ByProcess();
    for (const CaptureKind kind : {CaptureKind::kHost, CaptureKind::kKineto}) {
      REPRISE_TRY(ByRegularNames(kind));
    }
    ByProcess();
    LoneFiles();
    std::vector<std::string> unclear;
    for (const CapturedFile& file : files_) {
      if (file.rank < 0) {
        unclear.push_back(file.path);
      }
    }
    return unclear.empty()
               ? Status()
               : BadInput(fmt::format("{}: neither names nor contents tell the rank of {}; {}",
                                      directory_, fmt::join(unclear, ", "), kWayOn));
  }

 private:
  static Status Take(CapturedFile& file, std::int32_t named) {
    if (file.rank >= 0) {
      return {};
    }
    if (named >= 0 && file.head.rank >= 0 && named != file.head.rank) {
      return BadInput(fmt::format("{}: is of rank {} by its name, of rank {} by its content; {}",
                                  file.path, named, file.head.rank, kWayOn));
    }
    file.rank = std::max(named, file.head.rank);
    return {};
  }

  // A file takes the rank of the files of the other kind that are of its process, if they agree.
  void ByProcess() {
    std::map<std::int64_t, std::set<std::pair<std::string, std::int32_t>>> known;
    for (const CapturedFile& file : files_) {
      if (file.rank >= 0 && file.head.process >= 0) {
        known[file.head.process].emplace(file.head.host, file.rank);
      }
    }
    for (CapturedFile& file : files_) {
      const auto found = known.find(file.head.process);
      if (file.rank < 0 && found != known.end() && found->second.size() == 1) {
        file.rank = found->second.begin()->second;
      }
    }
  }

  Status ByRegularNames(CaptureKind kind) {
    std::map<std::string, Regular> by_form;
    for (CapturedFile& file : files_) {
      if (file.head.kind == kind) {
        by_form[NumbersIn(file.name).form].Add(file);
      }
    }
    for (const auto& [form, regular] : by_form) {
      if (std::ranges::none_of(regular.files, [](const auto* file) { return file->rank < 0; })) {
        continue;
      }
      const auto readings = Names(regular).Readings();
      for (std::size_t i = 0; !readings.empty() && i < regular.files.size(); ++i) {
        regular.files[i]->rank = readings.front()[i];
        if (readings.size() > 1 && readings[0][i] != readings[1][i]) {
          return BadInput(fmt::format(
              "{}: may be of rank {} or of rank {}: two numbers of its name count ranks; {}",
              regular.files[i]->path, readings[0][i], readings[1][i], kWayOn));
        }
      }
    }
    return {};
  }

  void LoneFiles() {
    std::map<std::string_view, std::vector<CapturedFile*>> by_directory;
    for (CapturedFile& file : files_) {
      by_directory[DirectoryOf(file.name)].push_back(&file);
    }
    for (const auto& [directory, files] : by_directory) {
      for (const CaptureKind kind : {CaptureKind::kHost, CaptureKind::kKineto}) {
        LoneFilesOf(kind, files);
      }
    }
  }

  // The only file of a kind in a directory is of the one rank there. So are several files that
  // differ in times alone.
  static void LoneFilesOf(CaptureKind kind, const std::vector<CapturedFile*>& files) {
    Regular lone;
    std::set<std::int32_t> others;
    bool all = true;
    for (CapturedFile* file : files) {
      if (file->head.kind != kind && file->rank >= 0) {
        others.insert(file->rank);
      } else if (file->head.kind == kind && file->rank < 0) {
        lone.Add(*file);
      }
      all = all && (file->head.kind != kind || file->rank < 0);
    }
    if (all && others.size() <= 1 && lone.IsOneRank()) {
      for (CapturedFile* file : lone.files) {
        file->rank = others.empty() ? 0 : *others.begin();
      }
    }
  }

  const std::string& directory_;
  std::span<CapturedFile> files_;
};

}  // namespace

Status FindRanks(const std::string& directory, std::span<CapturedFile> files,
                 const std::string& pattern) {
  RankFinder finder(directory, files);
  return pattern.empty() ? finder.Run() : finder.ByPattern(pattern);
}

}  // namespace reprise::pytorch
